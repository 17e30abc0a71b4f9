// Ends sandboxes that nobody closed: when their object is collected, and when the program ends. Silent, because
// nobody is there to be told of a failure.
import { spawn } from "node:child_process";
import type { Client } from "./client.js";
import { environmentOf } from "./daemon.js";
import { findProgram } from "./programs.js";

export interface Left {
  client: Client;
  id: string;
  how: "destroySandbox" | "release";
}

const open = new Map<WeakRef<object>, Left>();
const references = new WeakMap<object, WeakRef<object>>();

let watchesExit = false;
let watchesInterrupt = false;

const collected = new FinalizationRegistry<WeakRef<object>>((reference) => {
  const left = open.get(reference);
  drop(reference);
  if (left) void end(left);
});

function drop(reference: WeakRef<object>): void {
  open.delete(reference);
  if (open.size === 0 && watchesInterrupt) {
    watchesInterrupt = false;
    process.off("SIGINT", onInterrupt);
  }
}

async function end({ client, id, how }: Left): Promise<void> {
  await client.transport.json(how, { path: { id } }).catch(() => undefined);
}

/** Notes that the sandbox ends with its object. */
export function leave(owner: object, left: Left): void {
  const reference = new WeakRef(owner);
  if (!watchesExit) {
    watchesExit = true;
    process.once("beforeExit", endQuietly);
    process.once("exit", endAll);
  }
  if (!watchesInterrupt && !left.client.transport.lastTarget?.isPrivate) {
    watchesInterrupt = true;
    process.on("SIGINT", onInterrupt);
  }
  open.set(reference, left);
  references.set(owner, reference);
  collected.register(owner, reference, owner);
}

/** Notes that the sandbox has ended, or lives on. */
export function forget(owner: object): void {
  const reference = references.get(owner);
  if (reference) drop(reference);
  collected.unregister(owner);
}

/** At the end of the program's work, while the daemon can still be called. */
function endQuietly(): void {
  const left = [...open.values()];
  open.clear();
  for (const one of left) void end(one);
}

/** Ctrl-C ends Node without its "exit". Unless the program has a handler of its own, the sandboxes are ended first. */
function onInterrupt(): void {
  if (process.listenerCount("SIGINT") > 1) return;
  endAll();
  process.off("SIGINT", onInterrupt);
  process.kill(process.pid, "SIGINT");
}

/** At the end of the process only a process of its own can still talk to the daemon. A private one ends by itself. */
function endAll(): void {
  const byClient = new Map<Client, string[]>();
  for (const { client, id } of open.values()) byClient.set(client, [...(byClient.get(client) ?? []), id]);
  for (const [client, ids] of byClient) {
    const target = client.transport.lastTarget;
    if (!target || target.isPrivate) continue;
    try {
      spawn(findProgram("nutshell"), ["destroy", ...ids], { env: environmentOf(target), stdio: "ignore", detached: true }).unref();
    } catch {
      // Without the program they live as long as their ttl.
    }
  }
}
