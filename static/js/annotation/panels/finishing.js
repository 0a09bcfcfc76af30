/**
 * The foot of the page: the state of the current step, the way to the next one, and handing the item in.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {ReturnType<typeof import("../acts.js").createActs>} Acts
 */
import { listUnansweredQuestions } from "../document/program.js";
import { STATES, explainWhyNotDone, formatValue, getState } from "../document/words.js";
import { capitalize, gettext, ngettext } from "../page/language.js";
import { createButton, createElement, createSign } from "../page/markup.js";
import { LoggedOut, Refused } from "../page/site.js";
import { openDialog, waitUntilClosed } from "./dialogs.js";

/**
 * @param {Store} store @param {HTMLElement} root @param {Acts} acts
 * @param {ReturnType<typeof import("../page/site.js").createSite>} site
 * @param {ReturnType<typeof import("../document/queue.js").createQueue>} queue
 * @param {(text: string) => void} announce @param {(name: string) => string} getKeyFor
 */
export function createFinishing(store, root, acts, site, queue, announce, getKeyFor) {
  let busy = false;
  let asked = false;
  const login = /** @type {HTMLElement} */ (root.closest("#editor")).dataset.login;
  const message = createElement("p", { class: "foot-message", role: "alert", hidden: true });
  const back = createButton(
    "",
    () => acts.goBy(-1),
    {
      class: "button second step-button",
      "aria-label": gettext("Previous step"),
      title: gettext("Previous step"),
    },
    createSign("↑"),
  );
  const on = createButton(
    "",
    () => acts.goBy(1),
    { class: "button second step-button", "aria-label": gettext("Next step"), title: gettext("Next step") },
    createSign("↓"),
  );
  const states = /** @type {const} */ (["done", "nothing", "unsure"]).map((state) => ({
    state,
    button: createButton("", () => acts.setState(state), { class: `button second state-button ${state}` }),
  }));
  const open = createElement("span", { class: "still-open" });
  const settles = store.annotation.task === "adjudication";
  const submit = createButton(settles ? gettext("Set as gold") : gettext("Submit"), handIn, {
    class: "button submit",
  });
  const release = createButton(gettext("Release item"), giveBack, { class: "button plain" });
  const now = createElement("p", { class: "foot-now" });
  root.append(
    message,
    now,
    createElement(
      "div",
      { class: "foot-row" },
      createElement(
        "div",
        { class: "foot-steps", role: "group", "aria-label": gettext("This step") },
        back,
        ...states.map((each) => each.button),
        on,
      ),
      createElement("div", { class: "foot-submit" }, settles ? null : release, open, submit),
    ),
  );

  /** @param {string} text */
  function say(text) {
    message.textContent = text;
    message.hidden = !text;
  }
  acts.onObstacle = say;

  /** @param {number[]} steps */
  function formatOpenSteps(steps) {
    const labels = steps.map((index) => store.program.nodes[index].label).join(", ");
    return gettext("Still open: %(steps)s.", { steps: labels });
  }

  async function handIn() {
    if (!acts.canLeave()) return;
    const left = store.document.problem ? [] : store.open;
    if (left.length) {
      const [lacking] = listUnansweredQuestions(store.program, store.document, left[0]);
      store.go(left[0], lacking?.id);
      return say(
        lacking ? `${formatOpenSteps(left)} ${explainWhyNotDone(store, left[0])}` : formatOpenSteps(left),
      );
    }
    await runUnlessBusy(async () => {
      if (!(await queue.flush()))
        return say(
          gettext(
            "Not submitted: some changes are not saved yet. This browser keeps them. Try again when you are online.",
          ),
        );
      if (await askToCheckAgain()) return;
      const answer = await site.submit(store.revision);
      announce(gettext("Submitted."));
      leave(answer, gettext("Submitted. Thank you."));
    });
  }

  /** Ask once if the program contradicts the answer; true if the person wants to look again. */
  async function askToCheckAgain() {
    if (asked || store.mismatch !== true || store.document.problem) return false;
    asked = true;
    const values = { value: formatValue(store.values[0]), answer: formatValue(store.item.answer) };
    const dialog = openDialog(
      gettext("The results differ"),
      [
        createElement(
          "p",
          {},
          gettext(
            "The program gives %(value)s, but the expected answer is %(answer)s. If your objects are right, submit them: the answer or the program can be wrong.",
            values,
          ),
        ),
      ],
      [
        createElement("button", { class: "button", value: "", autofocus: true }, gettext("Check again")),
        createElement("button", { class: "button second", value: "submit" }, gettext("Submit anyway")),
      ],
    );
    return (await waitUntilClosed(dialog)) !== "submit";
  }

  async function giveBack() {
    await runUnlessBusy(async () => {
      if (!(await queue.flush())) return say(gettext("Not released: some changes are not saved yet."));
      leave(await site.release(), gettext("Item released. Your annotation remains saved."));
    });
  }

  /** @param {{next?: string | null} | null} answer @param {string} text */
  function leave(answer, text) {
    if (answer?.next) location.assign(answer.next);
    else store.lock(text);
  }

  /** @param {() => Promise<void>} doing */
  async function runUnlessBusy(doing) {
    if (busy) return;
    busy = true;
    say("");
    render();
    try {
      await doing();
    } catch (error) {
      await explain(error);
    } finally {
      busy = false;
      render();
    }
  }

  /** @param {unknown} error */
  async function explain(error) {
    if (error instanceof Refused && error.status === 422 && error.body?.nodes?.length) {
      store.go(error.body.nodes[0]);
      say(formatOpenSteps(error.body.nodes));
    } else if (error instanceof Refused && error.status === 409) {
      await queue.lookForChanges();
      say(gettext("Newer changes were saved elsewhere. Review them, then submit again."));
    } else {
      say(/** @type {Error} */ (error).message);
      if (error instanceof LoggedOut)
        message.append(
          " ",
          createElement("a", { href: login, target: "_blank" }, gettext("Log in in a new tab")),
        );
    }
  }

  function render() {
    const { role, label } = store.program.nodes[store.node];
    if (now.textContent !== label) now.textContent = label;
    const present = getState(store, store.node);
    const count = store.document.problem ? 0 : store.open.length;
    for (const { state, button } of states) {
      const { sign: mark, word } = STATES[state];
      const key = getKeyFor(state);
      if (!button.childElementCount)
        button.append(
          createSign(mark),
          createElement("span", {}, capitalize(word)),
          createElement("kbd", { "aria-hidden": "true" }, key),
        );
      button.setAttribute("aria-pressed", String(role !== "compute" && present === state));
      button.disabled = role === "compute" || Boolean(store.locked);
      // One button stands out: the next act.
      button.classList.toggle("second", state !== "done" || present === "done" || !count || button.disabled);
    }
    const index = store.walk.indexOf(store.node);
    back.disabled = index <= 0;
    on.disabled = index >= store.walk.length - 1;
    open.textContent = count
      ? ngettext("%(count)s step still open", "%(count)s steps still open", count)
      : store.hasOptionalLeft
        ? gettext("All required steps done")
        : gettext("All steps done");
    submit.classList.toggle("second", count > 0);
    submit.setAttribute("aria-disabled", String(busy || Boolean(store.locked)));
    submit.disabled = busy || Boolean(store.locked);
    release.disabled = submit.disabled;
  }

  store.subscribe((topics) => {
    if (topics.has("document") || topics.has("node")) say("");
    if (topics.has("document") || topics.has("node") || topics.has("status")) render();
  });
  render();
  return { handIn };
}
