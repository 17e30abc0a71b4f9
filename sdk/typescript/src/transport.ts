// HTTP to a daemon: kept connections, JSON, streams, and every failure as a typed error.
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import type { Duplex, Readable } from "node:stream";
import { chooseTarget, type DaemonOptions, type Target } from "./daemon.js";
import { CancelledError, CorruptError, DeadlineExceededError, type Operation, operations, UnavailableError,
  UnsupportedError, api } from "./generated.js";
import { ClosedError, errorOf, SandboxError } from "./errors.js";
import { ShortCalls, ShortFailure } from "./short_calls.js";

const idleMs = 30_000; // below the 75 s after which the daemon closes a connection
const mostProblemBytes = 1 << 20;
const mostShortBytes = 1 << 20;
const neverSent = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN"]);
const cut = new Set(["ECONNRESET", "EPIPE"]);

export interface Call {
  path?: Record<string, string>;
  query?: Record<string, string | number | boolean | string[] | undefined>;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: Uint8Array | Readable | AsyncIterable<Uint8Array>;
  /** Longest wait for the answer to begin and, unless it is a stream, to end. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Kept from being collected, which would end the sandbox, until the request has ended. */
  owner?: unknown;
}

interface Connection {
  target: Target;
  agent: http.Agent | https.Agent;
  /** For a Unix socket. */
  short?: ShortCalls;
}

/** A request or a connection, which can be stopped. */
interface Running {
  destroy(error?: Error): unknown;
}

export class Transport {
  readonly timeoutMs: number;
  /** Daemon of the last connection, if there was one. */
  lastTarget: Target | undefined;
  #options: DaemonOptions;
  #connection: Promise<Connection> | undefined;
  #isClosed = false;
  #inFlight = new Map<Running, unknown>();

  constructor(options: DaemonOptions, timeoutMs: number) {
    this.#options = options;
    this.timeoutMs = timeoutMs;
  }

  /** Sends a request and reads its JSON answer; undefined if it has none. */
  async json(operation: Operation, call: Call = {}): Promise<unknown> {
    const deadline = new Deadline(call, this.timeoutMs);
    try {
      const bytes = await this.#attempts(operation, call, deadline, (connection) => this.#whole(operation, call, connection, deadline));
      return bytes.length === 0 ? undefined : parse(bytes, operation);
    } finally {
      deadline.clear();
    }
  }

  /** Sends a request and gives the body of the answer. The caller reads it to its end or destroys it. */
  async stream(operation: Operation, call: Call = {}): Promise<{ headers: http.IncomingHttpHeaders; body: Body }> {
    const deadline = new Deadline(call, this.timeoutMs);
    try {
      const answer = await this.#send(operation, call, deadline);
      return { headers: answer.headers, body: new Body(answer, operation, deadline) };
    } catch (error) {
      deadline.clear();
      throw error;
    }
  }

  /** Upgrades a connection to a WebSocket. */
  async upgrade(operation: Operation, call: Call, key: string): Promise<{ socket: Duplex; head: Buffer; accept: string }> {
    const deadline = new Deadline(call, this.timeoutMs);
    const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key };
    try {
      const answer = await this.#send(operation, { ...call, headers: { ...call.headers, ...upgrade } }, deadline);
      const { socket, head } = answer as http.IncomingMessage & { head?: Buffer };
      if (answer.statusCode !== 101) throw new CorruptError(`${operation}: the daemon did not upgrade the connection`);
      return { socket, head: head ?? Buffer.alloc(0), accept: String(answer.headers["sec-websocket-accept"]) };
    } finally {
      deadline.clear();
    }
  }

  /** Address of the daemon, for the programs. */
  async target(): Promise<Target> {
    return (await this.#connect()).target;
  }

  close(): void {
    this.#isClosed = true;
    for (const request of this.#inFlight.keys()) request.destroy(new ClosedError("the client"));
    void this.#connection?.then(end, () => undefined);
  }

  #connect(): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(new ClosedError("the client"));
    if (this.#connection) return this.#connection;
    const made = this.#open();
    this.#connection = made;
    made.catch(() => this.#forget(made));
    return made;
  }

  #forget(known: Promise<Connection>): void {
    if (this.#connection === known) this.#connection = undefined;
  }

  async #open(): Promise<Connection> {
    const target = await chooseTarget(this.#options);
    const terms = { keepAlive: true, timeout: idleMs, maxFreeSockets: 64, scheduling: "lifo" as const };
    const agent = target.url?.protocol === "https:" ? new https.Agent(terms) : new http.Agent(terms);
    const connection: Connection = { target, agent };
    if (target.socket !== undefined) connection.short = new ShortCalls(target.socket);
    const deadline = new Deadline({}, this.timeoutMs);
    try {
      const told = parse(await this.#whole("daemon", {}, connection, deadline), "daemon") as { api?: unknown };
      if (told.api === api) {
        this.lastTarget = target;
        return connection;
      }
      throw new UnsupportedError(`the daemon speaks the API ${String(told.api)}, and this package ${api}: ` +
        "use versions of the two that belong together");
    } catch (error) {
      end(connection);
      throw error instanceof Failure ? error.typed() : error;
    } finally {
      deadline.clear();
    }
  }

  #send(operation: Operation, call: Call, deadline: Deadline): Promise<http.IncomingMessage> {
    return this.#attempts(operation, call, deadline, async (connection) => {
      const answer = await this.#once(operation, call, connection, deadline);
      if (answer.statusCode! >= 300) {
        const bytes = await readAll(answer, operation, deadline, mostProblemBytes);
        throw problemOf(answer.statusCode!, bytes, operation);
      }
      return answer;
    });
  }

  /** Body of an answer that is no problem. */
  async #whole(operation: Operation, call: Call, connection: Connection, deadline: Deadline): Promise<Buffer> {
    const isShort = call.body === undefined || (call.body instanceof Uint8Array && call.body.length <= mostShortBytes);
    if (!connection.short || !isShort) {
      const answer = await this.#once(operation, call, connection, deadline);
      const bytes = await readAll(answer, operation, deadline);
      if (answer.statusCode! >= 300) throw problemOf(answer.statusCode!, bytes, operation);
      return bytes;
    }
    const { method, path } = operations[operation];
    const { body, headers } = contentOf(call, connection.target);
    try {
      const { status, body: bytes } = await connection.short.send(
        { method, path: fill(path, call), headers, body: body as string | Uint8Array | undefined }, {
          begin: (socket) => {
            this.#inFlight.set(socket, call.owner);
            deadline.watch(socket);
          },
          end: (socket) => {
            this.#inFlight.delete(socket);
            deadline.leave();
          },
        });
      if (status >= 300) throw problemOf(status, bytes, operation);
      return bytes;
    } catch (error) {
      throw error instanceof ShortFailure ? new Failure(error.reason, operation, error.wasReused, deadline) : error;
    }
  }

  /** Does it a second time if the daemon cannot have seen the first, or if seeing it twice makes no difference. */
  async #attempts<T>(operation: Operation, call: Call, deadline: Deadline, attempt: (connection: Connection) => Promise<T>): Promise<T> {
    const isRepeatable = operations[operation].method !== "POST" || call.headers?.["Idempotency-Key"] !== undefined;
    const isWhole = call.body === undefined || call.body instanceof Uint8Array;
    for (let attempts = 0; ; ++attempts) {
      const known = this.#connect();
      const connection = await known;
      if (this.#isClosed) throw new ClosedError("the client");
      if (deadline.reason) throw deadline.reason;
      try {
        return await attempt(connection);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.wasNeverSent) {
          this.#forget(known);
          end(connection);
        }
        const mayRepeat = error.wasNeverSent || (error.wasCut && isRepeatable);
        if (attempts > 0 || !mayRepeat || !isWhole) throw error.typed();
      }
    }
  }

  #once(operation: Operation, call: Call, { target, agent }: Connection, deadline: Deadline):
      Promise<http.IncomingMessage> {
    const { method, path } = operations[operation];
    const { body, headers } = contentOf(call, target);
    const options: https.RequestOptions = { method, path: fill(path, call), headers, agent,
      ...(target.socket ? { socketPath: target.socket, host: "localhost" } : place(target)) };
    return new Promise((resolve, reject) => {
      const secure = target.url?.protocol === "https:";
      const request = (secure ? https : http).request(options);
      this.#inFlight.set(request, call.owner);
      request.on("close", () => this.#inFlight.delete(request));
      deadline.watch(request);
      request.on("error", (error) => reject(new Failure(error, operation, request.reusedSocket, deadline)));
      request.on("response", resolve);
      request.on("upgrade", (answer, socket, head) => {
        Object.assign(answer, { head });
        deadline.clear();
        socket.on("error", () => undefined); // its reader sees the close
        resolve(answer);
      });
      // Node sends a text together with the head, in one write.
      if (body === undefined || typeof body === "string" || body instanceof Uint8Array) request.end(body);
      else void pour(body, request);
    });
  }
}

function end({ agent, short }: Connection): void {
  agent.destroy();
  short?.close();
}

/** Body and headers of a request. */
function contentOf(call: Call, target: Target): { body: string | Call["body"]; headers: Record<string, string | number> } {
  const json = call.json === undefined ? undefined : JSON.stringify(call.json);
  const body = json ?? call.body;
  const headers: Record<string, string | number> = { Accept: "application/json", ...call.headers };
  if (json !== undefined) headers["Content-Type"] = "application/json";
  if (typeof body === "string" || body instanceof Uint8Array) headers["Content-Length"] = Buffer.byteLength(body);
  if (target.token) headers.Authorization = `Bearer ${target.token}`;
  return { body, headers };
}

function place({ url, ca, cert, key }: Target): https.RequestOptions {
  const port = url!.port || (url!.protocol === "https:" ? 443 : 80);
  return { host: url!.hostname.replace(/^\[|\]$/g, ""), port, ...(ca && { ca: readFileSync(ca) }),
    ...(cert && { cert: readFileSync(cert) }), ...(key && { key: readFileSync(key) }) };
}

async function pour(body: AsyncIterable<Uint8Array>, request: http.ClientRequest): Promise<void> {
  try {
    for await (const piece of body) {
      if (request.destroyed) return;
      if (!request.write(piece)) {
        await new Promise((resolve) => request.once("drain", resolve).once("close", resolve));
      }
    }
    request.end();
  } catch (error) {
    request.destroy(error as Error);
  }
}

function fill(path: string, call: Call): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = call.path?.[name] ?? "";
    // Dots alone would name another path.
    return /^\.*$/.test(value) ? `%00${encodeURIComponent(value)}` : encodeURIComponent(value);
  });
  const query: string[] = [];
  for (const [key, value] of Object.entries(call.query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) query.push(`${key}=${encodeURIComponent(one)}`);
    }
  }
  return query.length > 0 ? `${filled}?${query.join("&")}` : filled;
}

/** Ends a request at its time, or when its caller cancels it. */
class Deadline {
  reason: SandboxError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Running | undefined;
  #signal: AbortSignal | undefined;
  #onAbort = (): void => this.#end(new CancelledError("cancelled", { cause: this.#signal?.reason }));

  constructor(call: Call, otherwiseMs: number) {
    this.#signal = call.signal;
    if (call.signal?.aborted) throw new CancelledError("cancelled", { cause: call.signal.reason });
    const ms = call.timeoutMs ?? otherwiseMs;
    call.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (Number.isFinite(ms)) {
      const late = (): void => this.#end(new DeadlineExceededError(`the daemon did not answer within ${ms / 1000} s`));
      this.#timer = setTimeout(late, Math.min(ms, 2 ** 31 - 1));
    }
  }

  watch(running: Running): void {
    this.#running = running;
    if (this.reason) running.destroy(this.reason);
  }

  /** The connection belongs to another call from here on. */
  leave(): void {
    this.#running = undefined;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }

  #end(reason: SandboxError): void {
    this.reason ??= reason;
    this.clear();
    this.#running?.destroy(this.reason);
  }
}

/** A request without an answer. */
class Failure extends Error {
  readonly wasNeverSent: boolean;
  readonly wasCut: boolean;
  #typed: SandboxError;

  constructor(error: NodeJS.ErrnoException, operation: string, wasReused: boolean, deadline: Deadline) {
    super(error.message);
    const isOurs = deadline.reason !== undefined || error instanceof SandboxError;
    this.wasNeverSent = !isOurs && (neverSent.has(error.code ?? "") || error.syscall === "connect");
    this.wasCut = !isOurs && wasReused && cut.has(error.code ?? "");
    this.#typed = deadline.reason ?? (error instanceof SandboxError ? error : new UnavailableError(
      `${operation}: ${this.wasNeverSent ? "no daemon answers" : "the connection to the daemon broke"} (${error.message})`,
      { cause: error }));
  }

  typed(): SandboxError {
    return this.#typed;
  }
}

function problemOf(status: number, bytes: Buffer, operation: string): SandboxError {
  let problem: { code?: unknown; detail?: unknown; title?: unknown } = {};
  try {
    const parsed: unknown = JSON.parse(bytes.toString());
    if (typeof parsed === "object" && parsed !== null) problem = parsed;
  } catch {
    // Not from a daemon of ours; the status says enough.
  }
  if (typeof problem.code === "string") return errorOf(problem.code, String(problem.detail ?? problem.title ?? problem.code), { status });
  if (status === 404 || status === 405) {
    return new UnsupportedError(`the server knows no ${operation}: it is older than this package, or no nutshelld`, { status });
  }
  return errorOf(status >= 500 ? "unavailable" : "internal", `${operation}: the server answered ${status}`, { status });
}

/** Reads a body whole. Events, because an iterator costs a good part of a short call. */
function readAll(answer: http.IncomingMessage, operation: string, deadline: Deadline, most = Infinity): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const finish = (): void => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
    answer.on("data", (piece: Buffer) => {
      pieces.push(piece);
      if ((size += piece.length) <= most) return;
      answer.destroy();
      finish();
    });
    answer.on("end", finish);
    answer.on("error", (error) => reject(brokenBody(error, operation, deadline)));
    answer.on("close", () => answer.complete || reject(brokenBody(new Error("closed"), operation, deadline)));
  });
}

function brokenBody(error: Error, operation: string, deadline: Deadline): SandboxError {
  if (deadline.reason) return deadline.reason;
  return error instanceof SandboxError ? error
    : new UnavailableError(`${operation}: the connection to the daemon broke (${error.message})`, { cause: error });
}

function parse(bytes: Buffer, operation: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString());
  } catch (cause) {
    throw new CorruptError(`${operation}: the answer is no JSON`, { cause });
  }
  if (typeof parsed === "object" && parsed !== null) return parsed;
  throw new CorruptError(`${operation}: the answer is no object`);
}

/** Body of an answer; failures while it is read are typed. Leaving the loop early closes the connection. */
export class Body implements AsyncIterable<Buffer> {
  #answer: http.IncomingMessage;
  #operation: string;
  #deadline: Deadline;

  constructor(answer: http.IncomingMessage, operation: string, deadline: Deadline) {
    this.#answer = answer;
    this.#operation = operation;
    this.#deadline = deadline;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    let isWhole = false;
    try {
      for await (const piece of this.#answer) yield piece as Buffer;
      isWhole = true;
    } catch (error) {
      throw brokenBody(error as Error, this.#operation, this.#deadline);
    } finally {
      this.#deadline.clear();
      if (!isWhole) this.#answer.destroy();
    }
  }

  destroy(): void {
    this.#deadline.clear();
    this.#answer.destroy();
  }
}
