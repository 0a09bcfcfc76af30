/**
 * The passage as tokens: only tokens whose look has changed are touched, and parts out of sight are not laid
 * out, so that ten thousand tokens with thousands of spans stay quick.
 *
 * @typedef {{range: [number, number], look: string, selected: boolean}} Mark
 */
import { tokenClasses } from "./lanes.js";
import { element } from "./markup.js";
import { offsetsOf } from "./offsets.js";

/**
 * A longer passage is cut after sentences into parts of about this many tokens, which are laid out when seen.
 */
const BLOCK = 200;
/** Lines under the text that fit without more room between the lines of text. */
const ROOM = 3;

/** @param {string} text @param {[number, number][]} tokens code points of each token */
export function createPassage(text, tokens) {
  const offsets = offsetsOf(text);
  const root = element("div", { class: "passage", dir: "auto" });
  /** @type {HTMLElement[]} */
  const made = [];
  for (let first = 0, last; first < tokens.length; first = last) {
    last = blockEnd(first);
    root.append(block(first, last));
  }
  if (tokens.length) root.firstElementChild?.prepend(offsets.slice(0, tokens[0][0]));
  /** @type {string[]} */
  let classes = new Array(tokens.length);
  let [caret, from, to] = [-1, 0, 0];

  /** @param {number} first @returns {number} where the part that begins there ends */
  function blockEnd(first) {
    let last = first + BLOCK;
    while (
      last < tokens.length &&
      !/[.!?]/.test(offsets.slice(...tokens[last - 1])) &&
      last < first + 2 * BLOCK
    )
      last += 1;
    return Math.min(last, tokens.length);
  }

  /** @param {number} first @param {number} last */
  function block(first, last) {
    const part = element("span", { class: "block" });
    for (let index = first; index < last; index += 1) {
      const [start, end] = tokens[index];
      const next = tokens[index + 1]?.[0] ?? offsets.points;
      const token = element("span", { class: "token" }, offsets.slice(start, end));
      /** @type {any} */ (token).index = index;
      made.push(token);
      // The gap belongs to the token before it, so that a line under a span has no holes.
      const gap = next > end ? offsets.slice(end, next) : "";
      if (/[\r\n]/.test(gap)) part.append(token, element("span", { class: "gap" }, gap));
      else {
        token.append(gap);
        part.append(token);
      }
    }
    return part;
  }

  /** @param {number} index @param {string} [look] */
  function paint(index, look = classes[index]) {
    const extra = `${index === caret ? " caret" : ""}${index >= from && index < to ? " picked" : ""}`;
    const name = `token${look ?? ""}${extra}`;
    if (made[index].className !== name) made[index].className = name;
  }

  return {
    element: root,
    count: tokens.length,
    /** @param {Mark[]} marks */
    show(marks) {
      const { classes: next, lines } = tokenClasses(tokens.length, marks);
      root.classList.toggle("roomy", lines > ROOM);
      for (let index = 0; index < tokens.length; index += 1) {
        if (next[index] === classes[index]) continue;
        classes[index] = next[index];
        paint(index);
      }
    },
    /**
     * Where the keyboard is, and what it or the pointer has picked.
     * @param {number} nextCaret
     * @param {number} start
     * @param {number} end
     */
    pick(nextCaret, start, end) {
      const before = [caret, from, to];
      [caret, from, to] = [nextCaret, start, end];
      for (const index of [before[0], caret]) if (made[index]) paint(index);
      for (let index = Math.min(before[1], from); index < Math.max(before[2], to); index += 1)
        if (made[index]) paint(index);
    },
    /** @param {number} index */
    reveal: (index) => made[index]?.scrollIntoView({ block: "nearest" }),
    /** @param {number} index */
    bounds: (index) => made[index].getBoundingClientRect(),
    /** @param {EventTarget | null} target @returns {number | null} */
    tokenOf(target) {
      const found = /** @type {Element | null} */ (target)?.closest?.(".token");
      return found ? /** @type {any} */ (found).index : null;
    },
    /** Place of tokens from one to another, end exclusive. @param {number} start @param {number} end */
    place(start, end) {
      /** @type {[number, number]} */
      const span = [tokens[start][0], tokens[end - 1][1]];
      return { span, tokens: /** @type {[number, number]} */ ([start, end]), quote: offsets.slice(...span) };
    },
  };
}
