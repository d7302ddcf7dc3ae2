// An MCP server over HTTP: node server.mjs sdk|fastmcp session|stateless PORT. What PUT /next says is answered to the
// next call of a tool, in the place of the server; its tools are echo and slow.
import { randomUUID } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";

const here = createRequire(`${process.cwd()}/package.json`);
const load = async (name) => import(`file://${here.resolve(name)}`);
const [kind, mode, port] = process.argv.slice(2);
const stateless = mode === "stateless";

async function sdk() {
  const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
  const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const { z } = await load("zod");
  const sessions = new Map();
  const made = () => {
    const server = new McpServer({ name: "hosted", version: "1" });
    server.registerTool("echo", { inputSchema: { text: z.string() } }, async ({ text }) => ({
      content: [{ type: "text", text }],
    }));
    server.registerTool("slow", { inputSchema: {} }, async () => new Promise(() => {}));
    return server;
  };
  const begin = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: stateless ? undefined : randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await made().connect(transport);
    return transport;
  };
  return http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text ? JSON.parse(text) : undefined;
    const id = request.headers["mcp-session-id"];
    const refuse = (status, message) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }));
    };
    if (stateless) {
      if (request.method !== "POST") return refuse(405, "Method not allowed.");
      return (await begin()).handleRequest(request, response, body);
    }
    if (id !== undefined && !sessions.has(id)) return refuse(404, "Session not found");
    if (id === undefined && body?.method !== "initialize") return refuse(400, "Bad Request: No valid session ID provided");
    return (sessions.get(id) ?? (await begin())).handleRequest(request, response, body);
  });
}

async function fastmcp(inner) {
  const { FastMCP } = await load("fastmcp");
  const { z } = await load("zod");
  const server = new FastMCP({ name: "hosted", version: "1.0.0" });
  server.addTool({ name: "echo", parameters: z.object({ text: z.string() }), execute: async ({ text }) => text });
  server.addTool({ name: "slow", execute: async () => new Promise(() => {}) });
  await server.start({ transportType: "httpStream", httpStream: { port: inner, host: "127.0.0.1", stateless } });
}

const free = () =>
  new Promise((found) => {
    const looking = http.createServer().listen(0, "127.0.0.1", () => {
      const { port: number } = looking.address();
      looking.close(() => found(number));
    });
  });

const inner = await free();
if (kind === "fastmcp") await fastmcp(inner);
else await new Promise(async (listening) => (await sdk()).listen(inner, "127.0.0.1", listening));

let next;
const front = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (request.method === "PUT" && request.url === "/next") {
    next = JSON.parse(body.toString());
    return response.end();
  }
  if (next !== undefined && body.includes('"tools/call"')) {
    const { status, headers, text } = next;
    next = undefined;
    response.writeHead(status, headers);
    return response.end(text);
  }
  const passed = http.request(
    { host: "127.0.0.1", port: inner, path: request.url, method: request.method, headers: request.headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    },
  );
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  return passed.end(body);
});
front.listen(Number(port), "127.0.0.1", () => console.error(`listening on ${front.address().port}`));
