// Mastra: the tools of a sandbox, and a sandbox for a Workspace.
import { createTool, type Tool } from "@mastra/core/tools";
import { type CommandResult, type ExecuteCommandOptions, MastraSandbox, type ProviderStatus,
  type SandboxFileInput } from "@mastra/core/workspace";
import { type CreateOptions, Sandbox } from "../sandbox.js";
import { type SchemaOptions, toolDescriptions } from "../tools.js";

/** Tools for an Agent. A refusal is text that the model reads, not an exception. */
export function nutshellTools(sandbox: Sandbox, options: SchemaOptions = {}): Record<string, Tool<any, any>> {
  const tools: Record<string, Tool<any, any>> = {};
  for (const { name, description, inputSchema } of toolDescriptions(options)) {
    tools[name] = createTool({
      id: name,
      description,
      inputSchema: inputSchema as any,
      execute: async (args: any, context: any): Promise<string> => {
        const signal: AbortSignal | undefined = context?.abortSignal;
        return (await sandbox.tools.call(name, args as object, signal ? { signal } : {})).text;
      },
    });
  }
  return tools;
}

/** A sandbox of a Workspace: `new Workspace({ sandbox: new NutshellSandbox() })`. Made at its start. */
export class NutshellSandbox extends MastraSandbox {
  override readonly id: string;
  override readonly name: string = "NutshellSandbox";
  override readonly provider: string = "nutshell";
  override status: ProviderStatus = "pending";
  #options: CreateOptions;
  #sandbox: Promise<Sandbox> | undefined;

  constructor(options: CreateOptions & { id?: string } = {}) {
    super({ name: "NutshellSandbox" });
    const { id, ...create } = options;
    this.id = id ?? `nutshell-${Math.random().toString(36).slice(2)}`;
    this.#options = create;
  }

  /** The sandbox itself. */
  sandbox(): Promise<Sandbox> {
    if (this.#sandbox) return this.#sandbox;
    const made = Sandbox.create(this.#options);
    made.catch(() => (this.#sandbox = undefined)); // the next call tries again
    return (this.#sandbox = made);
  }

  async start(): Promise<void> {
    await this.sandbox();
    this.status = "running";
  }

  async stop(): Promise<void> {
    const made = this.#sandbox;
    this.#sandbox = undefined;
    await (await made?.catch(() => undefined))?.close();
    this.status = "stopped";
  }

  async destroy(): Promise<void> {
    await this.stop();
    this.status = "destroyed";
  }

  async executeCommand(command: string, args?: string[], options: ExecuteCommandOptions = {}): Promise<CommandResult> {
    const { timeout, env, cwd, onStdout, onStderr, abortSignal } = options;
    const environment = env && Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
    // Without arguments the command is text for a shell.
    const result = await (await this.sandbox()).run(args && args.length > 0 ? [command, ...args] : command, {
      ...(timeout !== undefined && { timeoutMs: timeout }), ...(environment && { environment }),
      ...(cwd !== undefined && { workingDirectory: cwd }), ...(abortSignal && { signal: abortSignal }),
      ...(onStdout && { onStdout: (text: string) => onStdout(text) }), ...(onStderr && { onStderr: (text: string) => onStderr(text) }),
    });
    const timedOut = result.outcome === "timed_out";
    return { success: result.ok, exitCode: result.exitCode ?? (timedOut ? 124 : 128 + (result.signal ?? 9)), stdout: result.stdout,
      stderr: result.stderr, executionTimeMs: result.durationMs, timedOut, killed: result.signal !== null || timedOut,
      stdoutTruncated: result.stdoutTruncated, stderrTruncated: result.stderrTruncated, command, ...(args && { args }) };
  }

  async writeFiles(files: SandboxFileInput[]): Promise<void> {
    const sandbox = await this.sandbox();
    for (const { path, content, mode } of files) {
      await sandbox.files.write(path, content, mode === undefined ? {} : { mode });
    }
  }

  getInstructions(): string {
    const reach = this.#options.network ? "what its network policy allows" : "no network";
    return `Commands run in an isolated Linux sandbox that reaches ${reach}. Files are in /workspace.`;
  }
}
