// Calls a tool of the server that an assistant's entry starts, by the TypeScript SDK's client.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const told = await client.callTool({ name: "echo", arguments: { text: "hello" } });
console.log(JSON.stringify(told.structuredContent));
await client.close();
