// Questions that depend on another one of the page: shown as soon as its answer asks for them. Without JavaScript
// they are all shown, each with its condition as text; the server drops what was not asked for.

/** @typedef {{values?: string[], from?: number, to?: number}} Rule */

/**
 * Return the answers that are chosen or written for a question now.
 * @param {HTMLFormElement} form @param {string} key
 */
function readAnswers(form, key) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const fields = form.querySelectorAll(`[name="${CSS.escape(key)}"]`);
  return Array.from(fields)
    .filter((field) => !/^(radio|checkbox)$/.test(field.type) || field.checked)
    .map((field) => field.value.trim());
}

/**
 * Return whether an answer opens a question: one of some values, or a number within bounds.
 * @param {Rule} rule @param {string[]} answers
 */
function isRuleMet(rule, answers) {
  if (rule.values) return answers.some((answer) => rule.values.includes(answer));
  const number = Number((answers[0] ?? "").replace(",", "."));
  if (!answers[0] || Number.isNaN(number)) return false;
  return (rule.from ?? -Infinity) <= number && number <= (rule.to ?? Infinity);
}

/**
 * Return whether the question of a field is hidden now; the field may be in a row of a matrix.
 * @param {HTMLFormElement} form @param {string} name
 */
const isHidden = (form, name) => {
  /** @type {HTMLElement} */
  const question = form.querySelector(`[name="${CSS.escape(name)}"]`)?.closest("[data-depends-on]");
  return Boolean(question?.hidden);
};

/** @param {HTMLFormElement} form @param {{question: HTMLElement, on: string, rule: Rule}[]} dependents */
function showWhatIsAsked(form, dependents) {
  for (const { question, on, rule } of dependents) {
    question.hidden = isHidden(form, on) || !isRuleMet(rule, readAnswers(form, on));
  }
}

/** Answering takes “I prefer not to say” back if it is a box beside other fields. @param {Event} event */
function takeBack({ target }) {
  /** @type {HTMLInputElement} */
  const box = /** @type {Element} */ (target).closest(".question")?.querySelector(".decline input[type=checkbox]");
  if (box && target !== box && box.checked) box.checked = false;
}

/** @type {HTMLFormElement} */
const form = document.querySelector("form.questions");
form?.addEventListener("input", takeBack);
form?.addEventListener("change", takeBack);
/** @type {Iterable<HTMLElement>} */
const conditional = form?.querySelectorAll("[data-depends-on]") ?? [];
const dependents = Array.from(conditional, (question) => ({
  question,
  on: question.dataset.dependsOn,
  rule: JSON.parse(question.dataset.opensWith),
}));
if (dependents.length) {
  for (const { question } of dependents) {
    /** @type {HTMLElement} */ (question.querySelector(".condition")).hidden = true;
  }
  for (const event of ["input", "change"]) {
    form.addEventListener(event, () => showWhatIsAsked(form, dependents));
  }
  // A page from the history gets its answers back after it was loaded.
  addEventListener("pageshow", () => showWhatIsAsked(form, dependents));
  showWhatIsAsked(form, dependents);
}
