// The shapes of answers compared with those of aimock: whatever it sends, the server at the URL in the first argument sends
// too, with the same types, and a stream has the same events in the same order. The other arguments name the cases to run.
import assert from "node:assert/strict";
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, chunkSize: 4 });
mock.on({ endpoint: "embedding" }, { embedding: [0.6, 0.8] });
mock.on({ hasToolResult: false, userMessage: /weather/ }, { toolCalls: [{ name: "get_weather", arguments: '{"city":"Bern"}' }] });
mock.on({}, { content: "The answer is 42, said the mock server." });
await mock.start();

const messages = [{ role: "user", content: "What is the answer to everything?" }];
const weather = [{ role: "user", content: "What is the weather?" }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const chat = { model: "gpt-4o-mini", messages };
const chatTools = { model: "gpt-4o-mini", messages: weather, tools: [{ type: "function", function: { name: "get_weather", parameters } }] };
const message = { model: "claude-haiku", max_tokens: 1000, messages };
const messageTools = { ...message, messages: weather, tools: [{ name: "get_weather", input_schema: parameters }] };
const response = { model: "gpt-4o-mini", input: messages };
const responseTools = { model: "gpt-4o-mini", input: weather, tools: [{ type: "function", name: "get_weather", parameters }] };
const contents = { contents: [{ role: "user", parts: [{ text: "What is the answer to everything?" }] }] };
const streamed = (body) => ({ ...body, stream: true });
const cases = {
  chat: ["/v1/chat/completions", chat], chatStream: ["/v1/chat/completions", streamed(chat)],
  chatTools: ["/v1/chat/completions", chatTools], chatToolsStream: ["/v1/chat/completions", streamed(chatTools)],
  responses: ["/v1/responses", response], responsesStream: ["/v1/responses", streamed(response)],
  responsesTools: ["/v1/responses", responseTools], responsesToolsStream: ["/v1/responses", streamed(responseTools)],
  embeddings: ["/v1/embeddings", { model: "gpt-4o-mini", input: "one" }],
  messages: ["/v1/messages", message], messagesStream: ["/v1/messages", streamed(message)],
  messagesTools: ["/v1/messages", messageTools], messagesToolsStream: ["/v1/messages", streamed(messageTools)],
  gemini: ["/v1beta/models/gemini-flash:generateContent", contents],
  geminiStream: ["/v1beta/models/gemini-flash:streamGenerateContent?alt=sse", contents],
};

// ask returns the values that an answer has by event; those of a body are under "".
const ask = async (url, path, body) => {
  const headers = { "Content-Type": "application/json", Authorization: "Bearer key", "x-api-key": "key", "anthropic-version": "2023-06-01" };
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  if (!answer.headers.get("content-type").startsWith("text/event-stream")) return { order: [""], values: { "": [JSON.parse(text)] } };
  const order = [], values = {};
  for (const event of text.trimEnd().split("\n\n")) {
    const [, name = ""] = /^event: ?(.*)$/m.exec(event) ?? [], data = /^data: ?(.*)$/m.exec(event)[1];
    if (name === "ping") continue; // aimock sends none
    const kind = data === "[DONE]" ? data : name;
    if (order.at(-1) !== kind) order.push(kind);
    (values[kind] ??= []).push(data === "[DONE]" ? data : JSON.parse(data));
  }
  return { order, values };
};

// types returns the types at each path of the values.
const types = (values, at = "", into = new Map()) => {
  for (const value of values) {
    const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    into.set(at, (into.get(at) ?? new Set()).add(type));
    if (type === "array") types(value, at + "[]", into);
    if (type === "object") for (const [key, inside] of Object.entries(value)) types([inside], `${at}.${key}`, into);
  }
  return into;
};

for (const name of process.argv.slice(3)) {
  const [theirs, ours] = await Promise.all([mock.url, process.argv[2]].map((url) => ask(url, ...cases[name])));
  const problems = [];
  if (ours.order.join() !== theirs.order.join()) problems.push(`events ${ours.order}, aimock ${theirs.order}`);
  for (const [event, values] of Object.entries(theirs.values)) {
    const own = types(ours.values[event] ?? []);
    for (const [path, kinds] of types(values)) {
      const missing = [...kinds].filter((kind) => !own.get(path)?.has(kind));
      if (missing.length) problems.push(`${event} ${path}: ${[...(own.get(path) ?? [])]}, aimock ${[...kinds]}`);
    }
  }
  if (problems.length) {
    console.error(`${name}:\n${problems.join("\n")}`);
    process.exitCode = 1;
  }
}
await mock.stop();
