// The verdict, the figures of the last second, and the charts of the last minutes.
import { element, figure, setText, rate, ms, count, share, duration, bytes, none } from "./format.js";
import { Chart } from "./chart.js";

const $ = (id) => document.getElementById(id);

// kept is the number of samples in a chart, one for each second.
const kept = 300;

// spread returns a function that reads a quantile of a distribution of a sample. The quantile of an
// empty distribution is undefined.
const spread = (name, quantile) => (s) => (s[name]?.count > 0 ? s[name][quantile] : undefined);

// abouts explain figures of which a reader may compare two that are not of the same requests.
const abouts = {
  "failed": "the share of requests that a client saw fail, in the last second",
  "response time p99": "of all requests in the last second",
  "injected p99": "of those requests in the last second that had a latency",
  "injection error p99": "of those requests in the last second that had a latency",
  "injected errors/s": "failures and timeouts of latencies, and responses that a fault broke",
};

// figures are [title, text, alarming]: text formats a figure of the newest sample, and alarming
// reports whether the figure is a reason for alarm.
const figures = [
  ["requests/s", (s) => rate(s.rate)],
  ["response time p99", (s) => ms(spread("total", "p99")(s))],
  ["own time p99", (s) => ms(spread("own", "p99")(s))],
  ["injected p99", (s) => ms(spread("injected", "p99")(s))],
  ["injection error p99", (s) => ms(spread("injection_error", "p99")(s))],
  ["failed", (s) => share(s.requests > 0 ? s.failed.all / s.requests : 0)],
  ["own errors/s", (s) => rate(s.errors_own / s.seconds), (s) => s.errors_own > 0],
  ["declared errors/s", (s) => rate((s.failed.declared_4xx + s.failed.declared_5xx) / s.seconds)],
  ["unmatched/s", (s) => rate(s.unmatched / s.seconds), (s) => s.unmatched > 0],
  ["injected errors/s", (s) => rate((s.failed.injected + s.failed.faults) / s.seconds)],
  ["limited/s", (s) => rate((s.limited + s.refused) / s.seconds)],
  ["in flight, connections", (s) => count(s.in_flight) + ", " + count(s.connections)],
  ["webhooks pending", (s) => count(s.webhooks_pending)],
  ["webhook lag p99", (s) => ms(spread("webhook_lag", "p99")(s))],
  ["CPU", (s) => (s.cpu === null || s.cpu === undefined ? none : share(s.cpu / (s.cpu_limit || 1)))],
  ["memory", (s) => bytes(s.memory)],
];

const cores = (n) => (Number.isInteger(n) ? n : n.toFixed(2)) + (n === 1 ? " core" : " cores");

// Overview shows what stays visible with every part of the page.
export class Overview {
  constructor() {
    this.samples = [];
    this.figures = figures.map(([title]) => {
      const made = { name: element("dt", abouts[title] ? { title: abouts[title] } : {}, title), value: element("dd", {}, none) };
      made.box = element("div", {}, made.name, made.value);
      $("figures").append(made.box);
      return made;
    });
    this.charts = [
      new Chart($("charts"), { title: "Requests a second", write: rate, lines: [
        { title: "all", colour: "blue", read: (s) => s.rate },
        { title: "unmatched", colour: "orange", read: (s) => s.unmatched / s.seconds },
      ] }),
      new Chart($("charts"), { title: "Own time", write: ms, lines: [
        { title: "p99", colour: "blue", read: spread("own", "p99") },
        { title: "p50", colour: "orange", read: spread("own", "p50") },
      ] }),
      new Chart($("charts"), { title: "Injected latency", write: ms, lines: [
        { title: "p99", colour: "blue", read: spread("injected", "p99") },
        { title: "p50", colour: "orange", read: spread("injected", "p50") },
      ] }),
    ];
  }

  async ask(get) {
    const [verdict, samples] = await Promise.all([get("verdict"), this.news(get)]);
    this.judge(verdict);
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
    if (verdict.size) lines.push(["", verdict.size]);
    if (verdict.unknown?.length > 0) lines.push(["", "not reported by this system, so not judged: " + verdict.unknown.join(", ")]);
    const list = $("verdict-reasons");
    while (list.children.length > lines.length) list.lastChild.remove();
    lines.forEach(([code, text, since], i) => {
      const line = list.children[i] ?? list.appendChild(element("li", {}, element("strong", { class: "code" }), element("span", {}), element("small", {})));
      setText(line.children[0], code);
      setText(line.children[1], (code ? ": " : "") + text);
      line.classList.toggle("unknown", !code);
      setText(line.children[2], since ? " · for " + duration(Math.max(0, Math.round((Date.now() - new Date(since)) / 1000))) : "");
    });
  }

  figure(sample) {
    figures.forEach(([, text, alarming], i) => {
      figure(this.figures[i].value, text(sample));
      this.figures[i].box.classList.toggle("bad", Boolean(alarming?.(sample)));
    });
    setText(this.figures.find((f) => f.name.textContent.startsWith("CPU")).name, "CPU" + (sample.cpu_limit ? ", of " + cores(sample.cpu_limit) : ""));
  }

  redraw() {
    for (const chart of this.charts) chart.show(this.samples);
  }
}
