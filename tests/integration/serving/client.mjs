// A session of the TypeScript SDK's client: lists, calls, sees progress, answers a question. Its findings are one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { allow: true } };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const progress = [];
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const sum = await client.callTool({ name: "sum", arguments: { a: 1, b: 2 } });
const drawn = await client.callTool({ name: "draw", arguments: {} });
const talked = await client.callTool({ name: "talk", arguments: {} }, undefined, {
  onprogress: (step) => progress.push(step.progress),
});
const guarded = await client.callTool({ name: "guarded", arguments: {} });
const failed = await client.callTool({ name: "fail", arguments: {} });
console.log(
  JSON.stringify({
    tools,
    sum: sum.structuredContent,
    drawn: drawn.content.map((block) => block.type),
    talked: talked.structuredContent,
    progress,
    guarded: guarded.content[0].text,
    asked,
    failed: failed.isError,
  }),
);
await client.close();
