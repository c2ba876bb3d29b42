// Sorts tables by the buttons in their heads. Without it the page lacks nothing but that.
"use strict";
(() => {
  const said = document.getElementById("said");

  // A number where there is one, else the text; null where nothing is known.
  const key = (cell) => {
    const raw = cell && cell.querySelector("[data-value]");
    if (raw) return Number(raw.dataset.value);
    if (!cell || cell.querySelector(".absent")) return null;
    const title = cell.querySelector("summary");
    return (title || cell).textContent.trim();
  };

  const order = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });

  const sort = (table, head, index) => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: key(row.cells[index]) }));
    // What is not known comes last, whichever way.
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return falling ? order(b.key, a.key) : order(a.key, b.key);
    });
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map(({ row }) => row));
    said.textContent = `Sorted by ${head.textContent.trim()}, ${falling ? "falling" : "rising"}`;
  };

  for (const table of document.querySelectorAll("table[data-sorts]")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, index) => {
      const button = head.querySelector("button");
      if (button) button.addEventListener("click", () => sort(table, head, index));
    });
  }
})();
