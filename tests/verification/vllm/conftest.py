"""A tiny model on real vLLM, served as a person would serve it: by `manage.py serve_conductor`.

vLLM runs in its own environment (`make vllm`), the tests in the studio's. On a machine with an NVIDIA GPU the same
tests run on it. Nothing here is ever skipped: without vLLM the tests fail and say how to get it.
"""

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from apps.workers.gateway import Gateway
from studio import vllm
from studio.embedded import ports
from tests.services import running
from tests.verification.vllm.serving import STARTS_WITHIN_S, Server
from tests.verification.vllm.tiny import make_adapter, make_model


@pytest.fixture(scope="session")
def executable() -> Path:
    path = vllm.ENVIRONMENT / "bin" / "vllm"
    assert path.exists(), f"vLLM is not installed: run `{vllm.INSTALL}`, or `make test-vllm`, which does."
    return path


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model in `model/` and an adapter for it in `adapter/`."""
    home = tmp_path_factory.mktemp("tiny")
    make_adapter(home / "adapter", base=make_model(home / "model"))
    return home


@pytest.fixture(scope="session")
def started(executable: Path, tiny: Path) -> Iterator[Server]:
    """The server, for the whole session: loading takes longer than all that a test asks of it."""
    server = Server(port=ports.choose(None), on_cpu=vllm.is_cpu_build(executable))
    with running(
        "serve_conductor",
        server.command(tiny),
        ready=server.is_healthy,
        first=signal.SIGINT,
        env=server.environment,
        within_s=STARTS_WITHIN_S,
    ) as process:
        server.process = process
        yield server


@pytest.fixture
def server(started: Server) -> Server:
    """The server, with nothing to do; one that a test has killed is back."""
    started.wait_until_healthy()
    assert started.running == started.waiting == 0
    return started


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    yield gateway
    await gateway.close()
