// Files of a sandbox.
import { posix, resolve } from "node:path";
import type { Readable } from "node:stream";
import { environmentOf } from "./daemon.js";
import type { Place } from "./exec.js";
import { type Directory, type DirectoryEntry, errorClasses, InvalidArgumentError, NotFoundError,
  TooLargeError } from "./generated.js";
import { SandboxError } from "./errors.js";
import { findProgram, runProgram } from "./programs.js";
import type { Call } from "./transport.js";
import { fromWire } from "./wire.js";

const workspace = "/workspace";

/** A relative path begins at /workspace. */
function absolute(path: string): string {
  return path.startsWith("/") || path === "" ? path : `${workspace}/${path}`;
}

export type Content = string | Uint8Array | Readable | AsyncIterable<Uint8Array>;

export interface FileEvent {
  kind: "added" | "modified" | "removed";
  entry: DirectoryEntry;
}

interface Cancellable {
  signal?: AbortSignal;
}

// Sandboxes that a program works with; collecting one would end it.
const inUse = new Set<{ owner: unknown }>();

/** Runs `nutshell` for this sandbox, with the daemon of its client. */
export async function runNutshell(place: Place, words: string[], signal?: AbortSignal):
    Promise<{ status: number | null; stdout: string; notes: string[] }> {
  const program = findProgram("nutshell");
  const env = environmentOf(await place.client.transport.target());
  const use = { owner: place.owner };
  inUse.add(use);
  const { status, stdout, stderr } = await runProgram(program, words, env, signal).finally(() => inUse.delete(use));
  return { status, stdout, notes: stderr.split("\n").filter((line) => line !== "") };
}

/** The error that a failed program told on standard error. */
export function programError(notes: string[]): SandboxError {
  const text = notes.join("\n").replace(/^nutshell: /, "") || "the program nutshell failed";
  const kinds: [RegExp, keyof typeof errorClasses][] = [
    [/held back/, "permission_denied"], [/no such|not found|does not exist|unknown sandbox/i, "not_found"],
    [/conflict|exists/, "already_exists"], [/[Pp]ermission denied|refused/, "permission_denied"]];
  const found = kinds.find(([pattern]) => pattern.test(text));
  return new errorClasses[found ? found[1] : "internal"](text);
}

export class Files {
  #place: () => Place;

  constructor(place: () => Place) {
    this.#place = place;
  }

  #call(path: string, options: Cancellable, more: Record<string, string | boolean | undefined> = {}): Call {
    const { id, owner } = this.#place();
    return { owner, path: { id }, query: { path: absolute(path), ...more }, signal: options.signal };
  }

  /** A file's bytes, or `length` of them from `offset` on. */
  async read(path: string, options: Cancellable & { offset?: number; length?: number } = {}): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    if (options.length === 0) return Buffer.alloc(0);
    try {
      for await (const piece of this.readStream(path, options)) pieces.push(piece);
    } catch (error) {
      if (error instanceof SandboxError && error.status === 416) return Buffer.alloc(0); // begins behind its end
      throw error;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  async readText(path: string, options: Cancellable = {}): Promise<string> {
    const bytes = await this.read(path, options);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  }

  /** A file in pieces, for large ones. */
  async *readStream(path: string, options: Cancellable & { offset?: number; length?: number } = {}):
      AsyncGenerator<Uint8Array, void, undefined> {
    const { offset = 0, length } = options;
    const headers: Record<string, string> = {};
    if (offset > 0 || length !== undefined) {
      headers.Range = `bytes=${offset}-${length === undefined ? "" : offset + length - 1}`;
    }
    const call = { ...this.#call(path, options), headers: { ...headers, Accept: "application/octet-stream, application/problem+json" },
      timeoutMs: Infinity };
    const { body } = await this.#place().client.transport.stream("readFile", call);
    yield* body;
  }

  /** Replaces a file at once, or not at all; makes its directories. */
  async write(path: string, content: Content, options: Cancellable & { mode?: number } = {}): Promise<void> {
    const body = typeof content === "string" ? Buffer.from(content) : content;
    const mode = options.mode === undefined ? undefined : `0${options.mode.toString(8)}`;
    await this.#place().client.transport.json("writeFile", { ...this.#call(path, options, { mode }), body,
      headers: { "Content-Type": "application/octet-stream" }, timeoutMs: Infinity });
  }

  async list(path = workspace, options: Cancellable & { recursive?: boolean } = {}): Promise<DirectoryEntry[]> {
    const found = await this.#directory(path, options, options.recursive ?? false);
    if (found.truncated) throw new TooLargeError(`${path} has more than ${found.entries.length} entries; list its directories`);
    return found.entries;
  }

  async #directory(path: string, options: Cancellable, recursive: boolean): Promise<Directory> {
    const answer = await this.#place().client.transport.json("listDirectory", this.#call(path, options, { recursive }));
    return fromWire("Directory", answer);
  }

  async makeDirectory(path: string, options: Cancellable = {}): Promise<void> {
    await this.#place().client.transport.json("makeDirectory", this.#call(path, options));
  }

  async remove(path: string, options: Cancellable & { recursive?: boolean } = {}): Promise<void> {
    const call = this.#call(path, options, { recursive: options.recursive ?? false });
    await this.#place().client.transport.json("removeFile", call);
  }

  async exists(path: string, options: Cancellable = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Kind, size, mode and time of one entry; a link counts by itself. */
  async stat(path: string, options: Cancellable = {}): Promise<DirectoryEntry> {
    const whole = posix.normalize(absolute(path)).replace(/\/+$/, "");
    if (whole === "") throw new InvalidArgumentError("the root directory has no entry of its own");
    const found = await this.#directory(posix.dirname(whole), options, false);
    const entry = found.entries.find((one) => one.path === posix.basename(whole));
    if (entry) return entry;
    if (found.truncated) throw new TooLargeError(`${posix.dirname(whole)} has more entries than one answer holds`);
    throw new NotFoundError(`${path}: no such file or directory`);
  }

  /** Copies a file or a directory of this machine in, as `nutshell cp` does. Gives notes on what was left out. */
  async upload(source: string, path: string, options: Cancellable = {}): Promise<string[]> {
    return this.#copy([resolve(source), `${this.#place().id}:${absolute(path)}`], options);
  }

  /**
   * Copies a file or a directory out. What a tool of this machine would run or trust by itself is left out and
   * named in the notes, unless it is named itself.
   */
  async download(path: string, target: string, options: Cancellable & { unsafeGit?: boolean } = {}): Promise<string[]> {
    const words = [`${this.#place().id}:${absolute(path)}`, resolve(target)];
    return this.#copy(options.unsafeGit ? ["--unsafe-git", ...words] : words, options);
  }

  async #copy(words: string[], options: Cancellable): Promise<string[]> {
    const place = this.#place();
    const done = await runNutshell(place, ["cp", ...words], options.signal);
    if (done.status !== 0) throw programError(done.notes);
    return done.notes;
  }

  /** Changes below a directory as they come. The API has no notifications, so it is listed again and again. */
  async *watch(path = workspace, options: Cancellable & { recursive?: boolean; intervalMs?: number } = {}):
      AsyncGenerator<FileEvent, void, undefined> {
    let before = await this.#look(path, options);
    while (!options.signal?.aborted) {
      await pause(options.intervalMs ?? 250, options.signal);
      if (options.signal?.aborted) return;
      const now = await this.#look(path, options);
      for (const [name, entry] of now) {
        const old = before.get(name);
        if (!old) yield { kind: "added", entry };
        else if (signature(old) !== signature(entry)) yield { kind: "modified", entry };
      }
      for (const [name, entry] of before) if (!now.has(name)) yield { kind: "removed", entry };
      before = now;
    }
  }

  async #look(path: string, options: Cancellable & { recursive?: boolean }): Promise<Map<string, DirectoryEntry>> {
    return new Map((await this.list(path, options)).map((entry) => [entry.path ?? "", entry]));
  }
}

function signature(entry: DirectoryEntry): string {
  // A directory's time changes with its entries, which are reported themselves.
  return JSON.stringify([entry.kind, entry.mode, entry.target, entry.kind === "directory" ? 0 : [entry.size, entry.modifiedNs]]);
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}
