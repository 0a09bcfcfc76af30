// Refreshes each [data-refresh] element from that address while the page is visible.
(() => {
  "use strict";
  const SECONDS = 5;
  for (const element of document.querySelectorAll("[data-refresh]")) {
    setInterval(async () => {
      if (document.hidden || element.contains(document.activeElement)) return;
      try {
        const response = await fetch(element.dataset.refresh, { credentials: "same-origin" });
        if (response.ok && !response.redirected) element.innerHTML = await response.text();
      } catch {
        // The site cannot be reached now; the next turn tries again.
      }
    }, SECONDS * 1000);
  }
})();
