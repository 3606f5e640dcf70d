// The outcomes of webhooks, and the pending webhooks.
import { element, figure, setText, count, ms, moment, duration, none } from "./format.js";
import { Table } from "./table.js";
import { confirmed } from "./dialog.js";

// listed is the maximum number of pending webhooks that are fetched.
const listed = 200;

const figures = [
  ["pending", (w) => count(w.pending)],
  ["late", (w) => count(w.due), (w) => w.due > 0],
  ["being sent", (w) => count(w.in_flight)],
  ["delivered", (w) => count(w.delivered)],
  ["retried", (w) => count(w.retried)],
  ["given up", (w) => count(w.dead), (w) => w.dead > 0],
  ["cancelled", (w) => count(w.cancelled)],
  ["refused", (w) => count(w.refused), (w) => w.refused > 0],
  ["lag p99", (w) => (w.lag?.count > 0 ? ms(w.lag.p99) : none)],
];

export class Webhooks {
  constructor(place) {
    this.figures = figures.map(([title]) => {
      const made = { value: element("dd", {}, none) };
      made.box = element("div", {}, element("dt", {}, title), made.value);
      place.querySelector("dl").append(made.box);
      return made;
    });
    this.next = element("p", { class: "note" });
    place.append(this.next);
    this.table = new Table(place, {
      caption: "Pending webhooks, the earliest due first",
      id: (w) => w.id,
      find: (w) => [w.webhook, w.method, w.url].join(" "),
      sort: "due", size: 20,
      empty: "No webhooks are pending.",
      columns: [
        { name: "webhook", title: "Webhook", first: true, value: (w) => w.webhook, text: (w) => w.webhook },
        { name: "to", title: "To", kind: "wide", value: (w) => w.url, text: (w) => w.method + " " + w.url },
        { name: "due", title: "Due", number: true, value: (w) => Date.parse(w.due), text: due },
        { name: "attempt", title: "Attempts", number: true, value: (w) => w.attempt, text: (w) => count(w.attempt) },
        { name: "actions", title: "Actions", kind: "wide", cell: (row) => this.buttons(row) },
      ],
    });
  }

  buttons(row) {
    const about = (w) => w.webhook + " to " + w.url;
    const send = element("button", { type: "button", "aria-label": "Send now: " + about(row()) }, "Send now");
    const cancel = element("button", { type: "button", class: "danger", "aria-label": "Cancel: " + about(row()) }, "Cancel");
    send.addEventListener("click", () => this.change((act) => act("POST", "webhooks/" + encodeURIComponent(row().id) + "/fire")));
    cancel.addEventListener("click", async () => {
      const id = row().id;
      if (await confirmed("Cancel " + about(row()) + "? It will not be sent.", "Cancel it")) {
        this.change((act) => act("DELETE", "webhooks/" + encodeURIComponent(id)));
      }
    });
    return element("div", { class: "actions" }, send, cancel);
  }

  async ask(get) {
    const answer = await get("webhooks", { limit: listed });
    figures.forEach(([, text, alarming], i) => {
      figure(this.figures[i].value, text(answer));
      this.figures[i].box.classList.toggle("bad", Boolean(alarming?.(answer)));
    });
    const list = answer.webhooks ?? [];
    setText(this.next, answer.pending > list.length ? `The next ${count(list.length)} of ${count(answer.pending)}:` : "");
    this.table.show(list);
  }
}

// due formats when a webhook is due, and how long until or since then.
function due(w) {
  if (w.in_flight) return "being sent";
  const left = w.due_in_ms / 1000;
  return moment(w.due) + (left >= 0 ? ", in " + duration(Math.ceil(left)) : ", late by " + duration(Math.ceil(-left)));
}
