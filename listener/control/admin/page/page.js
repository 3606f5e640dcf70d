// The page of the admin address. It fetches the state of the server once a second, and shows it.
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

// The intervals at which the server is asked, in milliseconds: often while the page is visible, and
// seldom while it is hidden. Each failure doubles the interval, up to longest.
const often = 1000;
const seldom = 15000;
const longest = 30000;

const overview = new Overview(new RunHead());
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
// The server sets data-fleet in the page if it belongs to a fleet.
if ("fleet" in document.documentElement.dataset) {
  parts.fleet = new Fleet($("fleet"));
  $("fleet-link").hidden = false;
}
// onWall are the parts that the wall view shows, all at once.
const onWall = ["endpoints", "webhooks", "unmatched"];
const usualRows = Object.fromEntries(onWall.map((name) => [name, parts[name].table.size]));
const wallRows = 6; // rows of each table, until it is known how many fit

const state = {
  timer: 0, asking: false, again: false, failures: 0, paused: false, locked: false,
  since: undefined, // time of the last answer
  wall: false,
};

const shown = () => {
  if (state.wall) return onWall;
  const name = location.hash.slice(1);
  return [Object.hasOwn(parts, name) ? name : "runs"];
};

// ask fetches and shows the state of the server once. It never runs twice at the same time.
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
    // While the page is paused, only a part that the user opens is fetched.
    const above = state.paused && state.since ? [] : [overview.ask(get)];
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

// gone shows why there is no current data, and how old the data on the page is.
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

// tokenDue reports whether the server requires a token and none has been entered yet.
const tokenDue = () => !token.get() && (state.locked || "token" in document.documentElement.dataset);

// askForToken asks for the token. It reports a wrong token only if one has been entered.
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

// change performs an action of the user. It shows an error if the action fails, and then updates
// the page.
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

// fill shows as many rows as fit into each table of the wall view.
function fill() {
  if (!state.wall) return;
  for (const name of onWall) parts[name].table.fit($(name));
}
window.addEventListener("resize", () => {
  fill();
  reveal();
});

// go shows the part that the URL names.
function go() {
  const names = shown();
  for (const name of Object.keys(parts)) $(name).hidden = !names.includes(name);
  for (const link of document.querySelectorAll("nav a")) {
    if (!state.wall && link.hash === "#" + names[0]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  reveal();
}

// reveal scrolls the link to the current part into view, in case not all links fit.
function reveal() {
  const list = $("parts-list");
  const link = list.querySelector("[aria-current]");
  if (link) list.scrollLeft = link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
}

// The link that skips the head of the page must not change the URL, which names the part.
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

// A small copy of the verdict is shown while the verdict itself is scrolled out of view.
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

// paint sets the theme, and turns the wall view on or off. Both are kept for later visits.
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

// For a screen that nobody operates, the URL can select the view, such as "/?wall=on&theme=dark".
// Once a button is pressed, the choice made with the button counts instead.
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
