/**
 * The actions at the current node by its role: one place with the rules, for mouse, touch,
 * keyboard and the list beside the task alike.
 *
 * @typedef {import("./document/store.js").Store} Store
 * @typedef {import("./document/types.js").Place} Place
 * @typedef {import("./document/types.js").State} State
 * @typedef {import("./document/types.js").Thing} Thing
 * @typedef {{node: number, own?: Thing, open?: import("./document/types.js").Suggested & {by: string}}} End of a suggested relation:
 *   the mark of the person, or the suggestion that is still open
 * @typedef {import("./document/types.js").Value} Value
 */
import { createObjectId } from "./document/identifiers.js";
import {
  findThing,
  getLayer,
  isRelationBetween,
  listContext,
  listObjectsInPlay,
  listUnansweredQuestions,
} from "./document/program.js";
import { STATES, explainWhyNotDone } from "./document/words.js";
import { computeOverlap } from "./marks/rectangles.js";
import { gettext } from "./page/language.js";

const SAME = 0.5;

/** A place without what only a suggestion has. @param {Place} mark */
function dropProbability(mark) {
  const { probability: _chance, ...rest } = mark;
  return rest;
}

/** Return true if an object lies where a suggestion is. @param {Place} first @param {Place} second */
function isAtSamePlace(first, second) {
  if (first.box && second.box) return first.image === second.image && computeOverlap(first.box, second.box) > SAME;
  if (first.span && second.span) return first.span[0] < second.span[1] && second.span[0] < first.span[1];
  return false;
}

/**
 * @param {Store} store
 * @param {(text: string) => void} announce
 * @param {(mark: Place) => Promise<string | null>} askReason why an object is new in a node that chooses
 */
export function createActs(store, announce, askReason) {
  /** @type {Map<number, string>} the label for new marks, by node of a plain task */
  const labels = new Map();
  /** @type {{node: number, id: string} | null} the mark at which a relation begins */
  let start = null;
  const getRole = () => store.program.nodes[store.node].role;
  const getCurrentLayer = () => getLayer(store.document, store.node);
  /** Drawing in a step that said "nothing here" opens it again. @returns {{state?: State}} */
  const getReopenedState = () => (getCurrentLayer().state === "nothing" ? { state: "open" } : {});

  /** The objects at a node, or those of a value. @param {number} node @param {Value} [value] */
  const findObjects = (node, value) =>
    getLayer(store.document, node).objects.filter((each) => value === undefined || each.value === value);

  /** Return true if the step has the same relation, under another id. @param {Thing} thing */
  function isKnown({ id, ends, label }) {
    if (!ends) return false;
    return getCurrentLayer().objects.some(
      (each) => each.id !== id && isRelationBetween(store.program, store.node, each, ends, label),
    );
  }

  /**
   * Take over a relation, and in the same act the suggested marks that it connects.
   * @param {Place} relation with its origin @param {End[]} ends
   */
  function takeOverRelation({ label, suggested: origin }, ends) {
    /** @type {Map<number, Thing[]>} */
    const marks = new Map();
    const ids = ends.map(({ node, own, open }) => {
      if (own || !open) return own?.id ?? "";
      const { by, id, ...mark } = open;
      const thing = {
        links: [],
        reason: "",
        ...dropProbability(mark),
        id: createObjectId(),
        suggested: { by, id },
      };
      marks.set(node, [...(marks.get(node) ?? []), /** @type {Thing} */ (thing)]);
      return thing.id;
    });
    const thing = {
      id: createObjectId(),
      ends: /** @type {[string, string]} */ (ids),
      label,
      suggested: origin,
    };
    if (isKnown(thing)) return announce(gettext("This relation is there already."));
    const also = [...marks].map(([node, put]) => ({ node, put }));
    store.edit(
      { node: store.node, put: [thing], ...getReopenedState(), ...(also.length ? { also } : {}) },
      thing.id,
    );
  }

  const acts = {
    canEdit: () => !store.locked,
    canDraw: () => !store.locked && ["draw", "choose", "link"].includes(getRole()),
    getSelectedObject: () => store.objects.find((each) => each.id === store.object) ?? null,

    /** @param {Place} mark */
    async draw(mark) {
      if (!acts.canDraw()) return;
      const node = store.node;
      const reason = getRole() === "choose" ? await askReason(mark) : "";
      if (reason === null || node !== store.node) return;
      const sources = getRole() === "link" ? listContext(store.program, store.document, node) : [];
      const thing = {
        ...(acts.getLabel() ? { label: acts.getLabel() } : {}),
        ...dropProbability(mark),
        id: createObjectId(),
        links: sources.length === 1 ? [sources[0].thing.id] : [],
        reason,
      };
      if (store.edit({ node, put: [thing], ...getReopenedState() }, thing.id))
        announce(
          sources.length > 1 ? gettext("Added. Select its source.") : gettext("Added."),
        );
    },

    /** The label of the selected mark, or else of new ones. @returns {string | undefined} */
    getLabel() {
      const chosen = acts.getSelectedObject();
      return (chosen?.own && chosen.thing.label) || acts.getNewLabel() || undefined;
    },

    /** The label of new marks and relations. @returns {string} */
    getNewLabel: () => labels.get(store.node) ?? store.program.nodes[store.node].layer?.labels[0]?.name ?? "",

    /** Give the selected mark a label, and new ones the same. @param {string} label */
    setLabel(label) {
      labels.set(store.node, label);
      const chosen = acts.getSelectedObject();
      if (chosen?.own && chosen.thing.label !== label && !isKnown({ ...chosen.thing, label }))
        store.edit({ node: store.node, put: [{ ...chosen.thing, label }] });
      announce(gettext("Label: %(label)s.", { label }));
      store.tell("object");
    },

    /**
     * Answer a question about a mark, or take an empty answer back; a chosen one of several is taken back.
     * @param {string} id @param {import("./document/types.js").Question} question @param {string | number} value
     */
    answerQuestion(id, { name, type }, value) {
      const thing = findThing(getCurrentLayer(), id);
      if (store.locked || !thing) return;
      const { answers: before, ...bare } = thing;
      const { [name]: now = [], ...others } = before ?? {};
      const kept = type !== "choices" ? [] : now.filter((each) => each !== value);
      const next = value === "" || (type === "choices" && kept.length < now.length) ? kept : [...kept, value];
      const answers = next.length ? { ...others, [name]: next } : others;
      store.edit({ node: store.node, put: [Object.keys(answers).length ? { ...bare, answers } : bare] });
      if (type !== "text") announce(`${name}: ${next.join(", ") || gettext("no answer")}.`);
    },

    /** Choose an answer at this step, or one more; a chosen one of several is taken back. @param {Value} value */
    answer(value) {
      const { layer } = store.program.nodes[store.node];
      if (store.locked || !layer) return;
      const node = store.node;
      const several = layer.type === "choices";
      const now = findObjects(node, several ? value : undefined);
      const left = findObjects(node).length - now.length;
      if (several && now.length)
        store.edit({ node, remove: [now[0].id], ...(left ? {} : { state: /** @type {State} */ ("open") }) });
      else {
        const suffix = several ? `.${layer.labels.findIndex(({ name }) => name === value)}` : "";
        const origin = now[0]?.suggested ? { suggested: now[0].suggested } : {};
        const id = now[0]?.id ?? `n${node}${suffix}`;
        store.edit({ node, put: [{ id, value, ...origin }], state: "done" });
      }
      const answers = findObjects(node).map((each) => each.value);
      announce(`${store.program.nodes[node].label}: ${answers.join(", ")}.`);
      if (!several) acts.goToNextOpenStep();
    },

    /**
     * Take over what a model suggests here: as an answer, as a new mark, as the choice of the child's object, or as
     * a relation.
     * @param {Place} mark with its origin @param {boolean} goOn whether a single answer leads to the next step
     * @param {End[] | null} [ends] of a relation
     */
    async takeOver(mark, goOn, ends) {
      if (store.locked) return;
      const node = store.node;
      const { layer } = store.program.nodes[node];
      if (ends) return takeOverRelation(mark, ends);
      if (getRole() === "answer" && layer && mark.value !== undefined) {
        const several = layer.type === "choices";
        const [now] = findObjects(node, several ? mark.value : undefined);
        const suffix = several ? `.${layer.labels.findIndex(({ name }) => name === mark.value)}` : "";
        const thing = { id: now?.id ?? `n${node}${suffix}`, value: mark.value, suggested: mark.suggested };
        store.edit({ node, put: [thing], state: "done" });
        if (goOn && !several) acts.goToNextOpenStep();
        return;
      }
      const there = store.objects.find((each) => !each.own && isAtSamePlace(each.mark, mark));
      if (!there) return acts.draw(mark);
      if (!there.chosen)
        store.edit({
          node,
          put: [{ id: createObjectId(), ref: there.id, suggested: mark.suggested }],
          ...getReopenedState(),
        });
      store.select(there.id);
    },

    /** Turn down suggestions at this step, besides those turned down before. @param {string[]} ids */
    reject(ids) {
      const before = getCurrentLayer().rejected ?? [];
      return store.edit({ node: store.node, rejected: [...new Set([...before, ...ids])] });
    },

    /** Bring back the suggestions that were turned down at this step. */
    restore: () => store.edit({ node: store.node, rejected: [] }),

    /** @param {number} node @param {string} text */
    answerWithText(node, text) {
      const [now] = findObjects(node);
      const done =
        getLayer(store.document, node).state === "done" ? {} : { state: /** @type {State} */ ("done") };
      const origin = now?.suggested ? { suggested: now.suggested } : {};
      if (text) store.edit({ node, put: [{ id: now?.id ?? `n${node}`, value: text, ...origin }], ...done });
      else if (now) store.edit({ node, remove: [now.id], state: "open" });
    },

    /** @param {string} id @param {Place} mark */
    move(id, mark) {
      const thing = findThing(getCurrentLayer(), id);
      if (thing && thing.ref === undefined && !thing.ends) store.edit({ node: store.node, put: [{ ...thing, ...mark }] });
    },

    /** The mark at which a relation begins, until its other end is chosen. @returns {string | null} */
    get relating() {
      if (start?.node !== store.node) return null;
      const { id } = start;
      return store.objects.some((each) => each.id === id) ? id : null;
    },

    /** Begin a relation at the selected mark, or end it there. */
    relate() {
      const chosen = acts.getSelectedObject();
      if (store.locked || getRole() !== "relate") return;
      if (!chosen || chosen.own) return announce(gettext("Select a mark first, then relate it to another one."));
      if (acts.relating && acts.relating !== chosen.id) return acts.connect(acts.relating, chosen.id);
      start = { node: store.node, id: chosen.id };
      announce(gettext("Now choose the mark that it is related to."));
      store.tell("object");
    },

    /** Give up the relation that was begun. @returns {boolean} whether there is one */
    cancelRelation() {
      if (!acts.relating) return false;
      start = null;
      announce(gettext("No relation added."));
      store.tell("object");
      return true;
    },

    /** @param {string} first @param {string} second @param {string} [label] */
    connect(first, second, label = acts.getNewLabel()) {
      const thing = { id: createObjectId(), ends: /** @type {[string, string]} */ ([first, second]), label };
      start = null;
      if (isKnown(thing)) return (announce(gettext("This relation is there already.")), store.tell("object"));
      if (!store.edit({ node: store.node, put: [thing], ...getReopenedState() }, thing.id)) return;
      announce(gettext("Added."));
    },

    /** Turn the selected relation round. */
    reverse() {
      const chosen = acts.getSelectedObject();
      if (!chosen?.thing.ends) return;
      const [first, second] = chosen.thing.ends;
      const thing = { ...chosen.thing, ends: /** @type {[string, string]} */ ([second, first]) };
      if (isKnown(thing)) announce(gettext("This relation is there already."));
      else store.edit({ node: store.node, put: [thing] });
    },

    /**
     * Select an object; if the node chooses, also choose it, and if it links, take it as source. A second mark
     * ends a relation that was begun.
     * @param {string | null} id
     */
    pick(id) {
      const each = store.objects.find((object) => object.id === id);
      if (getRole() === "relate") {
        if (acts.relating && each && !each.own && id !== acts.relating) return acts.connect(acts.relating, each.id);
      } else if (each && !each.own) acts.toggle(id);
      else if (!each && id !== null) return acts.link(id);
      store.select(id);
    },

    /** Choose an object of the child, or leave it again. @param {string | null} id */
    toggle(id) {
      const each = store.objects.find((object) => object.id === id);
      if (!each || each.own) return;
      if (getRole() === "relate") return acts.relate();
      const node = store.node;
      const change = each.chosen
        ? { node, remove: [each.chosen] }
        : { node, put: [{ id: createObjectId(), ref: each.id }], ...getReopenedState() };
      const number = store.objects.indexOf(each) + 1;
      const message = each.chosen
        ? gettext("Deselected number %(number)s.", { number })
        : gettext("Selected number %(number)s.", { number });
      if (store.edit(change)) announce(message);
    },

    /** Take an object of a child as source of the selected one, or no longer. @param {string} source */
    link(source) {
      const chosen = acts.getSelectedObject();
      if (getRole() !== "link" || !chosen)
        return void (getRole() === "link" && announce(gettext("Select the object first, then its source.")));
      const links = chosen.thing.links ?? [];
      const now = links.includes(source) ? links.filter((id) => id !== source) : [...links, source];
      if (store.edit({ node: store.node, put: [{ ...chosen.thing, links: now }] }))
        announce(links.includes(source) ? gettext("Source removed.") : gettext("Source set."));
    },

    /** Delete the selected object; a choice is taken back. */
    remove() {
      const chosen = acts.getSelectedObject();
      if (!chosen) return;
      if (getRole() === "relate" && !chosen.own)
        return announce(gettext("Marks are deleted at their own step."));
      if (!chosen.own) return chosen.chosen ? acts.toggle(chosen.id) : undefined;
      const index = store.objects.indexOf(chosen);
      if (!store.edit({ node: store.node, remove: [chosen.id] })) return;
      store.select(store.objects[Math.min(index, store.objects.length - 1)]?.id ?? null);
      announce(gettext("Deleted. Use undo to restore it."));
    },

    /** @param {string} id @param {string} reason */
    setReason(id, reason) {
      const thing = findThing(getCurrentLayer(), id);
      if (thing && reason.trim() && thing.reason !== reason)
        store.edit({ node: store.node, put: [{ ...thing, reason: reason.trim() }] });
    },

    /** The n-th object, from 1: choose it if the node chooses, else select it. @param {number} number */
    pickByNumber(number) {
      const each = store.objects[number - 1];
      if (each) acts.pick(each.id);
    },

    /** @param {State} state */
    setState(state) {
      if (store.locked || getRole() === "compute" || !acts.canLeave()) return;
      const node = store.node;
      const objects =
        listObjectsInPlay(store.program, store.document, node).some((each) => each.own || each.chosen) ||
        findObjects(node).some((each) => each.value !== undefined);
      const obstacle =
        state === "done"
          ? explainWhyNotDone(store, node)
          : state === "nothing" && objects
            ? gettext("This step has marked objects. Delete them first, or choose “done”.")
            : "";
      if (obstacle) {
        const [first] = state === "done" ? listUnansweredQuestions(store.program, store.document, node) : [];
        if (first) store.select(first.id);
        return (announce(obstacle), store.tell("status"), acts.onObstacle(obstacle));
      }
      const next = getCurrentLayer().state === state ? "open" : state;
      store.edit({ node, state: next });
      announce(`${store.program.nodes[node].label}: ${STATES[next].word}.`);
      if (next !== "open") acts.goToNextOpenStep();
    },
    /** Called with the reason why a state cannot be set. */
    onObstacle: (/** @type {string} */ _obstacle) => {},

    /** True while the corners of a polygon are being set, which no other step keeps. */
    isDrafting: () => false,

    /** Take back the last corner of that polygon. */
    takeBackCorner: () => {},

    /** Take back the last corner or, where none is being set, the last change. @returns {boolean} if there was one */
    undo() {
      if (!acts.isDrafting()) return store.undo();
      acts.takeBackCorner();
      return true;
    },

    /** Return true if the step may be left, and otherwise say why not. */
    canLeave() {
      if (!acts.isDrafting()) return true;
      const obstacle = gettext("The polygon is not closed. Close it, or undo its corners.");
      announce(obstacle);
      acts.onObstacle(obstacle);
      return false;
    },

    /** Go on to the next step that is not done, in the order of work and then from its beginning. */
    goToNextOpenStep() {
      const { walk } = store;
      const position = walk.indexOf(store.node);
      const open = new Set(store.open);
      const next = [...walk.slice(position + 1), ...walk.slice(0, position)].find((index) => open.has(index));
      if (next !== undefined) store.go(next);
    },

    /** @param {number} step */
    goBy(step) {
      const { walk } = store;
      const next = walk[walk.indexOf(store.node) + step];
      if (next !== undefined && acts.canLeave()) store.go(next);
    },
  };
  return acts;
}
