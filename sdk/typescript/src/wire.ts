// Converts between the API's JSON, in snake_case, and the objects of this package, in camelCase. Keys of maps
// (labels, variables) stay as they are.
import { InvalidArgumentError, type ShapeName, shapes } from "./generated.js";

type Members = Record<string, string>;

const camelNames = new Map<string, string>();

function camel(name: string): string {
  let found = camelNames.get(name);
  if (found === undefined) {
    found = name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(name, found);
  }
  return found;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Converts an answer. Members that this version does not know keep their names. */
export function fromWire<T>(shape: ShapeName, value: unknown): T {
  if (Array.isArray(value)) return value.map((one) => fromWire(shape, one)) as T;
  if (!isObject(value)) return value as T;
  const members: Members = shapes[shape];
  const made: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const kind = Object.hasOwn(members, key) ? members[key] : "=";
    made[camel(key)] = kind && kind !== "=" ? fromWire(kind as ShapeName, member) : member;
  }
  return made as T;
}

/** Converts a request. A name that the API does not know is an error here, before anything is sent. */
export function toWire(shape: ShapeName, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => toWire(shape, one));
  if (!isObject(value)) return value;
  const members: Members = shapes[shape];
  const left = new Set(Object.keys(value).filter((key) => value[key] !== undefined));
  const made: Record<string, unknown> = {};
  for (const [key, kind] of Object.entries(members)) {
    const name = camel(key);
    if (!left.delete(name)) continue;
    made[key] = kind && kind !== "=" ? toWire(kind as ShapeName, value[name]) : value[name];
  }
  const [unknown] = left;
  if (unknown === undefined) return made;
  throw new InvalidArgumentError(
    `unknown option '${unknown}'; known are ${Object.keys(members).map(camel).join(", ")}`);
}

/** Reads a size: a number of bytes, or "512m", "1g". */
export function bytesOf(size: number | string, name: string): number {
  const found = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(String(size).trim());
  const power = found ? ["", "k", "m", "g", "t"].indexOf(found[2]!.toLowerCase()) : -1;
  const bytes = found ? Math.round(Number(found[1]) * 1024 ** power) : NaN;
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError(`${name} must be a number of bytes or a text like "512m", not ${JSON.stringify(size)}`);
}
