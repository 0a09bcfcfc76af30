/**
 * The merge view: what both sides have changed, side by side, until the person has chosen for each. It cannot
 * be left without choosing, and both versions stay where they are until then.
 *
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./rebase.js").Conflict} Conflict
 * @typedef {import("./rebase.js").Choice} Choice
 */
import { closed, openDialog } from "./dialogs.js";
import { gettext, ngettext } from "./language.js";
import { element } from "./markup.js";
import { split } from "./operations.js";
import { canKeepBoth } from "./rebase.js";
import { drawingOf } from "./shapes.js";
import { PROBLEMS, STATES, answersText, placeText, relationText } from "./words.js";

/** @param {Store} store */
export function createMerge(store) {
  return async (/** @type {Conflict[]} */ found) => {
    const rows = found.map(row);
    const dialog = openDialog(
      gettext("Conflicting changes"),
      [
        element(
          "p",
          {},
          ngettext(
            "%(count)s conflict with another tab or person. Both versions are kept until you choose.",
            "%(count)s conflicts with another tab or person. Both versions are kept until you choose.",
            found.length,
          ),
        ),
        ...rows,
      ],
      [element("button", { class: "button", value: "chosen" }, gettext("Apply selection"))],
      "merge",
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    while ((await closed(dialog)) !== "chosen") dialog.showModal();
    return Object.fromEntries(found.map(({ name }, index) => [name, choice(rows[index])]));
  };

  /** @param {HTMLElement} made @returns {Choice} */
  function choice(made) {
    return /** @type {any} */ (made.querySelector("input:checked")).value;
  }

  /** @param {Conflict} conflict @param {number} index */
  function row(conflict, index) {
    const both = canKeepBoth(conflict);
    // Nothing is chosen beforehand if that would delete what somebody else has kept.
    const start = both ? "both" : conflict.mine ? "mine" : "";
    const option = (
      /** @type {Choice} */ value,
      /** @type {string} */ title,
      /** @type {string} */ text,
      /** @type {Element | null} */ picture,
    ) =>
      element(
        "label",
        { class: "version" },
        element(
          "span",
          { class: "version-title" },
          element("input", {
            type: "radio",
            name: `conflict-${index}`,
            value,
            required: true,
            checked: value === start,
            autofocus: value === (start || "mine"),
          }),
          title,
        ),
        picture,
        element("span", { class: "version-text" }, text),
      );
    return element(
      "fieldset",
      { class: "conflict" },
      element("legend", {}, about(conflict)),
      option("mine", gettext("Mine"), said(conflict, conflict.mine), sketch(conflict.mine)),
      option("theirs", gettext("Theirs"), said(conflict, conflict.theirs), sketch(conflict.theirs)),
      both ? option("both", gettext("Keep both"), gettext("Keeps both objects for later review."), null) : null,
    );
  }

  /** @param {Conflict} conflict */
  function about({ name }) {
    const [kind, node] = split(name);
    if (kind === "problem") return gettext("Program report");
    const { label, role } = store.program.nodes[node];
    return `${label}: ${{ object: role === "answer" ? gettext("an answer") : role === "relate" ? gettext("a relation") : store.item.kind === "boxes" ? gettext("a box") : gettext("a span"), state: gettext("status"), note: gettext("note") }[kind]}`;
  }

  /** @param {Conflict} conflict @param {any} value */
  function said({ name }, value) {
    const [kind] = split(name);
    if (kind === "state") return STATES[/** @type {keyof typeof STATES} */ (value)].word;
    if (kind === "problem")
      return value
        ? `${PROBLEMS[/** @type {keyof typeof PROBLEMS} */ (value.kind)].short}${value.note ? `: ${value.note}` : ""}`
        : gettext("No problem reported.");
    if (kind === "note") return value || gettext("No note.");
    if (!value) return gettext("Deleted.");
    if (value.value !== undefined) return String(value.value);
    if (value.ends) return relationText(store, value, undefined, split(name)[1]);
    const place = value.quote ? `“${value.quote}”` : value.ref ? gettext("Chosen.") : placeText(store, value);
    return [value.label, place, answersText(value.answers)].filter(Boolean).join(" · ");
  }

  /** The mark on a small version of its image. @param {any} value */
  function sketch(value) {
    const image = value?.box && store.item.images[value.image];
    if (!image?.url) return null;
    const frame = element("span", { class: "sketch" }, element("img", { src: image.url, alt: "" }));
    frame.append(drawingOf(value, "sketch-mark"));
    return frame;
  }
}
