const retryableCodes = new Set(["resource_exhausted", "deadline_exceeded", "unavailable"]);

/** Base of every error that this package throws. `code` is a stable word; see docs/daemon.md, "The API". */
export class SandboxError extends Error {
  /** `not_found`, `unavailable`, … or one of this package's own: `closed`, `command_failed`. */
  readonly code: string;
  /** HTTP status, if the daemon answered. */
  readonly status: number | undefined;

  /** The same call may succeed later. */
  get retryable(): boolean {
    return retryableCodes.has(this.code);
  }

  constructor(code: string, message: string, more: { status?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = more.status;
  }
}

/** An object was used after it was closed. */
export class ClosedError extends SandboxError {
  constructor(what: string) {
    super("closed", `${what} was closed`);
  }
}
