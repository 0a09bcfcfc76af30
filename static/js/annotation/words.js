/**
 * How nodes, objects and values are said to people.
 *
 * @typedef {import("./types.js").Thing} Thing
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Value} Value
 * @typedef {import("./store.js").Store} Store
 */
import { plural } from "./markup.js";
import { layerOf, placed, unlinked } from "./program.js";

/** Sign and word of each state of a node; the order is that of the buttons. */
export const STATES = {
  done: { sign: "✓", word: "done" },
  nothing: { sign: "∅", word: "nothing here" },
  unsure: { sign: "?", word: "unsure" },
  open: { sign: "○", word: "not done" },
  compute: { sign: "=", word: "computed" },
};

/** What a person does at a node, by role and by kind of object. */
export const TASKS = {
  draw: { boxes: "Draw a box around each of them.", spans: "Mark each place in the passage that says it." },
  choose: {
    boxes: "Choose among the boxes of the step before: click them, or press their numbers.",
    spans: "Choose among the spans of the step before: click them, or press their numbers.",
  },
  link: {
    boxes: "Draw each box, then pick the box that it was found from.",
    spans: "Mark each span, then pick the span that it was found from.",
  },
  compute: {
    boxes: "Nothing to do here: the value follows from the steps before.",
    spans: "Nothing to do here: the value follows from the steps before.",
  },
};

/** @param {Value | undefined} value */
export function valueText(value) {
  if (value === null || value === undefined) return "";
  if (value === true) return "true";
  if (value === false) return "false";
  return typeof value === "number" ? Number(value.toFixed(4)).toString() : value;
}

/**
 * State of a node as it is shown: nodes that are computed have none of their own.
 * @param {Store} store
 * @param {number} index
 */
export function stateOf(store, index) {
  const shared = store.program.nodes[index].representative;
  return store.program.nodes[index].role === "compute" ? "compute" : layerOf(store.document, shared).state;
}

/** @param {Store} store @param {number} index @returns {string} what lies in a node's layer, counted */
export function countText(store, index) {
  const node = store.program.nodes[index];
  if (node.role === "compute") return "";
  const count = placed(store.program, store.document, node.representative).length;
  return count
    ? plural(
        count,
        store.item.kind === "boxes" ? "box" : "span",
        store.item.kind === "boxes" ? "boxes" : "spans",
      )
    : "";
}

/**
 * @param {Store} store
 * @param {Thing | Place} place
 * @returns {string} where an object lies, for people who do not see it
 */
export function placeText(store, place) {
  if (place.box) {
    const [left, top, right, bottom] = place.box.map((edge) => Math.round(edge * 100));
    const image = store.item.images.length > 1 ? `${imageName(store, place.image ?? 0)}, ` : "";
    return `${image}${left}% from the left, ${top}% from the top, ${right - left}% wide, ${bottom - top}% high`;
  }
  return place.tokens ? `words ${place.tokens[0] + 1} to ${place.tokens[1]}` : "";
}

/** @param {Store} store @param {number} index */
export function imageName(store, index) {
  return store.item.images.length === 2 ? ["left image", "right image"][index] : `image ${index + 1}`;
}

/** Why a node cannot be called done yet, empty when it can. @param {Store} store @param {number} node */
export function notYet(store, node) {
  if (!placed(store.program, store.document, node).length)
    return "Nothing is marked yet. If there is nothing, say “nothing here”.";
  const missing = unlinked(store.program, store.document, node);
  return missing
    ? `${plural(missing, "object")} still ${missing === 1 ? "needs its source" : "need their sources"}.`
    : "";
}
