// Dialogs over the page, and a message at its lower edge.
import { setText } from "./format.js";

const $ = (id) => document.getElementById(id);

// detail shows nodes in a dialog over the page, until the dialog is closed.
export function detail(title, ...nodes) {
  setText($("detail-title"), title);
  $("detail-text").replaceChildren(...nodes);
  if (!$("detail").open) $("detail").showModal();
}

// dismiss closes all dialogs. A pending question is answered with no.
export function dismiss() {
  for (const box of document.querySelectorAll("dialog[open]")) box.close("");
}

$("detail-close").addEventListener("click", () => $("detail").close());

// confirmed asks a question, and returns a promise that tells whether the answer was yes. The
// Escape key means no.
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

// say shows a message for a while: why an action of the user failed.
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
