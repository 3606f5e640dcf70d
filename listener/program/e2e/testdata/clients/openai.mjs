// The client of OpenAI against the server at the URL in the first argument, which is configured as in openai.yml.
// The other arguments name the cases to run.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const text = "The answer is 42, said the mock server."; // ten tokens, of four bytes each but the last
const tokens = (s) => Math.ceil(s.length / 4);
const model = "gpt-4o-mini";
const prompt = "What is the answer to everything?";
const messages = [{ role: "user", content: prompt }];
const weather = [{ role: "user", content: "What is the weather?" }];
const both = [{ role: "user", content: "What is the weather and the time?" }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const tools = ["get_weather", "get_time"].map((name) => ({ type: "function", function: { name, parameters, strict: true } }));
const flat = tools.map((tool) => ({ type: "function", ...tool.function }));
const Step = z.object({ title: z.string(), done: z.boolean(), count: z.number().int(), tags: z.array(z.enum(["a", "b"])) });

const statuses = []; // of the responses so far
const client = new OpenAI({
  baseURL: process.argv[2] + "/v1",
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
    const names = (await collect(client.models.list())).map((m) => [m.id, m.object]);
    assert.deepEqual(names, [[model, "model"], ["org/large", "model"]]);
    assert.equal((await client.models.retrieve(model)).id, model);
    assert.equal((await client.models.retrieve("org/large")).id, "org/large");
    await assert.rejects(client.models.retrieve("none"), OpenAI.NotFoundError);
  },

  async chat() {
    const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
    assert.match(response.headers.get("x-request-id"), /./);
    assert.equal(data.object, "chat.completion");
    assert.equal(data.model, model);
    assert.match(data.id, /^chatcmpl-/);
    assert.ok(Math.abs(data.created - Date.now() / 1000) < 60);
    assert.deepEqual(data.choices.map(({ index, finish_reason, logprobs, message: { role, content, refusal } }) =>
      [index, finish_reason, logprobs, role, content, refusal]), [[0, "stop", null, "assistant", text, null]]);
    const { prompt_tokens, completion_tokens, total_tokens } = data.usage;
    assert.deepEqual([prompt_tokens, completion_tokens, total_tokens], [tokens(prompt), tokens(text), tokens(prompt) + tokens(text)]);

    const cut = await client.chat.completions.create({ model, messages, max_completion_tokens: 3 });
    assert.equal(cut.choices[0].message.content, text.slice(0, 12));
    assert.equal(cut.choices[0].finish_reason, "length");
    assert.equal(cut.usage.completion_tokens, 3);
    const stopped = await client.chat.completions.create({ model, messages, stop: ["none", "42"] });
    assert.equal(stopped.choices[0].message.content, "The answer is ");
    assert.equal(stopped.choices[0].finish_reason, "stop");
    const parts = [{ role: "system", content: "Be brief." }, { role: "user", content: [{ type: "text", text: prompt }] }];
    const asked = await client.chat.completions.create({ model, messages: parts });
    assert.equal(asked.usage.prompt_tokens, tokens("Be brief.") + tokens(prompt));
  },

  async stream() {
    const chunks = await collect(await client.chat.completions.create({ model, messages, stream: true }));
    assert.deepEqual(new Set(chunks.map((c) => [c.id, c.object, c.created, c.model].join())).size, 1);
    assert.equal(chunks[0].object, "chat.completion.chunk");
    assert.equal(chunks[0].choices[0].delta.role, "assistant");
    const deltas = chunks.filter((c) => c.choices[0].delta.content);
    assert.equal(deltas.length, tokens(text)); // a token each
    assert.equal(deltas.map((c) => c.choices[0].delta.content).join(""), text);
    assert.deepEqual(chunks.map((c) => c.choices[0].finish_reason).filter(Boolean), ["stop"]);
    assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
    assert.ok(chunks.every((c) => !("usage" in c)));

    const counted = await collect(await client.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } }));
    const usage = counted.pop();
    assert.deepEqual(usage.choices, []);
    assert.equal(usage.usage.completion_tokens, tokens(text));
    assert.equal(usage.usage.total_tokens, usage.usage.prompt_tokens + usage.usage.completion_tokens);
    assert.ok(counted.every((c) => c.usage === null));

    const helper = client.chat.completions.stream({ model, messages, max_tokens: 3, stream_options: { include_usage: true } });
    const pieces = [];
    helper.on("content", (delta) => pieces.push(delta));
    const final = await helper.finalChatCompletion();
    assert.equal(final.choices[0].message.content, text.slice(0, 12));
    assert.equal(final.choices[0].finish_reason, "length");
    assert.equal(pieces.filter(Boolean).join(""), text.slice(0, 12));
    assert.equal((await helper.totalUsage()).completion_tokens, 3);
  },

  async cancel() { // at the model whose second token does not come
    const slow = client.withOptions({ baseURL: process.argv[2] + "/slow/v1" });
    const stream = await slow.chat.completions.create({ model, messages, stream: true });
    let seen = 0;
    for await (const _ of stream) if (++seen === 2) stream.controller.abort();
    assert.equal(seen, 2);
    const controller = new AbortController();
    const pending = slow.chat.completions.create({ model, messages }, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await assert.rejects(pending, OpenAI.APIUserAbortError);
    assert.equal((await client.chat.completions.create({ model, messages })).choices[0].message.content, text);
  },

  async choices() {
    const data = await client.chat.completions.create({ model, messages, n: 2 });
    assert.deepEqual(data.choices.map((c) => [c.index, c.message.content]), [[0, text], [1, text]]);
    assert.equal(data.usage.completion_tokens, 2 * tokens(text));
    const chunks = await collect(await client.chat.completions.create({ model, messages, n: 2, stream: true }));
    for (const index of [0, 1]) {
      const own = chunks.flatMap((c) => c.choices).filter((c) => c.index === index);
      assert.equal(own.map((c) => c.delta.content ?? "").join(""), text);
      assert.equal(own[0].delta.role, "assistant");
      assert.equal(own.at(-1).finish_reason, "stop");
    }
    const final = await client.chat.completions.stream({ model, messages, n: 2 }).finalChatCompletion();
    assert.deepEqual(final.choices.map((c) => c.message.content), [text, text]);
  },

  async tools() {
    const data = await client.chat.completions.create({ model, messages: weather, tools });
    const [call] = data.choices[0].message.tool_calls;
    assert.equal(data.choices[0].finish_reason, "tool_calls");
    assert.equal(data.choices[0].message.content, null);
    assert.equal(call.type, "function");
    assert.match(call.id, /^call_/);
    assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ["get_weather", { city: "Bern" }]);

    const streamed = await client.chat.completions.stream({ model, messages: weather, tools }).finalChatCompletion();
    assert.equal(streamed.choices[0].finish_reason, "tool_calls");
    assert.deepEqual(JSON.parse(streamed.choices[0].message.tool_calls[0].function.arguments), { city: "Bern" });
    const chunks = await collect(await client.chat.completions.create({ model, messages: both, tools, stream: true }));
    const calls = chunks.flatMap((c) => c.choices[0].delta.tool_calls ?? []);
    assert.deepEqual(calls.filter((c) => c.id).map((c) => [c.index, c.type, c.function.name, c.function.arguments]),
      [[0, "function", "get_weather", ""], [1, "function", "get_time", ""]]);
    for (const [index, city] of [[0, "Bern"], [1, "Basel"]]) {
      const pieces = calls.filter((c) => c.index === index && !c.id);
      assert.deepEqual(JSON.parse(pieces.map((c) => c.function.arguments).join("")), { city });
      assert.ok(pieces.every((c) => !c.function.name && !c.type));
    }

    const names = async (more) => (await client.chat.completions.create({ model, messages: both, tools, ...more }))
      .choices[0].message.tool_calls?.map((c) => c.function.name);
    assert.deepEqual(await names({}), ["get_weather", "get_time"]);
    assert.deepEqual(await names({ parallel_tool_calls: false }), ["get_weather"]);
    assert.deepEqual(await names({ tool_choice: "none" }), undefined);
    assert.deepEqual(await names({ tool_choice: "required", messages }), ["get_weather"]);
    assert.deepEqual(await names({ tool_choice: { type: "function", function: { name: "get_time" } }, messages }), ["get_time"]);
    assert.deepEqual(await names({ tools: tools.slice(1) }), ["get_time"]);

    // The helper calls the functions and sends their results, which are answered with the text.
    const cities = [];
    const runner = client.chat.completions.runTools({
      model,
      messages: weather,
      tools: [{ type: "function", function: { name: "get_weather", parameters, parse: JSON.parse, function: ({ city }) => { cities.push(city); return "sun"; } } }],
    });
    assert.equal(await runner.finalContent(), text);
    assert.deepEqual(cities, ["Bern"]);
  },

  async json() {
    const { choices } = await client.chat.completions.create({ model, messages, response_format: { type: "json_object" } });
    assert.equal(typeof JSON.parse(choices[0].message.content), "object");
    const format = zodResponseFormat(Step, "step");
    const parsed = await client.chat.completions.parse({ model, messages, response_format: format });
    Step.parse(parsed.choices[0].message.parsed);
    const streamed = await client.chat.completions.stream({ model, messages, response_format: format }).finalChatCompletion();
    Step.parse(streamed.choices[0].message.parsed);
  },

  async thinking() { // at the model that thinks, as vLLM and DeepSeek send it
    const chunks = await collect(await client.chat.completions.create({ model: "thinker", messages, stream: true, stream_options: { include_usage: true } }));
    const thought = chunks.flatMap((c) => c.choices).map((c) => c.delta.reasoning_content ?? "").join("");
    assert.match(thought, /\w/);
    assert.equal(chunks.flatMap((c) => c.choices).map((c) => c.delta.content ?? "").join(""), text);
    assert.equal(chunks.at(-1).usage.completion_tokens_details.reasoning_tokens, 12);
    assert.equal(chunks.at(-1).usage.completion_tokens, 12 + tokens(text));
  },

  async responses() {
    const { data, response } = await client.responses.create({ model, input: prompt, instructions: "Be brief." }).withResponse();
    assert.match(response.headers.get("x-request-id"), /./);
    assert.equal(data.object, "response");
    assert.equal(data.status, "completed");
    assert.equal(data.output_text, text);
    assert.deepEqual(data.output.map((o) => [o.type, o.role, o.status]), [["message", "assistant", "completed"]]);
    assert.equal(data.usage.input_tokens, tokens("Be brief.") + tokens(prompt));
    assert.equal(data.usage.output_tokens, tokens(text));
    assert.equal(data.usage.output_tokens_details.reasoning_tokens, 0);
    assert.equal(data.usage.input_tokens_details.cached_tokens, 0);

    const input = [{ role: "user", content: [{ type: "input_text", text: prompt }] }];
    const events = await collect(await client.responses.create({ model, input, stream: true }));
    assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
    const delta = "response.output_text.delta";
    assert.deepEqual(events.map((e) => e.type).filter((type, i, all) => type !== delta || all[i - 1] !== delta), [
      "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", delta,
      "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"]);
    assert.equal(events.filter((e) => e.type === delta).map((e) => e.delta).join(""), text);
    assert.equal(events.at(-1).response.output[0].content[0].text, text);

    const helper = client.responses.stream({ model, input: prompt });
    const final = await helper.finalResponse();
    assert.equal(final.output_text, text);
    assert.equal(final.usage.output_tokens, tokens(text));
    const cut = await client.responses.create({ model, input: prompt, max_output_tokens: 3 });
    assert.deepEqual([cut.status, cut.incomplete_details.reason, cut.output_text], ["incomplete", "max_output_tokens", text.slice(0, 12)]);
    const last = (await collect(await client.responses.create({ model, input: prompt, max_output_tokens: 3, stream: true }))).at(-1);
    assert.deepEqual([last.type, last.response.incomplete_details.reason], ["response.incomplete", "max_output_tokens"]);
  },

  async responsesTools() {
    const data = await client.responses.create({ model, input: weather, tools: flat });
    const [call] = data.output;
    assert.deepEqual([call.type, call.name, JSON.parse(call.arguments)], ["function_call", "get_weather", { city: "Bern" }]);
    assert.notEqual(call.id, call.call_id);
    const events = await collect(await client.responses.create({ model, input: weather, tools: flat, stream: true }));
    const added = events.find((e) => e.type === "response.output_item.added");
    assert.deepEqual([added.item.type, added.item.arguments], ["function_call", ""]);
    const pieces = events.filter((e) => e.type === "response.function_call_arguments.delta");
    const done = events.find((e) => e.type === "response.function_call_arguments.done");
    assert.equal(pieces.map((e) => e.delta).join(""), done.arguments);
    assert.ok(!events.some((e) => e.type.startsWith("response.content_part")));
    const final = await client.responses.stream({ model, input: both, tools: flat }).finalResponse();
    assert.deepEqual(final.output.map((o) => o.name), ["get_weather", "get_time"]);
    const result = { type: "function_call_output", call_id: call.call_id, output: "sun" };
    assert.equal((await client.responses.create({ model, input: [...weather, call, result], tools: flat })).output_text, text);
    const forced = await client.responses.create({ model, input: prompt, tools: flat, tool_choice: { type: "function", name: "get_time" } });
    assert.equal(forced.output[0].name, "get_time");
  },

  async responsesJson() {
    const format = zodTextFormat(Step, "step");
    Step.parse((await client.responses.parse({ model, input: prompt, text: { format } })).output_parsed);
    Step.parse((await client.responses.stream({ model, input: prompt, text: { format } }).finalResponse()).output_parsed);
  },

  async responsesThinking() {
    const data = await client.responses.create({ model: "thinker", input: prompt, reasoning: { summary: "auto" } });
    assert.deepEqual(data.output.map((o) => o.type), ["reasoning", "message"]);
    assert.equal(data.usage.output_tokens_details.reasoning_tokens, 12);
    const final = await client.responses.stream({ model: "thinker", input: prompt, reasoning: { summary: "auto" } }).finalResponse();
    assert.match(final.output[0].summary[0].text, /\w/);
    assert.equal(final.output_text, text);
  },

  async completions() {
    const data = await client.completions.create({ model, prompt });
    assert.equal(data.object, "text_completion");
    assert.deepEqual([data.choices[0].text, data.choices[0].finish_reason], [text, "stop"]);
    assert.equal(data.usage.completion_tokens, tokens(text));
    const chunks = await collect(await client.completions.create({ model, prompt, stream: true, max_tokens: 3 }));
    assert.equal(chunks.map((c) => c.choices[0].text).join(""), text.slice(0, 12));
    assert.equal(chunks.at(-1).choices[0].finish_reason, "length");
  },

  async embeddings() {
    // The client asks for base64 by itself, and decodes it.
    const ask = (more) => client.embeddings.create({ model: "gpt-4o-mini", ...more });
    const data = await ask({ input: ["one", "two", "one"] });
    assert.deepEqual(data.data.map((d) => [d.index, d.object, d.embedding.length]), [0, 1, 2].map((i) => [i, "embedding", 1536]));
    const [one, two, again] = data.data.map((d) => d.embedding);
    assert.deepEqual(one, again);
    assert.notDeepEqual(one, two);
    assert.ok(Math.abs(Math.hypot(...one) - 1) < 1e-4);
    assert.deepEqual([data.usage.prompt_tokens, data.usage.total_tokens], [3, 3]);
    const floats = (await ask({ input: "one", encoding_format: "float" })).data[0].embedding;
    assert.ok(floats.every((v, i) => Math.abs(v - one[i]) < 1e-6));
    assert.equal(typeof (await ask({ input: "one", encoding_format: "base64" })).data[0].embedding, "string");
    assert.equal((await ask({ input: "one", dimensions: 8 })).data[0].embedding.length, 8);
  },

  async moderations() {
    const data = await client.moderations.create({ input: ["one", "two"] });
    assert.deepEqual(data.results.map((r) => r.flagged), [false, false]);
    assert.equal(data.results[0].categories.violence, false);
    assert.equal(typeof data.results[0].category_scores.violence, "number");
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
    const unknown = await error(client.chat.completions.create({ model: "none", messages }));
    assert.ok(unknown instanceof OpenAI.NotFoundError);
    assert.deepEqual([unknown.code, unknown.type, unknown.param], ["model_not_found", "invalid_request_error", null]);
    assert.match(unknown.message, /none/);
    assert.match(unknown.requestID, /./);
    const bad = await error(client.chat.completions.create({ model }));
    assert.ok(bad instanceof OpenAI.BadRequestError);
    assert.deepEqual([bad.type, bad.param], ["invalid_request_error", "messages"]);
    const nothing = await error(client.post("/chat/completions", { body: "x" }));
    assert.ok(nothing instanceof OpenAI.BadRequestError);
    const missing = await error(client.get("/nothing"));
    assert.ok(missing instanceof OpenAI.NotFoundError);
    assert.match(missing.error.message, /./);
    const method = await error(client.get("/chat/completions"));
    assert.equal(method.status, 405);
    assert.match(method.error.message, /./);
  },

  async auth() {
    const anonymous = client.withOptions({ defaultHeaders: { Authorization: null } });
    await assert.rejects(anonymous.chat.completions.create({ model, messages }), OpenAI.AuthenticationError);
    assert.equal((await client.chat.completions.create({ model, messages })).choices[0].message.content, text);
  },

  async broken() { // every stream ends with an error
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    const error = await collect(stream).catch((e) => e);
    assert.ok(error instanceof OpenAI.APIError, error.stack);
    assert.equal(error.type, "server_error");
    await assert.rejects(client.chat.completions.stream({ model, messages }).finalContent(), OpenAI.APIError);
  },

  async refused(of) { // the server refuses some requests with this status, which the client tries again
    statuses.length = 0;
    const patient = client.withOptions({ maxRetries: 10 });
    const answers = await Promise.all([1, 2, 3].map(() => patient.chat.completions.create({ model, messages })));
    assert.deepEqual(answers.map((a) => a.choices[0].message.content), [text, text, text]);
    assert.ok(statuses.includes(Number(of)), `${of} is missing: ${statuses}`);
    assert.deepEqual(statuses.filter((s) => s === 200).length, 3);
  },

  async retries(of) { // each of these statuses is met, and the client tries again until it succeeds
    statuses.length = 0;
    const patient = client.withOptions({ maxRetries: 20 });
    const wanted = of.split(",").map(Number);
    for (let i = 0; i < 40 && !wanted.every((s) => statuses.includes(s)); i++) {
      assert.equal((await patient.chat.completions.create({ model, messages })).choices[0].message.content, text);
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
