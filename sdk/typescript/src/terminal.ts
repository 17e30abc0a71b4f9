// A command at a terminal, over a WebSocket (RFC 6455).
import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Place } from "./exec.js";
import { CorruptError, UnavailableError } from "./generated.js";
import { errorOf } from "./errors.js";
import { type ExecResult, resultWith } from "./result.js";

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const mostFrameBytes = 16 << 20;
const [continuation, text, binary, closing, ping, pong] = [0, 1, 2, 8, 9, 10];

export interface TerminalOptions {
  /** The program and its arguments. Default: `/bin/sh`. */
  command?: readonly string[];
  rows?: number;
  columns?: number;
  timeoutMs?: number;
  signal?: AbortSignal;
}

function frame(kind: number, data: Uint8Array): Buffer {
  const size = data.length;
  const head = Buffer.alloc(size < 126 ? 2 : size < 65536 ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = 0x80 | (size < 126 ? size : size < 65536 ? 126 : 127);
  if (size >= 65536) head.writeBigUInt64BE(BigInt(size), 2);
  else if (size >= 126) head.writeUInt16BE(size, 2);
  const mask = randomBytes(4);
  const masked = Buffer.from(data);
  for (let i = 0; i < size; ++i) masked[i]! ^= mask[i & 3]!;
  return Buffer.concat([head, mask, masked]);
}

/** Takes whole frames off the front of what came. */
class Frames {
  #held: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): void {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
  }

  next(): { isLast: boolean; kind: number; data: Buffer } | undefined {
    const held = this.#held;
    if (held.length < 2) return undefined;
    if ((held[0]! & 0x70) !== 0 || (held[1]! & 0x80) !== 0) throw new CorruptError("the daemon sent a malformed WebSocket frame");
    let [size, begin] = [held[1]! & 0x7f, 2];
    if (size === 126) {
      if (held.length < 4) return undefined;
      [size, begin] = [held.readUInt16BE(2), 4];
    } else if (size === 127) {
      if (held.length < 10) return undefined;
      [size, begin] = [Number(held.readBigUInt64BE(2)), 10];
    }
    if (size > mostFrameBytes) throw new CorruptError("the daemon sent a WebSocket frame beyond the limit");
    if (held.length < begin + size) return undefined;
    this.#held = held.subarray(begin + size);
    return { isLast: (held[0]! & 0x80) !== 0, kind: held[0]! & 0x0f, data: held.subarray(begin, begin + size) };
  }
}

/** `for await (const bytes of terminal)` gives what it shows. */
export class Terminal implements AsyncIterable<Uint8Array> {
  #socket: Duplex;
  #shown: AsyncGenerator<Uint8Array, void, undefined>;
  #end: ExecResult | undefined;
  #failure: Error | undefined;

  /** Kept from being collected while the terminal is used. */
  readonly owner: unknown;

  constructor(socket: Duplex, head: Buffer, owner: unknown) {
    this.owner = owner;
    this.#socket = socket;
    this.#shown = this.#read(head);
  }

  /** Types. */
  write(input: string | Uint8Array): void {
    this.#send(binary!, Buffer.from(input as string));
  }

  resize(rows: number, columns: number): void {
    this.#send(text!, Buffer.from(JSON.stringify({ rows, columns })));
  }

  signal(number: number): void {
    this.#send(text!, Buffer.from(JSON.stringify({ signal: number })));
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#shown;
  }

  /** Reads on to the end; the result's stdout is empty, because the output was shown. */
  async result(): Promise<ExecResult> {
    while (!(await this.#shown.next()).done);
    if (this.#end) return this.#end;
    throw this.#failure ?? new UnavailableError("the terminal was closed before the command's end");
  }

  /** Ends the command, if it still runs. */
  close(): void {
    if (!this.#socket.destroyed) this.#socket.end(frame(closing!, Buffer.alloc(0)));
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #send(kind: number, data: Uint8Array): void {
    if (this.#socket.destroyed) throw new UnavailableError("the terminal is closed");
    this.#socket.write(frame(kind, data));
  }

  async *#read(head: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
    const frames = new Frames();
    frames.push(head);
    let message: { kind: number; parts: Buffer[] } | undefined;
    try {
      for await (const bytes of this.#pieces(frames)) {
        if (bytes.kind === ping) this.#socket.write(frame(pong!, bytes.data));
        if (bytes.kind === closing) return;
        if (bytes.kind > binary!) continue;
        if (bytes.kind !== continuation) message = { kind: bytes.kind, parts: [] };
        if (!message) throw new CorruptError("the daemon sent a WebSocket frame that continues nothing");
        message.parts.push(bytes.data);
        if (!bytes.isLast) continue;
        const whole = Buffer.concat(message.parts);
        if (message.kind === binary) yield whole;
        else this.#finish(JSON.parse(whole.toString()));
        message = undefined;
      }
      if (!this.#end) throw new UnavailableError("the connection to the daemon broke");
    } catch (error) {
      this.#failure = error as Error;
      throw error;
    } finally {
      this.#socket.destroy();
    }
  }

  async *#pieces(frames: Frames): AsyncGenerator<{ isLast: boolean; kind: number; data: Buffer }, void, undefined> {
    for (let one = frames.next(); one; one = frames.next()) yield one;
    try {
      for await (const bytes of this.#socket) {
        frames.push(bytes as Buffer);
        for (let one = frames.next(); one; one = frames.next()) yield one;
      }
    } catch (cause) {
      if (cause instanceof CorruptError) throw cause;
      throw new UnavailableError(`the connection to the daemon broke (${(cause as Error).message})`, { cause });
    }
  }

  #finish(last: { code?: string; detail?: string }): void {
    if (last.code) throw errorOf(last.code, last.detail ?? last.code);
    this.#end = resultWith(last, [], []);
  }
}

export async function openTerminal(place: Place, options: TerminalOptions = {}): Promise<Terminal> {
  const key = randomBytes(16).toString("base64");
  const query = { arg: [...(options.command ?? [])], rows: options.rows, columns: options.columns, timeout_ms: options.timeoutMs };
  const { socket, head, accept } = await place.client.transport.upgrade("openTerminal",
    { path: { id: place.id }, query, signal: options.signal }, key);
  if (accept !== createHash("sha1").update(key + magic).digest("base64")) {
    socket.destroy();
    throw new CorruptError("the daemon's WebSocket handshake is wrong");
  }
  const terminal = new Terminal(socket, head, place.owner);
  const close = (): void => terminal.close();
  options.signal?.addEventListener("abort", close, { once: true });
  socket.once("close", () => options.signal?.removeEventListener("abort", close));
  return terminal;
}
