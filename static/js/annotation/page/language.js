/**
 * The editor's texts in the language of the page. The page brings the site's catalogue of these texts before
 * the editor begins; a text that it lacks is said as it stands in the code, in English.
 */

/** @type {{gettext?: (text: string) => string, ngettext?: (one: string, many: string, count: number) => string}} */
const catalogue = /** @type {any} */ (window);
/** @typedef {Record<string, string | number>} Values of the places `%(name)s` in a text */

export const LANGUAGE = document.documentElement.lang || "en";

/** @param {string} text @param {Values} values */
const fillPlaceholders = (text, values) => text.replace(/%\((\w+)\)s/g, (_all, name) => String(values[name]));

/** @param {string} text @param {Values} [values] */
export function gettext(text, values = {}) {
  return fillPlaceholders(catalogue.gettext?.(text) ?? text, values);
}

/**
 * A text that depends on a number, which is `%(count)s` in it.
 * @param {string} singular @param {string} plural @param {number} count @param {Values} [values]
 */
export function ngettext(singular, plural, count, values = {}) {
  const text = catalogue.ngettext?.(singular, plural, count) ?? (count === 1 ? singular : plural);
  return fillPlaceholders(text, { count: formatNumber(count), ...values });
}

/** @param {number} value @returns {string} with the signs between digits that the language has */
export function formatNumber(value) {
  return value.toLocaleString(LANGUAGE);
}

/** A word at the beginning of a line. @param {string} word */
export function capitalize(word) {
  return word[0].toUpperCase() + word.slice(1);
}
