"""langchain-tests' suite for sandboxes of deepagents, whole."""
import pytest
from langchain_tests.integration_tests.sandboxes import SandboxIntegrationTests

from nutshell_sandbox.adapters.deepagents import NutshellBackend


class TestNutshellBackend(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self):
        backend = NutshellBackend()
        yield backend
        backend.close()
