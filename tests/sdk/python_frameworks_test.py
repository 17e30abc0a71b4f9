#!/usr/bin/env python3
"""The adapters with the real packages and scripted models, and two suites that are not ours.

Each framework has an environment of its own (python_venvs.py); a suite of somebody else is run whole.
"""
import os
import re
import subprocess
import sys

import python_sdk
import python_venvs
from support import Failed, REPOSITORY, Suite, expect, expect_equal

python_sdk.generate()
suite = Suite()
PROGRAMS = REPOSITORY / "tests/sdk/frameworks"
EXAMPLES = REPOSITORY / "sdk/python/examples"
LONGEST = 300


def environment():
    return {**os.environ, "PYTHONPATH": f"{python_sdk.SOURCE}:{PROGRAMS}:{EXAMPLES}",
            "PYTHONDONTWRITEBYTECODE": "1", "HOME": os.environ.get("NUTSHELL_RUNTIME_DIR", "/tmp")}


def run_in(name, *words):
    """Runs a program with the packages of NAME; the daemon is one of this suite."""
    interpreter = python_venvs.venv(name)
    with python_sdk.served():
        return subprocess.run([interpreter, *words], env=environment(), capture_output=True,
                              text=True, timeout=LONGEST, cwd=os.environ["NUTSHELL_RUNTIME_DIR"],
                              stdin=subprocess.DEVNULL, check=False)


def run_program(name, program, least):
    """Runs a program of frameworks/, which prints a line for each of its cases."""
    done = run_in(name, str(PROGRAMS / program))
    failed = re.findall(r"^FAIL .*", done.stdout, re.MULTILINE)
    passed = re.findall(r"^ok (\w+)", done.stdout, re.MULTILINE)
    expect(not failed and done.returncode == 0,
           f"{program}: {' '.join(failed) or done.stderr[-400:]}")
    expect(len(passed) >= least, f"{program}: only {len(passed)} cases ran: {done.stderr[-200:]}")


def run_foreign_suite(name, program, wanted, *flags):
    run_pytest(name, program, wanted, *flags, str(PROGRAMS / program))


def run_pytest(name, program, wanted, *words):
    done = run_in(name, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rsf", "--no-header", *words)
    last = done.stdout.strip().rpartition("\n")[2]
    told = " ".join(re.findall(r"^(?:FAILED|SKIPPED|ERROR) .*", done.stdout, re.MULTILINE))[:400]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
    if not counts:
        raise Failed(f"{program}: {done.stdout[-200:]} {done.stderr[-300:]}")
    expect_equal((counts.get("passed"), counts.get("failed", 0), counts.get("skipped", 0)),
                 (wanted, 0, 0), f"passed, failed, skipped of {program} ({told})")


@suite.case
def roomkit_agent_has_the_tools_and_every_call_works():
    run_program("roomkit", "roomkit_agent.py", 14)


@suite.case
def roomkit_sandboxes_own_tests_pass():
    """Those of its commands and of its executor. The others try the insides of its three backends."""
    tests = python_venvs.source(python_venvs.venv("roomkit"), "roomkit-sandbox", "0.5.0") / "tests"
    run_pytest("roomkit", "roomkit-sandbox's tests", 34, "-p", "as_roomkit_sandbox", "-o", "asyncio_mode=auto",
               str(tests / "test_commands.py"), str(tests / "test_executor.py"))


@suite.case
def openai_agents_anthropic_and_smolagents():
    run_program("agents", "agents_scripted.py", 9)


@suite.case
def langchain_and_deepagents():
    run_program("langchain", "langchain_agent.py", 4)


@suite.case
def langchain_tests_sandbox_suite_passes_whole():
    run_foreign_suite("langchain", "langchain_suite.py", 86, "-o", "asyncio_mode=auto")


@suite.case
def pydantic_ai_agent():
    run_program("pydantic", "pydantic_agent.py", 3)


@suite.case
def pydantic_ai_workspace_suite_passes_whole():
    run_foreign_suite("pydantic", "pydantic_suite.py", 38)


@suite.case
def autogen_agent():
    run_program("autogen", "autogen_agent.py", 4)


@suite.case
def crewai_crew():
    run_program("crewai", "crewai_agent.py", 3)


@suite.case
def google_adk_agent():
    run_program("adk", "adk_agent.py", 3)


@suite.case
def llama_index_agent():
    run_program("llama", "llama_agent.py", 3)


@suite.case
def without_its_framework_an_adapter_names_what_is_missing():
    for name in ("deepagents", "langchain", "openai_agents", "crewai", "autogen", "pydantic_ai",
                 "smolagents", "google_adk", "llama_index"):
        done = python_sdk.python(f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"
                                 f"import nutshell_sandbox.adapters.{name}")
        expect("ModuleNotFoundError" in done.stderr and done.returncode == 1, f"{name}: {done}")


if __name__ == "__main__":
    sys.exit(suite.run())
