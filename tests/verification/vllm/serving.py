"""The served model as the tests see it: where it is, what it counts, and how it dies."""

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from apps.conductor.serving import Serving
from apps.workers.calls import Endpoint, Price, Timeouts
from studio import vllm
from tests.services import ROOT

KEY: Final = "sk-of-the-verification"
MODEL: Final = "tiny"
ADAPTER: Final = "tiny-adapted"
AT_ONCE: Final = 4
"""Requests that the server works on at once; others wait for their turn."""
STARTS_WITHIN_S: Final = 300
LONGEST_REPLY: Final = 1_500
"""Tokens: random weights can fall into a loop that only a limit ends."""

_SAMPLE = re.compile(r"^(vllm:\w+)\{([^}]*)\} (\S+)$", re.MULTILINE)


@dataclass
class Server:
    """`manage.py serve_conductor` at work on a tiny model."""

    port: int
    on_cpu: bool
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def command(self, tiny: Path) -> list[str]:
        """How a person would start it; behind the dashes what makes it small, and soon full."""
        own = ["--name", MODEL, "--model", str(tiny / "model"), "--adapter", f"{ADAPTER}={tiny / 'adapter'}"]
        own += ["--port", str(self.port), "--dtype", "float32" if self.on_cpu else "bfloat16"]
        memory = [] if self.on_cpu else [f"--kv-cache-memory-bytes={2**30}"]
        small = ["--enforce-eager", "--max-num-seqs", str(AT_ONCE), *memory]
        behind = ["nice", "-n", "5"] if self.on_cpu else []  # what watches it shares its cores, and must see it in time
        return [*behind, sys.executable, str(ROOT / "manage.py"), "serve_conductor", *own, "--", *small]

    @property
    def environment(self) -> dict[str, str]:
        """Nothing is fetched from a hub, and a CPU is shared: a gibibyte for prompts remembered, no core for itself.

        Bound to a core of a busy machine, vLLM's threads starved the database of the tests for seconds.
        """
        own = {"CONDUCTOR_API_KEY": KEY, "HF_HUB_OFFLINE": "1"}
        shared = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        return {**os.environ, **own, **shared, "PYTHONUNBUFFERED": "1"}

    def endpoint(
        self, model: str = MODEL, *, api_key: str = KEY, timeouts: Timeouts | None = None, **params: Any
    ) -> Endpoint:
        return Endpoint(
            slug="conductor",
            transport="wire",
            base_url=self.base_url,
            model=model,
            api_key=api_key,
            params={"max_tokens": LONGEST_REPLY} | params,
            timeouts=timeouts or Timeouts(whole_s=120),
            price=Price(free=True),
        )

    # --- what it counts ----------------------------------------------------------------------------------------------

    def is_healthy(self) -> bool:
        return vllm.is_healthy(Serving(model=MODEL, port=self.port))

    def get(self, path: str, *, key: str = "") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def count(self, metric: str, label: str = "") -> float:
        """One of vLLM's own counts, summed over what it tells apart; `label` picks, as in `finished_reason="abort"`."""
        found = [
            float(value)
            for name, labels, value in _SAMPLE.findall(self.get("/metrics")[1])
            if name == f"vllm:{metric}" and label in labels
        ]
        assert found, f"vLLM counts no {metric} {label}"
        return sum(found)

    @property
    def running(self) -> int:
        return int(self.count("num_requests_running"))

    @property
    def waiting(self) -> int:
        return int(self.count("num_requests_waiting"))

    @property
    def written(self) -> int:
        """Tokens that it has written for anybody."""
        return int(self.count("generation_tokens_total"))

    # --- how it dies -------------------------------------------------------------------------------------------------

    def processes(self) -> list[psutil.Process]:
        """vLLM and what it started: the server first."""
        assert self.process is not None
        return list(psutil.Process(self.process.pid).children(recursive=True))

    def kill(self) -> None:
        """All of it at once, as when a machine is taken away."""
        os.killpg(self.processes()[0].pid, signal.SIGKILL)

    def kill_engine(self) -> None:
        """Only the process that computes, as when the memory of a GPU runs out."""
        next(process for process in self.processes() if "EngineCore" in " ".join(process.cmdline())).kill()

    def wait_until_healthy(self) -> float:
        """Wait until it answers (again); the seconds it took."""
        return wait_until(self.is_healthy, within_s=STARTS_WITHIN_S, what="the server answers")


def wait_until(holds: Callable[[], bool], *, within_s: float, what: str) -> float:
    """Wait for something that another process does; the seconds it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < within_s, f"after {within_s} s still not: {what}"
        time.sleep(0.02)
    return time.monotonic() - began
