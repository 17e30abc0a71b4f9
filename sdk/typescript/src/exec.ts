// Commands: waited for, streamed, and detached.
import { randomBytes } from "node:crypto";
import type { Client } from "./client.js";
import { DeadlineExceededError, type ExecState, InvalidArgumentError } from "./generated.js";
import { errorOf } from "./errors.js";
import { objectsOf } from "./lines.js";
import { type ExecResult, resultOf, resultWith } from "./result.js";
import { fromWire, toWire } from "./wire.js";

const defaultTimeoutMs = 30_000;
const mostInlineInput = 4 << 20;

/** A text is run by `/bin/sh`; a list is a program and its arguments, which no shell reads. */
export type Command = string | readonly string[];

export interface Output {
  stream: "stdout" | "stderr";
  data: Uint8Array;
  text: string;
}

export interface ExecOptions {
  /** After this time the command and all its processes are killed. Default: that of the sandbox, then 30 s. */
  timeoutMs?: number;
  stdin?: string | Uint8Array;
  environment?: Record<string, string>;
  workingDirectory?: string;
  outputLimitBytes?: number;
  cpuTimeMs?: number;
  /** Asks for more about the command: what stopped it, what it changed, what was refused. */
  trace?: "off" | "summary" | "files" | "full";
  /** Kills the command with all its processes when it is aborted. */
  signal?: AbortSignal;
}

export interface RunOptions extends ExecOptions {
  /** Called with output as it comes. If it throws, the command is killed and the error passed on. */
  onStdout?: (text: string, data: Uint8Array) => void | Promise<void>;
  onStderr?: (text: string, data: Uint8Array) => void | Promise<void>;
  /** Throws CommandFailedError unless the command exits with 0. */
  check?: boolean;
}

export interface Place {
  client: Client;
  id: string;
  /** Object that must live as long as the place is used. */
  owner: unknown;
}

interface Event {
  type: string;
  exec_id?: string;
  offset?: number;
  data?: string;
  data_base64?: string;
  code?: string;
  detail?: string;
}

function argvOf(command: Command): string[] {
  if (typeof command === "string") return ["/bin/sh", "-c", command];
  if (!Array.isArray(command) || command.some((word) => typeof word !== "string")) {
    throw new InvalidArgumentError("a command is a text, or a list of texts");
  }
  return [...command];
}

function bodyOf(argv: string[], options: ExecOptions, more: Record<string, unknown> = {}): unknown {
  const { timeoutMs, environment, workingDirectory, outputLimitBytes, cpuTimeMs, trace } = options;
  return toWire("ExecRequest",
    { argv, timeoutMs, environment, workingDirectory, outputLimitBytes, cpuTimeMs, trace, ...more });
}

/** Longest wait for a command: its own time, and what the daemon may need beside it. */
function waitOf(place: Place, options: ExecOptions): number {
  return (options.timeoutMs ?? defaultTimeoutMs) + place.client.timeoutMs;
}

/** Puts the input into a file that the command reads, and removes before it begins. */
async function withInputFile(place: Place, argv: string[], options: ExecOptions): Promise<string[]> {
  if (options.stdin === undefined) return argv;
  const path = `/tmp/.nutshell-stdin-${randomBytes(12).toString("hex")}`;
  await place.client.transport.json("writeFile", { path: { id: place.id }, owner: place.owner, query: { path, mode: "0600" },
    body: Buffer.from(options.stdin as string), signal: options.signal });
  return ["/bin/sh", "-c", 'exec <"$0" && rm -f -- "$0" && exec "$@"', path, ...argv];
}

export async function run(place: Place, command: Command, options: RunOptions = {}): Promise<ExecResult> {
  const isStreamed = options.onStdout !== undefined || options.onStderr !== undefined;
  const result = await (isStreamed ? runStreamed(place, command, options) : runWaiting(place, command, options));
  return options.check ? result.check() : result;
}

async function runWaiting(place: Place, command: Command, options: RunOptions): Promise<ExecResult> {
  let argv = argvOf(command);
  // JSON carries text, and only so much.
  const { stdin } = options;
  const isInline = typeof stdin === "string" && stdin.length <= mostInlineInput;
  if (!isInline) argv = await withInputFile(place, argv, options);
  const json = bodyOf(argv, options, isInline ? { stdin } : {});
  const terms = { path: { id: place.id }, owner: place.owner, json, timeoutMs: waitOf(place, options), signal: options.signal };
  return resultOf(await place.client.transport.json("exec", terms));
}

async function runStreamed(place: Place, command: Command, options: RunOptions): Promise<ExecResult> {
  const execution = stream(place, command, options);
  for await (const piece of execution) {
    const tell = piece.stream === "stdout" ? options.onStdout : options.onStderr;
    await tell?.(piece.text, piece.data);
  }
  return execution.result();
}

/** A command whose output is read while it runs: `for await (const { stream, text } of execution)`. */
export class Execution implements AsyncIterable<Output> {
  /** Known once the first output was read. */
  execId: string | undefined;
  #events: AsyncGenerator<Output, void, undefined>;
  #end: ExecResult | undefined;
  #stdout: Uint8Array[] = [];
  #stderr: Uint8Array[] = [];

  constructor(open: () => Promise<AsyncIterable<Buffer>>) {
    this.#events = this.#read(open);
  }

  /** Output as it comes. Leaving the loop early kills the command. */
  [Symbol.asyncIterator](): AsyncIterator<Output> {
    return this.#events;
  }

  /** Reads what is left, and gives the result with all output. */
  async result(): Promise<ExecResult> {
    while (!(await this.#events.next()).done);
    if (this.#end) return this.#end;
    throw errorOf("cancelled", "the command was stopped before its end, or its failure was reported already");
  }

  async *#read(open: () => Promise<AsyncIterable<Buffer>>): AsyncGenerator<Output, void, undefined> {
    for await (const object of objectsOf(await open())) {
      const event = object as Event;
      if (event.type === "start") {
        this.execId = event.exec_id;
      } else if (event.type === "stdout" || event.type === "stderr") {
        const data = event.data_base64 === undefined ? Buffer.from(event.data ?? "")
          : Buffer.from(event.data_base64, "base64");
        (event.type === "stdout" ? this.#stdout : this.#stderr).push(data);
        yield { stream: event.type, data, text: data.toString() };
      } else if (event.type === "end") {
        this.#end = resultWith(event, this.#stdout, this.#stderr);
        return;
      } else if (event.type === "error") {
        throw errorOf(event.code ?? "internal", event.detail ?? "the command was lost");
      } else if (event.type === "running") {
        throw new DeadlineExceededError("the command still runs; read on with its id");
      }
    }
    throw errorOf("unavailable", "the daemon ended the stream before the command's end");
  }
}

const asLines = { Accept: "application/x-ndjson" };

export function stream(place: Place, command: Command, options: ExecOptions = {}): Execution {
  const argv = argvOf(command);
  return new Execution(async () => {
    const json = bodyOf(await withInputFile(place, argv, options), options, { onDisconnect: "cancel" });
    const terms = { path: { id: place.id }, owner: place.owner, json, headers: asLines, timeoutMs: waitOf(place, options),
      signal: options.signal };
    return (await place.client.transport.stream("exec", terms)).body;
  });
}

/** A command that runs without its caller. */
export class Job {
  readonly execId: string;
  #place: Place;

  constructor(place: Place, execId: string) {
    this.#place = place;
    this.execId = execId;
  }

  get #path(): Record<string, string> {
    return { id: this.#place.id, exec: this.execId };
  }

  async status(): Promise<ExecState> {
    return fromWire("ExecState", await this.#place.client.transport.json("getExec", { path: this.#path, owner: this.#place.owner }));
  }

  /** Output from these offsets on, as it comes. Leaving the loop early lets the command run on. */
  follow(options: { stdoutOffset?: number; stderrOffset?: number; signal?: AbortSignal } = {}): Execution {
    const query = { stdout_offset: options.stdoutOffset ?? 0, stderr_offset: options.stderrOffset ?? 0 };
    return new Execution(async () => (await this.#place.client.transport.stream("getExec",
      { path: this.#path, owner: this.#place.owner, query, headers: asLines, timeoutMs: Infinity, signal: options.signal })).body);
  }

  /** Waits for the end, and gives the result with all output that is kept. */
  wait(options: { signal?: AbortSignal } = {}): Promise<ExecResult> {
    return this.follow(options).result();
  }

  async signal(number: number): Promise<void> {
    await this.#place.client.transport.json("signalExec", { path: this.#path, owner: this.#place.owner, json: { signal: number } });
  }

  /** Ends the command with all its processes. */
  async kill(): Promise<void> {
    await this.#place.client.transport.json("signalExec", { path: this.#path, owner: this.#place.owner, json: {} });
  }
}

export async function start(place: Place, command: Command, options: ExecOptions = {}): Promise<Job> {
  const json = bodyOf(await withInputFile(place, argvOf(command), options), options, { detach: true });
  const terms = { path: { id: place.id }, owner: place.owner, json, signal: options.signal };
  const state = fromWire<ExecState>("ExecState", await place.client.transport.json("exec", terms));
  return new Job(place, state.execId);
}
