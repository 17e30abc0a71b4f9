// Converts between the API's JSON, in snake_case, and the objects of this package, in camelCase. Keys of maps
// (labels, variables) stay as they are.
import { InvalidArgumentError, type ShapeName, shapes } from "./generated.js";

function camel(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Rename {
  name: string;
  kind: string;
}

interface Renames {
  /** By the API's names, and by this package's. */
  from: Map<string, Rename>;
  to: Map<string, Rename>;
}

const known = new Map<ShapeName, Renames>();

function renamesOf(shape: ShapeName): Renames {
  let found = known.get(shape);
  if (found === undefined) {
    found = { from: new Map(), to: new Map() };
    for (const [key, kind] of Object.entries(shapes[shape] as Record<string, string>)) {
      found.from.set(key, { name: camel(key), kind });
      found.to.set(camel(key), { name: key, kind });
    }
    known.set(shape, found);
  }
  return found;
}

/** Converts an answer. Members that this version does not know are kept, in camelCase. */
export function fromWire<T>(shape: ShapeName, value: unknown): T {
  if (Array.isArray(value)) return value.map((one) => fromWire(shape, one)) as T;
  if (!isObject(value)) return value as T;
  const { from } = renamesOf(shape);
  const made: Record<string, unknown> = {};
  for (const key in value) {
    const rename = from.get(key);
    const kind = rename?.kind ?? "=";
    made[rename?.name ?? camel(key)] = kind && kind !== "=" ? fromWire(kind as ShapeName, value[key]) : value[key];
  }
  return made as T;
}

/** Converts a request. A name that the API does not know is an error here, before anything is sent. */
export function toWire(shape: ShapeName, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => toWire(shape, one));
  if (!isObject(value)) return value;
  const { to } = renamesOf(shape);
  const made: Record<string, unknown> = {};
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const rename = to.get(name);
    if (!rename) throw new InvalidArgumentError(`unknown option '${name}'; known are ${[...to.keys()].join(", ")}`);
    made[rename.name] = rename.kind && rename.kind !== "=" ? toWire(rename.kind as ShapeName, member) : member;
  }
  return made;
}

/** Reads a size: a number of bytes, or "512m", "1g". */
export function bytesOf(size: number | string, name: string): number {
  const found = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(String(size).trim());
  const power = found ? ["", "k", "m", "g", "t"].indexOf(found[2]!.toLowerCase()) : -1;
  const bytes = found ? Math.round(Number(found[1]) * 1024 ** power) : NaN;
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError(`${name} must be a number of bytes or a text like "512m", not ${JSON.stringify(size)}`);
}
