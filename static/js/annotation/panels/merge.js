/**
 * The merge view: what both sides have changed, side by side, until the person has chosen for each. It cannot
 * be left without choosing, and both versions stay where they are until then.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/rebase.js").Conflict} Conflict
 * @typedef {import("../document/rebase.js").Choice} Choice
 */
import { splitName } from "../document/operations.js";
import { canKeepBoth } from "../document/rebase.js";
import { PROBLEMS, STATES, formatAnswers, formatPlace, formatRelation } from "../document/words.js";
import { buildDrawing } from "../marks/shapes.js";
import { gettext, ngettext } from "../page/language.js";
import { createElement } from "../page/markup.js";
import { openDialog, waitUntilClosed } from "./dialogs.js";

/** @param {Store} store */
export function createMerge(store) {
  return async (/** @type {Conflict[]} */ conflicts) => {
    const rows = conflicts.map(buildRow);
    const dialog = openDialog(
      gettext("Conflicting changes"),
      [
        createElement(
          "p",
          {},
          ngettext(
            "%(count)s conflict with another tab or person. This page keeps both versions until you choose.",
            "%(count)s conflicts with another tab or person. This page keeps both versions until you choose.",
            conflicts.length,
          ),
        ),
        ...rows,
      ],
      [createElement("button", { class: "button", value: "chosen" }, gettext("Apply selection"))],
      "merge",
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    while ((await waitUntilClosed(dialog)) !== "chosen") dialog.showModal();
    return Object.fromEntries(conflicts.map(({ name }, index) => [name, readChoice(rows[index])]));
  };

  /** @param {HTMLElement} row @returns {Choice} */
  function readChoice(row) {
    return /** @type {any} */ (row.querySelector("input:checked")).value;
  }

  /** @param {Conflict} conflict @param {number} index */
  function buildRow(conflict, index) {
    const both = canKeepBoth(conflict);
    // Nothing is chosen beforehand if that would delete what somebody else has kept.
    const start = both ? "both" : conflict.mine ? "mine" : "";
    const buildOption = (
      /** @type {Choice} */ value,
      /** @type {string} */ title,
      /** @type {string} */ text,
      /** @type {Element | null} */ picture,
    ) =>
      createElement(
        "label",
        { class: "version" },
        createElement(
          "span",
          { class: "version-title" },
          createElement("input", {
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
        createElement("span", { class: "version-text" }, text),
      );
    return createElement(
      "fieldset",
      { class: "conflict" },
      createElement("legend", {}, describeSubject(conflict)),
      buildOption(
        "mine",
        gettext("Mine"),
        describeVersion(conflict, conflict.mine),
        buildSketch(conflict.mine),
      ),
      buildOption(
        "theirs",
        gettext("Theirs"),
        describeVersion(conflict, conflict.theirs),
        buildSketch(conflict.theirs),
      ),
      both
        ? buildOption("both", gettext("Keep both"), gettext("Keeps both objects for later review."), null)
        : null,
    );
  }

  /** @param {Conflict} conflict */
  function describeSubject({ name }) {
    const [kind, node] = splitName(name);
    if (kind === "problem") return gettext("Program report");
    const { label, role } = store.program.nodes[node];
    return `${label}: ${{ object: role === "answer" ? gettext("an answer") : role === "relate" ? gettext("a relation") : store.item.kind === "boxes" ? gettext("a box") : gettext("a span"), state: gettext("status"), note: gettext("note") }[kind]}`;
  }

  /** @param {Conflict} conflict @param {any} value */
  function describeVersion({ name }, value) {
    const [kind] = splitName(name);
    if (kind === "state") return STATES[/** @type {keyof typeof STATES} */ (value)].word;
    if (kind === "problem")
      return value
        ? `${PROBLEMS[/** @type {keyof typeof PROBLEMS} */ (value.kind)].short}${value.note ? `: ${value.note}` : ""}`
        : gettext("No problem reported.");
    if (kind === "note") return value || gettext("No note.");
    if (!value) return gettext("Deleted.");
    if (value.value !== undefined) return String(value.value);
    if (value.ends) return formatRelation(store, value, undefined, splitName(name)[1]);
    const content = value.quote
      ? `“${value.quote}”`
      : value.ref
        ? gettext("Chosen.")
        : formatPlace(store, value);
    return [value.label, content, formatAnswers(value.answers)].filter(Boolean).join(" · ");
  }

  /** The mark on a small version of its image. @param {any} value */
  function buildSketch(value) {
    const image = value?.box && store.item.images[value.image];
    if (!image?.url) return null;
    const frame = createElement(
      "span",
      { class: "sketch" },
      createElement("img", { src: image.url, alt: "" }),
    );
    frame.append(buildDrawing(value, "sketch-mark"));
    return frame;
  }
}
