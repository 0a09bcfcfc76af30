// Refreshes each [data-refresh] element from that address while the page is visible. With data-refresh-until
// it stops once it contains such an element, and loads the page again if that has more to show.
// Fills each [data-load] element once from that address: what takes longer than a page may.
(() => {
  "use strict";
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-load]"))) {
    fetch(element.dataset.load, { credentials: "same-origin" })
      .then(async (response) => {
        if (!response.ok || response.redirected) throw new Error(response.statusText);
        element.innerHTML = await response.text();
      })
      .catch(() => {
        element.innerHTML = element.querySelector("noscript").textContent;
      })
      .finally(() => element.removeAttribute("aria-busy"));
  }
  const SECONDS = 5;
  const FAST_SECONDS = 1; // for work whose end the person waits for
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-refresh]"))) {
    const until = element.dataset.refreshUntil;
    const timer = setInterval(
      async () => {
        if (document.hidden || element.contains(document.activeElement)) return;
        try {
          const response = await fetch(element.dataset.refresh, { credentials: "same-origin" });
          if (!response.ok || response.redirected) return;
          const open = [...element.querySelectorAll("details[id][open]")].map((details) => details.id);
          element.innerHTML = await response.text();
          for (const id of open) document.getElementById(id)?.setAttribute("open", "");
          element.dispatchEvent(new Event("refreshed", { bubbles: true }));
        } catch {
          return; // The site cannot be reached now; the next turn tries again.
        }
        if (until && element.querySelector(until)) {
          clearInterval(timer);
          location.reload();
        }
      },
      (until ? FAST_SECONDS : SECONDS) * 1000,
    );
  }
})();
