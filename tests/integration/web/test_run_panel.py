"""The panel of one step: result, prompt, context, attempts and request, of calls that went well and of others."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs import services
from apps.runs.models import Attempt, Run
from tests.factories import NOON, Driving, chain, failure, make_run

HTML = '<script>alert(1)</script> "><img src=x onerror=alert(2)>'
TABS = ("result", "prompt", "context", "attempts", "request")


@pytest.fixture
def driving(ada: User) -> Driving:
    driving = Driving(make_run(by=ada))
    workflow = chain("Compute the growth", "Judge the noise", "Answer the task")
    answer = workflow.steps[2].model_copy(update={"access": ("s1",)})
    driving.plan(workflow.model_copy(update={"steps": (*workflow.steps[:2], answer)}))
    return driving


def panel(client: Client, run: Run, key: str, query: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/steps/{key}/?{query}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_a_running_call_is_told_how_long_it_has_been_out(browser: Client, driving: Driving) -> None:
    attempt = driving.start("s1")

    for tab in ("result", "attempts"):
        shown = panel(browser, driving.run, "s1", f"tab={tab}")
        assert re.search(rf'data-first-token="{attempt.stream}" data-gone="\d+">–<', shown)


def test_a_result_tells_its_figures_what_was_read_and_what_was_not(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "South: **53 %**", output_tokens=312)
    driving.finish("s2", "four points are few")
    driving.finish("s3", "South grew most.")

    shown = words(panel(browser, driving.run, "s3"))

    assert "First token 0.41 s In 120 Out 4 Cost $0.0042 ✓" in shown
    assert "1 Compute the growth 312 tok" in shown
    assert "2 Judge the noise not on the list" in shown
    assert "South grew most." in shown
    assert "<strong>53 %</strong>" in panel(browser, driving.run, "s1")
    assert "South: **53 %**</pre>" in panel(browser, driving.run, "s1", "raw=1")


def test_a_step_that_writes_has_a_place_to_stream_to(browser: Client, driving: Driving) -> None:
    attempt = driving.start("s1")

    assert f'data-stream="{attempt.stream}"' in panel(browser, driving.run, "s1")
    assert "Writing" in panel(browser, driving.run, "s1")


def test_a_step_that_waits_says_for_whom(browser: Client, driving: Driving) -> None:
    assert "Not run yet: it waits for step 1." in words(panel(browser, driving.run, "s3"))
    assert "Nothing was sent yet." in panel(browser, driving.run, "s3", "tab=prompt")
    assert "this is what would be sent now" in panel(browser, driving.run, "s1", "tab=prompt")


def test_the_prompt_is_rendered_again_and_held_against_what_was_sent(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "South: 53 %")
    attempt = driving.finish("s3", "South.")

    shown = panel(browser, driving.run, "s3", "tab=prompt")

    assert "Rendered again = as sent." in shown
    assert attempt.digest[:16] in shown
    for title in ("Note", "Overall task", "Step 1", "Assigned subtask"):
        assert f"<b>{title}</b>" in shown
    assert "South: 53 %" in shown


def test_a_prompt_that_differs_from_what_was_sent_is_said_and_the_sent_one_shown(
    browser: Client, driving: Driving
) -> None:
    attempt = driving.finish("s1", "South: 53 %")
    Attempt.objects.filter(pk=attempt.pk).update(sent=[{"role": "user", "content": "something else"}])

    shown = panel(browser, driving.run, "s1", "tab=prompt")

    assert "the prompt differs from what was sent" in shown
    assert "something else" in shown


def test_the_context_shows_what_was_given_and_what_never_is(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "South: 53 %", output_tokens=31)
    driving.finish("s2", "four points are few")
    driving.finish("s3", "South.")

    shown = panel(browser, driving.run, "s3", "tab=context")

    assert 'data-source="s1"' in shown
    assert "31 tok · given" in shown
    assert "South: 53 %" in shown
    assert "never read" in shown
    assert "four points are few" not in shown


def test_an_edge_in_the_address_shows_the_very_text_that_passed(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "South: 53 %")

    page = " ".join(browser.get(f"/runs/{driving.run.code}/?edge=s1:s3").content.decode().split())

    assert 'data-source="s1" open data-marked' in page
    assert "South: 53 %" in page


def test_an_empty_result_is_said_to_be_left_out(browser: Client, driving: Driving) -> None:
    driving.finish("s1", " ")
    driving.finish("s3", "South.")

    assert "empty, left out" in panel(browser, driving.run, "s3", "tab=context")


def test_attempts_tell_errors_retries_and_tokens(browser: Client, driving: Driving) -> None:
    driving.fail("s1", failure("overloaded", status=503, partial="Sou"), retry_in_s=1)
    driving.finish("s1", "South", cached_tokens=100, reasoning_tokens=20, output_tokens=30)

    shown = words(panel(browser, driving.run, "s1", "tab=attempts"))

    assert "Attempt 1 failed" in shown
    assert "Server, HTTP 503 overloaded" in shown
    assert "Tokens in 120 of them 100 cached" in shown
    assert "Tokens out 30 of them 20 reasoning" in shown
    assert "attempt 2 of 2" in shown
    assert "<p>Sou</p>" in panel(browser, driving.run, "s1", "attempt=1")


def test_a_cut_call_shows_what_had_come_and_an_estimate_of_what_it_cost(
    browser: Client, ada: User, driving: Driving
) -> None:
    attempt = driving.start("s1")
    services.stop_run(run=driving.told(), by=ada, now=driving.tick())

    driving.desk.cut({attempt.stream: "Sou"})

    assert "this call was cut after 3 characters" in panel(browser, driving.run, "s1")
    assert "Tokens out ≈ 1" in words(panel(browser, driving.run, "s1", "tab=attempts"))


def test_a_late_reply_is_billed_and_not_used(browser: Client, ada: User, driving: Driving) -> None:
    attempt = driving.start("s1")
    services.stop_run(run=driving.told(), by=ada, now=driving.tick())

    driving.late("s1", attempt, "South")

    assert "Late: billed, not used" in panel(browser, driving.run, "s1")
    assert "billed, not used" in panel(browser, driving.run, "s1", "tab=attempts")


def test_a_reused_result_names_its_run_and_what_it_once_cost(browser: Client, ada: User, driving: Driving) -> None:
    parent = driving.carry({"s1": "53 %", "s2": "few", "s3": "South."})
    assert parent.workflow is not None
    child = services.fork_run(parent=parent, workflow=parent.workflow, by=ada, now=NOON + timedelta(minutes=1))
    Driving(child).reuse("s1")

    assert f"run {parent.code}" in panel(browser, child, "s1")
    assert "Once cost $0.0042" in words(panel(browser, child, "s1"))
    assert "where it cost $0.0042 and took 2.3 s" in words(panel(browser, child, "s1", "tab=attempts"))
    assert "Rendered again = as sent." in panel(browser, child, "s1", "tab=prompt")


def test_a_skipped_step_says_because_of_whom(browser: Client, driving: Driving) -> None:
    driving.fail("s1", failure("no such model", kind="not_found", retryable=False))
    driving.write(driving.desk.skip_step, step=driving.step("s3"), because=["s1"])

    assert "Skipped: step 1 has no result that it could read." in words(panel(browser, driving.run, "s3"))


def test_the_request_is_the_messages_as_sent(browser: Client, driving: Driving) -> None:
    attempt = driving.finish("s1", "53 %")

    shown = panel(browser, driving.run, "s1", "tab=request")

    assert "&quot;model&quot;: &quot;sim-birch&quot;" in shown
    assert attempt.digest in shown
    assert "http://127.0.0.1:9" in shown
    assert 'data-copy="#request-source"' in shown


def test_a_long_text_shows_its_first_lines_and_the_rest_on_demand(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "\n".join(f"line {number}." for number in range(1, 501)))

    assert "The first 200 of 500 lines." in words(panel(browser, driving.run, "s1"))
    assert "line 201." not in panel(browser, driving.run, "s1")
    assert "line 500." in panel(browser, driving.run, "s1", "all=1")


@pytest.mark.parametrize("tab", TABS)
def test_what_people_and_models_wrote_is_shown_as_text(browser: Client, ada: User, tab: str) -> None:
    driving = Driving(make_run(by=ada, task=HTML))
    driving.plan(chain(HTML, HTML))
    driving.fail("s1", failure(HTML, partial=HTML), retry_in_s=1)
    driving.finish("s1", HTML)
    driving.finish("s2", HTML)

    for key in ("s1", "s2"):
        for query in ("", "&raw=1", "&attempt=1", "&all=1"):
            shown = panel(browser, driving.run, key, f"tab={tab}{query}")
            assert "<script>alert" not in shown
            assert "<img" not in shown


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_is_a_link_that_works_by_itself(browser: Client, driving: Driving, tab: str) -> None:
    driving.finish("s1", "53 %")

    page = browser.get(f"/runs/{driving.run.code}/?step=s1&tab={tab}").content.decode()

    assert f'data-tab="{tab}" aria-current="true"' in page


@pytest.mark.parametrize(
    "query", ["tab=nonsense", "attempt=99", "attempt=x", "attempt=%00", "source=zz%00", "raw=7&all=7"]
)
def test_odd_addresses_show_what_there_is(browser: Client, driving: Driving, query: str) -> None:
    driving.finish("s1", "53 %")

    assert "53 %" in panel(browser, driving.run, "s1", query)


def test_a_step_that_is_not_there_is_not_found(browser: Client, driving: Driving) -> None:
    assert browser.get(f"/runs/{driving.run.code}/steps/s9/").status_code == 404
    for query in ("step=s9", "step=%00", "edge=s1:%00"):
        assert "About this run" in browser.get(f"/runs/{driving.run.code}/?{query}").content.decode()
