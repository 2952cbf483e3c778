// SPDX-License-Identifier: Apache-2.0
// Tables that sort by a column and save as CSV.

const UNITS = {
  ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, "/s": 1, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9,
  nJ: 1, "µJ": 1e3, mJ: 1e6, J: 1e9,
};

// Returns the number at the beginning of a text in its unit's smallest scale, or null.
function parsedNumber(text) {
  const found = /^[^\d+−-]?\s*([+−-]?[\d,]*\.?\d+)\s*([^\s\d[(]*)/.exec(text.trim());
  if (!found) return null;
  return Number(found[1].replaceAll(",", "").replace("−", "-")) * (UNITS[found[2]] ?? 1);
}

function sortBy(table, column, descending) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent }));
  for (const each of keyed) each.number = parsedNumber(each.text);
  const numeric = keyed.filter((each) => each.number !== null).length * 2 > keyed.length;
  const sign = descending ? -1 : 1;
  keyed.sort((a, b) => {
    if (!numeric) return sign * a.text.localeCompare(b.text);
    if (a.number === null || b.number === null) return (a.number === null) - (b.number === null);
    return sign * (a.number - b.number);
  });
  body.append(...keyed.map((each) => each.row));
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
}

function csvText(rows) {
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return rows.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",")).join("\n") + "\n";
}

function save(name, url) {
  const link = document.createElement("a");
  link.download = name;
  link.href = url;
  document.body.append(link);
  link.click();
  link.remove();
}

function saveText(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  save(name, url);
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function fileName(title) {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "figure";
}

function addTableTools(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const name = head.textContent;
    head.textContent = "";
    head.append(button(name, "", () => {
      sortBy(table, column, head.getAttribute("aria-sort") === "ascending");
    }));
  });
  const details = table.closest("details");
  const title = details.querySelector("summary").firstChild.textContent.trim();
  const bar = document.createElement("div");
  bar.className = "buttons";
  bar.append(button("CSV", `Save as CSV: ${title}`, () => {
    const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
    saveText(`${fileName(title)}.csv`, csvText(rows), "text/csv");
  }));
  details.append(bar);
}
