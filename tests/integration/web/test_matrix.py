"""The matrix of a run: who may read whom, and what the calls were really sent of that."""

import json
import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.runs.models import Attempt, Run, Step
from apps.web.run.matrix import Cell, Matrix
from apps.web.run.standing import Standing
from tests.factories import Driving, chain, make_run
from tests.integration.web.given import asked_again, decided, finished, workflow_of


def matrix(run: Run) -> Matrix:
    return Matrix(Standing(Run.objects.get(pk=run.pk), now=timezone.now()))


def cell(run: Run, row: int, column: int) -> Cell:
    return matrix(run).rows[row - 1].cells[column - 1]


def states(run: Run) -> list[list[str]]:
    return [[each.state for each in row.cells] for row in matrix(run).rows]


def words(html: bytes) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html.decode()).split())


def test_before_anything_ran_it_says_who_may_read_whom(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3", "", ["s2"])))

    assert states(driving.run) == [[], ["may"], ["never", "may"]]
    assert matrix(driving.run).summary == "2 of 3 possible reads allowed, 0 given"


def test_what_was_given_is_filled_with_the_tokens_that_passed(ada: User) -> None:
    run = finished(ada)

    given = cell(run, 2, 1)

    assert (given.state, given.tokens, given.is_estimated) == ("given", 2, False)
    assert given.words == "Step 2, of step 1: 2 tokens passed"
    assert matrix(run).summary == "1 of 1 possible read allowed, 1 given: 2 tokens"


def test_a_result_of_a_step_that_was_not_called_yet_may_be_read_and_has_not_passed(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    driving.finish("s1", "South")

    assert cell(driving.run, 2, 1).state == "may"


def test_an_empty_result_is_left_out(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    run = driving.carry({"s1": " \n", "s2": "Nothing to go by."})

    assert (cell(run, 2, 1).state, cell(run, 2, 1).figure) == ("empty", "0")


def test_it_goes_by_what_was_sent_and_not_by_what_may_be_read(ada: User) -> None:
    run = finished(ada)
    call = Attempt.objects.get(run=run, step__key="s2")
    said = json.loads(json.dumps(call.sent).replace("South: 53 %", "[withheld]"))
    Attempt.objects.filter(pk=call.pk).update(sent=said)

    assert (cell(run, 2, 1).state, cell(run, 2, 1).figure) == ("kept", "–")
    assert matrix(run).has_kept


def test_it_goes_by_the_last_call_of_a_step(ada: User) -> None:
    run = finished(ada)
    call = Attempt.objects.get(run=run, step__key="s2")
    call.pk, call.number, call.sent = None, 2, [{"role": "user", "content": "Alone."}]
    call.save()

    assert cell(run, 2, 1).state == "kept"


@pytest.mark.parametrize(
    ("tokens", "figure"),
    [(87, "87"), (999, "999"), (1_204, "1.2k"), (9_949, "9.9k"), (13_480, "13k"), (250_000, "250k")],
)
def test_a_figure_fits_its_cell(tokens: int, figure: str) -> None:
    assert Cell(2, 1, "s1", "given", tokens, False).figure == figure


def test_where_nobody_has_counted_the_tokens_are_about_a_quarter_of_the_letters(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    driving.finish("s1", "x" * 401, estimated=True)
    driving.finish("s2", "53 %")

    assert cell(driving.run, 2, 1).tokens == 101
    assert cell(driving.run, 2, 1).words == "Step 2, of step 1: about 101 tokens passed"


def test_a_result_that_a_person_wrote_is_read_like_any_other(ada: User) -> None:
    run = finished(ada)
    Step.objects.filter(run=run, key="s1").update(status=Step.Status.WRITTEN)

    assert cell(run, 2, 1).state == "given"


def test_its_page_leads_to_the_steps_and_to_the_texts_that_passed(browser: Client, ada: User) -> None:
    run = finished(ada)

    page = browser.get(f"/runs/{run.code}/?view=matrix").content.decode()

    assert f'href="/runs/{run.code}/?view=matrix&amp;edge=s1:s2"' in page
    assert 'aria-label="Step 2, of step 1: 2 tokens passed"' in page
    assert 'data-step="s2"' in page
    edge = words(browser.get(f"/runs/{run.code}/?view=matrix&edge=s1:s2").content)
    assert "South: 53 %" in edge
    assert "Rows read columns." in edge


def test_each_row_has_a_cell_for_every_column(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain(*(f"Do part {number}" for number in range(1, 6))))

    page = browser.get(f"/runs/{driving.run.code}/view/?view=matrix").content.decode()

    head, *rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    columns = head.count('scope="col"')
    widths = [row.count("<td data-cell") + sum(map(int, re.findall(r'colspan="(\d+)"', row))) for row in rows]
    assert widths == [columns] * 5 == [4] * 5


def test_where_a_later_round_begins_a_line_is_drawn(ada: User) -> None:
    driving = Driving(make_run(by=ada, rounds=2))
    driving.plan(workflow_of(("s1", "", [])))
    driving.finish("s1", "South")
    grown = workflow_of(("s1", "", []), ("s2@2", "", ["s1"]), ("s3@2", "", ["s2"]))
    decided(driving, asked_again(driving, round=2), verdict="changed", workflow=grown)

    assert [row.begins_round for row in matrix(driving.run).rows] == [1, 2, 0]


def test_a_run_without_a_plan_says_so(browser: Client, ada: User) -> None:
    page = words(browser.get(f"/runs/{make_run(by=ada).code}/?view=matrix").content)

    assert "Who may read whom shows here once there is a plan." in page


def test_a_matrix_costs_as_many_queries_for_many_steps_as_for_few(
    browser: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    few = finished(ada)
    many = Driving(make_run(by=ada))
    many.plan(chain(*(f"Do part {number}" for number in range(1, 5))))
    run = many.carry({f"s{number}": "done" for number in range(1, 5)})

    browser.get("/account/")  # that the session was used is noted once a minute
    for each in (few, run):
        with django_assert_max_num_queries(12):
            assert browser.get(f"/runs/{each.code}/view/?view=matrix").status_code == 200
