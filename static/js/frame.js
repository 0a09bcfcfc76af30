// The frame: menus that close, "/" for the search, messages that can be put away, confirmations of acts.
(() => {
  "use strict";
  const menus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      for (const menu of menus()) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    }
    const search = document.getElementById("search");
    const isTyping = event.target.closest("input, textarea, select, [contenteditable], [role=application]");
    if (event.key === "/" && search && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    }
  });

  // On a narrow screen the row of tabs scrolls; the current one should be in view.
  for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
    const row = tab.closest(".tabs");
    row.scrollLeft = Math.max(0, tab.offsetLeft - row.offsetLeft - 40);
  }

  // An act with consequences names itself in a dialog first. The texts are on the button.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-confirm]");
    if (!button || button.dataset.confirmed) return;
    event.preventDefault();
    const dialog = document.createElement("dialog");
    dialog.className = "confirm";
    dialog.setAttribute("aria-label", button.textContent.trim());
    const text = document.createElement("p");
    text.textContent = button.dataset.confirm;
    const acts = document.createElement("div");
    acts.className = "actions";
    const yes = document.createElement("button");
    yes.className = button.className;
    yes.textContent = button.textContent.trim();
    const no = document.createElement("button");
    no.className = "button second";
    no.textContent = document.documentElement.lang === "de" ? "Abbrechen" : "Cancel";
    acts.append(yes, no);
    dialog.append(text, acts);
    document.body.append(dialog);
    no.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      button.focus();
    });
    yes.addEventListener("click", () => {
      dialog.close();
      button.dataset.confirmed = "yes";
      button.click();
      delete button.dataset.confirmed;
    });
    dialog.showModal();
    no.focus();
  });
})();
