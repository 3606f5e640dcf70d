// The replicas of a fleet, whether they agree, and the runs of all of them.
import { element, setText, count, moment, none } from "./format.js";
import { Table } from "./table.js";
import { Runs } from "./runs.js";

const ready = (m) => (m.silent ? "does not answer: " + m.silent : m.ready ? "ready" : "not ready: " + m.why);
const timing = (m) => (m.silent ? none : m.trusted ? "trusted" : "not trusted: " + m.reasons.join(", "));

export class Fleet {
  constructor(place) {
    this.state = element("p", { class: "note", role: "status" });
    place.append(this.state);
    this.table = new Table(place, {
      caption: "Replicas",
      id: (m) => m.address,
      size: 20,
      empty: "No replica was found.",
      columns: [
        { name: "address", title: "Replica", about: "The admin address of the replica.", first: true, value: (m) => m.address, text: (m) => m.address + (m.self ? " (this one)" : "") },
        { name: "ready", title: "Ready", about: "Whether it accepts requests.", kind: "wide", value: ready, text: ready },
        { name: "timing", title: "Timing", about: "Whether its timing can be trusted now.", kind: "wide", value: timing, text: timing },
        { name: "configuration", title: "Configuration", about: "The beginning of the fingerprint of what it serves.", kind: "short", value: (m) => m.fingerprint, text: (m) => m.fingerprint.slice(0, 12) || none },
        { name: "version", title: "Version", about: "The version of the program.", kind: "short", value: (m) => m.version, text: (m) => m.version || none },
        { name: "cpus", title: "CPUs", about: "The cores that it may use.", number: true, value: (m) => m.cpu_limit, text: (m) => (m.silent ? none : String(m.cpu_limit)) },
        { name: "since", title: "Since", about: "When it started.", kind: "short", value: (m) => Date.parse(m.since), text: (m) => (m.silent ? none : moment(m.since)) },
      ],
    });
    const form = document.getElementById("fleet-run-start");
    place.append(form); // after the replicas
    this.runs = new Runs(place, { all: "fleet/runs", form, caption: "Runs of all replicas" });
    this.runs.change = (work) => this.change(work);
  }

  async ask(get) {
    const fleet = await get("fleet");
    setText(this.state, fleet.agreed ? "All " + count(fleet.replicas.length) + " replicas are ready and serve the same configuration." : "Not agreed: " + fleet.why.join("; "));
    this.table.show(fleet.replicas);
    await this.runs.ask(get);
  }
}
