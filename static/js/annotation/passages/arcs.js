/**
 * Relations as arcs over a passage. They are for the eye alone: the list of the step says the same as text.
 *
 * @typedef {{from: DOMRect, to: DOMRect, look: string, selected: boolean, directed: boolean}} Arc
 */
const SVG = "http://www.w3.org/2000/svg";
const LIFT = 14; // pixels over the words, and more the wider an arc is
const MOST_LIFT = 46;
const HEAD = 4;

/** @param {HTMLElement} root which the arcs lie in */
export function createArcs(root) {
  const layer = document.createElementNS(SVG, "svg");
  layer.setAttribute("class", "arcs");
  layer.setAttribute("aria-hidden", "true");

  /** @param {Arc} arc @param {DOMRect} origin */
  function computePath({ from, to, directed }, origin) {
    const [x, end] = [from, to].map(({ left, width }) => left + width / 2 - origin.left);
    const [y, top] = [from, to].map((rect) => rect.top - origin.top);
    const high = Math.min(y, top) - Math.min(MOST_LIFT, LIFT + Math.abs(end - x) / 12);
    const head = directed ? `M${end - HEAD} ${top - 2 * HEAD}L${end} ${top}L${end + HEAD} ${top - 2 * HEAD}` : "";
    return `M${x} ${y}C${x} ${high} ${end} ${high} ${end} ${top}${head}`;
  }

  return {
    /** @param {Arc[]} arcs */
    show(arcs) {
      if (!arcs.length) return layer.remove();
      const origin = root.getBoundingClientRect();
      layer.replaceChildren(
        ...arcs.map((arc) => {
          const line = document.createElementNS(SVG, "path");
          line.setAttribute("class", `arc key-${arc.look}${arc.selected ? " selected" : ""}`);
          line.setAttribute("d", computePath(arc, origin));
          return line;
        }),
      );
      if (!layer.isConnected) root.append(layer);
    },
  };
}
