// Vercel AI SDK: the tools of a sandbox, and a sandbox as its `experimental_sandbox`.
import { jsonSchema, type ToolSet } from "ai";
import { NotFoundError, UnsupportedError } from "../generated.js";
import type { Command, ExecOptions } from "../exec.js";
import { Sandbox } from "../sandbox.js";
import { type SchemaOptions, toolDescriptions, type ToolResult } from "../tools.js";

/** Tools for `generateText`, `streamText` and agents. A refusal is text that the model reads, not an exception. */
export function nutshellTools(sandbox: Sandbox, options: SchemaOptions = {}): ToolSet {
  const set: Record<string, unknown> = {};
  for (const { name, description, inputSchema } of toolDescriptions(options)) {
    set[name] = {
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: async (args: object, { abortSignal }: { abortSignal?: AbortSignal } = {}): Promise<string> =>
        (await callOf(sandbox, name, args, abortSignal)).text,
    };
  }
  return set as ToolSet;
}

function callOf(sandbox: Sandbox, name: string, args: object, signal?: AbortSignal): Promise<ToolResult> {
  return sandbox.tools.call(name, args, signal ? { signal } : {});
}

interface ProcessOptions {
  command: string;
  workingDirectory?: string;
  env?: Record<string, string>;
  abortSignal?: AbortSignal;
}

interface PathOptions {
  path: string;
  abortSignal?: AbortSignal;
}

type Kind = "file" | "directory" | "symlink" | "other";
const kinds = new Map<string, Kind>([["file", "file"], ["directory", "directory"], ["link", "symlink"]]);

/** A sandbox as the AI SDK 7 wants one: `generateText({ experimental_sandbox: new NutshellSession(sandbox) })`. */
export class NutshellSession {
  readonly description: string;
  readonly sandbox: Sandbox;

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
    const { mode = "none", allow = [] } = sandbox.info.network ?? {};
    const reach = mode === "none" && allow.length === 0 ? "There is no network." : "It reaches what its network policy allows.";
    this.description = `An isolated Linux sandbox. Files are in /workspace. ${reach}`;
  }

  #terms(options: ProcessOptions): [Command, ExecOptions] {
    const { command, workingDirectory, env, abortSignal } = options;
    return [command, { ...(workingDirectory !== undefined && { workingDirectory }), ...(env && { environment: env }),
      ...(abortSignal && { signal: abortSignal }) }];
  }

  run = async (options: ProcessOptions): Promise<{ exitCode: number; stdout: string; stderr: string }> => {
    const result = await this.sandbox.run(...this.#terms(options));
    return { exitCode: exitCodeOf(result), stdout: result.stdout, stderr: result.stderr };
  };

  spawn = async (options: ProcessOptions & { stdin?: boolean }): Promise<any> => {
    if (options.stdin) throw new UnsupportedError("a spawned command takes no input; write a file, or use Sandbox.terminal()");
    const [command, terms] = this.#terms(options);
    const job = await this.sandbox.start(command, { timeoutMs: 3_600_000, ...terms });
    const execution = job.follow(terms.signal ? { signal: terms.signal } : {});
    const streams: { [name: string]: ReadableStreamDefaultController<Uint8Array> } = {};
    const open = (name: string): ReadableStream<Uint8Array> =>
      new ReadableStream<Uint8Array>({ start: (controller) => void (streams[name] = controller) });
    const [stdout, stderr] = [open("stdout"), open("stderr")];
    const stop = (): void => void job.kill().catch(() => undefined);
    terms.signal?.addEventListener("abort", stop, { once: true });
    const done = (async () => {
      for await (const { stream, data } of execution) streams[stream]!.enqueue(data);
      for (const controller of Object.values(streams)) controller.close();
      return { exitCode: exitCodeOf(await execution.result()) };
    })();
    done.finally(() => terms.signal?.removeEventListener("abort", stop)).catch((error) => {
      for (const controller of Object.values(streams)) controller.error(error);
    });
    return { stdout, stderr, wait: () => done, kill: () => job.kill() };
  };

  readFile = async (options: PathOptions): Promise<ReadableStream<Uint8Array> | null> => {
    const bytes = await this.readBinaryFile(options);
    return bytes && new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
  };

  readBinaryFile = ({ path, abortSignal }: PathOptions): Promise<Uint8Array | null> =>
    orNull(this.sandbox.files.read(path, signalOf(abortSignal)));

  readTextFile = async (options: PathOptions & { encoding?: string; startLine?: number; endLine?: number }): Promise<string | null> => {
    const bytes = await this.readBinaryFile(options);
    if (!bytes) return null;
    const text = new TextDecoder(options.encoding ?? "utf-8").decode(bytes);
    if (options.startLine === undefined && options.endLine === undefined) return text;
    return text.split("\n").slice((options.startLine ?? 1) - 1, options.endLine).join("\n");
  };

  writeFile = async ({ path, content, abortSignal }: PathOptions & { content: ReadableStream<Uint8Array> }): Promise<void> =>
    this.sandbox.files.write(path, content as unknown as AsyncIterable<Uint8Array>, signalOf(abortSignal));

  writeBinaryFile = async ({ path, content, abortSignal }: PathOptions & { content: Uint8Array }): Promise<void> =>
    this.sandbox.files.write(path, content, signalOf(abortSignal));

  writeTextFile = async ({ path, content, encoding, abortSignal }: PathOptions & { content: string; encoding?: string }): Promise<void> =>
    this.sandbox.files.write(path, Buffer.from(content, encoding as BufferEncoding | undefined), signalOf(abortSignal));

  stat = async ({ path, abortSignal }: PathOptions): Promise<{ type: "file" | "directory" | "other"; size: number } | null> => {
    const done = await this.sandbox.run(["stat", "-L", "-c", "%F\t%s", "--", path], signalOf(abortSignal));
    if (done.exitCode !== 0) return null;
    const [kind = "", size = "0"] = done.stdout.trim().split("\t");
    const type = kind.startsWith("regular") ? "file" : kind === "directory" ? "directory" : "other";
    return { type, size: Number(size) };
  };

  listDirectory = async ({ path, abortSignal }: PathOptions): Promise<{ name: string; type: Kind }[] | null> => {
    const entries = await orNull(this.sandbox.files.list(path, signalOf(abortSignal)));
    return entries && entries.map(({ path: name = "", kind }) =>
      ({ name, type: kinds.get(kind ?? "") ?? "other" }));
  };

  deleteFile = async ({ path, abortSignal }: PathOptions): Promise<boolean> =>
    (await orNull(this.sandbox.files.remove(path, signalOf(abortSignal)).then(() => true))) ?? false;
}

function signalOf(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

/** As a shell tells it: 124 after a timeout, 128 and the signal's number for a killed command. */
function exitCodeOf(result: { exitCode: number | null; signal: number | null; outcome: string }): number {
  return result.exitCode ?? (result.outcome === "timed_out" ? 124 : 128 + (result.signal ?? 9));
}

async function orNull<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
