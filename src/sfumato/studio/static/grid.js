// A table of any length: only the rows that are seen are in the page, 200 are asked for at a time, and the place of the
// scrollbar is scaled, as browsers stop at some 17 million pixels.

import { _ } from "./live.js";

const ROW = 26, PAGE = 200, TALLEST = 8_000_000;
const NUMBER = /^[+-]?\d[\d.,]*$/;

/**
 * Tell of each column whether all that a page shows of it are numbers: their ends stand below each other, then.
 * @param {{names: string[], rows: (string | null)[][]}} told
 */
function columnsOfNumbers(told) {
  return told.names.map((_, at) => {
    const texts = told.rows.map((row) => row[at]).filter((text) => text);
    return texts.length > 0 && texts.every((text) => NUMBER.test(/** @type {string} */ (text)));
  });
}

class Grid {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    this.pages = new Map();
    this.asked = new Set();
    this.height = Number(place.dataset.height);
    this.first = 0;
    this.selected = 0;
    this.names = [];
    /** @type {boolean[]} */
    this.numbers = [];
    place.tabIndex = 0;
    this.table = document.createElement("table");
    this.table.setAttribute("aria-rowcount", String(this.height + 1));
    const caption = document.createElement("caption");
    caption.className = "visually-hidden";
    caption.textContent = place.dataset.label || "table";
    this.head = document.createElement("thead");
    this.body = document.createElement("tbody");
    this.table.append(caption, this.head, this.body);
    place.replaceChildren(this.table);
    place.addEventListener("scroll", () => this.scrolled(), { passive: true });
    place.addEventListener("keydown", (event) => this.key(event));
    place.addEventListener("click", (event) => this.clicked(event));
    place.addEventListener("dblclick", (event) => this.open(event));
    new ResizeObserver(() => this.draw()).observe(place);
    this.draw();
  }

  get shown() { return Math.max(1, Math.ceil((this.place.clientHeight - 30) / ROW)); }
  get last() { return Math.max(0, this.height - this.shown + 1); }
  get total() { return Math.min(this.height * ROW, TALLEST); }

  scrolled() {
    if (this.moving) { this.moving = false; return; }
    const room = this.total + 30 - this.place.clientHeight;
    const share = room > 0 ? Math.min(1, this.place.scrollTop / room) : 0;
    this.first = Math.round(share * this.last);
    this.draw();
  }

  /** @param {number} row */
  show(row) {
    this.selected = Math.max(0, Math.min(this.height - 1, row));
    if (this.selected < this.first) this.first = this.selected;
    if (this.selected >= this.first + this.shown - 1) this.first = Math.min(this.last, this.selected - this.shown + 2);
    const room = this.total + 30 - this.place.clientHeight;
    const top = this.last ? Math.round((this.first / this.last) * room) : 0;
    if (Math.abs(this.place.scrollTop - top) > 0.5) { this.moving = true; this.place.scrollTop = top; }
    this.draw();
    const live = document.getElementById("spoken");
    if (live) live.textContent = _("row {1}", this.selected + 1);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = this.shown - 1;
    const control = event.ctrlKey || event.metaKey;
    const to = {
      ArrowDown: this.selected + 1, ArrowUp: this.selected - 1, PageDown: this.selected + page,
      PageUp: this.selected - page, Home: control ? 0 : null, End: control ? this.height - 1 : null,
    }[event.key];
    if (to === null) { this.place.scrollLeft = event.key === "Home" ? 0 : this.place.scrollWidth; event.preventDefault(); return; }
    if (to !== undefined) { event.preventDefault(); this.show(to); }
    if (event.key === "Enter") { event.preventDefault(); this.chosen(); }
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const row = /** @type {HTMLElement} */ (event.target).closest("tr[data-row]");
    if (row) { this.selected = Number(/** @type {HTMLElement} */ (row).dataset.row); this.draw(); this.chosen(); }
  }

  /** @param {MouseEvent} event */
  open(event) {
    const cell = /** @type {HTMLElement} */ (event.target).closest("td");
    const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("cell"));
    if (!cell || !dialog) return;
    /** @type {HTMLElement} */ (dialog.querySelector("pre")).textContent = cell.textContent;
    dialog.showModal();
  }

  chosen() {
    this.place.dispatchEvent(new CustomEvent("row", { bubbles: true, detail: this.selected + 1 }));
  }

  /** @param {number} page */
  async ask(page) {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    const address = new URL(/** @type {string} */ (this.place.dataset.grid), location.href);
    address.searchParams.set("start", String(page * PAGE));
    address.searchParams.set("count", String(PAGE));
    try {
      const told = await (await fetch(address)).json();
      if (told.problems) throw new Error();
      if (!this.names.length) this.numbers = columnsOfNumbers(told);
      this.names = told.names;
      this.pages.set(page, told.rows);
      if (this.pages.size > 12) {
        const oldest = this.pages.keys().next().value;
        this.pages.delete(oldest);
        this.asked.delete(oldest);
      }
      this.draw();
    } catch { this.asked.delete(page); }
  }

  draw() {
    const rows = [], end = Math.min(this.height, this.first + this.shown);
    for (const page of new Set([Math.floor(this.first / PAGE), Math.floor(Math.max(0, end - 1) / PAGE)])) this.ask(page);
    if (this.names.length && !this.head.firstChild) this.head.append(this.header());
    const top = Math.min(this.place.scrollTop, Math.max(0, this.total - (end - this.first) * ROW));
    if (top >= 1) rows.push(this.spacer(top));
    for (let row = this.first; row < end; row++) rows.push(this.row(row));
    rows.push(this.spacer(Math.max(0, this.total - top - (end - this.first) * ROW)));
    this.body.replaceChildren(...rows);
  }

  header() {
    const line = document.createElement("tr");
    for (const [at, name] of ["row", ...this.names].entries()) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      if (this.numbers[at - 1]) cell.className = "number";
      line.append(cell);
    }
    return line;
  }

  /** @param {number} row */
  row(row) {
    const line = document.createElement("tr"), head = document.createElement("th");
    line.dataset.row = String(row);
    line.setAttribute("aria-rowindex", String(row + 2));
    line.setAttribute("aria-selected", String(row === this.selected && this.place.dataset.choose !== undefined));
    head.scope = "row";
    head.textContent = (row + 1).toLocaleString(document.documentElement.lang);
    line.append(head);
    const cells = this.pages.get(Math.floor(row / PAGE))?.[row % PAGE];
    for (let at = 0; at < this.names.length; at++) {
      const cell = document.createElement("td");
      const text = cells ? cells[at] : "";
      cell.textContent = text === null ? "missing" : text;
      cell.className = text === null ? "null" : this.numbers[at] ? "number" : "";
      line.append(cell);
    }
    return line;
  }

  /** @param {number} pixels */
  spacer(pixels) {
    const line = document.createElement("tr"), cell = document.createElement("td");
    line.className = "spacer";
    line.setAttribute("aria-hidden", "true");
    cell.height = String(Math.max(0, Math.round(pixels)));
    cell.colSpan = Math.max(1, this.names.length + 1);
    line.append(cell);
    return line;
  }
}

/** @type {WeakMap<Element, Grid>} */
const grids = new WeakMap();

function start() {
  for (const place of document.querySelectorAll("[data-grid]")) {
    if (!grids.has(place)) grids.set(place, new Grid(/** @type {HTMLElement} */ (place)));
  }
}
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.matches("form[data-to-row]")) return;
  event.preventDefault();
  const place = document.getElementById(/** @type {string} */ (form.dataset.toRow));
  const grid = place && grids.get(place);
  if (grid) { grid.show(Number(new FormData(form).get("row")) - 1); grid.place.focus(); grid.chosen(); }
});
document.addEventListener("row", (event) => {
  const target = document.getElementById("person");
  const place = /** @type {HTMLElement} */ (event.target);
  if (!target || place.dataset.choose === undefined) return;
  target.dataset.fetch = `${place.dataset.choose}?row=${/** @type {CustomEvent} */ (event).detail}`;
  document.dispatchEvent(new CustomEvent("swapped"));
});
document.addEventListener("swapped", start);
start();
