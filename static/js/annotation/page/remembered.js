/**
 * Choices of how the editor looks and acts. The browser keeps them; without storage they hold until the page is
 * left.
 */

/** @param {string} name @returns {any} null if nothing was chosen yet */
export function recall(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name @param {unknown} value */
export function remember(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Storage is forbidden or full.
  }
}
