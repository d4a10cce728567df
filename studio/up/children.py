"""The studio's processes. Stages give the order in which they stop: who is asked first stops last."""

import hashlib
import os
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

from studio.embedded import ports
from studio.embedded.postgres import ENVIRONMENT, Postgres
from studio.embedded.redis import Redis
from studio.env import BASE_DIR
from studio.up.services import Services
from studio.up.supervisor import Child

WEB, DRIVERS, HELPERS, REDIS, POSTGRES = range(5)


def environment(data: Path) -> dict[str, str]:
    """What every Python child of the studio is told."""
    return {
        **os.environ,
        "STUDIO_DATA": str(data),
        "DJANGO_SETTINGS_MODULE": "studio.settings",
        "PYTHONUNBUFFERED": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # without it the catalogue is fetched over the network at import
    }


def static_mark() -> str:
    """A mark that changes when a static file may have: collecting them all anew takes seconds."""
    mark = hashlib.sha256(os.environ.get("STUDIO_STATIC", "").encode())
    mark.update((BASE_DIR / "requirements.lock").read_bytes())  # the packages bring files of their own
    for path in sorted([*(BASE_DIR / "static" / "css").rglob("*"), *(BASE_DIR / "static" / "dist").rglob("*")]):
        mark.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    return mark.hexdigest()


def healthy(port: int) -> bool:
    """Whether the server on `port` says so itself."""
    request = urllib.request.Request(f"http://{ports.LOOPBACK}:{port}/healthz", headers={"Host": "localhost"})
    try:
        with urllib.request.urlopen(request, timeout=2) as answer:  # noqa: S310 - http, and our own address
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except OSError:
        return False


def postgres_child(postgres: Postgres) -> Child:
    return Child(
        name="postgres",
        command=postgres.command(),
        stage=POSTGRES,
        env=ENVIRONMENT,
        ready=postgres.answers,
        before=postgres.prepare,
        stop=postgres.stop_signal,
        grace_s=2.5,
        urgent=signal.SIGQUIT,  # stops without a checkpoint; the next start replays the log
        death=postgres.stop_signal,
        account=postgres.account,
        cwd="/",
    )


def redis_child(redis: Redis) -> Child:
    return Child(
        name="redis",
        command=redis.command(),
        stage=REDIS,
        env=dict(os.environ),
        ready=redis.answers,
        before=redis.prepare,
        death=signal.SIGTERM,
    )


def simulator_child(services: Services, port: int) -> Child:
    log = services.data / "logs" / "simulator.jsonl"
    options = ["--host", ports.LOOPBACK, "--port", str(port), "--log", str(log)]
    return Child(
        name="simulator",
        command=[sys.executable, "-m", "apps.simulator", *options],
        stage=HELPERS,
        env=environment(services.data),
        ready=lambda: healthy(port),
        grace_s=1,
        cwd=BASE_DIR,
    )


def web_child(services: Services) -> Child:
    return Child(
        name="web",
        command=[sys.executable, "-m", "studio.up.web", "--port", str(services.web_port)],
        stage=WEB,
        env=environment(services.data),
        ready=lambda: healthy(services.web_port),
        cwd=BASE_DIR,
    )


def driver_child(services: Services, number: int, threads: int) -> Child:
    name = f"driver{number}"
    sign = services.data / "run" / f".{name}-ready"
    pool = ["--pool", "threads", "--concurrency", str(threads), "--queues", "runs"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    names = ["--hostname", f"{name}@%h", "--include", "studio.up.announce"]
    return Child(
        name=name,
        command=[sys.executable, "-m", "celery", "--app", "studio", "worker", *pool, *quiet, *names],
        stage=DRIVERS,
        env={**environment(services.data), "STUDIO_READY_FILE": str(sign)},
        ready=sign.exists,
        before=lambda: sign.unlink(missing_ok=True),
        grace_s=2,  # then its runs are cut off, and taken up again at the next start
        cwd=BASE_DIR,
    )


def beat_child(services: Services) -> Child:
    schedule = services.data / "beat-schedule"
    options = ["--pidfile=", "--schedule", str(schedule)]
    return Child(
        name="beat",
        command=[sys.executable, "-m", "celery", "--app", "studio", "beat", *options],
        stage=HELPERS,
        env=environment(services.data),
        cwd=BASE_DIR,
    )
