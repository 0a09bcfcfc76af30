/**
 * The program beside the task: every step in the order of work, children before their parents, indented by
 * their depth, with state and value. Arrow keys walk it.
 *
 * @typedef {import("../document/store.js").Store} Store
 */
import { findHiddenLayers, isWaiting } from "../document/program.js";
import { STATES, formatCount, formatValue, getState } from "../document/words.js";
import { gettext } from "../page/language.js";
import { createElement, createSign, createUnseenText } from "../page/markup.js";

/**
 * @param {Store} store
 * @param {HTMLElement} list an element with role listbox
 * @param {() => boolean} isStale whether values are older than the document
 * @param {() => boolean} canLeave whether another step may be chosen now
 */
export function createTree(store, list, isStale, canLeave) {
  const deepest = Math.max(...store.program.nodes.map((node) => node.depth));
  /** @type {Map<number, HTMLElement>} */
  const rows = new Map();
  for (const index of store.program.bottomUp) {
    const row = buildRow(index);
    rows.set(index, row);
    list.append(row);
  }

  list.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const index = store.walk.indexOf(store.node);
    const last = store.walk.length - 1;
    const target = event.key === "Home" ? 0 : event.key === "End" ? last : step ? index + step : null;
    if (target === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (target < 0 || target > last) return;
    if (canLeave()) store.go(store.walk[target]);
    rows.get(store.node)?.focus();
  });

  /** @param {number} index */
  function buildRow(index) {
    const node = store.program.nodes[index];
    const shared = node.representative !== index;
    const row = createElement(
      "li",
      { role: "option", tabindex: "-1", class: "step", "data-node": index, title: node.words, onclick: () => pick(index) },
      createSign(""),
      createElement(
        "span",
        { class: "step-text" },
        createElement("span", { class: "step-module" }, node.module.replaceAll("-", " ")),
        " ",
        node.argument ? createElement("span", { class: "step-argument" }, node.argument) : null,
        shared ? createElement("span", { class: "step-shared" }, gettext("same as above")) : null,
      ),
      createElement("span", { class: "step-state" }),
      createElement("span", { class: "step-value" }),
    );
    row.classList.add(`depth-${Math.min(node.depth, 12)}`);
    if (shared) row.classList.add("shared");
    row.dataset.height = String(deepest - node.depth);
    return row;
  }

  /** @param {number} index */
  function pick(index) {
    if (canLeave()) store.go(index);
    rows.get(store.node)?.focus({ preventScroll: true });
  }

  function render() {
    const [current, stale] = [store.node, isStale()];
    const hidden = findHiddenLayers(store.program, store.document);
    for (const [index, row] of rows) {
      row.hidden = hidden.has(index);
      const node = store.program.nodes[index];
      const state = getState(store, index);
      const { sign: mark, word } = STATES[state];
      const value = formatValue(store.values[index]);
      const here = index === current;
      const [icon, , label, shown] = Array.from(row.children);
      const count = formatCount(store, index);
      const runs = store.runs[index] ?? [];
      // Below a module that takes each image alone, a step has a value for each of them.
      const apart =
        !value && runs.length > 1 && runs.every((each) => each !== null) ? runs.map(formatValue) : [];
      const text = [state === "compute" ? formatComputed(index, value, apart.length > 0) : word, count]
        .filter(Boolean)
        .join(" · ");
      if (icon.textContent !== mark) icon.textContent = mark;
      if (label.textContent !== text) label.textContent = text;
      const hasValue = node.role === "compute" || node.type === "number" || node.type === "truth";
      const valued = hasValue ? value || apart.join(" / ") : "";
      const wait = valued && stale ? " …" : "";
      if (shown.textContent !== valued + wait)
        shown.replaceChildren(...(valued ? [createUnseenText(`${gettext("value")} `), valued + wait] : []));
      row.dataset.state = state;
      row.classList.toggle("stale", Boolean(wait));
      row.setAttribute("aria-selected", String(here));
      row.tabIndex = here ? 0 : -1;
    }
  }

  /** @param {number} index @param {string} value @param {boolean} apart */
  function formatComputed(index, value, apart) {
    if (apart) return gettext("left / right image");
    if (value) return "";
    return isWaiting(store.program, store.document, index)
      ? gettext("waits for the steps before")
      : gettext("no value");
  }

  /** Bring the current step into the list's view, without moving the page. */
  function show() {
    const row = rows.get(store.node);
    if (!row) return;
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight]; // from the top of the list
    if (top < list.scrollTop) list.scrollTop = top;
    else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
  }

  store.subscribe((topics) => {
    if (["document", "node", "values", "status"].some((topic) => topics.has(/** @type {any} */ (topic))))
      render();
    if (topics.has("node")) show();
  });
  render();
  return { focus: () => rows.get(store.node)?.focus() };
}
