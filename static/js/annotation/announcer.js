/**
 * Says what happened to people who do not see it, through one polite live region.
 */

/** @param {HTMLElement} region an element with aria-live */
export function createAnnouncer(region) {
  let timer = 0;
  return (/** @type {string} */ text) => {
    clearTimeout(timer);
    // A text that is said twice in a row is only read again when the region was empty in between.
    region.textContent = "";
    timer = setTimeout(() => (region.textContent = text), 60);
  };
}
