// Functions that format numbers, durations and times, and that make elements. Data from requests
// gets into the page only as text: neither this file nor the files that use it make HTML from a
// text.

// element makes an element: element("td", { class: "number" }, "12", node …).
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

// setText sets the text of a node only if the text differs, so that a selection stays and screen
// readers announce nothing twice.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// setPath is setText for a text that may be long: lines break after /, ? and & rather than within
// words.
export function setPath(node, text) {
  if (node.textContent === text) return;
  const parts = text.split(/(?<=[/?&])(?=[^/?&])/);
  node.replaceChildren(...parts.flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part])));
}

// figure puts a text such as "1.25 ms" into a node, with its units smaller than its numbers.
export function figure(node, text) {
  if (node.textContent === text) return;
  const parts = text.split(/(?<=[\d.]) (?=\D)/);
  node.replaceChildren(...parts.flatMap((part, i) => {
    if (i === 0) return [part];
    const [unit, ...rest] = part.split(" ");
    return [" ", element("small", {}, unit), ...(rest.length > 0 ? [" " + rest.join(" ")] : [])];
  }));
}

// legible decodes percent-encoded letters in a path, as address bars do. Anything that is not a
// letter, mark, number, punctuation or symbol stays encoded, since it might hide or reverse the
// text around it.
export const legible = (text) => text.replace(/(?:%[89a-f][\da-f])+/gi, (bytes) => {
  try {
    const letters = decodeURIComponent(bytes);
    return /^[\p{L}\p{M}\p{N}\p{P}\p{S}\u200d]+$/u.test(letters) ? letters : bytes;
  } catch {
    return bytes;
  }
});

// pairs returns a list of [name, text], without those whose text is empty.
export const pairs = (list) => element("dl", { class: "pairs" }, ...list.filter(([, text]) => text).flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });

export const none = "–";

export const count = (n) => (n === undefined || n === null ? none : whole.format(n));

// rate formats a number per second.
export function rate(n) {
  if (n === undefined || n === null || Number.isNaN(n)) return none;
  if (n === 0) return "0";
  if (n < 10) return n.toFixed(n < 0.1 ? 2 : 1);
  return whole.format(n);
}

// duration formats seconds: "48 µs", "1.25 ms", "2 min 3 s".
export function duration(seconds) {
  if (seconds === undefined || seconds === null || Number.isNaN(seconds)) return none;
  const size = Math.abs(seconds);
  if (size === 0) return "0";
  if (size < 1e-6) return digits(seconds * 1e9) + " ns";
  if (size < 1e-3) return digits(seconds * 1e6) + " µs";
  if (size < 1) return digits(seconds * 1e3) + " ms";
  if (size < 60) return digits(seconds) + " s";
  return clock(seconds);
}

// ms formats milliseconds.
export const ms = (n) => duration(n === undefined || n === null ? undefined : n / 1000);

const digits = (n) => {
  const size = Math.abs(n);
  return n.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0).replace(/\.0+$/, "");
};

// clock formats a longer time in its two largest units.
function clock(seconds) {
  const sign = seconds < 0 ? "−" : "";
  let left = Math.round(Math.abs(seconds));
  const parts = [];
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n > 0 || parts.length > 0) parts.push(n + " " + unit);
  }
  return sign + (parts.slice(0, 2).join(" ") || "0 s");
}

export function bytes(n) {
  if (n === undefined || n === null) return none;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return (i === 0 ? exact.format(n) : digits(n)) + " " + units[i];
}

// share formats a share, from 0 to 1, as a percentage.
export const share = (part) => (part === undefined || part === null ? none : digits(part * 100) + " %");

// moment formats a time as the time of day, preceded by the date unless that is today's.
export function moment(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return none;
  const day = at.toDateString() === new Date().toDateString() ? "" : at.toLocaleDateString("en-CA") + " ";
  return day + at.toLocaleTimeString("en-GB");
}

// statuses formats the number of answers by status, with their shares: "200 × 12 (80 %), 404 × 3 (20 %)".
export function statuses(by) {
  const entries = Object.entries(by ?? {}).sort(([a], [b]) => a - b);
  const all = entries.reduce((sum, [, n]) => sum + n, 0);
  return entries.map(([status, n]) => ((status === "0" ? "others" : status) + " × " + whole.format(n) + " (" + share(n / all) + ")").replaceAll(" ", "\u00a0")).join(", ") || none;
}

// named formats counts by name.
export function named(by) {
  return Object.entries(by ?? {}).filter(([, n]) => n > 0).map(([name, n]) => name + "\u00a0×\u00a0" + count(n)).join(", ") || none;
}
