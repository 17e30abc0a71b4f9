import { type ExecEnd } from "./generated.js";
import { CommandFailedError } from "./errors.js";
import { fromWire } from "./wire.js";

const endings = new Map([["timed_out", "timed out"], ["out_of_memory", "out of memory"], ["output_limit", "too much output"]]);

/** Outcome of a command. A command that fails is a result, not an error; see `check()`. */
export class ExecResult {
  /** `exited`, `signalled`, `timed_out`, `out_of_memory`, `output_limit`, `cancelled` or `lost`. */
  readonly outcome: string;
  readonly exitCode: number | null;
  readonly signal: number | null;
  /** Output as text; bytes that are not UTF-8 are U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutRaw: Uint8Array;
  readonly stderrRaw: Uint8Array;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  readonly durationMs: number;
  readonly cpuTimeMs: number;
  readonly peakMemoryBytes: number;
  /** Number of its record; see `Sandbox.history()`. */
  readonly auditId: number | null;
  /** One line more, where there is more to say. */
  readonly detail: string;
  /** Answer to the option `trace`. */
  readonly trace: unknown;

  constructor(end: ExecEnd, stdoutRaw: Uint8Array, stderrRaw: Uint8Array) {
    this.outcome = end.outcome;
    this.exitCode = end.exitCode ?? null;
    this.signal = end.signal ?? null;
    this.stdoutRaw = stdoutRaw;
    this.stderrRaw = stderrRaw;
    this.stdout = Buffer.from(stdoutRaw.buffer, stdoutRaw.byteOffset, stdoutRaw.length).toString();
    this.stderr = Buffer.from(stderrRaw.buffer, stderrRaw.byteOffset, stderrRaw.length).toString();
    this.stdoutTruncated = end.stdoutTruncated ?? false;
    this.stderrTruncated = end.stderrTruncated ?? false;
    this.durationMs = end.durationMs ?? 0;
    this.cpuTimeMs = end.cpuTimeMs ?? 0;
    this.peakMemoryBytes = end.peakMemoryBytes ?? 0;
    this.auditId = end.auditId ?? null;
    this.detail = end.detail ?? "";
    this.trace = end.trace;
  }

  /** It exited with 0. */
  get ok(): boolean {
    return this.outcome === "exited" && this.exitCode === 0;
  }

  /** Text for a model: the output, and how the command ended unless with 0. */
  get text(): string {
    const parts = [this.stdout, this.stderr].filter((part) => part !== "").map((part) => part.replace(/\n+$/, ""));
    return (this.ok ? parts : [...parts, `[${this.ending}]`]).join("\n");
  }

  /** How the command ended, in words. */
  get ending(): string {
    if (this.outcome === "exited") return `exit ${this.exitCode}`;
    if (this.outcome === "signalled") return `signal ${this.signal}`;
    const words = endings.get(this.outcome) ?? this.outcome;
    return this.detail ? `${words}: ${this.detail}` : words;
  }

  /** This result, if the command exited with 0. */
  check(): this {
    if (!this.ok) throw new CommandFailedError(this);
    return this;
  }
}

function bytes(text: string | undefined, base64: string | undefined): Uint8Array {
  return base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");
}

/** Makes a result of the API's answer. */
export function resultOf(answer: unknown): ExecResult {
  const end = fromWire<ExecEnd>("ExecResult", answer);
  return new ExecResult(end, bytes(end.stdout, end.stdoutBase64), bytes(end.stderr, end.stderrBase64));
}

/** Makes a result of an answer without output, and of output that came before. */
export function resultWith(answer: unknown, stdout: Uint8Array[], stderr: Uint8Array[]): ExecResult {
  return new ExecResult(fromWire<ExecEnd>("ExecResult", answer), Buffer.concat(stdout), Buffer.concat(stderr));
}
