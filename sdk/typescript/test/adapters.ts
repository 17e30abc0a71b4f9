// Adapters with the frameworks' own packages and a scripted model. Compiled with strict types, then run:
//   node adapters.js NAME
import assert from "node:assert/strict";
import { Agent } from "@mastra/core/agent";
import { Workspace } from "@mastra/core/workspace";
import { type Experimental_SandboxSession, generateText, isStepCount, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { Sandbox } from "@nutshell/sandbox";
import { NutshellSession, nutshellTools } from "@nutshell/sandbox/ai-sdk";
import { NutshellSandbox, nutshellTools as mastraTools } from "@nutshell/sandbox/mastra";
import { main as aiMain } from "./ai_sdk_example.js";
import { main as mastraMain } from "./mastra_example.js";

interface ScriptedCall {
  name: string;
  input: object;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Makes these calls, one in each step, and then says "done". Keeps what it was given. */
function scripted(calls: ScriptedCall[]): MockLanguageModelV4 {
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    doGenerate: async () => {
      const call = calls[model.doGenerateCalls.length - 1];
      return call
        ? { content: [{ type: "tool-call" as const, toolCallId: `call-${call.name}`, toolName: call.name, input: JSON.stringify(call.input) }],
            finishReason: { unified: "tool-calls" as const, raw: undefined }, usage, warnings: [] }
        : { content: [{ type: "text" as const, text: "done" }], finishReason: { unified: "stop" as const, raw: undefined }, usage, warnings: [] };
    },
  });
  return model;
}

/** Texts of the tools' results, as the model saw them last. */
function seen(model: MockLanguageModelV4): string {
  return JSON.stringify(model.doGenerateCalls.at(-1)?.prompt);
}

const calls: ScriptedCall[] = [
  { name: "write", input: { path: "a.txt", content: "hello\n" } },
  { name: "bash", input: { command: "cat a.txt; echo $((6*7))" } },
  { name: "read", input: { path: "none.txt" } },
];

async function withSandbox(use: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  await using sandbox = await Sandbox.create();
  await use(sandbox);
}

const cases: Record<string, () => Promise<void>> = {
  async ai_tools() {
    await withSandbox(async (sandbox) => {
      const model = scripted(calls);
      const tools = nutshellTools(sandbox);
      const result = await generateText({ model, tools, prompt: "go", stopWhen: isStepCount(9) });
      assert.equal(result.text, "done");
      assert.equal(model.doGenerateCalls[0]!.tools!.length, 13);
      const described = model.doGenerateCalls[0]!.tools!.find((one) => one.name === "bash");
      assert.ok(described?.type === "function" && described.inputSchema.required?.includes("command"));
      assert.match(seen(model), /hello/);
      assert.match(seen(model), /42/);
      assert.match(seen(model), /none\.txt/); // a refusal is text
      assert.equal(await sandbox.files.readText("a.txt"), "hello\n");
      assert.deepEqual(Object.keys(nutshellTools(sandbox, { only: ["read", "grep"] })), ["read", "grep"]);
      const controller = new AbortController();
      const stuck = generateText({ model: scripted([{ name: "bash", input: { command: "sleep 4545", wait: 600 } }]), tools, prompt: "go",
        stopWhen: isStepCount(2), abortSignal: controller.signal });
      setTimeout(() => controller.abort(), 500);
      await assert.rejects(stuck);
      for (let i = 0; (await sandbox.run("pgrep -f 'sleep 454[5]'")).exitCode === 0; ++i) {
        assert.ok(i < 100, "the command runs on");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
  },

  async ai_session() {
    await withSandbox(async (sandbox) => {
      const session: Experimental_SandboxSession = new NutshellSession(sandbox);
      await session.writeTextFile({ path: "/workspace/a.txt", content: "1\n2\n3\n" });
      assert.equal(await session.readTextFile({ path: "/workspace/a.txt", startLine: 2, endLine: 2 }), "2");
      assert.equal(await session.readTextFile({ path: "/workspace/none" }), null);
      await session.writeBinaryFile({ path: "/workspace/b", content: new Uint8Array([0, 255]) });
      assert.deepEqual([...(await session.readBinaryFile({ path: "/workspace/b" }))!], [0, 255]);
      const stream = (await session.readFile({ path: "/workspace/b" }))!;
      await session.writeFile({ path: "/workspace/c", content: stream });
      assert.deepEqual(await session.stat({ path: "/workspace/c" }), { type: "file", size: 2 });
      assert.equal(await session.stat({ path: "/workspace/none" }), null);
      assert.deepEqual((await session.listDirectory({ path: "/workspace" }))!.map(({ name }) => name).sort(), ["a.txt", "b", "c"]);
      assert.equal(await session.deleteFile({ path: "/workspace/c" }), true);
      assert.equal(await session.deleteFile({ path: "/workspace/c" }), false);
      assert.deepEqual(await session.run({ command: "echo $X; pwd; echo e >&2; exit 3", workingDirectory: "/tmp", env: { X: "y" } }),
        { exitCode: 3, stdout: "y\n/tmp\n", stderr: "e\n" });
      const spawned = await session.spawn({ command: "echo out; echo err >&2" });
      assert.equal(await new Response(spawned.stdout).text(), "out\n");
      assert.deepEqual(await spawned.wait(), { exitCode: 0 });
      const stuck = await session.spawn({ command: "sleep 4646" });
      await stuck.kill();
      assert.notEqual((await stuck.wait()).exitCode, 0);
      const model = scripted([{ name: "count", input: { path: "/workspace/a.txt" } }]);
      const count = tool({ description: "Counts lines.", inputSchema: z.object({ path: z.string() }),
        execute: async ({ path }, { experimental_sandbox: given }) => (await given!.run({ command: `wc -l < ${path}` })).stdout });
      await generateText({ model, tools: { count }, prompt: "go", stopWhen: isStepCount(3), experimental_sandbox: session });
      assert.match(seen(model), /3\\n/);
    });
  },

  async mastra_tools() {
    await withSandbox(async (sandbox) => {
      const model = scripted(calls);
      const agent = new Agent({ id: "worker", name: "worker", instructions: "Work.", model: model as never, tools: mastraTools(sandbox) });
      const result = await agent.generate("go", { maxSteps: 9 });
      assert.equal(result.text, "done");
      assert.match(seen(model), /hello/);
      assert.match(seen(model), /42/);
      assert.match(seen(model), /none\.txt/);
      assert.equal(await sandbox.files.readText("a.txt"), "hello\n");
    });
  },

  async mastra_sandbox() {
    const sandbox = new NutshellSandbox({ memory: "256m" });
    const workspace = new Workspace({ sandbox });
    await workspace.init();
    const done = await workspace.sandbox!.executeCommand!("echo $X; pwd; exit 3", [], { env: { X: "y" }, cwd: "/tmp" });
    assert.deepEqual([done.stdout, done.exitCode, done.success], ["y\n/tmp\n", 3, false]);
    let text = "";
    const echoed = await sandbox.executeCommand("echo", ["a b", "$X"], { onStdout: (data) => (text += data) });
    assert.deepEqual([echoed.stdout, text], ["a b $X\n", "a b $X\n"]);
    assert.equal((await sandbox.executeCommand("sleep 60", [], { timeout: 200 })).timedOut, true);
    const model = scripted([{ name: "mastra_workspace_execute_command", input: { command: "echo $((6*7))" } }]);
    const agent = new Agent({ id: "worker", name: "worker", instructions: "Work.", model: model as never, workspace });
    await agent.generate("go", { maxSteps: 3 });
    assert.match(seen(model), /42/);
    const { id } = await sandbox.sandbox();
    await workspace.destroy();
    await assert.rejects(Sandbox.connect(id), { code: "not_found" });
  },

  async examples() {
    for (const main of [aiMain, mastraMain as (model: MockLanguageModelV4, task: string) => Promise<string>]) {
      const model = scripted(calls);
      assert.equal(await main(model, "go"), "done");
      assert.match(seen(model), /42/);
    }
    assert.deepEqual(await Sandbox.list(), []);
  },
};

await cases[process.argv[2]!]!();
process.exit(0); // a framework may keep timers
