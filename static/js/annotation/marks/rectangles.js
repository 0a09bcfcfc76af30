/**
 * Arithmetic of boxes: fractions of an image, moved and resized within it.
 *
 * @typedef {import("../document/types.js").Rect} Rect
 */

const DIGITS = 1e8;

/** @param {number} value */
const roundOff = (value) => Math.round(value * DIGITS) / DIGITS;
/** @param {number} value @param {number} low @param {number} high */
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/**
 * @param {number[]} rect in any order of corners, reaching out of the image or not
 * @returns {Rect} what of it lies in the image
 */
export function cutToImage([left, top, right, bottom]) {
  const clampEdge = (/** @type {number} */ value) => roundOff(clamp(value, 0, 1));
  return [
    clampEdge(Math.min(left, right)),
    clampEdge(Math.min(top, bottom)),
    clampEdge(Math.max(left, right)),
    clampEdge(Math.max(top, bottom)),
  ];
}

/**
 * Return true if a box is at least that wide and high.
 * @param {Rect} rect
 * @param {number} width
 * @param {number} height
 */
export function isAtLeast([left, top, right, bottom], width, height) {
  return right - left >= width && bottom - top >= height;
}

/**
 * @param {Rect} rect
 * @param {number} across
 * @param {number} down
 * @returns {Rect} moved, and stopped by the image's edge
 */
export function moveRect([left, top, right, bottom], across, down) {
  const [dx, dy] = [clamp(across, -left, 1 - right), clamp(down, -top, 1 - bottom)];
  return cutToImage([left + dx, top + dy, right + dx, bottom + dy]);
}

/**
 * @param {Rect} rect
 * @param {number} across
 * @param {number} down
 * @param {number} smallest
 * @returns {Rect} with its right and bottom edges moved
 */
export function resizeRect([left, top, right, bottom], across, down, smallest) {
  return cutToImage([
    left,
    top,
    clamp(right + across, left + smallest, 1),
    clamp(bottom + down, top + smallest, 1),
  ]);
}

/**
 * A box as it is seen on an image that was turned to the right by so many quarters.
 * @param {Rect} rect
 * @param {number} quarters
 * @returns {Rect}
 */
export function turnRect(rect, quarters) {
  let [left, top, right, bottom] = rect;
  for (let quarter = 0; quarter < quarters % 4; quarter += 1)
    [left, top, right, bottom] = [1 - bottom, left, 1 - top, right];
  return cutToImage([left, top, right, bottom]);
}

/**
 * @param {Rect} rect
 * @param {number} across
 * @param {number} down
 * @param {number} buffer whether it holds a point, or nearly
 */
export function isPointInRect([left, top, right, bottom], across, down, buffer = 0) {
  return (
    across >= left - buffer && across <= right + buffer && down >= top - buffer && down <= bottom + buffer
  );
}

/** @param {Rect} rect */
export function computeArea([left, top, right, bottom]) {
  return (right - left) * (bottom - top);
}

/**
 * A box from a place and a size that a person has typed; it is moved and cut to lie in the image.
 * @param {{left: number, top: number, width: number, height: number}} measures @returns {Rect}
 */
export function createRect({ left, top, width, height }) {
  const [wide, high] = [clamp(width, 0.001, 1), clamp(height, 0.001, 1)];
  const [x, y] = [clamp(left, 0, 1 - wide), clamp(top, 0, 1 - high)];
  return cutToImage([x, y, x + wide, y + high]);
}

/**
 * The overlap of two boxes: intersection over union.
 * @param {Rect} first
 * @param {Rect} second
 */
export function computeOverlap(first, second) {
  const shared =
    Math.max(0, Math.min(first[2], second[2]) - Math.max(first[0], second[0])) *
    Math.max(0, Math.min(first[3], second[3]) - Math.max(first[1], second[1]));
  return shared / (computeArea(first) + computeArea(second) - shared);
}
