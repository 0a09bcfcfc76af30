/**
 * Dialogs that ask one thing and answer with what the person said: the reason for a new object, and what is
 * wrong with the program.
 *
 * @typedef {import("../document/store.js").Store} Store
 */
import { PROBLEMS } from "../document/words.js";
import { gettext } from "../page/language.js";
import { createButton, createElement, createField } from "../page/markup.js";

/**
 * Show a dialog until it is closed. The focus goes back where it was.
 * @param {string} title @param {HTMLElement[]} content @param {HTMLElement[]} actions
 * @param {string} [name] class of its own
 */
export function openDialog(title, content, actions, name = "") {
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const id = `dialog-${name || "ask"}`;
  const dialog = createElement(
    "dialog",
    { class: `dialog ${name}`, "aria-labelledby": id },
    createElement(
      "form",
      { method: "dialog", class: "dialog-form" },
      createElement("h2", { id }, title),
      ...content,
      createElement("div", { class: "actions" }, ...actions),
    ),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    before?.focus?.({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  dialog.scrollTop = 0; // the focus may lie further down
  return dialog;
}

/**
 * @param {HTMLDialogElement} dialog
 * @returns {Promise<string>} what it was closed with, empty when it was left
 */
export function waitUntilClosed(dialog) {
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }),
  );
}

/**
 * Ask why an object is new in a step that chooses. Null if the person thinks better of it.
 * @param {"boxes" | "spans"} kind
 */
export async function askReason(kind) {
  const boxes = kind === "boxes";
  const input = createElement("textarea", {
    id: "new-reason",
    rows: "3",
    maxlength: "2000",
    required: true,
    autofocus: true,
  });
  const dialog = openDialog(
    boxes ? gettext("Why is this box new?") : gettext("Why is this span new?"),
    [
      createElement(
        "p",
        {},
        boxes
          ? gettext(
              "This step selects from the boxes of the previous step. If a box is missing there, go back and add it there.",
            )
          : gettext(
              "This step selects from the spans of the previous step. If a span is missing there, go back and add it there.",
            ),
      ),
      createField("new-reason", gettext("Reason"), input),
    ],
    [
      createElement(
        "button",
        { class: "button", value: "add" },
        boxes ? gettext("Add the box") : gettext("Add the span"),
      ),
      createButton(gettext("Discard"), () => dialog.close(""), { class: "button second" }),
    ],
    "reason",
  );
  return (await waitUntilClosed(dialog)) === "add" && input.value.trim() ? input.value.trim() : null;
}

/**
 * The statement that the program itself is wrong: made, changed or taken back.
 * @param {Store} store @param {(text: string) => void} announce
 */
export async function askProblem(store, announce) {
  if (store.locked) return;
  const present = store.document.problem;
  const kinds = Object.entries(PROBLEMS).map(([kind, { text }], index) =>
    createElement(
      "label",
      { class: "check" },
      createElement("input", {
        type: "radio",
        name: "kind",
        value: kind,
        required: true,
        checked: present ? present.kind === kind : index === 0,
      }),
      text,
    ),
  );
  const step = createElement(
    "select",
    { id: "problem-node" },
    createElement("option", { value: "" }, gettext("The whole program")),
    ...store.program.walk.map((index) =>
      createElement(
        "option",
        { value: String(index), selected: (present ? present.node : store.node) === index },
        store.program.nodes[index].label,
      ),
    ),
  );
  const note = createElement("textarea", {
    id: "problem-note",
    rows: "3",
    maxlength: "2000",
    value: present?.note ?? "",
  });
  const dialog = openDialog(
    gettext("Report wrong program"),
    [
      createElement(
        "p",
        {},
        gettext("You can submit the item with this report. Your marked objects remain."),
      ),
      createElement(
        "fieldset",
        { class: "question" },
        createElement("legend", {}, gettext("Problem")),
        ...kinds,
      ),
      createField("problem-node", gettext("Where"), step),
      createField("problem-note", gettext("Suggested correction (optional)"), note),
    ],
    [
      createElement(
        "button",
        { class: "button", value: "save" },
        present ? gettext("Update report") : gettext("Report problem"),
      ),
      ...(present
        ? [
            createElement(
              "button",
              { class: "button second", value: "take back", formnovalidate: true },
              gettext("Withdraw report"),
            ),
          ]
        : []),
      createButton(gettext("Cancel"), () => dialog.close(""), { class: "button second" }),
    ],
    "problem",
  );
  const answer = await waitUntilClosed(dialog);
  if (answer === "take back") {
    store.edit({ node: 0, problem: null });
    announce(gettext("Report withdrawn."));
  } else if (answer === "save") {
    const kind = /** @type {HTMLInputElement} */ (dialog.querySelector("input[name=kind]:checked")).value;
    store.edit({
      node: 0,
      problem: { kind, node: step.value === "" ? null : Number(step.value), note: note.value.trim() },
    });
    announce(gettext("Reported a wrong program."));
  }
}
