// Calls tools through the TypeScript SDK: node day_steps.mjs COMMAND…
// Reads a JSON list of [tool, arguments] from standard input and prints a JSON list of [is_error, text].
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const steps = JSON.parse(readFileSync(0, "utf8"));
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "nutshell-test", version: "0" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StdioClientTransport({ command, args, env: process.env, cwd: process.cwd(), stderr: "ignore" }));
const answers = [];
for (const [tool, given] of steps) {
  const result = await client.callTool({ name: `sandbox_${tool}`, arguments: given });
  answers.push([Boolean(result.isError), result.content.map((part) => part.text ?? "").join("")]);
}
console.log(JSON.stringify(answers));
await client.close();
