"""A run as one file: everything inside, nothing asked for, and nothing that is written in it can run."""

import base64
import hashlib
import json
import re

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.audit import log
from apps.runs.models import Run
from apps.web.keeping.replay import MOST_CHARS, Replay, as_file, as_json_script
from tests.factories import NOON, Driving, chain, failure, make_run
from tests.functional.web.browsing import HOSTILE
from tests.integration.web.given import a_run, finished, workflow_of


def file_of(client: Client, run: Run) -> str:
    response = client.get(f"/runs/{run.code}/replay/")
    assert response.status_code == 200
    assert response["Content-Disposition"] == f"attachment; filename*=UTF-8''conductor-run-{run.code}.html"
    return response.content.decode()


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def part(page: str, opening: str, closing: str) -> str:
    return page.split(opening, 1)[1].split(closing, 1)[0]


def test_the_file_asks_nobody_for_anything(browser: Client, ada: User) -> None:
    page = file_of(browser, finished(ada))
    without = page.replace(part(page, "<style>", "</style>"), "").replace(
        part(page, '<script type="module">', "</script>"), ""
    )

    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', without)
    assert "@import" not in part(page, "<style>", "</style>")
    assert "url(" not in part(page, "<style>", "</style>")


def test_its_policy_lets_that_one_script_and_those_styles_run_and_nothing_else(browser: Client, ada: User) -> None:
    page = file_of(browser, finished(ada))
    policy = part(page, 'Content-Security-Policy" content="', '"').replace("&#x27;", "'")

    assert policy.startswith("default-src 'none'; ")
    script, styles = part(page, '<script type="module">', "</script>"), part(page, "<style>", "</style>")
    assert f"script-src {hash_of(script)};" in policy
    assert f"style-src {hash_of(styles)};" in policy
    assert "unsafe" not in policy


def test_the_script_cannot_be_ended_from_within(browser: Client, ada: User) -> None:
    page = file_of(browser, finished(ada))

    assert page.count("</script") == 2
    assert "<!--" not in page.split("</head>")[1]
    assert page.endswith("</body>\n</html>\n")


def test_hostile_texts_are_texts(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, task=f"Say it.\n{HOSTILE}"))
    driving.plan(chain(HOSTILE, HOSTILE))
    driving.finish("s1", HOSTILE)
    driving.fail("s2", failure(HOSTILE, retryable=False))
    page = file_of(browser, driving.give_up(HOSTILE, step="s2", code="step-failed"))
    body = page.split("<body")[1].split('<script type="application/json"')[0]

    assert "<script" not in body
    assert "<img" not in body
    assert "onload=" not in re.sub(r">[^<]*<", "><", body)
    assert page.count("</script") == 2


def test_the_record_is_json_that_holds_the_events_as_they_were(browser: Client, ada: User) -> None:
    run = finished(ada)
    record = json.loads(part(file_of(browser, run), 'id="record">', "</script>"))

    told = record["runs"][""]
    assert [event["verb"] for event in told][:2] == ["run.submitted", "run.claimed"]
    assert told[-1]["verb"] == "run.succeeded"
    assert [event["seq"] for event in told] == sorted(event["seq"] for event in told)
    assert all("actor" not in event for event in told)
    assert record["workers"]["sim-birch"]["simulated"] is True


def test_errors_are_told_to_who_may_see_them(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth"))
    driving.fail("s1", failure("HTTP 500 of the endpoint", retryable=False))

    assert "HTTP 500 of the endpoint" in file_of(browser, driving.give_up("Step 1 failed", step="s1", code="server"))


def test_signs_that_could_end_a_script_are_written_in_another_way() -> None:
    text = as_json_script({"a": "</script><!--&\u2028"})

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--&\u2028"}


def test_a_text_beyond_all_measure_is_cut_and_the_page_says_so(browser: Client, ada: User) -> None:
    run = finished(ada)
    Run.objects.filter(pk=run.pk).update(answer="x" * (MOST_CHARS + 5))

    assert "The beginning of 200,005 characters." in file_of(browser, run)


def test_a_run_that_goes_on_is_not_downloaded_yet(browser: Client, ada: User) -> None:
    run = a_run(ada, status="running")

    response = browser.get(f"/runs/{run.code}/replay/")

    assert response.status_code == 409
    assert "still goes on" in response.content.decode()
    assert "Once the run has ended" in browser.get(f"/runs/{run.code}/export/").content.decode()


def test_of_many_steps_that_another_may_not_read_only_the_number_is_told(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    names = [f"s{number}" for number in range(1, 16)]
    driving.plan(workflow_of(*((name, "", []) for name in names)))
    page = file_of(browser, driving.carry(dict.fromkeys(names, "x")))

    last = page.split('id="step-s15"')[1].split("</details>")[0]
    assert "14 earlier steps" in last
    assert last.count("<li") == 1


def test_however_many_steps_there_are_the_same_questions_are_asked_of_the_database(ada: User) -> None:
    def asked(*instructions: str) -> int:
        driving = Driving(make_run(by=ada, submit_key=str(len(instructions))))
        driving.plan(chain(*instructions))
        run = driving.carry({f"s{number}": "x" for number in range(1, len(instructions) + 1)})
        with CaptureQueriesContext(connection) as queries:
            as_file(Replay(run, now=NOON))
        return len(queries)

    assert asked("a", "b") == asked(*"abcdefghijkl")


def test_that_it_was_downloaded_stands_in_the_trail(browser: Client, ada: User) -> None:
    run = finished(ada)
    file_of(browser, run)

    last = log.read(run.trail)[-1]
    assert (last.verb, last.data, last.actor.label) == ("run.exported", {"as": "replay"}, "ada")
