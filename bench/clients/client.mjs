// For each line that comes, runs a command and answers how many microseconds it took.
import { createInterface } from "node:readline";
const { Sandbox } = await import(process.argv[2]);

const sandbox = await Sandbox.create({ ttlMs: 3_600_000 });
for await (const _ of createInterface({ input: process.stdin })) {
  const began = process.hrtime.bigint();
  (await sandbox.run(["/bin/true"])).check();
  process.stdout.write(`${Number(process.hrtime.bigint() - began) / 1000}\n`);
}
await sandbox.close();
