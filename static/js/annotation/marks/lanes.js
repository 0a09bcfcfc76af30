/**
 * The line of each span under the text, so that spans over each other stay apart, and the look of every token
 * that follows from it. Pure.
 */

/** Lines that the text has room for; deeper overlaps share the last one. */
export const LANES = 6;

/**
 * @template {{range: [number, number]}} S
 * @param {S[]} spans @returns {(S & {lane: number})[]} from left to right, each on the lowest free line
 */
export function assignLanes(spans) {
  /** @type {number[]} where the last span on each line ends */
  const ends = [];
  return [...spans]
    .sort((first, second) => first.range[0] - second.range[0] || second.range[1] - first.range[1])
    .map((span) => {
      let lane = ends.findIndex((end) => end <= span.range[0]);
      if (lane < 0) lane = ends.length;
      ends[lane] = span.range[1];
      return { ...span, lane: Math.min(lane, LANES - 1) };
    });
}

/**
 * Class names of every token, sparse for those without a span, and how many lines are in use.
 * @param {number} tokens @param {{range: [number, number], look: string, selected: boolean}[]} spans
 * @returns {{classes: string[], lines: number}}
 */
export function computeTokenClasses(tokens, spans) {
  /** @type {string[]} */
  const classes = new Array(tokens);
  let lines = 0;
  for (const {
    range: [start, end],
    look,
    lane,
    selected,
  } of assignLanes(spans)) {
    lines = Math.max(lines, lane + 1);
    for (let token = start; token < Math.min(end, tokens); token += 1) {
      const last = token === end - 1 ? ` end-${lane}` : "";
      classes[token] = `${classes[token] ?? ""} ${look}-${lane}${last}${selected ? " in-selected" : ""}`;
    }
  }
  return { classes, lines };
}
