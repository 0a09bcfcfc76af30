/**
 * What the program comes to on what is marked, and what the person says about the program itself.
 */
import { valueText } from "./words.js";

/**
 * What the program gives, against the label.
 * @param {import("./store.js").Store} store
 * @param {HTMLElement} root
 */
export function createVerdict(store, root) {
  const render = () => {
    const value = valueText(store.values[0]);
    const waiting = store.pending.length > 0;
    const text = !value
      ? ""
      : store.mismatch
        ? `The program gives ${value}, which differs. That may be right: the label or the program can be wrong.`
        : `The program gives ${value}.`;
    if (root.textContent !== text) root.textContent = text;
    root.classList.toggle("differs", store.mismatch === true);
    root.classList.toggle("waiting", waiting);
  };
  store.subscribe(
    (topics) => (topics.has("values") || topics.has("document") || topics.has("status")) && render(),
  );
  render();
}

/** @param {import("./store.js").Store} store @param {HTMLElement} root */
export function createProblemNote(store, root) {
  const render = () => {
    const problem = store.document.problem;
    root.hidden = !problem;
    const where =
      problem?.node === null || problem?.node === undefined
        ? ""
        : ` (${store.program.nodes[problem.node].label})`;
    root.textContent = problem
      ? `You say that the program is wrong: ${problem.kind}${where}${problem.note ? `. ${problem.note}` : "."}`
      : "";
  };
  store.subscribe((topics) => topics.has("document") && render());
  render();
}
