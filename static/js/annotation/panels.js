/**
 * The parts beside the images or the passage, which a person may hide for more room: the program at the left, and
 * the details of the step at the right. The browser keeps the choice.
 */
import { gettext } from "./language.js";
import { button, sign } from "./markup.js";

const KEY = "touchstone-hidden-panels";

/** @param {HTMLElement} grid holds the parts: elements with the ids `NAME-part` */
export function createPanels(grid) {
  const hidden = new Set(stored());
  const toggles = [
    toggle("program", "◧", gettext("Program"), gettext("Hide or show the program")),
    toggle("details", "◨", gettext("Details"), gettext("Hide or show the details of the step")),
  ];

  /** @param {string} name @param {string} mark @param {string} text @param {string} help */
  function toggle(name, mark, text, help) {
    const attributes = { class: "tool", title: help, "aria-label": text, "aria-controls": `${name}-part` };
    return { name, control: button("", () => set(name, !hidden.has(name)), attributes, sign(mark)) };
  }

  /** @param {string} name @param {boolean} isHidden */
  function set(name, isHidden) {
    if (isHidden) hidden.add(name);
    else hidden.delete(name);
    try {
      localStorage.setItem(KEY, JSON.stringify([...hidden]));
    } catch {
      // Without storage the choice holds until the page is left.
    }
    render();
  }

  function render() {
    for (const { name, control } of toggles) {
      grid.classList.toggle(`without-${name}`, hidden.has(name));
      control.setAttribute("aria-expanded", String(!hidden.has(name)));
    }
  }

  render();
  return {
    buttons: toggles.map(({ control }) => control),
    /** Show a part that a key leads to. @param {string} name */
    show: (name) => hidden.has(name) && set(name, false),
  };
}

/** @returns {string[]} */
function stored() {
  try {
    const names = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(names) ? names : [];
  } catch {
    return [];
  }
}
