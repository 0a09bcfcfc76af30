// Sorts tables, and opens the contents and parts that are linked to or printed; the page needs none of it.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (body.rows.length < 3) continue;
  const readValue = (row, column) => {
    const text = row.cells[column].firstChild?.textContent.trim() ?? "";
    const number = text.replaceAll("−", "-").match(/^[<>=≥≤\s]*(-?[\d,]*\.?\d+)/);
    return number ? Number(number[1].replaceAll(",", "")) : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === typeof b ? a.localeCompare(b) : typeof a === "number" ? -1 : 1;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => turn * compare(readValue(a, column), readValue(b, column)));
      body.append(...rows);
    });
  });
}
// On a phone the contents stay closed, so that the summary is on the first screen.
document.querySelector("nav details").open = matchMedia("(min-width: 60rem)").matches;
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
const openLinkedPart = () => {
  const part = document.getElementById(location.hash.slice(1))?.closest("details");
  if (part) part.open = true;
};
addEventListener("hashchange", openLinkedPart);
openLinkedPart();
