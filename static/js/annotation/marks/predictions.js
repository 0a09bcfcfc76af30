/**
 * Model outputs for the current node, if the project and the person show them, as suggestions to decide on; and
 * the annotators' objects, for adjudicators. In the images and the passage they are dashed and never selectable.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").Place} Place
 * @typedef {import("../document/types.js").Thing} Thing
 * @typedef {import("../document/types.js").Suggested & {by: string}} Open
 */
import { getLayer } from "../document/program.js";
import { formatValue } from "../document/words.js";
import { getOthersHere } from "./adjudication.js";

/**
 * A system's output at the node, with the marks that its relations connect, or the annotators' marks there.
 * @param {Store} store
 * @returns {Place[]}
 */
export function listOverlaidPlaces(store) {
  if (store.annotation.others) return getOthersHere(store)?.clusters ?? [];
  const marks = listUndecidedSuggestions(store).filter(({ value, ends }) => value === undefined && !ends);
  const ends = listSuggestedRelations(store).flatMap(({ open }) => open);
  return [...new Map([...marks, ...ends].map((each) => [each.id, each])).values()];
}

/** All suggestions at the current node. @param {Store} store @returns {Open[]} */
function listSuggestionsHere(store) {
  return listSuggestions(store, store.node);
}

/** @param {Store} store @param {number} node @returns {Open[]} */
function listSuggestions(store, node) {
  return (store.annotation.predictions ?? []).flatMap(({ system, revision, suggestions }) =>
    (suggestions[node] ?? []).map((each) => ({ ...each, by: `${system}@${revision}` })),
  );
}

/**
 * The marks that a suggested relation connects: each the person's own, or a suggestion that is still open.
 * Null if the person turned one of them down.
 * @param {Store} store @param {[string, string]} ends
 * @returns {{node: number, own?: Thing, open?: Open}[] | null}
 */
export function findEnds(store, ends) {
  /** @type {(id: string) => {node: number, own?: Thing, open?: Open}[]} */
  const findEnd = (id) => {
    for (const { index: node } of store.program.nodes) {
      const open = listSuggestions(store, node).find((each) => each.id === id);
      if (!open) continue;
      const { objects, rejected } = getLayer(store.document, node);
      const own =
        objects.find(({ suggested }) => suggested?.id === id) ?? objects.find((each) => isSame(each, open));
      if (own) return [{ node, own }];
      return rejected?.includes(id) ? [] : [{ node, open }];
    }
    return [];
  };
  const marks = ends.flatMap(findEnd);
  return marks.length === 2 ? marks : null;
}

/**
 * The suggested relations at the current node that the person has not decided on, with the places of their marks,
 * of which some are open themselves.
 * @param {Store} store @returns {{id: string, label?: string, places: Place[], open: Open[]}[]}
 */
export function listSuggestedRelations(store) {
  return listUndecidedSuggestions(store).flatMap(({ id, label, ends }) => {
    const marks = ends && findEnds(store, ends);
    if (!marks) return [];
    const places = marks.map(({ own, open }) => /** @type {Place} */ (own ?? open));
    return [{ id, label, places, open: marks.flatMap(({ open }) => open ?? []) }];
  });
}

const PLACE = /** @type {const} */ (["label", "image", "span", "box", "polygon", "point"]);

/** Return true if a person marked by hand exactly what a model suggests. @param {Thing} own @param {Open} open */
function isSame(own, open) {
  return PLACE.every((name) => JSON.stringify(own[name]) === JSON.stringify(open[name]));
}

/**
 * The suggestions at the current node that the person has not decided on.
 * @param {Store} store @returns {Open[]}
 */
export function listUndecidedSuggestions(store) {
  if (!store.predictionsShown || store.annotation.others) return [];
  const layer = getLayer(store.document, store.node);
  const decided = new Set([
    ...(layer.rejected ?? []),
    ...layer.objects.flatMap(({ suggested }) => (suggested ? [suggested.id] : [])),
  ]);
  return listSuggestionsHere(store).filter(
    ({ id, ends }) => !decided.has(id) && (!ends || findEnds(store, ends)),
  );
}

/**
 * The systems whose outputs can be shown, with their value of the current node.
 * @param {Store} store @returns {string[]}
 */
export function listSystems(store) {
  return (store.annotation.predictions ?? []).map((output) => {
    const { system, revision } = output;
    const value = findOutputHere(store, output)?.value;
    const name = revision ? `${system} (${revision})` : system;
    return value === undefined || value === null ? name : `${name}: ${formatValue(value)}`;
  });
}

/**
 * Return a model output at the current node, or at an equal one.
 * @param {Store} store @param {import("../document/types.js").Prediction} output
 */
function findOutputHere(store, output) {
  return (output.modules ?? []).find(
    (each) => store.program.nodes[each.index]?.representative === store.node,
  );
}
