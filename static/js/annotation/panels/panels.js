/**
 * The parts beside the images or the passage, which a person may fold for more room: the program at the left, and
 * the details of the step at the right. The browser keeps each person's choice.
 */
import { recall, remember } from "../page/remembered.js";

const SCROLLS = "(max-width: 47.99rem), (max-height: 33.99rem)"; // all parts lie below each other, see annotation.css
const PARTS = ["program", "details"];

/**
 * @param {HTMLElement} grid holds the parts
 * @param {string} user who chooses
 */
export function createPanels(grid, user) {
  const key = `touchstone-folded-panels-${user}`;
  // On a phone the program would push the task out of sight; the foot of the page names the step.
  const folded = new Set(recall(key) ?? (matchMedia(SCROLLS).matches ? ["program"] : []));

  function render() {
    for (const part of PARTS) grid.classList.toggle(`without-${part}`, folded.has(part));
    panels.onChange();
  }

  const panels = {
    onChange: () => {},
    /** @param {string} part */
    isFolded: (part) => folded.has(part),
    /** Fold these parts, or show them if all are folded. @param {string[]} parts */
    toggle(...parts) {
      const show = parts.every((part) => folded.has(part));
      for (const part of parts) folded[show ? "delete" : "add"](part);
      remember(key, [...folded]);
      render();
    },
    toggleAll: () => panels.toggle(...PARTS),
    /** Show a part that a key leads to. @param {string} part */
    show: (part) => folded.has(part) && panels.toggle(part),
  };
  render();
  return panels;
}
