// Client clocks of a timed page, written into the form's hidden inputs at submit. Nothing depends on them:
// without JavaScript, or if storage is blocked, the page works and the server stores NULL.
(() => {
  "use strict";
  /** @typedef {[name: string, at: number, ms: number]} Opening */
  /**
   * @typedef {{total: number, hidden: number, hiddenCount: number, first: number | null,
   *   changes: Record<string, number>, articles: Opening[]}} Clocks
   */
  /** @type {HTMLFormElement & {elements: Record<string, HTMLInputElement>}} */
  const form = document.querySelector("form[data-timed]");
  if (!form) return;
  const storageKey = "timing:" + form.elements.page_key.value;
  const start = performance.now();
  let hiddenSince = document.hidden ? start : null;
  let sent = false;

  // A reload, or the same page with an error, continues the clocks.
  /** @type {Clocks} */
  const past = {
    total: 0,
    hidden: 0,
    hiddenCount: 0,
    first: null,
    changes: {},
    articles: [],
    ...readStored(),
  };
  if (document.hidden) past.hiddenCount += 1;
  /** @type {Map<string, Opening>} */
  const open = new Map(); // articles that are open now: their entries in past.articles
  const MOST_OPENINGS = 100; // the server takes no more
  /** @type {NodeListOf<HTMLInputElement>} */
  const radios = form.querySelectorAll("input[type=radio]:checked");
  const chosen = new Set(Array.from(radios, (input) => input.name));

  /** @returns {Partial<Clocks>} */
  function readStored() {
    try {
      return JSON.parse(sessionStorage.getItem(storageKey)) ?? {};
    } catch {
      return {};
    }
  }

  function readClocks() {
    const now = performance.now();
    const total = past.total + now - start;
    const hidden = past.hidden + (hiddenSince === null ? 0 : now - hiddenSince);
    const articles = past.articles.map((entry) => {
      const [name, at, ms] = entry;
      return [name, at, open.get(name) === entry ? Math.round(total) - at : ms];
    });
    return { ...past, total, hidden, articles };
  }

  function fill() {
    const { total, hidden, hiddenCount, first, changes, articles } = readClocks();
    const values = {
      client_total_ms: Math.round(total),
      client_visible_ms: Math.round(total) - Math.round(hidden),
      client_hidden_ms: Math.round(hidden),
      hidden_count: hiddenCount,
      first_interaction_ms: first === null ? "" : Math.round(first),
    };
    for (const [name, value] of Object.entries(values)) form.elements[name].value = String(value);
    if (form.elements.articles) form.elements.articles.value = JSON.stringify(articles);
    for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("input[name^=changes_]"))) {
      input.value = String(changes[input.name.slice("changes_".length)] ?? 0);
    }
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      hiddenSince = performance.now();
      past.hiddenCount += 1;
    } else if (hiddenSince !== null) {
      past.hidden += performance.now() - hiddenSince;
      hiddenSince = null;
    }
  });

  // An article of the item: [name, when it was opened, how long it was open], in milliseconds of this clock.
  /** @param {Event} event */
  const handleToggle = (event) => {
    const target = /** @type {HTMLDetailsElement} */ (event.target);
    const name = target.dataset.article;
    if (!name) return;
    const now = Math.round(readClocks().total);
    const entry = open.get(name);
    if (!target.open && entry) {
      entry[2] = now - entry[1];
      open.delete(name);
    } else if (target.open && !entry && past.articles.length < MOST_OPENINGS) {
      open.set(name, [name, now, 0]);
      past.articles.push(open.get(name));
    }
  };
  document.addEventListener("toggle", handleToggle, true); // the event does not bubble

  form.addEventListener("change", (event) => {
    const target = /** @type {HTMLInputElement} */ (event.target);
    past.first ??= past.total + performance.now() - start;
    if (chosen.has(target.name)) past.changes[target.name] = (past.changes[target.name] ?? 0) + 1;
    chosen.add(target.name);
  });

  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    fill();
    setTimeout(() => (sent = false), 8000); // the network may have failed: let the person try again
  });

  addEventListener("pagehide", () => {
    try {
      sessionStorage.setItem(storageKey, JSON.stringify(readClocks()));
    } catch {
      // Storage is blocked: only the time since the last load is known.
    }
  });

  // A page from the back-forward cache may be long submitted: the server says where the participant is.
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
})();
