// The last unmatched requests, and the requests in the journal, with filters. The content of
// requests is shown only as text.
import { element, pairs, setPath, setText, legible, count, ms, bytes, moment, named, none } from "./format.js";
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

// shortReason returns a reason without its beginning, which repeats the request.
const shortReason = (m) => legible(m.reason.replace("no endpoint is declared for " + m.method + " " + m.path, "").replace(/^.*?; (nearest: )?/s, ""));

// few is the number of different requests at which the list begins to be fetched less often than
// once a second. After a flood of requests, the list may have a thousand entries.
const few = 200;

// shownOfGroup is the number of requests that a group names.
const shownOfGroup = 3;

// groups returns the requests, the newest of which come first, by the endpoint that is nearest to
// them, and by the error code if none is similar.
function groups(unmatched) {
  const all = new Map();
  for (const m of unmatched.toReversed()) {
    const id = m.nearest || m.code;
    const group = all.get(id) ?? { id, members: [], count: 0 };
    group.members.push(m);
    all.set(id, Object.assign(group, { reason: shortReason(m), count: group.count + m.count, last: m.last }));
  }
  for (const group of all.values()) group.members.sort((a, b) => b.count - a.count);
  return [...all.values()];
}

// Unmatched shows the requests that no endpoint answered, grouped by the nearest endpoint, each group
// with its most frequent requests and the reason for the last one.
export class Unmatched {
  constructor(place) {
    this.table = new Table(place, {
      caption: "Last unmatched requests, by the nearest endpoint",
      id: (g) => g.id,
      find: (g) => [g.id, g.reason, ...g.members.flatMap((m) => [m.method, m.host, m.path, legible(m.path)])].join(" "),
      sort: "last", descending: true, size: 20,
      empty: "No unmatched requests.",
      columns: [
        { name: "request", title: "Requests", about: "The most frequent requests with the same nearest endpoint, and how often each arrived.", first: true, cell: (row) => this.cell(row), fill: (cell, g) => this.fill(cell, g) },
        { name: "count", title: "Times", about: "How often all of them arrived.", number: true, value: (g) => g.count, text: (g) => count(g.count) },
        { name: "last", title: "Last", about: "When the last of them arrived.", kind: "short", value: (g) => Date.parse(g.last), text: (g) => moment(g.last) },
        { name: "reason", title: "Nearest endpoints, and why they do not match", about: "The endpoints that are most similar to the last request, each with the reason why it did not match.", kind: "wide", value: (g) => g.reason, text: (g) => g.reason },
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
    this.table.show(groups(unmatched));
    setText(this.note, distinct > unmatched.length ? count(distinct) + " different requests arrived; the latest are kept." : "");
  }

  // cell returns an element with a button for each request that a group names, which fill writes.
  cell(row) {
    const lines = Array.from({ length: shownOfGroup }, (_, i) => element("div", {},
      element("button", { type: "button", class: "open", "aria-haspopup": "dialog", onclick: () => this.open(row().members[i]) }, element("span", { class: "text" })),
      element("span", { class: "times" })));
    return element("div", {}, ...lines, element("span", { class: "note" }));
  }

  fill(cell, { members }) {
    for (let i = 0; i < shownOfGroup; i++) {
      const line = cell.children[i];
      line.hidden = i >= members.length;
      if (line.hidden) continue;
      setPath(line.querySelector(".text"), cut(legible(members[i].method + " " + members[i].path)));
      setText(line.lastChild, members.length > 1 && members[i].count > 1 ? " × " + count(members[i].count) : "");
    }
    setText(cell.lastChild, members.length > shownOfGroup ? "and " + count(members.length - shownOfGroup) + " other paths" : "");
  }

  // open shows the last request of a kind as long as the journal contains it, and otherwise only what
  // is known of the kind.
  async open(m) {
    const found = await this.change((_, get) => get("journal", { kept: "unmatched", method: m.method, path: m.path, limit: 50 }));
    const whole = found?.requests.find((x) => x.host === m.host);
    if (whole) show(whole);
    else if (found) detail(m.method + " " + m.path, pairs([["Host", m.host], ["Status", String(m.status)], ["Reason", m.reason], ["First", m.first], ["Last", m.last], ["Times", count(m.count)]]),
      element("p", { class: "note" }, "These requests are no longer in the journal."));
  }
}

// filters are [parameter, title, an example, choices].
const filters = [
  ["kept", "Kept as", "", ["matched", "error", "slow", "sample", "unmatched", ""]],
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
    this.feed.clear({ kept: "matched" }); // the unmatched ones have a part of their own
    for (const [name, title, example, choices] of filters) {
      const field = choices
        ? element("select", { name }, ...choices.map((c) => element("option", { value: c }, { "": "anything", matched: "all but unmatched" }[c] ?? c)))
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
        { name: "request", title: "Request", about: "Method, path and query of the request.", first: true, value: line, text: line, cell: opening },
        { name: "time", title: "Time", about: "When the request arrived.", kind: "short", value: (x) => Date.parse(x.time), text: (x) => moment(x.time) },
        { name: "host", title: "Host", about: "The host that the request names.", value: (x) => x.host, text: (x) => x.host || none },
        { name: "kept", title: "Kept as", about: "Why the journal keeps it: an error, unmatched, one of the slowest, or a sample.", value: (x) => x.kept, text: (x) => x.kept },
        { name: "status", title: "Status", about: "Status of the response.", number: true, value: (x) => x.status, text: (x) => String(x.status) },
        { name: "took", title: "Took", about: "From the request to the end of its response, with its latency.", number: true, value: (x) => x.took_ms, text: (x) => ms(x.took_ms) },
        { name: "endpoint", title: "Endpoint", about: "The endpoint that answered.", kind: "wide", value: (x) => x.endpoint, text: (x) => x.endpoint || none },
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
      ["Stream", x.stream ? count(x.stream.items) + " items in " + ms(x.stream.duration_ms) + ", " + x.stream.end : ""],
      ["Slower by a shared rate", x.stream?.stretch ? x.stream.stretch.toFixed(2) + " times" : ""],
      ["Items late at most", x.stream ? ms(x.stream.late_ms) : ""], ["Waited for the client", x.stream?.blocked_ms > 0 ? ms(x.stream.blocked_ms) : ""],
      ["Took", ms(x.took_ms)], ["of which injected", x.injected_ms > 0 ? ms(x.injected_ms) : ""], ["Host", x.host], ["Client", x.remote], ["Kept as", x.kept],
    ]),
    ...message("Request", x.request), ...message("Response", x.response));
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
