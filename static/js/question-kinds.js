// Sliders, rankings and counted texts. Without JavaScript a slider is a field for a number, or a row of points,
// and a ranking is a list of selections: those stay the fields that are sent, so nothing else has to know.

/** Tell the page that a field has another value. @param {HTMLElement} field */
const announce = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));

/** A slider over a field for a number, or over radio buttons of a row that is too narrow. @param {Element} box */
function setUpSlider(box) {
  /** @type {HTMLElement} */
  const slide = box.querySelector(".slide");
  if (!slide) return;
  const range = slide.querySelector("input");
  /** @type {HTMLElement} */
  const output = slide.querySelector(".chosen-value");
  /** @type {HTMLInputElement[]} */
  const radios = Array.from(box.querySelectorAll("input[type=radio]"));
  /** @type {HTMLInputElement} */
  const field = radios.length ? null : box.querySelector("input[name]");
  const readValue = () =>
    field ? field.value.replace(",", ".") : (radios.find((radio) => radio.checked)?.value ?? "");

  function show() {
    const now = readValue();
    const isChosen = now !== "" && !Number.isNaN(Number(now));
    if (isChosen) range.value = now;
    range.classList.toggle("untouched", !isChosen);
    output.textContent = isChosen ? `${range.value} ${output.dataset.unit ?? ""}`.trim() : range.dataset.none;
    if (isChosen) range.removeAttribute("aria-valuetext");
    else range.setAttribute("aria-valuetext", range.dataset.none);
  }

  function choose() {
    if (readValue() === range.value) return show();
    const changed = field ?? radios.find((radio) => radio.value === range.value);
    if (field) field.value = range.value;
    else changed.checked = true;
    announce(changed);
  }

  range.addEventListener("input", choose);
  // A click on the place where the slider already is, or a space, chooses it too.
  for (const event of ["click", "pointerup"]) range.addEventListener(event, choose);
  range.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    choose();
  });
  box.addEventListener("change", (event) => event.target !== range && show());
  addEventListener("pageshow", show); // the browser puts back what was entered before a reload
  slide.hidden = false;
  if (field) {
    /** @type {HTMLElement} */ (field.closest(".number-field")).hidden = true;
    range.id = field.id; // the label and the list of errors now lead to the slider
    field.removeAttribute("id");
  }
  show();
}

/**
 * Choices in order: those with a rank first, moved by buttons, by dragging or by their selections.
 * @param {HTMLElement} list
 */
function setUpRanking(list) {
  const most = Number(list.dataset.ranking);
  const rows = Array.from(list.children);
  const status = /** @type {HTMLElement} */ (list.nextElementSibling);
  /** @param {Element} row */
  const findSelect = (row) => row.querySelector("select");
  /** @type {Element[]} */
  let ranked = [];
  let isPlacing = false; // the selections are written here, not by a person

  function read() {
    /** @param {Element} row */
    const readRank = (row) => Number(findSelect(row).value);
    ranked = rows.filter((row) => readRank(row)).sort((first, second) => readRank(first) - readRank(second));
    const order = [...ranked, ...rows.filter((row) => !ranked.includes(row))];
    list.append(...order);
  }

  /**
   * Give a row a place among the ranked ones (0 is the first), or none.
   * @param {Element} row @param {number | null} at
   */
  function placeRow(row, at) {
    ranked = ranked.filter((other) => other !== row);
    if (at !== null) ranked.splice(at, 0, row);
    ranked.length = Math.min(ranked.length, most);
    const left = rows.filter((other) => !ranked.includes(other));
    if ("whole" in list.dataset && left.length === 1 && at !== null) ranked.push(...left); // only one rank is left
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    list.append(...ranked, ...rows.filter((other) => !ranked.includes(other)));
    if (list.contains(focused)) focused.focus();
    isPlacing = true;
    for (const other of rows) {
      const rank = String(ranked.indexOf(other) + 1 || "");
      if (findSelect(other).value === rank) continue;
      findSelect(other).value = rank;
      announce(findSelect(other));
    }
    isPlacing = false;
    const rank = ranked.indexOf(row) + 1;
    const label = row.querySelector("label").textContent;
    status.textContent = rank ? `${label}: ${status.dataset.rank} ${rank}` : `${label}: ${status.dataset.none}`;
  }

  /** @param {Element} row @param {number} by */
  function step(row, by) {
    const at = ranked.indexOf(row);
    // Without a rank, both buttons give the next one; only “up” displaces another choice.
    if (at < 0) return by < 0 || ranked.length < most ? placeRow(row, Math.min(ranked.length, most - 1)) : undefined;
    if (at + by < 0) return undefined;
    const leaves = at + by >= ranked.length && !(ranked.length === rows.length);
    return placeRow(row, leaves ? null : Math.min(at + by, ranked.length - 1));
  }

  /** @param {HTMLElement} handle @param {Element} row */
  function drag(handle, row) {
    handle.hidden = false;
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      row.classList.add("dragged");
    });
    handle.addEventListener("pointermove", (event) => {
      if (!row.classList.contains("dragged")) return;
      const others = Array.from(/** @type {Iterable<HTMLElement>} */ (list.children)).filter((other) => other !== row);
      /** @param {HTMLElement} other */
      const computeMiddle = (other) => other.getBoundingClientRect().top + other.offsetHeight / 2;
      const below = others.find((other) => event.clientY < computeMiddle(other)) ?? null;
      if (row.nextElementSibling === below) return;
      list.insertBefore(row, below);
      handle.setPointerCapture(event.pointerId); // moving the row lets the pointer go
    });
    const drop = () => {
      if (!row.classList.contains("dragged")) return;
      row.classList.remove("dragged");
      const at = Array.from(list.children).indexOf(row);
      const others = ranked.filter((other) => other !== row).length;
      placeRow(row, at <= others && at < most ? at : null);
    };
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
  }

  for (const row of rows) {
    drag(row.querySelector(".handle"), row);
    for (const button of row.querySelectorAll("button")) {
      button.hidden = false;
      button.addEventListener("click", () => step(row, Number(button.dataset.by)));
    }
    findSelect(row).addEventListener("change", () => {
      if (isPlacing) return;
      const rank = Number(findSelect(row).value);
      placeRow(row, rank ? Math.min(rank, ranked.filter((other) => other !== row).length + 1) - 1 : null);
    });
  }
  addEventListener("pageshow", read);
  read();
}

/** The number of characters as the server counts them. @param {HTMLTextAreaElement} area */
function setUpCounter(area) {
  const counter = /** @type {HTMLElement} */ (area.nextElementSibling);
  const show = () => (counter.querySelector("span").textContent = String([...area.value.trim()].length));
  area.addEventListener("input", show);
  addEventListener("pageshow", show);
  counter.hidden = false;
  show();
}

for (const box of document.querySelectorAll("[data-slider]")) setUpSlider(box);
for (const list of document.querySelectorAll("[data-ranking]")) setUpRanking(/** @type {HTMLElement} */ (list));
for (const area of document.querySelectorAll("[data-counter]")) setUpCounter(/** @type {HTMLTextAreaElement} */ (area));
