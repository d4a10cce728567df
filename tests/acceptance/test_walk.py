"""The walk that cannot be faked: a fresh copy, `make run`, a browser, signals, and the simulator's own log.

The tests stand in the order of a day with the studio and share one; each submits tasks of its own.
"""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.fresh import NEXT_START_S, FreshStudio
from tests.acceptance.pages import CUT_SOCKETS, RunShown, hold_against, read_run, streamed
from tests.acceptance.walking import settled, submit, wait_for_end, wait_for_middle

pytestmark = pytest.mark.acceptance

TASKS = [json.loads(line) for line in (Path(__file__).parent / "tasks.jsonl").read_text().splitlines()]

# A point of an edge's line near its start, in the window's pixels: where a person would click it.
ON_THE_LINE = """(line) => {
  const at = line.getPointAtLength(line.getTotalLength() * 0.3).matrixTransform(line.getScreenCTM());
  return {x: at.x, y: at.y};
}"""

# Long replies in several steps, so that there is a middle in which to pull a plug.
LONG = "Compare PostgreSQL and MariaDB for a shop with {} users: operations, concurrency, backup, cost. Recommend one."


def test_a_task_is_planned_drawn_streamed_and_answered(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    before = len(studio.asked())
    code = submit(
        page,
        studio,
        "Region,Q1,Q2,Q3,Q4\nNorth,120,135,128,150\nSouth,98,110,143,161\nEast,210,190,205,198\n\n"
        "Which region grew most from Q1 to Q4 in per cent, and by how much? One decimal place.",
    )
    expect(page.locator("[data-stream^=p]").first).to_contain_text(re.compile(r"\w+"), timeout=20_000)
    expect(page.locator("#canvas .react-flow__node").first).to_be_visible(timeout=30_000)
    wait_for_end(page)

    expect(page.locator("#answer")).to_contain_text("South")
    expect(page.locator("#answer")).to_contain_text("64.3")
    run = settled(context, studio, code, before)
    assert len(run.steps) == page.locator("#canvas .react-flow__node").count()
    conducted = [row for row in studio.asked(before) if row["model"].startswith("sim-conductor")]
    assert len(conducted) == 1
    texts = streamed(page)
    assert conducted[0]["text"] in texts.values(), "the conductor's whole text was streamed"
    for step in run.steps.values():
        assert step.result in texts.values(), f"every token of {step.key} was streamed"


def test_a_cut_connection_a_second_tab_and_a_reload_show_exactly_what_happened(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    before = len(studio.asked())
    code = submit(page, studio, LONG.format(31))
    wait_for_middle(page)
    page.evaluate(CUT_SOCKETS)
    second = context.new_page()
    second.goto(page.url)
    time.sleep(1)
    page.evaluate(CUT_SOCKETS)
    wait_for_end(page)
    wait_for_end(second)

    assert page.evaluate("() => window.seen.sockets.length") >= 3, "the page connected again by itself"
    run = settled(context, studio, code, before)
    last = list(run.steps.values())[-1]
    assert last.result in streamed(page).values()
    assert last.result in streamed(second).values()
    shown = page.locator("#answer").inner_text()
    page.reload()
    expect(page.locator("#answer")).to_contain_text(shown.splitlines()[-1].strip()[:40])
    assert second.locator("#answer").inner_text() == page.locator("#answer").inner_text()
    second.close()


def test_a_driver_killed_in_mid_step_is_replaced_and_no_finished_step_is_called_again(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    before = len(studio.asked())
    code = submit(page, studio, LONG.format(32))
    wait_for_middle(page)
    driver = studio.process("driver")

    driver.send_signal(signal.SIGKILL)

    began = time.monotonic()
    events = context.new_page()
    while "Run taken over by another driver" not in events.locator("body").inner_text():
        assert time.monotonic() - began < 20, "another driver takes the run over within 20 s"
        events.goto(f"{studio.url}/runs/{code}/?view=events")
    events.close()
    wait_for_end(page)
    settled(context, studio, code, before)
    assert studio.process("driver").pid != driver.pid
    assert "driver" in studio.said(), "the restart is said"


@pytest.mark.parametrize("service", ["redis", "postgres", "web"])
def test_a_service_killed_during_a_run_comes_back_and_nothing_committed_is_lost(
    studio: FreshStudio, context: BrowserContext, page: Page, service: str
) -> None:
    before = len(studio.asked())
    code = submit(page, studio, LONG.format({"redis": 33, "postgres": 34, "web": 35}[service]))
    wait_for_middle(page)
    victim = studio.process(service)

    victim.send_signal(signal.SIGKILL)

    studio.wait_for(lambda: _pid(studio, service) not in (None, victim.pid), within_s=20, what=f"{service} again")
    wait_for_end(page, within_s=120)
    run = settled(context, studio, code, before)
    last = list(run.steps.values())[-1]
    page.locator(f"#outline [data-step={last.key}]").click()
    expect(page.locator("#panel")).to_contain_text(last.result.split("\n")[0].strip("# *")[:30])


def _pid(studio: FreshStudio, kind: str) -> int | None:
    try:
        return int(studio.process(kind).pid)
    except AssertionError:
        return None


def test_a_stopped_run_cuts_its_calls_and_is_never_shown_as_succeeded(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    before = len(studio.asked())
    code = submit(page, studio, LONG.format(36))
    # As soon as a worker writes: its reply takes seconds, so there is a call to cut.
    expect(page.locator("#outline .dot[data-state=running]").first).to_be_visible(timeout=60_000)

    page.get_by_role("button", name="Stop").click()

    began = time.monotonic()
    studio.wait_for(
        lambda: [row for row in studio.asked(before) if row["outcome"] == "cut by client"], within_s=5, what="cut call"
    )
    assert time.monotonic() - began < 2
    wait_for_end(page, state="cancelled", within_s=5)
    expect(page.locator("#head")).to_contain_text("Cut off: step")
    asked = len(studio.asked())
    time.sleep(3)
    page.reload()
    assert page.locator("#head .pill").get_attribute("data-state") == "cancelled"
    assert len(studio.asked()) == asked, "no model was called after the stop"
    shown = read_run(context, studio.url, code)
    cut_steps = [step for step in shown.steps.values() if step.state == "cancelled" and step.sent]
    cut = [row for row in studio.asked(before) if row["outcome"] == "cut by client"]
    assert {str(step.sent) for step in cut_steps} == {str(row["messages"]) for row in cut}


def test_an_access_edge_is_edited_on_the_graph_and_only_what_changed_runs_again(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    code = submit(page, studio, LONG.format(37))
    wait_for_end(page)
    parent = read_run(context, studio.url, code)
    reader = next(step for step in reversed(parent.steps.values()) if len(step.access) > 1)
    source = reader.access[0]
    before = len(studio.asked())

    page.get_by_role("link", name="Edit", exact=True).click()
    page.wait_for_url(re.compile("/edit/"))
    edge = page.locator(f'.react-flow__edge[data-id="{source}>{reader.key}"]')
    place = edge.locator("path").last.evaluate(ON_THE_LINE)
    page.mouse.click(place["x"], place["y"])
    page.keyboard.press("Delete")
    expect(edge).to_have_count(0)
    page.get_by_role("button", name=re.compile(r"^Run \d+ step")).click()
    page.wait_for_url(re.compile(rf"/runs/(?!{code}/)\w+/$"))
    child = page.url.split("/runs/")[1].split("/")[0]
    wait_for_end(page)

    run = read_run(context, studio.url, child)
    assert run.steps[reader.key].access == reader.access[1:]
    assert run.steps[reader.key].state == "succeeded"
    reused = [step for step in run.steps.values() if step.state == "reused"]
    assert source in {step.key for step in reused}
    assert all(step.result == parent.steps[step.key].result for step in reused)
    asked = studio.asked(before)
    assert len(asked) == len(run.steps) - len(reused), "reused steps were not asked again, nor was the conductor"
    hold_against(run, asked)
    page.goto(f"{studio.url}/runs/{code}/")
    expect(page.locator("#head")).to_contain_text(child)


def test_markup_in_a_task_is_shown_as_text_and_never_run(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    script = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1> [x](javascript:window.pwned=1)"
    code = submit(page, studio, f"Rewrite {script} for a customer, without blame and with the next step first.")
    wait_for_end(page)
    shown = read_run(context, studio.url, code)
    last = list(shown.steps)[-1]

    for path in ("", f"?step={last}", f"?step={last}&tab=prompt", f"?step={last}&tab=request", "edit/", "?view=events"):
        page.goto(f"{studio.url}/runs/{code}/{path}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("() => window.pwned") is None
    page.goto(f"{studio.url}/runs/")
    page.wait_for_load_state("networkidle")

    expect(page.locator("main")).to_contain_text("<script>window.pwned=1</script>")
    assert page.evaluate("() => window.pwned") is None
    assert said == [], "no page breaks its own security policy"


def test_pressing_twice_makes_one_run(studio: FreshStudio, page: Page) -> None:
    page.goto(studio.url)
    page.locator("textarea[name=task]").fill("What is the capital of France? Answer with the city's name.")
    form = page.evaluate(
        """async () => {
          const form = document.querySelector('textarea[name=task]').form;
          const send = () => fetch(form.action, {method: 'POST', body: new FormData(form)});
          return (await Promise.all([send(), send()])).map((answer) => answer.url);
        }"""
    )
    assert form[0] == form[1]


def test_every_task_of_the_twenty_reaches_an_answer_and_the_right_one_where_there_is_one(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    before = len(studio.asked())
    codes = [submit(page, studio, task["task"]) for task in TASKS]
    runs: list[RunShown] = []
    for code in codes:
        page.goto(f"{studio.url}/runs/{code}/")
        wait_for_end(page, within_s=180)
        runs.append(settled(context, studio, code, before))
    wrong = [
        (task["task"][:60], run.answer)
        for task, run in zip(TASKS, runs, strict=True)
        if task["answer"] is not None and not is_right(task, run.answer)
    ]
    assert wrong == []
    assert all(run.answer.strip() for run in runs)
    page.goto(f"{studio.url}/runs/")
    expect(page.locator("main")).to_contain_text(TASKS[-1]["task"].splitlines()[0][:40])


def is_right(task: dict[str, Any], answer: str) -> bool:
    """Whether the answer says what it should. Where many are right (Countdown), any that computes is."""
    said = re.sub(r"(?<=\d),(?=\d{3}\b)", "", answer)
    kind, want = task["kind"], task["answer"]
    if kind == "countdown":
        return any(_computes(found, (3, 7, 25, 50), 372) for found in re.findall(r"[\d(][\d\s+\-*/×()]+\d\)?", said))
    if kind == "extraction":
        return json.loads(want) in _objects(answer)
    wanted = {
        "units": ["6.3", "139"],
        "table": ["South", "53.1"] if "South" in want else ["Family A", "3.00"],
        "estimate": ["40"],
    }.get(kind, [want])
    return all(re.search(rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\d)", said) for word in wanted)


def _objects(text: str) -> list[Any]:
    """The JSON objects that stand in a text."""
    found = []
    for start in (match.start() for match in re.finditer(r"\{", text)):
        try:
            found.append(json.JSONDecoder().raw_decode(text, start)[0])
        except ValueError:
            continue
    return found


def _computes(expression: str, numbers: tuple[int, ...], target: int) -> bool:
    import ast
    import operator

    operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
    left = list(numbers)

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            return float(operators[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value in left:
            left.remove(node.value)
            return float(node.value)
        raise ValueError

    try:
        return value(ast.parse(expression.replace("×", "*").strip(), mode="eval").body) == target
    except (ValueError, SyntaxError, ZeroDivisionError):
        return False


def test_ctrl_c_stops_everything_and_the_next_start_goes_on_with_the_same_data(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    code = submit(page, studio, LONG.format(38))
    wait_for_middle(page)
    before_stop = page.locator("#outline .dot[data-state=succeeded]").count()

    took, left = studio.interrupt()

    assert took < 5
    assert left == []
    studio.start(within_s=NEXT_START_S)
    page.goto(f"{studio.url}/runs/{code}/")
    assert page.locator("#outline .dot[data-state=succeeded]").count() >= before_stop
    wait_for_end(page)
    run = read_run(context, studio.url, code)
    asked = [row for row in studio.asked() if not row["model"].startswith("sim-conductor")]
    for step in run.steps.values():
        assert len([row for row in asked if row["messages"] == step.sent and row["outcome"] == "done"]) == 1
