// The sets of rows, and the rows or the changes of one of them.
import { element, setText, count, bytes, none } from "./format.js";
import { Table } from "./table.js";
import { confirmed } from "./dialog.js";

// listed is the maximum number of rows or changes of a set that are fetched.
const listed = 200;

// done formats the operations of requests on a set: "find 12, insert 3, insert key_exists 1".
const done = (operations) => Object.entries(operations ?? {}).flatMap(([name, results]) =>
  Object.entries(results).map(([result, n]) => name + " " + (result === "ok" ? "" : result + " ") + count(n))).join(", ") || none;

export class State {
  constructor(place) {
    this.table = new Table(place, {
      caption: "Sets of rows",
      id: (s) => s.name,
      find: (s) => s.name,
      sort: "name",
      empty: "No set of rows is declared.",
      columns: [
        { name: "name", title: "Set", about: "Name of the set of rows.", first: true, value: (s) => s.name, text: (s) => s.name },
        { name: "rows", title: "Rows", about: "Rows that requests find, without isolated parts.", number: true, value: (s) => s.rows, text: (s) => count(s.rows) },
        { name: "changes", title: "Changes", about: "Rows that requests have added, changed or deleted.", number: true, value: (s) => s.changes, text: (s) => count(s.changes) },
        { name: "parts", title: "Parts", about: "Isolated parts that have changes.", number: true, value: (s) => s.parts, text: (s) => count(s.parts) },
        { name: "bytes", title: "Memory", about: "Memory of the changes.", number: true, value: (s) => s.bytes, text: (s) => bytes(s.bytes) },
        { name: "moves", title: "Moves", about: "Changes that rows made by themselves.", number: true, value: (s) => s.moves, text: (s) => count(s.moves) },
        { name: "conflicts", title: "Conflicts", about: "Requests that were answered again because rows that they had read had changed.", number: true, value: (s) => s.conflicts, text: (s) => count(s.conflicts) },
        { name: "given-up", title: "Given up", about: "Changes that were dropped for lack of room.", number: true, value: (s) => s.given_up, text: (s) => count(s.given_up) },
        { name: "operations", title: "Operations", about: "Operations of requests, and their results.", kind: "wide", text: (s) => done(s.operations) },
        { name: "actions", title: "Actions", about: "Shows its rows or changes, or drops the changes.", kind: "wide", cell: (row) => this.buttons(row) },
      ],
    });
    this.table.look = (s) => (s.given_up > 0 ? "broken" : "");
    this.looked = null; // the set whose rows are shown, and whether only its changes
    this.title = element("h3", {}, "");
    this.title.hidden = true;
    this.tally = element("p", { class: "note" });
    place.append(this.title, this.tally);
    this.rowsPlace = element("div", {});
    this.rowsPlace.hidden = true;
    place.append(this.rowsPlace);
    this.rows = new Table(this.rowsPlace, {
      caption: "Rows of the set",
      id: (r) => r.id,
      find: (r) => r.part + " " + r.text,
      size: 20,
      empty: "No rows.",
      columns: [
        { name: "row", title: "Row", about: "The row as JSON.", first: true, kind: "wide", text: (r) => r.text },
        { name: "part", title: "Part", about: "The isolated part that the row is in.", kind: "short", text: (r) => r.part || none },
      ],
    });
  }

  buttons(row) {
    const button = (title, work, danger) => {
      const made = element("button", { type: "button", class: danger ? "danger" : "", "aria-label": title + " of " + row().name }, title);
      made.addEventListener("click", work);
      return made;
    };
    const show = (changed) => () => {
      this.looked = { name: row().name, changed };
      this.change(() => {});
    };
    const reset = async () => {
      const name = row().name;
      if (await confirmed("Drop all changes to " + name + "? Its rows will be as they were read.", "Drop them")) {
        this.change((act) => act("POST", "state/reset", { sets: [name] }));
      }
    };
    return element("div", { class: "actions" }, button("Rows", show(false)), button("Changes", show(true)), button("Reset", reset, true));
  }

  async ask(get) {
    const sets = (await get("state")).sets;
    this.table.show(sets);
    const looked = this.looked;
    const known = looked && sets.some((s) => s.name === looked.name);
    this.title.hidden = this.tally.hidden = this.rowsPlace.hidden = !known;
    if (!known) return;
    const answer = await get("state/" + encodeURIComponent(looked.name), looked.changed ? { changed: true, limit: listed } : { limit: listed });
    const rows = looked.changed
      ? (answer.changes ?? []).map((c, i) => ({ id: i, part: c.part ?? "", text: c.row === null ? c.key + ": deleted" : JSON.stringify(c.row) }))
      : answer.rows.map((row, i) => ({ id: i, part: "", text: JSON.stringify(row) }));
    setText(this.title, (looked.changed ? "Changes of " : "Rows of ") + looked.name);
    setText(this.tally, answer.total > rows.length ? `The first ${count(rows.length)} of ${count(answer.total)}.` : "");
    this.rows.show(rows);
  }
}
