// Finds the programs of Nutshell on this machine, and runs them.
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { CancelledError, UnavailableError } from "./generated.js";
import { here } from "./here.js";

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function packagedDirectory(): string[] {
  const name = `@nutshell/sandbox-${process.platform}-${process.arch}`;
  try {
    return [join(dirname(createRequire(here).resolve(`${name}/package.json`)), "bin")];
  } catch {
    return []; // the optional package of this platform is not installed
  }
}

/** Looks in `$NUTSHELL_BIN`, in the package of this platform, and in `$PATH`, in this order. */
export function findProgram(name: string): string {
  const named = process.env.NUTSHELL_BIN;
  // The name may be that of one of the programs, too.
  const isFile = named !== undefined && statSync(named, { throwIfNoEntry: false })?.isFile();
  const places = named ? [isFile ? dirname(named) : named] : [...packagedDirectory(), ...(process.env.PATH ?? "").split(delimiter)];
  for (const place of places) {
    if (place && isProgram(join(place, name))) return join(place, name);
  }
  throw new UnavailableError(
    `the program ${name} is neither in ${named ? `NUTSHELL_BIN (${named})` : "a package for this platform nor in PATH"}. ` +
    "Install Nutshell, or name a daemon with NUTSHELL_DAEMON");
}

/** Runs a program to its end. A cancelled one is killed. */
export function runProgram(program: string, words: string[], env: NodeJS.ProcessEnv, signal?: AbortSignal):
    Promise<{ status: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new CancelledError("cancelled", { cause: signal.reason }));
    const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "pipe"] });
    const pieces: [Buffer[], Buffer[]] = [[], []];
    const stop = (): void => void child.kill("SIGTERM");
    signal?.addEventListener("abort", stop, { once: true });
    child.stdout.on("data", (bytes: Buffer) => pieces[0].push(bytes));
    child.stderr.on("data", (bytes: Buffer) => pieces[1].push(bytes));
    const leave = (): void => signal?.removeEventListener("abort", stop);
    child.on("error", leave).on("error", (cause) => reject(new UnavailableError(`cannot run ${program}: ${cause.message}`, { cause })));
    child.on("close", (status) => {
      leave();
      if (signal?.aborted) return reject(new CancelledError("cancelled", { cause: signal.reason }));
      const [stdout, stderr] = pieces.map((all) => Buffer.concat(all).toString()) as [string, string];
      resolve({ status, stdout, stderr });
    });
  });
}
