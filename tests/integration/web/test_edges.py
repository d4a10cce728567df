"""The page of a run's edges: what can be tried and for how much, what was found, and how carefully that is said."""

import html
import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.runs import experiments
from apps.runs.lineage import lineage_of
from apps.runs.models import Experiment, Run, Variant
from apps.runs.services import stop_run
from apps.workers.models import Worker
from apps.workflows.workflow import Workflow
from tests.factories import Driving, chain, failure, make_run
from tests.integration.web.given import finished, workflow_of

HTML = '<script>alert(1)</script> "><img src=x onerror=alert(2)>'
# Step 4 answers the task; of what it reads, step 2 reads nothing and step 3 reads step 1.
FLOW = workflow_of(("s1", "", []), ("s2", "", []), ("s3", "", ["s1"]), ("s4", "", ["s2", "s3"]))
RESULTS = {"s1": "South", "s2": "North", "s3": "South: 53 %", "s4": "I looked at both.\n\nAnswer: South"}


@pytest.fixture
def run(ada: User) -> Run:
    driving = Driving(make_run(by=ada))
    driving.plan(FLOW)
    return driving.carry(RESULTS)


def shown(client: Client, run: Run, path: str = "", **query: str) -> str:
    answer = client.get(f"/runs/{run.code}/edges/{path}", query)
    assert answer.status_code == 200
    return words_of(answer)


def words_of(answer: Any) -> str:
    return " ".join(html.unescape(answer.content.decode()).split())


def ask(client: Client, run: Run, *edges: str, **given: str) -> Any:
    return client.post(f"/runs/{run.code}/edges/try/", {"edges": edges, "limit_usd": "5"} | given)


def answered(experiment: Experiment, source: str, reader: str, results: dict[str, str]) -> Run:
    """A fork of the experiment is carried out: these steps answer, all others are taken over."""
    fork = experiment.variants.get(source=source, reader=reader).fork
    assert fork is not None
    assert fork.workflow is not None
    driving = Driving(fork)
    for key in fork.workflow.keys:
        if key in results:
            driving.finish(key, results[key])
        else:
            driving.reuse(key)
    last = driving.step(fork.workflow.keys[-1])
    done = driving.succeed(last.result, step=last.key)
    experiments.go_on_after(run_id=done.pk, now=timezone.now())
    return done


def tried(run: Run, by: User, *edges: tuple[str, str], baseline: bool = False) -> Experiment:
    return experiments.start_experiment(
        run=run, edges=edges, baseline=baseline, limit_usd=Decimal(5), by=by, now=timezone.now()
    )


def edges_in(page: str) -> list[str]:
    """The edges of the table, in its order."""
    return re.findall(r'<tr id="edge-([\w-]+)"', page)


# --- before anything is paid ---------------------------------------------------------------------------------------


def test_every_edge_is_offered_with_what_trying_it_runs_and_likely_costs(browser: Client, run: Run) -> None:
    page = shown(browser, run)

    assert re.findall(r'name="edges" value="([\w:]+)" checked', page) == ["s1:s3", "s2:s4", "s3:s4"]
    assert "2 steps, likely $" in page  # without 1 → 3, steps 3 and 4 run
    assert re.search(r"As chosen below: likely \$0\.\d+, at most \$\d", page)
    assert "once more without any change" in page
    limit = re.search(r'name="limit_usd"[^>]* value="([\d.]+)"', page)
    assert limit is not None
    assert Decimal(limit[1]) > 0


def test_what_was_tried_is_not_chosen_again(browser: Client, ada: User, run: Run) -> None:
    answered(tried(run, ada, ("s2", "s4")), "s2", "s4", {"s4": "Answer: North"})

    page = shown(browser, run)

    assert re.findall(r'name="edges" value="([\w:]+)" checked', page) == ["s1:s3", "s3:s4"]
    assert page.count("tried already") == 1
    assert "step 4 is asked once more, which makes another sample" in shown(browser, run, edge="s2:s4")


def test_an_edge_that_was_tried_is_tried_again_with_its_reader_asked_anew(browser: Client, ada: User, run: Run) -> None:
    answered(tried(run, ada, ("s3", "s4")), "s3", "s4", {"s4": "Answer: North"})
    again = tried(run, ada, ("s3", "s4"))
    fork = again.variants.get().fork
    assert fork is not None
    assert fork.fresh == ["s4"]
    answered(again, "s3", "s4", {"s4": RESULTS["s4"]})

    page = shown(browser, run)

    assert edges_in(page) == ["s3-s4"]
    assert "the same answer 1 of 2 times" in page
    assert re.search(r"\d+ % to 100 % alike", page)
    assert "Few samples were taken" in page
    assert page.count(">Compare<") == 2


def test_one_edge_alone_is_told_step_by_step(browser: Client, run: Run) -> None:
    page = shown(browser, run, edge="s1:s3")

    assert "Without the edge 1 → 3" in page
    fates = re.findall(r'<li data-verdict="(\w+)">', page)
    assert fates == ["reuse", "reuse", "run", "run"]
    assert "Run 2 steps without this edge" in page
    assert "Try every edge once" not in page


def test_an_edge_that_is_none_shows_the_page_of_all(browser: Client, run: Run) -> None:
    assert "Try every edge once" in shown(browser, run, edge="s1:s4")
    assert "Try every edge once" in shown(browser, run, edge="\0")


def test_where_something_would_run_anyway_it_is_said_that_the_edge_is_not_alone(browser: Client, run: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:seed=2")

    page = shown(browser, run)

    assert "What differs is not the edge’s doing alone." in page
    assert "step 1 runs again, because its instruction, worker or access list changed" in page


def test_where_a_result_was_written_by_hand_a_fork_cannot_take_it_over_and_it_is_said(
    browser: Client, run: Run
) -> None:
    run.steps.filter(key="s3").update(result="West", status="written")  # in the place of what the worker had said

    assert f"step 3 takes what a worker answered in run {run.code}" in shown(browser, run)


def test_of_many_edges_only_so_many_are_offered_and_it_is_said(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    many = chain(*(f"Do {number}" for number in range(12)))  # 66 edges
    driving.plan(many)
    run = driving.carry({key: "x" * at for at, key in enumerate(many.keys, start=1)})

    page = shown(browser, run)

    assert len(re.findall('name="edges"', page)) == 60
    assert "This workflow has 66 edges, and 60 are tried at once" in page
    assert 'value="s1:s12"' not in page  # of the shortest text


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda run: None, "has not ended yet"),
        (lambda run: stop_run(run=run, by=run.owner, now=timezone.now()), "there is no answer"),
    ],
)
def test_a_run_without_an_answer_says_why_nothing_can_be_tried(
    browser: Client, ada: User, spoil: Any, why: str
) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(FLOW)
    spoil(driving.told())

    answers = [browser.get(f"/runs/{driving.run.code}/edges/"), ask(browser, driving.run, "s1:s3")]

    assert [each.status_code for each in answers] == [409, 409]
    assert all(why in words_of(each) for each in answers)
    assert not Experiment.objects.exists()


def test_a_run_in_which_no_step_reads_another_says_so(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(workflow_of(("s1", "", [])))
    run = driving.carry({"s1": "South"})

    assert "there is no edge to switch off" in words_of(browser.get(f"/runs/{run.code}/edges/"))


# --- beginning and stopping ----------------------------------------------------------------------------------------


def test_the_chosen_edges_are_tried_within_the_limit_that_was_given(browser: Client, run: Run) -> None:
    answer = ask(browser, run, "s1:s3", "s3:s4", baseline="1", limit_usd="$2.50", reason="which matter?")

    experiment = Experiment.objects.get()
    assert answer["Location"] == f"/runs/{run.code}/edges/#results"
    assert experiment.limit_usd == Decimal("2.5")
    assert [(each.source, each.reader) for each in experiment.variants.all()] == [("", ""), ("s1", "s3"), ("s3", "s4")]


def test_one_edge_alone_leads_to_the_run_without_it(browser: Client, run: Run) -> None:
    answer = ask(browser, run, alone="s2:s4")

    fork = run.children.get()
    assert answer["Location"] == f"/runs/{fork.code}/"
    assert fork.workflow is not None
    assert fork.workflow.step("s4").access == ("s3",)


@pytest.mark.parametrize(
    ("edges", "limit", "why"),
    [
        ([], "5", "Choose at least one edge to try."),
        (["s1:s4"], "5", "“s4” does not read “s1” in this run."),
        (["nonsense"], "5", "“” does not read “nonsense” in this run."),
        (["s1:s3"], "", "Say what it may cost at most."),
        (["s1:s3"], "a lot", "Give a sum in USD such as 0.50"),
    ],
)
def test_what_cannot_be_tried_comes_back_as_it_was_filled_in(
    browser: Client, run: Run, edges: list[str], limit: str, why: str
) -> None:
    answer = ask(browser, run, *edges, limit_usd=limit, reason="because")

    page = words_of(answer)
    assert answer.status_code == 422
    assert why in page
    assert 'value="because"' in page
    assert not Experiment.objects.exists()


def test_a_worker_that_is_gone_is_told_of_when_it_is_tried(browser: Client, run: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(enabled=False)

    answer = ask(browser, run, "s1:s3")

    assert answer.status_code == 422
    assert "sim-birch" in words_of(answer)


def test_a_second_experiment_waits_for_the_first(browser: Client, run: Run) -> None:
    ask(browser, run, "s1:s3")

    answer = ask(browser, run, "s3:s4")

    assert answer.status_code == 409
    assert "is under way. Wait for its end, or stop it." in words_of(answer)


def test_an_experiment_is_stopped_with_its_forks(browser: Client, run: Run) -> None:
    ask(browser, run, "s1:s3", "s3:s4")

    answer = browser.post(f"/runs/{run.code}/edges/stop/", follow=True)

    assert Experiment.objects.get().status == Experiment.Status.STOPPED
    assert not Run.objects.filter(parent=run, finished_at=None).exists()
    assert "2 forks not tried" in words_of(answer)
    again = browser.post(f"/runs/{run.code}/edges/stop/", follow=True)
    assert "No experiment on this run is under way any more." in words_of(again)


# --- what was found ------------------------------------------------------------------------------------------------


def test_the_edges_are_ranked_by_what_they_do_to_the_answer(browser: Client, ada: User, run: Run) -> None:
    experiment = tried(run, ada, ("s1", "s3"), ("s2", "s4"), ("s3", "s4"))
    answered(experiment, "s1", "s3", {"s3": "South: 53 %", "s4": "Another look.\n\nAnswer: south."})
    answered(experiment, "s2", "s4", {"s4": RESULTS["s4"]})
    answered(experiment, "s3", "s4", {"s4": "I cannot tell.\n\nAnswer: North"})

    page = shown(browser, run)

    assert edges_in(page) == ["s3-s4", "s1-s3", "s2-s4"]
    says = re.findall(r'<span class="mark" data-kind="(\w+)">([^<]+)</span>', page)
    assert says == [
        ("other", "another answer"),
        ("same", "the same answer, in other words"),
        ("same", "the same text"),
    ]
    assert "no effect on the answer seen here" in page
    assert "it is not known how much the answer changes by itself" in page


def test_what_does_not_go_farther_than_the_answer_does_by_itself_is_called_chance(
    browser: Client, ada: User, run: Run
) -> None:
    experiment = tried(run, ada, ("s3", "s4"), baseline=True)
    answered(experiment, "", "", RESULTS | {"s4": "Nothing to be seen here. Answer: West"})
    answered(experiment, "s3", "s4", {"s4": "I looked at both.\n\nAnswer: North"})

    page = shown(browser, run)

    assert "Run once more without any change, the answer was" in page
    assert "(another answer)" in page
    assert "no farther than it goes by itself" in page
    assert "Each edge was tried once, on this one task" in page


def test_each_row_leads_to_the_fork_to_the_comparison_and_to_the_edge_in_the_graph(
    browser: Client, ada: User, run: Run
) -> None:
    fork = answered(tried(run, ada, ("s2", "s4")), "s2", "s4", {"s4": "Answer: North"})

    page = shown(browser, run)

    assert f'href="/runs/{fork.code}/"' in page
    assert f'href="/compare/?a={run.code}&b={fork.code}"' in page
    assert f'href="/runs/{run.code}/?edge=s2:s4"' in page
    assert browser.get(f"/compare/?a={run.code}&b={fork.code}").status_code == 200


def test_they_can_be_ranked_by_what_they_save(browser: Client, ada: User, run: Run) -> None:
    experiment = tried(run, ada, ("s1", "s3"), ("s3", "s4"))
    answered(experiment, "s1", "s3", {"s3": "South: 53 %"} | {"s4": RESULTS["s4"]})
    answered(experiment, "s3", "s4", {"s4": "Answer: North"})
    Variant.objects.filter(source="s1").update(saved_usd=Decimal("0.5"), saved_tokens=900)
    Variant.objects.filter(source="s3").update(saved_usd=Decimal("-0.5"), saved_tokens=-900)

    assert edges_in(shown(browser, run)) == ["s3-s4", "s1-s3"]
    by_cost = shown(browser, run, by="cost")
    assert edges_in(by_cost) == ["s1-s3", "s3-s4"]
    assert "−900 tok" in by_cost
    assert "−$0.500" in by_cost


def test_a_fork_that_failed_says_with_which_words(browser: Client, ada: User, run: Run) -> None:
    experiment = tried(run, ada, ("s3", "s4"))
    fork = experiment.variants.get().fork
    assert fork is not None
    driving = Driving(fork)
    for key in ("s1", "s2", "s3"):
        driving.reuse(key)
    driving.fail("s4", failure("The endpoint is down."))
    driving.give_up("Step 4 failed: The endpoint is down.", step="s4", code="server")
    experiments.go_on_after(run_id=fork.pk, now=timezone.now())

    page = shown(browser, run)

    assert "no answer" in page
    assert "Step 4 failed: The endpoint is down." in page


def test_a_later_experiment_adds_to_what_is_known(browser: Client, ada: User, run: Run) -> None:
    answered(tried(run, ada, ("s2", "s4")), "s2", "s4", {"s4": "Answer: North"})
    answered(tried(run, ada, ("s3", "s4")), "s3", "s4", {"s4": RESULTS["s4"]})

    assert edges_in(shown(browser, run)) == ["s2-s4", "s3-s4"]


# --- live ----------------------------------------------------------------------------------------------------------


def test_while_it_is_under_way_the_results_are_fetched_again_and_then_no_more(
    browser: Client, ada: User, run: Run
) -> None:
    experiment = tried(run, ada, ("s2", "s4"), ("s3", "s4"))
    answered(experiment, "s2", "s4", {"s4": "Answer: North"})

    going = shown(browser, run)
    news = shown(browser, run, "results/", tried="0-running")
    no_news = shown(browser, run, "results/", tried="1-running")
    answered(experiment, "s3", "s4", {"s4": RESULTS["s4"]})
    over = shown(browser, run, "results/", tried="1-running")

    assert 'hx-trigger="every 2s"' in going
    assert "tried=1-running" in going
    assert "1 of 2 forks" in going
    assert "1 of 2 forks have ended." in news
    assert 'role="status"' not in no_news
    assert "2 of 2 forks have ended; the experiment is over." in over
    assert "hx-trigger" not in over


# --- habits --------------------------------------------------------------------------------------------------------


def test_what_models_and_people_wrote_is_shown_as_text(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, task=HTML))
    driving.plan(chain(HTML, HTML))
    run = driving.carry({"s1": HTML, "s2": HTML})
    answered(tried(run, ada, ("s1", "s2")), "s1", "s2", {"s2": f"{HTML} more"})

    for query in ("", "?edge=s1:s2", f"?edge={HTML}"):
        page = browser.get(f"/runs/{run.code}/edges/{query}").content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_results_take_as_many_queries_for_one_edge_as_for_many(
    browser: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many = chain(*(f"Do {number}" for number in range(5)))
    driving = Driving(make_run(by=ada))
    driving.plan(many)
    run = driving.carry(dict.fromkeys(many.keys, "said"))
    edges = [(source, step.key) for step in many.steps for source in step.access]
    experiment = tried(run, ada, *edges)
    Variant.objects.filter(experiment=experiment).update(state="done", likeness=0.5, is_same_answer=False)

    browser.get("/account/")  # that the session was used is noted once a minute
    with django_assert_max_num_queries(14):
        assert len(edges_in(shown(browser, run, "results/"))) == len(edges)


def test_an_edge_in_the_panel_of_a_step_leads_here(browser: Client, ada: User) -> None:
    run = finished(ada)

    panel = browser.get(f"/runs/{run.code}/steps/s2/", {"tab": "context"}).content.decode()

    assert f'href="/runs/{run.code}/edges/?edge=s1:s2"' in panel


def test_a_run_that_succeeded_leads_here_from_its_menu(browser: Client, ada: User, run: Run) -> None:
    assert f'href="/runs/{run.code}/edges/"' in browser.get(f"/runs/{run.code}/").content.decode()
    held: Workflow = FLOW
    driving = Driving(make_run(by=ada))
    driving.plan(held)
    assert "/edges/" not in browser.get(f"/runs/{driving.run.code}/").content.decode()


def test_the_forks_of_an_experiment_are_listed_here_and_nowhere_else(browser: Client, ada: User, run: Run) -> None:
    forks = [answered(experiment, *edge, {"s4": RESULTS["s4"]}) for experiment, edge in _on_two_edges(run, ada)]

    places = [browser.get(path).content.decode() for path in ("/", "/runs/", f"/runs/{run.code}/")]

    assert not any(f"/runs/{fork.code}/" in place for fork in forks for place in places)
    assert "Edges: 2 tried…" in places[2]
    assert lineage_of(run).is_alone
    assert all(fork.code in shown(browser, run) for fork in forks)


def _on_two_edges(run: Run, by: User) -> list[tuple[Experiment, tuple[str, str]]]:
    experiment = tried(run, by, ("s2", "s4"), ("s3", "s4"))
    return [(experiment, ("s2", "s4")), (experiment, ("s3", "s4"))]


def test_a_run_that_somebody_made_without_one_edge_is_a_fork_like_any(browser: Client, ada: User, run: Run) -> None:
    fork = answered(tried(run, ada, ("s2", "s4")), "s2", "s4", {"s4": "Answer: North"})

    assert f"/runs/{fork.code}/" in browser.get("/runs/").content.decode()
    assert f"/runs/{fork.code}/" in browser.get(f"/runs/{run.code}/").content.decode()
    assert lineage_of(run).size == 2


def test_the_events_of_the_run_tell_of_the_experiment(browser: Client, ada: User, run: Run) -> None:
    answered(tried(run, ada, ("s2", "s4")), "s2", "s4", {"s4": "Answer: North"})

    page = words_of(browser.get(f"/runs/{run.code}/", {"view": "events"}))

    assert "limit of the experiment: $5.00" in page
    assert "1 of 1 fork" in page
    assert "all tried" in page
