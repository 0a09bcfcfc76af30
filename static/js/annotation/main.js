/**
 * Puts the editor together on the page that the site has sent.
 */
import { createActs } from "./acts.js";
import { createAdjudication } from "./adjudication.js";
import { createAnnouncer } from "./announcer.js";
import { createBoxes } from "./boxes.js";
import { createComments } from "./comments.js";
import { askProblem, askReason } from "./dialogs.js";
import { createFinishing } from "./finishing.js";
import { createKeys } from "./keys.js";
import { createLooks } from "./labels.js";
import { gettext, ngettext } from "./language.js";
import { createMerge } from "./merge.js";
import { createPanel } from "./panel.js";
import { createPanels } from "./panels.js";
import { createQueue } from "./queue.js";
import { createUnsavedStore } from "./unsaved.js";
import { createSite } from "./site.js";
import { createSpans } from "./spans.js";
import { createStatus } from "./status.js";
import { createStore } from "./store.js";
import { createSuggestions } from "./suggestions.js";
import { createToolbar } from "./toolbar.js";
import { createTree } from "./tree.js";
import { createProblemNote, createVerdict } from "./verdict.js";

/** @param {string} id @returns {HTMLElement} */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

function start() {
  const page = part("editor");
  const annotation = JSON.parse(part("annotation-json").textContent ?? "");
  const token = /** @type {HTMLInputElement} */ (page.querySelector("[name=csrfmiddlewaretoken]")).value;
  const url = page.dataset.url ?? "";
  const user = page.dataset.user ?? "";
  const boxes = annotation.item.kind === "boxes";

  const store = createStore(annotation);
  if (page.dataset.readOnly) store.lock(page.dataset.readOnly);
  const site = createSite(url, token);
  const announce = createAnnouncer(part("announcer"));
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
    ? createBoxes(store, part("stage"), acts, announce, user, looks)
    : createSpans(store, part("stage"), acts, announce, user, looks);
  view.onProblem = () => askProblem(store, announce);
  const panel = createPanel(store, part("panel"), acts, view, looks);
  createAdjudication(store, /** @type {HTMLElement} */ (part("panel").querySelector("details")), acts);
  const comments = createComments(store, part("comments"), site, announce);
  const panels = createPanels(part("work-grid"), user);
  const tree = createTree(store, part("program"), () => store.pending.length > 0);

  const said = (/** @type {boolean} */ done, /** @type {string} */ yes, /** @type {string} */ no) =>
    announce(done ? yes : no);
  const keys = createKeys(
    [
      {
        name: "done",
        key: "d",
        group: gettext("This step"),
        text: gettext("mark as done and go to the next open step"),
        act: () => acts.setState("done"),
      },
      {
        name: "nothing",
        key: "x",
        group: gettext("This step"),
        text: gettext("nothing here"),
        act: () => acts.setState("nothing"),
      },
      {
        name: "unsure",
        key: "u",
        group: gettext("This step"),
        text: gettext("unsure"),
        act: () => acts.setState("unsure"),
      },
      {
        name: "next",
        key: ".",
        group: gettext("This step"),
        text: gettext("next step"),
        act: () => acts.goBy(1),
      },
      {
        name: "previous",
        key: ",",
        group: gettext("This step"),
        text: gettext("previous step"),
        act: () => acts.goBy(-1),
      },
      {
        name: "next-open",
        key: "o",
        group: gettext("This step"),
        text: gettext("next open step"),
        act: acts.goOpen,
      },
      {
        name: "draw",
        key: "n",
        group: gettext("Objects"),
        text: gettext("add a mark in the middle"),
        kind: "boxes",
        act: () => view.drawInMiddle(),
      },
      {
        name: "image",
        key: "m",
        group: gettext("Objects"),
        text: gettext("switch image for new boxes"),
        kind: "boxes",
        act: () => view.nextImage(),
      },
      {
        name: "delete",
        key: "Delete",
        group: gettext("Objects"),
        text: gettext("delete the selected object"),
        act: () => view.removeCorner?.() || acts.remove(),
      },
      {
        name: "corner",
        key: "q",
        group: gettext("Objects"),
        text: gettext("next corner of the polygon, for the arrow keys"),
        kind: "boxes",
        act: () => view.nextCorner(),
      },
      {
        name: "sources",
        key: "l",
        group: gettext("Objects"),
        text: gettext("select the source of the object, or relate the mark to another one"),
        act: () => {
          if (store.program.nodes[store.node].role === "relate") return acts.relate();
          panels.show("details");
          panel.focusSources();
        },
      },
      {
        name: "one-click",
        key: "q",
        group: gettext("Objects"),
        text: gettext("mark with one click, or not"),
        kind: "spans",
        act: () => view.toggleOneClick(),
      },
      {
        name: "characters",
        key: "k",
        group: gettext("Objects"),
        text: gettext("switch between characters and words"),
        kind: "spans",
        act: () => view.toggleCharacters(),
      },
      {
        name: "grow-left",
        key: "[",
        group: gettext("Objects"),
        text: gettext("add a word on the left"),
        kind: "spans",
        act: () => view.stretch(1, 0),
      },
      {
        name: "grow-right",
        key: "]",
        group: gettext("Objects"),
        text: gettext("add a word on the right"),
        kind: "spans",
        act: () => view.stretch(0, 1),
      },
      {
        name: "shrink-left",
        key: "{",
        group: gettext("Objects"),
        text: gettext("remove a word on the left"),
        kind: "spans",
        act: () => view.stretch(-1, 0),
      },
      {
        name: "shrink-right",
        key: "}",
        group: gettext("Objects"),
        text: gettext("remove a word on the right"),
        kind: "spans",
        act: () => view.stretch(0, -1),
      },
      {
        name: "undo",
        key: "Ctrl+z",
        group: gettext("Changes"),
        text: gettext("undo"),
        act: () => said(store.undo(), gettext("Undone."), gettext("Nothing to undo.")),
      },
      {
        name: "redo",
        key: "Ctrl+Shift+z",
        group: gettext("Changes"),
        text: gettext("redo"),
        act: () => said(store.redo(), gettext("Redone."), gettext("Nothing to redo.")),
      },
      {
        name: "submit",
        key: "Ctrl+Enter",
        group: gettext("Changes"),
        text: gettext("submit"),
        act: () => finishing.handIn(),
      },
      {
        name: "accept",
        key: "y",
        group: gettext("Suggestions"),
        text: gettext("accept the first suggestion"),
        act: () => suggestions.accept(),
      },
      {
        name: "change",
        key: "z",
        group: gettext("Suggestions"),
        text: gettext("accept the first suggestion and change it"),
        act: () => suggestions.change(),
      },
      {
        name: "reject",
        key: "j",
        group: gettext("Suggestions"),
        text: gettext("reject the first suggestion"),
        act: () => suggestions.reject(),
      },
      {
        name: "problem",
        key: "w",
        group: gettext("Changes"),
        text: gettext("report a wrong program"),
        act: () => view.onProblem(),
      },
      {
        name: "to-program",
        key: "t",
        group: gettext("View"),
        text: gettext("go to the program"),
        act: () => {
          panels.show("program");
          tree.focus();
        },
      },
      {
        name: "to-questions",
        key: ";",
        group: gettext("View"),
        text: gettext("go to the questions about the selected mark"),
        act: () => {
          panels.show("details");
          if (!panel.focusQuestions()) announce(gettext("There is no question here. Select a mark first."));
        },
      },
      {
        name: "to-task",
        key: "e",
        group: gettext("View"),
        text: boxes ? gettext("go to the images") : gettext("go to the passage"),
        act: () => view.focus(),
      },
      {
        name: "comment",
        key: "c",
        group: gettext("View"),
        text: gettext("write a comment"),
        act: () => {
          panels.show("details");
          comments.focus();
        },
      },
      {
        name: "guideline",
        key: "g",
        group: gettext("View"),
        text: gettext("show or hide the guideline"),
        act: () => {
          panels.show("details");
          panel.toggleGuideline();
        },
      },
      {
        name: "zoom-in",
        key: "+",
        group: gettext("View"),
        text: gettext("zoom in (also Ctrl and mouse wheel)"),
        kind: "boxes",
        act: () => view.zoomIn(),
      },
      {
        name: "zoom-out",
        key: "-",
        group: gettext("View"),
        text: gettext("zoom out"),
        kind: "boxes",
        act: () => view.zoomOut(),
      },
      {
        name: "zoom-fit",
        key: "0",
        group: gettext("View"),
        text: gettext("show the whole image"),
        kind: "boxes",
        act: () => view.zoomFit(),
      },
      {
        name: "zoom-actual",
        key: "r",
        group: gettext("View"),
        text: gettext("show the image in its real size"),
        kind: "boxes",
        act: () => view.zoomActual(),
      },
      {
        name: "zoom-box",
        key: "b",
        group: gettext("View"),
        text: gettext("zoom to the selected box"),
        kind: "boxes",
        act: () => view.zoomBox(),
      },
      {
        name: "pan",
        key: "h",
        group: gettext("View"),
        text: gettext("switch between moving the image and drawing"),
        kind: "boxes",
        act: () => view.togglePan(),
      },
      {
        name: "turn",
        key: "v",
        group: gettext("View"),
        text: gettext("turn the image by 90°"),
        kind: "boxes",
        act: () => view.turn(),
      },
      {
        name: "crosshair",
        key: "k",
        group: gettext("View"),
        text: gettext("show or hide the crosshair"),
        kind: "boxes",
        act: () => view.toggleCross(),
      },
      {
        name: "light",
        key: "i",
        group: gettext("View"),
        text: gettext("set brightness and contrast"),
        kind: "boxes",
        act: () => toolbar.openLight(),
      },
      {
        name: "predictions",
        key: "p",
        group: gettext("View"),
        text: gettext("show or hide model outputs"),
        act: () => toolbar.togglePredictions(),
      },
      {
        name: "fold-program",
        key: "a",
        group: gettext("View"),
        text: gettext("fold or show the program"),
        act: () => panels.toggle("program"),
      },
      {
        name: "fold-details",
        key: "s",
        group: gettext("View"),
        text: gettext("fold or show the details of the step"),
        act: () => panels.toggle("details"),
      },
      {
        name: "fold-panels",
        key: "f",
        group: gettext("View"),
        text: gettext("fold or show both"),
        act: () => panels.toggleAll(),
      },
      { name: "help", key: "?", group: gettext("View"), text: gettext("this list"), act: () => keys.help() },
    ],
    annotation.item.kind,
    annotation.keys,
    async (chosen) => {
      await site.bindKeys(chosen);
      store.keys = chosen;
    },
    acts.byNumber,
    panel.labels,
  );
  const suggestions = createSuggestions(store, panel.suggestions, acts, announce, keys.keyOf, panel.labels.focus);
  const finishing = createFinishing(store, part("finishing"), acts, site, queue, announce, keys.keyOf);
  const toolbar = createToolbar(store, part("toolbar"), acts, view, keys, site, announce, panels, user);
  createStatus(store, queue, site, part("save-status"), part("notice"), announce, page.dataset);
  const foot = part("finishing");
  // What sticks above the foot on a phone has to know how high it is.
  new ResizeObserver(() => page.style.setProperty("--foot", `${foot.offsetHeight}px`)).observe(foot);
  createVerdict(store, part("verdict"));
  createProblemNote(store, part("problem"));
  queue.onOthers = (others) =>
    announce(
      ngettext("Merged a change from elsewhere.", "Merged %(count)s changes from elsewhere.", others),
    );
  // What is likely to come next is there when it comes.
  addEventListener("load", () => {
    for (const address of annotation.upcoming ?? []) new Image().src = address;
  });
  queue.start();
  store.tell("document", "node", "object", "values", "history", "status");
  page.dataset.ready = "true";
}

start();
