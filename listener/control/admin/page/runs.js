// The runs, which can be started, stopped, deleted and compared.
import { element, setText, count, rate, ms, moment, duration, none } from "./format.js";
import { Table } from "./table.js";
import { confirmed } from "./dialog.js";
import { file, token } from "./api.js";

const $ = (id) => document.getElementById(id);

const address = (where) => "/__admin/" + where;
const word = ({ running, verdict }) => (running ? "running" : !verdict ? none : verdict.idle ? "nothing timed" : verdict.trusted ? "trusted" : "not trusted");

// RunHead shows the run that is under way, or the one that ended last, at the head of every part.
export class RunHead {
  show(run) {
    const state = !run ? "no run yet" : run.running ? "running" : "ended";
    setText($("run-state"), state);
    $("run-now").className = run?.running ? "running" : "";
    setText($("run-title"), run?.name ?? "");
    setText($("run-times"), !run ? "" : run.running ? "started " + moment(run.begin)
      : moment(run.begin) + " to " + moment(run.end) + (run.verdict ? ", " + word(run) : ""));
  }
}

// Runs shows the runs of this server or, with the path of the fleet, those of all replicas.
export class Runs {
  constructor(place, { all = "runs", form = $("run-start"), caption = "Runs" } = {}) {
    this.all = all;
    this.form = form;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = form.elements.name.value.trim();
      this.change(async (act) => {
        await act("POST", all, { name });
        form.elements.name.value = "";
      });
    });
    this.table = new Table(place, {
      caption,
      id: (r) => r.id,
      find: (r) => r.name,
      sort: "begin", descending: true, size: 20,
      empty: "No run has been started yet. A run produces a report on the time between its start and its stop.",
      columns: [
        { name: "name", title: "Run", about: "The name that the run was given.", first: true, value: (r) => r.name, text: (r) => r.name },
        { name: "begin", title: "Started", about: "When it began.", kind: "short", value: (r) => Date.parse(r.begin), text: (r) => moment(r.begin) },
        { name: "end", title: "Ended", about: "When it ended.", kind: "short", value: (r) => (r.end ? Date.parse(r.end) : Infinity), text: (r) => (r.end ? moment(r.end) : "running") },
        { name: "took", title: "Took", about: "How long it took.", number: true, value: (r) => r.seconds, text: (r) => duration(r.seconds) },
        { name: "requests", title: "Requests", about: "Requests that were answered in it.", number: true, value: (r) => r.requests, text: (r) => count(r.requests) },
        { name: "rate", title: "Rate/s", about: "Requests a second.", number: true, value: (r) => r.rate, text: (r) => rate(r.rate) },
        { name: "verdict", title: "Timing", about: "Whether its timing can be trusted.", value: word, text: word },
        { name: "actions", title: "Actions", about: "Its report, and what stops or deletes it.", kind: "wide", cell: (row) => this.buttons(row) },
      ],
    });
    this.made = new Map(); // buttons, by the ID of the run
    this.compare = all === "runs" ? this.comparison(place) : undefined;
  }

  path(run) {
    return this.all + "/" + encodeURIComponent(run.id);
  }

  buttons(row) {
    const about = row().name;
    const button = (title, kind, work) => {
      const made = element("button", { type: "button", class: kind, "aria-label": title + " " + about }, title);
      made.addEventListener("click", work);
      return made;
    };
    const report = element("a", { class: "open", href: address(this.path(row()) + "/report"), target: "_blank", rel: "noopener", "aria-label": "Report of " + about }, "Report");
    report.addEventListener("click", (event) => this.follow(event, this.path(row()) + "/report"));
    const stop = button("Stop", "danger", () => this.change((act) => act("POST", this.path(row()) + "/stop")));
    const forget = button("Delete", "", async () => {
      const run = row();
      if (await confirmed("Delete the run " + run.name + " and its report?", "Delete it")) this.change((act) => act("DELETE", this.path(run)));
    });
    this.made.set(row().id, { stop, forget });
    return element("div", { class: "actions" }, report, stop, forget);
  }

  comparison(place) {
    this.first = element("select", {});
    this.second = element("select", {});
    const form = element("form", { class: "controls", "aria-label": "Compare two runs" },
      element("label", {}, "Compare ", this.first), element("label", {}, "with ", this.second),
      element("a", { class: "open", target: "_blank", rel: "noopener" }, "Show the comparison"));
    const link = form.querySelector("a");
    const where = () => "runs/compare?" + new URLSearchParams({ a: this.first.value, b: this.second.value, format: "html" });
    const aim = () => link.setAttribute("href", address(where()));
    for (const select of [this.first, this.second]) {
      select.addEventListener("change", () => {
        select.dataset.chosen = select.value;
        aim();
      });
    }
    link.addEventListener("click", (event) => this.follow(event, where()));
    form.addEventListener("submit", (event) => event.preventDefault());
    place.append(form);
    return { form, aim };
  }

  // follow handles a click on a link. A link cannot send the token: if there is a token, the page
  // is fetched with it and then opened.
  follow(event, where) {
    if (!token.get()) return;
    event.preventDefault();
    this.change(async () => {
      const page = URL.createObjectURL(await file(where));
      element("a", { href: page, target: "_blank", rel: "noopener" }).click();
      setTimeout(() => URL.revokeObjectURL(page), 60000);
    });
  }

  async ask(get) {
    const { runs } = await get(this.all);
    this.table.show(runs);
    const there = new Set(runs.map((run) => run.id));
    for (const id of this.made.keys()) if (!there.has(id)) this.made.delete(id);
    for (const run of runs) {
      const buttons = this.made.get(run.id);
      if (!buttons) continue;
      buttons.stop.hidden = !run.running;
      buttons.forget.hidden = run.running;
    }
    const running = runs.find((r) => r.running);
    this.form.hidden = Boolean(running); // there is only one at a time
    if (!this.compare) return;
    const ended = runs.filter((r) => !r.running);
    this.compare.form.hidden = ended.length < 2;
    choices(this.first, ended, 1);
    choices(this.second, ended, 0);
    this.compare.aim();
  }
}

// choices sets the options of a selection to the runs, unless they are unchanged. What the user has
// chosen stays selected.
function choices(select, runs, usual) {
  const ids = runs.map((r) => r.id).join(" ");
  if (select.dataset.ids === ids) return;
  select.dataset.ids = ids;
  select.replaceChildren(...runs.map((r) => element("option", { value: r.id }, r.name + ", " + moment(r.begin))));
  select.value = runs.some((r) => r.id === select.dataset.chosen) ? select.dataset.chosen : runs[usual]?.id ?? "";
}
