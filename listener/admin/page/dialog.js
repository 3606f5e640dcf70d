// What is shown over the page, and what is said at its lower edge.
import { setText } from "./format.js";

const $ = (id) => document.getElementById(id);

// detail shows nodes over the page, until it is closed.
export function detail(title, ...nodes) {
  setText($("detail-title"), title);
  $("detail-text").replaceChildren(...nodes);
  if (!$("detail").open) $("detail").showModal();
}

// dismiss closes what is shown over the page; a question that stands is answered no.
export function dismiss() {
  for (const box of document.querySelectorAll("dialog[open]")) box.close("");
}

$("detail-close").addEventListener("click", () => $("detail").close());

// confirmed asks, and tells whether the answer was yes. Escape is no.
export function confirmed(question, yes) {
  const box = $("question");
  setText($("question-text"), question);
  setText($("question-yes"), yes);
  box.returnValue = "";
  box.showModal();
  return new Promise((resolve) => box.addEventListener("close", () => resolve(box.returnValue === "yes"), { once: true }));
}

$("question-yes").addEventListener("click", () => $("question").close("yes"));
$("question-no").addEventListener("click", () => $("question").close(""));

// say tells what went wrong with what was asked for, for a while.
export function say(text) {
  clearTimeout(timer);
  setText($("said"), text);
  $("said").hidden = false;
  timer = setTimeout(silence, 15000);
}

let timer = 0;

export function silence() {
  $("said").hidden = true;
}
