// Updates the preview beside the form of a step shortly after the last key press.
// Without JavaScript the button "Show" does the same.
(() => {
  "use strict";
  const WAIT = 700; // ms
  const form = /** @type {HTMLFormElement} */ (document.getElementById("step"));
  const button = document.getElementById("show");
  const first = document.querySelector("iframe[name=preview]");
  if (!form || !button || !first) return;
  let timer = 0;
  // A new frame has no history, so the browser's "back" button keeps its meaning.
  const show = () => {
    const old = document.querySelector("iframe[name=preview]");
    const next = /** @type {HTMLIFrameElement} */ (old.cloneNode());
    next.removeAttribute("src");
    old.replaceWith(next);
    form.requestSubmit(button);
  };
  const showSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(show, WAIT);
  };
  for (const event of ["input", "change"]) {
    form.addEventListener(event, showSoon);
    for (const field of document.querySelectorAll("[form=step]")) field.addEventListener(event, showSoon);
  }
  // Saving sends no files, so a chosen image is uploaded at once.
  form.addEventListener("change", (event) => {
    const target = /** @type {HTMLInputElement} */ (event.target);
    if (target.type === "file") target.nextElementSibling.querySelector("button").click();
  });
  // A late preview must not overtake the saving of the form.
  form.addEventListener("submit", (event) => {
    if (event.submitter !== button) clearTimeout(timer);
  });
})();
