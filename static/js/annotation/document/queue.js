/**
 * Sends unsaved operations, one request at a time: quick edits together, again after a failure, with the same
 * ids, and brings them together with what others have saved.
 *
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./rebase.js").Conflict} Conflict
 * @typedef {import("./rebase.js").Choice} Choice
 * @typedef {"saved" | "saving" | "offline" | "refused" | "merging" | "login" | "gone"} StatusKind
 * @typedef {{kind: StatusKind, count: number, detail: string, kept: boolean, refused: string}} Status `refused` is the id
 *   of the operation that the site does not take, if it names one
 */
import { gettext } from "../page/language.js";
import { LoggedOut, Refused, Unreachable } from "../page/site.js";
import { createOperationsBetween, findConflicts, mergeDocuments } from "./rebase.js";

const GATHER_MS = 250;
/** The annotation is assigned to nobody any more, or to somebody else. */
const ENDED = new Set([404, 410]);
const RETRY_MS = [1000, 2000, 4000, 8000, 15_000];
const LOGIN_MS = 5000; // after which a new login is looked for

/**
 * @param {Store} store
 * @param {ReturnType<typeof import("../page/site.js").createSite>} site
 * @param {ReturnType<typeof import("./unsaved.js").createUnsavedStore>} unsaved
 * @param {(found: Conflict[]) => Promise<Record<string, Choice>>} ask lets the person settle conflicts
 */
export function createQueue(store, site, unsaved, ask) {
  /** @type {Status} */
  let status = { kind: "saved", count: 0, detail: "", kept: true, refused: "" };
  let timer = 0;
  /** @type {Promise<void> | null} */
  let running = null;
  let failures = 0;
  let kept = true;
  let isLeaving = false;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(`annotation:${store.annotation.id}`) : null;

  /** @param {StatusKind} kind @param {string} [detail] @param {string} [refused] */
  function setStatus(kind, detail = "", refused = "") {
    status = { kind, count: store.pending.length, detail, kept, refused };
    store.tell("status");
  }

  /** @param {number} milliseconds */
  function runLater(milliseconds) {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds);
  }

  function run() {
    clearTimeout(timer);
    running ??= sendAll().finally(() => (running = null));
    return running;
  }

  async function sendAll() {
    while (store.pending.length && status.kind !== "gone") {
      if (!(await sendOnce())) return;
    }
    if (status.kind !== "gone") setStatus("saved");
  }

  /** @returns {Promise<boolean>} whether to go on */
  async function sendOnce() {
    const operations = store.startSending();
    if (status.kind !== "offline" && status.kind !== "login") setStatus("saving");
    try {
      const answer = await site.save(operations);
      failures = 0;
      if (hasOnlyOwnOperations(store.revision, answer)) {
        store.confirm(answer);
        for (const { id } of answer.saved) forget(id);
      } else await takeIn(); // these had arrived before, and others have saved since
      channel?.postMessage(answer.revision);
      return true;
    } catch (error) {
      return handleFailure(error);
    }
  }

  /** @param {unknown} error @returns {Promise<boolean>} whether to go on */
  async function handleFailure(error) {
    if (error instanceof Unreachable) {
      setStatus("offline", error.message);
      runLater(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
      return false;
    }
    if (error instanceof LoggedOut) {
      setStatus("login", error.message);
      runLater(LOGIN_MS);
      return false;
    }
    if (!(error instanceof Refused)) throw error;
    if (error.status === 409 && error.body?.document) {
      await joinWith(error.body, error.body.operations);
      return true;
    }
    if (ENDED.has(error.status)) {
      const reason =
        error.status === 404
          ? gettext("You have no access to this item any more. A manager may have given it to somebody else, or ended your membership. Changes that are not saved stay in this browser.")
          : error.message;
      setStatus("gone", reason);
      store.lock(reason);
      return false;
    }
    const isPending = store.pending.some((operation) => operation.id === error.body?.operation);
    setStatus("refused", error.message, isPending ? error.body.operation : "");
    return false;
  }

  /**
   * Go on from what the site holds now. Operations of one's own among what was saved since are confirmed.
   * @param {{revision: number, document: any, values: any[], runs: any[][], mismatch: boolean | null}} theirs
   * @param {any[]} since operations or history entries, oldest first
   */
  async function joinWith(theirs, since) {
    const entries = since.map(readEntry);
    const saved = new Set(entries.map((entry) => entry.id));
    for (const id of saved) forget(id);
    const mine = store.pending.filter((operation) => !saved.has(operation.id));
    const others = entries.filter((entry) => !store.pending.some((operation) => operation.id === entry.id));
    // A revision that no operation made is one of changed labels, which come with the page.
    const isRelabelled = theirs.revision - store.revision > entries.length;
    const conflicts = findConflicts(
      store.program,
      store.document,
      theirs.document,
      mine,
      others.map((entry) => entry.operation),
    );
    let left = mine;
    if (conflicts.length) {
      setStatus("merging");
      const choices = await ask(conflicts);
      const wanted = mergeDocuments(store.program, store.document, theirs.document, mine, conflicts, choices);
      left = createOperationsBetween(store.program, theirs.document, wanted, theirs.revision);
      for (const operation of left) unsaved.keep(operation);
      for (const { id } of mine) unsaved.drop(id);
    }
    store.rebase(theirs, entries, left);
    for (const operation of store.pending) unsaved.keep(operation);
    if (others.length) queue.onOthers(others.length, conflicts.length);
    if (isRelabelled) store.askToReload();
  }

  /**
   * Drop what the site has. When the page is being left, the next one may have been made before the site had it,
   * and takes it up: the site applies an id once.
   * @param {string} id
   */
  function forget(id) {
    if (!isLeaving) unsaved.drop(id);
  }

  /** Get what the site holds now, and go on from there. */
  async function takeIn() {
    const annotation = await site.load();
    store.comments = annotation.comments;
    if (annotation.revision <= store.revision) return store.tell("comments");
    const since = annotation.history.filter((/** @type {any} */ entry) => entry.revision > store.revision);
    await joinWith(annotation, since);
  }

  /** Look whether somebody else has saved something, and take it in. */
  async function lookForChanges() {
    if (running || status.kind === "gone") return;
    running = (async () => {
      try {
        await takeIn();
      } catch (error) {
        // Nothing was to be saved, so only the end of the annotation matters.
        if (error instanceof Refused && ENDED.has(error.status)) await handleFailure(error);
      }
    })().finally(() => {
      running = null;
      if (store.pending.length) run();
    });
    await running;
  }

  const queue = {
    get status() {
      return status;
    },
    /** Called after operations of others were taken in. */
    onOthers: (/** @type {number} */ _others, /** @type {number} */ _conflicts) => {},
    /** Send what is unsaved now. Returns whether all of it is saved. */
    async flush() {
      await run();
      return store.pending.length === 0;
    },
    lookForChanges,
    /** Take back what the site refused. @param {string[]} ids all unsaved ones if empty */
    giveUp(ids) {
      const gone = new Set(ids.length ? ids : store.pending.map((operation) => operation.id));
      for (const id of gone) unsaved.drop(id);
      store.giveUp(gone);
      run();
    },
    /** Begin: take up what an earlier page has left, and follow the network and the page. */
    start() {
      for (const { id } of store.takeUp(unsaved.takeUp())) unsaved.drop(id);
      if (store.pending.length) {
        setStatus("saving");
        run();
      }
      addEventListener("online", run);
      addEventListener(
        "offline",
        () => store.pending.length && setStatus("offline", gettext("You are offline.")),
      );
      addEventListener("pagehide", leave);
      document.addEventListener("visibilitychange", () => (document.hidden ? leave() : lookForChanges()));
      if (channel) channel.onmessage = ({ data }) => data > store.revision && lookForChanges();
      addEventListener("beforeunload", (event) => {
        isLeaving = true;
        if (store.pending.length && !kept) event.preventDefault();
      });
    },
  };

  function leave() {
    if (store.pending.length) site.saveInPassing(store.startSending());
  }

  store.onPending = (operation) => {
    isLeaving = false; // an edit shows that the page stays, as after a download or a warning
    kept = unsaved.keep(operation) && kept;
    const waits = ["offline", "login", "refused"].includes(status.kind);
    setStatus(waits ? status.kind : "saving", status.detail, status.refused);
    if (status.kind === "saving") runLater(GATHER_MS);
  };

  return queue;
}

/**
 * Return true if only our operations happened since a revision. An operation that is sent again is
 * answered again, whatever came after it.
 * @param {number} revision
 * @param {{revision: number, saved: {revision: number}[]}} answer
 */
function hasOnlyOwnOperations(revision, answer) {
  return answer.revision - revision === answer.saved.filter((each) => each.revision > revision).length;
}

/** @param {any} saved an operation, or an entry of the history @returns {import("./types.js").Entry} */
function readEntry(saved) {
  if (saved.operation) return saved;
  return {
    id: saved.id,
    revision: saved.revision ?? null,
    operation: saved,
    inverse: saved.inverse ?? null,
    undoes: saved.undoes ?? null,
  };
}
