// The parts of optional packages that the adapters use, so that this package builds without them. Programs that
// use an adapter see the packages' own types.
declare module "ai" {
  export type ToolSet = Record<string, unknown>;
  export function jsonSchema(schema: unknown): unknown;
}

declare module "@mastra/core/tools" {
  export class Tool<In = unknown, Out = unknown> {
    inputSchema?: In;
    outputSchema?: Out;
  }
  export function createTool(options: unknown): Tool<any, any>;
}

declare module "@mastra/core/workspace" {
  export type ProviderStatus = "pending" | "starting" | "running" | "stopping" | "stopped" | "destroying" | "destroyed" | "error";
  export interface ExecuteCommandOptions {
    timeout?: number;
    env?: NodeJS.ProcessEnv;
    cwd?: string;
    onStdout?: (data: string) => void;
    onStderr?: (data: string) => void;
    abortSignal?: AbortSignal;
  }
  export interface CommandResult {
    success: boolean;
    exitCode: number;
    stdout: string;
    stderr: string;
    executionTimeMs: number;
    timedOut?: boolean;
    killed?: boolean;
    stdoutTruncated?: boolean;
    stderrTruncated?: boolean;
    command?: string;
    args?: string[];
  }
  export interface SandboxFileInput {
    path: string;
    content: string | Buffer;
    mode?: number;
  }
  export abstract class MastraSandbox {
    constructor(options: { name: string });
    abstract readonly id: string;
    abstract readonly name: string;
    abstract readonly provider: string;
    abstract status: ProviderStatus;
  }
}
