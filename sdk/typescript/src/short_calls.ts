// Calls of a daemon on a Unix socket whose request and answer fit in memory. node:http costs such a call a tenth of
// its time; this is the part of HTTP/1.1 that the daemon speaks.
import { connect, type Socket } from "node:net";
import { CorruptError } from "./generated.js";

const idleMs = 30_000; // below the 75 s after which the daemon closes a connection
const mostIdle = 64;
const mostHeadBytes = 64 << 10;

export interface ShortAnswer {
  status: number;
  body: Buffer;
}

export interface ShortCall {
  method: string;
  path: string;
  headers: Record<string, string | number>;
  body: string | Uint8Array | undefined;
}

/** Told which connection a call uses, and until when. */
export interface Users {
  begin(socket: Socket): void;
  end(socket: Socket): void;
}

/** An error, and whether the connection had been used before: then the daemon may have closed it meanwhile. */
export class ShortFailure extends Error {
  readonly reason: NodeJS.ErrnoException;
  readonly wasReused: boolean;

  constructor(reason: Error, wasReused: boolean) {
    super(reason.message);
    this.reason = reason;
    this.wasReused = wasReused;
  }
}

interface Waiting {
  resolve(answer: ShortAnswer): void;
  reject(failure: ShortFailure): void;
  users: Users;
}

/** A connection, and the one call that waits for its answer. Its listeners stay, because changing them costs time. */
class Connection {
  readonly socket: Socket;
  since = 0;
  #pool: ShortCalls;
  #reader = new AnswerReader();
  #waiting: Waiting | undefined;
  #wasUsed = false;

  constructor(pool: ShortCalls, place: string) {
    this.#pool = pool;
    this.socket = connect(place);
    this.socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.socket.on("error", (error) => this.#fail(error));
    this.socket.on("close", () => this.#fail(Object.assign(new Error("the daemon closed the connection"), { code: "ECONNRESET" })));
  }

  send(call: ShortCall, waiting: Waiting): void {
    this.#waiting = waiting;
    this.socket.ref();
    waiting.users.begin(this.socket);
    if (!this.socket.destroyed) write(this.socket, call);
  }

  #take(bytes: Buffer): void {
    // Bytes that nobody asked for make a connection useless.
    if (!this.#waiting) return this.#fail(new CorruptError("the daemon answers without a request"));
    try {
      if (!this.#reader.take(bytes)) return;
    } catch (error) {
      return this.#fail(error as Error);
    }
    const { status, body, keepsConnection } = this.#reader;
    const { resolve, users } = this.#waiting;
    this.#waiting = undefined;
    this.#wasUsed = true;
    users.end(this.socket);
    if (keepsConnection) {
      this.#reader = new AnswerReader();
      this.socket.unref();
      this.#pool.keep(this);
    } else {
      this.socket.destroy();
    }
    resolve({ status, body });
  }

  #fail(error: Error): void {
    this.#pool.leave(this);
    this.socket.destroy();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.users.end(this.socket);
    waiting?.reject(new ShortFailure(error, this.#wasUsed));
  }
}

export class ShortCalls {
  #place: string;
  #idle: Connection[] = [];
  #isClosed = false;

  constructor(place: string) {
    this.#place = place;
  }

  send(call: ShortCall, users: Users): Promise<ShortAnswer> {
    return new Promise((resolve, reject) => this.#next().send(call, { resolve, reject, users }));
  }

  close(): void {
    this.#isClosed = true;
    for (const { socket } of this.#idle.splice(0)) socket.destroy();
  }

  #next(): Connection {
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      if (!last.socket.destroyed && last.socket.readable && Date.now() - last.since < idleMs) return last;
      last.socket.destroy();
    }
    return new Connection(this, this.#place);
  }

  keep(one: Connection): void {
    if (this.#isClosed || this.#idle.length >= mostIdle) return void one.socket.destroy();
    one.since = Date.now();
    this.#idle.push(one);
  }

  leave(one: Connection): void {
    const place = this.#idle.indexOf(one);
    if (place >= 0) this.#idle.splice(place, 1);
  }
}

function write(socket: Socket, { method, path, headers, body }: ShortCall): void {
  let head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`;
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
  if (body === undefined && method !== "GET") head += "Content-Length: 0\r\n";
  head += "\r\n";
  if (body instanceof Uint8Array) {
    socket.cork();
    socket.write(head);
    socket.write(body);
    socket.uncork();
  } else {
    socket.write(body === undefined ? head : head + body);
  }
}

/** Reads one answer of a request that was no HEAD. */
class AnswerReader {
  status = 0;
  body: Buffer = Buffer.alloc(0);
  keepsConnection = true;
  #held: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #size = 0;
  #length: number | "chunked" | undefined;

  /** True once the answer is whole. */
  take(bytes: Buffer): boolean {
    if (typeof this.#length === "number") return this.#takeBody(bytes);
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    if (this.#length === undefined) {
      const end = this.#held.indexOf("\r\n\r\n");
      if (end > mostHeadBytes || (end < 0 && this.#held.length > mostHeadBytes)) throw new CorruptError("the answer's head is too long");
      if (end < 0) return false;
      this.#parseHead(this.#held.toString("latin1", 0, end));
      this.#held = this.#held.subarray(end + 4);
    }
    if (this.#length === "chunked") return this.#takeChunks();
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return this.#takeBody(rest);
  }

  #parseHead(head: string): void {
    const [first = "", ...lines] = head.split("\r\n");
    const status = /^HTTP\/1\.1 (\d{3})/.exec(first);
    if (!status) throw new CorruptError("the answer is no HTTP/1.1");
    this.status = Number(status[1]);
    this.#length = this.status === 204 || this.status === 304 ? 0 : undefined;
    for (const line of lines) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      if (name === "content-length" && /^\d{1,15}$/.test(value)) this.#length ??= Number(value);
      if (name === "transfer-encoding" && value.toLowerCase() === "chunked") this.#length = "chunked";
      if (name === "connection" && value.toLowerCase() === "close") this.keepsConnection = false;
    }
    if (this.#length === undefined) throw new CorruptError("the answer does not tell its length");
  }

  #takeBody(bytes: Buffer): boolean {
    const wanted = this.#length as number;
    this.#parts.push(bytes);
    this.#size += bytes.length;
    if (this.#size > wanted) throw new CorruptError("the answer is longer than it tells");
    if (this.#size < wanted) return false;
    this.body = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    return true;
  }

  #takeChunks(): boolean {
    for (;;) {
      const end = this.#held.indexOf("\r\n");
      if (end < 0) {
        if (this.#held.length > mostHeadBytes) throw new CorruptError("the answer's chunk has no size");
        return false;
      }
      const size = /^[0-9a-f]{1,12}$/i.exec(this.#held.toString("latin1", 0, end));
      if (!size) throw new CorruptError("the answer's chunk has no size");
      const length = parseInt(size[0], 16);
      if (this.#held.length < end + 2 + length + 2) return false;
      if (this.#held.toString("latin1", end + 2 + length, end + 4 + length) !== "\r\n") throw new CorruptError("the answer's chunk has no end");
      if (length > 0) this.#parts.push(this.#held.subarray(end + 2, end + 2 + length));
      this.#held = this.#held.subarray(end + 4 + length);
      if (length > 0) continue;
      if (this.#held.length > 0) throw new CorruptError("the answer is longer than it tells");
      this.body = Buffer.concat(this.#parts);
      return true;
    }
  }
}
