export { type AuditOptions, type BatchCommand, type BatchOptions, Client, type ClientOptions, defaultClient } from "./client.js";
export { CommandFailedError } from "./errors.js";
export { type Command, type ExecOptions, Execution, Job, type Output, type RunOptions } from "./exec.js";
export { type Content, type FileEvent, Files } from "./files.js";
export * from "./generated.js";
export { type AcquireOptions, Pool } from "./pool.js";
export { ExecResult } from "./result.js";
export { type ApplyOptions, type ApplyReport, type CreateOptions, type HeldChange, Sandbox, type SandboxOptions } from "./sandbox.js";
export { ClosedError, SandboxError } from "./sandbox_error.js";
export { Session, type SessionOptions } from "./session.js";
export { Terminal, type TerminalOptions } from "./terminal.js";
export { type AnthropicTool, type GeminiTools, type OpenAIResponsesTool, type OpenAITool, type SchemaOptions, toolDescriptions,
  type ToolError, ToolResult, type Tools } from "./tools.js";
