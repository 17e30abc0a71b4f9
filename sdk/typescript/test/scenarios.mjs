// Runs sdk/scenarios with a build of this package:  node scenarios.mjs DIST/index.js SCENARIO.json…
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [, , build, ...paths] = process.argv;
const sdk = build.includes("/cjs/") ? createRequire(import.meta.url)(build) : await import(build);
const { Client, Pool, Sandbox, SandboxError, Session } = sdk;

class Failed extends Error {}

function expect(isTrue, message) {
  if (!isTrue) throw new Failed(message);
}

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const milliseconds = new Map(["timeout", "ttl", "idle_timeout", "lease", "pause_after", "wait"].map((name) => [name, `${camel(name)}Ms`]));
const settings = (given) => Object.fromEntries(Object.entries(given).map(([name, value]) =>
  milliseconds.has(name) ? [milliseconds.get(name), value * 1000] : [camel(name), name === "spec" ? settings(value) : value]));

// Arguments that stand before the options of a method, by its name.
const leading = {
  "run stream start": ["command"], "files.read files.readText files.exists files.remove files.list files.makeDirectory": ["path"],
  "files.write": ["path", "content"], signal: ["number"], undo: ["id"], extend: ["ttl"], renew: ["lease"], rollback: ["name"], batch: ["commands"],
  setNetwork: ["policy"], networkEvents: ["after"],
};
const places = new Map(Object.entries(leading).flatMap(([names, first]) => names.split(" ").map((name) => [name, first])));

class Runner {
  constructor() {
    this.saved = new Map([["scenario", `s${randomBytes(6).toString("hex")}`]]);
  }

  async run(scenario) {
    for (const [number, step] of scenario.steps.entries()) {
      const where = `${scenario.name} step ${number} ${step.call}`;
      const unknown = Object.keys(step).filter((key) => !["call", "arguments", "save", "expect", "error"].includes(key));
      expect(unknown.length === 0, `${where}: unknown keys ${unknown}`);
      await this.step(step, where);
    }
  }

  async step(step, where) {
    let result;
    try {
      result = await this.call(step.call, this.filled(step.arguments ?? {}));
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      expect(step.error, `${where}: ${error.name}: ${error.message}`);
      return this.check({ code: error.code, message: error.message }, step.error, where);
    }
    expect(!step.error, `${where}: no error, but ${JSON.stringify(result)}`);
    if (step.save) this.saved.set(step.save, result);
    this.check(result, step.expect ?? {}, where);
  }

  async call(name, given) {
    const [head, ...path] = name.split(".");
    if (head === "Client") return new Client();
    if (head === "Sandbox" && path.length === 0) return Sandbox.create(settings(given));
    if (name === "Sandbox.connect") return Sandbox.connect(given.id);
    if (head === "Session" && path.length === 0) return Session.open(given.name, settings({ ...given, name: undefined }));
    if (head === "Pool" && path.length === 0) return new Pool(given.name);
    if (path[0] === "list" && path.length === 1) return { Sandbox, Session, Pool }[head].list(given);
    const target = this.saved.get(head);
    expect(target !== undefined, `${head} was not saved`);
    if (path[0] === "tools" && path.length === 2) return target.tools[path[1]](given);
    return this.method(target, path.map(camel), given);
  }

  async method(target, path, given) {
    const name = path.join(".");
    if (name === "terminal") return terminal(target, given);
    if (name === "run" && given.streamed) return streamed(target, given);
    if (name === "stream") {
      const { command, ...rest } = given;
      const events = [];
      for await (const { stream, text } of target.stream(command, settings(rest))) events.push({ stream, text });
      return events;
    }
    const first = places.get(name) ?? [];
    const seconds = new Set(["ttl", "lease"]);
    const before = first.map((one) => (seconds.has(one) ? given[one] * 1000 : given[one]));
    const rest = settings(Object.fromEntries(Object.entries(given).filter(([key]) => !first.includes(key))));
    const owner = path.slice(0, -1).reduce((object, part) => object[part], target);
    expect(typeof owner[path.at(-1)] === "function", `unknown call ${name}`);
    return owner[path.at(-1)](...before, rest);
  }

  filled(value) {
    if (Array.isArray(value)) return value.map((one) => this.filled(one));
    if (typeof value === "object" && value !== null) {
      if (Object.keys(value).join() === "base64") return Buffer.from(value.base64, "base64");
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.filled(one)]));
    }
    if (typeof value !== "string" || !/^\$[a-z]\w*(\.\w+)*$/.test(value)) return value;
    const [head, ...rest] = value.slice(1).split(".");
    expect(this.saved.has(head), `${value} was not saved`);
    return at(this.saved.get(head), rest.join("."));
  }

  check(result, checks, where) {
    for (const [path, unfilled] of Object.entries(checks)) {
      const found = at(result, path) ?? null;
      const wanted = this.filled(unfilled);
      expect(holds(found, wanted), `${where}: '${path}' is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
  }

  async close() {
    for (const one of [...this.saved.values()].reverse()) await one?.close?.();
  }
}

async function terminal(sandbox, { send, ...given }) {
  const opened = await sandbox.terminal(settings(given));
  opened.write(send);
  const output = [];
  for await (const bytes of opened) output.push(bytes);
  return { output: Buffer.concat(output).toString(), exitCode: (await opened.result()).exitCode };
}

async function streamed(sandbox, { command, streamed: _, ...given }) {
  const gathered = { streamedStdout: "", streamedStderr: "" };
  const result = await sandbox.run(command, { ...settings(given), onStdout: (text) => void (gathered.streamedStdout += text),
    onStderr: (text) => void (gathered.streamedStderr += text) });
  return Object.assign(Object.create(result), gathered);
}

// Follows a path; `name=value.` finds an item of a list, and its value may have dots.
function at(value, path) {
  while (path !== "" && value !== undefined && value !== null) {
    const found = /^(\w+)=(.*)\.(\w+)$/.exec(path);
    if (found) {
      value = value.find((one) => member(one, found[1]) === found[2]);
      path = found[3];
      continue;
    }
    const [name] = path.split(".", 1);
    path = path.slice(name.length + 1);
    value = member(value, name);
  }
  return value;
}

function member(value, name) {
  return Array.isArray(value) ? value[Number(name)] : name in value ? value[name] : value[camel(name)];
}

const checks = {
  matches: (found, wanted) => typeof found === "string" && new RegExp(wanted).test(found),
  contains: (found, wanted) => found !== null && found.includes(wanted),
  lacks: (found, wanted) => found !== null && !found.includes(wanted),
  at_least: (found, wanted) => found !== null && found >= wanted,
  at_most: (found, wanted) => found !== null && found <= wanted,
  length: (found, wanted) => found !== null && (found.length ?? Object.keys(found).length) === wanted,
};

function holds(found, wanted) {
  if (wanted instanceof Uint8Array) return Buffer.compare(Buffer.from(found), wanted) === 0;
  if (typeof wanted !== "object" || wanted === null) {
    return found instanceof Uint8Array ? Buffer.from(found).toString() === wanted : found === wanted;
  }
  const [name, ...more] = Object.keys(wanted);
  expect(more.length === 0 && name in checks, `unknown check ${JSON.stringify(wanted)}`);
  return checks[name](found, wanted[name]);
}

for (const path of paths) {
  const scenario = JSON.parse(readFileSync(path, "utf8"));
  const runner = new Runner();
  try {
    await runner.run(scenario);
    console.log(`ok ${scenario.name}`);
  } catch (error) {
    console.log(`FAIL ${scenario.name}: ${error instanceof Failed ? error.message : error.stack}`);
    process.exitCode = 1;
  } finally {
    await runner.close().catch((error) => console.log(`FAIL ${scenario.name}: close: ${error}`));
  }
}
