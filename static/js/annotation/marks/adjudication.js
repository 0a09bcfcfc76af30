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

/** Return true if two places are the same object. @param {Place} first @param {Place} second */
export function isSameObject(first, second) {
  if ((first.label || "") !== (second.label || "")) return false;
  if (first.box && second.box) return areAlike(first, second);
  if (first.tokens && second.tokens)
    return first.tokens[0] === second.tokens[0] && first.tokens[1] === second.tokens[1];
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
    const { letters, said: statements, ...mark } = cluster;
    const answered = mark.value !== undefined && listAnswers(store, store.node).includes(mark.value);
    const ends = mark.ends?.map(findMark);
    const { program, node } = store;
    const related =
      ends && store.objects.some(({ thing }) => isRelationBetween(program, node, thing, ends, mark.label));
    const taken =
      answered ||
      related ||
      store.objects.some((each) => (each.own || each.chosen) && isSameObject(each.mark, mark));
    const whose = createUnseenText(
      ` ${gettext("group %(number)s, of %(people)s", { number: index + 1, people: letters.join(", ") })}`,
    );
    const take = taken
      ? createElement("span", { class: "choice" }, gettext("✓ added"), whose)
      : createButton(
          gettext("Add"),
          () => takeOver(mark),
          { class: "button second small-button", disabled: Boolean(store.locked) },
          whose,
        );
    return createElement(
      "li",
      { class: "cluster" },
      ...letters.map((letter) => createElement("span", { class: "who" }, letter)),
      createElement("span", { class: "object-text", dir: "auto" }, describePlace(mark)),
      ...Object.entries(statements ?? {}).map(([name, answers]) =>
        createElement("span", { class: "choice", dir: "auto" }, formatPeoplesAnswers(name, answers)),
      ),
      take,
    );
  }

  /** The mark of the document that lies at a place. @param {Place} mark */
  const findMark = (mark) =>
    store.objects.find((each) => !each.own && isSameObject(each.mark, mark))?.id ?? null;

  /** An end of a relation as text: the mark that lies there, or where it lies. @param {Place} mark */
  function describeEnd(mark) {
    const id = findMark(mark);
    return id ? describeMark(store, id) : describePlace(mark);
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

  /** @param {Place & {ends?: Place[]}} mark @returns {string} */
  function describePlace(mark) {
    const { box, quote, label, value } = mark;
    if (value !== undefined) return String(value);
    if (mark.ends) return formatRelation(store, { id: "", label }, mark.ends.map(describeEnd));
    const where = box ? formatSize(store, mark) : `“${quote}”`;
    return label ? `${label}: ${where}` : where;
  }

  /** Choose the child's object that lies there; if there is none, draw it. @param {Place & {ends?: Place[]}} mark */
  function takeOver(mark) {
    if (mark.ends) {
      const [first, second] = mark.ends.map(findMark);
      if (first && second) return acts.connect(first, second, mark.label);
      return acts.onObstacle(gettext("Add both marks first; then their relation can be added."));
    }
    if (typeof mark.value === "string" || typeof mark.value === "number") return acts.answer(mark.value);
    const there = store.objects.find((each) => !each.own && isSameObject(each.mark, mark));
    if (!there) acts.draw(mark);
    else if (!there.chosen) acts.toggle(there.id);
  }

  function render() {
    const others = getOthersHere(store);
    root.hidden = !others;
    if (!others) return;
    states.textContent = Object.entries(others.states)
      .map(([letter, state]) => `${letter}: ${STATES[state].word}`)
      .join(" · ");
    list.replaceChildren(...others.clusters.map(buildRow));
    list.hidden = !others.clusters.length;
  }

  store.subscribe(
    (topics) => (topics.has("document") || topics.has("node") || topics.has("status")) && render(),
  );
  render();
}
