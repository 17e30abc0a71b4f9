import { type DaemonOptions } from "./daemon.js";
import { type AuditRecord, type Daemon, type Operation, type Protection, type ShapeName, type Status, type Swept,
  type ToolDescription } from "./generated.js";
import { CorruptError } from "./generated.js";
import { errorOf, type SandboxError } from "./errors.js";
import type { Command } from "./exec.js";
import { objectsOf } from "./lines.js";
import { Pool } from "./pool.js";
import { type ExecResult, resultOf } from "./result.js";
import { type SandboxOptions, specOf } from "./sandbox.js";
import { Transport } from "./transport.js";
import { fromWire, toWire } from "./wire.js";

const longestBatchMs = 86_400_000;
const pageSize = 500;

export interface ClientOptions extends DaemonOptions {
  /** Longest wait for an answer, beside the time of the command that it waits for. Default: 60 s. */
  timeoutMs?: number;
  /** Longest wait for a new sandbox, whose image may have to be pulled. Default: 10 minutes. */
  createTimeoutMs?: number;
}

export interface BatchCommand {
  command: Command;
  environment?: Record<string, string>;
  workingDirectory?: string;
  timeoutMs?: number;
  /** Files by their paths, written before the command begins. */
  files?: Record<string, string>;
}

export interface BatchOptions {
  /** Options of each command's sandbox. */
  spec?: SandboxOptions;
  parallel?: number;
  /** Kept of each stream. */
  outputBytes?: number;
  /** Told of each result as it comes, in any order. */
  onResult?: (result: ExecResult | SandboxError, index: number, done: number) => void;
  signal?: AbortSignal;
}

export interface AuditOptions {
  sandbox?: string;
  session?: string;
  action?: string;
  since?: Date;
  until?: Date;
  /** At most so many, the oldest first. */
  limit?: number;
}

/** Connections to a daemon. Sandboxes use one of their own if none is given, which finds the user's daemon. */
export class Client {
  readonly timeoutMs: number;
  readonly createTimeoutMs: number;
  readonly transport: Transport;

  constructor(options: ClientOptions = {}) {
    const { timeoutMs = 60_000, createTimeoutMs = 600_000, ...daemon } = options;
    this.timeoutMs = timeoutMs;
    this.createTimeoutMs = createTimeoutMs;
    this.transport = new Transport(daemon, timeoutMs);
  }

  pool(name: string): Pool {
    return new Pool(name, { client: this });
  }

  async health(): Promise<Status> {
    return fromWire("Status", await this.transport.json("health"));
  }

  async ready(): Promise<Status> {
    return fromWire("Status", await this.transport.json("readiness"));
  }

  async daemon(): Promise<Daemon> {
    return fromWire("Daemon", await this.transport.json("daemon"));
  }

  /** The daemon's description of its API. */
  async openapi(): Promise<unknown> {
    return this.transport.json("openapi");
  }

  /** Figures, as Prometheus reads them. */
  async metrics(): Promise<string> {
    const pieces: Buffer[] = [];
    const { body } = await this.transport.stream("metrics", { headers: { Accept: "text/plain" } });
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  /** The daemon's tools; `Sandbox.tools` has those that this package knows. */
  async tools(): Promise<ToolDescription[]> {
    const { tools } = (await this.transport.json("listTools")) as { tools: Record<string, unknown>[] };
    return tools.map(({ name, description, inputSchema, annotations }) => ({ name, description, inputSchema,
      readsOnly: (annotations as { readOnlyHint?: boolean } | undefined)?.readOnlyHint ?? false }) as ToolDescription);
  }

  /** Protections that a sandbox of these options would have. */
  async check(options: SandboxOptions = {}): Promise<Protection[]> {
    const answer = (await this.transport.json("checkSpec", { json: specOf(options) })) as { protections: unknown[] };
    return fromWire("Protection", answer.protections);
  }

  /** Runs each command in a sandbox of its own. A result is an error if its sandbox could not be made. */
  async batch(commands: readonly (Command | BatchCommand)[], options: BatchOptions = {}): Promise<(ExecResult | SandboxError)[]> {
    const { spec, parallel, outputBytes, onResult, signal } = options;
    const json = toWire("Batch", { items: commands.map(itemOf), parallel, outputBytes }) as Record<string, unknown>;
    if (spec) json.spec = specOf(spec);
    const results = new Array<ExecResult | SandboxError>(commands.length);
    const { body } = await this.transport.stream("batch",
      { json, headers: { Accept: "application/x-ndjson" }, timeoutMs: longestBatchMs, signal });
    let done = 0;
    for await (const object of objectsOf(body)) {
      const told = object as { index: number; error?: { code: string; detail: string } };
      const result = told.error ? errorOf(told.error.code, told.error.detail) : resultOf(told);
      if (!(told.index in commands) || results[told.index]) throw new CorruptError("the daemon sent a result that nobody asked for");
      results[told.index] = result;
      done += 1;
      onResult?.(result, told.index, done);
    }
    if (done !== commands.length) throw errorOf("unavailable", `the daemon ended the batch after ${done} of ${commands.length} results`);
    return results;
  }

  /** Records of what the caller did, oldest first. */
  async audit(options: AuditOptions = {}): Promise<AuditRecord[]> {
    const { since, until, limit, ...rest } = options;
    const query = { ...rest, since_us: since && since.getTime() * 1000, until_us: until && until.getTime() * 1000 };
    return this.pages<AuditRecord>("listAuditRecords", "records", "AuditRecord", query, limit);
  }

  /** Removes what dead sandboxes left. */
  async sweep(options: { dryRun?: boolean } = {}): Promise<Swept> {
    return fromWire("Swept", await this.transport.json("sweep", { json: { dry_run: options.dryRun ?? false } }));
  }

  /** Reads a list to its end, or up to `most`. */
  async pages<T>(operation: Operation, key: string, shape: ShapeName,
      query: Record<string, string | number | boolean | string[] | undefined>, most = Infinity): Promise<T[]> {
    const found: T[] = [];
    let cursor: string | undefined;
    do {
      const page = { ...query, cursor, limit: Math.min(pageSize, most - found.length) };
      const answer = (await this.transport.json(operation, { query: page })) as Record<string, unknown>;
      found.push(...fromWire<T[]>(shape, answer[key]));
      cursor = (answer.next_cursor as string | null | undefined) ?? undefined;
    } while (cursor !== undefined && found.length < most);
    return found;
  }

  /** Closes its connections; calls that wait fail. Sandboxes go on. */
  close(): void {
    this.transport.close();
    if (shared === this) shared = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function itemOf(command: Command | BatchCommand): Record<string, unknown> {
  const item = typeof command === "string" || Array.isArray(command) ? { command: command as Command } : (command as BatchCommand);
  const { command: words, ...rest } = item;
  return { ...rest, argv: typeof words === "string" ? ["/bin/sh", "-c", words] : [...words] };
}

let shared: Client | undefined;

/** The client of all objects that were made without one. */
export function defaultClient(): Client {
  return (shared ??= new Client());
}
