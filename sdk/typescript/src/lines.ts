// Lines of JSON, as a daemon streams them.
import { CorruptError } from "./generated.js";

const mostLineBytes = 256 << 20;

export async function* objectsOf(body: AsyncIterable<Buffer>): AsyncGenerator<object, void, undefined> {
  let held: Buffer[] = [];
  let size = 0;
  for await (let piece of body) {
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10)) {
      const line = Buffer.concat([...held, piece.subarray(0, end)]).toString();
      [held, size] = [[], 0];
      piece = piece.subarray(end + 1);
      yield parse(line);
    }
    if (piece.length === 0) continue;
    held.push(piece);
    if ((size += piece.length) > mostLineBytes) throw new CorruptError("the daemon sent a line without end");
  }
}

function parse(line: string): object {
  let object: unknown;
  try {
    object = JSON.parse(line);
  } catch (cause) {
    throw new CorruptError("the daemon sent a line that is no JSON", { cause });
  }
  if (typeof object === "object" && object !== null) return object;
  throw new CorruptError("the daemon sent a line that is no object");
}
