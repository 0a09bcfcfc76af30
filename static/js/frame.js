// The frame: menus that close, "/" for the search, messages that can be put away, values of charts,
// confirmations of acts, secrets that are shown once, short names.
(() => {
  "use strict";
  /** @type {HTMLElement} */
  const frame = document.querySelector(".frame");
  const SHOWN_MS = 8000; // of a message that nothing has to be done about
  /** @returns {NodeListOf<HTMLDetailsElement>} */
  const findOpenMenus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of findOpenMenus()) if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      for (const menu of findOpenMenus()) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    }
    const search = document.getElementById("search");
    const target = /** @type {Element} */ (event.target);
    const isTyping = target.closest("input, textarea, select, [contenteditable], [role=application]");
    if (event.key === "/" && search && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    }
  });

  // A secret that is shown once stands on the answer to a form. Reloaded, that would be sent again and make a
  // second secret; with the address of the list, the list comes instead.
  /** @type {HTMLElement} */
  const once = document.querySelector("[data-once]");
  if (once) history.replaceState(null, "", once.dataset.once);

  // A short name follows the title until somebody writes one.
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[data-follows]"))) {
    const title = /** @type {HTMLInputElement} */ (field.form.elements.namedItem(field.dataset.follows));
    const follow = () => {
      const letters = title.value.normalize("NFKD").replace(/\p{M}/gu, "").replaceAll("ß", "ss").toLowerCase();
      const words = letters.split(/[^a-z0-9]+/).filter(Boolean);
      field.value = words.join("-").slice(0, field.maxLength).replace(/-$/, "");
    };
    if (field.value) continue; // the form came back with errors
    title.addEventListener("input", follow);
    field.addEventListener("input", () => title.removeEventListener("input", follow), { once: true });
  }

  // On a narrow screen the row of tabs scrolls; the current one should be in view.
  for (const tab of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".tabs [aria-current]"))) {
    /** @type {HTMLElement} */
    const row = tab.closest(".tabs");
    row.scrollLeft = Math.max(0, tab.offsetLeft - row.offsetLeft - 40);
  }

  // Messages of success appear in a corner, and go unless somebody is reading them; errors stay in place.
  for (const message of document.querySelectorAll(".note[data-message]")) {
    const close = document.createElement("button");
    close.className = "toast-close";
    close.setAttribute("aria-label", frame.dataset.close);
    close.textContent = "×";
    close.addEventListener("click", () => message.remove());
    message.append(close);
    message.classList.add("toast");
    const leave = () => {
      if (message.matches(":hover, :focus-within")) setTimeout(leave, SHOWN_MS);
      else message.remove();
    };
    setTimeout(leave, SHOWN_MS);
  }

  // On a phone a row becomes a card, whose figures need the words of the head beside them.
  /** @param {HTMLTableElement} table */
  const labelTable = (table) => {
    const head = table.tHead?.rows;
    if (head?.length !== 1 || [...head[0].cells].some((cell) => cell.colSpan > 1)) return;
    const words = [...head[0].cells].map((cell) => cell.textContent.trim());
    for (const row of [...table.tBodies].flatMap((body) => [...body.rows])) {
      if (row.cells.length !== words.length) continue;
      for (const cell of /** @type {Iterable<HTMLTableCellElement>} */ (row.querySelectorAll("td:not([data-label])"))) {
        if (words[cell.cellIndex]) cell.dataset.label = words[cell.cellIndex];
      }
    }
    table.classList.add("table");
  };
  // The head of a table can stay in sight only if its box does not scroll sideways.
  const fits = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      box.classList.remove("table-fits");
      box.classList.toggle("table-fits", box.scrollWidth <= box.clientWidth);
    }
  });
  for (const box of document.querySelectorAll(".table-box")) fits.observe(box);
  const labelAllTables = () =>
    /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll(".frame-body table")).forEach(labelTable);
  labelAllTables();
  document.addEventListener("refreshed", labelAllTables);

  // The value of a mark of a chart appears under the pointer and with the focus. A chart is one stop of the tab
  // key; arrows move between its marks, and Escape puts the value away.
  const hideTip = () => document.querySelector(".chart-tip")?.remove();
  /** @param {SVGElement} mark */
  const showTip = (mark) => {
    hideTip();
    const chart = mark.closest(".chart");
    mark.querySelector("title")?.remove(); // else the browser shows a second one
    const tip = document.createElement("span");
    tip.className = "chart-tip";
    tip.setAttribute("aria-hidden", "true"); // the mark has the same text as its name
    tip.textContent = mark.getAttribute("aria-label");
    chart.append(tip);
    const [box, at] = [chart.getBoundingClientRect(), mark.getBoundingClientRect()];
    const left = at.left - box.left + (at.width - tip.offsetWidth) / 2;
    tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${at.top - box.top - tip.offsetHeight - 4}px`;
  };
  for (const type of ["pointerover", "focusin"]) {
    document.addEventListener(type, (event) => {
      const target = /** @type {Element} */ (event.target);
      /** @type {SVGElement} */
      const mark = target.closest?.(".mark");
      if (mark) showTip(mark);
      else if (!target.closest?.(".chart")) hideTip();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
    /** @type {SVGElement} */
    const mark = /** @type {Element} */ (event.target).closest(".mark");
    if (!mark) return;
    const marks = /** @type {SVGElement[]} */ ([...mark.closest(".chart").querySelectorAll(".mark")]);
    const here = marks.indexOf(mark);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: marks.length - 1 }[event.key];
    if (!marks[next]) return;
    event.preventDefault();
    mark.tabIndex = -1;
    marks[next].tabIndex = 0;
    marks[next].focus();
  });

  // An act with consequences names itself in a dialog first. The texts are on the button.
  document.addEventListener("click", (event) => {
    /** @type {HTMLButtonElement} */
    const button = /** @type {Element} */ (event.target).closest("button[data-confirm]");
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
    no.textContent = frame.dataset.cancel;
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
