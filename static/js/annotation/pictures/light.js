/**
 * Brightness and contrast of the images: for the eye alone, nothing of it is stored with the annotation.
 */
import { gettext } from "../page/language.js";
import { createButton, createElement } from "../page/markup.js";
import { recall, remember } from "../page/remembered.js";

const PLAIN = { brightness: 1, contrast: 1 };

/**
 * @param {string} user whose choice the browser keeps
 * @param {Element} icon
 * @param {string} key that opens it
 * @param {(light: {brightness: number, contrast: number}) => void} show
 * @param {HTMLElement} more tools of the view
 */
export function createLight(user, icon, key, show, more) {
  const name = `touchstone-light-${user}`;
  let light = { ...PLAIN, ...recall(name) };
  const title = gettext("Brightness, contrast, turn, crosshair");
  const summary = createElement(
    "summary",
    { class: "tool", title: `${title} (${key})`, "aria-label": title },
    icon,
  );
  const sliders = {
    brightness: buildSlider("brightness", gettext("Brightness")),
    contrast: buildSlider("contrast", gettext("Contrast")),
  };
  const reset = createButton(gettext("Reset"), () => setLight({ ...PLAIN }), {
    class: "button second small-button",
  });
  const panel = createElement(
    "div",
    { class: "light-panel" },
    sliders.brightness,
    sliders.contrast,
    reset,
    more,
  );
  const details = createElement("details", { class: "light" }, summary, panel);
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    summary.focus();
  });
  addEventListener("pointerdown", (event) => {
    if (!details.contains(/** @type {Node} */ (event.target))) details.open = false;
  });

  /** @param {keyof typeof PLAIN} part @param {string} label */
  function buildSlider(part, label) {
    const input = createElement("input", {
      type: "range",
      min: "0.25",
      max: "2.5",
      step: "0.05",
      id: `light-${part}`,
    });
    input.addEventListener("input", () => setLight({ ...light, [part]: Number(input.value) }));
    return createElement("label", { class: "measure" }, label, input);
  }

  /** @param {typeof PLAIN} next */
  function setLight(next) {
    light = next;
    remember(name, light);
    render();
  }

  function render() {
    for (const part of /** @type {(keyof typeof PLAIN)[]} */ (Object.keys(PLAIN)))
      /** @type {HTMLInputElement} */ (sliders[part].querySelector("input")).value = String(light[part]);
    const plain = light.brightness === 1 && light.contrast === 1;
    summary.classList.toggle("active", !plain);
    reset.disabled = plain;
    show(light);
  }

  render();
  return {
    element: details,
    open() {
      details.open = true;
      sliders.brightness.querySelector("input")?.focus();
    },
  };
}
