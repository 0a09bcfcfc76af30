/**
 * The list of what models suggest at the current step. One key each accepts, changes or rejects the first of them.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../marks/predictions.js").Open} Open
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { getLayer } from "../document/program.js";
import { describeMark, formatAnswers, formatRelation, formatSize } from "../document/words.js";
import { findEnds, listUndecidedSuggestions } from "../marks/predictions.js";
import { gettext } from "../page/language.js";
import { createButton, createElement } from "../page/markup.js";

const MOST_ROWS = 40;

/**
 * @param {Store} store @param {HTMLElement} root @param {Acts} acts @param {(text: string) => void} announce
 * @param {(name: string) => string} getKeyFor @param {() => void} focusAnswer
 */
export function createSuggestions(store, root, acts, announce, getKeyFor, focusAnswer) {
  const title = createElement("h3", { id: "suggestions-title" }, gettext("Suggested by models"));
  const list = createElement("ol", { class: "objects suggestions", "aria-labelledby": "suggestions-title" });
  const more = createElement("p", { class: "quiet small" });
  const restore = createButton(gettext("Show rejected suggestions again"), () => acts.restore(), {
    class: "button plain small-button",
  });
  const part = createElement(
    "section",
    { class: "suggestion-part", "aria-labelledby": "suggestions-title" },
    title,
    list,
    more,
    restore,
  );
  root.append(part);

  /** @param {Open} suggestion @returns {string} */
  function describeSuggestion(suggestion) {
    if (suggestion.ends) {
      const ends = (findEndsOf(suggestion) ?? []).map(({ own, open }) =>
        own ? describeMark(store, own.id) : describeSuggestion(/** @type {Open} */ (open)),
      );
      return formatRelation(store, suggestion, ends);
    }
    const { box, quote, label, value, answers } = suggestion;
    const where = box ? formatSize(store, suggestion) : `“${quote}”`;
    const what = value !== undefined ? String(value) : where;
    const name = label ? `${label}: ${what}` : what;
    return answers ? `${name} (${formatAnswers(answers)})` : name;
  }

  /** @param {Open} suggestion @param {boolean} isFirst whether the keys act on it */
  function buildRow(suggestion, isFirst) {
    const name = describeSuggestion(suggestion);
    const buildButton = (
      /** @type {string} */ word,
      /** @type {string} */ key,
      /** @type {() => void} */ run,
    ) =>
      createButton(word, run, {
        class: "button second small-button",
        "aria-label": `${word}: ${name}`,
        title: isFirst ? `${word} (${getKeyFor(key)})` : word,
        // Drawn by the stylesheet: it is no part of the button's name.
        "data-key": isFirst ? getKeyFor(key) : false,
        disabled: Boolean(store.locked),
      });
    const chance = suggestion.probability === undefined ? "" : `${Math.round(suggestion.probability * 100)} %`;
    return createElement(
      "li",
      { class: "suggestion", "aria-current": isFirst ? "true" : false },
      createElement("span", { class: "object-text", dir: "auto" }, name),
      createElement("span", { class: "quiet small" }, [suggestion.by, chance].filter(Boolean).join(" · ")),
      createElement(
        "span",
        { class: "actions" },
        buildButton(gettext("Accept"), "accept", () => accept(suggestion)),
        buildButton(gettext("Change"), "change", () => change(suggestion)),
        buildButton(gettext("Reject"), "reject", () => reject(suggestion)),
      ),
    );
  }

  /** @param {Open} suggestion */
  function addOrigin({ id, by, ends: _ends, ...mark }) {
    return { ...mark, suggested: { by, id } };
  }

  /** @param {Open} suggestion */
  const findEndsOf = ({ ends }) => (ends ? findEnds(store, ends) : null);

  /** @param {Open} suggestion */
  async function accept(suggestion) {
    await acts.takeOver(addOrigin(suggestion), true, findEndsOf(suggestion));
    announce(gettext("Accepted: %(suggestion)s.", { suggestion: describeSuggestion(suggestion) }));
  }

  /** @param {Open} suggestion */
  async function change(suggestion) {
    await acts.takeOver(addOrigin(suggestion), false, findEndsOf(suggestion));
    announce(gettext("Accepted to change: %(suggestion)s.", { suggestion: describeSuggestion(suggestion) }));
    if (suggestion.value !== undefined) focusAnswer();
  }

  /** @param {Open} suggestion */
  function reject(suggestion) {
    if (acts.reject([suggestion.id]))
      announce(gettext("Rejected: %(suggestion)s.", { suggestion: describeSuggestion(suggestion) }));
  }

  /** Act on the first suggestion. @param {(suggestion: Open) => void} act */
  function actOnFirst(act) {
    const [first] = listUndecidedSuggestions(store);
    if (first && !store.locked) return act(first);
    const hidden = !store.predictionsShown && store.annotation.predictions?.length;
    announce(hidden ? gettext("Show model outputs first.") : gettext("No suggestion is left at this step."));
  }

  function render() {
    const open = listUndecidedSuggestions(store);
    const rejected = getLayer(store.document, store.node).rejected ?? [];
    part.hidden = !store.predictionsShown || Boolean(store.annotation.others) || !(open.length || rejected.length);
    list.hidden = !open.length;
    restore.hidden = !rejected.length || Boolean(store.locked);
    const key = JSON.stringify([store.node, store.locked, open.map(({ id }) => id)]);
    if (list.dataset.key === key) return;
    const focused = list.contains(document.activeElement);
    list.dataset.key = key;
    list.replaceChildren(...open.slice(0, MOST_ROWS).map((each, position) => buildRow(each, position === 0)));
    more.textContent = open.length > MOST_ROWS ? gettext("And %(count)s more.", { count: open.length - MOST_ROWS }) : "";
    if (focused) list.querySelector("button")?.focus();
  }

  store.subscribe((topics) => {
    if (["document", "node", "status", "view"].some((topic) => topics.has(/** @type {any} */ (topic)))) render();
  });
  render();

  return {
    accept: () => actOnFirst(accept),
    change: () => actOnFirst(change),
    reject: () => actOnFirst(reject),
  };
}
