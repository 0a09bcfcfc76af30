/**
 * The note on the current step. It is saved while one writes, and before the page goes.
 *
 * @typedef {import("../document/store.js").Store} Store
 */
import { getLayer } from "../document/program.js";
import { gettext } from "../page/language.js";
import { createElement } from "../page/markup.js";

const IDLE_MS = 800;

/**
 * @param {Store} store
 * @param {HTMLElement} root
 */
export function createNote(store, root) {
  const text = createElement("textarea", {
    id: "step-note",
    rows: "2",
    maxlength: "2000",
    oninput: scheduleSave,
    onchange: save,
  });
  const field = createElement(
    "details",
    { class: "note-field" },
    createElement("summary", {}, gettext("Note on this step")),
    createElement("label", { class: "visually-hidden", for: "step-note" }, gettext("Note on this step")),
    text,
  );
  root.append(field);
  let node = store.node; // that the text belongs to, which may be another one when it is saved
  let timer = 0;

  function scheduleSave() {
    clearTimeout(timer);
    timer = setTimeout(save, IDLE_MS);
  }

  function save() {
    clearTimeout(timer);
    if (text.value !== (getLayer(store.document, node).note ?? "")) store.edit({ node, note: text.value });
  }

  function render() {
    field.hidden = store.program.nodes[store.node].role === "compute";
    text.disabled = Boolean(store.locked);
    const written = getLayer(store.document, store.node).note ?? "";
    if (node === store.node && document.activeElement === text) return;
    node = store.node;
    text.value = written;
    if (written) field.open = true;
  }

  addEventListener("pagehide", save);
  store.subscribe((topics) => {
    if (topics.has("node")) save();
    if (topics.has("document") || topics.has("node") || topics.has("status")) render();
  });
  render();
}
