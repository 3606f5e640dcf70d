// All endpoints, with their counters.
import { rate, ms, count, statuses, named, none } from "./format.js";
import { Table } from "./table.js";

// many is the number of endpoints at which the counters begin to be fetched less often than once a
// second, since the server has other work. longest is the maximum number of seconds that are
// skipped.
const many = 500;
const longest = 5;

const spread = (lengths, quantile) => (lengths?.count > 0 ? ms(lengths[quantile]) : none);
const limited = (e) => (e.limited ?? 0) + (e.refused ?? 0);

// others are the counters that do not belong to an endpoint that is served.
const others = [
  ["unmatched", "(no endpoint)"], ["malformed", "(not HTTP)"], ["options", "(OPTIONS and preflights)"], ["removed", "(removed endpoints)"],
];

export class Endpoints {
  constructor(place) {
    this.previous = new Map(); // by ID: requests of an endpoint, and when they were counted
    this.wait = 0;
    this.table = new Table(place, {
      caption: "Endpoints",
      id: (e) => e.id,
      find: (e) => e.title + " " + (e.host ?? ""),
      sort: "rate", descending: true,
      empty: "No endpoints are served.",
      columns: [
        { name: "endpoint", title: "Endpoint", about: "Method and path of the endpoint, and its condition and host.", first: true, value: (e) => e.title, text: (e) => e.title + (e.host ? " · " + e.host : "") },
        { name: "requests", title: "Requests", about: "Requests that it answered since the start.", number: true, value: (e) => e.requests, text: (e) => count(e.requests) },
        { name: "rate", title: "Rate/s", about: "Requests a second between the last two updates of this table.", number: true, value: (e) => e.rate, text: (e) => rate(e.rate) },
        { name: "total", title: "Response p99", about: "What clients get: 99 of 100 requests took at most this long from their arrival to their response.", number: true, value: (e) => e.total.p99, text: (e) => spread(e.total, "p99") },
        { name: "p99", title: "Own p99", about: "What the server itself took, without latency and upstreams.", number: true, value: (e) => e.service.p99, text: (e) => spread(e.service, "p99") },
        { name: "upstream", optional: true, title: "Upstream p99", about: "The wait for upstreams and for bodies from URLs, of requests that had to wait.", number: true, value: (e) => e.upstream?.p99, text: (e) => spread(e.upstream, "p99") },
        { name: "injected", optional: true, title: "Injected p99", about: "The declared latency as it was drawn, of requests that have one.", number: true, value: (e) => e.injected?.p99, text: (e) => spread(e.injected, "p99") },
        { name: "failed", title: "Failed", about: "Requests that a client saw fail, each counted once.", number: true, value: (e) => e.failed?.all ?? 0, text: (e) => count(e.failed?.all ?? 0) },
        { name: "own-errors", optional: true, title: "Own errors", about: "Errors that the server gave in place of what is declared.", number: true, value: (e) => e.failed.own, text: (e) => count(e.failed.own) },
        { name: "limited", optional: true, title: "Limited", about: "Requests that a rate limit or a capacity refused.", number: true, value: limited, text: (e) => count(limited(e)) },
        { name: "statuses", title: "Statuses", about: "Responses by status; 499 means that the client left before the response.", kind: "wide", text: (e) => statuses(e.statuses) },
        { name: "faults", optional: true, title: "Faults", about: "Responses with a declared fault, by fault.", kind: "wide", text: (e) => named(e.faults) },
      ],
    });
    this.table.look = (e) => (e.failed.own > 0 ? "broken" : e.requests === 0 ? "quiet" : "");
  }

  async ask(get) {
    if (this.wait-- > 0) return;
    const counts = await get("counts");
    const rows = [...counts.endpoints];
    for (const [name, title] of others) {
      if (counts[name]?.requests > 0) rows.push({ ...counts[name], id: name, endpoint: title });
    }
    this.wait = Math.min(longest, Math.floor(rows.length / many));
    const shown = rows.map((row) => this.read(row, Date.parse(counts.time)));
    this.table.show(shown);
    const served = new Set(shown.map((row) => row.id));
    for (const id of this.previous.keys()) if (!served.has(id)) this.previous.delete(id);
  }

  // read makes a table row from the counters of an endpoint. The rate of the row is the rate since
  // the last answer. After the first answer the rate is unknown.
  read(row, at) {
    const before = this.previous.get(row.id);
    const since = before && at > before.at ? (row.requests - before.requests) / ((at - before.at) / 1000) : undefined;
    if (!before || at > before.at || row.requests < before.requests) this.previous.set(row.id, { requests: row.requests, at });
    return { ...row, title: row.endpoint + (row.if ? " if " + row.if : ""), rate: since === undefined ? undefined : Math.max(0, since) };
  }
}
