/**
 * The tools above the images or the passage: undo, new objects, zoom, the outputs of systems, the legend.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { listContext } from "../document/program.js";
import { getMarkType } from "../document/words.js";
import { listSystems } from "../marks/predictions.js";
import { gettext } from "../page/language.js";
import { createButton, createElement, createIcon } from "../page/markup.js";
import { recall, remember } from "../page/remembered.js";
import { createLight } from "../pictures/light.js";

/** Names of new marks, by the type of their layer. @type {Record<string, string>} */
const NEW = {
  boxes: gettext("New box"),
  polygons: gettext("New polygon"),
  ellipses: gettext("New ellipse"),
  points: gettext("New point"),
};

/**
 * @param {Store} store @param {HTMLElement} root @param {Acts} acts
 * @param {any} view of boxes or spans
 * @param {{showHelp: () => void, getKeyFor: (name: string) => string}} keys
 * @param {ReturnType<typeof import("../page/site.js").createSite>} site @param {(text: string) => void} announce
 * @param {ReturnType<typeof import("./panels.js").createPanels>} panels @param {string} user who chooses
 */
export function createToolbar(store, root, acts, view, keys, site, announce, panels, user) {
  let noted = false;
  const sprite = root.dataset.icons ?? "";
  const boxes = store.item.kind === "boxes";
  const buildTool = (
    /** @type {string} of the sprite */ mark,
    /** @type {string} */ name,
    /** @type {() => void} */ act,
    /** @type {string} */ key,
    /** @type {boolean | string} */ shown = false,
    /** @type {Record<string, any>} */ more = {},
  ) =>
    createButton(
      "",
      () => act(),
      { class: "tool", title: `${name} (${keys.getKeyFor(key)})`, "aria-label": name, ...more },
      mark ? createIcon(sprite, mark) : null,
      shown
        ? createElement("span", { class: "tool-name", "aria-hidden": "true" }, shown === true ? name : shown)
        : null,
    );
  const undo = buildTool("undo", gettext("Undo"), acts.undo, "undo");
  const redo = buildTool("redo", gettext("Redo"), store.redo, "redo");
  const draw = boxes ? buildTool("box", gettext("New box"), view.drawInMiddle, "draw", true) : null;
  const close = createButton(gettext("Close polygon"), () => view.closeDraft(), {
    class: "tool",
    hidden: true,
  });
  const out = buildTool("minus", gettext("Zoom out"), view.zoomOut, "zoom-out");
  const fit = buildTool("", gettext("Show the whole image"), view.zoomFit, "zoom-fit");
  const scale = createElement("span", { class: "scale" });
  fit.append(scale);
  const into = buildTool("add", gettext("Zoom in"), view.zoomIn, "zoom-in");
  const actual = buildTool("", gettext("1:1, real size"), view.zoomActual, "zoom-actual");
  actual.append("1:1");
  const toBox = buildTool("aim", gettext("Zoom to the selected box"), view.zoomBox, "zoom-box");
  const pan = buildTool("hand", gettext("Pan"), view.togglePan, "pan", true);
  const cross = buildTool("crosshair", gettext("Crosshair"), view.toggleCross, "crosshair", true);
  const turn = buildTool("turn", gettext("Turn the image"), view.turn, "turn", true);
  const oneClick = buildTool(
    "click",
    gettext("Mark with one click"),
    view.toggleOneClick,
    "one-click",
    gettext("One click"),
  );
  const letters = buildTool(
    "letters",
    gettext("Mark characters"),
    view.toggleCharacters,
    "characters",
    gettext("Characters"),
  );
  const shown = buildTool(
    "open",
    gettext("Model outputs"),
    togglePredictions,
    "predictions",
    gettext("Outputs"),
  );
  const wrong = buildTool("flag", gettext("Program is wrong"), () => view.onProblem(), "problem", true);
  const help = buildTool("keyboard", gettext("Keyboard shortcuts"), keys.showHelp, "help");
  const folds = [
    { part: "program", control: buildFoldButton("panel-left", gettext("Program"), "program") },
    { part: "details", control: buildFoldButton("panel-right", gettext("Details of the step"), "details") },
  ];
  const foldAll = buildTool(
    "expand",
    gettext("More room: fold or show both"),
    panels.toggleAll,
    "fold-panels",
  );
  const buildGroup = (/** @type {string} */ name, /** @type {(HTMLElement | null)[]} */ ...tools) =>
    createElement("div", { class: "tools", role: "group", "aria-label": name }, ...tools);
  const light = boxes
    ? createLight(
        user,
        createIcon(sprite, "contrast"),
        keys.getKeyFor("light"),
        view.setLight,
        buildGroup(gettext("View"), turn, cross),
      )
    : null;
  const legend = createElement("p", { class: "legend" });
  root.append(
    buildGroup(gettext("Changes"), undo, redo),
    boxes
      ? buildGroup(gettext("Marking"), draw, close, pan)
      : buildGroup(gettext("Marking"), oneClick, letters),
    buildGroup(gettext("Panels"), ...folds.map(({ control }) => control), foldAll),
    boxes ? buildGroup(gettext("Zoom"), out, fit, into, actual, toBox) : "",
    light?.element ?? "",
    buildGroup(
      gettext("More"),
      ...(store.annotation.predictions?.length ? [shown] : []),
      store.program.isPlain ? null : wrong,
      help,
    ),
    legend,
  );

  /** @param {string} mark @param {string} name @param {string} part that the button folds */
  function buildFoldButton(mark, name, part) {
    const more = { "aria-controls": `${part}-part` };
    return buildTool(mark, name, () => panels.toggle(part), `fold-${part}`, false, more);
  }

  /**
   * Outputs appear once the site has noted them: the record says what each annotator saw. The choice holds for
   * the next items, too.
   */
  async function togglePredictions() {
    const outputs = store.annotation.predictions;
    if (!outputs?.length) return;
    if (!noted) {
      try {
        await site.noteShown(outputs.map(({ system, revision }) => `${system}@${revision}`));
      } catch (error) {
        return announce(/** @type {Error} */ (error).message);
      }
      noted = true;
    }
    store.predictionsShown = !store.predictionsShown;
    remember(`annotation-outputs-${user}`, store.predictionsShown);
    store.tell("view");
    render();
  }

  function render() {
    const { undo: back, redo: forth } = store.steps;
    undo.disabled = !(back.length || acts.isDrafting()) || Boolean(store.locked);
    redo.disabled = !forth.length || Boolean(store.locked);
    if (draw) renderDraw(draw);
    close.hidden = !acts.isDrafting();
    wrong.disabled = Boolean(store.locked);
    wrong.setAttribute("aria-pressed", String(Boolean(store.document.problem)));
    shown.setAttribute("aria-pressed", String(store.predictionsShown));
    for (const { part, control } of folds) control.setAttribute("aria-expanded", String(!panels.isFolded(part)));
    if (!boxes) {
      oneClick.setAttribute("aria-pressed", String(view.oneClick));
      letters.setAttribute("aria-pressed", String(view.byCharacter));
    } else {
      cross.setAttribute("aria-pressed", String(view.crossed));
      toBox.disabled = !acts.getSelectedObject()?.mark.box;
      pan.setAttribute("aria-pressed", String(view.panning));
      scale.textContent = `${Math.round(view.zoom * 100)}%`;
      fit.setAttribute(
        "aria-label",
        gettext("%(scale)s, show the whole image", { scale: scale.textContent }),
      );
    }
    renderLegend();
  }

  /** @param {HTMLButtonElement} button the button of new marks */
  function renderDraw(button) {
    button.disabled = !acts.canDraw();
    const name = NEW[getMarkType(store, store.node)] ?? NEW.boxes;
    button.title = `${name} (${keys.getKeyFor("draw")})`;
    button.setAttribute("aria-label", name);
    /** @type {HTMLElement} */ (button.querySelector(".tool-name")).textContent = name;
  }

  function renderLegend() {
    const { role } = store.program.nodes[store.node];
    const plain = store.program.isPlain;
    const entries = [];
    if (role === "choose")
      entries.push(["candidate", gettext("available")], ["chosen", gettext("chosen")]);
    if ((role === "draw" || role === "link") && !plain) entries.push(["own", gettext("of this step")]);
    if (role === "link")
      entries.push(
        [boxes ? "source" : "context", gettext("possible sources")],
        ["chosen", gettext("source of the selected object")],
      );
    else if (!plain && listContext(store.program, store.document, store.node).length)
      entries.push(["context", gettext("from previous steps")]);
    if (store.annotation.others) entries.push(["predicted", gettext("by the annotators")]);
    else if (store.predictionsShown)
      entries.push(["predicted", gettext("by %(systems)s", { systems: listSystems(store).join(", ") })]);
    const key = JSON.stringify(entries);
    if (legend.dataset.key === key) return;
    legend.dataset.key = key;
    legend.replaceChildren(
      ...entries.map(([look, text]) =>
        createElement(
          "span",
          { class: "legend-entry" },
          createElement("span", { class: `swatch ${look}`, "aria-hidden": "true" }),
          text,
        ),
      ),
    );
  }

  store.subscribe(render);
  view.onView = render;
  panels.onChange = render;
  render();
  if (recall(`annotation-outputs-${user}`) && !store.annotation.others) void togglePredictions();
  return { togglePredictions, openLight: () => light?.open() };
}
