// Requests to the admin address, with the token if there is one.
import { Store } from "./store.js";

const key = "mockserver-admin-token";

// Unauthorized is thrown when the server requires a token, or has refused the one that was sent.
export class Unauthorized extends Error {}

// Refused is thrown when the server answers with an error status other than 401.
export class Refused extends Error {
  constructor(status, answer) {
    super(answer?.message || answer?.error || "the server answered " + status);
    this.status = status;
    this.code = answer?.code;
  }
}

// Gone is thrown when there is no answer, or only a part of it.
export class Gone extends Error {}

// patience is how long an answer may take, in milliseconds.
const patience = 10000;

// The token is kept for as long as the tab is open, and is sent only to this server.
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

// act sends a request that changes something. The answer may be empty.
export async function act(method, path, body) {
  return json(await send(method, path, body));
}

// file fetches a file that is to be shown or saved as is.
export async function file(path) {
  return (await send("GET", path)).blob();
}
