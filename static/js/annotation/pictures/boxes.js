/**
 * The images of an item, side by side: choosing, drawing and pushing marks by mouse, touch and keyboard, zoom
 * and pan.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").Rect} Rect
 * @typedef {import("./picture.js").Shown} Shown
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { listContext } from "../document/program.js";
import { formatImageName, formatMarkName, formatPlace, getMarkType } from "../document/words.js";
import { listOverlaidPlaces, listSuggestedRelations } from "../marks/predictions.js";
import { moveRect, resizeRect, turnRect } from "../marks/rectangles.js";
import {
  computeArrow,
  computeMiddle,
  createMark,
  createPolygon,
  insertCorner,
  moveCorner,
  reshapeMark,
} from "../marks/shapes.js";
import { gettext } from "../page/language.js";
import { createElement } from "../page/markup.js";
import { recall, remember } from "../page/remembered.js";
import { createPicture } from "./picture.js";

const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];
/** From here on the editor fills the window, see annotation.css; else the page scrolls. */
const FILLS = matchMedia("(min-width: 48rem) and (min-height: 34rem)");
const SCROLLED_HEIGHT = 0.7; // of the window, that an image takes at most on a page that scrolls
const GAP_PIXELS = 8;
const STEP_PIXELS = 1;
const BIG_STEP_PIXELS = 10;
const NEW_BOX = 0.2;
const SCROLL_PIXELS = 40;

/**
 * @param {Store} store @param {HTMLElement} stage takes the keyboard @param {Acts} acts
 * @param {ReturnType<typeof import("../page/announcer.js").createAnnouncer>} announce
 * @param {string} user whose choices the browser keeps
 * @param {ReturnType<typeof import("../marks/labels.js").createLooks>} looks of labels
 */
export function createBoxes(store, stage, acts, announce, user, looks) {
  const { images } = store.item;
  const crossKey = `touchstone-crosshair-${user}`;
  let zoom = 1;
  let panning = false;
  let crossed = Boolean(recall(crossKey));
  let leaving = false;
  let lastImage = 0;
  /** @type {number | null} the corner of the selected polygon that the arrow keys move */
  let corner = null;
  /** @type {string | null} the polygon of that corner */
  let cornerOf = null;
  const pictures = images.map((image, index) =>
    createPicture(image, formatImageName(store, index), {
      onDraw: (mark) => acts.draw({ image: index, ...mark }),
      onChange: (id, mark) => acts.move(id, mark),
      onPick(id) {
        lastImage = index;
        stage.focus({ preventScroll: true });
        acts.pick(id);
      },
      canDraw: () => acts.canDraw(),
      getMarkType: () => getMarkType(store, store.node),
      onDraft(words) {
        lastImage = index;
        if (words) stage.focus({ preventScroll: true });
        announce(words);
        view.onView();
      },
    }, looks.all),
  );
  const row = createElement(
    "div",
    { class: "pictures", "data-images": images.length },
    ...pictures.map((picture) => picture.element),
  );
  stage.append(row);
  new ResizeObserver(arrange).observe(stage);
  void Promise.allSettled(pictures.map((picture) => picture.ready)).then(arrange);

  /**
   * Put images beside each other, all as high as the others, or below each other, all as wide as the others:
   * whichever shows them larger.
   */
  function arrange() {
    const shapes = pictures.map((picture) => picture.shape);
    const sum = (/** @type {number[]} */ numbers) => numbers.reduce((total, number) => total + number, 0);
    const gaps = GAP_PIXELS * (shapes.length - 1);
    const caption = pictures[0]?.caption.offsetHeight ?? 0;
    const fills = FILLS.matches;
    const width = stage.clientWidth;
    const high = (fills ? stage.clientHeight : SCROLLED_HEIGHT * innerHeight) - caption;
    const height = Math.min(high, (width - gaps) / sum(shapes));
    const beside = height ** 2 * sum(shapes);
    const room = high - gaps - caption * (shapes.length - 1);
    const widths = shapes.map((shape) =>
      Math.min(width, fills ? room / sum(shapes.map((each) => 1 / each)) : high * shape),
    );
    const below = sum(widths.map((each, index) => each ** 2 / shapes[index]));
    const stacked = below > beside;
    row.classList.toggle("stacked", stacked);
    row.style.gridTemplateColumns = stacked ? "" : formatTracks(shapes);
    row.style.gridTemplateRows = stacked && fills ? formatTracks(shapes.map((shape) => 1 / shape)) : "";
  }

  /** @param {number[]} parts that share the room */
  const formatTracks = (parts) => parts.map((part) => `minmax(0, ${part.toFixed(4)}fr)`).join(" ");

  for (const picture of pictures) {
    picture.pane.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        setZoom(findAdjacentZoom(event.deltaY < 0 ? 1 : -1), event);
      },
      { passive: false },
    );
  }

  stage.addEventListener("focus", () => (leaving = false));
  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || event.ctrlKey || event.metaKey) return;
    const act = event.key === "Tab" ? () => walk(event.shiftKey ? -1 : 1) : keys[event.key];
    if (!act || act(event) === false) return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** @type {Record<string, (event: KeyboardEvent) => boolean | void>} */
  const keys = {
    ArrowLeft: (event) => push(event, -1, 0),
    ArrowRight: (event) => push(event, 1, 0),
    ArrowUp: (event) => push(event, 0, -1),
    ArrowDown: (event) => push(event, 0, 1),
    Enter: () => (findOpenDraft() ? findOpenDraft()?.close() : acts.toggle(store.object)),
    " ": () => acts.toggle(store.object),
    Escape() {
      if (findOpenDraft()) return findOpenDraft()?.cancel();
      if (acts.cancelRelation()) return;
      if (corner !== null) return setCorner(null);
      leaving = true;
      store.select(null);
      announce(gettext("Nothing selected. Press Tab to leave the images."));
    },
  };

  /** Select the next box; false if there is none and Tab should leave. @param {number} step */
  function walk(step) {
    const objects = store.objects;
    const index = objects.findIndex((each) => each.id === store.object);
    const next = index < 0 ? (step > 0 ? 0 : objects.length - 1) : index + step;
    if (leaving || !objects[next]) return false;
    store.select(objects[next].id);
    say();
    return true;
  }

  /** The polygon that is being drawn. */
  const findOpenDraft = () => pictures.find(({ draft }) => draft.open)?.draft ?? null;
  acts.isDrafting = () => Boolean(findOpenDraft());
  acts.takeBackCorner = () => findOpenDraft()?.takeBackCorner();

  /** @param {number | null} next */
  function setCorner(next) {
    [corner, cornerOf] = [next, store.object];
    render();
    view.onCorner();
    const mark = acts.getSelectedObject()?.mark;
    const at = next === null ? null : mark?.polygon?.[next];
    if (at) announce(formatCorner(/** @type {number} */ (next), mark?.polygon?.length ?? 0, at));
  }

  /** @param {number} index @param {number} count @param {import("../document/types.js").Corner} corner */
  function formatCorner(index, count, [left, top]) {
    const numbers = { number: index + 1, count, left: Math.round(100 * left), top: Math.round(100 * top) };
    return gettext("Corner %(number)s of %(count)s: %(left)s% from the left, %(top)s% from the top", numbers);
  }

  /** @param {KeyboardEvent} event @param {number} across @param {number} down */
  function push(event, across, down) {
    const chosen = acts.getSelectedObject();
    if (!chosen?.own || !chosen.mark.box) return scroll(across, down);
    const picture = pictures[chosen.mark.image ?? 0];
    const { width, height } = picture.size;
    const step = event.shiftKey ? BIG_STEP_PIXELS : STEP_PIXELS;
    // Arrows go by what is seen, even if the image is turned.
    const [wide, high] = picture.quarters % 2 ? [height, width] : [width, height];
    const [dx, dy] = [(across * step) / wide, (down * step) / high];
    if (corner !== null && chosen.mark.polygon) {
      const [x, y] = turnBack(dx, dy, picture.quarters);
      acts.move(chosen.id, moveCorner(chosen.mark, corner, x, y));
      return true;
    }
    const seen = turnRect(chosen.mark.box, picture.quarters);
    const now = event.altKey ? resizeRect(seen, dx, dy, 1 / Math.max(width, height)) : moveRect(seen, dx, dy);
    const box = turnRect(now, 4 - picture.quarters);
    acts.move(chosen.id, reshapeMark(chosen.mark, box));
    picture.reveal(box);
    return true;
  }

  /** A way on the screen as one on the image, which is turned to the right by so many quarters.
   * @param {number} across @param {number} down @param {number} quarters @returns {[number, number]} */
  const turnBack = (across, down, quarters) =>
    /** @type {[number, number][]} */ ([[across, down], [down, -across], [-across, -down], [-down, across]])[quarters];

  /** Move what is in sight of a zoomed image. @param {number} across @param {number} down */
  function scroll(across, down) {
    const pane = pictures[lastImage]?.pane;
    if (pane?.tabIndex !== 0) return false;
    pane.scrollBy(across * SCROLL_PIXELS, down * SCROLL_PIXELS);
    return true;
  }

  function say() {
    const chosen = acts.getSelectedObject();
    if (!chosen) return;
    const number = store.objects.indexOf(chosen) + 1;
    const count = store.objects.length;
    const named = gettext("%(mark)s of %(count)s", {
      mark: formatMarkName(store, store.node, number),
      count,
    });
    const label = chosen.thing.label ? `, ${chosen.thing.label}` : "";
    const choice = chosen.chosen ? `, ${gettext("chosen")}` : "";
    announce(`${named}${label}${choice}: ${formatPlace(store, chosen.mark)}`, true);
  }

  function render() {
    const { objects, object } = store;
    const chosen = acts.getSelectedObject();
    const links = new Set(chosen?.thing.links ?? []);
    const editable = acts.canEdit();
    /** @type {Shown[][]} */
    const shown = images.map(() => []);
    const add = (/** @type {number | undefined} */ image, /** @type {Shown} */ each) =>
      shown[image ?? 0]?.push(each);
    const sources = store.program.nodes[store.node].role === "link";
    const context = listContext(store.program, store.document, store.node);
    for (const [index, { thing, mark }] of context.entries()) {
      const look = !sources ? "context" : links.has(thing.id) ? "chosen" : "source";
      if (mark.box)
        add(mark.image, {
          id: thing.id,
          rect: mark.box,
          mark,
          look,
          tag: sources ? nameSource(index) : (thing.label ?? ""),
          selected: false,
          editable: false,
        });
    }
    for (const mark of listOverlaidPlaces(store)) {
      const { image, box, probability } = mark;
      const tag = probability === undefined ? "" : `${Math.round(100 * probability)} %`;
      if (box) add(image, { id: "", rect: box, mark, look: "predicted", tag, selected: false, editable: false });
    }
    const { relating } = acts;
    for (const [index, each] of objects.entries()) {
      if (!each.mark.box) continue;
      const { label } = each.thing;
      const look = label
        ? looks.getLook(each.from, label)
        : each.own
          ? "own"
          : each.chosen
            ? "chosen"
            : "candidate";
      const selected = each.id === object;
      add(each.mark.image, {
        id: each.id,
        rect: each.mark.box,
        mark: each.mark,
        corner: selected ? corner : null,
        look,
        tag: label || String(index + 1),
        selected: selected || each.id === relating,
        editable: each.own && editable,
      });
    }
    const placeOf = new Map(objects.map(({ id, mark }) => [id, mark]));
    for (const { id, thing } of objects) {
      const places = thing.ends?.map((end) => placeOf.get(end));
      addRelation({ id, label: thing.label, look: looks.getLook(store.node, thing.label), places }, add);
    }
    for (const each of listSuggestedRelations(store)) addRelation({ ...each, look: "predicted" }, add);
    pictures.forEach((picture, index) => picture.show(shown[index]));
  }

  /**
   * Draw a relation as a line between the middles of marks in one image.
   * @param {{id: string, label?: string, look: string, places?: (import("../document/types.js").Place | undefined)[]}} each
   * @param {(image: number | undefined, each: Shown) => void} add
   */
  function addRelation({ id, label, look, places }, add) {
    if (!places || places[0]?.image !== places[1]?.image) return;
    const image = places[0]?.image;
    const [from, to] = places.map((mark) => computeMiddle(mark?.box ?? [0, 0, 0, 0]));
    const { width, height } = pictures[image ?? 0].size;
    const directed = store.program.nodes[store.node].layer?.directed;
    const [x, y] = computeMiddle([...from, ...to]);
    add(image, {
      id,
      rect: [x, y, x, y],
      mark: { line: directed ? computeArrow(from, to, height / width || 1) : [from, to] },
      look,
      tag: label ?? "",
      selected: id === store.object,
      editable: false,
    });
  }

  /** The zoom after the present one. @param {number} step 1 or -1 @returns {number} */
  const findAdjacentZoom = (step) =>
    step > 0
      ? (ZOOMS.find((each) => each > zoom) ?? zoom)
      : (ZOOMS.findLast((each) => each < zoom) ?? ZOOMS[0]);

  /** @param {number} next @param {{clientX: number, clientY: number}} [at] */
  function setZoom(next, at) {
    zoom = next;
    for (const picture of pictures) picture.setZoom(zoom, at);
    view.onView();
  }

  store.subscribe((topics) => {
    if (store.object !== cornerOf) corner = null;
    if (["document", "node", "object", "view"].some((topic) => topics.has(/** @type {any} */ (topic))))
      render();
    if (topics.has("object")) {
      const chosen = acts.getSelectedObject();
      leaving &&= !chosen;
      if (chosen?.mark.box) {
        lastImage = chosen.mark.image ?? 0;
        pictures[lastImage]?.reveal(chosen.mark.box);
      }
    }
  });

  const view = {
    /** Called after zoom or the pointer's use have changed. */
    onView: () => {},
    get zoom() {
      return zoom;
    },
    get panning() {
      return panning;
    },
    zoomIn: () => setZoom(findAdjacentZoom(1)),
    zoomOut: () => setZoom(findAdjacentZoom(-1)),
    zoomFit: () => setZoom(1),
    /** One pixel of an image is one of the screen. */
    zoomActual() {
      for (const picture of pictures) picture.setZoom(picture.actual);
      zoom = pictures[lastImage]?.actual ?? 1;
      view.onView();
    },
    zoomBox() {
      const { box, image = 0 } = acts.getSelectedObject()?.mark ?? {};
      if (!box) return announce(gettext("Select a box first."));
      setZoom(Math.min(pictures[image].computeZoomFor(box), ZOOMS[ZOOMS.length - 1]));
      pictures[image].center(box);
    },
    get crossed() {
      return crossed;
    },
    toggleCross() {
      crossed = !crossed;
      remember(crossKey, crossed);
      for (const picture of pictures) picture.setCrossed(crossed);
      view.onView();
    },
    /** Turn the image that was used last. */
    turn() {
      const picture = pictures[lastImage];
      if (!picture) return;
      picture.turn();
      arrange();
      const degrees = 90 * picture.quarters;
      announce(
        gettext("The %(image)s is turned by %(degrees)s°.", {
          image: formatImageName(store, lastImage),
          degrees,
        }),
      );
    },
    /** @param {Record<string, number>} light brightness and contrast, 1 if unchanged */
    setLight({ brightness, contrast }) {
      row.classList.toggle("relit", brightness !== 1 || contrast !== 1);
      row.style.setProperty("--brightness", String(brightness));
      row.style.setProperty("--contrast", String(contrast));
    },
    togglePan() {
      panning = !panning;
      for (const picture of pictures) picture.setMode({ drawing: true, panning });
      view.onView();
    },
    /** A new box in the middle of what is in sight, for the arrow keys to place. */
    drawInMiddle() {
      if (!acts.canDraw()) return;
      const image = acts.getSelectedObject()?.mark.image ?? lastImage;
      const [left, top, right, bottom] = pictures[image].computeRectInSight();
      const [across, down] = [(right - left) * NEW_BOX, (bottom - top) * NEW_BOX];
      const [x, y] = [(left + right) / 2, (top + bottom) / 2];
      stage.focus({ preventScroll: true });
      acts.draw({
        image,
        ...createMark(getMarkType(store, store.node), [
          x - across / 2,
          y - down / 2,
          x + across / 2,
          y + down / 2,
        ]),
      });
    },
    closeDraft: () => findOpenDraft()?.close(),
    /** Called when another corner of the selected polygon is taken. */
    onCorner: () => {},
    get corner() {
      return corner;
    },
    /** Take the next corner of the selected polygon for the arrow keys. @param {number} step */
    stepThroughCorners(step = 1) {
      const count = acts.getSelectedObject()?.mark.polygon?.length;
      if (!count) return announce(gettext("Select a polygon first."));
      stage.focus({ preventScroll: true });
      setCorner(corner === null ? (step > 0 ? 0 : count - 1) : (corner + step + count) % count);
    },
    addCorner() {
      const chosen = acts.getSelectedObject();
      if (!chosen?.own || !chosen.mark.polygon) return;
      const after = corner ?? 0;
      acts.move(chosen.id, insertCorner(chosen.mark, after));
      setCorner(after + 1);
    },
    /** Take back a corner: of the polygon that is drawn, or the one that is taken. @returns {boolean} */
    removeCorner() {
      const chosen = acts.getSelectedObject();
      if (acts.isDrafting()) return acts.takeBackCorner(), true;
      if (corner === null || !chosen?.own || !chosen.mark.polygon) return false;
      if (chosen.mark.polygon.length < 4) return announce(gettext("A polygon has three corners or more.")), true;
      acts.move(chosen.id, createPolygon(chosen.mark.polygon.toSpliced(corner, 1)));
      setCorner(corner ? corner - 1 : 0);
      return true;
    },
    /** The other image, for a new box. */
    switchImage() {
      if (images.length < 2) return;
      lastImage = (lastImage + 1) % images.length;
      announce(
        gettext("New boxes are drawn in the %(image)s.", { image: formatImageName(store, lastImage) }),
      );
    },
    focus: () => stage.focus(),
    render,
  };
  for (const [index, picture] of pictures.entries()) {
    picture.setCrossed(crossed);
    picture.ready.catch((/** @type {Error} */ error) => announce(error.message));
    picture.pane.addEventListener("pointerdown", () => (lastImage = index));
  }
  render();
  return view;
}

/** Name of a source, which differs from the numbers of the objects. @param {number} index @returns {string} */
export function nameSource(index) {
  return index < 26
    ? String.fromCharCode(97 + index)
    : `${nameSource(Math.floor(index / 26) - 1)}${nameSource(index % 26)}`;
}
