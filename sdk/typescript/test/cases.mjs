// Cases for tests/sdk/typescript_test.py:  node cases.mjs NAME [WORD…]. Silent if it holds.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as sdk from "../dist/esm/index.js";

const { Client, defaultClient, Pool, Sandbox, SandboxError, Session } = sdk;
const [, , name, ...words] = process.argv;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => (await lines.next()).value;
const say = (text) => process.stdout.write(`${text}\n`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const descriptors = () => readdirSync("/proc/self/fd").length;

async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof SandboxError, `${error?.stack}`);
    return error;
  }
  assert.fail("it did not fail");
}

async function until(holds, what) {
  for (let i = 0; i < 300; ++i) {
    if (await holds()) return;
    await sleep(100);
  }
  assert.fail(what);
}

// The shortest of three runs, in milliseconds.
async function leastTime(call) {
  let least = Infinity;
  for (let i = 0; i < 3; ++i) {
    const began = performance.now();
    await call();
    least = Math.min(least, performance.now() - began);
  }
  return least;
}

const isRunning = async (s, mark) => (await s.run(["pgrep", "-f", mark])).exitCode === 0;

const cases = {
  async no_daemon_and_no_programs() {
    const error = await failure(Sandbox.create());
    assert.equal(error.code, "unavailable");
    assert.match(error.message, /nutshelld/);
    assert.ok(error.retryable);
  },

  async first_use() {
    await using_(Sandbox.create(), async (s) => assert.equal((await s.run("echo $((6*7))")).stdout, "42\n"));
    say((await defaultClient().transport.target()).socket);
    if (words[0] === "wait") await next();
  },

  async wrong_token() {
    const error = await failure(Sandbox.create({ client: new Client({ daemon: words[0], token: "wrong" }) }));
    assert.equal(error.code, "unauthenticated");
    assert.equal(error.status, 401);
    assert.equal((await failure(Sandbox.create({ client: new Client({ daemon: words[0], token: "two words" }) }))).code, "invalid_argument");
    const client = new Client({ daemon: words[0], token: words[1] });
    await using_(Sandbox.create({ client }), async (s) => {
      assert.equal((await s.run("echo in")).stdout, "in\n");
      await s.files.write("f", "x");
      assert.match(await s.diff(), /\+x/);
    });
    for (const daemon of ["http://192.0.2.1:1", "ftp://localhost", "http://"]) {
      assert.equal((await failure(Sandbox.list({ client: new Client({ daemon }) }))).code, "invalid_argument", daemon);
    }
    const nobody = await failure(Sandbox.list({ client: new Client({ daemon: "/nonexistent/socket" }) }));
    assert.equal(nobody.code, "unavailable");
  },

  async daemon_killed_in_a_stream() {
    const s = await Sandbox.create();
    const stream = s.stream("echo begun; sleep 60");
    const waiting = failure(s.run("sleep 60"));
    let seen = "";
    const error = await failure((async () => {
      for await (const { text } of stream) {
        seen += text;
        say("begun");
      }
    })());
    assert.equal(error.code, "unavailable");
    assert.equal((await waiting).code, "unavailable");
    assert.equal(seen, "begun\n");
    assert.equal((await failure(stream.result())).code, "cancelled");
    say("failed");
    await next(); // there is another daemon
    assert.deepEqual((await Sandbox.list()).map(({ id }) => id), [s.id]);
    assert.equal((await s.run("echo again")).stdout, "again\n");
    await s.close();
  },

  async private_daemon_killed() {
    const s = await Sandbox.create();
    process.kill((await defaultClient().daemon()).pid, "SIGKILL");
    await until(async () => (await s.run("true").then(() => "", (error) => error.code)) === "not_found", "the sandbox is still there");
    await using_(Sandbox.create(), async (other) => assert.equal((await other.run("echo new")).stdout, "new\n"));
    await s.close();
  },

  async used_after_close() {
    const s = await Sandbox.create();
    const { files, tools } = s;
    await s.close();
    await s.close();
    for (const call of [() => s.run("true"), () => s.stream("true").result(), () => files.read("/x"), () => files.write("/x", ""),
      () => tools.ls(), () => s.terminal(), () => s.changes(), () => s.fork(), () => s.diff(), () => s.apply(), () => s.start("true")]) {
      assert.equal((await failure((async () => call())())).code, "closed");
    }
    const client = new Client();
    const late = client.health();
    client.close();
    assert.equal((await failure(late)).code, "closed");
    assert.equal((await failure(client.health())).code, "closed");
  },

  async interrupted() {
    const s = words[0] === "create" ? undefined : await Sandbox.create();
    const many = async (call) => {
      for (;;) await call();
    };
    const kept = []; // a few, however fast the machine is
    const create = async () => {
      if (kept.push(await Sandbox.create()) > 8) await kept.shift().close();
    };
    const calls = { run: () => s.run(`sleep ${words[1]}`), stream: () => s.stream(`sleep ${words[1]}`).result(), create: () => many(create),
      terminal: async () => (await s.terminal({ command: ["sleep", words[1]] })).result(), files: () => many(() => s.files.list()),
      tool: () => s.tools.bash({ command: `sleep ${words[1]}`, wait: 600, timeout: 600 }), batch: () => defaultClient().batch([["sleep", words[1]]]) };
    say((await defaultClient().transport.target()).socket);
    await calls[words[0]]();
  },

  async callback_that_throws() {
    await using_(Sandbox.create(), async (s) => {
      for (const fail of [() => { throw new TypeError("mine"); }, async () => { throw new TypeError("mine"); }]) {
        await assert.rejects(s.run("echo x; exec sleep 4343", { onStdout: fail }), TypeError);
        await until(async () => !(await isRunning(s, "sleep 434[3]")), "the command runs on");
      }
      for await (const { text } of s.stream("echo y; exec sleep 4343")) {
        assert.equal(text, "y\n");
        break;
      }
      await until(async () => !(await isRunning(s, "sleep 434[3]")), "the command runs on");
      assert.equal((await s.run("echo fine")).stdout, "fine\n");
    });
  },

  async cancelled() {
    await using_(Sandbox.create(), async (s) => {
      for (const call of [(signal) => s.run("sleep 4444 & setsid sleep 4444 & wait", { signal }),
        (signal) => s.stream("sleep 4444", { signal }).result(), (signal) => s.tools.bash({ command: "sleep 4444", wait: 600 }, { signal })]) {
        const controller = new AbortController();
        const reason = new Error("enough");
        const failed = failure(call(controller.signal));
        await until(() => isRunning(s, "sleep 444[4]"), "the command does not run");
        controller.abort(reason);
        const error = await failed;
        assert.equal(error.code, "cancelled");
        assert.equal(error.cause, reason);
        await until(async () => !(await isRunning(s, "sleep 444[4]")), "the command runs on");
      }
      assert.equal((await failure(s.run("true", { signal: AbortSignal.abort() }))).code, "cancelled");
      const { signal } = new AbortController(); // serves many calls without a warning about its listeners
      for (let i = 0; i < 12; ++i) {
        await s.run("true", { signal });
        await s.stream("true", { signal }).result();
        await s.terminal({ command: ["true"], signal }).then((terminal) => terminal.result());
        for await (const _ of s.stream("yes", { signal })) break;
      }
      const began = Date.now();
      assert.equal((await s.run("sleep 4444", { timeoutMs: 200 })).outcome, "timed_out");
      assert.ok(Date.now() - began < 20_000);
    });
  },

  async cancelled_at_any_time() {
    await using_(Sandbox.create(), async (s) => {
      const usual = await leastTime(async () => (await Sandbox.create()).close());
      let cancelled = 0;
      for (let i = 0; i < 30; ++i) { // with what is still ending fewer than the quota
        for (const make of [(signal) => Sandbox.create({ signal }), (signal) => Sandbox.create({ signal, memory: "64m" })]) {
          const controller = new AbortController();
          const made = make(controller.signal);
          const later = performance.now() + (i * usual) / 20;
          while (performance.now() < later) await new Promise((resolve) => setImmediate(resolve));
          controller.abort();
          await made.then((one) => one.close(), (error) => {
            assert.equal(error.code, "cancelled");
            cancelled += 1;
          });
        }
      }
      assert.ok(cancelled > 4);
      await until(async () => (await Sandbox.list()).length === 1, "a sandbox is left");
    });
  },

  async hung_daemon() {
    const client = new Client({ timeoutMs: 300 });
    await client.health();
    say("ready");
    await next(); // it is stopped
    assert.equal((await failure(client.health())).code, "deadline_exceeded");
    say("late");
    await next(); // it goes on
    assert.equal((await client.health()).status, "ok");
  },

  async other_versions() {
    const told = async (path) => failure(Sandbox.list({ client: new Client({ daemon: `${words[0]}/${path}`, timeoutMs: 5000 }) }));
    const at = (port) => new Client({ daemon: `http://127.0.0.1:${port}`, timeoutMs: 5000 });
    const [newer, older, noJson, strange, cut] = await Promise.all(words.map((port) => failure(Sandbox.list({ client: at(port) }))));
    assert.equal(newer.code, "unsupported");
    assert.match(newer.message, /v2.*v1/s);
    assert.equal(older.code, "unsupported");
    assert.match(older.message, /older/);
    assert.equal(noJson.code, "corrupt");
    assert.equal(strange.code, "code_of_later");
    assert.equal(cut.code, "unavailable");
    void told;
  },

  async malformed_answers() {
    for (const daemon of words) {
      const began = Date.now();
      const error = await failure(Sandbox.list({ client: new Client({ daemon, timeoutMs: 5000 }) }));
      assert.ok(["corrupt", "unavailable", "unsupported"].includes(error.code), `${daemon}: ${error.code} ${error.message}`);
      assert.ok(Date.now() - began < 4000, `${daemon}: it waited`);
    }
  },

  async shared_by_many() {
    await using_(Sandbox.create({ processes: 256 }), async (s) => {
      const results = await Promise.all(Array.from({ length: 60 }, async (_, i) => {
        if (i % 3 === 0) return (await s.run(`echo ${i}`)).stdout;
        if (i % 3 === 1) return (await s.stream(`echo ${i}`).result()).stdout;
        await s.files.write(`f${i}`, `${i}\n`);
        return s.files.readText(`f${i}`);
      }));
      assert.deepEqual(results, Array.from({ length: 60 }, (_, i) => `${i}\n`));
    });
  },

  async collected_without_close() {
    const count = async () => (await Sandbox.list({ labels: { of: "collected" } })).length;
    await (async () => {
      const kept = await Sandbox.create({ labels: { of: "collected" } });
      await Sandbox.create({ labels: { of: "collected" } });
      await Sandbox.create({ labels: { of: "collected" } }).then((s) => s.detach());
      await until(async () => (globalThis.gc(), (await count()) === 2), "the sandbox is still there");
      assert.equal((await kept.run("echo kept")).stdout, "kept\n");
      // The object is not named any more while its command runs.
      assert.equal((await (await Sandbox.create()).run("sleep 0.5; echo whole", { onStdout: () => globalThis.gc() })).stdout, "whole\n");
      const late = (await Sandbox.create()).run("sleep 0.5; echo whole");
      for (let i = 0; i < 10; ++i) await sleep(30).then(() => globalThis.gc());
      assert.equal((await late).stdout, "whole\n");
      await kept.close();
    })();
    assert.equal(await count(), 1);
    for (const { id } of await Sandbox.list()) await (await Sandbox.connect(id)).destroy();
  },

  async ends_without_close() {
    await Sandbox.create({ labels: { of: "left" } });
    if (words[0] === "exit") process.exit(0);
    if (words[0] === "throw") throw new Error("as asked");
  },

  async ended_by_interrupt() {
    const before = process.listenerCount("SIGINT");
    await using_(Sandbox.create(), async () => assert.equal(process.listenerCount("SIGINT"), before + 1));
    assert.equal(process.listenerCount("SIGINT"), before);
    const s = await Sandbox.create();
    if (words[0] === "handled") process.on("SIGINT", () => s.close().then(() => process.exit(3)));
    say("ready");
    await s.run(["sleep", "60"], { timeoutMs: 60_000 }).catch(() => undefined);
    await sleep(60_000);
  },

  async no_growth() {
    let before = 0;
    for (let round = 0; round < 10; ++round) {
      const made = await Promise.all(Array.from({ length: 20 }, () => Sandbox.create({ memory: "64m" })));
      const done = await Promise.all(made.map((s) => s.run(["true"])));
      assert.ok(done.every((one) => one.ok));
      await Promise.all(made.map((s) => s.close()));
      if (round === 2) before = descriptors();
    }
    assert.ok(descriptors() <= before + 2, `${before} descriptors became ${descriptors()}`);
  },

  async hostile_names() {
    await using_(Sandbox.create(), async (s) => {
      for (const id of [".", "..", "../tools", "%2e%2e", "a/b", "x?y=1", "x#y", "\n", "é", "x".repeat(5000)]) {
        const error = await failure(Sandbox.connect(id));
        assert.ok(["not_found", "invalid_argument", "unsupported", "internal", "too_large"].includes(error.code), `${JSON.stringify(id)}: ${error.code}`);
        assert.notEqual(error.code, "corrupt");
      }
      assert.equal((await failure(Sandbox.connect(""))).code, "invalid_argument");
      for (const path of ["a b", "q?x=1&y=2", "100%", "#x", "ü", "-n", "a+b", "new\nline"]) {
        await s.files.write(path, path);
        assert.equal(await s.files.readText(path), path);
        assert.equal((await s.files.stat(path)).path, path);
      }
      assert.equal((await failure(s.run(["a", 1]))).code, "invalid_argument");
      assert.equal((await failure(Sandbox.create({ memry: 1 }))).code, "invalid_argument");
      assert.equal((await failure(Sandbox.create({ pool: "p", image: "x" }))).code, "invalid_argument");
      assert.equal((await failure(s.tools.call("read", "[1]"))).code, "invalid_argument");
      assert.equal((await failure(s.tools.call("no-such"))).code, "invalid_argument");
    });
  },

  async copies_and_changes() {
    const here = mkdtempSync(join(tmpdir(), "nutshell-ts-"));
    const [project, out] = [join(here, "project"), join(here, "out")];
    mkdirSync(join(project, "sub"), { recursive: true });
    writeFileSync(join(project, "sub/a.txt"), "old\n");
    symlinkSync("sub/a.txt", join(project, "link"));
    await using_(Sandbox.create({ workspace: project }), async (s) => {
      await s.files.write("sub/a.txt", "new\n");
      await s.files.write(".envrc", "echo trap\n");
      const held = (await s.changes()).find(({ path }) => path === ".envrc");
      assert.equal(held.heldBy, "trusted");
      assert.match(await s.diff({ paths: ["sub"] }), /-old\n\+new/);
      assert.match(await s.diff({ stat: true }), /a\.txt/);
      assert.deepEqual((await s.apply({ dryRun: true })).applied.map(({ path }) => path), ["sub/a.txt"]);
      assert.equal(readFileSync(join(project, "sub/a.txt"), "utf8"), "old\n");
      const report = await s.apply();
      assert.deepEqual(report.held.map(({ path }) => path), [".envrc"]);
      assert.equal(readFileSync(join(project, "sub/a.txt"), "utf8"), "new\n");
      assert.equal((await failure(s.apply({ paths: ["-x", "sub/../.."] }))).code !== "closed", true);
      await s.files.write("sub/a.txt", "newer\n");
      writeFileSync(join(project, "sub/a.txt"), "mine\n");
      assert.equal((await failure(s.apply())).code, "already_exists");
      assert.equal(readFileSync(join(project, "sub/a.txt"), "utf8"), "mine\n");
      await s.files.upload(project, "/tmp/copy");
      assert.equal((await s.run("readlink /tmp/copy/link; cat /tmp/copy/sub/a.txt")).stdout, "sub/a.txt\nmine\n");
      await s.run("mkdir -p d && echo 1 > d/x && echo trap > d/.envrc && ln -s /etc/passwd d/out");
      const notes = await s.files.download("d", out);
      assert.match(notes.join("\n"), /\.envrc/);
      assert.deepEqual(readdirSync(out).sort(), ["out", "x"]);
      assert.equal(readlinkSync(join(out, "out")), "/etc/passwd");
      assert.equal((await failure(s.files.download("none", out))).code, "not_found");
    });
  },

  async watched() {
    await using_(Sandbox.create(), async (s) => {
      const controller = new AbortController();
      const seen = [];
      const watching = (async () => {
        for await (const { kind, entry } of s.files.watch("/workspace", { recursive: true, intervalMs: 50, signal: controller.signal })) {
          seen.push(`${kind} ${entry.path}`);
        }
      })();
      // Until something was seen, it may not have begun.
      await until(async () => (await s.run("echo x >> begun"), seen.length > 0), "nothing is seen");
      for (const [command, event] of [["mkdir d; echo 1 > d/f", "added d/f"], ["echo 22 > d/f", "modified d/f"], ["rm d/f", "removed d/f"]]) {
        await s.run(command);
        await until(() => seen.includes(event), `${event} is not in ${seen}`);
      }
      controller.abort();
      await watching.catch((error) => assert.equal(error.code, "cancelled"));
    });
  },

  async large_and_binary() {
    await using_(Sandbox.create(), async (s) => {
      const bytes = Buffer.alloc(20 << 20, 0);
      for (let i = 0; i < bytes.length; i += 977) bytes[i] = i;
      assert.equal((await s.run("sha256sum | cut -c1-64", { stdin: bytes, timeoutMs: 60_000 })).stdout.trim(),
        (await import("node:crypto")).createHash("sha256").update(bytes).digest("hex"));
      await s.files.write("big", bytes);
      assert.ok(Buffer.from(await s.files.read("big")).equals(bytes));
      const done = await s.run(["cat", "/workspace/big"], { timeoutMs: 60_000 });
      assert.ok(Buffer.from(done.stdoutRaw).equals(bytes), "other bytes");
      const wide = await s.run("head -c 3000000 /dev/zero | tr '\\0' 'é'", { onStdout: () => undefined });
      assert.equal(wide.stdoutRaw.length, 3_000_000);
      async function* pieces() {
        for (let i = 0; i < 4; ++i) yield bytes.subarray(0, 1000);
      }
      await s.files.write("streamed", pieces());
      assert.equal((await s.files.stat("streamed")).size, 4000);
      async function* broken() {
        yield bytes.subarray(0, 1000);
        throw new TypeError("mine");
      }
      await assert.rejects(s.files.write("broken", broken()));
      assert.equal(await s.files.exists("broken"), false);
    });
  },

  async schemas() {
    const s = await Sandbox.create();
    await s.close(); // they need no daemon
    const names = sdk.toolDescriptions().map((tool) => tool.name);
    assert.deepEqual(s.tools.forOpenAI().map((tool) => tool.function.name), names);
    assert.deepEqual(s.tools.forOpenAIResponses().map((tool) => tool.name), names);
    assert.deepEqual(s.tools.forAnthropic({ only: ["read"] }).map((tool) => Object.keys(tool)), [["name", "description", "input_schema"]]);
    assert.equal(JSON.stringify(s.tools.forGemini()).includes("additionalProperties"), false);
    assert.deepEqual(s.tools.forGemini({ readOnly: true })[0].functionDeclarations.map((tool) => tool.name).includes("write"), false);
    assert.throws(() => s.tools.forOpenAI({ only: ["no-such"] }), { code: "invalid_argument" });
    for (const one of names) assert.equal(typeof s.tools[one], "function");
  },

  async surface() {
    const kinds = { Client, Sandbox, Session, Pool, Files: sdk.Files, Job: sdk.Job };
    const missing = JSON.parse(words[0]).filter((method) => {
      const [kind, one] = method.split(".");
      return typeof kinds[kind].prototype[one] !== "function" && typeof kinds[kind][one] !== "function";
    });
    assert.deepEqual(missing, []);
    const codes = JSON.parse(words[1]);
    assert.deepEqual([...sdk.errorCodes].sort(), codes.sort());
    for (const code of codes) assert.equal(new sdk.errorClasses[code]("x").code, code);
    say(JSON.stringify(Object.keys(sdk.operations)));
  },
};

async function using_(made, use) {
  const s = await made;
  try {
    await use(s);
  } finally {
    await s.close();
  }
}

await cases[name]();
process.stdin.destroy();
