// EventSource and its parser, against the streams at the URL in the first argument. The second argument lists the
// paths with the events that each has: type, data and last id.
import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import { createParser } from "eventsource-parser";

const url = process.argv[2];
const cases = JSON.parse(process.argv[3]);

// follow opens an EventSource, and returns its events until done says that they are enough.
function follow(path, types, done) {
  return new Promise((resolve) => {
    const source = new EventSource(url + path);
    const events = [];
    let opened = 0;
    for (const type of types) {
      source.addEventListener(type, (e) => events.push([e.type, e.data, e.lastEventId]));
    }
    source.addEventListener("open", () => opened++);
    source.addEventListener("error", () => {
      if (done(source)) {
        source.close();
        resolve([events, opened]);
      }
    });
  });
}

await Promise.all(cases.map(async ({ name, path, events }) => {
  const types = new Set(["message", ...events.map(([type]) => type)]);
  const withoutId = ([type, data]) => [type, data]; // this EventSource forgets it with each event
  assert.deepEqual((await follow(path, types, () => true))[0].map(withoutId), events.map(withoutId), `EventSource: ${name}`);

  const parsed = [];
  let id = "";
  const parser = createParser({ onEvent: (e) => parsed.push([e.event || "message", e.data, (id = e.id ?? id)]) });
  const decoder = new TextDecoder();
  for await (const piece of (await fetch(url + path)).body) {
    parser.feed(decoder.decode(piece, { stream: true }));
  }
  assert.deepEqual(parsed, events, `parser: ${name}`);
}));

// A client whose connection breaks gets the rest, each event once, and stops when nothing is left.
const [events, opened] = await follow("/resumed", ["message"], (source) => source.readyState === EventSource.CLOSED);
assert.deepEqual(events, [1, 2, 3, 4, 5].map((n) => ["message", String(n), String(n)]));
assert.equal(opened, 2);
