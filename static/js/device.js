// The class of this device, written into the form of the consent: phone, tablet or desktop, by the kind of pointer
// and the width of the screen, and nothing finer. Without JavaScript it is unknown.
(() => {
  "use strict";
  /** @type {HTMLInputElement} */
  const field = document.querySelector("form input[name=device]");
  if (!field) return;
  const NARROWEST_TABLET = 600; // CSS pixels of the shorter side; the widest phones have less
  const isTouched = matchMedia("(pointer: coarse)").matches;
  const isNarrow = Math.min(screen.width, screen.height) < NARROWEST_TABLET;
  field.value = isTouched ? (isNarrow ? "phone" : "tablet") : "desktop";
})();
