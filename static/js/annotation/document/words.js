/**
 * Texts for people about nodes, objects and values.
 *
 * @typedef {import("./types.js").Thing} Thing
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Value} Value
 * @typedef {import("./store.js").Store} Store
 */
import { gettext, ngettext } from "../page/language.js";
import {
  countUnlinkedObjects,
  getLayer,
  isMissingAnswers,
  listPlacedObjects,
  listUnansweredQuestions,
} from "./program.js";

/** Sign and word of each state of a node; the order is that of the buttons. */
export const STATES = {
  done: { sign: "✓", word: gettext("done") },
  nothing: { sign: "∅", word: gettext("nothing here") },
  unsure: { sign: "?", word: gettext("unsure") },
  open: { sign: "○", word: gettext("not done") },
  compute: { sign: "=", word: gettext("computed") },
};

/** Problems of programs: short, and as an answer to choose. @type {Record<string, {short: string, text: string}>} */
export const PROBLEMS = {
  "wrong module": { short: gettext("wrong module"), text: gettext("A step has the wrong module") },
  "wrong argument": { short: gettext("wrong argument"), text: gettext("A step has the wrong words") },
  "wrong structure": {
    short: gettext("wrong structure"),
    text: gettext("Steps are missing, too many or in the wrong order"),
  },
  "cannot be answered": {
    short: gettext("cannot be answered"),
    text: gettext("The images or the passage do not contain the answer"),
  },
  other: { short: gettext("other"), text: gettext("Something else") },
};

/** Instructions at a node, by role and by kind of object. */
export const TASKS = {
  draw: {
    boxes: gettext("Draw a box around each object."),
    polygons: gettext("Click the corners of each outline; a click on the first corner closes it."),
    ellipses: gettext("Draw an ellipse around each object."),
    points: gettext("Click each point."),
    spans: gettext("Mark each matching span in the passage."),
  },
  choose: {
    boxes: gettext("Select from the boxes of the previous step: click them, or press their numbers."),
    spans: gettext("Select from the spans of the previous step: click them, or press their numbers."),
  },
  link: {
    boxes: gettext("Draw each box, then select its source box."),
    spans: gettext("Mark each span, then select its source span."),
  },
  answer: {
    boxes: gettext("Answer for the whole item."),
    spans: gettext("Answer for the whole item."),
  },
  relate: {
    boxes: gettext("Select a mark, choose “Relate”, then select the other mark."),
    spans: gettext("Select a mark, choose “Relate”, then select the other mark."),
  },
  compute: {
    boxes: gettext("Nothing to do: the value is computed from previous steps."),
    spans: gettext("Nothing to do: the value is computed from previous steps."),
  },
};

/** The type of the marks of a step: the type of its layer, else that of the item. @param {Store} store @param {number} node */
export function getMarkType(store, node) {
  return store.program.nodes[node].layer?.type ?? store.item.kind;
}

/** @type {Record<string, (numbers: {number: number}) => string>} */
const NUMBERED = {
  boxes: (numbers) => gettext("Box %(number)s", numbers),
  polygons: (numbers) => gettext("Polygon %(number)s", numbers),
  ellipses: (numbers) => gettext("Ellipse %(number)s", numbers),
  points: (numbers) => gettext("Point %(number)s", numbers),
  spans: (numbers) => gettext("Span %(number)s", numbers),
  relations: (numbers) => gettext("Relation %(number)s", numbers),
};
/** @type {Record<string, (count: number) => string>} */
const COUNTED = {
  boxes: (count) => ngettext("%(count)s box", "%(count)s boxes", count),
  polygons: (count) => ngettext("%(count)s polygon", "%(count)s polygons", count),
  ellipses: (count) => ngettext("%(count)s ellipse", "%(count)s ellipses", count),
  points: (count) => ngettext("%(count)s point", "%(count)s points", count),
  spans: (count) => ngettext("%(count)s span", "%(count)s spans", count),
  relations: (count) => ngettext("%(count)s relation", "%(count)s relations", count),
};

/** @param {Store} store @param {number} node @param {number} number of a mark at it, from 1 */
export function formatMarkName(store, node, number) {
  return (NUMBERED[getMarkType(store, node)] ?? NUMBERED.spans)({ number });
}

/** The size of a mark, or the place of a point, in percent of its image. @param {Store} store @param {Place} mark */
export function formatSize(store, { box, image, point }) {
  const [left, top, right, bottom] = (box ?? [0, 0, 0, 0]).map((edge) => edge * 100);
  const text = point
    ? `${Math.round(left)} %, ${Math.round(top)} %`
    : `${Math.round(right - left)} × ${Math.round(bottom - top)} %`;
  return store.item.images.length > 1 ? `${formatImageName(store, image ?? 0)}, ${text}` : text;
}

/** @param {Value | undefined} value */
export function formatValue(value) {
  if (value === null || value === undefined) return "";
  if (value === true) return gettext("true");
  if (value === false) return gettext("false");
  return typeof value === "number" ? Number(value.toFixed(4)).toString() : value;
}

/**
 * State of a node as it is shown: nodes that are computed have none of their own, and one that is done is open
 * while its marks lack answers.
 * @param {Store} store
 * @param {number} index
 */
export function getState(store, index) {
  const shared = store.program.nodes[index].representative;
  if (isMissingAnswers(store.program, store.document, shared)) return "open";
  return store.program.nodes[index].role === "compute" ? "compute" : getLayer(store.document, shared).state;
}

/** @param {Store} store @param {number} index @returns {string} what lies in a node's layer, counted */
export function formatCount(store, index) {
  const node = store.program.nodes[index];
  if (node.role === "compute") return "";
  const count = listPlacedObjects(store.program, store.document, node.representative).length;
  if (!count) return "";
  if (node.role === "answer")
    return getLayer(store.document, index)
      .objects.map(({ value }) => formatValue(value))
      .join(", ");
  return COUNTED[getMarkType(store, index)](count);
}

/**
 * @param {Store} store
 * @param {Thing | Place} mark
 * @returns {string} where an object lies, for people who do not see it
 */
export function formatPlace(store, mark) {
  if ("ends" in mark) return formatRelation(store, /** @type {Thing} */ (mark));
  if (mark.box) {
    const [left, top, right, bottom] = mark.box.map((edge) => Math.round(edge * 100));
    const image = store.item.images.length > 1 ? `${formatImageName(store, mark.image ?? 0)}, ` : "";
    if (mark.point) return image + gettext("%(left)s% from the left, %(top)s% from the top", { left, top });
    const where = gettext(
      "%(left)s% from the left, %(top)s% from the top, %(width)s% wide, %(height)s% high",
      {
        left,
        top,
        width: right - left,
        height: bottom - top,
      },
    );
    return image + where;
  }
  if (!mark.tokens) return "";
  return gettext("words %(first)s to %(last)s", { first: mark.tokens[0] + 1, last: mark.tokens[1] });
}

/** @param {Store} store @param {number} index */
export function formatImageName(store, index) {
  return store.item.images.length === 2
    ? [gettext("left image"), gettext("right image")][index]
    : gettext("image %(number)s", { number: index + 1 });
}

/** A mark in a few words: what is marked, or its label and number. @param {Store} store @param {string} id */
export function describeMark(store, id) {
  for (const { index, role } of store.program.nodes) {
    if (role !== "draw") continue;
    const { objects } = getLayer(store.document, index);
    const position = objects.findIndex((thing) => thing.id === id);
    if (position >= 0)
      return objects[position].quote
        ? `“${objects[position].quote}”`
        : `${objects[position].label ?? ""} ${position + 1}`.trim();
  }
  return gettext("a deleted mark");
}

/**
 * A relation as text. @param {Store} store @param {Thing} relation @param {string[]} [ends] as text
 * @param {number} [node] whose relation it is
 */
export function formatRelation(
  store,
  { ends = /** @type {any} */ ([]), label },
  [first, second] = ends.map((/** @type {string} */ id) => describeMark(store, id)),
  node = store.node,
) {
  return `${first} ${label ? `– ${label} ` : ""}${store.program.nodes[node].layer?.directed ? "→" : "–"} ${second}`;
}

/** Why a node cannot be called done yet, empty when it can. @param {Store} store @param {number} node */
export function explainWhyNotDone(store, node) {
  if (store.program.nodes[node].role === "answer" && !getLayer(store.document, node).objects.length)
    return gettext("There is no answer yet. If there is none, choose “nothing here”.");
  if (store.program.nodes[node].role === "relate" && !getLayer(store.document, node).objects.length)
    return gettext("Nothing is related yet. If no marks are, choose “nothing here”.");
  if (!listPlacedObjects(store.program, store.document, node).length)
    return gettext("Nothing is marked yet. If nothing matches, choose “nothing here”.");
  const open = listUnansweredQuestions(store.program, store.document, node);
  if (open.length)
    return ngettext(
      "%(count)s question about a mark is open, such as “%(question)s”.",
      "%(count)s questions about marks are open, such as “%(question)s”.",
      open.length,
      { question: open[0].question },
    );
  const missing = countUnlinkedObjects(store.program, store.document, node);
  return missing
    ? ngettext(
        "%(count)s object has no source.",
        "%(count)s objects have no source.",
        missing,
      )
    : "";
}

/** A person's answers about a mark. @param {Record<string, (string | number)[]>} [answers] by question */
export function formatAnswers(answers = {}) {
  return Object.entries(answers)
    .map(([name, values]) => `${name}: ${values.join(", ")}`)
    .join(" · ");
}

/** Say that an object comes from a model. @param {import("./types.js").Origin} origin */
export function formatOrigin({ by, changed }) {
  return changed ? gettext("changed from %(system)s", { system: by }) : gettext("from %(system)s", { system: by });
}
