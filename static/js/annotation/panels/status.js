/**
 * The save status: one line that is always visible, and a notice if a person has to act.
 *
 * @typedef {import("../document/store.js").Store} Store
 */
import { gettext, ngettext } from "../page/language.js";
import { createButton, createElement, createSign } from "../page/markup.js";

const SIGNS = { saved: "✓", saving: "↑", offline: "⇡", refused: "!", login: "!", merging: "⇄", gone: "!" };

/**
 * @param {Store} store @param {ReturnType<typeof import("../document/queue.js").createQueue>} queue
 * @param {ReturnType<typeof import("../page/site.js").createSite>} site
 * @param {HTMLElement} line shows the state @param {HTMLElement} notice what asks for an act
 * @param {(text: string) => void} announce @param {DOMStringMap} page what the site says of the page
 */
export function createStatus(store, queue, site, line, notice, announce, page) {
  let announced = "";
  let noticed = "";

  function formatStatus() {
    const { kind, count, kept } = queue.status;
    const where = kept ? gettext("kept in this browser") : gettext("only in this tab: keep it open");
    const changes = ngettext("%(count)s change", "%(count)s changes", count);
    if (kind === "saved") return gettext("Saved");
    if (kind === "saving") return gettext("Saving …");
    if (kind === "offline") return gettext("Offline: %(changes)s %(where)s", { changes, where });
    if (kind === "merging") return gettext("Conflicting changes: please choose");
    if (kind === "refused" || kind === "login") return gettext("Not saved: %(changes)s %(where)s", { changes, where });
    return gettext("Closed");
  }

  function render() {
    const { kind } = queue.status;
    const text = formatStatus();
    if (line.dataset.text !== text) {
      line.dataset.text = text;
      line.dataset.kind = kind;
      line.replaceChildren(createSign(SIGNS[kind]), createElement("span", {}, text));
    }
    // Saving goes on all the time: only what changes for the person is said aloud.
    const worth = kind === "saving" ? announced : kind;
    if (worth !== announced) {
      if (announced || kind !== "saved")
        announce(kind === "saved" ? gettext("All changes are saved.") : text);
      announced = worth;
    }
    renderNotice();
  }

  function renderNotice() {
    const { kind, detail } = queue.status;
    const key = JSON.stringify([
      kind === "refused" || kind === "login" ? kind + detail : "",
      store.locked,
      store.isOutdated,
    ]);
    if (key === noticed) return;
    noticed = key;
    notice.replaceChildren();
    notice.hidden = true;
    if (kind === "refused") {
      const refused = queue.status.refused;
      show(
        "errors",
        gettext("A change could not be saved: %(detail)s", { detail }),
        createButton(gettext("Try again"), () => queue.flush(), { class: "button second" }),
        createButton(
          refused ? gettext("Discard this change") : gettext("Discard unsaved changes"),
          () => queue.giveUp(refused ? [refused] : []),
          { class: "button second" },
        ),
      );
    } else if (kind === "login") {
      const link = createElement(
        "a",
        { class: "button", href: page.login, target: "_blank" },
        gettext("Log in in a new tab"),
      );
      show("errors", detail, link);
    } else if (store.locked) {
      const back = createElement("a", { class: "button second", href: page.back }, page.backText);
      const canReopen = !page.readOnly && store.annotation.status === "submitted";
      show(
        "note",
        store.locked,
        ...(canReopen
          ? [createButton(gettext("Reopen annotation"), reopen, { class: "button second" })]
          : []),
        back,
      );
    } else if (store.isOutdated) {
      show(
        "note",
        gettext("A manager has changed the labels of this project. Your marks have the new names. Reload the page to choose from the new labels."),
        createButton(gettext("Reload"), reload, { class: "button second" }),
      );
    }
  }

  /** Reload. The browser keeps what cannot be saved now, and the new page takes it up. */
  async function reload() {
    await queue.flush();
    location.reload();
  }

  async function reopen() {
    try {
      await site.takeBack();
      location.reload();
    } catch (error) {
      announce(/** @type {Error} */ (error).message);
      /** @type {HTMLElement} */ (notice.querySelector("p")).textContent = /** @type {Error} */ (
        error
      ).message;
    }
  }

  /** @param {string} look @param {string} text @param {...HTMLElement} acts */
  function show(look, text, ...acts) {
    notice.hidden = false;
    notice.className = look;
    notice.append(
      createElement("p", {}, text),
      ...(acts.length ? [createElement("div", { class: "actions" }, ...acts)] : []),
    );
  }

  store.subscribe((topics) => topics.has("status") && render());
  render();
}
