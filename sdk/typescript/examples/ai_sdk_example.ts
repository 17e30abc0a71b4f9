// An agent of the Vercel AI SDK whose tools are those of a sandbox.
//   AI_GATEWAY_API_KEY=… node ai_sdk_example.js "Which system is this?"
import { pathToFileURL } from "node:url";
import { generateText, isStepCount, type LanguageModel } from "ai";
import { Sandbox } from "@nutshell/sandbox";
import { nutshellTools } from "@nutshell/sandbox/ai-sdk";

export async function main(model: LanguageModel, task: string): Promise<string> {
  await using sandbox = await Sandbox.create();
  const { text } = await generateText({ model, prompt: task, tools: nutshellTools(sandbox), stopWhen: isStepCount(50) });
  return text;
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  console.log(await main("openai/gpt-5", process.argv[2] ?? "Which system is this?"));
}
