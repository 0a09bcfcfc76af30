/**
 * The form of Annotorious for marks: pixels, with their bounds; and keeping its elements out of the keyboard's way.
 *
 * @typedef {import("../document/types.js").Rect} Rect
 * @typedef {import("../document/types.js").Place} Place
 * @typedef {{width: number, height: number}} Size of the image in pixels
 */

/** @param {Place} mark @param {Size} size @returns {any} a mark as Annotorious takes it: ellipses by their box */
export function buildSelector({ box, polygon }, { width, height }) {
  const [left, top, right, bottom] = box ?? [0, 0, 0, 0];
  const bounds = { minX: left * width, minY: top * height, maxX: right * width, maxY: bottom * height };
  if (polygon)
    return { type: "POLYGON", geometry: { points: polygon.map(([x, y]) => [x * width, y * height]), bounds } };
  const [w, h] = [bounds.maxX - bounds.minX, bounds.maxY - bounds.minY];
  return { type: "RECTANGLE", geometry: { x: bounds.minX, y: bounds.minY, w, h, rot: 0, bounds } };
}

/** @param {any} geometry of a box or polygon @param {Size} size @returns {Place} which may reach out of the image */
export function readPlace({ x, y, w, h, points, bounds }, { width, height }) {
  if (!points) return { box: [x / width, y / height, (x + w) / width, (y + h) / height] };
  const { minX, minY, maxX, maxY } = bounds;
  return {
    polygon: points.map((/** @type {number[]} */ [left, top]) => [left / width, top / height]),
    box: [minX / width, minY / height, maxX / width, maxY / height],
  };
}

/**
 * Keep Annotorious's elements out of the keyboard's and the screen reader's way: the editor has its own keys
 * and its own list of boxes, and the handles have no names.
 * @param {SVGSVGElement} surface
 */
export function quieten(surface) {
  surface.setAttribute("role", "presentation");
  surface.removeAttribute("tabindex");
  const stripHandles = () => {
    for (const handle of surface.querySelectorAll("[tabindex], [role]")) {
      handle.removeAttribute("tabindex");
      handle.removeAttribute("role");
    }
  };
  new MutationObserver(stripHandles).observe(surface, { childList: true, subtree: true });
}
