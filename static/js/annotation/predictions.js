/**
 * Model outputs for the current node, if the project and the person show them; and
 * the annotators' objects, for adjudicators. They are dashed and never selectable.
 *
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").Place} Place
 */
import { othersHere } from "./adjudication.js";
import { valueText } from "./words.js";

const LIKELY = 0.5;

/**
 * Proposals, or runs of tokens, that some system takes for the node's output.
 * @param {Store} store
 * @returns {Place[]}
 */
export function overlay(store) {
  if (store.annotation.others) return othersHere(store)?.clusters ?? [];
  if (!store.predictionsShown || !store.annotation.predictions) return [];
  return store.annotation.predictions.flatMap((output) => {
    const own = ownOutput(store, output);
    if (!own) return [];
    return output.proposals?.length ? boxes(output.proposals, own.probabilities ?? []) : runs(own);
  });
}

/**
 * @param {number[][][]} proposals of each image
 * @param {number[]} probabilities of all of them
 * @returns {Place[]}
 */
function boxes(proposals, probabilities) {
  const all = proposals.flatMap((each, image) =>
    each.map((box) => ({ image, box: /** @type {any} */ (box) })),
  );
  return all
    .map((place, index) => ({ ...place, probability: probabilities[index] }))
    .filter(({ probability }) => probability > LIKELY);
}

/**
 * Tokens that are likely, or that get at least half of the highest attention, joined where they touch.
 * @param {{probabilities?: number[], attention?: number[]}} output @returns {Place[]}
 */
function runs({ probabilities = [], attention = [] }) {
  const highest = attention.reduce((most, each) => Math.max(most, each), 0);
  const weights = probabilities.length
    ? probabilities.map((each) => each > LIKELY)
    : attention.map((each) => each > 0 && each >= highest / 2);
  /** @type {[number, number][]} */
  const found = [];
  weights.forEach((taken, token) => {
    const last = found.at(-1);
    if (taken && last?.[1] === token) last[1] = token + 1;
    else if (taken) found.push([token, token + 1]);
  });
  return found.map((tokens) => ({ tokens }));
}

/**
 * The systems whose outputs can be shown, with their value of the current node.
 * @param {Store} store @returns {string[]}
 */
export function systems(store) {
  return (store.annotation.predictions ?? []).map((output) => {
    const { system, revision } = output;
    const value = ownOutput(store, output)?.value;
    const name = revision ? `${system} (${revision})` : system;
    return value === undefined || value === null ? name : `${name}: ${valueText(value)}`;
  });
}

/**
 * Return a model output at the current node, or at an equal one.
 * @param {Store} store @param {import("./types.js").Prediction} output
 */
function ownOutput(store, output) {
  return (output.modules ?? []).find(
    (each) => store.program.nodes[each.index]?.representative === store.node,
  );
}
