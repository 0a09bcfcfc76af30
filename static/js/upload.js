// Lets people drop a file on the field of a form. Without it, they choose the file in a dialog.
for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-upload]"))) {
  /** @type {HTMLInputElement} */
  const field = box.querySelector('input[type="file"]');
  /** @type {HTMLElement} */ (box.querySelector("[data-upload-hint]")).hidden = false;
  /** @param {boolean} isOver */
  const showOver = (isOver) => box.classList.toggle("is-over", isOver);
  box.addEventListener("dragover", (event) => {
    event.preventDefault();
    showOver(true);
  });
  box.addEventListener("dragleave", () => showOver(false));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    showOver(false);
    if (event.dataTransfer.files.length === 1) {
      field.files = event.dataTransfer.files;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
}
