// The page of the admin address: asks the server once a second and shows what it says.
import { get, act, token, Unauthorized, Gone } from "./api.js";
import { setText, moment, duration } from "./format.js";
import { Overview } from "./overview.js";
import { Endpoints } from "./endpoints.js";
import { Unmatched, Journal } from "./journal.js";
import { Webhooks } from "./webhooks.js";
import { State } from "./state.js";
import { Runs, RunHead } from "./runs.js";
import { Recordings } from "./recordings.js";
import { Configuration } from "./configuration.js";
import { Fleet } from "./fleet.js";
import { say, silence, dismiss } from "./dialog.js";
import { Store } from "./store.js";

const $ = (id) => document.getElementById(id);

// How often the server is asked, in milliseconds: while the page is looked at, while it
// is not, and at most after failures, each of which doubles it.
const often = 1000;
const seldom = 15000;
const longest = 30000;

const overview = new Overview();
const run = new RunHead();
const parts = {
  runs: new Runs($("runs")),
  endpoints: new Endpoints($("endpoints")),
  unmatched: new Unmatched($("unmatched")),
  webhooks: new Webhooks($("webhooks")),
  sets: new State($("sets")),
  recordings: new Recordings($("recordings")),
  journal: new Journal($("journal")),
  configuration: new Configuration($("configuration")),
};
// Most servers have no fleet, and say so with the page.
if ("fleet" in document.documentElement.dataset) {
  parts.fleet = new Fleet($("fleet"));
  $("fleet-link").hidden = false;
}
// onWall are the parts that a wall shows, all at once.
const onWall = ["endpoints", "webhooks", "unmatched"];
const usualRows = Object.fromEntries(onWall.map((name) => [name, parts[name].table.size]));
const wallRows = 6; // of each table, until it is known how many there is room for

const state = {
  timer: 0, asking: false, again: false, failures: 0, paused: false, locked: false,
  since: undefined, // of the last answer
  wall: false,
};

const shown = () => {
  if (state.wall) return onWall;
  const name = location.hash.slice(1);
  return [Object.hasOwn(parts, name) ? name : "runs"];
};

// ask is one look at the server; there is never a second one beside it.
async function ask() {
  clearTimeout(state.timer);
  if (tokenDue()) return askForToken();
  if (state.asking) {
    state.again = true;
    return;
  }
  state.asking = true;
  state.again = false;
  try {
    const names = shown();
    // While it is paused only a part that is turned to is asked for.
    const above = state.paused && state.since ? [] : [overview.ask(get), run.ask(get)];
    await Promise.all([...above, ...names.map((name) => parts[name].ask(get))]);
    answered();
  } catch (cause) {
    failed(cause);
  } finally {
    state.asking = false;
  }
  plan();
}

function plan() {
  if (state.again) return void ask();
  if (state.locked || (state.paused && state.failures === 0)) return;
  const base = document.hidden ? seldom : often;
  const wait = Math.min(base * 2 ** state.failures, Math.max(longest, base));
  if (state.failures > 0) gone();
  state.timer = setTimeout(ask, wait);
}

function answered() {
  state.failures = 0;
  state.locked = false;
  state.since = new Date();
  $("gone").hidden = true;
  $("token").hidden = true;
  $("contents").hidden = false;
  $("contents").classList.remove("old");
  status();
  fill();
}

const status = () => setText($("connection"), state.paused ? "paused" : "live");

function failed(cause) {
  state.locked = false;
  if (cause instanceof Unauthorized) return askForToken();
  state.failures++;
  state.cause = cause;
  if (!(cause instanceof Gone) && cause.status === undefined) console.error(cause);
}

// gone says that there is no answer, and how old the figures are.
function gone() {
  const what = state.cause instanceof Gone ? "The server does not answer"
    : state.cause.status === undefined ? "This page cannot handle the server's answer (" + state.cause.message + ")"
    : "The server answers with an error: " + state.cause.message;
  const old = state.since ? " The data shown is from " + moment(state.since) + "." : "";
  setText($("gone"), what + "." + old + " The page tries again at intervals of up to " + duration(longest / 1000) + ".");
  $("gone").hidden = false;
  $("contents").classList.add("old");
  $("contents").hidden = !state.since;
  setText($("connection"), "no answer");
}

// tokenDue tells that the server has said it asks for a token, and there is none yet.
const tokenDue = () => !token.get() && (state.locked || "token" in document.documentElement.dataset);

// askForToken asks, and complains only of one that was given.
function askForToken() {
  setText($("token-why"), token.get() ? "This token is wrong." : "");
  state.locked = true;
  $("gone").hidden = true;
  $("contents").hidden = true;
  setText($("connection"), "locked");
  if (!$("token").hidden) return;
  $("token").hidden = false;
  $("token-text").focus();
}

$("token").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set($("token-text").value.trim());
  $("token-text").value = "";
  setText($("token-why"), "");
  ask();
});

// change does what was asked for and shows what came of it.
async function change(work) {
  silence();
  try {
    return await work(act, get);
  } catch (cause) {
    if (cause instanceof Unauthorized) askForToken();
    else say(cause.message);
  } finally {
    ask();
  }
}
for (const part of Object.values(parts)) part.change = change;

// fill gives a wall as many rows as there is room for.
function fill() {
  if (!state.wall) return;
  for (const name of onWall) parts[name].table.fit($(name));
}
window.addEventListener("resize", () => {
  fill();
  reveal();
});

// go shows the part that the address names.
function go() {
  const names = shown();
  for (const name of Object.keys(parts)) $(name).hidden = !names.includes(name);
  for (const link of document.querySelectorAll("nav a")) {
    if (!state.wall && link.hash === "#" + names[0]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  reveal();
}

// reveal brings the link of the part that is shown into sight, where they do not all fit.
function reveal() {
  const list = $("parts-list");
  const link = list.querySelector("[aria-current]");
  if (link) list.scrollLeft = link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
}

// The address keeps naming the part when the head of the page is skipped.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
window.addEventListener("hashchange", () => {
  dismiss();
  go();
  $(shown()[0] + "-title").focus();
  ask();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !state.paused) ask();
});
window.addEventListener("online", () => { if (!state.paused) ask(); });

// The verdict stays in sight, small, when its own place is out of it.
new IntersectionObserver(([seen]) => $("chip").classList.toggle("needless", seen.isIntersecting)).observe($("verdict"));

$("pause").addEventListener("click", () => {
  state.paused = !state.paused;
  $("pause").setAttribute("aria-pressed", String(state.paused));
  status();
  if (!state.paused) ask();
  else clearTimeout(state.timer);
});

const kept = new Store(() => localStorage);
const themes = ["system", "light", "dark"];

// paint sets the theme and the size, which are kept for later visits.
function paint(theme, wall) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  setText($("theme"), "Theme: " + theme);
  state.wall = wall;
  root.toggleAttribute("data-wall", wall);
  $("wall").setAttribute("aria-pressed", String(wall));
  for (const name of onWall) parts[name].table.size = wall ? wallRows : usualRows[name];
  kept.set("mockserver-theme", theme);
  kept.set("mockserver-wall", wall ? "on" : "");
  go();
  overview.redraw();
}

const theme = () => {
  const name = kept.get("mockserver-theme");
  return themes.includes(name) ? name : "system";
};

// A screen that nobody sits at is told by its address: "/?wall=on&theme=dark". What is
// pressed here counts from then on.
const asked = new URLSearchParams(location.search);
const pressed = () => history.replaceState(history.state, "", location.pathname + location.hash);

$("theme").addEventListener("click", () => {
  pressed();
  paint(themes[(themes.indexOf(theme()) + 1) % themes.length], state.wall);
});
$("wall").addEventListener("click", () => {
  pressed();
  paint(theme(), !state.wall);
  ask();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => overview.redraw());

paint(themes.includes(asked.get("theme")) ? asked.get("theme") : theme(), (asked.get("wall") ?? kept.get("mockserver-wall")) === "on");
ask();
