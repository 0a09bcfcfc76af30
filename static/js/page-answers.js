// Keeps answers that were not stored yet in this tab, so that a reload, an error or a lost connection costs none.
// They lie under the signed key of the page, which is another one for every page and every person. A page
// removes what an earlier page has left, so the next person at this computer sees nothing of it.
(() => {
  "use strict";
  /** @typedef {HTMLInputElement & {options?: HTMLOptionsCollection}} Field */
  /** @type {HTMLFormElement & {elements: {page_key: HTMLInputElement}}} */
  const form = document.querySelector("form[data-timed]");
  const pageKey = form ? form.elements.page_key.value : "";
  const storageKey = "answers:" + pageKey;
  const NOT_ANSWERS = ["hidden", "submit", "button", "reset", "image", "file", "password", "fieldset", "output"];

  function listFields() {
    return Array.from(/** @type {Iterable<Field>} */ (form.elements)).filter(
      (field) => field.name && !NOT_ANSWERS.includes(field.type) && !field.closest(".unasked"),
    );
  }

  /** @param {Record<string, string[]>} kept */
  function restore(kept) {
    const left = new Map(Object.entries(kept).map(([name, values]) => [name, [...values]]));
    for (const field of listFields()) {
      const values = left.get(field.name);
      if (!values) continue;
      if (field.type === "radio" || field.type === "checkbox") field.checked = values.includes(field.value);
      else if (field.multiple) for (const option of field.options) option.selected = values.includes(option.value);
      else if (values.length) field.value = values.shift();
    }
  }

  function keep() {
    /** @type {Record<string, FormDataEntryValue[]>} */
    const kept = {};
    const chosen = new FormData(form);
    for (const { name } of listFields()) kept[name] = chosen.getAll(name);
    try {
      sessionStorage.setItem(storageKey, JSON.stringify(kept));
    } catch {
      // The storage is blocked or full: the page works as without this script.
    }
  }

  try {
    for (const name of Object.keys(sessionStorage)) {
      if (/^(answers|timing):/.test(name) && !(pageKey && name.endsWith(":" + pageKey))) sessionStorage.removeItem(name);
    }
    if (form && pageKey) restore(JSON.parse(sessionStorage.getItem(storageKey)) ?? {});
  } catch {
    return;
  }
  if (!form || !pageKey) return;
  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
})();
