/**
 * The result of the program, and the person's report about the program.
 */
import { PROBLEMS, formatValue } from "../document/words.js";
import { gettext } from "../page/language.js";

/**
 * Compare the program's result with the label.
 * @param {import("../document/store.js").Store} store
 * @param {HTMLElement} root
 */
export function createVerdict(store, root) {
  const render = () => {
    const value = formatValue(store.values[0]);
    const waiting = store.pending.length > 0;
    const text = !value
      ? ""
      : store.mismatch
        ? gettext("The program gives %(value)s, unlike the expected answer.", { value })
        : gettext("The program result is %(value)s.", { value });
    if (root.textContent !== text) root.textContent = root.title = text; // a narrow line cuts it off
    root.classList.toggle("differs", store.mismatch === true);
    root.classList.toggle("waiting", waiting);
  };
  store.subscribe(
    (topics) => (topics.has("values") || topics.has("document") || topics.has("status")) && render(),
  );
  render();
}

/** @param {import("../document/store.js").Store} store @param {HTMLElement} root */
export function createProblemNote(store, root) {
  const render = () => {
    const problem = store.document.problem;
    root.hidden = !problem;
    const where =
      problem?.node === null || problem?.node === undefined
        ? ""
        : ` (${store.program.nodes[problem.node].label})`;
    root.textContent = problem
      ? gettext("You reported a wrong program: %(problem)s", {
          problem: `${PROBLEMS[problem.kind].short}${where}${problem.note ? `. ${problem.note}` : "."}`,
        })
      : "";
  };
  store.subscribe((topics) => topics.has("document") && render());
  render();
}
