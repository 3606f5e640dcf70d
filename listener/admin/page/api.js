// Requests to the admin address, with the token where one is needed.
import { Store } from "./store.js";

const key = "mockserver-admin-token";

// Unauthorized is thrown when the server asks for a token, or for another one.
export class Unauthorized extends Error {}

// Refused is thrown when the server answers with an error of its own.
export class Refused extends Error {
  constructor(status, answer) {
    super(answer?.message || answer?.error || "the server answered " + status);
    this.status = status;
    this.code = answer?.code;
  }
}

// Gone is thrown when there is no answer.
export class Gone extends Error {}

// patience is how long an answer may take, in milliseconds.
const patience = 10000;

// Kept for as long as the tab is open, and given to nothing but this server.
const tab = new Store(() => sessionStorage);
export const token = { get: () => tab.get(key), set: (value) => tab.set(key, value) };

async function send(method, path, body) {
  const headers = {};
  if (token.get()) headers.Authorization = "Bearer " + token.get();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch("/__admin/" + path, {
      method, headers, cache: "no-store", credentials: "omit", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
    });
  } catch (cause) {
    throw new Gone("no answer: " + cause.message);
  }
  if (answer.status === 401) throw new Unauthorized();
  if (!answer.ok) throw new Refused(answer.status, await json(answer));
  return answer;
}

async function json(answer) {
  try {
    return await answer.json();
  } catch {
    return undefined;
  }
}

export async function get(path, query) {
  const search = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value !== "" && value !== undefined));
  const answer = await send("GET", path + (search.size > 0 ? "?" + search : ""));
  try {
    return await answer.json();
  } catch (cause) {
    throw new Gone("the answer broke off: " + cause.message);
  }
}

// act sends what changes something; the answer may be empty.
export async function act(method, path, body) {
  return json(await send(method, path, body));
}

// file fetches what is to be shown or kept as it is.
export async function file(path) {
  return (await send("GET", path)).blob();
}
