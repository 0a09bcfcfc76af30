/**
 * Puts the editor together on the page that the site has sent.
 */
import { createActs } from "./acts.js";
import { createQueue } from "./document/queue.js";
import { createStore } from "./document/store.js";
import { createUnsavedStore } from "./document/unsaved.js";
import { createAdjudication } from "./marks/adjudication.js";
import { createLooks } from "./marks/labels.js";
import { createAnnouncer } from "./page/announcer.js";
import { gettext, ngettext } from "./page/language.js";
import { createSite } from "./page/site.js";
import { createComments } from "./panels/comments.js";
import { askProblem, askReason } from "./panels/dialogs.js";
import { createFinishing } from "./panels/finishing.js";
import { createKeys } from "./panels/keys.js";
import { createMerge } from "./panels/merge.js";
import { createPanel } from "./panels/panel.js";
import { createPanels } from "./panels/panels.js";
import { createStatus } from "./panels/status.js";
import { createSuggestions } from "./panels/suggestions.js";
import { createToolbar } from "./panels/toolbar.js";
import { createTree } from "./panels/tree.js";
import { createProblemNote, createVerdict } from "./panels/verdict.js";
import { createSpans } from "./passages/spans.js";
import { createBoxes } from "./pictures/boxes.js";

/** @param {string} id @returns {HTMLElement} */
const getPart = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

function start() {
  const page = getPart("editor");
  const annotation = JSON.parse(getPart("annotation-json").textContent ?? "");
  const token = /** @type {HTMLInputElement} */ (page.querySelector("[name=csrfmiddlewaretoken]")).value;
  const url = page.dataset.url ?? "";
  const user = /** @type {HTMLElement} */ (document.querySelector("[data-user]")).dataset.user ?? "";
  const boxes = annotation.item.kind === "boxes";

  const store = createStore(annotation);
  if (page.dataset.readOnly) store.lock(page.dataset.readOnly);
  const site = createSite(url, token, user);
  const announce = createAnnouncer(getPart("announcer"));
  const queue = createQueue(
    store,
    site,
    createUnsavedStore(`${new URL(url, location.href).pathname}${annotation.item.external_id}`),
    createMerge(store),
  );
  const acts = createActs(store, announce, () => askReason(annotation.item.kind));
  const looks = createLooks(store);
  /** @type {any} */
  const view = boxes
    ? createBoxes(store, getPart("stage"), acts, announce, user, looks)
    : createSpans(store, getPart("stage"), acts, announce, user, looks);
  view.onProblem = () => askProblem(store, announce);
  const panel = createPanel(store, getPart("panel"), acts, view, looks);
  createAdjudication(store, /** @type {HTMLElement} */ (getPart("panel").querySelector("details")), acts);
  const comments = createComments(store, getPart("comments"), site, announce);
  const panels = createPanels(getPart("work-grid"), user);
  const tree = createTree(store, getPart("program"), () => store.pending.length > 0, acts.canLeave);

  const announceOutcome = (
    /** @type {boolean} */ done,
    /** @type {string} */ yes,
    /** @type {string} */ no,
  ) => announce(done ? yes : no);
  const showInDetails = (/** @type {() => void} */ go) => {
    panels.show("details");
    go();
  };
  const keys = createKeys(
    [
      [gettext("This step"), [
        ["done", "d", gettext("mark as done and go to the next open step"), () => acts.setState("done")],
        ["nothing", "x", gettext("nothing here"), () => acts.setState("nothing")],
        ["unsure", "u", gettext("unsure"), () => acts.setState("unsure")],
        ["next", ".", gettext("next step"), () => acts.goBy(1)],
        ["previous", ",", gettext("previous step"), () => acts.goBy(-1)],
        ["next-open", "o", gettext("next open step"), acts.goToNextOpenStep],
      ]],
      [gettext("Objects"), [
        ["draw", "n", gettext("add a mark in the middle"), () => view.drawInMiddle(), "boxes"],
        ["image", "m", gettext("switch image for new boxes"), () => view.switchImage(), "boxes"],
        ["delete", "Delete", gettext("delete the selected object"), () => view.removeCorner?.() || acts.remove()],
        ["corner", "q", gettext("next corner of the polygon, for the arrow keys"), () => {
          view.stepThroughCorners();
        }, "boxes"],
        ["sources", "l", gettext("select the source of the object, or relate the mark to another one"), () => {
          if (store.program.nodes[store.node].role === "relate") acts.relate();
          else showInDetails(() => panel.focusSources());
        }],
        ["one-click", "q", gettext("mark with one click, or not"), () => view.toggleOneClick(), "spans"],
        ["characters", "k", gettext("switch between characters and words"), () => view.toggleCharacters(), "spans"],
        ["grow-left", "[", gettext("add a word on the left"), () => view.stretch(1, 0), "spans"],
        ["grow-right", "]", gettext("add a word on the right"), () => view.stretch(0, 1), "spans"],
        ["shrink-left", "{", gettext("remove a word on the left"), () => view.stretch(-1, 0), "spans"],
        ["shrink-right", "}", gettext("remove a word on the right"), () => view.stretch(0, -1), "spans"],
      ]],
      [gettext("Changes"), [
        ["undo", "Ctrl+z", gettext("undo"), () => {
          announceOutcome(acts.undo(), gettext("Undone."), gettext("Nothing to undo."));
        }],
        ["redo", "Ctrl+Shift+z", gettext("redo"), () => {
          announceOutcome(store.redo(), gettext("Redone."), gettext("Nothing to redo."));
        }],
        ["submit", "Ctrl+Enter", gettext("submit"), () => finishing.handIn()],
        ["problem", "w", gettext("report a wrong program"), () => view.onProblem()],
      ]],
      [gettext("Suggestions"), [
        ["accept", "y", gettext("accept the first suggestion"), () => suggestions.accept()],
        ["change", "z", gettext("accept the first suggestion and change it"), () => suggestions.change()],
        ["reject", "j", gettext("reject the first suggestion"), () => suggestions.reject()],
      ]],
      [gettext("View"), [
        ["to-program", "t", gettext("go to the program"), () => {
          panels.show("program");
          tree.focus();
        }],
        ["to-questions", ";", gettext("go to the questions about the selected mark"), () => {
          showInDetails(() => {
            if (!panel.focusQuestions()) announce(gettext("There is no question here. Select a mark first."));
          });
        }],
        ["to-task", "e", boxes ? gettext("go to the images") : gettext("go to the passage"), () => view.focus()],
        ["comment", "c", gettext("write a comment"), () => showInDetails(() => comments.focus())],
        ["guideline", "g", gettext("show or hide the guideline"), () => {
          showInDetails(() => panel.toggleGuideline());
        }],
        ["zoom-in", "+", gettext("zoom in (also Ctrl and mouse wheel)"), () => view.zoomIn(), "boxes"],
        ["zoom-out", "-", gettext("zoom out"), () => view.zoomOut(), "boxes"],
        ["zoom-fit", "0", gettext("show the whole image"), () => view.zoomFit(), "boxes"],
        ["zoom-actual", "r", gettext("show the image in its real size"), () => view.zoomActual(), "boxes"],
        ["zoom-box", "b", gettext("zoom to the selected box"), () => view.zoomBox(), "boxes"],
        ["pan", "h", gettext("switch between moving the image and drawing"), () => view.togglePan(), "boxes"],
        ["turn", "v", gettext("turn the image by 90°"), () => view.turn(), "boxes"],
        ["crosshair", "k", gettext("show or hide the crosshair"), () => view.toggleCross(), "boxes"],
        ["light", "i", gettext("set brightness and contrast"), () => toolbar.openLight(), "boxes"],
        ["predictions", "p", gettext("show or hide model outputs"), () => toolbar.togglePredictions()],
        ["fold-program", "a", gettext("fold or show the program"), () => panels.toggle("program")],
        ["fold-details", "s", gettext("fold or show the details of the step"), () => panels.toggle("details")],
        ["fold-panels", "f", gettext("fold or show both"), () => panels.toggleAll()],
        ["help", "?", gettext("this list"), () => keys.showHelp()],
      ]],
    ],
    annotation.item.kind,
    annotation.keys,
    async (chosen) => {
      await site.bindKeys(chosen);
      store.keys = chosen;
    },
    acts.pickByNumber,
    panel.labels,
  );
  const suggestions = createSuggestions(
    store,
    panel.suggestions,
    acts,
    announce,
    keys.getKeyFor,
    panel.labels.focus,
  );
  const finishing = createFinishing(store, getPart("finishing"), acts, site, queue, announce, keys.getKeyFor);
  const toolbar = createToolbar(store, getPart("toolbar"), acts, view, keys, site, announce, panels, user);
  createStatus(store, queue, site, getPart("save-status"), getPart("notice"), announce, page.dataset);
  const foot = getPart("finishing");
  // The parts that stick above the foot on a phone have to know its height.
  new ResizeObserver(() => page.style.setProperty("--foot", `${foot.offsetHeight}px`)).observe(foot);
  createVerdict(store, getPart("verdict"));
  createProblemNote(store, getPart("problem"));
  queue.onOthers = (others) =>
    announce(
      ngettext("Merged a change from elsewhere.", "Merged %(count)s changes from elsewhere.", others),
    );
  // Load the images that are likely to come next, so that they are there when they come.
  addEventListener("load", () => {
    for (const address of annotation.upcoming ?? []) new Image().src = address;
  });
  queue.start();
  store.tell("document", "node", "object", "values", "history", "status");
  page.dataset.ready = "true";
}

start();
