// The client of Gemini against the server at the URL in the first argument, which is configured as in gemini.yml.
// The other arguments name the cases to run.
import assert from "node:assert/strict";
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from "@google/genai";

const text = "The answer is 42, said the mock server."; // ten tokens, of four bytes each but the last
const tokens = (s) => Math.ceil(s.length / 4);
const model = "gemini-flash";
const contents = "What is the answer to everything?";
const weather = "What is the weather?";
const both = "What is the weather and the time?";
const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] };
const tools = [{ functionDeclarations: ["get_weather", "get_time"].map((name) => ({ name, parameters })) }];

const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: process.argv[2] } });
const collect = async (stream) => {
  const all = [];
  for await (const one of await stream) all.push(one);
  return all;
};
const joined = (chunks) => chunks.map((c) => c.text ?? "").join("");

const cases = {
  async models() {
    const names = (await collect(client.models.list())).map((m) => m.name);
    assert.deepEqual(names, ["models/gemini-flash", "models/thinker"]);
    assert.equal((await client.models.get({ model })).name, "models/gemini-flash");
    await assert.rejects(client.models.get({ model: "none" }), { status: 404 });
  },

  async generate() {
    const data = await client.models.generateContent({ model, contents });
    assert.equal(data.text, text);
    assert.deepEqual(data.candidates.map((c) => [c.index, c.finishReason, c.content.role, c.content.parts]), [[0, "STOP", "model", [{ text }]]]);
    assert.equal(data.modelVersion, model);
    assert.match(data.responseId, /./);
    const { promptTokenCount, candidatesTokenCount, totalTokenCount } = data.usageMetadata;
    assert.deepEqual([promptTokenCount, candidatesTokenCount, totalTokenCount], [tokens(contents), tokens(text), tokens(contents) + tokens(text)]);
    const cut = await client.models.generateContent({ model, contents, config: { maxOutputTokens: 3 } });
    assert.deepEqual([cut.text, cut.candidates[0].finishReason], [text.slice(0, 12), "MAX_TOKENS"]);
    const stopped = await client.models.generateContent({ model, contents, config: { stopSequences: ["42"], systemInstruction: "Be brief." } });
    assert.deepEqual([stopped.text, stopped.candidates[0].finishReason], ["The answer is ", "STOP"]);
    assert.equal(stopped.usageMetadata.promptTokenCount, tokens("Be brief.") + tokens(contents));
  },

  async stream() {
    const chunks = await collect(client.models.generateContentStream({ model, contents }));
    assert.equal(joined(chunks), text);
    assert.equal(chunks.filter((c) => c.text).length, tokens(text)); // a token each
    assert.deepEqual(chunks.map((c) => c.candidates[0].finishReason).filter(Boolean), ["STOP"]);
    assert.equal(chunks.at(-1).candidates[0].finishReason, "STOP");
    assert.equal(new Set(chunks.map((c) => c.responseId)).size, 1);
    const counts = chunks.map((c) => c.usageMetadata.candidatesTokenCount);
    assert.deepEqual(counts, [...counts].sort((a, b) => a - b)); // cumulative
    assert.equal(counts.at(-1), tokens(text));
    const chat = client.chats.create({ model });
    assert.equal(joined(await collect(chat.sendMessageStream({ message: contents }))), text);
    assert.equal(chat.getHistory(true).length > 1, true);
  },

  async cancel() {
    const controller = new AbortController();
    let seen = 0;
    await assert.rejects(async () => {
      const stream = await client.models.generateContentStream({ model, contents, config: { abortSignal: controller.signal } });
      for await (const _ of stream) if (++seen === 2) controller.abort();
    }, { name: "AbortError" });
    assert.equal((await client.models.generateContent({ model, contents })).text, text);
  },

  async count() {
    assert.equal((await client.models.countTokens({ model, contents })).totalTokens, tokens(contents));
  },

  async embed() {
    const data = await client.models.embedContent({ model, contents: ["one", "two", "one"] });
    const [one, two, again] = data.embeddings.map((e) => e.values);
    assert.deepEqual([one.length, two.length], [3072, 3072]);
    assert.deepEqual(one, again);
    assert.notDeepEqual(one, two);
    assert.ok(Math.abs(Math.hypot(...one) - 1) < 1e-4);
    const short = await client.models.embedContent({ model, contents: "one", config: { outputDimensionality: 8 } });
    assert.equal(short.embeddings[0].values.length, 8);
  },

  async tools() {
    const calls = async (contents, config, stream) => {
      const answers = stream ? await collect(client.models.generateContentStream({ model, contents, config: { tools, ...config } }))
        : [await client.models.generateContent({ model, contents, config: { tools, ...config } })];
      assert.equal(answers.at(-1).candidates[0].finishReason, "STOP");
      return answers.flatMap((a) => a.functionCalls ?? []).map((c) => [c.name, c.args.city]);
    };
    assert.deepEqual(await calls(weather), [["get_weather", "Bern"]]);
    assert.deepEqual(await calls(both, {}, true), [["get_weather", "Bern"], ["get_time", "Basel"]]);
    const mode = (m, names) => ({ toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode[m], allowedFunctionNames: names } } });
    assert.deepEqual(await calls(both, mode("NONE")), []);
    assert.deepEqual((await calls(contents, mode("ANY"))).map(([name]) => name), ["get_weather"]);
    assert.deepEqual((await calls(contents, mode("ANY", ["get_time"]))).map(([name]) => name), ["get_time"]);
    const turn = [{ role: "user", parts: [{ text: weather }] },
      { role: "model", parts: [{ functionCall: { name: "get_weather", args: { city: "Bern" } } }] },
      { role: "user", parts: [{ functionResponse: { name: "get_weather", response: { weather: "sun" } } }] }];
    assert.equal((await client.models.generateContent({ model, contents: turn, config: { tools } })).text, text);
  },

  async json() {
    const responseSchema = { type: Type.OBJECT, properties: { title: { type: Type.STRING }, count: { type: Type.INTEGER } }, required: ["title", "count"] };
    const config = { responseMimeType: "application/json", responseSchema };
    const object = JSON.parse((await client.models.generateContent({ model, contents, config })).text);
    assert.equal(typeof object.title, "string");
    assert.ok(Number.isInteger(object.count));
    const streamed = JSON.parse(joined(await collect(client.models.generateContentStream({ model, contents, config }))));
    assert.deepEqual(Object.keys(streamed).sort(), ["count", "title"]);
  },

  async thinking() {
    const config = { thinkingConfig: { includeThoughts: true } };
    const data = await client.models.generateContent({ model: "thinker", contents, config });
    assert.deepEqual(data.candidates[0].content.parts.map((p) => p.thought ?? false), [true, false]);
    assert.deepEqual([data.text, data.usageMetadata.thoughtsTokenCount], [text, 12]);
    const chunks = await collect(client.models.generateContentStream({ model: "thinker", contents, config }));
    assert.equal(joined(chunks), text); // without the thoughts
    assert.equal(chunks.at(-1).usageMetadata.thoughtsTokenCount, 12);
  },

  async errors() {
    const error = async (call) => {
      const e = await call.then(() => assert.fail("no error"), (e) => e);
      assert.ok(e instanceof ApiError, e.stack);
      return [e.status, JSON.parse(e.message).error];
    };
    const [status, unknown] = await error(client.models.generateContent({ model: "none", contents }));
    assert.deepEqual([status, unknown.code, unknown.status], [404, 404, "NOT_FOUND"]);
  },

  async retries(of) { // each of these statuses is met, and the client tries again until it succeeds
    const statuses = [];
    const patient = new GoogleGenAI({
      apiKey: "key",
      httpOptions: {
        baseUrl: process.argv[2],
        retryOptions: { attempts: 20, initialDelay: 0.1, maxDelay: 1 },
        fetch: async (...args) => {
          const response = await fetch(...args);
          statuses.push(response.status);
          return response;
        },
      },
    });
    const wanted = of.split(",").map(Number);
    for (let i = 0; i < 40 && !wanted.every((s) => statuses.includes(s)); i++) {
      assert.equal((await patient.models.generateContent({ model, contents })).text, text);
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
