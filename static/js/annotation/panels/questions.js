/**
 * The questions about the selected mark of a plain task, beside its place.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").Question} Question
 * @typedef {import("../document/types.js").InPlay} InPlay
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { listAskedQuestions } from "../document/program.js";
import { buildNameWithHint, listChoices } from "../marks/labels.js";
import { createElement } from "../page/markup.js";

/** The questions about marks of the current step. @param {Store} store @returns {Question[]} */
export function listQuestionsHere(store) {
  return store.program.nodes[store.node].layer?.questions ?? [];
}

/** @param {Store} store @param {Acts} acts */
export function createQuestions(store, acts) {
  /** The questions about a mark of this step. @param {InPlay} chosen */
  const listQuestionsAbout = (chosen) =>
    listAskedQuestions(store.program.nodes[store.node].layer, chosen.thing);

  /** @param {Question} question @param {InPlay} chosen @param {number} index */
  function buildField(question, chosen, index) {
    const given = chosen.thing.answers?.[question.name] ?? [];
    const id = `about-${index}`; // of all questions, so that the focus stays when one appears
    const hint = question.hint
      ? createElement("p", { class: "quiet small", dir: "auto" }, question.hint)
      : null;
    if (question.type === "text") {
      const input = createElement("textarea", {
        id,
        rows: "2",
        maxlength: "10000",
        dir: "auto",
        value: String(given[0] ?? ""),
        disabled: Boolean(store.locked),
        oninput: () => acts.answerQuestion(chosen.id, question, input.value.trim()),
      });
      return createElement(
        "div",
        { class: "field" },
        createElement("label", { for: id, dir: "auto" }, question.name),
        hint,
        input,
      );
    }
    const rows = listChoices(question).map(({ value, key, hint: about }, position) => {
      const input = createElement("input", {
        type: question.type === "choices" ? "checkbox" : "radio",
        id: `${id}-${position}`,
        name: id,
        checked: given.includes(value),
        disabled: Boolean(store.locked),
        onchange: () => acts.answerQuestion(chosen.id, question, value),
      });
      return createElement(
        "label",
        { class: "label-option", for: `${id}-${position}` },
        input,
        buildNameWithHint(value, about),
        key && question.type !== "rating"
          ? createElement("kbd", { "aria-hidden": "true" }, key.toUpperCase())
          : null,
      );
    });
    return createElement(
      "fieldset",
      { class: "label-options in-a-row about" },
      createElement("legend", { dir: "auto" }, question.name),
      hint,
      ...rows,
    );
  }

  return {
    /** @param {InPlay} chosen */
    buildFields: (chosen) => {
      const all = listQuestionsHere(store);
      return listQuestionsAbout(chosen).map((question) =>
        buildField(question, chosen, all.indexOf(question)),
      );
    },
    /** Answer by the key of a label. @param {string} key @returns {boolean} whether it is one */
    press(key) {
      const chosen = acts.getSelectedObject();
      if (!chosen?.own || store.locked) return false;
      for (const question of listQuestionsAbout(chosen)) {
        const label = question.labels.find((each) => each.key === key);
        if (label) return (acts.answerQuestion(chosen.id, question, label.name), true);
      }
      return false;
    },
  };
}
