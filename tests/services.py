"""The real PostgreSQL and Redis under the tests: addresses from the first moment, servers only when a test asks.

Loaded with `-p tests.services`, before Django reads its settings. Ports are held from here on, so the addresses in the
environment stay true; the fixtures `postgres`, `redis_server` and `simulator` start what stands behind them.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from studio.embedded import ports, processes
from studio.embedded.postgres import APP, OWNER, Postgres
from studio.embedded.redis import Redis
from studio.secrets import ensure_secrets

ROOT = Path(__file__).resolve().parent.parent
_DATA = Path(tempfile.mkdtemp(prefix="studio-tests-"))
_DATA.chmod(0o711)  # PostgreSQL runs as another account when the tests run as root
atexit.register(shutil.rmtree, _DATA, ignore_errors=True)

_SECRETS = ensure_secrets(_DATA)
_held: dict[str, socket.socket] = {}


def _reserve(name: str) -> int:
    port, _held[name] = ports.hold()
    atexit.register(_held[name].close)
    return port


POSTGRES = Postgres(data=_DATA, port=_reserve("postgres"), secrets=_SECRETS, durable=False)
REDIS = Redis(home=_DATA / "redis", port=_reserve("redis"), password=_SECRETS["redis_password"])
SIMULATOR_PORT = _reserve("simulator")
SIMULATOR_LOG = _DATA / "simulator.jsonl"

os.environ.update(
    {
        "STUDIO_DATA": str(_DATA),
        "DATABASE_URL": POSTGRES.url(APP),
        "DATABASE_OWNER_URL": POSTGRES.url(OWNER),
        "REDIS_URL": REDIS.url,
        "SIMULATOR_URL": f"http://127.0.0.1:{SIMULATOR_PORT}/v1",
        "SECRET_KEY": _SECRETS["secret_key"],
        "VAULT_KEY": _SECRETS["vault_key"],
        "SIGNING_KEY": _SECRETS["signing_key"],
        "STUDIO_ENDPOINT_NETWORKS": "127.0.0.0/8,::1/128",
        "STUDIO_PLAIN_STATIC": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
)
for _name in ("STUDIO_PRODUCTION", "STUDIO_DEBUG", "STUDIO_HTTPS", "STUDIO_HOSTS", "STUDIO_URL", "STUDIO_ORIGINS"):
    os.environ.pop(_name, None)  # a developer's own studio is not the one under test


@contextmanager
def running(
    name: str,
    command: list[str],
    *,
    ready: Callable[[], bool],
    first: signal.Signals = signal.SIGTERM,
    account: tuple[int, int] | None = None,
    env: dict[str, str] | None = None,
    cwd: str | Path = ROOT,
    within_s: float = 20,
) -> Iterator[subprocess.Popen[bytes]]:
    """A real process for as long as the block lasts; what it wrote is shown if it does not come up."""
    path = _DATA / f"{name}.log"
    with path.open("ab") as log, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads, as pytest has
        process = processes.spawn(command, log=log, env=env or os.environ, account=account, cwd=cwd, death=first)
    try:
        until = time.monotonic() + within_s
        while not ready():
            if process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{name} did not come up; it wrote:\n{path.read_text()[-4000:]}")
            time.sleep(0.02)
        yield process
    finally:
        processes.end(process, first=first, grace_s=5)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """PostgreSQL with both roles and an empty database `studio`. `postgres.url(OWNER)` opens it as the owner."""
    POSTGRES.settle()
    POSTGRES.prepare()
    with running(
        "postgres",
        POSTGRES.command(),
        ready=POSTGRES.answers,
        first=POSTGRES.stop_signal,
        account=POSTGRES.account,
        env={"LC_ALL": "C"},
        cwd="/",
    ):
        POSTGRES.ensure_roles()
        yield POSTGRES


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """Redis with a password, at `settings.REDIS_URL`."""
    REDIS.prepare()
    with running("redis", REDIS.command(), ready=REDIS.answers):
        yield REDIS


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium to drive. A test that needs a browser fails without one; it is never skipped."""
    from tests.browsers import find_chromium

    return find_chromium()
