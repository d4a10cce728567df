"""How vLLM is asked to serve a conductor, what it says while it starts, and what to enter in the studio then.

Nothing is started here: `manage.py serve_conductor` does, and docker/compose.yaml gives the same options.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from apps.core.errors import Invalid

LORA_RANKS: Final = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks that vLLM prepares itself for."""

_ADAPTER = re.compile(r"[\w.-]+")
_PREFIX = re.compile(r"^(?:\(\w+ pid=\d+\) ?)?(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?")
_REASON = re.compile(r"^(?:[\w.]*(?:Error|Exception|Exit)|error|vllm serve: error): \S")
# What vLLM says last when a part of it did not start; why stands above it.
_NO_REASON = ("See root cause above", "See stack trace", "WorkerProc initialization failed")


@dataclass(frozen=True)
class Serving:
    """A model and its adapters behind one address. The key is kept out of the repr."""

    model: str
    adapters: Mapping[str, Path] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 8100
    api_key: str = field(default="", repr=False)
    name: str = ""
    dtype: str = "auto"
    max_length: int | None = None
    seed: int = 0
    on_cpu: bool = False
    more: Sequence[str] = ()

    @property
    def served_name(self) -> str:
        return self.name or self.model

    @property
    def reached_at(self) -> str:
        """The host under which this machine itself reaches the server."""
        everywhere = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound
        return everywhere.get(self.host, self.host)

    @property
    def base_url(self) -> str:
        host = f"[{self.reached_at}]" if ":" in self.reached_at else self.reached_at
        return f"http://{host}:{self.port}/v1"


class ModelMissing(Invalid):
    """The folder that should hold the model is not there."""


class AdapterUnusable(Invalid):
    """What was named is no adapter that could be served."""


class OpenToAll(Invalid):
    """The server would answer whoever reaches it."""


def read_adapters(given: Sequence[str]) -> dict[str, Path]:
    """Adapters by name, from `name=folder`. :raises AdapterUnusable: one is not written so, or twice."""
    adapters: dict[str, Path] = {}
    for each in given:
        name, _, folder = each.partition("=")
        if not (_ADAPTER.fullmatch(name) and folder):
            raise AdapterUnusable(f"“{each}” is no adapter: write name=folder, the name without spaces.")
        if name in adapters:
            raise AdapterUnusable(f"Two adapters are called “{name}”.")
        adapters[name] = Path(folder).expanduser().absolute()
    return adapters


def check(serving: Serving) -> None:
    """See that vLLM could serve this, so that a mistake costs no minutes of loading.

    :raises ModelMissing: :raises AdapterUnusable: :raises OpenToAll:
    """
    if serving.model.startswith(("/", "./", "../")) and not (Path(serving.model) / "config.json").is_file():
        raise ModelMissing(f"There is no model in {serving.model}: a config.json should lie there.")
    for name, folder in serving.adapters.items():
        if name == serving.served_name:
            raise AdapterUnusable(f"The adapter “{name}” has the name of the model itself.")
        _rank(name, folder)
    if not serving.api_key and not _is_loopback(serving.host):
        raise OpenToAll(f"On {serving.host or 'every address'} others could use the conductor: set CONDUCTOR_API_KEY.")


def command(serving: Serving, *, vllm: str | Path) -> list[str]:
    """The command line. What the person gave comes last, and so wins over all before it."""
    given = ["--served-model-name", serving.served_name, "--host", serving.host, "--port", str(serving.port)]
    given += ["--dtype", serving.dtype, "--seed", str(serving.seed)]
    if serving.max_length:
        given += ["--max-model-len", str(serving.max_length)]
    return [
        str(vllm),
        "serve",
        serving.model,
        *given,
        *always(),
        *_for_adapters(serving),
        *_for_cpu(serving),
        *serving.more,
    ]


def always() -> list[str]:
    """The options that every conductor is served with."""
    return [
        "--enable-prefix-caching",  # all of a prompt but the task is the same each time
        "--enable-prompt-tokens-details",  # and the studio shows how much of it was
        "--structured-outputs-config.backend=guidance",  # xgrammar 0.2 forbids quotes in bounded texts (ADR 6)
        "--structured-outputs-config.disable_any_whitespace=true",  # else some models write blanks without end
        "--disable-access-log-for-endpoints=/health,/metrics",
    ]


def environment(serving: Serving) -> dict[str, str]:
    """Variables for vLLM: the key, which a command line would show to everybody, and no reports to its makers."""
    return {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"} | (
        {"VLLM_API_KEY": serving.api_key} if serving.api_key else {}
    )


def entries(serving: Serving) -> list[tuple[str, str]]:
    """What to enter in the admin pages for a conductor at this server: field, value."""
    names = [serving.served_name, *serving.adapters]
    return [
        ("Transport", "OpenAI protocol"),
        ("Base url", serving.base_url),
        ("Model", " or ".join(names)),
        ("Credential", "one that holds CONDUCTOR_API_KEY" if serving.api_key else "none"),
        ("Self-hosted, free", "yes"),
    ]


def _for_adapters(serving: Serving) -> list[str]:
    if not serving.adapters:
        return []
    rank = max(_rank(name, folder) for name, folder in serving.adapters.items())
    return [
        "--enable-lora",
        f"--max-loras={len(serving.adapters)}",
        f"--max-lora-rank={rank}",
        "--lora-modules",
        *(f"{name}={folder}" for name, folder in serving.adapters.items()),
    ]


def _for_cpu(serving: Serving) -> list[str]:
    # vLLM 0.32 on a CPU dies of a request with a seed whose prompt it reads in pieces, and ours have a seed (ADR 6).
    return ["--no-enable-chunked-prefill"] if serving.on_cpu else []


def _rank(name: str, folder: Path) -> int:
    """What vLLM must be prepared for to load an adapter: it refuses one of a higher rank than it was told."""
    path = folder / "adapter_config.json"
    try:
        rank = int(json.loads(path.read_text())["r"])
        return next(known for known in LORA_RANKS if known >= rank)
    except OSError as error:
        raise AdapterUnusable(f"The adapter “{name}” cannot be read: {path}: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, StopIteration) as error:
        raise AdapterUnusable(f"The adapter “{name}” has no LoRA rank that vLLM knows in {path}.") from error


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# --- what vLLM says -------------------------------------------------------------------------------------------------


def stage(log: str) -> str:
    """What vLLM said last, without the process and the time: a sign of life while it loads."""
    lines = [_bare(line) for line in log.splitlines()]
    return next((line for line in reversed(lines) if line), "")[:100]


def reason(log: str) -> str:
    """Why vLLM did not start, as far as its log says: the first error that is no mere echo of another."""
    found = [line for line in map(_bare, log.splitlines()) if _REASON.match(line)]
    telling = [line for line in found if not any(echo in line for echo in _NO_REASON)]
    return next(iter(telling or found), stage(log))[:500]


def _bare(line: str) -> str:
    return _PREFIX.sub("", line.rpartition("\r")[2].strip()).strip()
