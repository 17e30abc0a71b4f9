import { type Client, defaultClient } from "./client.js";
import { type Budget, NotFoundError, type SessionInfo } from "./generated.js";
import { ClosedError } from "./errors.js";
import type { Command, ExecOptions, Execution, Job, RunOptions } from "./exec.js";
import type { ExecResult } from "./result.js";
import { Sandbox, type SandboxOptions, labelsOf, specOf } from "./sandbox.js";
import { fromWire, toWire } from "./wire.js";

export interface SessionOptions {
  /** Options of its sandboxes. */
  spec?: SandboxOptions;
  /** Commands that are run once in each of its sandboxes, before anything else. A text is run by a shell. */
  setup?: Command[];
  budget?: Budget;
  /** The session ends when nobody uses it for this long. */
  leaseMs?: number;
  /** Time after which its sandbox is paused when nobody uses it. The next use resumes it. */
  pauseAfterMs?: number;
  labels?: Record<string, string>;
  /** The files of /workspace are kept for its next sandbox. */
  keepsWorkspace?: boolean;
  client?: Client;
  /** Time of each command that names none. */
  timeoutMs?: number;
}

/** A sandbox with a name, which is made at its first use and replaced when it is lost. */
export class Session implements AsyncDisposable {
  readonly name: string;
  readonly client: Client;
  info: SessionInfo;
  #request: Record<string, unknown>;
  #timeoutMs: number | undefined;
  #sandbox: Sandbox;
  #isClosed = false;

  private constructor(client: Client, info: SessionInfo, request: Record<string, unknown>, timeoutMs: number | undefined) {
    this.client = client;
    this.name = info.name;
    this.info = info;
    this.#request = request;
    this.#timeoutMs = timeoutMs;
    this.#sandbox = this.#present();
  }

  /** Finds the session, or makes it. */
  static async open(name: string, options: SessionOptions = {}): Promise<Session> {
    const { client = defaultClient(), timeoutMs, spec, setup, ...rest } = options;
    const argv = setup?.map((command) => (typeof command === "string" ? ["/bin/sh", "-c", command] : [...command]));
    const request = toWire("SessionRequest", { ...rest, name, setup: argv }) as Record<string, unknown>;
    if (spec) request.spec = specOf(spec);
    return new Session(client, await ensure(client, request), request, timeoutMs);
  }

  static async list(options: { labels?: Record<string, string>; client?: Client } = {}): Promise<SessionInfo[]> {
    const { client = defaultClient(), labels } = options;
    return client.pages<SessionInfo>("listSessions", "sessions", "Session", { label: labelsOf(labels) });
  }

  /** The present sandbox. `close()` of it does not end it. */
  get sandbox(): Sandbox {
    if (this.#isClosed) throw new ClosedError(`the session ${this.name}`);
    return this.#sandbox;
  }

  get sandboxId(): string {
    return this.#sandbox.id;
  }

  #present(): Sandbox {
    return new Sandbox(this.client, { id: this.info.sandboxId ?? "" }, { timeoutMs: this.#timeoutMs });
  }

  /** Does something in its sandbox. If the sandbox was lost, a new one is made, and it is done there. */
  async use<T>(action: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    const { sandbox } = this;
    try {
      return await action(sandbox);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      const before = this.#sandbox.id;
      await this.#renewInfo();
      if (this.#sandbox.id === before) throw error;
    }
    return action(this.#sandbox);
  }

  async #renewInfo(): Promise<void> {
    this.info = await ensure(this.client, this.#request);
    if (this.info.sandboxId !== this.#sandbox.id) this.#sandbox = this.#present();
  }

  async run(command: Command, options: RunOptions = {}): Promise<ExecResult> {
    return this.use((sandbox) => sandbox.run(command, options));
  }

  stream(command: Command, options: ExecOptions = {}): Execution {
    return this.sandbox.stream(command, options);
  }

  async start(command: Command, options: ExecOptions = {}): Promise<Job> {
    return this.use((sandbox) => sandbox.start(command, options));
  }

  /** As it is now. Does not make a sandbox. */
  async refresh(): Promise<SessionInfo> {
    return (this.info = fromWire("Session", await this.client.transport.json("getSession", { path: { name: this.name } })));
  }

  /** Begins its lease again, with this length. */
  async renew(leaseMs: number): Promise<SessionInfo> {
    const call = { path: { name: this.name }, json: { lease_ms: leaseMs } };
    return (this.info = fromWire("Session", await this.client.transport.json("renewSession", call)));
  }

  /** Ends it, and its sandbox. */
  async end(): Promise<void> {
    await this.client.transport.json("endSession", { path: { name: this.name } });
    this.#isClosed = true;
  }

  /** Removes the files that sessions of this name left behind. */
  async forget(): Promise<void> {
    await this.client.transport.json("forgetWorkspace", { path: { name: this.name } });
  }

  /** Lets go of it; the session goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

async function ensure(client: Client, request: Record<string, unknown>): Promise<SessionInfo> {
  const call = { json: request, timeoutMs: client.createTimeoutMs };
  return fromWire("Session", await client.transport.json("ensureSession", call));
}
