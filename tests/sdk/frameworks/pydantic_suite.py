"""pydantic-ai's suite for workspace backends, whole."""
import pytest
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from nutshell_sandbox.adapters.pydantic_ai import NutshellWorkspace


class TestNutshellWorkspace(WorkspaceBackendSuite):
    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    @pytest.fixture
    async def backend(self):
        one = NutshellWorkspace()
        yield one
        await one.delete()

    @pytest.fixture
    async def fresh_backend(self):
        made = []

        def make():
            made.append(NutshellWorkspace())
            return made[-1]
        yield make
        for one in made:
            if one.ref is not None and not getattr(one, "is_destroyed", False):
                await one.delete()

    @pytest.fixture
    def attach_backend(self):
        return NutshellWorkspace

    @pytest.fixture
    def destroy_environment(self):
        async def destroy(backend):
            await backend.delete()
            backend.is_destroyed = True
        return destroy
