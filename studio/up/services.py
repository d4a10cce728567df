"""Which servers this start uses, and the note of them that every other process reads."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from redis import Redis as RedisClient
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from studio.embedded import ports
from studio.embedded.postgres import APP, OWNER, Postgres
from studio.embedded.redis import Redis
from studio.embedded.trouble import Trouble
from studio.secrets import ensure_secrets, write_private


@dataclass(frozen=True)
class Services:
    """The servers of one start. `postgres` and `redis` are None where the environment names others."""

    data: Path
    web_port: int
    simulator_port: int | None
    postgres: Postgres | None
    redis: Redis | None

    @property
    def url(self) -> str:
        return f"http://{ports.LOOPBACK}:{self.web_port}"

    def write(self) -> None:
        """Keep the addresses and ports in `services.json`, readable by its owner alone: passwords are in them."""
        owner = os.environ.get("DATABASE_OWNER_URL")
        kept = {
            "url": os.environ.get("STUDIO_URL") or self.url,
            "database_url": self.postgres.url(APP) if self.postgres else os.environ["DATABASE_URL"],
            "database_owner_url": self.postgres.url(OWNER) if self.postgres else owner,
            "redis_url": self.redis.url if self.redis else os.environ["REDIS_URL"],
            "simulator_url": f"http://{ports.LOOPBACK}:{self.simulator_port}/v1" if self.simulator_port else None,
            # The simulator is here, and so is Ollama where somebody has it; other networks are for an admin to allow.
            "endpoint_networks": os.environ.get("STUDIO_ENDPOINT_NETWORKS", "127.0.0.0/8,::1/128"),
            "ports": {
                "web": self.web_port,
                "postgres": self.postgres.port if self.postgres else None,
                "redis": self.redis.port if self.redis else None,
                "simulator": self.simulator_port,
            },
        }
        write_private(self.data / "services.json", json.dumps(kept, indent=2) + "\n")


def last_ports(data: Path) -> dict[str, Any]:
    """The ports of the start before this one: bookmarks, open psql sessions and other machines may know them."""
    try:
        found: dict[str, Any] = json.loads((data / "services.json").read_text())["ports"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}
    return found


def choose(data: Path, *, web_port: int, simulator: bool) -> Services:
    """Decide on servers and ports, making secrets where they are missing.

    :raises Trouble: the web port is taken, or a server named in the environment does not answer.
    """
    _check_port(web_port)
    secrets, last = ensure_secrets(data), last_ports(data)
    postgres = redis = None
    if url := os.environ.get("DATABASE_URL"):
        _check_database(url)
    else:
        postgres = Postgres(data=data, port=ports.choose(last.get("postgres")), secrets=secrets)
    if url := os.environ.get("REDIS_URL"):
        _check_redis(url)
    else:
        redis = Redis(data / "redis", ports.choose(last.get("redis")), secrets["redis_password"])
    return Services(data, web_port, ports.choose(last.get("simulator")) if simulator else None, postgres, redis)


def _check_port(port: int) -> None:
    try:
        ports.check(port)
    except PermissionError as error:
        raise Trouble(f"Port {port} is reserved for root. Choose one from 1024 on: --port 8000") from error
    except OSError as error:
        another = port + 1 if port < 65535 else 8000
        raise Trouble(f"Port {port} is taken by another program. Choose another one: --port {another}") from error


def _check_database(url: str) -> None:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        why = str(error).strip().splitlines()[0]
        raise Trouble(f"The database that DATABASE_URL names does not answer: {why}") from error


def _check_redis(url: str) -> None:
    try:
        client = RedisClient.from_url(url, socket_timeout=5, socket_connect_timeout=5, retry=Retry(NoBackoff(), 0))
        client.ping()
        client.close()
    except (RedisError, OSError, ValueError) as error:
        raise Trouble(f"The Redis that REDIS_URL names does not answer: {error}") from error
