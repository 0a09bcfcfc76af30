/**
 * Marking spans of a passage by mouse, touch and keyboard: by words or by characters, which are called units here.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("./passage.js").Mark} Mark
 * @typedef {import("../document/types.js").Place} Place
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { listContext } from "../document/program.js";
import { formatRelation } from "../document/words.js";
import { listOverlaidPlaces, listSuggestedRelations } from "../marks/predictions.js";
import { gettext, ngettext } from "../page/language.js";
import { createButton, createElement } from "../page/markup.js";
import { recall, remember } from "../page/remembered.js";
import { createArcs } from "./arcs.js";
import { createPassage } from "./passage.js";
import { isWrittenWithoutSpaces } from "./units.js";

const DRAG_PIXELS = 5; // within one word, where a click may tremble

/**
 * @param {Store} store @param {HTMLElement} stage takes the keyboard @param {Acts} acts
 * @param {ReturnType<typeof import("../page/announcer.js").createAnnouncer>} announce
 * @param {string} user whose way of marking the browser keeps
 * @param {ReturnType<typeof import("../marks/labels.js").createLooks>} looks of labels
 */
export function createSpans(store, stage, acts, announce, user, looks) {
  let [caret, anchor] = [0, 0];
  const passage = createPassage(store.item.passage, store.item.tokens, (now) =>
    moveCaret(now(caret), now(anchor)),
  );
  const oneClickKey = `touchstone-one-click-${user}`;
  let oneClick = Boolean(recall(oneClickKey));
  let leaving = false;
  /** @type {{unit: number, x: number, y: number, mouse: boolean} | null} where the pointer went down */
  let down = null;
  let dragged = false;
  const markButton = createButton(gettext("Mark these words"), () => markPicked(), { class: "button mark" });
  const offer = createElement(
    "div",
    { class: "offer", hidden: true },
    markButton,
    createButton(gettext("Cancel"), () => moveCaret(caret, caret), { class: "button second" }),
  );
  const arcs = createArcs(passage.element);
  new ResizeObserver(() => drawArcs()).observe(passage.element);
  stage.classList.add("reading");
  stage.append(passage.element, offer);
  if (!passage.count)
    passage.element.append(createElement("p", { class: "quiet" }, gettext("This item has no passage.")));

  const getRange = () => [Math.min(anchor, caret), Math.max(anchor, caret) + 1];

  /** @param {number} nextCaret @param {number} [nextAnchor] */
  function moveCaret(nextCaret, nextAnchor = nextCaret) {
    [caret, anchor] = [nextCaret, nextAnchor];
    const [start, end] = getRange();
    passage.pick(caret, anchor === caret ? 0 : start, anchor === caret ? 0 : end);
    offer.hidden = true;
  }

  /** Offer the picked units by touch, where no Enter key is at hand. */
  function propose() {
    if (!acts.canDraw()) return;
    const [start, end] = getRange();
    markButton.textContent = passage.byCharacter
      ? ngettext("Mark this character", "Mark these %(count)s characters", end - start)
      : ngettext("Mark this word", "Mark these %(count)s words", end - start);
    offer.hidden = false;
  }

  /** @param {number} start @param {number} end */
  function markUnits(start, end) {
    if (!passage.count || !acts.canDraw()) return;
    moveCaret(end - 1);
    stage.focus({ preventScroll: true });
    acts.draw(passage.createPlace(start, end));
  }

  function markPicked() {
    const [start, end] = getRange();
    markUnits(start, end);
  }

  /** Mark a whole word, or select it if it is marked already. @param {number} unit */
  function markWord(unit) {
    const [start, end] = passage.findWord(unit);
    const same = store.objects.find(({ mark }) => passage.findUnits(mark).join() === `${start},${end}`);
    if (same) store.select(same.id);
    else markUnits(start, end);
  }

  passage.element.addEventListener("pointerdown", (event) => {
    const unit = passage.findUnit(event.target);
    if (unit === null || event.button !== 0) return;
    const mouse = event.pointerType === "mouse";
    if (mouse) {
      event.preventDefault();
      stage.focus({ preventScroll: true });
    }
    down = { unit, x: event.clientX, y: event.clientY, mouse };
    dragged = false;
    if (event.shiftKey) moveCaret(unit, anchor);
  });
  addEventListener("pointermove", (event) => {
    if (down === null) return;
    // A finger keeps its first target, so the unit is looked up by place.
    const unit = passage.findUnit(document.elementFromPoint(event.clientX, event.clientY));
    const across = Math.abs(event.clientX - down.x);
    // Up and down, a finger scrolls.
    const along = across >= DRAG_PIXELS && across > Math.abs(event.clientY - down.y);
    if (unit === null || (unit === down.unit && !dragged && !along) || !acts.canDraw()) return;
    dragged = true;
    moveCaret(unit, down.unit);
  });
  addEventListener("pointerup", (event) => {
    if (down === null) return;
    const { unit, mouse } = down;
    down = null;
    if (!dragged && !event.shiftKey) press(unit, !mouse);
    else if (mouse) markPicked();
    else propose();
  });
  addEventListener("pointercancel", () => {
    if (down !== null && dragged) propose();
    down = null;
  });
  passage.element.addEventListener("dblclick", (event) => {
    const unit = passage.findUnit(event.target);
    if (unit === null || oneClick || !offer.hidden) return; // a second tap extends what the first one picked
    if (store.program.nodes[store.node].role !== "choose" || !findObjectsAt(unit).length) markWord(unit);
  });

  /**
   * A click or tap: take what lies there, mark it if one click does, or with a finger pick words.
   * @param {number} unit
   * @param {boolean} touch
   */
  function press(unit, touch) {
    const ids = findObjectsAt(unit, oneClick);
    if (ids.length) {
      moveCaret(unit);
      const index = ids.findIndex((id) => id === store.object);
      return acts.pick(ids[(index + 1) % ids.length]);
    }
    if (oneClick) return markUnits(unit, unit + 1);
    store.select(null);
    // The second tap says where the words end.
    const second = touch && !offer.hidden;
    moveCaret(unit, second ? anchor : unit);
    if (touch) propose();
  }

  /**
   * Objects that can be acted on over a unit, the shortest first.
   * @param {number} unit
   * @param {boolean} [withoutSources] which a click would mark over
   * @returns {string[]}
   */
  function findObjectsAt(unit, withoutSources = false) {
    const sources =
      !withoutSources && store.program.nodes[store.node].role === "link"
        ? listContext(store.program, store.document, store.node)
        : [];
    return [...store.objects, ...sources.map(({ thing, mark }) => ({ id: thing.id, mark }))]
      .map(({ id, mark }) => ({ id, units: passage.findUnits(mark) }))
      .filter(({ units: [start, end] }) => start <= unit && unit < end)
      .sort((first, second) => first.units[1] - first.units[0] - second.units[1] + second.units[0])
      .map(({ id }) => id);
  }

  stage.addEventListener("focus", () => {
    leaving = false;
    passage.pick(caret, 0, 0);
  });
  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || event.ctrlKey || event.metaKey || !passage.count) return;
    const act = event.key === "Tab" ? () => walk(event.shiftKey ? -1 : 1) : keys[event.key];
    if (!act || act(event) === false) return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** @type {Record<string, (event: KeyboardEvent) => boolean | void>} */
  const keys = {
    ArrowLeft: (event) => go(caret - getReadingDirection(), event),
    ArrowRight: (event) => go(caret + getReadingDirection(), event),
    ArrowUp: (event) => go(findTokenInAdjacentLine(-1), event),
    ArrowDown: (event) => go(findTokenInAdjacentLine(1), event),
    Home: (event) => go(0, event),
    End: (event) => go(passage.count - 1, event),
    Enter() {
      const chosen = acts.getSelectedObject();
      if (anchor === caret && chosen && !chosen.own) acts.toggle(chosen.id);
      else markPicked();
    },
    " "() {
      const [id] = findObjectsAt(caret);
      if (id) acts.pick(id);
    },
    Escape() {
      if (acts.cancelRelation()) return;
      leaving = true;
      moveCaret(caret);
      store.select(null);
      announce(gettext("Nothing selected. Press Tab to leave the passage."));
    },
  };

  /** @param {number} token @param {KeyboardEvent} event */
  function go(token, event) {
    const next = Math.max(0, Math.min(passage.count - 1, token));
    moveCaret(next, event.shiftKey ? anchor : next);
    passage.reveal(next);
    say();
  }

  /** The direction of the next word: 1 to the right, -1 to the left. */
  const getReadingDirection = () => (getComputedStyle(passage.element).direction === "rtl" ? -1 : 1);

  /** The token above or below the caret. @param {number} step */
  function findTokenInAdjacentLine(step) {
    const here = passage.getBounds(caret);
    const middle = here.left + here.width / 2;
    let best = caret;
    let line = null;
    for (let token = caret + step; token >= 0 && token < passage.count; token += step) {
      const there = passage.getBounds(token);
      if (Math.abs(there.top - here.top) < here.height / 2) continue;
      line ??= there.top;
      if (Math.abs(there.top - line) > here.height / 2) break;
      const distance = Math.abs(there.left + there.width / 2 - middle);
      const previous = passage.getBounds(best);
      if (best === caret || distance <= Math.abs(previous.left + previous.width / 2 - middle)) best = token;
    }
    return best;
  }

  function say() {
    const [start, end] = getRange();
    const { quote } = passage.createPlace(start, end);
    const ids = findObjectsAt(caret);
    const counted = passage.byCharacter
      ? ngettext("%(count)s character", "%(count)s characters", end - start)
      : ngettext("%(count)s word", "%(count)s words", end - start);
    const words = end - start > 1 && counted;
    const inside =
      ids.length > 0 && ngettext("in a marked span", "in %(count)s marked spans", ids.length);
    announce([quote, words, inside].filter(Boolean).join(", "), true);
  }

  /** @param {number} step */
  function walk(step) {
    const objects = store.objects;
    const index = objects.findIndex((each) => each.id === store.object);
    const next = objects[index < 0 ? (step > 0 ? 0 : objects.length - 1) : index + step];
    if (leaving || !next) return false;
    store.select(next.id);
    const named = gettext("Span %(number)s of %(count)s", {
      number: objects.indexOf(next) + 1,
      count: objects.length,
    });
    if (next.thing.ends) return announce(formatRelation(store, next.thing), true), true;
    const [start, end] = passage.findUnits(next.mark);
    moveCaret(start);
    const quote = next.mark.quote ?? passage.createPlace(start, end).quote;
    announce(`${named}${next.thing.label ? `, ${next.thing.label}` : ""}${next.chosen ? `, ${gettext("chosen")}` : ""}: ${quote}`, true);
    return true;
  }

  function render() {
    const chosen = acts.getSelectedObject();
    const links = new Set(chosen?.thing.links ?? []);
    /** @type {Mark[]} */
    const marks = [];
    for (const { thing, mark, from } of listContext(store.program, store.document, store.node)) {
      const look = thing.label
        ? looks.getLook(from, thing.label)
        : links.has(thing.id)
          ? "chosen"
          : "context";
      marks.push({ mark, look, selected: false, label: thing.label });
    }
    for (const mark of listOverlaidPlaces(store)) marks.push({ mark, look: "predicted", selected: false });
    const { relating } = acts;
    for (const each of store.objects) {
      const { label } = each.thing;
      const look = label
        ? looks.getLook(each.from, label)
        : each.own
          ? "own"
          : each.chosen
            ? "chosen"
            : "candidate";
      marks.push({ mark: each.mark, look, selected: each.id === store.object || each.id === relating, label });
    }
    passage.show(marks);
    drawArcs();
  }

  /** Draw the relations of this step over the words. */
  function drawArcs() {
    const places = new Map(store.objects.map(({ id, mark }) => [id, mark]));
    const getBounds = (/** @type {import("../document/types.js").Place} */ mark) =>
      passage.getBounds(passage.findUnits(mark)[0]);
    const { layer, role } = store.program.nodes[store.node];
    const directed = layer?.directed ?? true;
    passage.element.classList.toggle("with-arcs", role === "relate");
    const drawn = store.objects.flatMap(({ id, thing }) => {
      if (!thing.ends) return [];
      const [from, to] = thing.ends.map((end) => getBounds(places.get(end) ?? {}));
      return [
        { from, to, look: looks.getLook(store.node, thing.label), selected: id === store.object, directed },
      ];
    });
    const suggested = listSuggestedRelations(store).map((each) => {
      const [from, to] = each.places.map(getBounds);
      return { from, to, look: "predicted", selected: false, directed };
    });
    arcs.show([...suggested, ...drawn]);
  }

  store.subscribe((topics) => {
    if (["document", "node", "object", "view"].some((topic) => topics.has(/** @type {any} */ (topic))))
      render();
    if (topics.has("object")) {
      const chosen = acts.getSelectedObject();
      leaving &&= !chosen;
      if (chosen && !chosen.thing.ends) passage.reveal(passage.findUnits(chosen.mark)[0]);
    }
    if (topics.has("node")) moveCaret(caret);
  });

  if (isWrittenWithoutSpaces(store.item.passage)) passage.setByCharacter(true);
  render();

  const view = {
    /** Called after the way of marking has changed. */
    onView: () => {},
    get oneClick() {
      return oneClick;
    },
    get byCharacter() {
      return passage.byCharacter;
    },
    toggleOneClick() {
      oneClick = !oneClick;
      remember(oneClickKey, oneClick);
      announce(oneClick ? gettext("One click marks.") : gettext("A double click or a drag marks."));
      view.onView();
    },
    toggleCharacters() {
      passage.setByCharacter(!passage.byCharacter);
      render();
      announce(passage.byCharacter ? gettext("Marking characters.") : gettext("Marking words."));
      store.tell("view");
      view.onView();
    },
    /**
     * Move an edge of the selected span.
     * @param {number} start
     * @param {number} end units to add at either side
     */
    stretch(start, end) {
      const chosen = acts.getSelectedObject();
      if (!chosen?.own || chosen.thing.ends) return;
      const [first, beyond] = passage.findUnits(chosen.mark);
      const from = Math.max(0, first - start);
      const to = Math.min(passage.count, beyond + end);
      if (to <= from) return;
      const mark = passage.createPlace(from, to);
      acts.move(chosen.id, mark);
      announce(mark.quote, true);
    },
    focus: () => stage.focus(),
    render,
  };
  return view;
}
