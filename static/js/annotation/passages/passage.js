/**
 * The passage as words, or as characters: only those whose look has changed are touched, and parts out of sight
 * are not laid out, so that ten thousand words with thousands of spans stay quick.
 *
 * @typedef {import("../document/types.js").Place} Place
 * @typedef {import("../document/types.js").Range} Range
 * @typedef {{mark: Place, look: string, selected: boolean, label?: string}} Mark
 */
import { computeTokenClasses } from "../marks/lanes.js";
import { createElement } from "../page/markup.js";
import { createOffsets } from "./offsets.js";
import { createEdgeTest, findTouchedUnits, findWordAround, listUnits } from "./units.js";

/**
 * A longer passage is cut after sentences into parts of about this many units, which are laid out when seen.
 */
const BLOCK = 200;
/** Lines under the text that fit without more room between the lines of text. */
const ROOM = 3;

/**
 * @param {string} text
 * @param {Range[]} tokens code points of each token
 * @param {(now: (index: number) => number) => void} onRebuild called with the present index of each earlier unit
 */
export function createPassage(text, tokens, onRebuild) {
  const offsets = createOffsets(text);
  const isEdge = createEdgeTest(text, offsets);
  const root = createElement("div", { class: "passage", dir: "auto" });
  /** Tokens that are shown as characters because a span begins or ends within. @type {Set<number>} */
  const cuts = new Set();
  let byCharacter = false;
  let units = listUnits(tokens, isEdge, () => false);
  /** @type {HTMLElement[]} */
  let elements = [];
  /** @type {string[]} */
  let classes = [];
  let [caret, from, to] = [-1, 0, 0];
  /** @type {Map<number, string>} the names of the labels of marks that begin at a unit */
  let begins = new Map();
  build();

  function build() {
    elements = [];
    begins = new Map();
    classes = new Array(units.length);
    [caret, from, to] = [-1, 0, 0];
    root.replaceChildren();
    root.classList.toggle("in-characters", byCharacter);
    for (let first = 0, last; first < units.length; first = last) {
      last = findBlockEnd(first);
      root.append(buildBlock(first, last));
    }
    if (units.length) root.firstElementChild?.prepend(offsets.slice(0, units[0].start));
  }

  function rebuild() {
    const before = units;
    units = listUnits(tokens, isEdge, (token) => byCharacter || cuts.has(token));
    build();
    onRebuild((index) => findTouchedUnits(units, [before[index].start, before[index].end])[0]);
  }

  /** @param {number} first @returns {number} where the part that begins there ends */
  function findBlockEnd(first) {
    let last = first + BLOCK;
    while (
      last < units.length &&
      !/[.!?。！？]/.test(offsets.slice(units[last - 1].start, units[last - 1].end)) &&
      last < first + 2 * BLOCK
    )
      last += 1;
    return Math.min(last, units.length);
  }

  /** @param {number} first @param {number} last */
  function buildBlock(first, last) {
    const part = createElement("span", { class: "block" });
    for (let index = first; index < last; index += 1) {
      const { start, end } = units[index];
      const next = units[index + 1]?.start ?? offsets.points;
      const token = createElement("span", { class: "token" }, offsets.slice(start, end));
      /** @type {any} */ (token).index = index;
      elements.push(token);
      // The gap belongs to the token before it, so that a line under a span has no holes.
      const gap = next > end ? offsets.slice(end, next) : "";
      if (/[\r\n]/.test(gap)) part.append(token, createElement("span", { class: "gap" }, gap));
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
    if (elements[index].className !== name) elements[index].className = name;
  }

  /** @param {Place} mark @returns {Range | null} its code points */
  function findPoints({ span, tokens: [first, beyond] = [0, 0] }) {
    if (span) return span;
    return beyond > first ? [tokens[first][0], tokens[beyond - 1][1]] : null;
  }

  /** Cut tokens within which a span begins or ends. @param {Range[]} spans @returns {boolean} if there are new ones */
  function cutTokens(spans) {
    const before = cuts.size;
    for (const span of spans) {
      const [first, beyond] = findTouchedUnits(units, span);
      if (units[first].start < span[0]) cuts.add(units[first].first);
      if (units[beyond - 1].end > span[1]) cuts.add(units[beyond - 1].first);
    }
    return cuts.size > before;
  }

  /**
   * Write the labels of marks before their first unit.
   * @param {{look: string, label?: string, range: Range}[]} marks @param {string[]} next class names
   */
  function writeLabels(marks, next) {
    const before = begins;
    begins = new Map();
    for (const { look, label, range } of marks) {
      if (!label) continue;
      const [start] = range;
      begins.set(start, [begins.get(start), label].filter(Boolean).join(" · "));
      next[start] += ` start-${look}`;
    }
    for (const index of before.keys()) if (!begins.has(index)) delete elements[index]?.dataset.label;
    for (const [index, label] of begins)
      if (elements[index].dataset.label !== label) elements[index].dataset.label = label;
  }

  return {
    element: root,
    get count() {
      return units.length;
    },
    get byCharacter() {
      return byCharacter;
    },
    /** Let a person mark characters, or words. @param {boolean} wanted */
    setByCharacter(wanted) {
      byCharacter = wanted;
      rebuild();
    },
    /** @param {Mark[]} marks */
    show(marks) {
      const drawn = marks.flatMap(({ mark, ...rest }) => {
        const points = findPoints(mark);
        return points ? [{ ...rest, points }] : [];
      });
      if (!byCharacter && cutTokens(drawn.map(({ points }) => points))) rebuild();
      const ranges = drawn.map(({ points, ...mark }) => ({
        ...mark,
        range: findTouchedUnits(units, points),
      }));
      const { classes: next, lines } = computeTokenClasses(units.length, ranges);
      root.classList.toggle("roomy", lines > ROOM);
      writeLabels(ranges, next);
      for (let index = 0; index < units.length; index += 1) {
        if (next[index] === classes[index]) continue;
        classes[index] = next[index];
        paint(index);
      }
    },
    /**
     * Show the position of the keyboard, and the units that it or the pointer has picked.
     * @param {number} nextCaret
     * @param {number} start
     * @param {number} end
     */
    pick(nextCaret, start, end) {
      const before = [caret, from, to];
      [caret, from, to] = [nextCaret, start, end];
      for (const index of [before[0], caret]) if (elements[index]) paint(index);
      for (let index = Math.min(before[1], from); index < Math.max(before[2], to); index += 1)
        if (elements[index]) paint(index);
    },
    /** @param {number} index */
    reveal: (index) => elements[index]?.scrollIntoView({ block: "nearest" }),
    /** @param {number} index */
    getBounds: (index) => elements[index].getBoundingClientRect(),
    /** @param {EventTarget | null} target @returns {number | null} */
    findUnit(target) {
      const token = /** @type {Element | null} */ (target)?.closest?.(".token");
      return token ? /** @type {any} */ (token).index : null;
    },
    /** The units that a place touches, end exclusive. @param {Place} mark @returns {Range} */
    findUnits(mark) {
      const points = findPoints(mark);
      return points ? findTouchedUnits(units, points) : [0, 0];
    },
    /** The units of the word that holds a unit. @param {number} index @returns {Range} */
    findWord(index) {
      const { start, end } = units[index];
      if (!byCharacter) return [index, index + 1];
      const [first, beyond] = findWordAround(text, offsets, start);
      return findTouchedUnits(units, [first, Math.max(beyond, end)]);
    },
    /** Place of units from one to another, end exclusive. @param {number} start @param {number} end */
    createPlace(start, end) {
      /** @type {Range} */
      const span = [units[start].start, units[end - 1].end];
      const held = /** @type {Range} */ ([units[start].first, units[end - 1].beyond]);
      return { span, tokens: held, quote: offsets.slice(...span) };
    },
  };
}
