// The AI SDK with its provider for OpenAI against the server at the URL in the first argument, which is configured as in
// openai.yml. The other arguments name the cases to run: those that begin with chat use chat completions, others responses.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { embedMany, generateObject, generateText, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";

const text = "The answer is 42, said the mock server."; // ten tokens, of four bytes each but the last
const tokens = (s) => Math.ceil(s.length / 4);
const prompt = "What is the answer to everything?";
const openai = createOpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "key" });
const schema = z.object({ title: z.string(), done: z.boolean(), count: z.number().int() });
const onError = ({ error }) => { throw error; };
globalThis.AI_SDK_LOG_WARNINGS = false;

const generate = (model) => async () => {
  const { text: got, finishReason, usage } = await generateText({ model, prompt });
  assert.deepEqual([got, finishReason, usage.inputTokens, usage.outputTokens], [text, "stop", tokens(prompt), tokens(text)]);
  const cut = await generateText({ model, prompt, maxOutputTokens: 3 });
  assert.deepEqual([cut.text, cut.finishReason], [text.slice(0, 12), "length"]);
};
const stream = (model) => async () => {
  const result = streamText({ model, prompt, onError });
  const pieces = [];
  for await (const piece of result.textStream) pieces.push(piece);
  assert.deepEqual([pieces.join(""), pieces.length], [text, tokens(text)]);
  assert.deepEqual([await result.finishReason, (await result.usage).outputTokens], ["stop", tokens(text)]);
};
const objects = (model) => async () => {
  schema.parse((await generateObject({ model, schema, prompt })).object);
  schema.parse(await streamObject({ model, schema, prompt, onError }).object);
};
const tools = (model) => async () => { // a call, its result, and the text
  const cities = [];
  const execute = ({ city }) => { cities.push(city); return "sun"; };
  const get_weather = tool({ description: "weather", inputSchema: z.object({ city: z.string() }), execute });
  const ask = { model, prompt: "What is the weather?", tools: { get_weather }, stopWhen: stepCountIs(3) };
  const { text: got, steps } = await generateText(ask);
  assert.deepEqual([got, steps.map((s) => s.finishReason), cities], [text, ["tool-calls", "stop"], ["Bern"]]);
  assert.equal(await streamText({ ...ask, onError }).text, text);
  assert.deepEqual(cities, ["Bern", "Bern"]);
};
const chat = openai.chat("gpt-4o-mini");
const responses = openai.responses("gpt-4o-mini");

const cases = {
  chatGenerate: generate(chat), chatStream: stream(chat), chatObjects: objects(chat), chatTools: tools(chat),
  generate: generate(responses), stream: stream(responses), objects: objects(responses), tools: tools(responses),
  async embed() {
    const { embeddings } = await embedMany({ model: openai.embedding("gpt-4o-mini"), values: ["one", "two"] });
    assert.deepEqual(embeddings.map((e) => e.length), [1536, 1536]);
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
