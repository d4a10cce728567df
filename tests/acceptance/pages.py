"""What a run's pages show, read in the browser, and held against what the simulator was really asked."""

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, Page

# Every socket a page opens is kept, and every frame it received: to cut it, and to count what came.
WATCH_SOCKETS = """
const Native = window.WebSocket;
window.seen = {sockets: [], frames: []};
window.WebSocket = class extends Native {
  constructor(...given) {
    super(...given);
    window.seen.sockets.push(this);
    this.addEventListener('message', (event) => window.seen.frames.push(event.data));
  }
};
"""

CUT_SOCKETS = "() => window.seen.sockets.forEach((socket) => socket.close())"


@dataclass
class StepShown:
    """A step as the pages show it."""

    key: str
    worker: str
    access: list[str]
    state: str
    sent: list[dict[str, str]] | None
    result: str
    lost: int  # calls whose driver died before it could write down what came of them


@dataclass
class RunShown:
    code: str
    state: str
    answer: str
    steps: dict[str, StepShown] = field(default_factory=dict)


def read_run(context: BrowserContext, url: str, code: str) -> RunShown:
    """The run as its pages show it: states, requests as sent, results raw."""
    page = context.new_page()
    page.goto(f"{url}/runs/{code}/?raw=1&all=1")
    state = page.locator("#head .pill").get_attribute("data-state") or ""
    shown = page.locator("#answer pre.said")
    run = RunShown(code, state, (shown.text_content() or "") if shown.count() else "")
    states = {
        item.get_attribute("data-step"): item.locator(".dot").get_attribute("data-state")
        for item in page.locator("#outline [data-step]").all()
    }
    page.close()
    if not states:
        return run
    draft = context.request.get(f"{url}/runs/{code}/edit/").text()
    found = re.search(r'<script[^>]*id="draft"[^>]*>(.*?)</script>', draft, re.S)
    assert found, "the edit page carries its draft"
    for step in json.loads(found.group(1))["workflow"]["steps"]:
        key = step["key"]
        run.steps[key] = StepShown(
            key=key,
            worker=step["worker"],
            access=list(step["access"]),
            state=states[key] or "",
            sent=_sent(context, url, code, key),
            result=_result(context, url, code, key),
            lost=_lost(context, url, code, key),
        )
    return run


def _sent(context: BrowserContext, url: str, code: str, key: str) -> list[dict[str, str]] | None:
    part = context.request.get(f"{url}/runs/{code}/steps/{key}/?tab=request&all=1").text()
    found = re.search(r'<pre[^>]*id="request-source"[^>]*>(.*?)</pre>', part, re.S)
    if found is None:
        return None
    request: Any = json.loads(html.unescape(found.group(1)))
    messages: list[dict[str, str]] = request if isinstance(request, list) else request["messages"]
    return messages


def _result(context: BrowserContext, url: str, code: str, key: str) -> str:
    part = context.request.get(f"{url}/runs/{code}/steps/{key}/?tab=result&raw=1&all=1").text()
    found = re.findall(r'<pre class="said[^"]*"[^>]*>(.*?)</pre>', part, re.S)
    return html.unescape(found[-1]) if found else ""


def _lost(context: BrowserContext, url: str, code: str, key: str) -> int:
    part = context.request.get(f"{url}/runs/{code}/steps/{key}/?tab=attempts").text()
    return part.count("Its driver died before it was answered")


def hold_against(run: RunShown, asked: list[dict[str, Any]]) -> None:
    """Every finished step was called exactly once, was sent what is shown and no more, and answered what is shown.

    A call that its driver took to its grave may have been answered whole: it is shown as lost, and was asked again.
    """
    calls = [row for row in asked if not row["model"].startswith("sim-conductor")]
    for step in run.steps.values():
        assert step.sent is not None, f"{step.key} of {run.code} shows no request"
        answered = [row for row in calls if row["messages"] == step.sent and row["outcome"] == "done"]
        nested = step.worker.startswith("sim-conductor")  # a run of its own, held against the log by itself
        wanted = 1 if step.state == "succeeded" and not nested else 0
        called = f"{step.key} of {run.code}, {step.state}: called {len(answered)} times, {step.lost} lost"
        assert wanted <= len(answered) <= wanted + step.lost, called
        if wanted:
            assert answered[-1]["text"].strip() == step.result.strip()
        content = step.sent[0]["content"]
        for source in step.access:
            assert run.steps[source].result.strip() in content
        assert len(re.findall(r"^</response-", content, re.M)) == sum(
            bool(run.steps[source].result.strip()) for source in step.access
        )


def streamed(page: Page) -> dict[str, str]:
    """The texts a page received piece by piece, put together by their offsets; a gap or a double fails."""
    texts: dict[str, str] = {}
    for raw in page.evaluate("() => window.seen.frames"):
        frame = json.loads(raw)
        pieces = frame.get("deltas", [])
        if frame["t"] == "text":
            pieces = [[frame["stream"], frame["from"], frame["text"]]]
        for stream, offset, text in pieces:
            have = texts.get(stream, "")
            if offset <= len(have):
                texts[stream] = have + text[len(have) - offset :]
    return texts
