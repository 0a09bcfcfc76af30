/**
 * Marks of images: boxes, polygons, ellipses and key points. Each has the box around it, so that they are found,
 * moved and shown alike; that of a point is the point twice.
 *
 * @typedef {import("../document/types.js").Rect} Rect
 * @typedef {import("../document/types.js").Corner} Corner
 * @typedef {import("../document/types.js").Place} Place
 */
import { computeOverlap, cutToImage, isPointInRect, moveRect } from "./rectangles.js";

const SVG = "http://www.w3.org/2000/svg";
const GRID = 32; // points across and down, by which outlines are compared
const SAME = 0.5; // overlap above which two marks are the same
const NEAR = 0.05; // of an image's sides: two points closer than this are the same, as in the agreement

/** @param {number} x @param {number} y @returns {Place} a key point */
export function createPoint(x, y) {
  const [left, top] = cutToImage([x, y, x, y]);
  return { point: [left, top], box: [left, top, left, top] };
}

/** @param {number[][]} corners @returns {Place} the polygon of corners, cut at the image's edges */
export function createPolygon(corners) {
  const polygon = corners.map(([x, y]) => /** @type {Corner} */ (cutToImage([x, y, x, y]).slice(0, 2)));
  const across = polygon.map(([x]) => x);
  const down = polygon.map(([, y]) => y);
  return { polygon, box: [Math.min(...across), Math.min(...down), Math.max(...across), Math.max(...down)] };
}

/** @param {string} type of a layer @param {Rect} box @returns {Place} a new mark in a box */
export function createMark(type, box) {
  const [left, top, right, bottom] = box;
  if (type === "points") return createPoint((left + right) / 2, (top + bottom) / 2);
  if (type === "polygons") return createPolygon([[left, top], [right, top], [right, bottom], [left, bottom]]);
  return type === "ellipses" ? { box, shape: "ellipse" } : { box };
}

/** @param {Place} mark @param {Rect} next @returns {Place} the mark, moved and stretched into another box */
export function reshapeMark(mark, next) {
  const [left, top, right, bottom] = mark.box ?? next;
  if (mark.point) return createPoint(next[0], next[1]);
  if (!mark.polygon) return { box: next };
  const wide = right > left ? (next[2] - next[0]) / (right - left) : 1;
  const high = bottom > top ? (next[3] - next[1]) / (bottom - top) : 1;
  return createPolygon(
    mark.polygon.map(([x, y]) => [next[0] + (x - left) * wide, next[1] + (y - top) * high]),
  );
}

/**
 * @param {Place} mark of a polygon @param {number} corner
 * @param {number} across @param {number} down @returns {Place} with one corner moved
 */
export function moveCorner(mark, corner, across, down) {
  const corners = (mark.polygon ?? []).map(([x, y], index) => (index === corner ? [x + across, y + down] : [x, y]));
  return createPolygon(corners);
}

/** @param {Place} mark @param {number} corner after which a new one lies @returns {Place} */
export function insertCorner(mark, corner) {
  const polygon = mark.polygon ?? [];
  const [start, end] = [polygon[corner], polygon[(corner + 1) % polygon.length]];
  return createPolygon(polygon.toSpliced(corner + 1, 0, [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2]));
}

const HEAD = 0.02; // of the width of the image

/** The middle of a box. @param {number[]} box @returns {Corner} */
export const computeMiddle = ([left, top, right, bottom]) => [(left + right) / 2, (top + bottom) / 2];

/**
 * The corners of an arrow as one line. @param {Corner} from @param {Corner} to
 * @param {number} shape height of the image by its width @returns {Corner[]}
 */
export function computeArrow(from, to, shape) {
  const angle = Math.atan2((to[1] - from[1]) * shape, to[0] - from[0]);
  const computeSide = (/** @type {number} */ turn) =>
    /** @type {Corner} */ ([
      to[0] - HEAD * Math.cos(angle + turn),
      to[1] - (HEAD * Math.sin(angle + turn)) / shape,
    ]);
  return [from, to, computeSide(0.5), to, computeSide(-0.5)];
}

/** The path of a mark in a drawing with sides of 1. @param {Place} mark */
export function computePath({ box, polygon, point, shape, line }) {
  if (line) return `M${line.map((corner) => corner.join(" ")).join("L")}`;
  if (point) return `M${point[0]} ${point[1]}h0`;
  if (polygon) return `M${polygon.map((corner) => corner.join(" ")).join("L")}Z`;
  const [left, top, right, bottom] = box ?? [0, 0, 0, 0];
  if (!shape) return `M${left} ${top}H${right}V${bottom}H${left}Z`;
  const [x, y] = [(right - left) / 2, (bottom - top) / 2];
  return `M${left} ${top + y}a${x} ${y} 0 1 0 ${2 * x} 0a${x} ${y} 0 1 0 ${-2 * x} 0Z`;
}

/** A drawing of one mark, to lie on its image. @param {Place} mark @param {string} look */
export function buildDrawing(mark, look) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 1 1");
  drawing.setAttribute("preserveAspectRatio", "none");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", computePath(mark));
  line.setAttribute("class", mark.point ? `${look} dot` : look);
  drawing.append(line);
  return drawing;
}

/**
 * Return true if a mark lies under a point of the image, or nearly.
 * @param {Place} mark @param {number} x @param {number} y
 * @param {[number, number]} size of the image as it is shown, in pixels @param {number} pixels that are near
 */
export function isUnder({ box, polygon, point, shape }, x, y, [width, height], pixels) {
  if (point) return Math.hypot((x - point[0]) * width, (y - point[1]) * height) < pixels + 8;
  if (!box || !isPointInRect(box, x, y, pixels / width)) return false;
  if (polygon)
    return (
      isPointInPolygon(polygon, x, y) ||
      polygon.some(([left, top]) => Math.hypot((x - left) * width, (y - top) * height) < pixels + 4)
    );
  const [left, top, right, bottom] = box;
  const [across, down] = [(2 * x - left - right) / (right - left), (2 * y - top - bottom) / (bottom - top)];
  return !shape || Math.hypot(across, down) <= 1.1;
}

/** @param {Corner[]} polygon @param {number} x @param {number} y by the rule of odd crossings */
function isPointInPolygon(polygon, x, y) {
  return polygon.reduce((inside, [left, top], index) => {
    const [right, bottom] = polygon[(index + 1) % polygon.length];
    const crosses = top > y !== bottom > y && x < left + ((y - top) / (bottom - top)) * (right - left);
    return inside !== crosses;
  }, false);
}

/** Return true if two marks mean the same, as in the agreement. @param {Place} first @param {Place} second */
export function areAlike(first, second) {
  if (!first.box || !second.box || first.image !== second.image) return false;
  if (first.point || second.point)
    return (
      Boolean(first.point && second.point) &&
      Math.hypot(first.box[0] - second.box[0], first.box[1] - second.box[1]) < NEAR
    );
  const plain = !(first.polygon || second.polygon || first.shape || second.shape);
  return (
    (plain || !computeOverlap(first.box, second.box)
      ? computeOverlap(first.box, second.box)
      : estimateOverlap(first, second)) > SAME
  );
}

/**
 * The intersection over union of two marks with outlines, by a grid of points; the site has the exact one.
 * @param {Place} first @param {Place} second
 */
function estimateOverlap(first, second) {
  const [left, top] = [0, 1].map((side) => Math.min(first.box?.[side] ?? 0, second.box?.[side] ?? 0));
  const [right, bottom] = [2, 3].map((side) => Math.max(first.box?.[side] ?? 1, second.box?.[side] ?? 1));
  let [both, either] = [0, 0];
  for (let cell = 0; cell < GRID * GRID; cell += 1) {
    const x = left + (((cell % GRID) + 0.5) / GRID) * (right - left);
    const y = top + ((Math.floor(cell / GRID) + 0.5) / GRID) * (bottom - top);
    const [inFirst, inSecond] = [isPointInMark(first, x, y), isPointInMark(second, x, y)];
    both += Number(inFirst && inSecond);
    either += Number(inFirst || inSecond);
  }
  return either ? both / either : 0;
}

/** @param {Place} mark @param {number} x @param {number} y */
function isPointInMark({ box, polygon, shape }, x, y) {
  if (!box || !isPointInRect(box, x, y, 0)) return false;
  if (polygon) return isPointInPolygon(polygon, x, y);
  const [left, top, right, bottom] = box;
  return !shape || Math.hypot((2 * x - left - right) / (right - left), (2 * y - top - bottom) / (bottom - top)) <= 1;
}

/**
 * The new place of a mark that a person changed: moved as a whole it stops at the image's edge, else it is cut there.
 * @param {Place} before @param {Place} now @returns {Place}
 */
export function settleMark(before, now) {
  const [old, next] = [before.box ?? [0, 0, 0, 0], now.box ?? [0, 0, 0, 0]];
  const [across, down] = [next[0] - old[0], next[1] - old[1]];
  const slid = now.polygon
    ? now.polygon.length === before.polygon?.length &&
      now.polygon.every(([x, y], index) => {
        const [left, top] = before.polygon?.[index] ?? [0, 0];
        return Math.abs(x - left - across) < 1e-9 && Math.abs(y - top - down) < 1e-9;
      })
    : Math.abs(next[2] - old[2] - across) < 1e-9 && Math.abs(next[3] - old[3] - down) < 1e-9;
  if (slid) return reshapeMark(before, moveRect(/** @type {Rect} */ (old), across, down));
  return now.polygon ? createPolygon(now.polygon) : { box: cutToImage(next) };
}
