/**
 * A polygon that is being drawn: a click or tap sets a corner, and one on the first or last corner closes it.
 *
 * @typedef {import("../document/types.js").Corner} Corner
 */
import { gettext } from "../page/language.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {SVGSVGElement} layer of the image @param {(corners: Corner[]) => void} onClose
 * @param {() => void} onStep called when a corner was set or taken back, or the drawing given up
 */
export function createDraft(layer, onClose, onStep) {
  const line = addPart("box draft");
  const first = addPart("box dot draft-start");
  /** @type {Corner[]} */
  let corners = [];

  /** @param {string} look */
  function addPart(look) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", look);
    layer.append(path);
    return path;
  }

  /** @param {Corner} [pointer] where the next corner would be */
  function show(pointer) {
    const shown = pointer && corners.length ? [...corners, pointer] : corners;
    line.setAttribute("d", shown.length ? `M${shown.map((corner) => corner.join(" ")).join("L")}` : "");
    first.setAttribute("d", corners.length ? `M${corners[0].join(" ")}h0` : "");
  }

  const draft = {
    get open() {
      return corners.length > 0;
    },
    /** The text for a person who does not see the image. */
    get words() {
      return corners.length < 3
        ? gettext("Corner %(number)s set.", { number: corners.length })
        : gettext("Corner %(number)s set. Enter, or a click on the first corner, closes the polygon.", {
            number: corners.length,
          });
    },
    /** @param {Corner} corner @param {(one: Corner, other: Corner) => boolean} isNear */
    click(corner, isNear) {
      const last = corners.at(-1);
      if (corners.length > 2 && (isNear(corner, corners[0]) || (last && isNear(corner, last))))
        return draft.close();
      if (last && isNear(corner, last)) return;
      corners = [...corners, corner];
      show();
      onStep();
    },
    /** @param {Corner} pointer */
    follow: (pointer) => corners.length && show(pointer),
    close() {
      if (corners.length < 3) return;
      const done = corners;
      draft.cancel();
      onClose(done);
    },
    takeBackCorner() {
      corners = corners.slice(0, -1);
      show();
      onStep();
    },
    cancel() {
      corners = [];
      show();
      onStep();
    },
  };
  return draft;
}
