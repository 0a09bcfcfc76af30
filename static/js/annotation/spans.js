/**
 * Marking spans of a passage by mouse, touch and keyboard.
 *
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./passage.js").Mark} Mark
 * @typedef {ReturnType<typeof import("./acts.js").createActs>} Acts
 */
import { gettext, ngettext } from "./language.js";
import { button, element } from "./markup.js";
import { createPassage } from "./passage.js";
import { context } from "./program.js";
import { overlay } from "./predictions.js";

/**
 * @param {Store} store @param {HTMLElement} stage takes the keyboard @param {Acts} acts
 * @param {ReturnType<typeof import("./announcer.js").createAnnouncer>} announce
 */
export function createSpans(store, stage, acts, announce) {
  const passage = createPassage(store.item.passage, store.item.tokens);
  let [caret, anchor] = [0, 0];
  let leaving = false;
  /** @type {number | null} token on which the pointer went down */
  let down = null;
  let dragged = false;
  const mark = button(gettext("Mark these words"), () => make(), { class: "button mark" });
  const offer = element(
    "div",
    { class: "offer", hidden: true },
    mark,
    button(gettext("Not"), () => set(caret, caret), { class: "button second" }),
  );
  stage.append(passage.element, offer);
  if (!passage.count)
    passage.element.append(element("p", { class: "quiet" }, gettext("This item has no passage.")));

  const range = () => [Math.min(anchor, caret), Math.max(anchor, caret) + 1];

  /** @param {number} nextCaret @param {number} [nextAnchor] */
  function set(nextCaret, nextAnchor = nextCaret) {
    [caret, anchor] = [nextCaret, nextAnchor];
    const [start, end] = range();
    passage.pick(caret, anchor === caret ? 0 : start, anchor === caret ? 0 : end);
    offer.hidden = true;
  }

  /** Offer the picked words by touch, where no Enter key is at hand. */
  function propose() {
    if (!acts.mayDraw()) return;
    const [start, end] = range();
    mark.textContent = ngettext("Mark this word", "Mark these %(count)s words", end - start);
    offer.hidden = false;
  }

  function make() {
    if (!passage.count || !acts.mayDraw()) return;
    const [start, end] = range();
    set(end - 1);
    stage.focus({ preventScroll: true });
    acts.draw(passage.place(start, end));
  }

  passage.element.addEventListener("pointerdown", (event) => {
    const token = passage.tokenOf(event.target);
    if (token === null || event.button !== 0) return;
    if (event.pointerType === "mouse") {
      event.preventDefault();
      stage.focus({ preventScroll: true });
    }
    [down, dragged] = [token, false];
    if (event.shiftKey) set(token, anchor);
  });
  addEventListener("pointermove", (event) => {
    if (down === null) return;
    // A finger keeps its first target, so the token is looked up by place.
    const token = passage.tokenOf(document.elementFromPoint(event.clientX, event.clientY));
    if (token === null || (token === down && !dragged) || !acts.mayDraw()) return;
    dragged = true;
    set(token, down);
  });
  addEventListener("pointerup", (event) => {
    if (down === null) return;
    const token = down;
    down = null;
    if (dragged || event.shiftKey) {
      if (event.pointerType === "mouse") make();
      else propose();
    } else press(token, event.pointerType !== "mouse");
  });
  addEventListener("pointercancel", () => {
    if (down !== null && dragged) propose();
    down = null;
  });

  /**
   * A click or tap: take what lies there, or with a finger pick words.
   * @param {number} token
   * @param {boolean} touch
   */
  function press(token, touch) {
    const found = at(token);
    if (found.length) {
      set(token);
      const place = found.findIndex((id) => id === store.object);
      return acts.pick(found[(place + 1) % found.length]);
    }
    store.select(null);
    // The second tap says where the words end.
    const second = touch && !offer.hidden;
    set(token, second ? anchor : token);
    if (touch) propose();
  }

  /**
   * Objects that can be acted on over a token, the shortest first.
   * @param {number} token
   * @returns {string[]}
   */
  function at(token) {
    const sources =
      store.program.nodes[store.node].role === "link"
        ? context(store.program, store.document, store.node)
        : [];
    return [
      ...store.objects.map(({ id, place }) => ({ id, place })),
      ...sources.map(({ thing, place }) => ({ id: thing.id, place })),
    ]
      .filter(({ place }) => place.tokens && place.tokens[0] <= token && token < place.tokens[1])
      .sort((one, other) => length(one.place) - length(other.place))
      .map(({ id }) => id);
  }

  /** @param {import("./types.js").Place} place */
  const length = ({ tokens = [0, 0] }) => tokens[1] - tokens[0];

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
    ArrowLeft: (event) => go(caret - forward(), event),
    ArrowRight: (event) => go(caret + forward(), event),
    ArrowUp: (event) => go(nextLine(-1), event),
    ArrowDown: (event) => go(nextLine(1), event),
    Home: (event) => go(0, event),
    End: (event) => go(passage.count - 1, event),
    Enter() {
      const chosen = acts.selected();
      if (anchor === caret && chosen && !chosen.own) acts.toggle(chosen.id);
      else make();
    },
    " "() {
      const [found] = at(caret);
      if (found) acts.pick(found);
    },
    Escape() {
      leaving = true;
      set(caret);
      store.select(null);
      announce(gettext("Nothing selected. Press Tab to leave the passage."));
    },
  };

  /** @param {number} token @param {KeyboardEvent} event */
  function go(token, event) {
    const next = Math.max(0, Math.min(passage.count - 1, token));
    set(next, event.shiftKey ? anchor : next);
    passage.reveal(next);
    say();
  }

  /** Which way the next word lies, to the right or to the left. */
  const forward = () => (getComputedStyle(passage.element).direction === "rtl" ? -1 : 1);

  /** The token above or below the caret. @param {number} step */
  function nextLine(step) {
    const here = passage.bounds(caret);
    const middle = here.left + here.width / 2;
    let best = caret;
    let line = null;
    for (let token = caret + step; token >= 0 && token < passage.count; token += step) {
      const there = passage.bounds(token);
      if (Math.abs(there.top - here.top) < here.height / 2) continue;
      line ??= there.top;
      if (Math.abs(there.top - line) > here.height / 2) break;
      const distance = Math.abs(there.left + there.width / 2 - middle);
      const previous = passage.bounds(best);
      if (best === caret || distance <= Math.abs(previous.left + previous.width / 2 - middle)) best = token;
    }
    return best;
  }

  function say() {
    const [start, end] = range();
    const { quote } = passage.place(start, end);
    const found = at(caret);
    const words = end - start > 1 && ngettext("%(count)s word", "%(count)s words", end - start);
    const inside =
      found.length > 0 && ngettext("in a marked span", "in %(count)s marked spans", found.length);
    announce([quote, words, inside].filter(Boolean).join(", "), true);
  }

  /** @param {number} step */
  function walk(step) {
    const objects = store.objects;
    const place = objects.findIndex((each) => each.id === store.object);
    const next = objects[place < 0 ? (step > 0 ? 0 : objects.length - 1) : place + step];
    if (leaving || !next) return false;
    store.select(next.id);
    const [start] = next.place.tokens ?? [0];
    set(start);
    const named = gettext("Span %(number)s of %(count)s", {
      number: objects.indexOf(next) + 1,
      count: objects.length,
    });
    const quote = next.place.quote ?? passage.place(...(next.place.tokens ?? [0, 1])).quote;
    announce(`${named}${next.chosen ? `, ${gettext("chosen")}` : ""}: ${quote}`, true);
    return true;
  }

  function render() {
    const chosen = acts.selected();
    const links = new Set(chosen?.thing.links ?? []);
    /** @type {Mark[]} */
    const marks = [];
    for (const { thing, place } of context(store.program, store.document, store.node)) {
      if (place.tokens)
        marks.push({
          range: place.tokens,
          look: links.has(thing.id) ? "chosen" : "context",
          selected: false,
        });
    }
    for (const { tokens } of overlay(store))
      if (tokens) marks.push({ range: tokens, look: "predicted", selected: false });
    for (const each of store.objects) {
      if (!each.place.tokens) continue;
      const look = each.own ? "own" : each.chosen ? "chosen" : "candidate";
      marks.push({ range: each.place.tokens, look, selected: each.id === store.object });
    }
    passage.show(marks);
  }

  store.subscribe((topics) => {
    if (["document", "node", "object", "view"].some((topic) => topics.has(/** @type {any} */ (topic))))
      render();
    if (topics.has("object")) {
      const tokens = acts.selected()?.place.tokens;
      leaving &&= !tokens;
      if (tokens) passage.reveal(tokens[0]);
    }
    if (topics.has("node")) set(caret);
  });
  render();

  return {
    /**
     * Move an edge of the selected span.
     * @param {number} start
     * @param {number} end tokens to add at either side
     */
    stretch(start, end) {
      const chosen = acts.selected();
      if (!chosen?.own || !chosen.place.tokens) return;
      const from = Math.max(0, chosen.place.tokens[0] - start);
      const to = Math.min(passage.count, chosen.place.tokens[1] + end);
      if (to <= from) return;
      const place = passage.place(from, to);
      acts.move(chosen.id, place);
      announce(place.quote, true);
    },
    place: passage.place,
    focus: () => stage.focus(),
    render,
  };
}
