/**
 * Code points and UTF-16 units of one text. The site counts code points, the browser counts units; this is
 * the only module that knows of both.
 */

/**
 * Count of code points before each UTF-16 unit is looked up in tables, made once for a text. A text without
 * characters beyond the Basic Multilingual Plane needs none.
 * @param {string} text
 */
export function createOffsets(text) {
  /** @type {number[] | null} unit at which each code point starts; null if both counts are the same */
  const units = /[\ud800-\udfff]/.test(text) ? listStarts(text) : null;
  const points = units ? units.length - 1 : text.length;

  return {
    /** Number of code points of the text. */
    points,

    /** The UTF-16 unit at which a code point starts. @param {number} point */
    convertToUnit(point) {
      if (point < 0 || point > points)
        throw new RangeError(`code point ${point} lies outside of 0 to ${points}`);
      return units ? units[point] : point;
    },

    /** The code point that a UTF-16 unit belongs to. @param {number} unit */
    convertToPoint(unit) {
      if (unit < 0 || unit > text.length) throw new RangeError(`unit ${unit} lies outside of the text`);
      return units ? findLastAtMost(units, unit) : unit;
    },

    /** The characters from one code point to another, end exclusive. @param {number} from @param {number} to */
    slice(from, to) {
      return text.slice(this.convertToUnit(from), this.convertToUnit(to));
    },
  };
}

/** @param {string} text @returns {number[]} start of each code point and the end of the text, in units */
function listStarts(text) {
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  starts.push(unit);
  return starts;
}

/** @param {number[]} sorted @param {number} value @returns {number} index of the last entry <= value */
function findLastAtMost(sorted, value) {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
