"""The simulated models for a rehearsal: those of the running studio, else a server started for as long as it lasts."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urlsplit

from django.conf import settings

from apps.core.errors import Unavailable

START_WITHIN_S = 20
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class NoSimulator(Unavailable):
    """There is no simulator to ask, and none could be started."""


@contextmanager
def simulated_models(base_url: str) -> Iterator[bool]:
    """See that simulated models answer at `base_url`; the value is whether a server was started for it.

    :raises NoSimulator: nothing answers, and it is not an address of this machine or its server did not come up.
    """
    if answers(base_url):
        yield False
        return
    parts = urlsplit(base_url)
    if parts.hostname not in LOOPBACK or parts.port is None:
        raise NoSimulator(f"No simulator answers at {base_url}. Start the studio there, or its simulator.")
    command = [sys.executable, "-m", "apps.simulator", "--host", parts.hostname, "--port", str(parts.port)]
    with TemporaryFile() as said:
        # Its words are this program's own and two parts of an address that were read as such.
        server = subprocess.Popen(  # noqa: S603 - our own simulator
            command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL, stderr=said
        )
        try:
            _wait(server, base_url, said)
            yield True
        finally:
            server.terminate()
            server.wait()


def answers(base_url: str) -> bool:
    """Whether a simulator says that it is well."""
    parts = urlsplit(base_url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=3)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _wait(server: "subprocess.Popen[bytes]", base_url: str, said: IO[bytes]) -> None:
    until = time.monotonic() + START_WITHIN_S
    while not answers(base_url):
        if server.poll() is not None or time.monotonic() > until:
            said.seek(0)
            why = said.read().decode(errors="replace").strip()[-500:]
            raise NoSimulator(f"The simulator did not come up at {base_url}. It said: {why or 'nothing'}")
        time.sleep(0.05)
