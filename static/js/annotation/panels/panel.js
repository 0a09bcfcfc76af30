/**
 * The panel of the current node: what to do, its state, its objects one by one with exact places, reasons and
 * sources, and the guideline of its module.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").InPlay} InPlay
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { listAskedQuestions, listContext, listUnansweredQuestions } from "../document/program.js";
import {
  STATES,
  TASKS,
  describeMark,
  formatAnswers,
  formatImageName,
  formatMarkName,
  formatOrigin,
  formatRelation,
  formatSize,
  formatValue,
  getMarkType,
  getState,
} from "../document/words.js";
import { createLabels } from "../marks/labels.js";
import { createRect } from "../marks/rectangles.js";
import { createPoint, reshapeMark } from "../marks/shapes.js";
import { formatNumber, gettext } from "../page/language.js";
import { createButton, createElement, createField, createSign, createUnseenText } from "../page/markup.js";
import { nameSource } from "../pictures/boxes.js";
import { createNote } from "./note.js";
import { createQuestions, listQuestionsHere } from "./questions.js";

const MOST_ROWS = 80;
/** @type {Record<string, string>} */
const MEASURES = {
  left: gettext("Left"),
  top: gettext("Top"),
  width: gettext("Width"),
  height: gettext("Height"),
};

/**
 * The buttons that move the edges of a span: sign, name by words and by characters, and units to add at either side.
 * @type {[string, string, string, number, number][]}
 */
const EDGES = [
  ["◂ +", gettext("Add the word before"), gettext("Add the character before"), 1, 0],
  ["▸ −", gettext("Remove the first word"), gettext("Remove the first character"), -1, 0],
  ["− ◂", gettext("Remove the last word"), gettext("Remove the last character"), 0, -1],
  ["+ ▸", gettext("Add the word after"), gettext("Add the character after"), 0, 1],
];

/**
 * @param {Store} store @param {HTMLElement} root @param {Acts} acts
 * @param {any} view of boxes or spans @param {ReturnType<typeof import("../marks/labels.js").createLooks>} looks of labels
 */
export function createPanel(store, root, acts, view, looks) {
  const boxes = store.item.kind === "boxes";
  const title = createElement("h2", { id: "step-title" });
  const words = createElement("p", { class: "module-words" });
  const task = createElement("p", { class: "task" });
  const state = createElement("p", { class: "state-line" });
  const list = createElement("ol", {
    class: "objects",
    "aria-label": boxes ? gettext("Boxes of this step") : gettext("Spans of this step"),
  });
  const more = createElement("p", { class: "quiet small" });
  const detail = createElement("div", { class: "detail" });
  const guide = createElement("div", { class: "guide-text" });
  const guideline = createElement(
    "details",
    { class: "guideline", open: !store.annotation.others }, // an adjudicator needs room for what others marked
    createElement("summary", {}, gettext("Guideline")),
    guide,
  );
  const suggestions = createElement("div");
  root.append(title, words, task, state, suggestions);
  const labels = createLabels(store, root, acts, looks);
  const questions = createQuestions(store, acts);
  root.append(list, more, detail);
  createNote(store, root);
  root.append(guideline);
  let detailOf = "";
  let detailFor = "";
  /** @type {Set<string>} marks that lack an answer */
  let lacking = new Set();

  list.addEventListener("click", (event) => {
    const row = /** @type {Element} */ (event.target).closest?.("[data-id]");
    if (row) acts.pick(/** @type {HTMLElement} */ (row).dataset.id ?? null);
  });

  function render() {
    const node = store.program.nodes[store.node];
    title.replaceChildren(node.label);
    words.textContent = node.layer ? node.layer.hint : node.words;
    task.textContent =
      node.role === "draw"
        ? TASKS.draw[/** @type {"boxes"} */ (getMarkType(store, store.node))]
        : TASKS[node.role][store.item.kind];
    const shown = STATES[getState(store, store.node)];
    const value = formatValue(store.values[store.node]);
    state.replaceChildren(
      createSign(shown.sign),
      ` ${shown.word}${node.role === "compute" && value ? `: ${value}` : ""}`,
    );
    renderList();
    renderDetail();
    renderGuideline(node.module);
  }

  /** @param {string} module */
  function renderGuideline(module) {
    const guidelines = [store.annotation.guidelines[module], store.annotation.guidelines[""]].filter(Boolean);
    guideline.hidden = !guidelines.length;
    const key = guidelines.map((each) => each.text).join("\n");
    if (guide.dataset.key === key) return;
    guide.dataset.key = key;
    guide.replaceChildren(
      ...guidelines.flatMap(({ version, text }) => [
        ...text.split(/(?:\r?\n){2,}/).map((part) => createElement("p", {}, part)),
        createElement("p", { class: "quiet small" }, gettext("Version %(version)s", { version })),
      ]),
    );
  }

  /** Rows around the selected object; a list of thousands would only slow the page down. */
  function renderList() {
    const { objects } = store;
    const position = Math.max(
      0,
      objects.findIndex((each) => each.id === store.object),
    );
    const first = Math.max(0, Math.min(position - MOST_ROWS / 2, objects.length - MOST_ROWS));
    const rows = objects.slice(first, first + MOST_ROWS);
    lacking = new Set(listUnansweredQuestions(store.program, store.document, store.node).map(({ id }) => id));
    const focused = list.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.id
      : undefined;
    list.replaceChildren(...rows.map((each, index) => buildRow(each, first + index + 1)));
    list.hidden = !objects.length;
    more.hidden = objects.length <= MOST_ROWS;
    more.textContent = gettext(
      "Showing %(first)s to %(last)s of %(count)s, around the selected object.",
      { first: first + 1, last: first + rows.length, count: formatNumber(objects.length) },
    );
    if (focused)
      /** @type {HTMLElement | null} */ (list.querySelector(`[data-id="${CSS.escape(focused)}"]`))?.focus();
    const selected = /** @type {HTMLElement | null} */ (list.querySelector("[aria-current]"));
    if (selected) reveal(selected);
  }

  /** @param {HTMLElement} selected */
  function reveal(selected) {
    const top = selected.offsetTop; // from the top of the list
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + selected.offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = top + selected.offsetHeight - list.clientHeight;
  }

  /** @param {InPlay} each @param {number} number */
  function buildRow(each, number) {
    const chooses = !each.own && store.program.nodes[store.node].role === "choose";
    const links = isSourceMissing(each)
      ? createElement("span", { class: "missing" }, gettext("source?"))
      : null;
    const description = each.thing.ends
      ? formatRelation(store, { ...each.thing, label: "" }) // the label stands beside it
      : boxes
        ? formatSize(store, each.mark)
        : `“${each.mark.quote}”`;
    const button = createButton("", () => {}, {
      "data-id": each.id,
      class: "object-row",
      "aria-current": each.id === store.object ? "true" : false,
      "aria-pressed": chooses ? String(Boolean(each.chosen)) : false,
    });
    button.append(
      createElement("span", { class: "number-tag" }, String(number)),
      createElement("span", { class: "object-text", dir: "auto" }, description),
      each.thing.label
        ? createElement(
            "span",
            { class: `label-chip-small key-${looks.getLook(each.from, each.thing.label)}`, dir: "auto" },
            each.thing.label,
          )
        : "",
      ...(chooses
        ? [
            createElement(
              "span",
              { class: "choice" },
              each.chosen ? gettext("✓ chosen") : gettext("not chosen"),
            ),
          ]
        : []),
      ...(each.thing.answers
        ? [createElement("span", { class: "choice", dir: "auto" }, formatAnswers(filterAnswers(each)))]
        : []),
      ...(lacking.has(each.id) ? [createElement("span", { class: "missing" }, gettext("answer?"))] : []),
      ...(each.own && each.thing.suggested
        ? [createElement("span", { class: "choice" }, formatOrigin(each.thing.suggested))]
        : []),
      ...(each.own && each.thing.reason ? [createElement("span", { class: "choice" }, gettext("new"))] : []),
      ...(links ? [links] : []),
    );
    return createElement("li", {}, button);
  }

  /** The answers about a mark, without those to questions that no longer apply. @param {InPlay} each */
  function filterAnswers({ from, thing }) {
    const asked = listAskedQuestions(store.program.nodes[from].layer, thing);
    return Object.fromEntries(asked.flatMap(({ name }) => (thing.answers?.[name] ? [[name, thing.answers[name]]] : [])));
  }

  /** @param {InPlay} each */
  function isSourceMissing(each) {
    return (
      each.own &&
      store.program.nodes[store.node].role === "link" &&
      !each.thing.links?.length &&
      listContext(store.program, store.document, store.node).length > 0
    );
  }

  function renderDetail() {
    const chosen = acts.getSelectedObject();
    const key = JSON.stringify([
      chosen,
      store.node,
      store.locked,
      acts.relating,
      view.byCharacter,
      view.corner,
      chosen &&
        store.program.nodes[store.node].role === "link" &&
        listContext(store.program, store.document, store.node),
    ]);
    if (key === detailOf) return;
    const focused = detail.contains(document.activeElement) ? document.activeElement?.id : "";
    const typing = focused?.startsWith("about-") && document.activeElement?.matches("textarea");
    const what = `${store.node}/${chosen?.id}`;
    detailOf = key;
    if (typing && what === detailFor) return; // what is being written is newer than the document
    detailFor = what;
    detail.hidden = !chosen;
    if (!chosen) return detail.replaceChildren();
    const number = store.objects.indexOf(chosen) + 1;
    detail.replaceChildren(
      createElement(
        "h3",
        {},
        chosen.own ? formatMarkName(store, store.node, number) : formatMarkName(store, chosen.from, number),
      ),
      ...(chosen.thing.ends
        ? [buildRelation(chosen)]
        : store.program.nodes[store.node].role === "relate"
          ? [buildRelationStart(chosen)]
          : chosen.own
            ? [
                ...questions.buildFields(chosen),
                boxes ? buildBoxFields(chosen) : buildSpanFields(chosen),
                ...buildReasonFields(chosen),
                ...buildSourceFields(chosen),
              ]
            : [buildChoice(chosen)]),
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  /** A small button that a locked annotation disables. @param {string} text @param {() => void} go @param {Record<string, any>} [more] */
  const buildChangeButton = (text, go, more) =>
    createButton(text, go, { class: "button second small-button", disabled: Boolean(store.locked), ...more });
  const buildDeleteButton = () => buildChangeButton(gettext("Delete"), () => acts.remove());

  /** @param {InPlay} chosen */
  function buildRelation(chosen) {
    const turn = buildChangeButton(gettext("Reverse"), acts.reverse);
    const { layer } = store.program.nodes[store.node];
    return createElement(
      "div",
      {},
      createElement("p", { dir: "auto" }, formatRelation(store, chosen.thing)),
      createElement("div", { class: "actions" }, ...(layer?.directed ? [turn] : []), buildDeleteButton()),
    );
  }

  /** @param {InPlay} chosen a mark at a step of relations */
  function buildRelationStart(chosen) {
    const begun = acts.relating;
    const waits = begun === chosen.id;
    const text = waits
      ? gettext("Now choose the mark that it is related to.")
      : describeMark(store, chosen.id);
    return createElement(
      "div",
      {},
      createElement("p", { dir: "auto" }, text),
      createElement(
        "div",
        { class: "actions" },
        waits
          ? buildChangeButton(gettext("Cancel"), acts.cancelRelation, { id: "relate", disabled: false })
          : buildChangeButton(gettext("Relate"), acts.relate, { id: "relate" }),
      ),
    );
  }

  /** @param {InPlay} chosen */
  function buildChoice(chosen) {
    const text = chosen.chosen ? gettext("Deselect") : gettext("Select");
    return createElement("div", { class: "actions" }, buildChangeButton(text, () => acts.toggle(chosen.id)));
  }

  /** @param {InPlay} chosen */
  function buildBoxFields(chosen) {
    const [left, top, right, bottom] = chosen.mark.box ?? [0, 0, 0, 0];
    const { point } = chosen.mark;
    const values = { left, top, ...(point ? {} : { width: right - left, height: bottom - top }) };
    const inputs = Object.entries(values).map(([name, value]) => {
      const input = createElement("input", {
        type: "number",
        id: `box-${name}`,
        min: "0",
        max: "100",
        step: "0.1",
        inputmode: "decimal",
        value: String(Math.round(value * 1000) / 10),
        disabled: Boolean(store.locked),
      });
      input.addEventListener("change", () => {
        const entered = Number(input.value) / 100;
        if (input.value === "" || !Number.isFinite(entered))
          return void (input.value = String(Math.round(value * 1000) / 10));
        const next = { width: 0, height: 0, ...values, [name]: entered };
        acts.move(
          chosen.id,
          point ? createPoint(next.left, next.top) : reshapeMark(chosen.mark, createRect(next)),
        );
      });
      return createElement(
        "label",
        { class: "measure" },
        MEASURES[name],
        createUnseenText(gettext(", percent of the image")),
        input,
      );
    });
    return createElement(
      "div",
      {},
      createElement("div", { class: "measures" }, ...inputs),
      chosen.mark.polygon ? buildCornerButtons(chosen.mark.polygon) : "",
      createElement("div", { class: "actions" }, buildDeleteButton()),
    );
  }

  /** The corners of a polygon one by one, for people without a mouse. @param {import("../document/types.js").Corner[]} polygon */
  function buildCornerButtons(polygon) {
    const at = view.corner === null ? null : polygon[view.corner];
    const buildCornerButton = (
      /** @type {string} */ id,
      /** @type {string} */ text,
      /** @type {string} */ name,
      /** @type {() => void} */ go,
      disabled = false,
    ) =>
      buildChangeButton(text, go, {
        id: `corner-${id}`,
        "aria-label": name,
        title: name,
        disabled: Boolean(store.locked) || disabled,
      });
    const where = at
      ? `${view.corner + 1}: ${Math.round(1000 * at[0]) / 10} %, ${Math.round(1000 * at[1]) / 10} %`
      : gettext("%(count)s corners", { count: polygon.length });
    return createElement(
      "div",
      { class: "actions edges", role: "group", "aria-label": gettext("Corners of the polygon") },
      buildCornerButton("previous", "◂", gettext("Previous corner"), () => view.stepThroughCorners(-1)),
      createElement("span", { class: "small" }, where),
      buildCornerButton("next", "▸", gettext("Next corner"), () => view.stepThroughCorners(1)),
      buildCornerButton("add", "+", gettext("Add a corner after this one"), view.addCorner),
      buildCornerButton(
        "remove",
        "−",
        gettext("Remove this corner"),
        view.removeCorner,
        !at || polygon.length < 4,
      ),
    );
  }

  /** @param {InPlay} chosen */
  function buildSpanFields(chosen) {
    const edges = EDGES.map(([text, word, character, start, end]) => {
      const name = view.byCharacter ? character : word;
      return buildChangeButton(text, () => view.stretch(start, end), { "aria-label": name, title: name });
    });
    return createElement(
      "div",
      {},
      createElement("blockquote", { dir: "auto" }, chosen.mark.quote ?? ""),
      createElement(
        "div",
        { class: "actions edges", role: "group", "aria-label": gettext("Edges of the span") },
        ...edges,
      ),
      createElement("div", { class: "actions" }, buildDeleteButton()),
    );
  }

  /** @param {InPlay} chosen @returns {HTMLElement[]} */
  function buildReasonFields(chosen) {
    if (store.program.nodes[store.node].role !== "choose") return [];
    const input = createElement("textarea", {
      id: "object-reason",
      rows: "2",
      maxlength: "2000",
      value: chosen.thing.reason ?? "",
      disabled: Boolean(store.locked),
      onchange: () => acts.setReason(chosen.id, input.value),
    });
    return [createField("object-reason", gettext("Reason for the new object"), input)];
  }

  /** @param {InPlay} chosen @returns {HTMLElement[]} */
  function buildSourceFields(chosen) {
    if (store.program.nodes[store.node].role !== "link") return [];
    const sources = listContext(store.program, store.document, store.node);
    if (!sources.length)
      return [
        createElement(
          "p",
          { class: "quiet small" },
          gettext("The previous step has no objects to select as a source."),
        ),
      ];
    const links = new Set(chosen.thing.links ?? []);
    const chips = sources.slice(0, MOST_ROWS).map(({ thing, mark }, index) =>
      createButton(
        mark.quote
          ? `“${mark.quote}”`
          : `${nameSource(index)} · ${formatImageName(store, mark.image ?? 0)}`,
        () => acts.link(thing.id),
        {
          id: `source-${thing.id}`,
          class: "chip",
          "aria-pressed": String(links.has(thing.id)),
          disabled: Boolean(store.locked),
        },
      ),
    );
    return [
      createElement(
        "fieldset",
        { class: "sources" },
        createElement("legend", {}, gettext("Source")),
        ...chips,
      ),
    ];
  }

  store.subscribe((topics) => {
    if (
      ["document", "node", "object", "values", "status", "view"].some((topic) =>
        topics.has(/** @type {any} */ (topic)),
      )
    )
      render();
  });
  view.onCorner = renderDetail;
  render();

  return {
    /** The labels of the step, with those of questions about the selected mark. */
    labels: { ...labels, press: (/** @type {string} */ key) => labels.press(key) || questions.press(key) },
    /** The element for suggestions of models. */
    suggestions,
    /** Go to the first source that can be selected for the object. */
    focusSources: () => /** @type {HTMLElement | null} */ (detail.querySelector(".sources button"))?.focus(),
    /** Go to the first open question about the selected mark. @returns {boolean} whether there are questions */
    focusQuestions() {
      const fields = [...detail.querySelectorAll(".about")];
      const open = fields.find((each) => !each.querySelector(":checked")) ?? fields[0];
      const field = /** @type {HTMLElement | null} */ (open?.querySelector("input:checked, input") ?? detail.querySelector("textarea"));
      if (!field || !listQuestionsHere(store).length) return false;
      field.focus();
      return true;
    },
    toggleGuideline() {
      guideline.open = !guideline.open;
    },
  };
}
