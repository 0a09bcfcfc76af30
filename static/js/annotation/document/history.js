/**
 * Undo and redo, read from the history of operations that the site keeps, so that both survive a reload. An
 * operation that `undoes` another one takes it off the stack; one that undoes an undo puts it back.
 *
 * @typedef {import("./types.js").Entry} Entry
 */

/**
 * @param {Entry[]} entries oldest first
 * @returns {{undo: Entry[], redo: Entry[]}} both with the next one last
 */
export function buildStacks(entries) {
  /** @type {Entry[]} */
  const undo = [];
  /** @type {Entry[]} */
  let redo = [];
  for (const entry of entries) {
    if (!entry.undoes) {
      undo.push(entry);
      redo = [];
    } else if (take(undo, entry.undoes)) redo.push(entry);
    else if (take(redo, entry.undoes)) undo.push(entry);
  }
  return { undo, redo };
}

/**
 * Take the entry of that id off a stack, and say whether it was there.
 * @param {Entry[]} stack
 * @param {string} id
 */
function take(stack, id) {
  const index = stack.findLastIndex((entry) => entry.id === id);
  if (index >= 0) stack.splice(index, 1);
  return index >= 0;
}
