// The configuration of the server: its settings, and the endpoints as declared.
import { element, setText, count, none } from "./format.js";
import { Table } from "./table.js";

const $ = (id) => document.getElementById(id);

export class Configuration {
  constructor(place) {
    $("reload").addEventListener("click", () => this.change(async (act) => {
      setText($("reload-said"), "reloading …");
      try {
        const answer = await act("POST", "reload");
        setText($("reload-said"), "Reloaded: " + count(answer.endpoints) + " endpoints.");
      } catch (cause) {
        setText($("reload-said"), "Not reloaded; the last good configuration stays in service.");
        throw cause;
      }
      this.wait = 0;
    }));
    this.served = element("p", { class: "note" });
    place.append(this.served, element("h3", {}, "Settings"));
    this.settings = new Table(place, {
      caption: "Settings",
      id: (s) => s.flag,
      size: 100,
      empty: "No settings to show.",
      columns: [
        { name: "flag", title: "Setting", about: "The flag of the setting.", first: true, value: (s) => s.flag, text: (s) => s.flag },
        { name: "value", title: "Value", about: "The value that is used.", kind: "wide", text: (s) => s.value || none },
        { name: "given", title: "Given", about: "Whether it was given, or is the default.", kind: "short", value: (s) => Number(s.default), text: (s) => (s.default ? "by default" : "yes") },
        { name: "variable", title: "Variable", about: "The environment variable that sets it too.", kind: "short", value: (s) => s.variable, text: (s) => s.variable || none },
      ],
    });
    this.settings.look = (s) => (s.default ? "quiet" : "");
    place.append(element("h3", {}, "Endpoints"));
    this.endpoints = new Table(place, {
      caption: "Declared endpoints",
      id: (e) => e.id,
      find: (e) => [e.endpoint, e.host, e.if, e.at, e.summary, e.operation].join(" "),
      empty: "No endpoints are served.",
      columns: [
        { name: "endpoint", title: "Endpoint", about: "Method, path and host.", first: true, value: (e) => e.endpoint, text: (e) => e.endpoint + (e.host ? " · " + e.host : "") },
        { name: "if", title: "If", about: "The condition under which it answers.", kind: "wide", text: (e) => e.if || none },
        { name: "has", title: "Has", about: "Which keys it declares.", kind: "wide", text: (e) => e.has?.join(", ") || none },
        { name: "at", title: "Declared at", about: "File, line and column of its declaration.", kind: "wide", value: (e) => e.at, text: (e) => [e.at, e.operation].filter(Boolean).join(" · ") || none },
      ],
    });
    this.wait = 0;
  }

  // ask fetches the configuration only in one of eleven calls, since it seldom changes.
  async ask(get) {
    if (this.wait-- > 0) return;
    const config = await get("config");
    this.settings.show(config.settings ?? []);
    this.endpoints.show(config.endpoints);
    setText(this.served, "Served at " + config.url + " by version " + (config.version || "unknown") + (config.commit && config.commit !== "unknown" ? ", " + config.commit : "") + ".");
    this.wait = 10;
  }
}
