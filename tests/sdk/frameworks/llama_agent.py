"""LlamaIndex: a real agent with a scripted model."""
import sys

import llama_index_example
from cases import main
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import MockLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.base.llms.types import ChatResponse, LLMMetadata
from llama_index.core.llms.llm import ToolSelection

from nutshell_sandbox import Sandbox
from nutshell_sandbox.adapters.llama_index import nutshell_tools

STEPS, SEEN = [], []


class Scripted(MockLLM, FunctionCallingLLM):
    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **_):
        return {"messages": chat_history or []}

    async def achat_with_tools(self, tools, user_msg=None, chat_history=None, **_):
        SEEN.append(list(chat_history or []))
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content="done"),
                            raw=STEPS.pop(0))

    async def astream_chat_with_tools(self, tools, **given):
        async def stream():
            yield await self.achat_with_tools(tools, **given)
        return stream()

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=False, **_):
        return [ToolSelection(tool_id=f"c{len(SEEN)}", tool_name=name, tool_kwargs=given)
                for name, given in response.raw or []]


async def case_an_agent_calls_the_tools():
    STEPS[:] = [[("write", {"path": "a", "content": "hi\n"})], [("bash", {"command": "cat a; exit 3"})],
                [("read", {"path": "none"})], []]
    with Sandbox() as sandbox:
        agent = FunctionAgent(llm=Scripted(), tools=nutshell_tools(sandbox))
        assert str(await agent.run("go")) == "done"
        assert sandbox.files.read_text("a") == "hi\n"
    told = [str(one.content) for one in SEEN[-1] if one.role == MessageRole.TOOL]
    assert "hi" in told[1] and "exit 3" in told[1] and "none" in told[2], told


def case_every_tool_has_a_schema():
    with Sandbox() as sandbox:
        tools = nutshell_tools(sandbox)
        assert len(tools) == 13
        for one in tools:
            assert one.metadata.get_parameters_dict()["type"] == "object"
        bash = next(one for one in tools if one.metadata.name == "bash")
        assert "42" in str(bash.call(command="echo $((6*7))"))


async def case_the_example_runs():
    STEPS[:] = [[("bash", {"command": "true"})], []]
    assert await llama_index_example.main(Scripted(), "go") == "done"


if __name__ == "__main__":
    sys.exit(main(globals()))
