// Chooses the daemon: the named one, the user's own, or a private one that ends with this process.
import { spawn } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { connect, isIP } from "node:net";
import { join } from "node:path";
import { InvalidArgumentError, PermissionDeniedError, UnavailableError } from "./generated.js";
import { findProgram } from "./programs.js";

const startMs = 60_000;
const mostLogBytes = 4096;

export interface DaemonOptions {
  /** A Unix socket, `https://host:port`, or "private" for a daemon of this process. Default: `NUTSHELL_DAEMON`, then your own. */
  daemon?: string;
  /** Bearer token of a named daemon. Default: `NUTSHELL_TOKEN`, or the file that `NUTSHELL_TOKEN_FILE` names. */
  token?: string;
  /** PEM file of the certificate authority to trust. Default: `NUTSHELL_DAEMON_CA`, then Node's. */
  ca?: string;
  /** PEM files of a client certificate and its key. Default: `NUTSHELL_DAEMON_CERT` and `NUTSHELL_DAEMON_KEY`. */
  cert?: string;
  key?: string;
}

export interface Target {
  /** Unix socket; with none, `url` counts. */
  socket?: string;
  url?: URL;
  token?: string;
  /** PEM files. */
  ca?: string;
  cert?: string;
  key?: string;
  /** It ends with this process. */
  isPrivate?: boolean;
}

function tokenOf(options: DaemonOptions): string | undefined {
  let token = options.token ?? process.env.NUTSHELL_TOKEN;
  if (!token && process.env.NUTSHELL_TOKEN_FILE) token = readFileSync(process.env.NUTSHELL_TOKEN_FILE, "utf8");
  token = token?.replace(/[\r\n]+$/, "");
  if (token && /[^\x21-\x7e]/.test(token)) {
    throw new InvalidArgumentError("the token has more than one word or line, or is not ASCII");
  }
  return token || undefined;
}

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  return bare === "localhost" || bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127."));
}

function named(address: string, options: DaemonOptions): Target {
  const token = tokenOf(options);
  const auth = token === undefined ? {} : { token };
  if (!/^[a-z][a-z0-9+.-]*:/i.test(address)) return { socket: address, ...auth };
  if (address.startsWith("unix://")) return { socket: address.slice(7), ...auth };
  let url: URL;
  try {
    url = new URL(address);
  } catch (cause) {
    throw new InvalidArgumentError(`the daemon's address ${JSON.stringify(address)} is no URL`, { cause });
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    throw new InvalidArgumentError(
      `the daemon's address must be a Unix socket or https://HOST:PORT, not ${url.protocol}//${url.host}; ` +
      "http:// is only for addresses of this machine");
  }
  const ca = options.ca ?? process.env.NUTSHELL_DAEMON_CA;
  const cert = options.cert ?? process.env.NUTSHELL_DAEMON_CERT;
  const key = options.key ?? process.env.NUTSHELL_DAEMON_KEY;
  return { url, ...auth, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

/** Directory of the user's own daemon, as the programs choose it. */
function runtimeDirectory(): string {
  const chosen = process.env.NUTSHELL_RUNTIME_DIR;
  if (chosen?.startsWith("/")) return chosen;
  const user = process.geteuid!();
  if (user === 0) return "/run/nutshell";
  const session = process.env.XDG_RUNTIME_DIR;
  if (session?.startsWith("/") && lstatSync(session, { throwIfNoEntry: false })?.uid === user) {
    return join(session, "nutshell");
  }
  return `/tmp/nutshell-${user}`;
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socket);
    const done = (is: boolean) => () => {
      probe.destroy();
      resolve(is);
    };
    probe.once("connect", done(true)).once("error", done(false));
  });
}

/** The user's own daemon, if one runs. A directory that another user can write to is refused. */
async function own(): Promise<Target | undefined> {
  const directory = runtimeDirectory();
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (!found) return undefined;
  if (!found.isDirectory() || found.uid !== process.geteuid!() || (found.mode & 0o077) !== 0) {
    throw new PermissionDeniedError(
      `${directory} is not a directory that only you can use: remove it, or name another with NUTSHELL_RUNTIME_DIR`);
  }
  const socket = join(directory, "nutshelld.sock");
  return (await answers(socket)) ? { socket } : undefined;
}

function startPrivate(): Promise<Target> {
  const program = findProgram("nutshelld");
  return new Promise((resolve, reject) => {
    // A session of its own: Ctrl-C at the terminal reaches this process first, whose end ends the daemon.
    const child = spawn(program, ["--private"], { stdio: ["ignore", "pipe", "pipe"], detached: true,
      env: { ...process.env, NUTSHELL_DAEMON: undefined, NUTSHELL_TOKEN: undefined, NUTSHELL_TOKEN_FILE: undefined } });
    let log = "";
    let line = "";
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new UnavailableError(`${program} does not start: ${why}${log && `: ${log.trim()}`}`));
    };
    const timer = setTimeout(() => fail(`no socket within ${startMs / 1000} s`), startMs);
    child.on("error", (error) => fail(error.message));
    child.on("exit", (status, signal) => fail(`it ended with ${signal ?? status}`));
    child.stderr.on("data", (bytes: Buffer) => (log = (log + bytes.toString()).slice(-mostLogBytes)));
    child.stdout.on("data", (bytes: Buffer) => {
      if (line.includes("\n")) return;
      line += bytes.toString();
      if (!line.includes("\n")) return;
      clearTimeout(timer);
      child.removeAllListeners("exit");
      child.removeAllListeners("error").on("error", () => undefined);
      for (const part of [child, child.stdout, child.stderr]) (part as unknown as { unref?: () => void }).unref?.();
      resolve({ socket: line.split("\n")[0]!, isPrivate: true });
    });
  });
}

let privateDaemon: Promise<Target> | undefined;

/** One private daemon serves all clients of this process. A dead one is replaced. */
async function sharedPrivate(): Promise<Target> {
  const known = privateDaemon;
  if (known) {
    const target = await known.catch(() => undefined);
    if (target && (await answers(target.socket!))) return target;
    if (privateDaemon === known) privateDaemon = undefined;
  }
  privateDaemon ??= startPrivate();
  return privateDaemon;
}

function addressOf({ socket, url }: Target): string {
  if (socket !== undefined) return socket;
  return `${url!.protocol}//${url!.hostname}:${url!.port || (url!.protocol === "https:" ? 443 : 80)}`;
}

/** Variables that make the program `nutshell` use this daemon. */
export function environmentOf(target: Target): NodeJS.ProcessEnv {
  const { token, ca, cert, key } = target;
  return { ...process.env, NUTSHELL_DAEMON: addressOf(target), NUTSHELL_TOKEN: token, NUTSHELL_TOKEN_FILE: undefined,
    NUTSHELL_DAEMON_CA: ca, NUTSHELL_DAEMON_CERT: cert, NUTSHELL_DAEMON_KEY: key };
}

export async function chooseTarget(options: DaemonOptions): Promise<Target> {
  const address = options.daemon ?? process.env.NUTSHELL_DAEMON ?? "";
  const isPrivate = address === "none" || address === "private";
  if (address && !isPrivate) return named(address, options);
  return (!isPrivate && (await own())) || sharedPrivate();
}
