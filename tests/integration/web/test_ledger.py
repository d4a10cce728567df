"""The ledger of a run: every call with its arithmetic, sums that are the run's own, and the way to each line."""

import html
import re
from decimal import Decimal

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs import services
from apps.runs.models import Run
from apps.spend.models import Line
from apps.web.run import ledger as ledgers
from apps.workers.models import Worker
from tests.factories import NOON, Driving, chain, failure, make_pool, make_run
from tests.integration.web.given import finished, nest, nesting_profile, workflow_of


def page(client: Client, run: Run, query: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/ledger/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def words(content: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", content)).split())


def billed(*, cost: str, **usage: int) -> dict[str, object]:
    return {"cost_usd": Decimal(cost), **usage}


def test_every_call_has_a_line_and_the_lines_sum_to_what_the_run_says(browser: Client, ada: User) -> None:
    run = finished(ada)

    shown = words(page(browser, run))

    assert "Plan, call 1" in shown
    assert "Step 1, Compute the growth, attempt 1" in shown
    assert "Step 2, Answer the task, attempt 1" in shown
    assert "The lines sum to what the run’s page says: $0.0084" in shown
    assert Line.objects.count() == 3
    for line in Line.objects.all():
        assert f'id="{line.ref}"' in page(browser, run)


def test_a_cost_is_told_product_by_product_with_its_prices(browser: Client, ada: User) -> None:
    make_pool()
    Worker.objects.filter(slug="sim-birch").update(
        cached_price_usd=Decimal("0.5"), price_version=3, price_from="litellm's catalogue"
    )
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    tokens = {"input_tokens": 1_000, "cached_tokens": 400, "output_tokens": 200, "reasoning_tokens": 150}
    driving.finish("s1", "53 %", cost_usd=Decimal("0.0016"), **tokens)

    shown = words(page(browser, driving.run))

    assert "input 600 × $1 / 1M = $0.0006" in shown
    assert "cached input 400 × $0.5 / 1M = $0.0002" in shown
    assert "output 50 × $4 / 1M = $0.0002" in shown
    assert "reasoning 150 × $4 / 1M = $0.0006" in shown
    assert "prices: version 3, litellm's catalogue" in shown
    assert "400 cached" in shown
    assert "150 reasoning" in shown


def test_what_is_under_way_is_set_aside_and_what_was_estimated_is_marked(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer"))
    driving.finish("s1", "53 %", estimated=True)
    driving.start("s2")

    shown = words(page(browser, driving.run))

    assert "booked estimated" in shown
    assert "≈ 120" in shown
    assert re.search(r"set aside 0 0 \$0\.0\d+ at most", shown)
    assert "The lines sum to" in shown, "what is set aside is not spent"


def test_an_unknown_price_is_said_and_never_nothing(browser: Client, ada: User) -> None:
    make_pool()
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=None)
    driving = Driving(make_run(by=ada, unknown_price_ok=True))
    driving.plan(chain("Answer"))
    driving.finish("s1", "53 %", cost_usd=None, output_tokens=200)

    shown = words(page(browser, driving.run))

    assert "Spent unknown and 1 call of unknown cost" in shown
    assert "output 200 × unknown" in shown
    assert "$0 and 1 unknown" in shown


def test_a_failed_call_has_its_line_too(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.fail("s1", failure("slow down"), retry_in_s=1)
    driving.finish("s1", "53 %")

    shown = words(page(browser, driving.run))

    assert "Step 1, Answer, attempt 1" in shown
    assert "Step 1, Answer, attempt 2" in shown


def test_a_nested_run_has_its_own_lines_which_its_payer_has_among_them(browser: Client, ada: User) -> None:
    outer = Driving(make_run(by=ada, profile=nesting_profile()))
    steps = workflow_of(("s1", "", []), ("s2", "", ["s1"])).steps
    given = steps[1].model_copy(update={"worker": "sim-conductor"})
    outer.plan(workflow_of(("s1", "", [])).model_copy(update={"steps": (steps[0], given)}))
    outer.finish("s1", "1")
    inner = nest(outer, "s2")
    inner.plan(chain("Compute it"))
    inner.finish("s1", "2")
    nested = inner.succeed("2", step="s1")

    mine, whole = words(page(browser, nested)), words(page(browser, outer.run))

    assert f"within run {outer.run.code} , which pays" in mine
    assert "The lines sum to what the run’s page says: $0.0042" in mine
    assert f"in run {nested.code}" not in mine
    assert f"Step 1, Compute it, attempt 1 in run {nested.code}" in whole
    assert whole.count("attempt 1") == 2
    assert "What runs within it spend is told there once they have ended." in whole
    assert f"/runs/{nested.code}/ledger/" not in _attempts(browser, outer.run, "s2"), "nothing is billed yet"

    outer.answer("s2", outer.step("s2").attempts.get(), "2", input_tokens=240, output_tokens=4)
    assert f'href="/runs/{nested.code}/ledger/"' in _attempts(browser, outer.run, "s2")
    assert "The lines sum to what the run’s page says: $0.0084" in words(page(browser, outer.run))


def _attempts(client: Client, run: Run, key: str) -> str:
    return client.get(f"/runs/{run.code}/steps/{key}/?tab=attempts").content.decode()


@pytest.mark.parametrize("tab", ["result", "attempts"])
def test_a_figure_in_the_panel_leads_to_its_line(browser: Client, ada: User, tab: str) -> None:
    run = finished(ada)

    panel = browser.get(f"/runs/{run.code}/steps/s2/?tab={tab}").content.decode()

    assert f'href="/runs/{run.code}/ledger/#{run.code}:s2:1"' in panel


def test_a_reused_figure_leads_to_the_line_of_the_run_that_paid(browser: Client, ada: User) -> None:
    run = finished(ada)
    workflow = run.workflow
    assert workflow is not None
    fork = Driving(services.fork_run(parent=run, workflow=workflow, by=ada, now=NOON))
    fork.reuse("s1")

    panel = browser.get(f"/runs/{fork.run.code}/steps/s1/").content.decode()

    assert f'href="/runs/{run.code}/ledger/#{run.code}:s1:1"' in panel


def test_the_head_and_the_plan_lead_to_the_ledger(browser: Client, ada: User) -> None:
    run = finished(ada)

    content = browser.get(f"/runs/{run.code}/").content.decode()

    assert f'<a class="link money" href="/runs/{run.code}/ledger/">$0.0084</a>' in content
    assert f'href="/runs/{run.code}/ledger/#{run.code}:plan:1"' in content


def test_before_the_first_call_it_says_what_will_stand_there(browser: Client, ada: User) -> None:
    assert "No lines yet" in page(browser, make_run(by=ada))


def test_a_run_from_before_there_was_a_ledger_says_so(browser: Client, ada: User) -> None:
    run = finished(ada)
    Line.objects.all().delete()

    assert "carried out before there was a ledger" in page(browser, run)


def test_lines_that_sum_to_something_else_are_told_as_a_fault(browser: Client, ada: User) -> None:
    run = finished(ada)
    Run.objects.filter(pk=run.pk).update(cost_usd=Decimal("0.5"))

    assert "The run’s page says otherwise: $0.5." in words(page(browser, run))


def test_many_lines_come_in_pages_and_the_sums_are_of_all(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "PAGE", 2)
    run = finished(ada)

    first = page(browser, run)
    found = re.search(r'href="(\?after=\d+)"', first)
    assert found is not None
    second = page(browser, run, found[1])

    assert (first.count("<tr id="), second.count("<tr id=")) == (2, 1)
    assert "The lines sum to" in words(second)
    assert page(browser, run, "?after=x\0") is not None


def test_what_is_written_in_a_task_is_text_here_too(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, task="<script>alert(1)</script>"))
    driving.plan(chain("<img src=x onerror=alert(1)>"))
    driving.finish("s1", "x")

    content = page(browser, driving.run)

    assert "<script>alert" not in content
    assert "<img src=x" not in content
