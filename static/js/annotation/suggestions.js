/**
 * The list of what models suggest at the current step. One key each accepts, changes or rejects the first of them.
 *
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./predictions.js").Open} Open
 * @typedef {ReturnType<typeof import("./acts.js").createActs>} Acts
 */
import { gettext } from "./language.js";
import { button, element } from "./markup.js";
import { endsOf, undecided } from "./predictions.js";
import { layerOf } from "./program.js";
import { answersText, endText, relationText, sizeText } from "./words.js";

const MOST_ROWS = 40;

/**
 * @param {Store} store @param {HTMLElement} root @param {Acts} acts @param {(text: string) => void} announce
 * @param {(name: string) => string} keyOf @param {() => void} focusAnswer
 */
export function createSuggestions(store, root, acts, announce, keyOf, focusAnswer) {
  const title = element("h3", { id: "suggestions-title" }, gettext("Suggested by models"));
  const list = element("ol", { class: "objects suggestions", "aria-labelledby": "suggestions-title" });
  const more = element("p", { class: "quiet small" });
  const restore = button(gettext("Show rejected suggestions again"), () => acts.restore(), {
    class: "button plain small-button",
  });
  const part = element("section", { class: "suggestion-part", "aria-labelledby": "suggestions-title" }, title, list, more, restore);
  root.append(part);

  /** @param {Open} suggestion */
  function text(suggestion) {
    if (suggestion.ends) {
      const ends = (endsHere(suggestion) ?? []).map(({ own, open }) => (own ? endText(store, own.id) : text(/** @type {Open} */ (open))));
      return relationText(store, suggestion, ends);
    }
    const { box, quote, label, value, answers } = suggestion;
    const where = box ? sizeText(store, suggestion) : `“${quote}”`;
    const what = value !== undefined ? String(value) : where;
    const name = label ? `${label}: ${what}` : what;
    return answers ? `${name} (${answersText(answers)})` : name;
  }

  /** @param {Open} suggestion @param {boolean} isFirst whether the keys act on it */
  function row(suggestion, isFirst) {
    const name = text(suggestion);
    const act = (/** @type {string} */ word, /** @type {string} */ key, /** @type {() => void} */ run) =>
      button(word, run, {
        class: "button second small-button",
        "aria-label": `${word}: ${name}`,
        title: isFirst ? `${word} (${keyOf(key)})` : word,
        "data-key": isFirst ? keyOf(key) : false, // drawn by the stylesheet: it is no part of the button's name
        disabled: Boolean(store.locked),
      });
    const chance = suggestion.probability === undefined ? "" : `${Math.round(suggestion.probability * 100)} %`;
    return element(
      "li",
      { class: "suggestion", "aria-current": isFirst ? "true" : false },
      element("span", { class: "object-text", dir: "auto" }, name),
      element("span", { class: "quiet small" }, [suggestion.by, chance].filter(Boolean).join(" · ")),
      element(
        "span",
        { class: "actions" },
        act(gettext("Accept"), "accept", () => accept(suggestion)),
        act(gettext("Change"), "change", () => change(suggestion)),
        act(gettext("Reject"), "reject", () => reject(suggestion)),
      ),
    );
  }

  /** @param {Open} suggestion */
  function withOrigin({ id, by, ends: _ends, ...place }) {
    return { ...place, suggested: { by, id } };
  }

  /** @param {Open} suggestion */
  const endsHere = ({ ends }) => (ends ? endsOf(store, ends) : null);

  /** @param {Open} suggestion */
  async function accept(suggestion) {
    await acts.takeOver(withOrigin(suggestion), true, endsHere(suggestion));
    announce(gettext("Accepted: %(suggestion)s.", { suggestion: text(suggestion) }));
  }

  /** @param {Open} suggestion */
  async function change(suggestion) {
    await acts.takeOver(withOrigin(suggestion), false, endsHere(suggestion));
    announce(gettext("Accepted to change: %(suggestion)s.", { suggestion: text(suggestion) }));
    if (suggestion.value !== undefined) focusAnswer();
  }

  /** @param {Open} suggestion */
  function reject(suggestion) {
    if (acts.reject([suggestion.id]))
      announce(gettext("Rejected: %(suggestion)s.", { suggestion: text(suggestion) }));
  }

  /** Act on the first suggestion. @param {(suggestion: Open) => void} act */
  function onFirst(act) {
    const [first] = undecided(store);
    if (first && !store.locked) return act(first);
    const hidden = !store.predictionsShown && store.annotation.predictions?.length;
    announce(hidden ? gettext("Show model outputs first.") : gettext("No suggestion is left at this step."));
  }

  function render() {
    const open = undecided(store);
    const rejected = layerOf(store.document, store.node).rejected ?? [];
    part.hidden = !store.predictionsShown || Boolean(store.annotation.others) || !(open.length || rejected.length);
    list.hidden = !open.length;
    restore.hidden = !rejected.length || Boolean(store.locked);
    const key = JSON.stringify([store.node, store.locked, open.map(({ id }) => id)]);
    if (list.dataset.key === key) return;
    const focused = list.contains(document.activeElement);
    list.dataset.key = key;
    list.replaceChildren(...open.slice(0, MOST_ROWS).map((each, place) => row(each, place === 0)));
    more.textContent = open.length > MOST_ROWS ? gettext("And %(count)s more.", { count: open.length - MOST_ROWS }) : "";
    if (focused) list.querySelector("button")?.focus();
  }

  store.subscribe((topics) => {
    if (["document", "node", "status", "view"].some((topic) => topics.has(/** @type {any} */ (topic)))) render();
  });
  render();

  return {
    accept: () => onFirst(accept),
    change: () => onFirst(change),
    reject: () => onFirst(reject),
  };
}
