"""The edit form as a browser has it: what it would send of a workflow or of a page, and the draft that comes back."""

import html
import json
import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from apps.runs.models import Run
from apps.workflows.workflow import Workflow


def form_of(workflow: Workflow, **changes: Any) -> dict[str, Any]:
    """What a browser would send of the form of `workflow`, its line ends as browsers send them."""
    fields: dict[str, Any] = {"order": list(workflow.keys), "show_task": "1", "on_failure": workflow.on_failure}
    for step in workflow.steps:
        fields[f"step-{step.key}-instruction"] = step.instruction.replace("\n", "\r\n")
        fields[f"step-{step.key}-worker"] = step.worker
        fields[f"step-{step.key}-access"] = list(step.access)
    return fields | changes


def draft_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="draft" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    draft: dict[str, Any] = json.loads(found[1])
    return draft


def steps_in(page: str) -> dict[str, list[str]]:
    """Each step of the draft with what it may read."""
    return {step["key"]: step["access"] for step in draft_in(page)["workflow"]["steps"]}


def post(client: Client, run: Run, fields: dict[str, Any], **more: Any) -> tuple[int, str]:
    answer = client.post(f"/runs/{run.code}/edit/", fields, **more)
    return answer.status_code, html.unescape(answer.content.decode())


def seal_in(page: str) -> str:
    """What the preview in a page is sealed with."""
    found = re.search(r'name="seen" value="([^"]*)"', page)
    assert found is not None
    return html.unescape(found[1])


def press(client: Client, run: Run, fields: dict[str, Any], **more: Any) -> Any:
    """Have the form checked, as the page does by itself, and start what its preview tells."""
    checked = client.post(f"/runs/{run.code}/edit/", fields | {"action": "check"})
    told = {"action": "run"} | fields | {"seen": seal_in(checked.content.decode())}
    return client.post(f"/runs/{run.code}/edit/", told, **more)


class Fields(HTMLParser):
    """What a browser would send of a form: every field as it stands in the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self.open: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, kind = given.get("name"), given.get("type")
        if tag == "select":
            self.open = name
        if tag == "option" and self.open and "selected" in given:
            self.add(self.open, given.get("value"))
        if tag == "textarea" and name:
            self.open = name
            self.sent[name] = [""]
        if tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in given):
            self.add(name, given.get("value"))

    def handle_data(self, data: str) -> None:
        if self.open and self.open.endswith("-instruction"):
            self.sent[self.open][0] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self.open = None

    def add(self, name: str, value: str | None) -> None:
        self.sent.setdefault(name, []).append(value or "")


def form_in(page: str) -> dict[str, list[str]]:
    """The edit form as it would be sent; the line break that HTML drops at the start of a text is dropped."""
    form = page[page.index('<form id="edit"') : page.index("</form>", page.index('<form id="edit"'))]
    sent = Fields(form).sent
    return {name: [value.removeprefix("\n") for value in values] for name, values in sent.items() if name != "edit"}
