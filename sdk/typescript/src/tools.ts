// The tools of a sandbox: as methods, and as schemas for models.
import type { Place } from "./exec.js";
import { type ToolAnswer, type ToolArguments, toolCatalogue, type ToolDescription, type ToolMethods } from "./generated.js";
import { InvalidArgumentError } from "./generated.js";
import { errorOf } from "./errors.js";
import { fromWire } from "./wire.js";

// A call may wait for a command as long as its time allows.
const longestCallMs = 3_700_000;

export interface ToolError {
  code: string;
  what: string;
  why: string;
  next: string;
}

/** Answer of a tool. `text` is what a model reads, also when the tool refused. */
export class ToolResult {
  readonly text: string;
  readonly isError: boolean;
  readonly error: ToolError | null;
  readonly outputId: string;
  readonly jobId: string;
  readonly undoId: string;
  readonly isCut: boolean;
  readonly tokens: number;
  readonly rawTokens: number;
  readonly auditId: number | null;
  /** How the command of `bash` or `git` ended. */
  readonly result: unknown;
  readonly fields: unknown;
  readonly image: unknown;

  constructor(answer: ToolAnswer) {
    this.text = answer.text;
    this.isError = answer.isError;
    this.error = (answer.error as ToolError | null | undefined) ?? null;
    this.outputId = answer.outputId ?? "";
    this.jobId = answer.jobId ?? "";
    this.undoId = answer.undoId ?? "";
    this.isCut = answer.isCut ?? false;
    this.tokens = answer.tokens ?? 0;
    this.rawTokens = answer.rawTokens ?? 0;
    this.auditId = answer.auditId ?? null;
    this.result = answer.result;
    this.fields = answer.fields;
    this.image = answer.image;
  }

  /** This answer, unless the tool refused. */
  check(): this {
    if (this.error) throw errorOf(this.error.code, [this.error.what, this.error.why, this.error.next].filter(Boolean).join("\n"));
    return this;
  }
}

export interface SchemaOptions {
  /** Only these tools. */
  only?: readonly string[];
  /** Only tools that change nothing. */
  readOnly?: boolean;
}

/** Descriptions of the tools, in the forms that models' APIs take. They need no daemon. */
export function toolDescriptions(options: SchemaOptions = {}): ToolDescription[] {
  const names = new Set(toolCatalogue.map((tool) => tool.name));
  const unknown = options.only?.find((name) => !names.has(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`there is no tool '${unknown}'`);
  return toolCatalogue.filter((tool) => (options.only?.includes(tool.name) ?? true) && (!options.readOnly || tool.readsOnly));
}

export interface OpenAITool {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
}
export interface OpenAIResponsesTool {
  type: "function";
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: false;
}
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
}
export interface GeminiTools {
  functionDeclarations: { name: string; description: string; parameters: Record<string, unknown> }[];
}

/** Gemini takes no `additionalProperties`. */
function withoutAdditional(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutAdditional);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "additionalProperties")
    .map(([key, value]) => [key, withoutAdditional(value)]));
}

class ToolCaller {
  #place: () => Place;

  constructor(place: () => Place) {
    this.#place = place;
  }

  /** Calls a tool by its name. `args` may be the JSON text that a model wrote. */
  async call(name: string, args: object | string = {}, options: { signal?: AbortSignal } = {}): Promise<ToolResult> {
    const place = this.#place();
    const call = { path: { id: place.id, tool: name }, json: argumentsOf(args), owner: place.owner,
      timeoutMs: longestCallMs, signal: options.signal };
    return new ToolResult(fromWire<ToolAnswer>("ToolResult", await place.client.transport.json("callTool", call)));
  }

  describe(options: SchemaOptions = {}): ToolDescription[] {
    return toolDescriptions(options);
  }

  /** For chat completions. */
  forOpenAI(options: SchemaOptions = {}): OpenAITool[] {
    return toolDescriptions(options).map(({ name, description, inputSchema }) =>
      ({ type: "function", function: { name, description, parameters: inputSchema } }));
  }

  /** For the Responses API. */
  forOpenAIResponses(options: SchemaOptions = {}): OpenAIResponsesTool[] {
    return toolDescriptions(options).map(({ name, description, inputSchema }) =>
      ({ type: "function", name, description, parameters: inputSchema, strict: false }));
  }

  forAnthropic(options: SchemaOptions = {}): AnthropicTool[] {
    return toolDescriptions(options).map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
  }

  forGemini(options: SchemaOptions = {}): GeminiTools[] {
    return [{ functionDeclarations: toolDescriptions(options).map(({ name, description, inputSchema }) =>
      ({ name, description, parameters: withoutAdditional(inputSchema) as Record<string, unknown> })) }];
  }
}

function argumentsOf(args: object | string): object {
  if (typeof args !== "string") return args;
  let parsed: unknown;
  try {
    parsed = JSON.parse(args === "" ? "{}" : args);
  } catch (cause) {
    throw new InvalidArgumentError("the arguments of the tool are no JSON", { cause });
  }
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new InvalidArgumentError("the arguments of the tool are no JSON object");
}

export type Tools = ToolCaller & ToolMethods<ToolResult>;
type Methods = { [Name in keyof ToolArguments]: (args?: ToolArguments[Name], options?: { signal?: AbortSignal }) => Promise<ToolResult> };

for (const { name } of toolCatalogue) {
  const method = function (this: ToolCaller, args: object = {}, options: { signal?: AbortSignal } = {}): Promise<ToolResult> {
    return this.call(name, args, options);
  };
  (ToolCaller.prototype as unknown as Methods)[name as keyof ToolArguments] = method;
}

export function makeTools(place: () => Place): Tools {
  return new ToolCaller(place) as Tools;
}
