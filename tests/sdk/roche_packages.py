"""The package roche-sandbox as its authors publish it, with the stubs that its users have to generate: the
published archives lack them."""
import re
import subprocess
from pathlib import Path

import python_venvs
from support import REPOSITORY

VERSION = "0.6.0"
PROTO = REPOSITORY / "src/server/grpc"
python_venvs.SETS["roche"] = (f"roche-sandbox=={VERSION}", "grpcio==1.85.1", "grpcio-tools==1.85.1",
                              "pytest==9.2.0", "pytest-asyncio==1.5.0")


def package_directory(python):
    return Path(subprocess.run([python, "-c", "import roche_sandbox; print(roche_sandbox.__path__[0])"],
                               capture_output=True, text=True, check=True).stdout.strip())


def generate_stubs(python, into):
    """As scripts/proto-gen.sh of the package does: below its own name."""
    subprocess.run([python, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={into}",
                    f"--grpc_python_out={into}", "roche/v1/sandbox.proto"],
                   check=True, capture_output=True, text=True)
    stubs = into / "roche/v1/sandbox_pb2_grpc.py"
    stubs.write_text(re.sub(r"^from roche\.v1 import", "from roche_sandbox.generated.roche.v1 import",
                            stubs.read_text(), flags=re.M))


def interpreter():
    """A Python that has the package and its stubs; SKIP if it cannot be had."""
    python = python_venvs.venv("roche")
    into = package_directory(python) / "generated"
    marker = into / ".of"
    text = (PROTO / "roche/v1/sandbox.proto").read_text()
    if not marker.exists() or marker.read_text() != text:
        into.mkdir(exist_ok=True)
        generate_stubs(python, into)
        marker.write_text(text)
    return python


def shipped_tests(python):
    """The directory of the tests in the package's source archive."""
    return python_venvs.source(python, "roche-sandbox", VERSION) / "tests"
