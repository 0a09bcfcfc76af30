/**
 * Marks of images: boxes, polygons, ellipses and key points. Each has the box around it, so that they are found,
 * moved and shown alike; that of a point is the point twice.
 *
 * @typedef {import("./types.js").Rect} Rect
 * @typedef {import("./types.js").Corner} Corner
 * @typedef {import("./types.js").Place} Place
 */
import { holds, moved, overlap, within } from "./rectangles.js";

const NEAR = 0.05; // of an image's sides: two points closer than this are the same, as in the agreement

/** @param {number} x @param {number} y @returns {Place} a key point */
export function pointAt(x, y) {
  const [left, top] = within([x, y, x, y]);
  return { point: [left, top], box: [left, top, left, top] };
}

/** @param {number[][]} corners @returns {Place} the polygon of corners, cut at the image's edges */
export function ofCorners(corners) {
  const polygon = corners.map(([x, y]) => /** @type {Corner} */ (within([x, y, x, y]).slice(0, 2)));
  const across = polygon.map(([x]) => x);
  const down = polygon.map(([, y]) => y);
  return { polygon, box: [Math.min(...across), Math.min(...down), Math.max(...across), Math.max(...down)] };
}

/** @param {string} type of a layer @param {Rect} box @returns {Place} a new mark in a box */
export function inBox(type, box) {
  const [left, top, right, bottom] = box;
  if (type === "points") return pointAt((left + right) / 2, (top + bottom) / 2);
  if (type === "polygons") return ofCorners([[left, top], [right, top], [right, bottom], [left, bottom]]);
  return type === "ellipses" ? { box, shape: "ellipse" } : { box };
}

/** @param {Place} place @param {Rect} next @returns {Place} the mark, moved and stretched into another box */
export function reshaped(place, next) {
  const [left, top, right, bottom] = place.box ?? next;
  if (place.point) return pointAt(next[0], next[1]);
  if (!place.polygon) return { box: next };
  const wide = right > left ? (next[2] - next[0]) / (right - left) : 1;
  const high = bottom > top ? (next[3] - next[1]) / (bottom - top) : 1;
  return ofCorners(place.polygon.map(([x, y]) => [next[0] + (x - left) * wide, next[1] + (y - top) * high]));
}

/**
 * @param {Place} place of a polygon @param {number} corner
 * @param {number} across @param {number} down @returns {Place} with one corner moved
 */
export function withCorner(place, corner, across, down) {
  const corners = (place.polygon ?? []).map(([x, y], index) => (index === corner ? [x + across, y + down] : [x, y]));
  return ofCorners(corners);
}

/** @param {Place} place @param {number} corner after which a new one lies @returns {Place} */
export function withNewCorner(place, corner) {
  const polygon = place.polygon ?? [];
  const [one, next] = [polygon[corner], polygon[(corner + 1) % polygon.length]];
  return ofCorners(polygon.toSpliced(corner + 1, 0, [(one[0] + next[0]) / 2, (one[1] + next[1]) / 2]));
}

/** The path of a mark in a drawing with sides of 1. @param {Place} place */
export function pathOf({ box, polygon, point, shape }) {
  if (point) return `M${point[0]} ${point[1]}h0`;
  if (polygon) return `M${polygon.map((corner) => corner.join(" ")).join("L")}Z`;
  const [left, top, right, bottom] = box ?? [0, 0, 0, 0];
  if (!shape) return `M${left} ${top}H${right}V${bottom}H${left}Z`;
  const [x, y] = [(right - left) / 2, (bottom - top) / 2];
  return `M${left} ${top + y}a${x} ${y} 0 1 0 ${2 * x} 0a${x} ${y} 0 1 0 ${-2 * x} 0Z`;
}

/**
 * Return true if a mark lies under a point of the image, or nearly.
 * @param {Place} place @param {number} x @param {number} y
 * @param {[number, number]} size of the image as it is shown, in pixels @param {number} pixels that are near
 */
export function isUnder({ box, polygon, point, shape }, x, y, [width, height], pixels) {
  if (point) return Math.hypot((x - point[0]) * width, (y - point[1]) * height) < pixels + 8;
  if (!box || !holds(box, x, y, pixels / width)) return false;
  if (polygon) return surrounds(polygon, x, y) || polygon.some(([left, top]) => Math.hypot((x - left) * width, (y - top) * height) < pixels + 4);
  const [left, top, right, bottom] = box;
  const [across, down] = [(2 * x - left - right) / (right - left), (2 * y - top - bottom) / (bottom - top)];
  return !shape || Math.hypot(across, down) <= 1.1;
}

/** @param {Corner[]} polygon @param {number} x @param {number} y by the rule of odd crossings */
function surrounds(polygon, x, y) {
  return polygon.reduce((inside, [left, top], index) => {
    const [right, bottom] = polygon[(index + 1) % polygon.length];
    const crosses = top > y !== bottom > y && x < left + ((y - top) / (bottom - top)) * (right - left);
    return inside !== crosses;
  }, false);
}

/** Return true if two marks mean the same; of polygons their boxes tell it. @param {Place} one @param {Place} other */
export function areAlike(one, other) {
  if (!one.box || !other.box || one.image !== other.image) return false;
  if (one.point || other.point)
    return Boolean(one.point && other.point) && Math.hypot(one.box[0] - other.box[0], one.box[1] - other.box[1]) < NEAR;
  return overlap(one.box, other.box) > 0.5;
}

/**
 * What a person has made of a mark: moved as a whole it stops at the image's edge, else it is cut there.
 * @param {Place} before @param {Place} now @returns {Place}
 */
export function settled(before, now) {
  const [old, next] = [before.box ?? [0, 0, 0, 0], now.box ?? [0, 0, 0, 0]];
  const [across, down] = [next[0] - old[0], next[1] - old[1]];
  const slid = now.polygon
    ? now.polygon.length === before.polygon?.length &&
      now.polygon.every(([x, y], index) => {
        const [left, top] = before.polygon?.[index] ?? [0, 0];
        return Math.abs(x - left - across) < 1e-9 && Math.abs(y - top - down) < 1e-9;
      })
    : Math.abs(next[2] - old[2] - across) < 1e-9 && Math.abs(next[3] - old[3] - down) < 1e-9;
  if (slid) return reshaped(before, moved(/** @type {Rect} */ (old), across, down));
  return now.polygon ? ofCorners(now.polygon) : { box: within(next) };
}
