/**
 * The state of the editor: what the site has confirmed, what is still to be saved, and where the person is.
 * Views read it and hear of every change; every change of the document goes through `edit`.
 *
 * @typedef {import("./types.js").Annotation} Annotation
 * @typedef {import("./types.js").Change} Change
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./types.js").Entry} Entry
 * @typedef {import("./types.js").Document} Document
 * @typedef {"document" | "node" | "object" | "values" | "history" | "comments" | "view" | "status" | "keys"} Topic
 * @typedef {ReturnType<typeof createStore>} Store
 */
import { gettext } from "../page/language.js";
import { buildStacks } from "./history.js";
import { createOperationId } from "./identifiers.js";
import { apply, computeInverse, isEqual, joinChanges } from "./operations.js";
import {
  createProgram,
  findHiddenLayers,
  findThing,
  getLayer,
  isMissingAnswers,
  isOpen,
  listObjectsInPlay,
} from "./program.js";

const JOIN_MS = 1200;
const MOST_SENT = 200;
/** The fields by which an object makes a statement about the item. @type {(keyof import("./types.js").Thing)[]} */
const STATED = ["ends", "image", "box", "polygon", "point", "span", "label", "answers", "value"];

/** @param {Annotation} annotation */
export function createStore(annotation) {
  const program = createProgram(annotation.program);
  /** @type {Set<(topics: Set<Topic>) => void>} */
  const listeners = new Set();
  let confirmed = annotation.document;
  let document = annotation.document;
  /** @type {Operation[]} made here and not confirmed yet, oldest first */
  let pending = [];
  /**
   * @type {Set<string>} ids that the site may have applied already, whose operations must not change any more
   */
  const sent = new Set();
  /** @type {Map<string, Change>} */
  const inverses = new Map();
  let history = annotation.history;
  let revision = annotation.revision;
  let lastEdit = 0;
  let playing = {
    document: /** @type {Document | null} */ (null),
    node: -1,
    objects: /** @type {import("./types.js").InPlay[]} */ ([]),
  };
  let locked = explainLock(annotation.status);
  let isOutdated = false;

  const store = {
    annotation,
    program,
    item: annotation.item,
    values: annotation.values,
    runs: annotation.runs,
    mismatch: annotation.mismatch,
    comments: annotation.comments,
    keys: annotation.keys,
    node: findFirstStep(annotation, program, listOpenSteps(annotation.document)[0]),
    /** @type {string | null} */
    object: null,
    predictionsShown: false,
    /** Called with an operation that was added or has changed, to keep and send it. */
    onPending: (/** @type {Operation} */ _operation) => {},

    get document() {
      return document;
    },
    get revision() {
      return revision;
    },
    get pending() {
      return pending;
    },
    /** Why nothing can be changed; empty while it can. */
    get locked() {
      return locked;
    },
    /** True if a manager has changed the labels since the page was loaded. */
    get isOutdated() {
      return isOutdated;
    },
    /** The objects that can be edited at the current node. @returns {import("./types.js").InPlay[]} */
    get objects() {
      if (playing.document !== document || playing.node !== store.node)
        playing = { document, node: store.node, objects: listObjectsInPlay(program, document, store.node) };
      return playing.objects;
    },
    get open() {
      return listOpenSteps(document);
    },
    /** True if a step that may stay open is still untouched. @returns {boolean} */
    get hasOptionalLeft() {
      return program.isPlain && store.walk.some((index) => isOpen(document, index));
    },
    /** The steps in the order of work that answers do not hide. @returns {number[]} */
    get walk() {
      const hidden = findHiddenLayers(program, document);
      return hidden.size ? program.walk.filter((index) => !hidden.has(index)) : program.walk;
    },

    /** @param {(topics: Set<Topic>) => void} listener */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    /** @param {...Topic} topics */
    tell(...topics) {
      for (const listener of listeners) listener(new Set(topics));
    },

    /** @param {string} why */
    lock(why) {
      locked = why;
      store.tell("document", "status");
    },

    /** Ask the person to load the page again, which has old labels. */
    askToReload() {
      isOutdated = true;
      store.tell("status");
    },

    /** @param {number} index of any node; its representative is gone to @param {string | null} [object] */
    go(index, object = null) {
      if (findHiddenLayers(program, document).has(index)) return;
      store.node = program.nodes[index].representative;
      store.object = object;
      store.tell("node", "object");
    },

    /** @param {string | null} id */
    select(id) {
      if (store.object === id) return;
      store.object = id;
      store.tell("object");
    },

    /**
     * Change the document: one act, that one undo takes back.
     * @param {Change} change @param {string | null} [object] to select with it, in place of what is selected
     * @returns {boolean} false if nothing may be changed
     */
    edit(change, object) {
      if (locked) return false;
      const now = Date.now();
      const operation = addOperation(noteChangedSuggestions(change), now - lastEdit < JOIN_MS);
      lastEdit = now;
      if (object !== undefined) store.object = object;
      forgetGone();
      store.onPending(operation);
      store.tell("document", "history", "object", "values");
      return true;
    },

    /** @returns {boolean} whether there was anything to take back */
    undo: () => takeBack("undo"),
    redo: () => takeBack("redo"),
    /** The changes that can be undone and redone. */
    get steps() {
      return buildStacks([...history, ...pending.map(createEntry)]);
    },

    /** The operations to send now. From here on they stay as they are: an unanswered one may have arrived. */
    startSending() {
      const batch = pending.slice(0, MOST_SENT);
      for (const { id } of batch) sent.add(id);
      return batch;
    },

    /**
     * @param {{revision: number, values: any[], runs: any[][], mismatch: boolean | null, saved: {id: string, revision: number, inverse: Change}[]}} answer
     */
    confirm(answer) {
      const saved = new Map(answer.saved.map((each) => [each.id, each]));
      for (const operation of pending) {
        const stored = saved.get(operation.id);
        if (!stored) continue;
        confirmed = apply(program, confirmed, operation);
        history = [
          ...history,
          {
            ...createEntry(operation),
            revision: stored.revision,
            inverse: stored.inverse ?? inverses.get(operation.id),
          },
        ];
      }
      pending = pending
        .filter((operation) => !saved.has(operation.id))
        .map((operation) => ({ ...operation, base: answer.revision }));
      revision = answer.revision;
      store.values = answer.values;
      store.runs = answer.runs;
      store.mismatch = answer.mismatch;
      store.tell("values", "history");
    },

    /**
     * Go on from another state of the site: with one's own unsaved operations on top, all on its revision.
     * @param {{revision: number, document: Document, values: any[], runs: any[][], mismatch: boolean | null}} theirs
     * @param {Entry[]} entries what was saved since @param {Operation[]} operations one's own
     */
    rebase(theirs, entries, operations) {
      const knownIds = new Set(history.map((entry) => entry.id));
      for (const entry of entries) {
        // An answer that names no inverse leaves it to be read from the document that the operation met.
        const before = confirmed;
        confirmed = apply(program, before, entry.operation);
        entry.inverse ??= computeInverse(program, before, confirmed, entry.operation);
      }
      history = [...history, ...entries.filter((entry) => !knownIds.has(entry.id))];
      confirmed = theirs.document;
      revision = theirs.revision;
      store.values = theirs.values;
      store.runs = theirs.runs;
      store.mismatch = theirs.mismatch;
      document = confirmed;
      pending = operations.map((operation) => ({ ...operation, base: revision }));
      for (const operation of pending) put(operation);
      forgetGone();
      store.tell("document", "history", "object", "values", "comments");
    },

    /** Take up operations that were kept in the browser. @param {Operation[]} operations */
    takeUp(operations) {
      const saved = new Set(history.map((entry) => entry.id));
      pending = operations.filter((operation) => !saved.has(operation.id));
      for (const operation of pending) {
        sent.add(operation.id);
        put(operation);
      }
      return operations.filter((operation) => saved.has(operation.id));
    },

    /** Give up operations that the site refuses. @param {Set<string>} ids */
    giveUp(ids) {
      const left = pending.filter((operation) => !ids.has(operation.id));
      store.rebase(
        { revision, document: confirmed, values: store.values, runs: store.runs, mismatch: store.mismatch },
        [],
        left,
      );
    },
  };

  /** Steps that a person has to say something about. @param {Document} present */
  function listOpenSteps(present) {
    const hidden = findHiddenLayers(program, present);
    const asked = new Set(program.asked);
    return program.walk.filter(
      (index) =>
        !hidden.has(index) &&
        ((asked.has(index) && isOpen(present, index)) || isMissingAnswers(program, present, index)),
    );
  }

  /**
   * @param {Change} change
   * @param {boolean} canJoin whether it may become part of the last operation
   * @returns {Operation}
   */
  function addOperation(change, canJoin) {
    const last = pending.at(-1);
    // The change that made an object stays an act of its own: to take back the next one leaves the object there.
    const isJoinable = canJoin && last && !sent.has(last.id) && !inverses.get(last.id)?.remove;
    const joinedChange = isJoinable ? joinChanges(last, change) : null;
    if (joinedChange) {
      pending = [...pending.slice(0, -1), /** @type {Operation} */ (joinedChange)];
      document = apply(program, document, change);
    } else {
      pending = [...pending, { id: createOperationId(), base: pending[0]?.base ?? revision, ...change }];
      put(pending[pending.length - 1]);
    }
    return pending[pending.length - 1];
  }

  /**
   * Note on objects from a model's suggestion that a person has changed them.
   * @param {Change} change @returns {Change}
   */
  function noteChangedSuggestions(change) {
    if (change.undoes || !change.put?.some((thing) => thing.suggested)) return change;
    const put = change.put.map((thing) => {
      const old = findThing(getLayer(document, change.node), thing.id);
      const stays =
        !old?.suggested || !thing.suggested || STATED.every((name) => isEqual(old[name], thing[name]));
      return stays ? thing : { ...thing, suggested: { .../** @type {any} */ (thing.suggested), changed: true } };
    });
    return { ...change, put };
  }

  /** Put an operation on top of the document. @param {Operation} operation */
  function put(operation) {
    const before = document;
    document = apply(program, before, operation);
    inverses.set(operation.id, computeInverse(program, before, document, operation));
  }

  function forgetGone() {
    const condition = program.conditions.get(store.node);
    if (condition && findHiddenLayers(program, document).has(store.node)) store.go(condition.node);
    if (store.object !== null && !store.objects.some((each) => each.id === store.object)) store.object = null;
  }

  /** @param {Operation} operation @returns {Entry} */
  function createEntry(operation) {
    const back = /** @type {Change} */ (inverses.get(operation.id));
    return { id: operation.id, revision: null, operation, inverse: back, undoes: operation.undoes ?? null };
  }

  /** @param {"undo" | "redo"} which @returns {boolean} */
  function takeBack(which) {
    const last = store.steps[which].at(-1);
    if (!last || !store.edit({ ...last.inverse, undoes: last.id })) return false;
    const { node, put: back, problem } = last.inverse;
    if (problem === undefined && node !== store.node) store.go(node);
    const shown = back?.at(-1)?.id;
    if (shown && store.objects.some((each) => each.id === shown)) store.select(shown);
    return true;
  }

  return store;
}

/**
 * The step to begin with: one that a reviewer asked to change, then one that is open. If all are done, it is
 * the result, and in returned work the first step, because the result is nothing to change.
 * @param {Annotation} annotation @param {ReturnType<typeof createProgram>} program @param {number} [open]
 * @returns {number}
 */
function findFirstStep({ status, comments }, program, open) {
  const isReturned = status === "returned";
  const asked = comments.find((comment) => isReturned && !comment.resolved && comment.node !== null);
  return asked?.node ?? open ?? program.walk.at(program.isPlain || isReturned ? 0 : -1) ?? 0;
}

/** @param {string} status @returns {string} why an annotation of that status is read-only */
function explainLock(status) {
  return EDITABLE.has(status)
    ? ""
    : gettext("This annotation is %(status)s and read-only.", { status: LOCKED[status] ?? status });
}

/** @type {Record<string, string>} */
const LOCKED = {
  submitted: gettext("submitted"),
  "in review": gettext("in review"),
  accepted: gettext("accepted"),
};

/** The first edit resumes an expired or released annotation, if the item wants annotators. */
const EDITABLE = new Set(["reserved", "returned", "expired", "released"]);
