/**
 * Bringing one's unsaved operations together with what somebody else (or another tab) has saved meanwhile.
 * Changes of different objects merge automatically; for the others a person chooses, and both stay until then.
 *
 * @typedef {import("./types.js").Document} Document
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./program.js").Program} Program
 * @typedef {{name: string, mine: any, theirs: any}} Conflict
 * @typedef {"mine" | "theirs" | "both"} Choice
 */
import { createObjectId, createOperationId } from "./identifiers.js";
import {
  apply,
  computeChanges,
  createChange,
  getNamedPart,
  isEqual,
  listNeededNames,
  listTouchedNames,
  removeHangingReferences,
  splitName,
} from "./operations.js";

/**
 * Things that both sides changed to different ends, and things that one side deleted and the other refers to.
 * @param {Program} program @param {Document} mine @param {Document} theirs @param {Operation[]} myOperations
 * @param {Operation[]} theirOperations @returns {Conflict[]}
 */
export function findConflicts(program, mine, theirs, myOperations, theirOperations) {
  const [here, there] = [myOperations, theirOperations].map(
    (operations) => new Set(operations.flatMap(listTouchedNames)),
  );
  const names = new Set([...here].filter((name) => there.has(name)));
  for (const operation of [...myOperations, ...theirOperations]) {
    for (const name of listNeededNames(program, operation)) {
      const [kept, gone] = here.has(name) ? [theirs, mine] : [mine, theirs];
      const disputed = here.has(name) !== there.has(name);
      if (disputed && getNamedPart(kept, name) !== undefined && getNamedPart(gone, name) === undefined)
        names.add(name);
    }
  }
  return [...names]
    .map((name) => ({ name, mine: getNamedPart(mine, name), theirs: getNamedPart(theirs, name) }))
    .filter(({ name, mine, theirs }) => !isEqual(mine, theirs) && splitName(name)[0] !== "rejected");
}

/** Return true if both versions of a conflict can be kept. @param {Conflict} conflict */
export function canKeepBoth({ name, mine, theirs }) {
  return (
    splitName(name)[0] === "object" &&
    Boolean(mine && theirs) &&
    mine.ref === undefined &&
    theirs.ref === undefined
  );
}

/**
 * The document that a person wants after choosing: theirs, with all of mine that is no conflict, and the
 * choices. Choices from and links to something that is now gone go with it.
 * @param {Program} program @param {Document} mine @param {Document} theirs @param {Operation[]} myOperations
 * @param {Conflict[]} conflicts @param {Record<string, Choice>} choices @returns {Document}
 */
export function mergeDocuments(program, mine, theirs, myOperations, conflicts, choices) {
  const disputed = new Set(conflicts.map((conflict) => conflict.name));
  let document = theirs;
  for (const name of new Set(myOperations.flatMap(listTouchedNames))) {
    if (splitName(name)[0] === "rejected") {
      const rejected = [theirs, mine].flatMap((side) => /** @type {string[]} */ (getNamedPart(side, name)));
      document = apply(program, document, createChange(name, [...new Set(rejected)]));
    } else if (!disputed.has(name))
      document = apply(program, document, createChange(name, getNamedPart(mine, name)));
  }
  for (const { name, mine: wanted } of conflicts) {
    if (choices[name] === "mine") document = apply(program, document, createChange(name, wanted));
    if (choices[name] === "both")
      document = apply(program, document, createChange(name, { ...wanted, id: createObjectId() }));
  }
  return removeHangingReferences(program, document);
}

/**
 * The operation that leads from one document to another; none if they are the same.
 * @param {Program} program @param {Document} before @param {Document} after @param {number} base
 * @returns {Operation[]}
 */
export function createOperationsBetween(program, before, after, base) {
  const [first, ...also] = computeChanges(program, before, after);
  const stated = isEqual(before.problem ?? null, after.problem ?? null)
    ? {}
    : { problem: after.problem ?? null };
  if (!first && !("problem" in stated)) return [];
  return [
    { id: createOperationId(), base, ...(first ?? { node: 0 }), ...(also.length ? { also } : {}), ...stated },
  ];
}
