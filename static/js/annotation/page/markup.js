/**
 * Elements made in JavaScript. Text goes in as text, so nothing that people wrote can become markup; inline
 * styles are not used, because the site's content security policy forbids them.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element. `on…` properties are listeners, `class`, `aria-…`, `data-…` and the like are attributes,
 * false and null leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null | false | undefined)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function createElement(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === false || value === null || value === undefined) continue;
    else if (key === "value") /** @type {any} */ (element).value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(
    ...children
      .filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => /** @type {Node | string} */ (child)),
  );
  return element;
}

/**
 * A button that acts. @param {string} text @param {() => void} act @param {Record<string, any>} [properties]
 * @param {...(Node | string | null)} after
 */
export function createButton(text, act, properties = {}, ...after) {
  return createElement("button", { type: "button", onclick: act, ...properties }, text, ...after);
}

/** A control below its label. @param {string} id of the control @param {string} words @param {HTMLElement} control */
export function createField(id, words, control) {
  return createElement("div", { class: "field" }, createElement("label", { for: id }, words), control);
}

/** A mark that has a meaning for the eye alone; the text beside it says the same. @param {string} sign */
export function createSign(sign) {
  return createElement("span", { class: "sign", "aria-hidden": "true" }, sign);
}

/** Draw an icon of the site's sprite beside words that say the same. @param {string} sprite @param {string} name */
export function createIcon(sprite, name) {
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${sprite}#${name}`);
  icon.append(use);
  return icon;
}

/** @param {string} text seen by screen readers alone */
export function createUnseenText(text) {
  return createElement("span", { class: "visually-hidden" }, text);
}
