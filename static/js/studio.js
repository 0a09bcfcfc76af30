// Shows what is typed in the form of a step in the preview beside it, a moment after the last key.
// Without it the button "Show" does the same.
(() => {
  "use strict";
  const WAIT = 700; // ms
  const form = document.getElementById("step");
  const button = document.getElementById("show");
  const first = document.querySelector("iframe[name=preview]");
  if (!form || !button || !first) return;
  let timer = 0;
  // A frame that is new has no history, so that "back" stays what people expect of it.
  const show = () => {
    const old = document.querySelector("iframe[name=preview]");
    const next = old.cloneNode();
    next.removeAttribute("src");
    old.replaceWith(next);
    form.requestSubmit(button);
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(show, WAIT);
  };
  for (const event of ["input", "change"]) {
    form.addEventListener(event, soon);
    for (const field of document.querySelectorAll("[form=step]")) field.addEventListener(event, soon);
  }
  // Saving is not to be overtaken by a preview.
  form.addEventListener("submit", (event) => {
    if (event.submitter !== button) clearTimeout(timer);
  });
})();
