/**
 * One image with its marks. Annotorious draws new boxes and changes the selected box or polygon; corners of new
 * polygons and key points are set by clicks. All other marks are one SVG path
 * for each look, so that a thousand boxes cost what one costs. The page loads Annotorious by a script of its
 * own: its module form expects a bundler.
 *
 * @typedef {import("../document/types.js").Rect} Rect
 * @typedef {import("../document/types.js").Corner} Corner
 * @typedef {import("../document/types.js").Place} Place
 * @typedef {{id: string, rect: Rect, mark: Place, look: string, tag: string, selected: boolean, editable: boolean,
 *   corner?: number | null}} Shown
 * @typedef {Object} PictureEvents
 * @property {(mark: Place) => void} onDraw
 * @property {(id: string, mark: Place) => void} onChange
 * @property {(id: string | null) => void} onPick
 * @property {() => boolean} canDraw
 * @property {() => string} getMarkType of the layer that is worked on
 * @property {(words: string) => void} onDraft called when a corner of a new polygon was set, with what to say
 */
import { computeArea, cutToImage, isAtLeast, turnRect } from "../marks/rectangles.js";
import { computePath, createMark, createPoint, createPolygon, isUnder, settleMark } from "../marks/shapes.js";
import { capitalize, gettext } from "../page/language.js";
import { createElement } from "../page/markup.js";
import { buildSelector, quieten, readPlace } from "./annotorious.js";
import { createDraft } from "./draft.js";

const SVG = "http://www.w3.org/2000/svg";
/** Looks of boxes, from the lowest to the topmost. */
const LOOKS = ["context", "predicted", "candidate", "chosen", "own", "source"];
const CLICK_PIXELS = 4;
const MOST_TAGS = 60;
const ROOM_FOR_TAG = 0.06; // above a box; one that begins higher up has its number inside
const SMALLEST_PIXELS = 3;
const LARGEST = 4; // times the size of an image, whose pixels would only become larger
const ROOM_AROUND = 1.6; // of a box that is zoomed to

/**
 * @param {{url: string, width: number | null, height: number | null, name: string}} image
 * @param {string} name what people call the image @param {PictureEvents} events
 * @param {string[]} labels the looks of labels, which can be acted on
 */
export function createPicture(image, name, events, labels) {
  const img = createElement("img", { alt: `${name}: ${image.name}`, draggable: "false" });
  const sheet = createElement("div", { class: "sheet" }, img);
  /** As wide and high as the image is seen, whichever way it is turned. */
  const table = createElement("div", { class: "turntable" }, sheet);
  const cross = createElement("div", { class: "cross", "aria-hidden": "true", hidden: true });
  table.append(cross);
  const pane = createElement("div", { class: "pane", role: "group", "aria-label": capitalize(name) }, table);
  const caption = createElement("figcaption", {}, capitalize(name));
  const figure = createElement("figure", { class: "picture" }, caption, pane);
  const layer = document.createElementNS(SVG, "svg");
  layer.setAttribute("class", "boxes");
  layer.setAttribute("viewBox", "0 0 1 1");
  layer.setAttribute("preserveAspectRatio", "none");
  layer.setAttribute("aria-hidden", "true");
  const paths = new Map(
    [...LOOKS, ...labels].flatMap((look) => [
      [`${look}-halo`, createPath(`${look} halo`)],
      [look, createPath(look)],
      [`${look}-dots-halo`, createPath(`${look} dot halo`)],
      [`${look}-dots`, createPath(`${look} dot`)],
    ]),
  );
  const cornerDot = createPath("dot corner");
  layer.append(...paths.values(), cornerDot);
  const draft = createDraft(
    layer,
    (corners) => events.onDraw(createPolygon(corners)),
    () => events.onDraft(draft.open ? draft.words : ""),
  );
  const tags = createElement("div", { class: "tags", "aria-hidden": "true" });

  /** @type {any} */
  let annotator = null;
  /** @type {SVGSVGElement | null} */
  let surface = null;
  let [width, height] = [image.width ?? 0, image.height ?? 0];
  let [zoom, drawing, panning, settling, quarters] = [1, true, false, false, 0];
  let crossed = false;
  /** @type {Shown[]} */
  let shown = [];
  /** @type {Shown | null} */
  let edited = null;
  /** @type {Place | null} */
  let changed = null;
  /** @type {Shown | null} a key point that is dragged */
  let held = null;
  /** @type {{x: number, y: number, left: number, top: number, pan: boolean} | null} */
  let press = null;

  const called = { image: name, name: image.name };
  const ready = new Promise((resolve, reject) => {
    img.addEventListener("load", () => resolve(start()), { once: true });
    img.addEventListener(
      "error",
      () => reject(new Error(gettext("The %(image)s (%(name)s) cannot be loaded.", called))),
      {
        once: true,
      },
    );
  });
  if (image.url) img.src = image.url;
  ready.catch(() =>
    pane.replaceChildren(
      createElement(
        "p",
        { class: "errors" },
        gettext(
          "The %(image)s (%(name)s) cannot be loaded. Reload the page, or contact the project manager.",
          called,
        ),
      ),
    ),
  );
  if (!image.url) img.dispatchEvent(new Event("error"));

  function start() {
    [width, height] = [img.naturalWidth, img.naturalHeight];
    annotator = /** @type {any} */ (window).Annotorious.createImageAnnotator(img, {
      drawingEnabled: drawing,
      autoSave: false,
    });
    annotator.element.classList.add("annotator");
    surface = annotator.element.querySelector("svg.a9s-annotationlayer");
    quieten(/** @type {SVGSVGElement} */ (surface));
    surface?.before(layer);
    table.append(tags);
    annotator.state.store.observe(handleStoreChange);
    fit();
    draw();
  }

  /** Handle edits by Annotorious: it adds a box, or moves the selected one. @param {any} event */
  function handleStoreChange({ origin, changes }) {
    if (origin !== "LOCAL") return;
    for (const { id, target } of changes.created ?? []) {
      const rect = cutToImage(readPlace(target.selector.geometry, { width, height }).box ?? []);
      // Boxes live in the document and come back from there; this one goes once Annotorious is through with it.
      settling = true;
      setTimeout(() => {
        settling = false;
        annotator.state.store.deleteAnnotation(id, "REMOTE");
        draw();
      });
      if (isAtLeast(rect, SMALLEST_PIXELS / width, SMALLEST_PIXELS / height))
        events.onDraw(createMark(events.getMarkType(), rect));
    }
    for (const { newValue } of changes.updated ?? []) {
      if (newValue.id === edited?.id) follow(readPlace(newValue.target.selector.geometry, { width, height }));
    }
  }

  /** Note what Annotorious makes of the selected mark; an ellipse is drawn beneath its box. @param {Place} mark */
  function follow(mark) {
    if (!edited) return;
    changed = mark;
    if (!edited.mark.shape) return;
    edited.mark = { ...edited.mark, ...changed };
    drawPaths();
  }

  function finishChange() {
    if (!edited || !changed) return;
    const mark = settleMark({ ...edited.mark, box: edited.rect }, changed);
    changed = null;
    const { id } = edited;
    edited = null; // what Annotorious holds may reach out of the image
    if (mark.box && isAtLeast(mark.box, 1 / width, 1 / height)) events.onChange(id, mark);
    draw();
  }

  pane.addEventListener(
    "pointerdown",
    (event) => {
      const pan = panning || event.button === 1;
      press = { x: event.clientX, y: event.clientY, left: pane.scrollLeft, top: pane.scrollTop, pan };
      if (pan || event.button !== 0) {
        if (event.pointerType !== "touch") event.preventDefault();
        event.stopPropagation();
        if (event.pointerType === "mouse") pane.setPointerCapture(event.pointerId);
        return;
      }
      const target = /** @type {Element} */ (event.target);
      if (!surface?.contains(target)) return;
      held = shown.find((each) => each.selected && each.editable && each.mark.point && isAt(each, event)) ?? null;
      if (target.closest(".a9s-annotation.selected")) return straighten(event);
      // Annotorious draws only while nothing is selected, and only as long as the pointer is over the image.
      if (annotator.state.selection.selected.length) release();
      surface.setPointerCapture(event.pointerId);
    },
    { capture: true },
  );

  /**
   * Annotorious looks where a box is taken hold of by the bounds of its layer, which are others if it is turned;
   * it follows the pointer by offsets in the layer, which are right.
   * @param {PointerEvent} event
   */
  function straighten(event) {
    if (!quarters || !surface) return;
    const { left, top, width: across, height: down } = surface.getBoundingClientRect();
    const [x, y] = [event.offsetX / surface.clientWidth, event.offsetY / surface.clientHeight];
    Object.defineProperty(event, "clientX", { value: left + x * across });
    Object.defineProperty(event, "clientY", { value: top + y * down });
  }

  pane.addEventListener("pointermove", (event) => {
    if (press?.pan) {
      pane.scrollLeft = press.left + press.x - event.clientX;
      pane.scrollTop = press.top + press.y - event.clientY;
    } else if (held) {
      held.mark = createPoint(...findPoint(event));
      held.rect = held.mark.box ?? held.rect;
      drawPaths();
      drawTags();
    } else if (draft.open) draft.follow(findPoint(event));
    else if (!event.buttons) pane.classList.toggle("over-box", !panning && findMarksAt(event).length > 0);
    if (crossed) moveCross(event);
  });
  pane.addEventListener("pointerleave", () => (cross.hidden = true));

  // Before Annotorious, which keeps the end of a drawing to itself.
  pane.addEventListener(
    "pointerup",
    (event) => {
      if (!press) return;
      const clicked =
        !press.pan &&
        event.button === 0 &&
        Math.hypot(event.clientX - press.x, event.clientY - press.y) < CLICK_PIXELS;
      press = null;
      if (clicked) {
        changed = null;
        annotator?.cancelDrawing();
        const marks = findMarksAt(event);
        // With Shift a click sets a corner or point on top of another mark.
        if (isSetByClicks() && (draft.open || !marks.length || event.shiftKey)) clickAt(event);
        else events.onPick(chooseNext(marks));
      } else if (held) events.onChange(held.id, held.mark);
      else finishChange();
      held = null;
      // Annotorious has its own idea of what a click selects, and says so after us.
      setTimeout(draw);
    },
    { capture: true },
  );
  pane.addEventListener("pointercancel", () => {
    press = null;
    changed = null;
    held = null;
    annotator?.cancelDrawing();
    setTimeout(draw);
  });
  pane.addEventListener("auxclick", (event) => event.preventDefault());

  /** Lines through the pointer, to see what the edges of a box will touch. @param {PointerEvent} event */
  function moveCross(event) {
    const bounds = table.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    cross.hidden = x < 0 || y < 0 || x > bounds.width || y > bounds.height;
    cross.style.setProperty("--x", `${x}px`);
    cross.style.setProperty("--y", `${y}px`);
  }

  /** @returns {boolean} whether new marks are set by clicks, and not by a drag */
  const isSetByClicks = () =>
    drawing && !panning && events.canDraw() && SET_BY_CLICKS.has(events.getMarkType());

  /** @param {MouseEvent} event @returns {Corner} where a pointer is on the image, which may be turned */
  function findPoint(event) {
    const bounds = table.getBoundingClientRect();
    const [x, y] = [(event.clientX - bounds.left) / bounds.width, (event.clientY - bounds.top) / bounds.height];
    const [left, top] = turnRect([x, y, x, y], 4 - quarters);
    return [left, top];
  }

  /** Set a key point, or a corner of a polygon. @param {PointerEvent} event */
  function clickAt(event) {
    const corner = findPoint(event);
    if (events.getMarkType() === "points") return events.onDraw(createPoint(...corner));
    if (!draft.open) events.onPick(null);
    const isNear = (/** @type {Corner} */ first, /** @type {Corner} */ second) =>
      Math.hypot((first[0] - second[0]) * sheet.clientWidth, (first[1] - second[1]) * sheet.clientHeight) <
      (event.pointerType === "touch" ? 18 : 9);
    draft.click(corner, isNear);
  }

  /** @param {Shown} each @param {PointerEvent} event */
  const isAt = (each, event) =>
    isUnder(
      { ...each.mark, box: each.rect },
      ...findPoint(event),
      [sheet.clientWidth, sheet.clientHeight],
      event.pointerType === "touch" ? 10 : 2,
    );

  /**
   * @param {PointerEvent} event
   * @returns {Shown[]} marks that can be acted on under a point, the smallest first
   */
  function findMarksAt(event) {
    return shown
      .filter((each) => (ACTED_ON.has(each.look) || labels.includes(each.look)) && isAt(each, event))
      .sort((first, second) => computeArea(first.rect) - computeArea(second.rect));
  }

  /** Of boxes that lie over each other, each further click takes the next one. @param {Shown[]} marks */
  function chooseNext(marks) {
    const index = marks.findIndex((each) => each.selected);
    return marks.length ? marks[(index + 1) % marks.length].id : null;
  }

  function release() {
    annotator.state.selection.clear();
    annotator.state.store.clear("REMOTE");
    edited = null;
  }

  function draw() {
    if (!annotator || press || settling) return;
    if (draft.open && events.getMarkType() !== "polygons") draft.cancel();
    drawPaths();
    drawTags();
    edit(findChangeable());
  }

  /** The mark that Annotorious lets a person change. @returns {Shown | null} */
  const findChangeable = () =>
    shown.find((each) => each.selected && each.editable && !each.mark.point) ?? null;

  function drawPaths() {
    const apart = findChangeable();
    /** @type {Record<string, string>} */
    const lines = {};
    for (const each of shown) {
      if (each === apart && !each.mark.shape) continue;
      const look = each.mark.point ? `${each.look}-dots` : each.look;
      const mark = each === apart ? (edited?.mark ?? each.mark) : each.mark;
      lines[look] = (lines[look] ?? "") + computePath({ box: each.rect, ...mark });
    }
    for (const [key, path] of paths) {
      const line = lines[key.replace("-halo", "")] ?? "";
      if (path.getAttribute("d") !== line) path.setAttribute("d", line);
    }
    const corner = apart?.mark.polygon?.[apart.corner ?? -1];
    cornerDot.setAttribute("d", corner ? `M${corner.join(" ")}h0` : "");
  }

  /** @param {Shown | null} current */
  function edit(current) {
    const same = current && edited?.id === current.id && formatShapeKey(edited) === formatShapeKey(current);
    if (!same || !annotator.state.selection.isSelected(current.id)) {
      release();
      if (current) {
        const selector = buildSelector({ ...current.mark, box: current.rect }, { width, height });
        annotator.state.store.addAnnotation(
          { id: current.id, bodies: [], target: { annotation: current.id, selector } },
          "REMOTE",
        );
        annotator.state.selection.setSelected(current.id, true);
      }
    }
    edited = current && { ...current };
    const canDrawByDrag = drawing && !panning && events.canDraw() && !SET_BY_CLICKS.has(events.getMarkType());
    if (annotator.isDrawingEnabled() !== canDrawByDrag) annotator.setDrawingEnabled(canDrawByDrag);
  }

  function drawTags() {
    const tagged = shown.filter((each) => each.tag && (each.selected || shown.length <= MOST_TAGS));
    tags.replaceChildren(
      ...tagged.map((each) => {
        const tag = createElement("span", { class: `tag ${each.look}` }, each.tag);
        tag.classList.toggle("selected", each.selected);
        const [left, top] = turnAsSeen(each.rect);
        tag.classList.toggle("inside", top < ROOM_FOR_TAG);
        tag.style.left = `${left * 100}%`;
        tag.style.top = `${top * 100}%`;
        return tag;
      }),
    );
  }

  /** @param {Rect} rect of the image @returns {Rect} where it is seen */
  const turnAsSeen = (rect) => turnRect(rect, quarters);
  /** Width and height of the image as it is seen. */
  const getSeenSize = () => (quarters % 2 ? [height, width] : [width, height]);

  /** Return how wide the whole image is in the pane: its scroll bars come and go, so they do not count. */
  function computeWholeWidth() {
    const edges = 2 * pane.clientLeft;
    // A pane that fills the window has no limit of its own, and its height does not follow from the image.
    const room = (parseFloat(getComputedStyle(pane).maxHeight) || pane.offsetHeight || Infinity) - edges;
    const [wide, high] = getSeenSize();
    return Math.min(pane.offsetWidth - edges, (room * wide) / high, Math.max(wide * LARGEST, 320));
  }

  /** Show the whole image at zoom 1. */
  function fit() {
    if (!width) return;
    const [wide, high] = getSeenSize();
    const across = Math.floor(computeWholeWidth() * zoom);
    const down = (across * high) / wide;
    const [sheetWidth, sheetHeight] = quarters % 2 ? [down, across] : [across, down];
    table.style.width = `${across}px`;
    table.style.height = `${down}px`;
    sheet.style.width = `${sheetWidth}px`;
    sheet.style.left = `${(across - sheetWidth) / 2}px`;
    sheet.style.top = `${(down - sheetHeight) / 2}px`;
    sheet.style.rotate = quarters ? `${90 * quarters}deg` : "";
    // Only what scrolls needs the keyboard for it.
    const scrolls = across > pane.clientWidth + 1 || down > pane.clientHeight + 1;
    if (scrolls) pane.tabIndex = 0;
    else pane.removeAttribute("tabindex");
  }
  new ResizeObserver(fit).observe(figure);

  const picture = {
    element: figure,
    caption,
    pane,
    ready,
    get size() {
      return { width, height };
    },
    /** Width by height, as the image is seen. */
    get shape() {
      const [wide, high] = getSeenSize();
      return high ? wide / high : 1;
    },
    get quarters() {
      return quarters;
    },
    /** The zoom at which a pixel of the image is one of the screen. */
    get actual() {
      return width ? getSeenSize()[0] / computeWholeWidth() : 1;
    },
    /** The zoom at which a box fills the pane. @param {Rect} rect */
    computeZoomFor(rect) {
      const [left, top, right, bottom] = turnAsSeen(rect);
      const [imageWidth, imageHeight] = getSeenSize();
      const wide = computeWholeWidth() * (right - left);
      const high = (computeWholeWidth() * imageHeight * (bottom - top)) / imageWidth;
      return Math.max(1, Math.min(pane.offsetWidth / wide, pane.offsetHeight / high) / ROOM_AROUND);
    },
    /** Bring the middle of a box into the middle of the pane. @param {Rect} rect */
    center(rect) {
      const [left, top, right, bottom] = turnAsSeen(rect);
      pane.scrollLeft = ((left + right) / 2) * table.offsetWidth - pane.clientWidth / 2;
      pane.scrollTop = ((top + bottom) / 2) * table.offsetHeight - pane.clientHeight / 2;
    },
    /** Turn the view to the right by a quarter; boxes stay where they are on the image. */
    turn() {
      quarters = (quarters + 1) % 4;
      fit();
      draw();
    },
    /** Let lines follow the pointer, or not. @param {boolean} wanted */
    setCrossed(wanted) {
      crossed = wanted;
      cross.hidden = true;
    },
    draft,
    /** @param {Shown[]} next */
    show(next) {
      shown = next;
      draw();
    },
    /** @param {{drawing: boolean, panning: boolean}} mode */
    setMode(mode) {
      ({ drawing, panning } = mode);
      pane.classList.toggle("panning", panning);
      pane.classList.toggle("drawing", drawing && !panning);
      draw();
    },
    /**
     * @param {number} next
     * @param {{clientX: number, clientY: number}} [at] what stays in place; else the middle
     */
    setZoom(next, at) {
      const bounds = pane.getBoundingClientRect();
      const [x, y] = at
        ? [at.clientX - bounds.left, at.clientY - bounds.top]
        : [bounds.width / 2, bounds.height / 2];
      const [across, down] = [
        (pane.scrollLeft + x) / table.offsetWidth,
        (pane.scrollTop + y) / table.offsetHeight,
      ];
      zoom = next;
      fit();
      pane.scrollLeft = across * table.offsetWidth - x;
      pane.scrollTop = down * table.offsetHeight - y;
    },
    /** Bring a box into the pane. @param {Rect} rect */
    reveal(rect) {
      const [left, top, right, bottom] = turnAsSeen(rect);
      const [x, y] = [table.offsetWidth, table.offsetHeight];
      const beside = left * x < pane.scrollLeft || right * x > pane.scrollLeft + pane.clientWidth;
      if (beside || top * y < pane.scrollTop || bottom * y > pane.scrollTop + pane.clientHeight)
        picture.center(rect);
    },
    /** The rectangle of the image that is in sight. @returns {Rect} */
    computeRectInSight() {
      const [x, y] = [table.offsetWidth || 1, table.offsetHeight || 1];
      const visible = cutToImage([
        pane.scrollLeft / x,
        pane.scrollTop / y,
        (pane.scrollLeft + pane.clientWidth) / x,
        (pane.scrollTop + pane.clientHeight) / y,
      ]);
      return turnRect(visible, 4 - quarters);
    },
  };
  return picture;
}

const ACTED_ON = new Set(["own", "candidate", "chosen", "source"]);

const SET_BY_CLICKS = new Set(["polygons", "points"]);

/** @param {Shown} shown */
const formatShapeKey = ({ rect, mark }) => JSON.stringify(mark.polygon ?? rect);

/** @param {string} look */
function createPath(look) {
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("class", `box ${look}`);
  return path;
}
