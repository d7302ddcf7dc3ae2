// An authorization server of oidc-provider, which lets everybody in, and an MCP server that takes its tokens only:
// node authority.mjs. Writes {"issuer", "resource"} to stderr; PUT /control changes how both behave, GET /control says
// what happened.
import http from "node:http";
import { createRequire } from "node:module";

const here = createRequire(`${process.cwd()}/package.json`);
const load = async (name) => import(`file://${here.resolve(name)}`);
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = await load("zod");
// Its package has an ES module only, which require.resolve does not find.
const { default: Provider } = await import(`file://${process.cwd()}/node_modules/oidc-provider/lib/index.js`);

const listening = (server) =>
  new Promise((done) => server.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}`)));
const read = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const now = { lives: 3600, audience: null };
const seen = { logins: 0, grants: [], challenges: [] };
const kept = new Map();

class Kept {
  constructor(name) {
    this.name = name;
  }
  async upsert(id, payload) {
    kept.set(`${this.name}:${id}`, payload);
  }
  async find(id) {
    return kept.get(`${this.name}:${id}`);
  }
  async findByUid(uid) {
    return [...kept.values()].find((one) => one.uid === uid);
  }
  async findByUserCode() {}
  async consume(id) {
    kept.get(`${this.name}:${id}`).consumed = Math.floor(Date.now() / 1000);
  }
  async destroy(id) {
    kept.delete(`${this.name}:${id}`);
  }
  async revokeByGrantId(grant) {
    for (const [key, one] of kept) if (one.grantId === grant) kept.delete(key);
  }
}

let provider;
let resource;
const auth = http.createServer(async (request, response) => {
  if (request.url === "/control") {
    if (request.method === "GET") return response.end(JSON.stringify(seen));
    const { revoke = [], ...more } = JSON.parse(await read(request));
    Object.assign(now, more);
    for (const key of [...kept.keys()]) if (revoke.includes(key.split(":")[0])) kept.delete(key);
    return response.end();
  }
  if (!request.url.startsWith("/interaction/")) return provider.callback()(request, response);
  const { params, prompt } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    seen.logins += 1;
    seen.challenges.push(params.code_challenge_method);
    return provider.interactionFinished(request, response, { login: { accountId: "ada" } });
  }
  const grant = new provider.Grant({ accountId: "ada", clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? "");
  grant.addResourceScope(params.resource ?? resource, "use");
  const result = { consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
});
const issuer = await listening(auth);

const guarded = http.createServer(async (request, response) => {
  if (request.url.startsWith("/.well-known/oauth-protected-resource")) {
    response.writeHead(200, { "content-type": "application/json" });
    const told = { resource, authorization_servers: [issuer], scopes_supported: ["use"] };
    return response.end(JSON.stringify(told));
  }
  const token = await provider.AccessToken.find((request.headers.authorization ?? "").replace(/^Bearer /, "") || "-");
  if (!token?.isValid || token.aud !== (now.audience ?? resource)) {
    const metadata = `${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp`;
    response.writeHead(401, { "www-authenticate": `Bearer error="invalid_token", resource_metadata="${metadata}"` });
    return response.end();
  }
  if (request.method !== "POST") return response.writeHead(405).end();
  const server = new McpServer({ name: "guarded", version: "1" });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, async ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  return transport.handleRequest(request, response, JSON.parse(await read(request)));
});
resource = `${await listening(guarded)}/mcp`;

provider = new Provider(issuer, {
  adapter: Kept,
  scopes: ["use", "offline_access"],
  ttl: { AccessToken: () => now.lives },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, asked) => ({ scope: "use", audience: asked, accessTokenFormat: "opaque" }),
    },
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: async (_, client) => client.grantTypeAllowed("refresh_token"),
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  pkce: { required: () => true },
  clientDefaults: { grant_types: ["authorization_code", "refresh_token"] },
});
provider.on("grant.success", (ctx) => seen.grants.push(ctx.oidc.params.grant_type));
provider.on("server_error", (_, error) => console.error(error));
console.error(JSON.stringify({ issuer, resource }));
