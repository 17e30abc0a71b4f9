import * as generated from "./generated.js";
import { SandboxError } from "./sandbox_error.js";
import type { ExecResult } from "./result.js";

export { ClosedError, SandboxError } from "./sandbox_error.js";

/** A command did not exit with 0, and `check` asked for that. */
export class CommandFailedError extends SandboxError {
  readonly result: ExecResult;

  constructor(result: ExecResult) {
    const last = (result.stderr || result.stdout).trim().slice(-300);
    super("command_failed", `the command failed (${result.ending})${last ? `: ${last}` : ""}`);
    this.result = result;
  }
}

/** Makes the error of the class that belongs to this code. Codes of later daemons get the base class. */
export function errorOf(code: string, message: string, more: { status?: number; cause?: unknown } = {}): SandboxError {
  const known = Object.hasOwn(generated.errorClasses, code)
    ? generated.errorClasses[code as generated.ErrorCode] : undefined;
  return known ? new known(message, more) : new SandboxError(code, message, more);
}
