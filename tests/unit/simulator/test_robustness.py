"""Whatever is sent, a model replies: no text makes a solver, a planner or a reader of prompts raise."""

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.simulator.briefs import read_brief
from apps.simulator.models import MODELS
from apps.simulator.speak import speak

from .prompts import asked_to_conduct, asked_to_work
from .tasks import COUNTDOWN, NO_PUZZLES, SAMPLES, VARIANTS

WORDS = sorted({word for task in (*SAMPLES, *VARIANTS, *NO_PUZZLES, COUNTDOWN) for word in task.split(" ")})
PIECES = [
    *WORDS,
    "0",
    "0.0",
    "-1",
    "99999999999999999999",
    "1/0",
    "0 %",
    "Region,Q1\nA,0\nB,0\n",
    "A) 0 B) 1",
    "<task>",
    "é",
    "\x00",
]

shuffled_tasks = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(task=shuffled_tasks, instruction=shuffled_tasks, response=shuffled_tasks)
def test_a_worker_replies_to_anything(task, instruction, response):
    assert speak(MODELS["sim-delta"], asked_to_work(task, instruction, [(task, response)])).text


@settings(max_examples=300, deadline=None)
@given(task=shuffled_tasks, seed=st.integers())
def test_a_conductor_plans_for_anything(task, seed):
    texts = asked_to_conduct(task)

    assert "access_list = [" in speak(MODELS["sim-conductor"], texts, seed=seed).text
    assert read_brief(texts).question == task.strip()


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_plain_text_of_any_kind_gets_a_reply(text):
    assert speak(MODELS["sim-atlas"], (("user", text),)).text
    assert speak(MODELS["sim-conductor"], asked_to_conduct(text)).text
