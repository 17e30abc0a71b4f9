#!/usr/bin/env python3
"""The adapters of the TypeScript SDK with the frameworks' own packages and a scripted model, and docs/typescript.md."""
import os
import re
import shutil
import subprocess
import sys

import node_packages
from sdk_fixture import alone
from support import REPOSITORY, Failed, Skip, Suite, expect, is_full

suite = Suite()
CASES = ("ai_tools", "ai_session", "mastra_tools", "mastra_sandbox", "examples")
CONFIG = """{"compilerOptions": {"target": "es2022", "lib": ["es2023", "esnext.disposable", "dom", "dom.asynciterable"],
  "module": "nodenext", "strict": true, "skipLibCheck": true, "types": ["node"], "outDir": "out"}, "include": ["*.ts"]}"""
NAMES = ("Client", "CommandFailedError", "Pool", "Sandbox", "SandboxError", "Session", "defaultClient", "toolDescriptions")
state = {}


def snippets():
    """The programs of the page. A snippet without an import is given a sandbox `s`."""
    text = (REPOSITORY / "docs/typescript.md").read_text()
    for number, body in enumerate(re.findall(r"^```ts\n(.*?)^```", text, re.DOTALL | re.MULTILINE)):
        if "import " not in body:
            used = [name for name in NAMES if re.search(rf"\b{name}\b", body) or name == "Sandbox"]
            body = (f'import {{ {", ".join(used)} }} from "@nutshell/sandbox";\n'
                    f"await using s = await Sandbox.create({{ workspace: process.argv[2] }});\n{body}")
        yield f"snippet{number}", body + "\nexport {};\n"


def compiled():
    """A directory that has the package installed, and the compiled tests and snippets."""
    if not state:
        try:
            state["place"] = compile_all()
        except (Failed, Skip) as error:
            state["error"] = error
    if "error" in state:
        raise state["error"]
    return state["place"]


def compile_all():
    if os.geteuid() != 0 and os.environ.get("CI") and not is_full():
        raise Skip("the frameworks are downloaded once, for the run as root")
    place = node_packages.install("frameworks", {**node_packages.FRAMEWORKS, **node_packages.compilers()})
    node_packages.build()
    node_packages.install_into(place)
    for old in place.glob("*.ts"):
        old.unlink()
    (place / "tsconfig.json").write_text(CONFIG)
    for source in (node_packages.SOURCE / "test/adapters.ts", *(node_packages.SOURCE / "examples").glob("*.ts")):
        (place / source.name).write_text(source.read_text())
    for name, body in snippets():
        (place / f"{name}.ts").write_text(body)
    done = subprocess.run(["node", "node_modules/typescript/bin/tsc", "-p", "."], cwd=place, capture_output=True, text=True,
                          timeout=300, check=False)
    expect(done.returncode == 0, f"strict types: {done.stdout[-2500:]}")
    return place


def run(program, *words):
    place = compiled()
    with alone() as environment:
        project = place / "project"
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir()
        done = node_packages.run_node(place / f"out/{program}.js", *(words or (project,)), environment=environment, cwd=project)
        expect(done.returncode == 0, f"{program} {words}: {done.stderr[-1800:]}{done.stdout[-300:]}")


def framework_case(name):
    def case():
        run("adapters", name)
    case.__name__ = f"framework_{name}"
    return suite.case(case)


for one in CASES:
    framework_case(one)


@suite.case
def every_snippet_of_the_page_runs():
    compiled()
    names = [name for name, _ in snippets()]
    expect(len(names) > 5, "the page has no snippets")
    for name in names:
        run(name)


if __name__ == "__main__":
    sys.exit(suite.run())
