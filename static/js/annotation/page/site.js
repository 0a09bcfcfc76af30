/**
 * Requests to the site, and what their failures mean.
 *
 * @typedef {import("../document/types.js").Operation} Operation
 */
import { gettext } from "./language.js";

/** The site could not be reached, or has no answer now: the same request may succeed later. */
export class Unreachable extends Error {}

/** The site has answered and refuses. `status` is the HTTP status, `body` what it says. */
export class Refused extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(
      typeof body?.detail === "string" ? body.detail : gettext("The site rejected the request (%(status)s).", { status }),
    );
    this.status = status;
    this.body = body;
  }
}

/** This person is not logged in any more. */
export class LoggedOut extends Error {}

const TRY_LATER = new Set([408, 425, 429, 500, 502, 503, 504]);
const PATIENCE_MS = 20_000;
const KEEPALIVE_LIMIT = 60_000; // browsers let at most 64 KiB outlive a page

/** The site has no such annotation for this person. */
const NOT_THERE = 404;
const MAY_BE_LOGGED_OUT = new Set([401, 403, NOT_THERE]);

/**
 * Fetch an answer to its end. Without one, throw Unreachable.
 * @param {string | URL} address @param {RequestInit} options
 */
async function reach(address, options) {
  let response, text;
  try {
    response = await fetch(address, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
    text = await response.text();
  } catch (error) {
    throw new Unreachable(gettext("The site is not reachable."), { cause: error });
  }
  const { ok, status } = response;
  if (TRY_LATER.has(status))
    throw new Unreachable(gettext("The site is not available (%(status)s). Try again later.", { status }));
  return { ok, status, text };
}

/** @param {string} text */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param {string} url address of the annotation, ending in a slash @param {string} token against forged requests
 * @param {string} user who has opened the page
 */
export function createSite(url, token, user) {
  /** @param {string} method @param {string} address @param {unknown} [data] @param {boolean} [again] */
  async function request(method, address, data, again = false) {
    const { ok, status, text } = await reach(new URL(address, new URL(url, location.href)), createOptions(method, data));
    if (MAY_BE_LOGGED_OUT.has(status)) {
      await renewToken();
      if (!again && status !== NOT_THERE) return request(method, address, data, true);
    }
    const body = parseJson(text);
    if (!ok) throw new Refused(status, body);
    return body;
  }

  /** Take the token of the present login from the page. Throws LoggedOut if it is not this person's. */
  async function renewToken() {
    const { text } = await reach(location.href, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(text, "text/html");
    const present = /** @type {HTMLElement | null} */ (page.querySelector("[data-user]"))?.dataset.user;
    if (!present)
      throw new LoggedOut(gettext("You are logged out. Log in again: your changes are saved as soon as you have."));
    if (present !== user)
      throw new LoggedOut(gettext("Another account is logged in now. Log it out and log in with yours: your changes are saved as soon as you have."));
    token = /** @type {HTMLInputElement | null} */ (page.querySelector("[name=csrfmiddlewaretoken]"))?.value ?? token;
  }

  /** @param {string} method @param {unknown} data @returns {RequestInit} */
  function createOptions(method, data) {
    const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": token };
    const body = data === undefined ? undefined : JSON.stringify(data);
    return { method, headers, body, credentials: "same-origin" };
  }

  return {
    load: () => request("GET", "editor/"),
    /** @param {Operation[]} operations */
    save: (operations) => request("POST", "operations/", { operations }),
    /** Note the model outputs that the person sees. @param {string[]} outputs each as `system@revision` */
    noteShown: (outputs) => request("POST", "shown/", { outputs }),
    /** @param {number} revision */
    submit: (revision) => request("POST", "submit/", { revision, go_on: true }),
    release: () => request("POST", "release/", {}),
    /** Reopen a submitted annotation. */
    takeBack: () => request("POST", "take-back/", {}),
    /** @param {{node: number | null, object: string | null, text: string}} comment */
    comment: (comment) => request("POST", "comments/", comment),
    /** @param {string | number} id */
    resolve: (id) => request("POST", `comments/${id}/resolve/`, {}),
    /** @param {Record<string, string>} keys */
    bindKeys: (keys) => request("PUT", "../../keys/", { keys }),

    /**
     * Send while the page goes away. Operations that do not fit stay in the browser.
     * @param {Operation[]} operations
     */
    saveInPassing(operations) {
      const sent = createOptions("POST", { operations });
      if (String(sent.body).length > KEEPALIVE_LIMIT) return;
      fetch(new URL("operations/", new URL(url, location.href)), { ...sent, keepalive: true }).catch(() => {});
    },
  };
}
