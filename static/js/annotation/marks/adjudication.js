/**
 * The annotators' objects at the current step, for adjudicators: their states, and their
 * objects in groups that mean the same thing, each of which can be taken over with one key press.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").Place} Place
 * @typedef {import("../document/types.js").Cluster} Cluster
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { isRelationBetween } from "../document/program.js";
import { STATES, describeMark, formatRelation, formatSize } from "../document/words.js";
import { gettext } from "../page/language.js";
import { createButton, createElement, createUnseenText } from "../page/markup.js";
import { listAnswers } from "./labels.js";
import { areAlike } from "./shapes.js";

/** Return true if two places are the same object. @param {Place} one @param {Place} other */
export function isSameObject(one, other) {
  if ((one.label || "") !== (other.label || "")) return false;
  if (one.box && other.box) return areAlike(one, other);
  if (one.tokens && other.tokens)
    return one.tokens[0] === other.tokens[0] && one.tokens[1] === other.tokens[1];
  return false;
}

/** Return the annotators' objects at the current step. @param {Store} store */
export function getOthersHere(store) {
  return store.annotation.others?.[store.node] ?? null;
}

/** @param {Store} store @param {HTMLElement} before the part of the page that this comes before @param {Acts} acts */
export function createAdjudication(store, before, acts) {
  if (!store.annotation.others) return;
  const states = createElement("p", { class: "quiet" });
  const list = createElement("ul", { class: "objects" });
  const root = createElement(
    "section",
    { class: "panel", "aria-labelledby": "others-title" },
    createElement("h2", { id: "others-title" }, gettext("Annotators’ marks")),
    states,
    list,
  );
  before.before(root);

  /** @param {Cluster} cluster @param {number} index */
  function buildRow(cluster, index) {
    const { letters, said, ...place } = cluster;
    const answered = place.value !== undefined && listAnswers(store, store.node).includes(place.value);
    const ends = place.ends?.map(findMark);
    const { program, node } = store;
    const related =
      ends && store.objects.some(({ thing }) => isRelationBetween(program, node, thing, ends, place.label));
    const taken =
      answered ||
      related ||
      store.objects.some((each) => (each.own || each.chosen) && isSameObject(each.place, place));
    const whose = createUnseenText(
      ` ${gettext("group %(number)s, of %(people)s", { number: index + 1, people: letters.join(", ") })}`,
    );
    const take = taken
      ? createElement("span", { class: "choice" }, gettext("✓ added"), whose)
      : createButton(
          gettext("Add"),
          () => takeOver(place),
          { class: "button second small-button", disabled: Boolean(store.locked) },
          whose,
        );
    return createElement(
      "li",
      { class: "cluster" },
      ...letters.map((letter) => createElement("span", { class: "who" }, letter)),
      createElement("span", { class: "object-text", dir: "auto" }, describePlace(place)),
      ...Object.entries(said ?? {}).map(([name, answers]) =>
        createElement("span", { class: "choice", dir: "auto" }, formatPeoplesAnswers(name, answers)),
      ),
      take,
    );
  }

  /** The mark of the document that lies at a place. @param {Place} place */
  const findMark = (place) =>
    store.objects.find((each) => !each.own && isSameObject(each.place, place))?.id ?? null;

  /** An end of a relation as text: the mark that lies there, or where it lies. @param {Place} place */
  function describeEnd(place) {
    const mark = findMark(place);
    return mark ? describeMark(store, mark) : describePlace(place);
  }

  /** People's answers about a mark; with their names, if they differ. @param {string} name @param {Record<string, (string | number)[]>} answers */
  function formatPeoplesAnswers(name, answers) {
    /** @type {Map<string, string[]>} */
    const groups = new Map();
    for (const [letter, values] of Object.entries(answers)) {
      const shown = [...values].sort().join(", ");
      groups.set(shown, [...(groups.get(shown) ?? []), letter]);
    }
    const parts = [...groups].map(([shown, letters]) => (groups.size > 1 ? `${shown} (${letters.join(", ")})` : shown));
    return `${name}: ${parts.join(" / ")}`;
  }

  /** @param {Place & {ends?: Place[]}} place @returns {string} */
  function describePlace(place) {
    const { box, quote, label, value } = place;
    if (value !== undefined) return String(value);
    if (place.ends) return formatRelation(store, { id: "", label }, place.ends.map(describeEnd));
    const where = box ? formatSize(store, place) : `“${quote}”`;
    return label ? `${label}: ${where}` : where;
  }

  /** Choose the child's object that lies there; if there is none, draw it. @param {Place & {ends?: Place[]}} place */
  function takeOver(place) {
    if (place.ends) {
      const [first, second] = place.ends.map(findMark);
      if (first && second) return acts.connect(first, second, place.label);
      return acts.onObstacle(gettext("Add both marks first; then their relation can be added."));
    }
    if (typeof place.value === "string" || typeof place.value === "number") return acts.answer(place.value);
    const there = store.objects.find((each) => !each.own && isSameObject(each.place, place));
    if (!there) acts.draw(place);
    else if (!there.chosen) acts.toggle(there.id);
  }

  function render() {
    const said = getOthersHere(store);
    root.hidden = !said;
    if (!said) return;
    states.textContent = Object.entries(said.states)
      .map(([letter, state]) => `${letter}: ${STATES[state].word}`)
      .join(" · ");
    list.replaceChildren(...said.clusters.map(buildRow));
    list.hidden = !said.clusters.length;
  }

  store.subscribe(
    (topics) => (topics.has("document") || topics.has("node") || topics.has("status")) && render(),
  );
  render();
}
