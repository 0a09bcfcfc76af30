/**
 * The keyboard of the editor: which key does what, each person's own choice of keys, and the list of them.
 *
 * @typedef {{name: string, key: string, text: string, group: string, act: () => void}} Action
 * @typedef {[string, string, string, () => void, ("boxes" | "spans")?]} Row name, key, text and act; and the kind of
 *   items, if it is for one alone
 */
import { gettext } from "../page/language.js";
import { createButton, createElement } from "../page/markup.js";
import { openDialog } from "./dialogs.js";

/** Keys that act while the images or the passage have the focus, and cannot be changed. */
const FIXED = {
  boxes: [
    ["Tab", gettext("next box (with Shift: previous box)")],
    ["Arrows", gettext("move the selected box by 1 pixel (with Shift: 10), or a zoomed image")],
    ["Alt+Arrows", gettext("resize the selected box by 1 pixel (with Shift: 10)")],
    ["Enter", gettext("select or deselect the box")],
    ["Escape", gettext("clear the selection; then Tab leaves the images")],
    ["1 … 9", gettext("the box with that number")],
  ],
  spans: [
    ["Arrows", gettext("move between words")],
    ["Shift+Arrows", gettext("select words")],
    ["PageUp, PageDown", gettext("scroll the passage")],
    ["Enter", gettext("mark the selected words, or select the span")],
    ["Space", gettext("select the span at the caret")],
    ["Tab", gettext("next span (with Shift: previous span)")],
    ["Escape", gettext("clear the selection; then Tab leaves the passage")],
    ["1 … 9", gettext("the span with that number")],
  ],
};

/** Name a key event: "Ctrl+Shift+z", "n", "?". @param {KeyboardEvent} event */
function nameKey(event) {
  const named = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const modifiers = [
    event.ctrlKey || event.metaKey ? "Ctrl+" : "",
    event.altKey ? "Alt+" : "",
    event.shiftKey && (event.key.length > 1 || /[a-z]/.test(named)) ? "Shift+" : "",
  ];
  return modifiers.join("") + named;
}

/** @param {EventTarget | null} target whether letters are text there */
function isTextField(target) {
  return (
    target instanceof HTMLElement &&
    target.matches("textarea, select, input:not([type=radio], [type=checkbox])")
  );
}

/**
 * @param {[string, Row[]][]} groups of actions, by their heading
 * @param {"boxes" | "spans"} kind
 * @param {Record<string, string>} own keys that the person has chosen
 * @param {(keys: Record<string, string>) => Promise<void>} keep @param {(number: number) => void} onDigit
 * @param {{press: (key: string) => boolean, listKeys: () => [string, string][]}} labels whose keys come first
 */
export function createKeys(groups, kind, own, keep, onDigit, labels) {
  /** @type {Action[]} */
  const offered = groups.flatMap(([group, rows]) =>
    rows
      .filter(([, , , , only]) => !only || only === kind)
      .map(([name, key, text, act]) => ({ name, key, text, group, act })),
  );
  let bound = new Map(offered.map((action) => [action.name, own[action.name] ?? action.key]));

  // In the capturing phase, for Annotorious would undo by itself otherwise.
  addEventListener(
    "keydown",
    (event) => {
      if (document.querySelector("dialog[open]")) return;
      const pressed = nameKey(event);
      const name = pressed === "Backspace" ? "Delete" : pressed; // the delete key of many laptops
      const editing = isTextField(event.target);
      if (/^Ctrl\+(Shift\+)?[zy]$/.test(name)) event.stopImmediatePropagation();
      if (event.isComposing || (editing && !(name === "Ctrl+Enter"))) return;
      if (!editing && !event.defaultPrevented && /^[a-z0-9]$/.test(name) && labels.press(name)) {
        event.preventDefault();
        return void event.stopImmediatePropagation();
      }
      const action = offered.find((each) => bound.get(each.name) === name);
      if (!action && !/^[1-9]$/.test(name)) return;
      if (event.defaultPrevented) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (action) action.act();
      else onDigit(Number(name));
    },
    { capture: true },
  );

  function showHelp() {
    const status = createElement(
      "p",
      { class: "quiet small", role: "status" },
      gettext("Choose “change”, then press the new key."),
    );
    const tables = groups.map(([group]) =>
      buildTable(
        group,
        offered
          .filter((action) => action.group === group)
          .map((action) => buildChangeableRow(action, status)),
      ),
    );
    tables.push(
      buildTable(
        kind === "boxes" ? gettext("On the images") : gettext("On the passage"),
        FIXED[kind].map(([key, text]) => buildRow(key, text, null)),
      ),
    );
    if (labels.listKeys().length)
      tables.unshift(
        buildTable(
          gettext("Labels"),
          labels.listKeys().map(([key, text]) => buildRow(key, text, null)),
        ),
      );
    const dialog = openDialog(
      gettext("Keyboard"),
      [status, createElement("div", { class: "key-tables" }, ...tables)],
      [
        createElement("button", { class: "button", value: "", autofocus: true }, gettext("Close")),
        createButton(gettext("Reset shortcuts"), () => reset(dialog), { class: "button second" }),
      ],
      "keyboard",
    );
  }

  /** @param {HTMLDialogElement} dialog */
  async function reset(dialog) {
    bound = new Map(offered.map((action) => [action.name, action.key]));
    dialog.close("");
    await keep({});
  }

  /** @param {string} caption @param {HTMLElement[]} rows */
  function buildTable(caption, rows) {
    return createElement(
      "table",
      { class: "keys" },
      createElement("caption", {}, caption),
      createElement("tbody", {}, ...rows),
    );
  }

  /** @param {string} key @param {string} text @param {HTMLElement | null} change */
  function buildRow(key, text, change) {
    return createElement(
      "tr",
      {},
      createElement("th", { scope: "row" }, createElement("kbd", {}, translateKey(key))),
      createElement("td", {}, text),
      createElement("td", {}, change),
    );
  }

  /** @param {Action} action @param {HTMLElement} status */
  function buildChangeableRow(action, status) {
    const change = createButton(
      gettext("change"),
      () => {
        status.textContent = gettext("Press the new key for “%(action)s”, or Escape to cancel.", {
          action: action.text,
        });
        const listen = async (/** @type {KeyboardEvent} */ event) => {
          if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
          event.preventDefault();
          event.stopImmediatePropagation();
          removeEventListener("keydown", listen, { capture: true });
          status.textContent =
            event.key === "Escape" ? gettext("Not changed.") : await rebind(action, nameKey(event), row);
        };
        addEventListener("keydown", listen, { capture: true });
      },
      {
        class: "button plain",
        "aria-label": gettext("Change key: %(action)s", { action: action.text }),
      },
    );
    const row = buildRow(formatKey(bound.get(action.name) ?? ""), action.text, change);
    return row;
  }

  /**
   * @param {Action} action
   * @param {string} key
   * @param {HTMLElement} row
   * @returns {Promise<string>} what came of it
   */
  async function rebind(action, key, row) {
    if (/^[1-9]$|^(Arrow|Tab$|Enter$|Shift\+Tab$)/.test(key))
      return gettext("%(key)s is reserved for the images and the passage. Choose another key.", {
        key: formatKey(key),
      });
    const taken = offered.find((each) => each !== action && bound.get(each.name) === key);
    if (taken)
      return gettext("%(key)s is already used for “%(action)s”. Choose another key.", {
        key: formatKey(key),
        action: taken.text,
      });
    const before = bound.get(action.name) ?? action.key;
    bound.set(action.name, key);
    try {
      await keep(
        Object.fromEntries(
          offered
            .filter((each) => bound.get(each.name) !== each.key)
            .map((each) => [each.name, bound.get(each.name) ?? each.key]),
        ),
      );
    } catch (error) {
      bound.set(action.name, before);
      return gettext("The key could not be saved: %(reason)s", {
        reason: /** @type {Error} */ (error).message,
      });
    }
    /** @type {HTMLElement} */ (row.querySelector("kbd")).textContent = formatKey(key);
    return gettext("“%(action)s” now uses %(key)s.", { action: action.text, key: formatKey(key) });
  }

  return { showHelp, getKeyFor: (/** @type {string} */ name) => formatKey(bound.get(name) ?? "") };
}

/** @param {string} key as people know it */
function formatKey(key) {
  return translateKey(
    key
      .replace(/(^|\+)([a-z])$/, (_all, before, letter) => before + letter.toUpperCase())
      .replace(/^ $/, "Space"),
  );
}

/** @type {Record<string, string>} what is printed on keys, which differs with the language */
const NAMES = {
  Arrows: gettext("Arrows"),
  Ctrl: gettext("Ctrl"),
  Delete: gettext("Del"),
  Shift: gettext("Shift"),
  Space: gettext("Space"),
};

/** @param {string} key */
function translateKey(key) {
  return key.replace(/[A-Z][a-z]+/g, (name) => NAMES[name] ?? name);
}
