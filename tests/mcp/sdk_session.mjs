// One session through all tools with the TypeScript SDK.
//   node sdk_session.mjs v1|v2|v2-legacy http URL
//   node sdk_session.mjs v1|v2|v2-legacy stdio COMMAND…
// Over HTTP it shows the token of the variable BEARER. Prints the revision, or fails.
import assert from "node:assert";

const [kind, way, ...words] = process.argv.slice(2);
const bearer = { requestInit: { headers: { Authorization: `Bearer ${process.env.BEARER}` } } };

async function connect() {
  const about = { name: "nutshell-test", version: "0" };
  if (kind === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const http = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const transport = way === "http" ? new http.StreamableHTTPClientTransport(new URL(words[0]), bearer)
      : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env, stderr: "ignore" });
    const client = new Client(about);
    await client.connect(transport);
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = way === "http" ? new StreamableHTTPClientTransport(new URL(words[0]), bearer)
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env, stderr: "ignore" });
  const mode = kind === "v2-legacy" ? "legacy" : "auto";
  const client = new Client(about, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

const client = await connect();

async function call(name, args, wanted) {
  const result = await client.callTool({ name: `sandbox_${name}`, arguments: args });
  const text = result.content[0].text;
  assert(!result.isError, `${name}: ${text}`);
  assert(text.includes(wanted), `${name}: ${wanted} is not in ${text.slice(0, 300)}`);
  return text;
}

const { tools } = await client.listTools();
assert.deepEqual(tools.slice(0, 3).map((tool) => tool.name), ["sandbox_read", "sandbox_write", "sandbox_edit"]);
await call("ls", {}, "");
await call("write", { path: "a.txt", content: "one\ntwo\n" }, "a.txt");
await call("read", { path: "a.txt" }, "two");
await call("edit", { path: "a.txt", old: "two", new: "three" }, "a.txt");
await call("diff", { a: "a.txt" }, "+three");
await call("grep", { pattern: "three" }, "a.txt");
await call("find", { glob: "*.txt" }, "a.txt");
await call("git", { args: ["version"] }, "git version");
await call("delete", { path: "a.txt" }, "a.txt");
await call("undo", {}, "a.txt");
const shown = await call("bash", { command: "seq 1 5000" }, "5000");
await call("recall", { id: /\bo[0-9a-f]{4,}\b/.exec(shown)[0], grep: "4321" }, "4321");
const running = await call("bash", { command: "sleep 1; echo late", wait: 0 }, "job ");
await call("job", { id: /\bj\d+\b/.exec(running)[0], wait: 20 }, "late");

let seen = 0;
await client.callTool({ name: "sandbox_bash", arguments: { command: "sleep 2.5" } },
  ...(kind === "v1" ? [undefined] : []), { onprogress: () => { seen += 1; } });
assert(seen > 0, "no progress came");

const { resources } = await client.listResources();
const about = await client.readResource({ uri: resources[0].uri });
assert(about.contents[0].text.includes("diff"));
const { prompts } = await client.listPrompts();
assert((await client.getPrompt({ name: prompts[0].name, arguments: {} })).messages.length > 0);

const wrong = await client.callTool({ name: "sandbox_read", arguments: { path: "missing.txt" } });
assert(wrong.isError && wrong.content[0].text.includes("not_found"));
await assert.rejects(client.callTool({ name: "sandbox_nothing", arguments: {} }));

const stop = new AbortController();
setTimeout(() => stop.abort(), 500);
await assert.rejects(client.callTool({ name: "sandbox_bash", arguments: { command: `sleep 600; : ${process.env.TOKEN}` } },
  ...(kind === "v1" ? [undefined] : []), { signal: stop.signal }));
await call("ls", {}, "");

console.log(client.getNegotiatedProtocolVersion?.() ?? "handshake");
await client.close();
