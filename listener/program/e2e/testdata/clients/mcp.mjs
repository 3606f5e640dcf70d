// The client of the TypeScript SDK for MCP, against examples/mcp.yml at the URL in the first argument.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, EmptyResultSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const url = new URL("/mcp", process.argv[2]);
const client = new Client({ name: "test", version: "1" });
const errors = [];
client.onerror = (error) => errors.push(error.message);
const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
const transport = new StreamableHTTPClientTransport(url);
await client.connect(transport);
assert.deepEqual(client.getServerVersion(), { name: "mock", version: "1.0.0" });
assert.match(transport.sessionId, /^[0-9a-f-]{36}$/);
await client.ping();

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ["get_weather", "count"]);

// The SDK checks structuredContent against the outputSchema of the tool.
const weather = await client.callTool({ name: "get_weather", arguments: { city: 'Bern "x"' } });
assert.equal(weather.structuredContent.city, 'Bern "x"');
assert.equal(weather.content[0].text, `${weather.structuredContent.degrees} degrees in Bern "x"`);
const failed = await client.request({ method: "tools/call", params: { name: "get_weather", arguments: {} } }, CallToolResultSchema);
assert.equal(failed.isError, true);

const progress = [];
const counted = await client.callTool({ name: "count", arguments: { to: 4 } }, undefined, {
  onprogress: (p) => progress.push(`${p.progress}/${p.total}`),
});
assert.equal(counted.content[0].text, "counted to 4");
assert.deepEqual(progress, ["1/4", "2/4", "3/4", "4/4"]);
const silent = await client.callTool({ name: "count", arguments: { to: 2 } });
assert.equal(silent.content[0].text, "counted to 2");

await assert.rejects(client.callTool({ name: "none", arguments: {} }), { code: -32602, message: /Unknown tool: none/ });
await assert.rejects(client.request({ method: "nothing/here" }, EmptyResultSchema), { code: -32601 });

await changed;
await transport.terminateSession();
assert.equal(transport.sessionId, undefined);
await client.close();

const sessionless = new StreamableHTTPClientTransport(url, { sessionId: "none" });
await sessionless.start();
await assert.rejects(sessionless.send({ jsonrpc: "2.0", id: 1, method: "ping" }), { code: 404 });
assert.deepEqual(errors.filter((message) => !message.includes("AbortError")), []); // closing ends the GET
