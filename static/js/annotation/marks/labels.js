/**
 * Layers of plain tasks: their labels as buttons, their questions as fields, and the colours of marks.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").LabelLayer} LabelLayer
 * @typedef {import("../document/types.js").Value} Value
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { getLayer } from "../document/program.js";
import { formatOrigin } from "../document/words.js";
import { gettext } from "../page/language.js";
import { createButton, createElement } from "../page/markup.js";
import { chooseInk } from "./colors.js";
import { LANES } from "./lanes.js";

/**
 * Name the look of each label, and say in a style sheet of the page what it is.
 * @param {Store} store
 * @returns {{getLook: (node: number, label: string | undefined) => string, all: string[]}}
 */
export function createLooks(store) {
  /** @type {Map<string, string>} */
  const looks = new Map();
  const sheet = new CSSStyleSheet();
  for (const { index, layer } of store.program.nodes)
    for (const { name, color } of layer?.labels ?? []) {
      const look = `label-${looks.size}`;
      looks.set(`${index}/${name}`, look);
      const line = `linear-gradient(${color}, ${color})`;
      for (let lane = 0; lane < LANES; lane += 1) sheet.insertRule(`.${look}-${lane} { --l${lane}: ${line}; }`);
      sheet.insertRule(
        `.start-${look}, .tag.${look}, .key-${look} { --label: ${color}; --label-ink: ${chooseInk(color)}; }`,
      );
      sheet.insertRule(`.box.${look}:not(.halo) { stroke: ${color}; }`);
    }
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return { getLook: (node, label) => looks.get(`${node}/${label}`) ?? "own", all: [...looks.values()] };
}

/** The answers at a node. @param {Store} store @param {number} node @returns {Value[]} */
export function listAnswers(store, node) {
  return getLayer(store.document, node).objects.flatMap(({ value }) => (value === undefined ? [] : [value]));
}

/**
 * The choices of a layer or question by a button or key.
 * @param {Pick<LabelLayer, "type" | "labels" | "lowest" | "highest">} layer
 * @returns {{value: string | number, key: string, hint: string, depth?: number}[]}
 */
export function listChoices({ type, labels, lowest, highest }) {
  if (type !== "rating")
    return labels.map(({ name, key, hint, depth }) => ({ value: name, key, hint, depth }));
  return Array.from({ length: highest - lowest + 1 }, (_none, index) => ({
    value: lowest + index,
    key: lowest + index < 10 ? String(lowest + index) : "",
    hint: "",
    depth: 0,
  }));
}

/** The class that moves a label inside another one to the right. @param {number} [depth] */
export const getIndentClass = (depth = 0) => (depth ? ` inside-${Math.min(depth, 3)}` : "");

/** The name of a label, and below it when to choose it. @param {Value} name @param {string} hint */
export function buildNameWithHint(name, hint) {
  return createElement(
    "span",
    { class: "label-name", dir: "auto" },
    String(name),
    hint ? createElement("span", { class: "label-hint", dir: "auto" }, hint) : null,
  );
}

/** @param {{value: Value, key: string}[]} choices @param {string} name @returns {[string, string][]} */
function listKeysOfChoices(choices, name) {
  return choices.flatMap(({ value, key }) =>
    key ? [/** @type {[string, string]} */ ([key.toUpperCase(), `${name}: ${value}`])] : [],
  );
}

/**
 * @param {Store} store @param {HTMLElement} root @param {Acts} acts
 * @param {ReturnType<typeof createLooks>} looks
 */
export function createLabels(store, root, acts, looks) {
  const part = createElement("div", { class: "label-part" });
  root.append(part);
  let shown = "";

  const getLabelLayer = () => store.program.nodes[store.node].layer ?? null;

  /** @param {Value} value */
  function choose(value) {
    const { role } = store.program.nodes[store.node];
    if (role === "answer") acts.answer(value);
    else acts.setLabel(String(value));
  }

  function render() {
    const layer = getLabelLayer();
    part.hidden = !layer;
    if (!layer) return;
    const { role } = store.program.nodes[store.node];
    const chosen = role === "answer" ? listAnswers(store, store.node) : [acts.getLabel()];
    const key = JSON.stringify([store.node, chosen, store.locked, listOrigins()]);
    if (key === shown) return;
    const focused = part.contains(document.activeElement) ? document.activeElement?.id : "";
    const typing = layer.type === "text" && focused;
    shown = key;
    if (typing) return; // what is being written is newer than the document
    part.replaceChildren(layer.type === "text" ? buildTextField(chosen[0]) : buildOptions(layer, chosen));
    if (focused) document.getElementById(focused)?.focus();
  }

  /** The answers in which models had a part, and those models as text. @returns {[Value | undefined, string][]} */
  const listOrigins = () =>
    getLayer(store.document, store.node).objects.flatMap(({ value, suggested }) =>
      value !== undefined && suggested
        ? [/** @type {[Value, string]} */ ([value, formatOrigin(suggested)])]
        : [],
    );

  /** @param {LabelLayer} layer @param {(Value | undefined)[]} chosen */
  function buildOptions(layer, chosen) {
    const marks = store.program.nodes[store.node].role === "draw";
    const from = new Map(listOrigins());
    const rows = listChoices(layer).map(({ value, key, hint, depth }, index) => {
      const id = `label-${store.node}-${index}`;
      const input = createElement("input", {
        type: layer.type === "choices" ? "checkbox" : "radio",
        id,
        name: `label-${store.node}`,
        checked: chosen.includes(value),
        disabled: Boolean(store.locked),
        onchange: () => choose(value),
      });
      const look = looks.getLook(store.node, String(value));
      const swatch = createElement("span", { class: `label-swatch key-${look}`, "aria-hidden": "true" });
      return createElement(
        "label",
        { class: `label-option${getIndentClass(depth)}`, for: id },
        input,
        layer.labels.length ? swatch : null,
        buildNameWithHint(value, hint),
        from.has(value) ? createElement("span", { class: "choice" }, from.get(value)) : null,
        key ? createElement("kbd", { "aria-hidden": "true" }, key.toUpperCase()) : null,
      );
    });
    const name = marks
      ? gettext("Label for marks")
      : layer.type === "relations"
        ? gettext("Label for relations")
        : store.program.nodes[store.node].label;
    return createElement(
      "fieldset",
      { class: `label-options${layer.type === "rating" ? " in-a-row" : ""}` },
      createElement("legend", {}, name),
      ...rows,
    );
  }

  /** @param {Value | undefined} value */
  function buildTextField(value) {
    const node = store.node;
    // At once: operations on one answer that follow quickly are sent as one.
    const save = () => {
      if (input.value.trim() !== (listAnswers(store, node)[0] ?? ""))
        acts.answerWithText(node, input.value.trim());
    };
    const input = createElement("textarea", {
      id: `label-${node}-text`,
      rows: "4",
      maxlength: "10000",
      dir: "auto",
      "aria-label": store.program.nodes[node].label,
      value: value === undefined ? "" : String(value),
      disabled: Boolean(store.locked),
      oninput: save,
    });
    return input;
  }

  store.subscribe((topics) => {
    if (["document", "node", "object", "status"].some((topic) => topics.has(/** @type {any} */ (topic)))) render();
  });
  render();

  return {
    /** Act on the key of a label of this step. @param {string} key @returns {boolean} whether it is one */
    press(key) {
      const layer = getLabelLayer();
      const choice = layer && listChoices(layer).find((each) => each.key === key);
      if (choice && !store.locked) choose(choice.value);
      return Boolean(choice);
    },
    /** The keys of the labels, for the list of keys. @returns {[string, string][]} */
    listKeys: () =>
      store.program.nodes.flatMap(({ label, layer }) => [
        ...(layer ? listKeysOfChoices(listChoices(layer), label) : []),
        ...(layer?.questions ?? []).flatMap(({ name, labels }) =>
          listKeysOfChoices(labels.map((each) => ({ value: each.name, key: each.key })), name),
        ),
      ]),
    focus: () => /** @type {HTMLElement | null} */ (part.querySelector("input:checked, input, textarea"))?.focus(),
  };
}
