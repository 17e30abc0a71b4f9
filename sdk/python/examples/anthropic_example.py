"""A loop over Anthropic's Messages API with its typed bash and text editor, answered by a sandbox."""
import sys

from anthropic import Anthropic

from nutshell_sandbox.adapters.anthropic import NutshellTools


def main(client, model, task):
    messages = [{"role": "user", "content": task}]
    with NutshellTools() as tools:
        while True:
            message = client.messages.create(model=model, max_tokens=4096, messages=messages,
                                             tools=tools.definitions)
            results = tools.results(message)
            if not results:
                return "".join(block.text for block in message.content if block.type == "text")
            messages += [{"role": "assistant", "content": message.content},
                         {"role": "user", "content": results}]


if __name__ == "__main__":  # needs ANTHROPIC_API_KEY
    print(main(Anthropic(), "claude-sonnet-4-5", " ".join(sys.argv[1:]) or "Which system is this?"))
