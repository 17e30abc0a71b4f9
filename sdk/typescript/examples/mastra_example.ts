// An agent of Mastra whose tools are those of a sandbox.
//   OPENAI_API_KEY=… node mastra_example.js "Which system is this?"
import { pathToFileURL } from "node:url";
import { Agent } from "@mastra/core/agent";
import { Sandbox } from "@nutshell/sandbox";
import { nutshellTools } from "@nutshell/sandbox/mastra";

type Model = ConstructorParameters<typeof Agent>[0]["model"];

export async function main(model: Model, task: string): Promise<string> {
  await using sandbox = await Sandbox.create();
  const agent = new Agent({ id: "coder", name: "coder", instructions: "Work in the sandbox.", model, tools: nutshellTools(sandbox) });
  return (await agent.generate(task, { maxSteps: 50 })).text;
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  console.log(await main("openai/gpt-5", process.argv[2] ?? "Which system is this?"));
}
