/**
 * Says what happened to people who do not see it, through one polite live region.
 */

/** @param {HTMLElement} region an element with aria-live */
export function createAnnouncer(region) {
  /** @type {{text: string, passing: boolean}[]} */
  let waiting = [];

  function say() {
    region.textContent = waiting.map(({ text }) => text).join(" ");
    waiting = [];
  }

  /**
   * @param {string} text
   * @param {boolean} [passing] whether the next one of its kind makes it needless, as while walking
   */
  return (text, passing = false) => {
    // A text that is said twice in a row is only read again when the region was empty in between.
    region.textContent = "";
    if (!waiting.length) setTimeout(say, 60);
    waiting = [...waiting.filter((each) => !(passing && each.passing)), { text, passing }];
  };
}
