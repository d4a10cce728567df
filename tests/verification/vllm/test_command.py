"""What `serve_conductor` says about real vLLM to the person who started it."""

import os
import re
from pathlib import Path

from tests.verification.vllm.serving import ADAPTER, KEY, MODEL, Server, wait_until


def test_it_says_when_the_model_is_ready_and_what_to_enter_in_the_studio(server: Server) -> None:
    log = Path(os.environ["STUDIO_DATA"]) / "serve_conductor.log"
    wait_until(lambda: "Ctrl-C stops it" in log.read_text(), within_s=20, what="all is said")
    said = log.read_text()

    assert re.search(r"^The conductor is ready after \d+ s\.$", said, re.MULTILINE)
    assert re.search(rf"^  Base url +{re.escape(server.base_url)}$", said, re.MULTILINE)
    assert re.search(rf"^  Model +{MODEL} or {ADAPTER}$", said, re.MULTILINE)
    assert KEY not in said


def test_the_key_is_on_no_command_line_and_in_no_log(server: Server) -> None:
    logs = (Path(os.environ["STUDIO_DATA"]) / "conductor" / "logs").glob("*.log")

    assert not any(KEY in log.read_text() for log in logs)
    assert not any(KEY in " ".join(process.cmdline()) for process in server.processes())
