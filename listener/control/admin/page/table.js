// A table of any number of rows that can be sorted and filtered: only one page of the rows is in
// the document. On a narrow screen the table scrolls in a box, with its head. In the wall view some
// rows have another layout, so the roles of a table are set explicitly: they would be lost with the
// layout.
import { element, pairs, setText, setPath, count, none } from "./format.js";

const pageSize = 50;

// Table is filled by show, any number of times. Columns are {name, title, about, text, value, number,
// first, cell, optional}: about says what it contains, text returns the text of a cell, and value returns
// the value to sort by; a column without value cannot be sorted. cell makes an element once for each row,
// such as buttons, and fill updates it. An optional column is hidden while no row has anything in it.
export class Table {
  constructor(place, { caption, columns, id, sort, descending, find, empty, size }) {
    Object.assign(this, { columns, id, find, empty, size: size ?? pageSize });
    this.sort = sort;
    this.descending = descending ?? false;
    this.rows = [];
    this.page = 0;
    this.made = new Map(); // rows in the document, by their id
    this.order = [];
    this.build(place, caption);
  }

  build(place, caption) {
    this.head = this.columns.map((column) => this.heading(column));
    this.body = element("tbody", { role: "rowgroup" });
    this.table = element("table", { role: "table" },
      element("caption", {}, caption),
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...this.head)),
      this.body);
    this.nothing = element("p", { class: "nothing" });
    this.where = element("span", { class: "where" });
    this.back = element("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.on = element("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    this.pages = element("div", { class: "pages" }, this.back, this.where, this.on);
    this.box = element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption }, this.table);
    const abouts = this.columns.filter((column) => column.about).map((column) => [column.title, column.about]);
    this.meanings = abouts.length > 0 ? element("details", { class: "meanings" }, element("summary", {}, "What the columns mean"), pairs(abouts)) : "";
    place.append(this.controls(caption), this.box, this.nothing, this.pages, this.meanings);
  }

  heading(column) {
    const cell = element("th", { role: "columnheader", scope: "col", title: column.about, class: "at-" + column.name + (column.number ? " number" : "") });
    if (!column.value) {
      cell.append(column.title);
      return cell;
    }
    cell.append(element("button", { type: "button", class: "sort", onclick: () => this.sortBy(column) }, column.title));
    return cell;
  }

  // controls returns an element with the filter, if the table has one.
  controls(caption) {
    const controls = element("div", { class: "controls" });
    if (this.find) {
      this.filter = element("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "filter" });
      this.filter.addEventListener("input", () => { this.page = 0; this.draw(); });
      controls.append(element("label", {}, element("span", {}, "Filter "), this.filter));
      this.filter.setAttribute("aria-label", "Filter: " + caption);
    }
    return controls;
  }

  sortBy(column) {
    this.descending = this.sort === column.name ? !this.descending : Boolean(column.number);
    this.sort = column.name;
    this.page = 0;
    this.draw(true);
  }

  // fit sets the number of rows on a page to as many as fit into a box of a fixed height. All rows
  // are as high as the first one.
  fit(box) {
    const line = this.body.firstElementChild;
    const bottom = box.getBoundingClientRect().bottom - parseFloat(getComputedStyle(box).paddingBottom);
    if (!line?.offsetHeight || getComputedStyle(box).overflowY !== "clip") return;
    const room = Math.max(1, Math.floor((bottom - this.body.getBoundingClientRect().top) / line.offsetHeight));
    if (room === this.size) return;
    this.size = room;
    this.draw();
  }

  turn(by) {
    this.page += by;
    this.draw(true);
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  // picked returns the rows that match the filter, in order.
  picked() {
    const wanted = (this.filter?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const rows = wanted.length === 0 ? [...this.rows]
      : this.rows.filter((row) => { const text = this.find(row).toLowerCase(); return wanted.every((part) => text.includes(part)); });
    const column = this.columns.find((c) => c.name === this.sort);
    if (!column) return rows;
    const sign = this.descending ? -1 : 1;
    return rows.sort((a, b) => sign * compare(column.value(a), column.value(b)));
  }

  draw(moved) {
    const picked = this.picked();
    const pages = Math.max(1, Math.ceil(picked.length / this.size));
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const from = this.page * this.size;
    this.fill(picked.slice(from, from + this.size), moved);
    this.head.forEach((cell, i) => {
      const sorted = this.columns[i].name === this.sort && this.columns[i].value;
      if (sorted) cell.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    this.box.hidden = picked.length === 0;
    if (this.filter) this.filter.parentElement.hidden = this.rows.length === 0;
    if (this.meanings) this.meanings.hidden = this.rows.length === 0;
    this.nothing.hidden = picked.length > 0;
    setText(this.nothing, this.rows.length === 0 ? this.empty : "Nothing matches the filter.");
    this.pages.hidden = pages === 1;
    this.back.disabled = this.page === 0;
    this.on.disabled = this.page === pages - 1;
    setText(this.where, `${count(from + 1)}–${count(Math.min(from + this.size, picked.length))} of ${count(picked.length)}`);
  }

  // fill puts the rows of the page into the document. While one of them has the focus, the rows
  // keep their places: a row that moves would lose the focus.
  fill(rows, moved) {
    const byID = new Map(rows.map((row) => [String(this.id(row)), row]));
    let order = [...byID.keys()];
    if (!moved && this.body.contains(document.activeElement)) {
      const known = this.order.filter((id) => byID.has(id));
      const held = document.activeElement.closest("tr");
      const heldID = this.order.find((id) => this.made.get(id)?.line === held);
      if (heldID !== undefined && byID.has(heldID)) order = [...known, ...order.filter((id) => !this.made.has(id))];
    }
    for (const [id, { line }] of this.made) {
      if (!byID.has(id)) {
        line.remove();
        this.made.delete(id);
      }
    }
    order.forEach((id, i) => {
      const made = this.made.get(id) ?? this.make(id, byID.get(id));
      if (this.body.children[i] !== made.line) this.body.insertBefore(made.line, this.body.children[i] ?? null);
      made.row = byID.get(id);
      this.columns.forEach((column, j) => column.fill?.(made.texts[j], made.row));
      this.columns.forEach((column, j) => { if (column.text) (column.number ? setText : setPath)(made.texts[j], column.text(made.row)); });
      const look = this.look?.(made.row) ?? "";
      if (made.line.className !== look) made.line.className = look;
    });
    this.order = order;
    this.columns.forEach((column, i) => {
      if (column.optional) this.table.classList.toggle("no-" + column.name, rows.every((row) => [none, "0"].includes(column.text(row))));
    });
  }

  make(id, row) {
    const made = { row, texts: [] };
    made.line = element("tr", { role: "row" }, ...this.columns.map((column) => {
      const cell = element(column.first ? "th" : "td", {
        role: column.first ? "rowheader" : "cell", scope: column.first ? "row" : undefined,
        class: ["at-" + column.name, column.number ? "number" : column.kind].filter(Boolean).join(" "),
      });
      const inside = column.cell ? column.cell(() => made.row) : element("span", {});
      cell.append(inside);
      made.texts.push(column.cell && !column.fill ? inside.querySelector?.(".text") ?? inside : inside);
      return cell;
    }));
    this.made.set(id, made);
    return made;
  }
}

function compare(a, b) {
  if (typeof a === "number" || typeof b === "number") return (a ?? -1) - (b ?? -1);
  return String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
}
