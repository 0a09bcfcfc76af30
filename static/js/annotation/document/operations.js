/**
 * Operations on a document: applying, inverting, joining and comparing them. Documents and layers never change
 * in place.
 *
 * @typedef {import("./types.js").Document} Document
 * @typedef {import("./types.js").Layer} Layer
 * @typedef {import("./types.js").Thing} Thing
 * @typedef {import("./types.js").Change} Change
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./program.js").Program} Program
 */
import { findThing, getLayer } from "./program.js";

/**
 * The document after a change. References to something that is gone go with it, as on the site.
 * @param {Program} program @param {Document} document @param {Change} change @returns {Document}
 */
export function apply(program, document, change) {
  const changes = [change, ...(change.also ?? [])];
  const after = changes.reduce(applyToLayer, document);
  const whole = changes.some((each) => each.remove?.length) ? removeHangingReferences(program, after) : after;
  return change.problem === undefined ? whole : { ...whole, problem: change.problem };
}

/** @param {Document} document @param {Change} change @returns {Document} */
function applyToLayer(document, change) {
  if (!change.put && !change.remove && ![change.state, change.note, change.rejected].some((each) => each !== undefined))
    return document;
  const layer = { ...getLayer(document, change.node) };
  if (change.remove || change.put) layer.objects = updateObjects(layer.objects, change);
  if (change.note !== undefined) layer.note = change.note;
  if (change.rejected !== undefined) layer.rejected = change.rejected;
  if (change.state !== undefined) layer.state = change.state;
  else if (layer.state === "nothing" && layer.objects.length) layer.state = "done";
  return { ...document, layers: { ...document.layers, [change.node]: layer } };
}

/**
 * Take out choices and relations of what is gone, and links to it, bottom-up.
 * @param {Program} program @param {Document} document @returns {Document}
 */
export function removeHangingReferences(program, document) {
  for (const node of program.walk) {
    const layer = getLayer(document, node);
    if (!layer.objects.length) continue;
    const below = program.getLayersBelow(node).map((index) => getLayer(document, index));
    const isBelow = (/** @type {string} */ id) => below.some((each) => findThing(each, id));
    const objects = layer.objects
      .filter(
        (thing) => (thing.ref === undefined || isBelow(thing.ref)) && (thing.ends?.every(isBelow) ?? true),
      )
      .map((thing) =>
        (thing.links?.every(isBelow) ?? true) ? thing : { ...thing, links: thing.links?.filter(isBelow) },
      );
    if (
      objects.length === layer.objects.length &&
      objects.every((thing, index) => thing === layer.objects[index])
    )
      continue;
    document = { ...document, layers: { ...document.layers, [node]: { ...layer, objects } } };
  }
  return document;
}

/** @param {Thing[]} objects @param {Change} change */
function updateObjects(objects, { put = [], remove = [] }) {
  const gone = new Set(remove);
  const fresh = new Map(put.map((thing) => [thing.id, thing]));
  const kept = [];
  for (const thing of objects) {
    const replacement = fresh.get(thing.id);
    if (replacement) kept.push(replacement);
    else if (!gone.has(thing.id)) kept.push(thing);
    fresh.delete(thing.id);
  }
  return [...kept, ...fresh.values()];
}

/**
 * The change that leads back.
 * @param {Program} program
 * @param {Document} before
 * @param {Document} after
 * @param {Change} change
 * @returns {Change}
 */
export function computeInverse(program, before, after, change) {
  const [first = { node: change.node }, ...also] = computeChanges(program, after, before);
  /** @type {Change} */
  const back = also.length ? { ...first, also } : first;
  return change.problem === undefined ? back : { ...back, problem: before.problem ?? null };
}

/**
 * One change for two made right after each other, if both only replace the same object (a box pushed by
 * the arrow keys) or only write the same note; null if they stay apart.
 * @param {Change} first @param {Change} second @returns {Change | null}
 */
export function joinChanges(first, second) {
  if (first.node !== second.node || first.undoes || second.undoes) return null;
  const joinFieldNames = (/** @type {Change} */ change) =>
    Object.keys(change)
      .filter((key) => !OWN.has(key))
      .sort()
      .join();
  if (joinFieldNames(first) !== joinFieldNames(second)) return null;
  if (joinFieldNames(second) === "note") return { ...first, note: second.note };
  const alone = joinFieldNames(second) === "put" && first.put?.length === 1 && second.put?.length === 1;
  if (alone && first.put?.[0].id === second.put?.[0].id) return { ...first, put: second.put };
  return null;
}

const OWN = new Set(["id", "base", "node", "undoes"]);

/**
 * Names of what a change says something about: two changes that share none cannot contradict each other.
 * @param {Change} change @returns {string[]}
 */
export function listTouchedNames(change) {
  const ids = [...(change.put ?? []).map((thing) => thing.id), ...(change.remove ?? [])];
  const names = ids.map((id) => `object/${change.node}/${id}`);
  if (change.state !== undefined) names.push(`state/${change.node}`);
  if (change.note !== undefined) names.push(`note/${change.node}`);
  if (change.rejected !== undefined) names.push(`rejected/${change.node}`);
  if (change.problem !== undefined) names.push("problem");
  return [...names, ...(change.also ?? []).flatMap(listTouchedNames)];
}

/**
 * Names of the objects below that a change refers to by choices and links.
 * @param {Program} program @param {Change} change @returns {string[]}
 */
export function listNeededNames(program, change) {
  const ids = (change.put ?? []).flatMap((thing) => [
    ...(thing.ref === undefined ? [] : [thing.ref]),
    ...(thing.links ?? []),
    ...(thing.ends ?? []),
  ]);
  const names = program
    .getLayersBelow(change.node)
    .flatMap((layer) => ids.map((id) => `object/${layer}/${id}`));
  return [...names, ...(change.also ?? []).flatMap((each) => listNeededNames(program, each))];
}

/**
 * Return the part of a document with one of the names of `listTouchedNames`.
 * @param {Document} document @param {string} name
 */
export function getNamedPart(document, name) {
  const [kind, node, id] = splitName(name);
  if (kind === "problem") return document.problem ?? undefined;
  const layer = getLayer(document, node);
  if (kind === "rejected") return layer.rejected ?? [];
  return kind === "object" ? findThing(layer, id) : kind === "state" ? layer.state : layer.note;
}

/**
 * The change that makes a document hold a value under a name.
 * @param {string} name
 * @param {any} value
 * @returns {Change}
 */
export function createChange(name, value) {
  const [kind, node, id] = splitName(name);
  if (kind === "problem") return { node: 0, problem: value ?? null };
  if (kind === "object") return value === undefined ? { node, remove: [id] } : { node, put: [value] };
  if (kind === "rejected") return { node, rejected: value };
  return kind === "state" ? { node, state: value } : { node, note: value };
}

/** @param {string} name @returns {[string, number, string]} */
export function splitName(name) {
  const [kind, node = "0", ...rest] = name.split("/");
  return [kind, Number(node), rest.join("/")];
}

/**
 * Return true if two JSON values are equal, in any order of keys.
 * @param {unknown} first @param {unknown} second @returns {boolean}
 */
export function isEqual(first, second) {
  if (first === second) return true;
  if (typeof first !== "object" || typeof second !== "object" || !first || !second) return false;
  const [keys, others] = [Object.keys(first), Object.keys(second)];
  const [left, right] = /** @type {Record<string, unknown>[]} */ ([first, second]);
  return keys.length === others.length && keys.every((key) => key in second && isEqual(left[key], right[key]));
}

/**
 * The changes that lead from one document to another, layer by layer, children before their parents. The
 * statement about the program is left out.
 * @param {Program} program @param {Document} before @param {Document} after @returns {Change[]}
 */
export function computeChanges(program, before, after) {
  /** @type {Change[]} */
  const changes = [];
  for (const node of program.walk) {
    const [old, now] = [getLayer(before, node), getLayer(after, node)];
    if (old === now) continue;
    const put = now.objects.filter((thing) => !isEqual(thing, findThing(old, thing.id)));
    const remove = old.objects.filter((thing) => !findThing(now, thing.id)).map((thing) => thing.id);
    /** @type {Change} */
    const change = { node };
    if (put.length) change.put = put;
    if (remove.length) change.remove = remove;
    if (old.state !== now.state) change.state = now.state;
    if ((old.note ?? "") !== (now.note ?? "")) change.note = now.note ?? "";
    if (!isEqual(old.rejected ?? [], now.rejected ?? [])) change.rejected = now.rejected ?? [];
    if (listTouchedNames(change).length) changes.push(change);
  }
  return changes;
}
