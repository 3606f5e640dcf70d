// The recordings of upstreams, which can be started, stopped and downloaded.
import { element, setText, count, bytes, ms, moment } from "./format.js";
import { Table } from "./table.js";
import { file, token } from "./api.js";

const $ = (id) => document.getElementById(id);

const statuses = (r) => Object.entries(r.statuses).map(([status, n]) => status + ": " + count(n)).join(", ");

export class Recordings {
  constructor(place) {
    $("recording-start").addEventListener("submit", (event) => {
      event.preventDefault();
      const body = { upstream: $("recording-upstream").value };
      const to = $("recording-to").value.trim();
      if (to) body.to = to;
      this.change((act) => act("POST", "recordings", body));
    });
    this.table = new Table(place, {
      caption: "Recordings",
      id: (r) => r.id,
      find: (r) => r.upstream + " " + r.to,
      sort: "started", descending: true, size: 20,
      empty: "Nothing has been recorded yet. A recording contains the requests to an upstream and its responses, for mockserver import.",
      columns: [
        { name: "recorded", title: "Upstream", about: "The server whose responses are recorded.", first: true, value: (r) => r.upstream, text: (r) => r.upstream },
        { name: "to", title: "Directory", about: "Where the files are.", kind: "short", value: (r) => r.to, text: (r) => r.to },
        { name: "started", title: "Started", about: "When the recording began.", kind: "short", value: (r) => Date.parse(r.started), text: (r) => moment(r.started) },
        { name: "state", title: "State", about: "Whether it is running, or why it ended.", kind: "short", value: (r) => r.running, text: (r) => r.error || (r.running ? "running" : "ended") },
        { name: "requests", title: "Requests", about: "Exchanges that were recorded.", number: true, value: (r) => r.requests, text: (r) => count(r.requests) },
        { name: "dropped", title: "Dropped", about: "Exchanges that were not recorded.", number: true, value: (r) => r.dropped, text: (r) => count(r.dropped) },
        { name: "bytes", title: "Bytes", about: "Size of the files.", number: true, value: (r) => r.bytes, text: (r) => bytes(r.bytes) },
        { name: "p50", title: "p50", about: "Half of the responses began within this time.", number: true, value: (r) => r.first_byte.p50, text: (r) => ms(r.first_byte.p50) },
        { name: "p99", title: "p99", about: "99 of 100 responses began within this time.", number: true, value: (r) => r.first_byte.p99, text: (r) => ms(r.first_byte.p99) },
        { name: "p99_9", title: "p99.9", about: "999 of 1,000 responses began within this time.", number: true, value: (r) => r.first_byte.p99_9, text: (r) => ms(r.first_byte.p99_9) },
        { name: "statuses", title: "Statuses", about: "Responses by status.", kind: "wide", text: statuses },
        { name: "actions", title: "Actions", about: "Its files for mockserver import, and what stops it.", kind: "wide", cell: (row) => this.buttons(row) },
      ],
    });
    this.table.look = (r) => (r.dropped > 0 ? "broken" : "");
    this.stops = new Map(); // stop buttons, by the ID of the recording
  }

  buttons(row) {
    const stop = element("button", { type: "button", class: "danger", "aria-label": "Stop the recording of " + row().upstream }, "Stop");
    stop.addEventListener("click", () => this.change((act) => act("POST", "recordings/" + encodeURIComponent(row().id) + "/stop")));
    this.stops.set(row().id, stop);
    return element("div", { class: "actions" }, this.download(row, "config", "Configuration"), this.download(row, "har", "HAR"), stop);
  }

  // download returns a link to a file that is made from a recording. A link cannot send the token:
  // if there is a token, the file is fetched with it and then saved.
  download(row, what, title) {
    const where = () => "recordings/" + encodeURIComponent(row().id) + "/" + what;
    const link = element("a", { class: "open", href: "/__admin/" + where(), download: "", "aria-label": title + " of the recording of " + row().upstream }, title);
    link.addEventListener("click", (event) => {
      if (!token.get()) return;
      event.preventDefault();
      this.change(async () => {
        const made = await file(where());
        const url = URL.createObjectURL(made);
        const ending = what === "har" ? ".har" : made.type.endsWith("zip") ? ".zip" : ".yml";
        element("a", { href: url, download: row().upstream + ending }).click();
        setTimeout(() => URL.revokeObjectURL(url), 60000);
      });
    });
    return link;
  }

  async ask(get) {
    const { recordings, upstreams } = await get("recordings");
    this.table.show(recordings);
    for (const r of recordings) {
      const stop = this.stops.get(r.id);
      if (stop) stop.hidden = !r.running;
    }
    const select = $("recording-upstream");
    const names = upstreams.join(" ");
    if (select.dataset.names !== names) {
      select.dataset.names = names;
      select.replaceChildren(...upstreams.map((name) => element("option", { value: name }, name)));
    }
    $("recording-start").hidden = upstreams.length === 0;
    setText($("recording-note"), upstreams.length === 0 ? "No upstream is declared; see docs/record.md." : "");
  }
}
