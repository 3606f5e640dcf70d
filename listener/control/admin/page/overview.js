// The verdict, the figures of the last second, and the charts of the last minutes.
import { element, pairs, figure, setText, rate, ms, count, share, duration, bytes, none } from "./format.js";
import { Chart } from "./chart.js";

const $ = (id) => document.getElementById(id);

// kept is the number of samples in a chart, one for each second.
const kept = 300;

// runsMarked is the maximum number of runs that are marked in the charts.
const runsMarked = 20;

// spread returns a function that reads a quantile of a distribution of a sample. The quantile of an
// empty distribution is undefined.
const spread = (name, quantile) => (s) => (s[name]?.count > 0 ? s[name][quantile] : undefined);

const streamed = (s) => s.streams > 0 || s.stream_items > 0;

// figures are [title, text, about, alarming, shown]: text formats a figure of the newest sample, about says
// what it is, alarming reports whether the figure is a reason for alarm, and shown when it appears for the first time.
const figures = [
  ["requests/s", (s) => rate(s.rate), "Requests that were answered."],
  ["response time p99", (s) => ms(spread("total", "p99")(s)), "What clients get, of all requests: 99 of 100 took at most this long from their arrival to their response."],
  ["injected p99", (s) => ms(spread("injected", "p99")(s)), "The declared latency as it was drawn, of those requests that have one."],
  ["injection error p99", (s) => ms(spread("injection_error", "p99")(s)), "How much later than the declared latency responses were, of those requests that have one."],
  ["own time p99", (s) => ms(spread("own", "p99")(s)), "What the server itself took for a request, without latency and upstreams."],
  ["streams open, items/s", (s) => count(s.streams) + ", " + rate(s.stream_items / s.seconds), "Streams that are open, and their items that were sent.", undefined, streamed],
  ["first item p50", (s) => ms(spread("stream_first", "p50")(s)), "The time to the first item of a stream.", undefined, streamed],
  ["gap p50", (s) => ms(spread("stream_gap", "p50")(s)), "The time from an item of a stream to the next one.", undefined, streamed],
  ["item late p99", (s) => ms(spread("stream_gap_error", "p99")(s)), "How late items of streams were that follow the first one.", undefined, streamed],
  ["failed", (s) => share(s.requests > 0 ? s.failed.all / s.requests : 0), "The share of requests that a client saw fail, for whatever reason."],
  ["own errors/s", (s) => rate(s.failed.own / s.seconds), "Errors that the server gave in place of what is declared.", (s) => s.failed.own > 0],
  ["unmatched/s", (s) => rate(s.unmatched / s.seconds), "Requests that no endpoint matched.", (s) => s.unmatched > 0],
  ["declared errors/s", (s) => rate((s.failed.declared_4xx + s.failed.declared_5xx) / s.seconds), "Responses with status 400 or above that the configuration declares."],
  ["injected errors/s", (s) => rate((s.failed.injected + s.failed.faults) / s.seconds), "Failures and timeouts of latencies, and responses that a fault broke."],
  ["limited/s", (s) => rate((s.limited + s.refused) / s.seconds), "Requests that a rate limit or a capacity refused."],
  ["in flight, connections", (s) => count(s.in_flight) + ", " + count(s.connections), "Requests without a response yet, and open connections."],
  ["webhooks pending", (s) => count(s.webhooks_pending), "Webhooks that are not sent yet, or are sent again."],
  ["webhook lag p99", (s) => ms(spread("webhook_lag", "p99")(s)), "How late first attempts of webhooks were sent."],
  ["CPU", (s) => share(used(s)), "The CPU time of the server, as a share of what it may use."],
  ["memory", (s) => bytes(s.memory), "The memory of the server."],
];

const used = (s) => (s.cpu === null || s.cpu === undefined ? undefined : s.cpu / (s.cpu_limit || 1));
const part = (read) => (s) => (s.requests > 0 ? read(s.failed) / s.requests : undefined);

// charts are the large ones, of what clients get, and the small ones.
const charts = {
  charts: [
    { title: "Response time", write: ms, about: "Delivered is the response time of all requests; declared is the latency drawn for those that have one.", lines: [
      { title: "delivered p99", read: spread("total", "p99") }, { title: "declared p99", read: spread("injected", "p99") }, { title: "p50", read: spread("total", "p50") },
    ] },
    { title: "Failed requests", write: share, about: "The share of the requests that a client saw fail, and of those the server's own errors.", lines: [
      { title: "failed", read: part((f) => f.all) }, { title: "the server's own", read: part((f) => f.own) },
    ] },
    { title: "Requests a second", write: rate, about: "Requests that were answered, and those of them that no endpoint matched.", lines: [
      { title: "all", read: (s) => s.rate }, { title: "unmatched", read: (s) => s.unmatched / s.seconds },
    ] },
  ],
  "small-charts": [
    { title: "Own time", write: ms, about: "What the server itself took for a request.", lines: [
      { title: "p99", read: spread("own", "p99") }, { title: "p50", read: spread("own", "p50") },
    ] },
    { title: "Injection error", write: ms, about: "How much later than the declared latency responses were.", lines: [{ title: "p99", read: spread("injection_error", "p99") }] },
    { title: "In flight and pending", write: count, about: "Requests without a response yet, and webhooks that are not sent yet.", lines: [
      { title: "requests", read: (s) => s.in_flight }, { title: "webhooks", read: (s) => s.webhooks_pending },
    ] },
    { title: "CPU", write: share, about: "The server, as a share of what it may use, and the machine.", lines: [
      { title: "server", read: used }, { title: "machine", read: (s) => s.machine_cpu },
    ] },
  ],
};

// whole keeps the numbers in a text and their units on one line.
const whole = (text) => text.replace(/(\d) (?=(?:[mµn]?s|%|[KMG]iB)(?:\W|$))/g, "$1\u00a0");

const cores = (n) => (Number.isInteger(n) ? n : n.toFixed(2)) + (n === 1 ? " core" : " cores");

// Overview shows what stays visible with every part of the page.
export class Overview {
  constructor(head) {
    this.head = head;
    this.samples = [];
    this.runs = [];
    this.figures = figures.map(([title, , about, , shown]) => {
      const made = { name: element("dt", {}, title), value: element("dd", {}, none) };
      made.box = element("div", { title: about }, made.name, made.value);
      made.box.hidden = Boolean(shown);
      $("figures").append(made.box);
      return made;
    });
    this.charts = Object.entries(charts).flatMap(([place, list]) => list.map((chart) => new Chart($(place), chart)));
    const meanings = [...Object.values(charts).flat().map((c) => [c.title, c.about]), ...figures.map(([title, , about]) => [title, about])];
    $("figures-mean").append(pairs(meanings));
  }

  async ask(get) {
    const [verdict, samples, { runs }] = await Promise.all([get("verdict"), this.news(get), get("runs", { limit: runsMarked })]);
    this.judge(verdict);
    this.runs = runs;
    this.head.show(runs[0]);
    this.samples = [...this.samples, ...samples].slice(-kept);
    const last = this.samples.at(-1);
    if (last) this.figure(last);
    this.redraw();
  }

  // news fetches the samples that have not been fetched yet.
  async news(get) {
    const last = this.samples.at(-1)?.time;
    const { samples } = await get("samples", { after: last, last: kept });
    return (samples ?? []).filter((s) => !last || s.time > last);
  }

  judge(verdict) {
    const looked = verdict.seconds > 0;
    const word = !looked ? "not known yet" : !verdict.trusted ? "not trusted" : verdict.idle ? "trusted, idle" : "trusted";
    setText($("verdict-word"), word);
    setText($("chip"), word);
    $("verdict").className = !looked ? "" : verdict.trusted ? "trusted" : "not-trusted";
    for (const name of ["trusted", "not-trusted"]) $("chip").classList.toggle(name, $("verdict").className === name);
    document.title = (looked && !verdict.trusted ? "⚠ not trusted – " : "") + "mockserver";
    const lines = verdict.reasons.map((r) => [r.code, r.text, r.since]);
    if (!verdict.trusted) lines.push(...verdict.explanations.map((r) => [r.code, "may explain it: " + r.text, r.since]));
    setText($("verdict-size"), whole(verdict.size || ""));
    if (verdict.unknown?.length > 0) lines.push(["", "not reported by this system, so not judged: " + verdict.unknown.join(", ")]);
    const list = $("verdict-reasons");
    while (list.children.length > lines.length) list.lastChild.remove();
    lines.forEach(([code, text, since], i) => {
      const line = list.children[i] ?? list.appendChild(element("li", {}, element("strong", { class: "code" }), element("span", {}), element("small", {})));
      setText(line.children[0], code);
      setText(line.children[1], (code ? ": " : "") + whole(text));
      line.classList.toggle("unknown", !code);
      setText(line.children[2], since ? " · for " + duration(Math.max(0, Math.round((Date.now() - new Date(since)) / 1000))) : "");
    });
  }

  figure(sample) {
    figures.forEach(([, text, , alarming, shown], i) => {
      if (shown) this.figures[i].box.hidden &&= !shown(sample);
      figure(this.figures[i].value, text(sample));
      this.figures[i].box.classList.toggle("bad", Boolean(alarming?.(sample)));
    });
    setText(this.figures.find((f) => f.name.textContent.startsWith("CPU")).name, "CPU" + (sample.cpu_limit ? ", of " + cores(sample.cpu_limit) : ""));
  }

  redraw() {
    for (const chart of this.charts) chart.show(this.samples, this.runs);
  }
}
