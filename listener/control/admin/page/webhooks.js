// The outcomes of webhooks, those that were given up, and the pending webhooks.
import { element, figure, pairs, setText, count, ms, moment, duration, none } from "./format.js";
import { Table } from "./table.js";
import { confirmed } from "./dialog.js";

// listed is the maximum number of pending webhooks that are fetched.
const listed = 200;

const figures = [
  ["pending", "Webhooks that wait or are being sent.", (w) => count(w.pending)],
  ["late", "Pending webhooks that are due and wait for a worker.", (w) => count(w.due), (w) => w.due > 0],
  ["being sent", "Pending webhooks that are being sent.", (w) => count(w.in_flight)],
  ["delivered", "Webhooks that the target answered with a status below 400.", (w) => count(w.delivered)],
  ["retried", "Attempts after the first.", (w) => count(w.retried)],
  ["given up", "Webhooks that were not delivered by their last attempt.", (w) => count(w.dead), (w) => w.dead > 0],
  ["cancelled", "Webhooks that were cancelled at the admin address.", (w) => count(w.cancelled)],
  ["refused", "Webhooks that were not accepted because too many were pending.", (w) => count(w.refused), (w) => w.refused > 0],
  ["lag p99", "99 of 100 first attempts were at most this late.", (w) => (w.lag?.count > 0 ? ms(w.lag.p99) : none)],
];

export class Webhooks {
  constructor(place) {
    this.figures = figures.map(([title, about]) => {
      const made = { value: element("dd", {}, none) };
      made.box = element("div", { title: about }, element("dt", {}, title), made.value);
      place.querySelector("dl").append(made.box);
      return made;
    });
    place.append(element("details", { class: "meanings" }, element("summary", {}, "What these figures mean"), pairs(figures.map(([title, about]) => [title, about]))));
    this.dead = new Table(place, {
      caption: "Webhooks that were given up, the latest first",
      id: (w) => w.webhook + " " + w.url,
      sort: "last", descending: true, size: 10,
      empty: "No webhooks were given up.",
      columns: [
        { name: "webhook", title: "Given up", about: "The endpoint that declares the webhook.", first: true, value: (w) => w.webhook, text: (w) => w.webhook },
        { name: "to", title: "To", about: "Method and URL that it was sent to.", kind: "wide", value: (w) => w.url, text: (w) => w.method + " " + w.url },
        { name: "times", title: "Times", about: "How many were given up.", number: true, value: (w) => w.count, text: (w) => count(w.count) },
        { name: "last", title: "Last", about: "When the last of them was given up.", kind: "short", value: (w) => Date.parse(w.last), text: (w) => moment(w.last) },
        { name: "error", title: "Last error", about: "Why the last attempt failed.", kind: "wide", value: (w) => w.last_error, text: (w) => w.last_error },
      ],
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
        { name: "webhook", title: "Webhook", about: "The endpoint that declares the webhook.", first: true, value: (w) => w.webhook, text: (w) => w.webhook },
        { name: "to", title: "To", about: "Method and URL that it is sent to.", kind: "wide", value: (w) => w.url, text: (w) => w.method + " " + w.url },
        { name: "due", title: "Due", about: "When the next attempt is due.", number: true, value: (w) => Date.parse(w.due), text: due },
        { name: "attempt", title: "Attempts", about: "Attempts so far.", number: true, value: (w) => w.attempt, text: (w) => count(w.attempt) },
        { name: "actions", title: "Actions", about: "Sends it now, or cancels it.", kind: "wide", cell: (row) => this.buttons(row) },
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
    figures.forEach(([, , text, alarming], i) => {
      figure(this.figures[i].value, text(answer));
      this.figures[i].box.classList.toggle("bad", Boolean(alarming?.(answer)));
    });
    const list = answer.webhooks ?? [];
    setText(this.next, answer.pending > list.length ? `The next ${count(list.length)} of ${count(answer.pending)}:` : "");
    this.table.show(list);
    this.dead.show(answer.given_up ?? []);
  }
}

// due formats when a webhook is due, and how long until or since then.
function due(w) {
  if (w.in_flight) return "being sent";
  const left = w.due_in_ms / 1000;
  return moment(w.due) + (left >= 0 ? ", in " + duration(Math.ceil(left)) : ", late by " + duration(Math.ceil(-left)));
}
