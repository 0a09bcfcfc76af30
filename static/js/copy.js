// Buttons that copy the code, link or secret beside them. Without JavaScript they stay hidden; the text can be selected.
(() => {
  "use strict";
  /** @typedef {HTMLElement & {value?: string, select?: () => void}} Code */
  /** @param {Code} code */
  const select = (code) => (code.select ? code.select() : getSelection().selectAllChildren(code));
  /** @param {Code} code */
  const copy = async (code) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(code.value ?? code.textContent.trim());
    // Without https the browser has no clipboard for scripts, but copies a selection.
    select(code);
    if (!document.execCommand("copy")) throw new Error("nothing was copied");
  };
  for (const box of document.querySelectorAll("[data-copy]")) {
    const button = box.querySelector("button");
    /** @type {HTMLElement} */
    const status = box.querySelector("[role=status]");
    button.hidden = false;
    button.addEventListener("click", async () => {
      /** @type {Code} */
      const code = box.querySelector(".code, input");
      try {
        await copy(code);
        status.textContent = status.dataset.done;
      } catch {
        select(code); // the person can copy the selection
      }
    });
  }
})();
