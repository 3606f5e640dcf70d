// The client of Anthropic against the server at the URL in the first argument, which is configured as in anthropic.yml.
// The other arguments name the cases to run.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";

const text = "The answer is 42, said the mock server."; // ten tokens, of four bytes each but the last
const tokens = (s) => Math.ceil(s.length / 4);
const prompt = "What is the answer to everything?";
const ask = { model: "claude-haiku", max_tokens: 1000, messages: [{ role: "user", content: prompt }] };
const tools = ["get_weather", "get_time"].map((name) => ({
  name, description: name, input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}));
const weather = { ...ask, tools, messages: [{ role: "user", content: "What is the weather?" }] };
const both = { ...ask, tools, messages: [{ role: "user", content: "What is the weather and the time?" }] };

const statuses = []; // of the responses so far
const client = new Anthropic({
  baseURL: process.argv[2],
  apiKey: "key",
  maxRetries: 0,
  fetch: async (...args) => {
    const response = await fetch(...args);
    statuses.push(response.status);
    return response;
  },
});
const collect = async (stream) => {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
};

const cases = {
  async models() {
    const models = await collect(client.models.list());
    assert.deepEqual(models.map((m) => [m.id, m.type]), [["claude-haiku", "model"], ["thinker", "model"]]);
    assert.ok(models.every((m) => m.display_name && !Number.isNaN(Date.parse(m.created_at))));
    assert.equal((await client.models.retrieve("thinker")).id, "thinker");
    await assert.rejects(client.models.retrieve("none"), Anthropic.NotFoundError);
  },

  async messages() {
    const { data, response } = await client.messages.create(ask).withResponse();
    assert.match(response.headers.get("request-id"), /./);
    assert.deepEqual([data.type, data.role, data.model, data.stop_reason, data.stop_sequence], ["message", "assistant", "claude-haiku", "end_turn", null]);
    assert.match(data.id, /^msg_/);
    assert.deepEqual(data.content.map((b) => [b.type, b.text]), [["text", text]]);
    assert.deepEqual([data.usage.input_tokens, data.usage.output_tokens], [tokens(prompt), tokens(text)]);

    const cut = await client.messages.create({ ...ask, max_tokens: 3 });
    assert.deepEqual([cut.stop_reason, cut.content[0].text, cut.usage.output_tokens], ["max_tokens", text.slice(0, 12), 3]);
    const stopped = await client.messages.create({ ...ask, stop_sequences: ["none", "42"] });
    assert.deepEqual([stopped.stop_reason, stopped.stop_sequence, stopped.content[0].text], ["stop_sequence", "42", "The answer is "]);
    const system = [{ type: "text", text: "Be brief." }];
    const parts = await client.messages.create({ ...ask, system, messages: [{ role: "user", content: [{ type: "text", text: prompt }] }] });
    assert.equal(parts.usage.input_tokens, tokens("Be brief.") + tokens(prompt));
  },

  async stream() {
    const events = await collect(await client.messages.create({ ...ask, stream: true })); // without ping, which the client drops
    const delta = "content_block_delta";
    assert.deepEqual(events.map((e) => e.type).filter((type, i, all) => type !== delta || all[i - 1] !== delta),
      ["message_start", "content_block_start", delta, "content_block_stop", "message_delta", "message_stop"]);
    const { message } = events[0];
    assert.deepEqual([message.content, message.stop_reason, message.stop_sequence, message.usage.input_tokens], [[], null, null, tokens(prompt)]);
    assert.deepEqual([events[1].index, events[1].content_block.type, events[1].content_block.text], [0, "text", ""]);
    const deltas = events.filter((e) => e.type === delta && e.delta.text);
    assert.equal(deltas.length, tokens(text)); // a token each
    assert.ok(deltas.every((e) => e.index === 0 && e.delta.type === "text_delta"));
    assert.equal(deltas.map((e) => e.delta.text).join(""), text);
    assert.deepEqual(events.at(-2).delta.stop_reason, "end_turn");
    assert.equal(events.at(-2).usage.output_tokens, tokens(text));

    const helper = client.messages.stream({ ...ask, max_tokens: 3 });
    const pieces = [];
    helper.on("text", (piece) => pieces.push(piece));
    const final = await helper.finalMessage();
    assert.deepEqual([final.stop_reason, final.content[0].text, final.usage.output_tokens], ["max_tokens", text.slice(0, 12), 3]);
    assert.equal(pieces.join(""), text.slice(0, 12));
    assert.equal(final.usage.input_tokens, tokens(prompt));
    const stopped = await client.messages.stream({ ...ask, stop_sequences: ["42"] }).finalMessage();
    assert.deepEqual([stopped.stop_reason, stopped.stop_sequence, stopped.content[0].text], ["stop_sequence", "42", "The answer is "]);
  },

  async cancel() { // at the model whose second token does not come
    const stream = client.withOptions({ baseURL: process.argv[2] + "/slow" }).messages.stream(ask);
    let seen = 0;
    stream.on("text", () => { if (++seen === 1) stream.abort(); });
    await assert.rejects(stream.done(), Anthropic.APIUserAbortError);
    assert.equal(seen, 1);
    assert.equal((await client.messages.create(ask)).content[0].text, text);
  },

  async tools() {
    const data = await client.messages.create(weather);
    assert.equal(data.stop_reason, "tool_use");
    const call = data.content.at(-1);
    assert.deepEqual([call.type, call.name, call.input], ["tool_use", "get_weather", { city: "Bern" }]);
    assert.match(call.id, /^toolu_/);
    const events = await collect(await client.messages.create({ ...weather, stream: true }));
    const start = events.find((e) => e.type === "content_block_start" && e.content_block.type === "tool_use");
    assert.deepEqual(start.content_block.input, {});
    const pieces = events.filter((e) => e.type === "content_block_delta" && e.index === start.index);
    assert.ok(pieces.every((e) => e.delta.type === "input_json_delta"));
    assert.equal(pieces[0].delta.partial_json, "");
    assert.deepEqual(JSON.parse(pieces.map((e) => e.delta.partial_json).join("")), { city: "Bern" });

    const names = async (more) => (await client.messages.stream({ ...both, ...more }).finalMessage())
      .content.filter((b) => b.type === "tool_use").map((b) => [b.name, b.input.city]);
    assert.deepEqual(await names({}), [["get_weather", "Bern"], ["get_time", "Basel"]]);
    assert.deepEqual(await names({ tool_choice: { type: "auto", disable_parallel_tool_use: true } }), [["get_weather", "Bern"]]);
    assert.deepEqual(await names({ tool_choice: { type: "none" } }), []);
    assert.deepEqual(await names({ tools: tools.slice(1) }), [["get_time", "Basel"]]);
    const named = await client.messages.create({ ...ask, tools, tool_choice: { type: "tool", name: "get_time" } });
    assert.equal(named.content.at(-1).name, "get_time");
    const any = await client.messages.create({ ...ask, tools, tool_choice: { type: "any" } });
    assert.deepEqual([any.content.at(-1).name, typeof any.content.at(-1).input.city], ["get_weather", "string"]);

    const result = [{ type: "tool_result", tool_use_id: call.id, content: "sun" }];
    const after = [...weather.messages, { role: "assistant", content: data.content }, { role: "user", content: result }];
    assert.equal((await client.messages.create({ ...weather, messages: after })).content[0].text, text);
  },

  async json() {
    const Step = z.object({ title: z.string(), done: z.boolean(), count: z.number().int() });
    const config = { format: zodOutputFormat(Step) };
    Step.parse((await client.messages.parse({ ...ask, output_config: config })).parsed_output);
    Step.parse((await client.messages.stream({ ...ask, output_config: config }).finalMessage()).parsed_output);
  },

  async thinking() {
    const think = { ...ask, model: "thinker", max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 1024 } };
    const data = await client.messages.create(think);
    assert.deepEqual(data.content.map((b) => b.type), ["thinking", "text"]);
    assert.match(data.content[0].thinking, /\w/);
    assert.match(data.content[0].signature, /./);
    assert.equal(data.usage.output_tokens, 12 + tokens(text));
    const events = await collect(await client.messages.create({ ...think, stream: true }));
    const kinds = events.filter((e) => e.type === "content_block_delta" && e.index === 0).map((e) => e.delta.type);
    assert.deepEqual([kinds.indexOf("signature_delta"), kinds.filter((k) => k === "thinking_delta").length], [kinds.length - 1, kinds.length - 1]);
    const final = await client.messages.stream(think).finalMessage();
    assert.deepEqual([final.content[0].thinking !== "", final.content[0].signature !== "", final.content[1].text], [true, true, text]);
  },

  async count() {
    const { messages, model } = ask;
    assert.deepEqual((await client.messages.countTokens({ model, messages })).input_tokens, tokens(prompt));
    assert.deepEqual((await client.messages.countTokens({ model, messages, system: "Be brief." })).input_tokens, tokens("Be brief.") + tokens(prompt));
  },

  async errors() {
    const error = async (call) => {
      try {
        await call;
      } catch (e) {
        return e;
      }
      assert.fail("no error");
    };
    const missing = await error(client.messages.create({ model: ask.model, messages: ask.messages }));
    assert.ok(missing instanceof Anthropic.BadRequestError);
    assert.deepEqual([missing.type, missing.error.type], ["invalid_request_error", "error"]);
    assert.match(missing.error.error.message, /max_tokens/);
    assert.match(missing.requestID, /./);
    assert.equal(missing.error.request_id, missing.requestID);
    const unknown = await error(client.messages.create({ ...ask, model: "none" }));
    assert.ok(unknown instanceof Anthropic.NotFoundError);
    assert.equal(unknown.type, "not_found_error");
    assert.ok((await error(client.messages.create({ ...ask, messages: undefined }))) instanceof Anthropic.BadRequestError);
    const nowhere = await error(client.get("/v1/nothing"));
    assert.deepEqual([nowhere.status, nowhere.type], [404, "not_found_error"]);
    const method = await error(client.get("/v1/messages"));
    assert.deepEqual([method.status, method.error.type], [405, "error"]);
  },

  async auth() {
    const anonymous = client.withOptions({ apiKey: null, defaultHeaders: { "x-api-key": null, Authorization: null } });
    const refused = await anonymous.messages.create(ask).catch((e) => e);
    assert.deepEqual([refused.status, refused.type], [401, "authentication_error"]);
    assert.equal((await client.messages.create(ask)).content[0].text, text);
  },

  async broken() { // every stream ends with an error
    const error = await collect(await client.messages.create({ ...ask, stream: true })).catch((e) => e);
    assert.ok(error instanceof Anthropic.APIError, error.stack);
    assert.equal(error.type, "overloaded_error");
    await assert.rejects(client.messages.stream(ask).finalMessage(), { type: "overloaded_error" });
  },

  async retries(of) { // each of these statuses is met, and the client tries again until it succeeds
    statuses.length = 0;
    const patient = client.withOptions({ maxRetries: 20 });
    const wanted = of.split(",").map(Number);
    for (let i = 0; i < 40 && !wanted.every((s) => statuses.includes(s)); i++) {
      assert.equal((await patient.messages.create(ask)).content[0].text, text);
    }
    for (const status of wanted) assert.ok(statuses.includes(status), `${status} is missing: ${statuses}`);
  },
};

for (const name of process.argv.slice(3)) { // NAME, or NAME=ARGUMENT
  try {
    await cases[name.split("=")[0]](name.split("=")[1]);
  } catch (e) {
    console.error(`${name}: ${e.stack}`);
    process.exitCode = 1;
  }
}
