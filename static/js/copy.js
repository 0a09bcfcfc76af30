// Buttons that copy the code or link beside them. Without JavaScript they stay hidden; it can be selected.
(() => {
  "use strict";
  const copy = async (code) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(code.textContent.trim());
    // Without https the browser has no clipboard for scripts, but copies a selection.
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
  };
  for (const box of document.querySelectorAll("[data-copy]")) {
    const button = box.querySelector("button");
    const status = box.querySelector("[role=status]");
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = box.querySelector(".code, .hash");
      try {
        await copy(code);
        status.textContent = status.dataset.done;
      } catch {
        getSelection().selectAllChildren(code); // the person can copy the selection
      }
    });
  }
})();
