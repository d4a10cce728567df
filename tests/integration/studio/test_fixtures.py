"""The processes that other tests lean on: the simulator and the browser."""

import json
import os
import urllib.request

from django.conf import settings

from tests.simulators import Simulator


def test_the_simulator_answers_at_the_address_in_the_settings_and_keeps_a_log(simulator: Simulator) -> None:
    assert simulator.base_url == settings.SIMULATOR_URL
    assert simulator.log() == []

    body = {"model": "sim-cedar:ttft=0,rate=0,tokens=3", "messages": [{"role": "user", "content": "Say something."}]}
    request = urllib.request.Request(
        f"{simulator.base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        text = json.load(answer)["choices"][0]["message"]["content"]

    (row,) = simulator.log()
    assert (row["outcome"], row["text"]) == ("done", text)


def test_there_is_a_browser(chromium: str) -> None:
    assert os.access(chromium, os.X_OK)
