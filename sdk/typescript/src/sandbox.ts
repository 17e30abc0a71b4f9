import { resolve } from "node:path";
import { type Client, defaultClient } from "./client.js";
import { forget, type Left, leave } from "./left.js";
import { CancelledError, type Changes, type Change, type Checkpoint, type Environment, type Gone, type History, type HistoryEntry,
  InternalError, InvalidArgumentError, type Limits, type Mount, type NetworkEvent, type NetworkEvents, type NetworkPolicy, type NetworkStatus, NotFoundError, type SandboxInfo, type SandboxSpec, type SandboxStats, type UnsafeMount } from "./generated.js";
import { AlreadyExistsError, PermissionDeniedError } from "./generated.js";
import { ClosedError } from "./errors.js";
import { type Command, type ExecOptions, type Execution, type Job, type Place, run, type RunOptions, start, stream } from "./exec.js";
import { Job as JobHandle } from "./exec.js";
import { Files, programError, runNutshell } from "./files.js";
import type { ExecResult } from "./result.js";
import type { Call } from "./transport.js";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.js";
import { makeTools, type ToolResult, type Tools } from "./tools.js";
import { bytesOf, fromWire, toWire } from "./wire.js";

const restMs = 1000; // for the answer to a cancelled call, which may be on its way

export interface SandboxOptions {
  /** Isolation: native, docker, podman or gvisor. Default: native. */
  backend?: string;
  /** Root file system: an image's name, a directory or a tar. Default: this machine's /usr. */
  image?: string;
  runtime?: string;
  /** Bytes, or a text like "512m". */
  memory?: number | string;
  cpus?: number;
  processes?: number;
  disk?: number | string;
  openFiles?: number;
  cpuTimeMs?: number;
  /** Variables of every command in it. */
  environment?: Record<string, string>;
  workingDirectory?: string;
  /** Directory that /workspace begins as; it stays untouched until `apply()`. */
  workspace?: string;
  workspaceMode?: "auto" | "overlay" | "copy";
  /** Directories and small files of the host that it can read, at any path. */
  mounts?: Mount[];
  /** auto: shows the tools that this user has installed outside /usr, without their settings and keys. */
  toolchains?: "auto" | "none";
  /** Directories of the host, mounted directly: what is written there stays. */
  unsafeMounts?: UnsafeMount[];
  /** What it may reach, such as `{ allow: ["pypi.org:443"] }`. Default: nothing. */
  network?: NetworkPolicy;
  /** yes: caches of package managers and compilers are kept for later sandboxes with the same workspace. */
  keepCaches?: "yes" | "no";
  labels?: Record<string, string>;
  /** How long it lives. Default: 5 minutes. */
  ttlMs?: number;
  /** It ends when nothing ran in it for this long. Default: never. */
  idleTimeoutMs?: number;
  /** Protections it must have. */
  require?: string[];
  unsafeWithout?: string[];
}

// Does not compile when the API has an option that is missing above.
type Renamed = { memoryBytes: "memory"; diskBytes: "disk" };
type OptionOf<Name> = Name extends keyof Renamed ? Renamed[Name] : Name;
type Missing = Exclude<OptionOf<keyof SandboxSpec | keyof Limits>, keyof SandboxOptions | "limits">;
type Complete<Nothing extends never> = Nothing;
export type EveryOptionIsThere = Complete<Missing>;

export interface CreateOptions extends SandboxOptions {
  /** Time of each command that names none. */
  timeoutMs?: number;
  /** Takes it from this pool. Only labels, times, environment, workspace and limits may be given then. */
  pool?: string;
  client?: Client;
  signal?: AbortSignal;
}

export interface HeldChange {
  path: string;
  change: string;
  held_by: string;
  held_tool: string;
  held_why: string;
  take_with: string;
}

export interface ApplyReport {
  dry_run: boolean;
  applied: { path: string; change: string }[];
  held: HeldChange[];
  skipped: string[];
  conflicts: string[];
}

export interface ApplyOptions {
  /** Only at or below these paths; a path that is held back is taken if it is named. */
  paths?: string[];
  exclude?: string[];
  dryRun?: boolean;
  /** Overwrites files that changed here since the sandbox was made. */
  force?: boolean;
  /** Also files that can make git run a program. */
  unsafeGit?: boolean;
  signal?: AbortSignal;
}

/** The options as the API's SandboxSpec. */
export function specOf(options: SandboxOptions): Record<string, unknown> {
  const { memory, cpus, processes, disk, openFiles, cpuTimeMs, ...rest } = options;
  if (rest.workspace && !rest.workspace.startsWith("volume:")) rest.workspace = resolve(rest.workspace);
  const limits: Record<string, unknown> = { cpus, processes, openFiles, cpuTimeMs };
  if (memory !== undefined) limits.memoryBytes = bytesOf(memory, "memory");
  if (disk !== undefined) limits.diskBytes = bytesOf(disk, "disk");
  const isLimited = Object.values(limits).some((value) => value !== undefined);
  return toWire("SandboxSpec", isLimited ? { ...rest, limits } : rest) as Record<string, unknown>;
}

/** Asks for a sandbox. If the caller cancels before the answer is here, what the daemon has made nevertheless ends. */
export function take(client: Client, operation: "createSandbox" | "acquire", endsBy: Left["how"], call: Call): Promise<SandboxInfo> {
  const { signal, ...rest } = call;
  const hangUp = new AbortController();
  const answered = signal?.aborted ? client.transport.json(operation, call)
    : client.transport.json(operation, { ...rest, signal: hangUp.signal });
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new CancelledError("cancelled", { cause: signal!.reason }));
      const late = setTimeout(() => hangUp.abort(), restMs);
      void answered.then((made) => client.transport.json(endsBy, { path: { id: (made as { id: string }).id } }))
        .catch(() => undefined).finally(() => clearTimeout(late));
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = (finish: () => void): void => {
      signal?.removeEventListener("abort", onAbort);
      finish();
    };
    answered.then((made) => settle(() => resolve(fromWire("Sandbox", made))), (error) => settle(() => reject(error)));
  });
}

/** A sandbox. `await using s = await Sandbox.create()` ends it with its scope; so does `close()`. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly client: Client;
  readonly files: Files;
  readonly tools: Tools;
  /** As it was when this object was made, or at the last `refresh()`. */
  info: SandboxInfo;
  #timeoutMs: number | undefined;
  #ending: Left["how"] | undefined;
  #isClosed = false;

  /** Used by `create`, `connect`, `fork` and pools. */
  constructor(client: Client, info: SandboxInfo, more: { timeoutMs?: number | undefined; endsBy?: Left["how"] | undefined } = {}) {
    this.client = client;
    this.info = info;
    this.id = info.id;
    this.#timeoutMs = more.timeoutMs;
    this.#ending = more.endsBy;
    this.files = new Files(() => this.#place());
    this.tools = makeTools(() => this.#place());
    if (more.endsBy) leave(this, { client, id: info.id, how: more.endsBy });
  }

  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const { client = defaultClient(), timeoutMs, pool, signal, ...spec } = options;
    if (pool !== undefined) return client.pool(pool).acquire({ ...acquireOf(spec), timeoutMs, signal });
    const info = await take(client, "createSandbox", "destroySandbox", { json: specOf(spec), timeoutMs: client.createTimeoutMs, signal });
    return new Sandbox(client, info, { timeoutMs, endsBy: "destroySandbox" });
  }

  /** Finds a sandbox by its id. Its `close()` does not end it; `destroy()` does. */
  static async connect(id: string, options: { client?: Client; timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Sandbox> {
    const { client = defaultClient(), timeoutMs, signal } = options;
    if (id === "") throw new InvalidArgumentError("the id of the sandbox is empty");
    const answer = await client.transport.json("getSandbox", { path: { id }, signal });
    return new Sandbox(client, fromWire("Sandbox", answer), { timeoutMs });
  }

  /** The caller's sandboxes, all pages. */
  static async list(options: { labels?: Record<string, string>; protections?: boolean; client?: Client } = {}): Promise<SandboxInfo[]> {
    const { client = defaultClient(), labels, protections } = options;
    return client.pages<SandboxInfo>("listSandboxes", "sandboxes", "Sandbox", { label: labelsOf(labels), protections });
  }

  #place(): Place {
    if (this.#isClosed) throw new ClosedError(`the sandbox ${this.id}`);
    return { client: this.client, id: this.id, owner: this };
  }

  async #json(operation: Parameters<Client["transport"]["json"]>[0], call: Parameters<Client["transport"]["json"]>[1] = {}): Promise<unknown> {
    const { id } = this.#place();
    return this.client.transport.json(operation, { ...call, owner: this, path: { id, ...call.path } });
  }

  #timed<T extends ExecOptions>(options: T): T {
    return options.timeoutMs === undefined && this.#timeoutMs !== undefined ? { ...options, timeoutMs: this.#timeoutMs } : options;
  }

  /** Runs a command to its end. A text is run by a shell, a list is not. */
  async run(command: Command, options: RunOptions = {}): Promise<ExecResult> {
    return run(this.#place(), command, this.#timed(options));
  }

  /** Runs a command, and gives its output as it comes. */
  stream(command: Command, options: ExecOptions = {}): Execution {
    return stream(this.#place(), command, this.#timed(options));
  }

  /** Starts a command that runs without its caller. */
  async start(command: Command, options: ExecOptions = {}): Promise<Job> {
    return start(this.#place(), command, this.#timed(options));
  }

  /** A command that was started before, by its `execId`. */
  job(execId: string): Job {
    return new JobHandle(this.#place(), execId);
  }

  async terminal(options: TerminalOptions = {}): Promise<Terminal> {
    return openTerminal(this.#place(), options);
  }

  /** Takes back a change by its id (u12), or the last one. */
  async undo(id?: string): Promise<ToolResult> {
    return (await this.tools.undo(id === undefined ? {} : { id })).check();
  }

  /** Differences from how the workspace began. `heldBy` marks what `apply` would leave out. */
  async changes(): Promise<Change[]> {
    return fromWire<Changes>("Changes", await this.#json("listChanges")).changes;
  }

  /** The changes as a unified diff, as `nutshell diff` prints it. */
  async diff(options: { paths?: string[]; stat?: boolean; patch?: boolean; signal?: AbortSignal } = {}): Promise<string> {
    const words = [...(options.stat ? ["--stat"] : []), ...(options.patch ? ["--patch"] : []), ...pathFlags("--path", options.paths)];
    const done = await runNutshell(this.#place(), ["diff", this.id, ...words], options.signal);
    if (done.status !== 0 && done.status !== 1) throw programError(done.notes);
    if (done.status === 1 && done.stdout === "" && done.notes.length > 0) throw programError(done.notes);
    return done.stdout;
  }

  /** Writes the changes back to the directory of `workspace`, as `nutshell apply` does, with the same refusals. */
  async apply(options: ApplyOptions = {}): Promise<ApplyReport> {
    const words = [...(options.dryRun ? ["--dry-run"] : []), ...(options.force ? ["--force"] : []),
      ...(options.unsafeGit ? ["--unsafe-git"] : []), ...pathFlags("--path", options.paths), ...pathFlags("--exclude", options.exclude)];
    const done = await runNutshell(this.#place(), ["apply", this.id, "--json", ...words], options.signal);
    const report = done.stdout ? (JSON.parse(done.stdout) as ApplyReport) : undefined;
    if (report && done.status === 0) return report;
    const text = done.notes.join("\n").replace(/^nutshell: /, "");
    if (report && report.conflicts.length > 0) throw new AlreadyExistsError(text);
    if (report && report.held.length > 0) throw new PermissionDeniedError(text);
    throw done.notes.length > 0 ? programError(done.notes) : new InternalError("nutshell apply failed");
  }

  /** Keeps the files as they are, and gives the checkpoint's name. `kill` ends running processes, else they are refused. */
  async checkpoint(options: { kill?: boolean } = {}): Promise<string> {
    const made = await this.#json("createCheckpoint", { json: { kill: options.kill ?? false } });
    return fromWire<Checkpoint>("Checkpoint", made).checkpoint ?? "";
  }

  /** Goes back to a checkpoint, or to how the workspace began. */
  async rollback(checkpoint?: string, options: { kill?: boolean } = {}): Promise<void> {
    const json = toWire("Checkpoint", { checkpoint, kill: options.kill ?? false });
    await this.#json("rollback", { json });
  }

  /** Another sandbox with the same files. */
  async fork(): Promise<Sandbox> {
    const answer = await this.#json("forkSandbox", { timeoutMs: this.client.createTimeoutMs });
    return new Sandbox(this.client, fromWire("Sandbox", answer), { timeoutMs: this.#timeoutMs, endsBy: "destroySandbox" });
  }

  async pause(): Promise<SandboxInfo> {
    return (this.info = fromWire("Sandbox", await this.#json("pauseSandbox")));
  }

  async resume(): Promise<SandboxInfo> {
    return (this.info = fromWire("Sandbox", await this.#json("resumeSandbox")));
  }

  /** Begins its ttl again, with this length. */
  async extend(ttlMs: number): Promise<SandboxInfo> {
    return (this.info = fromWire("Sandbox", await this.#json("extendSandbox", { json: { ttl_ms: ttlMs } })));
  }

  async refresh(): Promise<SandboxInfo> {
    return (this.info = fromWire("Sandbox", await this.#json("getSandbox")));
  }

  async stats(): Promise<SandboxStats> {
    return fromWire("SandboxStats", await this.#json("getStats"));
  }

  /** What it may reach now, and what it used of that. */
  async networkStatus(): Promise<NetworkStatus> {
    return fromWire("NetworkStatus", await this.#json("getNetwork"));
  }

  /** Replaces what it may reach. Connections that are not allowed then end. One that was made without a network gets none. */
  async setNetwork(policy: NetworkPolicy): Promise<NetworkStatus> {
    return fromWire("NetworkStatus", await this.#json("setNetwork", { json: toWire("NetworkPolicy", policy) }));
  }

  /** Connections and look-ups that were tried, oldest first: those with a greater number. */
  async networkEvents(after?: number): Promise<NetworkEvent[]> {
    return fromWire<NetworkEvents>("NetworkEvents", await this.#json("listNetworkEvents", { query: { after } })).events;
  }

  /** Acts in it, oldest first. */
  async history(): Promise<HistoryEntry[]> {
    return fromWire<History>("History", await this.#json("getHistory")).entries;
  }

  /** Variables it was started with. May hold secrets. */
  async environment(): Promise<string[]> {
    return fromWire<Environment>("Environment", await this.#json("getEnvironment")).environment;
  }

  /** Why it no longer answers. */
  async whyGone(): Promise<Gone> {
    return fromWire("Gone", await this.#json("whyGone"));
  }

  /** Ends the sandbox, also one that `connect` found. */
  async destroy(): Promise<void> {
    const how = this.#ending ?? "destroySandbox";
    if (this.#isClosed) return;
    this.#isClosed = true;
    forget(this);
    try {
      await this.client.transport.json(how, { path: { id: this.id } });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error; // it has ended already
    }
  }

  /** Lets the sandbox live on after `close()`, up to its ttl. */
  detach(): void {
    forget(this);
    this.#ending = undefined;
  }

  /** Ends a sandbox that this object made; lets go of one that it found. A second close does nothing. */
  async close(): Promise<void> {
    if (this.#ending) return this.destroy();
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function pathFlags(flag: string, paths: string[] = []): string[] {
  return paths.map((path) => `${flag}=${path}`);
}

export function labelsOf(labels: Record<string, string> = {}): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

function acquireOf(options: SandboxOptions): Record<string, unknown> {
  return options as Record<string, unknown>; // Pool.acquire names what a pool does not take
}
