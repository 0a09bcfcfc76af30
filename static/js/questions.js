// Questions that depend on another one of the page: shown as soon as its answer asks for them. Without JavaScript
// they are all shown, each with its condition as text; the server drops what was not asked for.

/** Return the answers that are chosen or written for a question now. */
function readAnswers(form, key) {
  const fields = form.querySelectorAll(`[name="${CSS.escape(key)}"]`);
  return Array.from(fields)
    .filter((field) => !/^(radio|checkbox)$/.test(field.type) || field.checked)
    .map((field) => field.value.trim());
}

/** Return whether an answer opens a question: one of some values, or a number within bounds. */
function isRuleMet(rule, answers) {
  if (rule.values) return answers.some((answer) => rule.values.includes(answer));
  const number = Number((answers[0] ?? "").replace(",", "."));
  if (!answers[0] || Number.isNaN(number)) return false;
  return (rule.from ?? -Infinity) <= number && number <= (rule.to ?? Infinity);
}

/** Return whether the question of a field is hidden now; the field may be in a row of a matrix. */
const isHidden = (form, name) =>
  Boolean(form.querySelector(`[name="${CSS.escape(name)}"]`)?.closest("[data-depends-on]")?.hidden);

function showWhatIsAsked(form, dependents) {
  for (const { question, on, rule } of dependents) {
    question.hidden = isHidden(form, on) || !isRuleMet(rule, readAnswers(form, on));
  }
}

/** Answering takes “I prefer not to say” back if it is a box beside other fields. */
function takeBack({ target }) {
  const box = target.closest(".question")?.querySelector(".decline input[type=checkbox]");
  if (box && target !== box && box.checked) box.checked = false;
}

const form = document.querySelector("form.questions");
form?.addEventListener("input", takeBack);
form?.addEventListener("change", takeBack);
const dependents = Array.from(form?.querySelectorAll("[data-depends-on]") ?? [], (question) => ({
  question,
  on: question.dataset.dependsOn,
  rule: JSON.parse(question.dataset.opensWith),
}));
if (dependents.length) {
  for (const { question } of dependents) question.querySelector(".condition").hidden = true;
  for (const event of ["input", "change"]) {
    form.addEventListener(event, () => showWhatIsAsked(form, dependents));
  }
  // A page from the history gets its answers back after it was loaded.
  addEventListener("pageshow", () => showWhatIsAsked(form, dependents));
  showWhatIsAsked(form, dependents);
}
