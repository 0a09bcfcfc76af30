/**
 * Keeps unsaved operations in the browser until the site has them: closing the tab, a crash or a night without
 * a network loses none. Each operation has an entry of its own, so that any tab may take up and send what
 * another one has left; the site applies an id once.
 *
 * @typedef {import("./types.js").Operation} Operation
 */

/** @param {string} annotation address and item of the entries, because a site may be reinstalled */
export function createUnsavedStore(annotation) {
  const prefix = `annotation:${annotation}:`;
  let number = Date.now() * 1000;
  /** @type {Map<string, string>} */
  const keys = new Map();

  return {
    /**
     * Keep an operation, or its newer form. Returns false if the browser refuses (full, or forbidden).
     * @param {Operation} operation
     */
    keep(operation) {
      const key = keys.get(operation.id) ?? `${prefix}${(number += 1)}:${operation.id}`;
      keys.set(operation.id, key);
      try {
        localStorage.setItem(key, JSON.stringify(operation));
        return true;
      } catch {
        return false;
      }
    },

    /** @param {string} id */
    drop(id) {
      const key = keys.get(id);
      keys.delete(id);
      if (key === undefined) return;
      try {
        localStorage.removeItem(key);
      } catch {
        // Storage is forbidden, so nothing was kept either.
      }
    },

    /** All unsaved operations of this annotation, oldest first. @returns {Operation[]} */
    takeUp() {
      const operations = [];
      try {
        const mine = Object.keys(localStorage)
          .filter((key) => key.startsWith(prefix))
          .sort();
        for (const key of mine) {
          const operation = JSON.parse(localStorage.getItem(key) ?? "null");
          if (!operation) continue;
          keys.set(operation.id, key);
          operations.push(operation);
        }
      } catch {
        // Storage is forbidden: there is nothing to take up.
      }
      return operations;
    },
  };
}
