/**
 * The units that a person marks in a passage, one after the other: words, or characters as a person sees them. Pure.
 *
 * @typedef {import("../document/types.js").Range} Range
 * @typedef {{start: number, end: number, first: number, beyond: number}} Unit code points, and the tokens that they touch
 */

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });
const LETTER = /\p{L}/gu;
const LETTER_WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/gu;

/** Return true if most letters belong to scripts that put no spaces between words. @param {string} text */
export function isWrittenWithoutSpaces(text) {
  const countMatches = (/** @type {RegExp} */ pattern) => text.match(pattern)?.length ?? 0;
  return 2 * countMatches(LETTER_WITHOUT_SPACES) > countMatches(LETTER);
}

/**
 * Make a test for code points at which a character begins, or the text ends.
 * @param {string} text
 * @param {ReturnType<typeof import("./offsets.js").createOffsets>} offsets
 * @returns {(point: number) => boolean}
 */
export function createEdgeTest(text, offsets) {
  if (/^[\n\x20-\x7e]*$/.test(text)) return () => true; // each is a character, and long texts stay quick
  const edges = new Set([offsets.points]);
  for (const { index } of CHARACTERS.segment(text)) edges.add(offsets.convertToPoint(index));
  return (point) => edges.has(point);
}

/**
 * The code points of the word around one, by the browser's dictionary.
 * @param {string} text
 * @param {ReturnType<typeof import("./offsets.js").createOffsets>} offsets
 * @param {number} point
 * @returns {Range}
 */
export function findWordAround(text, offsets, point) {
  const { index, segment } = /** @type {Intl.SegmentData} */ (
    WORDS.segment(text).containing(offsets.convertToUnit(point))
  );
  return [offsets.convertToPoint(index), offsets.convertToPoint(index + segment.length)];
}

/**
 * @param {Range[]} tokens
 * @param {(point: number) => boolean} isEdge of a character
 * @param {(token: number) => boolean} isCut into characters
 * @returns {Unit[]}
 */
export function listUnits(tokens, isEdge, isCut) {
  /** @type {Unit[]} */
  const units = [];
  for (let first = 0, beyond; first < tokens.length; first = beyond) {
    beyond = first + 1;
    let cut = isCut(first);
    // Tokens of a file may end within a character, such as a letter before its accent.
    for (; beyond < tokens.length && !isEdge(tokens[beyond][0]); beyond += 1) cut ||= isCut(beyond);
    const [start, end] = [tokens[first][0], tokens[beyond - 1][1]];
    if (cut) units.push(...listCharacters(tokens, start, end, first, isEdge));
    else units.push({ start, end, first, beyond });
  }
  return units;
}

/**
 * @param {Range[]} tokens @param {number} start @param {number} end @param {number} token at the start
 * @param {(point: number) => boolean} isEdge @returns {Unit[]} the characters from start to end
 */
function listCharacters(tokens, start, end, token, isEdge) {
  const characters = [];
  let [at, first] = [start, token];
  for (let point = start + 1; point <= end; point += 1) {
    if (point < end && !isEdge(point)) continue;
    while (tokens[first][1] <= at) first += 1;
    let beyond = first + 1;
    while (tokens[beyond - 1][1] < point) beyond += 1;
    characters.push({ start: at, end: point, first, beyond });
    at = point;
  }
  return characters;
}

/**
 * The units that code points touch, end exclusive.
 * @param {Unit[]} units
 * @param {Range} points
 * @returns {Range}
 */
export function findTouchedUnits(units, [start, end]) {
  const from = findFirstWhere(units, (unit) => unit.end > start);
  return [from, Math.max(from + 1, findFirstWhere(units, (unit) => unit.start >= end))];
}

/**
 * @param {Unit[]} units
 * @param {(unit: Unit) => boolean} holds for all units from some one on
 * @returns {number} the first of them, or the number of units
 */
function findFirstWhere(units, holds) {
  let [low, high] = [0, units.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(units[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}
