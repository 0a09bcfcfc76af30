/**
 * The questions about the selected mark of a plain task, beside its place.
 *
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").Question} Question
 * @typedef {import("./types.js").InPlay} InPlay
 * @typedef {ReturnType<typeof import("./acts.js").createActs>} Acts
 */
import { choicesOf, namedWithHint } from "./labels.js";
import { element } from "./markup.js";
import { askedAbout } from "./program.js";

/** The questions about marks of the current step. @param {Store} store @returns {Question[]} */
export function questionsHere(store) {
  return store.program.nodes[store.node].layer?.questions ?? [];
}

/** @param {Store} store @param {Acts} acts */
export function createQuestions(store, acts) {
  /** The questions about a mark of this step. @param {InPlay} chosen */
  const askedHere = (chosen) => askedAbout(store.program.nodes[store.node].layer, chosen.thing);

  /** @param {Question} question @param {InPlay} chosen @param {number} index */
  function field(question, chosen, index) {
    const given = chosen.thing.answers?.[question.name] ?? [];
    const id = `about-${index}`; // of all questions, so that the focus stays when one appears
    const hint = question.hint ? element("p", { class: "quiet small", dir: "auto" }, question.hint) : null;
    if (question.type === "text") {
      const input = element("textarea", {
        id,
        rows: "2",
        maxlength: "10000",
        dir: "auto",
        value: String(given[0] ?? ""),
        disabled: Boolean(store.locked),
        oninput: () => acts.answerAbout(chosen.id, question, input.value.trim()),
      });
      return element("div", { class: "field" }, element("label", { for: id, dir: "auto" }, question.name), hint, input);
    }
    const rows = choicesOf(question).map(({ value, key, hint: about }, place) => {
      const input = element("input", {
        type: question.type === "choices" ? "checkbox" : "radio",
        id: `${id}-${place}`,
        name: id,
        checked: given.includes(value),
        disabled: Boolean(store.locked),
        onchange: () => acts.answerAbout(chosen.id, question, value),
      });
      return element(
        "label",
        { class: "label-option", for: `${id}-${place}` },
        input,
        namedWithHint(value, about),
        key && question.type !== "rating" ? element("kbd", { "aria-hidden": "true" }, key.toUpperCase()) : null,
      );
    });
    return element(
      "fieldset",
      { class: "label-options in-a-row about" },
      element("legend", { dir: "auto" }, question.name),
      hint,
      ...rows,
    );
  }

  return {
    /** @param {InPlay} chosen */
    fields: (chosen) => {
      const all = questionsHere(store);
      return askedHere(chosen).map((question) => field(question, chosen, all.indexOf(question)));
    },
    /** Answer by the key of a label. @param {string} key @returns {boolean} whether it is one */
    press(key) {
      const chosen = acts.selected();
      if (!chosen?.own || store.locked) return false;
      for (const question of askedHere(chosen)) {
        const label = question.labels.find((each) => each.key === key);
        if (label) return (acts.answerAbout(chosen.id, question, label.name), true);
      }
      return false;
    },
  };
}
