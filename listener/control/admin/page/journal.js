// The last unmatched requests, and the requests in the journal, with filters. The content of
// requests is shown only as text.
import { element, setText, legible, count, ms, bytes, moment, named, none } from "./format.js";
import { Table } from "./table.js";
import { detail, confirmed } from "./dialog.js";

// Feed holds the newest requests in the journal that match a query. It fetches only new requests,
// since a request may be large, and there may be many.
class Feed {
  constructor(most) {
    this.most = most;
    this.clear({});
  }

  clear(query) {
    this.query = query;
    this.rows = [];
    this.seen = 0;
  }

  async ask(get) {
    const query = this.query;
    const answer = await get("journal", { ...query, limit: this.most, after: this.rows[0]?.id });
    if (query !== this.query) return undefined; // the query was changed in the meantime
    const seen = Object.values(answer.seen ?? {}).reduce((a, b) => a + b, 0);
    if (seen < this.seen) { // the journal was reset, or is that of another process
      this.clear({ ...query });
      return this.ask(get);
    }
    this.seen = seen;
    this.rows = [...answer.requests, ...this.rows].slice(0, this.most);
    return answer;
  }
}

const opening = (row) => {
  const text = element("span", { class: "text" });
  return element("button", { type: "button", class: "open", "aria-haspopup": "dialog", onclick: () => show(row()) }, text);
};

// cut shortens a long text for a table. The dialog shows the whole text.
const cut = (text) => (text.length > 160 ? text.slice(0, 160) + "…" : text);
const line = (x) => cut(legible(x.method + " " + x.target));

// why returns the reason without its beginning, which repeats the request.
function why(m) {
  const said = "no endpoint is declared for " + m.method + " " + m.path + "; ";
  return legible(m.reason.startsWith(said) ? m.reason.slice(said.length) : m.reason) || none;
}

// few is the number of different requests at which the list begins to be fetched less often than
// once a second. After a flood of requests, the list may have a thousand entries.
const few = 200;

// Unmatched shows the different requests that no endpoint answered, each with the reason for the
// last one, which names the nearest endpoints.
export class Unmatched {
  constructor(place) {
    this.table = new Table(place, {
      caption: "Last unmatched requests",
      id: (m) => JSON.stringify([m.method, m.host, m.path]),
      find: (m) => [m.method, m.host, m.path, legible(m.path), m.reason].join(" "),
      sort: "last", descending: true, size: 20,
      empty: "No unmatched requests.",
      columns: [
        { name: "request", title: "Request", first: true, value: (m) => m.path, text: (m) => cut(legible(m.method + " " + m.path)), cell: (row) => this.opening(row) },
        { name: "host", title: "Host", value: (m) => m.host, text: (m) => m.host || none },
        { name: "count", title: "Times", number: true, value: (m) => m.count, text: (m) => count(m.count) },
        { name: "last", title: "Last", kind: "short", value: (m) => Date.parse(m.last), text: (m) => moment(m.last) },
        { name: "status", title: "Status", number: true, value: (m) => m.status, text: (m) => String(m.status) },
        { name: "reason", title: "Reason, and the nearest endpoints", kind: "wide", text: why },
      ],
    });
    this.note = element("p", { class: "note" });
    this.wait = 0;
    place.append(this.note);
  }

  async ask(get) {
    if (this.wait-- > 0) return;
    const { unmatched, distinct } = await get("unmatched");
    this.wait = Math.floor(unmatched.length / few);
    this.table.show(unmatched);
    setText(this.note, distinct > unmatched.length ? count(distinct) + " different requests arrived; the latest are kept." : "");
  }

  // opening returns a button that shows the last request of a row as long as the journal contains
  // it, and otherwise only the data of the row.
  opening(row) {
    const open = async () => {
      const m = row();
      const found = await this.change((_, get) => get("journal", { kept: "unmatched", method: m.method, path: m.path, limit: 50 }));
      const whole = found?.requests.find((x) => x.host === m.host);
      if (whole) show(whole);
      else if (found) detail(m.method + " " + m.path, pairs([["Host", m.host], ["Status", String(m.status)], ["Reason", m.reason], ["First", m.first], ["Last", m.last], ["Times", count(m.count)]]),
        element("p", { class: "note" }, "These requests are no longer in the journal."));
    };
    return element("button", { type: "button", class: "open", "aria-haspopup": "dialog", onclick: open }, element("span", { class: "text" }));
  }
}

// filters are [parameter, title, an example, choices].
const filters = [
  ["kept", "Kept as", "", ["", "unmatched", "error", "slow", "sample"]],
  ["endpoint", "Endpoint", "GET /users/:id"],
  ["method", "Method", "GET"],
  ["path", "Path", "/users/*"],
  ["status", "Status", "404, 5xx"],
  ["since", "Not older than", "5m"],
];

export class Journal {
  constructor(place) {
    this.tally = place.querySelector("#journal-tally");
    this.form = place.querySelector("#journal-filter");
    this.feed = new Feed(200);
    for (const [name, title, example, choices] of filters) {
      const field = choices
        ? element("select", { name }, ...choices.map((c) => element("option", { value: c }, c || "any")))
        : element("input", { name, type: "search", autocomplete: "off", spellcheck: "false", placeholder: example, size: String(Math.max(8, example.length)) });
      this.form.append(element("label", {}, title + " ", field));
    }
    const forget = element("button", { type: "button", class: "danger" }, "Delete all");
    forget.addEventListener("click", async () => {
      if (await confirmed("Delete all requests in the journal?", "Delete them")) this.change((act) => act("DELETE", "journal"));
    });
    this.form.append(element("button", { type: "submit" }, "Find"), forget);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.feed.clear(Object.fromEntries([...new FormData(this.form)].map(([name, value]) => [name, value.replace(/\s/g, name === "endpoint" ? " " : "").trim()])));
      this.change(async () => {});
    });
    this.table = new Table(place, {
      caption: "Requests in the journal",
      id: (x) => x.id,
      sort: "time", descending: true, size: 25,
      empty: "The journal has no matching requests.",
      columns: [
        { name: "request", title: "Request", first: true, value: line, text: line, cell: opening },
        { name: "time", title: "Time", kind: "short", value: (x) => Date.parse(x.time), text: (x) => moment(x.time) },
        { name: "host", title: "Host", value: (x) => x.host, text: (x) => x.host || none },
        { name: "kept", title: "Kept as", value: (x) => x.kept, text: (x) => x.kept },
        { name: "status", title: "Status", number: true, value: (x) => x.status, text: (x) => String(x.status) },
        { name: "took", title: "Took", number: true, value: (x) => x.took_ms, text: (x) => ms(x.took_ms) },
        { name: "endpoint", title: "Endpoint", kind: "wide", value: (x) => x.endpoint, text: (x) => x.endpoint || none },
      ],
    });
  }

  async ask(get) {
    let answer;
    try {
      answer = await this.feed.ask(get);
    } catch (cause) {
      if (cause.status !== 400) throw cause;
      setText(this.tally, "Not searched: " + cause.message); // a filter is invalid
    }
    this.table.show(this.feed.rows);
    if (answer) {
      setText(this.tally, "Kept so far: " + named(answer.seen) + ". Dropped to make room: " + named(answer.dropped) + ". Memory: " + bytes(answer.bytes) + ".");
    }
  }
}

// show shows one request with its response.
function show(x) {
  detail(x.method + " " + x.target,
    pairs([
      ["Time", x.time], ["Answered by", x.endpoint || "no endpoint"], ["Status", String(x.status)], ["Reason", x.reason], ["Fault", x.fault],
      ["Took", ms(x.took_ms)], ["of which injected", x.injected_ms > 0 ? ms(x.injected_ms) : ""], ["Host", x.host], ["Client", x.remote], ["Kept as", x.kept],
    ]),
    ...message("Request", x.request), ...message("Response", x.response));
}

function pairs(list) {
  return element("dl", { class: "pairs" }, ...list.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function message(title, m) {
  const text = bodyOf(m);
  return [
    element("h3", {}, title + " headers"),
    m.headers.length > 0 ? pairs(m.headers) : element("p", { class: "note" }, "none"),
    element("h3", {}, title + " body, " + bytes(m.size) + (m.cut ? ", of which only the beginning is kept" : "")),
    text === "" ? element("p", { class: "note" }, "empty") : element("pre", { tabindex: "0", "aria-label": title + " body" }, text),
  ];
}

// bodyOf returns a body as text or, if it is not text, as bytes in hexadecimal, 16 to a line.
function bodyOf(m) {
  if (!m.body_base64) return m.body ?? "";
  const all = Array.from(atob(m.body_base64), (c) => c.charCodeAt(0).toString(16).padStart(2, "0"));
  const lines = [];
  for (let i = 0; i < all.length; i += 16) lines.push(all.slice(i, i + 16).join(" "));
  return lines.join("\n");
}
