"""What workers reply to their part of a workflow."""

import json

import pytest

from apps.simulator.briefs import Brief
from apps.simulator.claims import claimed
from apps.simulator.conduct import make_plan
from apps.simulator.excuse import QUOTED, is_excuse
from apps.simulator.models import MODELS
from apps.simulator.reply import tokens
from apps.simulator.solvers.countdown import verdict
from apps.simulator.speak import speak

from .prompts import asked_to_work
from .tasks import COUNTDOWN, NO_PUZZLES, OPEN_ENDED, SAMPLES

ATLAS, BIRCH, CEDAR, DELTA = (MODELS[f"sim-{name}"] for name in ("atlas", "birch", "cedar", "delta"))
WORKERS = (ATLAS, BIRCH, CEDAR, DELTA)
TABLE = next(task for task in SAMPLES if task.startswith("Region,"))


def carried_out(task, plan, workers=WORKERS):
    """The results of a plan's steps, each worker reading what it may."""
    results: list[str] = []
    for instruction, model, reads in zip(plan.subtasks, plan.models, plan.reads, strict=True):
        texts = asked_to_work(task, instruction, [(plan.subtasks[at], results[at]) for at in reads])
        results.append(speak(workers[model], texts).text)
    return results


@pytest.mark.parametrize("max_steps", [1, 2, 3, 5])
@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_every_workflow_ends_with_the_right_answer(task, answer, max_steps):
    for seed in range(10):
        plan = make_plan(Brief(task, max_steps, ("",) * 4), seed=seed)

        last = carried_out(task, plan)[-1]

        assert claimed(last) == answer, plan.subtasks


@pytest.mark.parametrize("max_steps", [1, 2, 3, 5])
def test_every_workflow_for_countdown_ends_with_an_expression_that_is_right(max_steps):
    for seed in range(10):
        plan = make_plan(Brief(COUNTDOWN, max_steps, ("",) * 4), seed=seed)

        assert verdict(claimed(carried_out(COUNTDOWN, plan)[-1]) or "", COUNTDOWN) == ""


@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_a_strong_model_is_right_alone(task, answer):
    assert claimed(speak(ATLAS, asked_to_work(task, task)).text) == answer
    assert claimed(speak(ATLAS, (("user", task),)).text) == answer


def test_a_weak_model_is_wrong_sometimes_and_always_alike():
    texts = [asked_to_work(f"Compute {n} * 37 + 11.", f"Compute {n} * 37 + 11.") for n in range(200, 300)]

    replies = [speak(DELTA, text).text for text in texts]

    right = sum(claimed(reply) == str(n * 37 + 11) for n, reply in zip(range(200, 300), replies, strict=True))
    assert 40 <= right <= 80
    assert replies == [speak(DELTA, text).text for text in texts]


def test_another_seed_errs_elsewhere():
    texts = [asked_to_work(f"Compute {n} * 37 + 11.", "Do it") for n in range(200, 230)]

    assert [speak(DELTA, text, seed=1).text for text in texts] != [speak(DELTA, text, seed=2).text for text in texts]


@pytest.mark.parametrize(
    ("instruction", "answer"),
    [
        ("Compute the growth of South from Q1 to Q4 in per cent.", "53.1 %"),
        ("What about north and WEST?", "North: 33.3 %; West: 34.7 %"),
        ("Compare all regions, South too, and name the one that grew most.", "South, 53.1 %"),
        ("Compute (150 - 98) / 98 * 100", "53.0612244898"),
    ],
)
def test_the_subtask_says_which_part_of_the_task_is_wanted(instruction, answer):
    assert claimed(speak(ATLAS, asked_to_work(TABLE, instruction)).text) == answer


def test_a_checker_computes_again_and_says_what_is_wrong():
    attempts = [("Compute the growth of South.", "Answer: 35.1 %"), ("Compute the growth of West.", "**34.7 %**")]

    reply = speak(ATLAS, asked_to_work(TABLE, "Check both results and name the region that grew most.", attempts)).text

    assert "- Step 1 says 35.1 %: not what I get, 53.1 %." in reply
    assert "- Step 2 says 34.7 %: right." in reply
    assert reply.endswith("Answer: South, 53.1 %")


def test_where_the_task_is_hidden_a_checker_goes_with_most_of_what_it_reads():
    answers = [("Solve it", "Answer: 12"), ("Solve it", "Answer: 14"), ("Solve it", "Answer: 14")]

    texts = asked_to_work("hidden", "Decide which result is right.", answers, show_task=False)

    assert claimed(speak(ATLAS, texts).text) == "14"


def test_a_plan_is_a_plan_and_gives_no_result():
    reply = speak(ATLAS, asked_to_work(TABLE, "Plan how to find the region that grew most.")).text

    assert claimed(reply) is None
    assert "1. Compute the growth of region North" in reply


@pytest.mark.parametrize("task", NO_PUZZLES)
def test_what_cannot_be_solved_is_said_to_be_simulated_with_what_was_read(task):
    long = "A sentence to be read. " * 40

    reply = speak(CEDAR, asked_to_work(task, "Verify the draft; return it corrected.", [("Draft it", long)])).text

    assert "**Cedar**, a simulated model" in reply
    assert reply.startswith("## Verify the draft\n")
    assert "Step 1 begins:" in reply
    assert long[:190] in reply
    assert long not in reply


def assert_honest(reply, pieces, model=ATLAS):
    """It names itself simulated, quotes every piece from its start, sets them side by side, and states no result."""
    assert f"I am **{model.name}**, a simulated model." in reply
    assert reply.endswith("_A simulated reply: nothing above is a result._")
    assert not any(line.lower().startswith("answer:") for line in reply.splitlines())
    assert not any(f"Answer: {worker.name}" in reply or f"say: {worker.name}" in reply for worker in WORKERS)
    assert claimed(reply) is None
    for number, piece in enumerate(pieces, 1):
        quote = [f"> {line}".rstrip() for line in piece[:QUOTED].rstrip().splitlines()]
        assert f"Step {number} begins:\n\n" + "\n".join(quote) in reply
    if pieces:
        assert f"| | {' | '.join(f'Step {number}' for number in range(1, len(pieces) + 1))} |" in reply
        assert f"| Characters | {' | '.join(f'{len(piece):,}' for piece in pieces)} |" in reply


@pytest.mark.parametrize("max_steps", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("task", OPEN_ENDED)
def test_every_workflow_for_an_open_ended_task_ends_with_an_honest_reply(task, max_steps):
    for seed in range(8):
        plan = make_plan(Brief(task, max_steps, ("",) * 4), seed=seed)

        results = carried_out(task, plan)

        read = [results[at] for at in plan.reads[-1]]
        if plan.reads[-1] == tuple(range(len(read))):
            assert_honest(results[-1], read)
        assert all(is_excuse(result) for result in results)


@pytest.mark.parametrize(
    "last",
    [
        "Review both drafts and list what is wrong.",
        "Verify the results of the earlier steps; return them corrected.",
        "Synthesise everything before into one final answer.",
        "Compare both and decide which is better.",
        "Aggregate the votes and pick the majority.",
        "Final format check: return the result in the form that the task asks for.",
        "Check that 2 + 2 = 4 holds in the table and settle the final sum of 1200 + 800.",
    ],
)
@pytest.mark.parametrize("show_task", [True, False])
@pytest.mark.parametrize("task", OPEN_ENDED)
def test_reviewers_verifiers_and_format_checks_take_no_introduction_for_an_answer(task, show_task, last):
    for seed in range(4):
        steps: list[tuple[str, str]] = []
        for model, instruction in ((BIRCH, "Draft one."), (DELTA, "Draft another."), (CEDAR, "Review both.")):
            steps.append((instruction, speak(model, asked_to_work(task, instruction, steps), seed=seed).text))

        texts = asked_to_work(task, last, steps, show_task=show_task)

        if show_task or "2 + 2" not in last:  # a sum by itself, with nothing said of a task, is a sum
            assert_honest(speak(ATLAS, texts, seed=seed).text, [result for _, result in steps])


@pytest.mark.parametrize("task", OPEN_ENDED)
def test_pieces_of_a_text_are_not_voted_over_whatever_they_say(task):
    pieces = ["**Clearly.** It is so.\n\nAnswer: SQLite", "I think\n\nAnswer: SQLite", "```\nSQLite\n```"]

    reply = speak(ATLAS, asked_to_work(task, "Decide which is right.", [("Say it", piece) for piece in pieces])).text

    assert_honest(reply, pieces)


def test_bold_words_are_no_vote():
    pieces = [("Solve it", "**Note** that it is so."), ("Solve it", "A **bold** word."), ("Solve it", "Answer: 12")]

    texts = asked_to_work("hidden", "Decide which result is right.", pieces, show_task=False)

    assert_honest(speak(ATLAS, texts).text, [piece for _, piece in pieces])


def test_a_short_question_that_no_solver_knows_is_still_voted_over():
    answers = [("Say it", f"Answer: {name}") for name in ("Homer", "Virgil", "Homer")]

    reply = speak(ATLAS, asked_to_work("Who wrote the Odyssey?", "Decide which is right.", answers)).text

    assert claimed(reply) == "Homer"


def test_a_simulated_reply_is_no_answer_in_json_either():
    form = '{"type": "json_object"}'
    told = speak(DELTA, asked_to_work("", "Write a poem."), response_format=form).text

    assert claimed(told) is None


def test_pieces_are_compared_by_the_points_that_the_task_lists():
    pieces = [
        ("Describe PostgreSQL.", "Backup by pg_dump; a backup a day."),
        ("Describe SQLite.", "No | server: cost 0."),
    ]

    reply = speak(ATLAS, asked_to_work(OPEN_ENDED[-1], "Compare both.", pieces)).text

    assert "| “backup” | 2× | – |\n| “cost” | – | 1× |" in reply


@pytest.mark.parametrize("task", OPEN_ENDED)
def test_every_step_of_an_open_ended_task_can_be_watched(task):
    for seed in range(8):
        plan = make_plan(Brief(task, 5, ("",) * 4), seed=seed)

        for result, model, reads in zip(carried_out(task, plan), plan.models, plan.reads, strict=True):
            worker = WORKERS[model]
            seconds = worker.ttft_ms / 1000 + len(tokens(result)) / worker.rate

            assert 2 <= seconds <= 6 + max(0, len(reads) - 1)


def test_code_that_is_asked_about_is_shown_in_a_fence():
    reply = speak(BIRCH, asked_to_work(NO_PUZZLES[1], "Review `mean`.")).text

    assert "```python\ndef mean(xs):\n" in reply


def test_a_worker_asked_for_json_replies_with_json():
    form = '{"type": "json_object"}'
    note = next(task for task in SAMPLES if "JSON" in task)

    assert json.loads(speak(ATLAS, asked_to_work("", "Compute 2 + 3"), response_format=form).text)["answer"] == "5"
    assert json.loads(speak(ATLAS, asked_to_work(note, note), response_format=form).text)["amount_eur"] == 12480.5


def test_a_question_about_workflows_is_a_question_to_a_worker():
    task = "Which models shall I name in model_id, and what are subtasks and an access_list? <models>Model 0</models>"

    assert "a simulated model" in speak(ATLAS, asked_to_work(task, "Explain it in at most 2 steps.")).text
    assert "a simulated model" in speak(ATLAS, (("user", "Explain model_id, subtasks and access_list."),)).text


@pytest.mark.parametrize(
    ("reply", "claim"),
    [
        ("Answer: -10 %", "-10 %"),
        ("**Answer:** 7", "7"),
        ("**Final answer**: `x - 1`", "x - 1"),
        ("Result:\t(3 + 4)", "(3 + 4)"),
        ("So it is **12**.", "12"),
        ("The answer: unknown to me", None),
    ],
)
def test_a_claim_is_read_with_its_sign(reply, claim):
    assert claimed(reply) == claim
