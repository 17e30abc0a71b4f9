import { type Client, defaultClient } from "./client.js";
import { type PoolInfo } from "./generated.js";
import { Sandbox, type SandboxOptions, specOf, take } from "./sandbox.js";
import { fromWire, toWire } from "./wire.js";

const defaultWaitMs = 10_000;

export interface AcquireOptions
  extends Pick<SandboxOptions, "labels" | "ttlMs" | "idleTimeoutMs" | "environment" | "workspace" | "memory" | "cpus" | "processes"
    | "disk" | "openFiles" | "cpuTimeMs"> {
  /** How long to wait while all of the pool is taken. Default: 10 s. */
  waitMs?: number;
  /** Time of each command that names none. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Sandboxes that the daemon keeps ready. */
export class Pool {
  readonly name: string;
  readonly client: Client;

  constructor(name: string, options: { client?: Client } = {}) {
    this.name = name;
    this.client = options.client ?? defaultClient();
  }

  static async list(options: { client?: Client } = {}): Promise<PoolInfo[]> {
    const { client = defaultClient() } = options;
    const answer = (await client.transport.json("listPools")) as { pools: unknown[] };
    return fromWire("Pool", answer.pools);
  }

  /** Takes a sandbox; its `close()` gives it back, and a fresh one takes its place. */
  async acquire(options: AcquireOptions = {}): Promise<Sandbox> {
    const { timeoutMs, signal, waitMs, memory, cpus, processes, disk, openFiles, cpuTimeMs, ...rest } = options;
    const given = Object.entries({ memory, cpus, processes, disk, openFiles, cpuTimeMs }).filter(([, value]) => value !== undefined);
    const json = toWire("Acquire", { ...rest, waitMs }) as Record<string, unknown>;
    if (given.length > 0) json.limits = specOf(Object.fromEntries(given)).limits;
    const longest = (waitMs ?? defaultWaitMs) + this.client.createTimeoutMs;
    const info = await take(this.client, "acquire", "release", { path: { pool: this.name }, json, timeoutMs: longest, signal });
    return new Sandbox(this.client, info, { timeoutMs, endsBy: "release" });
  }

  /** How full it is. */
  async refresh(): Promise<PoolInfo> {
    return fromWire("Pool", await this.client.transport.json("getPool", { path: { pool: this.name } }));
  }

  /** Waits until its sandboxes are ready. */
  async warm(): Promise<PoolInfo> {
    const call = { path: { pool: this.name }, timeoutMs: this.client.createTimeoutMs };
    return fromWire("Pool", await this.client.transport.json("warmPool", call));
  }

  /** Ends what waits in it, and gives their number. */
  async drain(): Promise<number> {
    const answer = await this.client.transport.json("drainPool", { path: { pool: this.name } });
    return (answer as { ended: number }).ended;
  }
}
