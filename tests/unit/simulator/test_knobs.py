"""The knobs in a model's name."""

import pytest

from apps.simulator.knobs import BadKnob, Counted, UnknownModel, read_model
from apps.simulator.models import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_a_bare_name_has_the_pace_of_its_model(name):
    model, knobs = read_model(name)

    assert model.id == name
    assert (knobs.ttft_ms, knobs.rate) == (model.ttft_ms, model.rate)
    assert knobs.fail is knobs.say is None


def test_knobs_override_the_model():
    _, knobs = read_model("sim-cedar:ttft=0,rate=50.5,tokens=200,fail=429x2,seed=-3,retry_after=0.5")

    assert (knobs.ttft_ms, knobs.rate, knobs.tokens, knobs.seed, knobs.retry_after_s) == (0, 50.5, 200, -3, 0.5)
    assert knobs.fail == Counted("429", 2)


def test_a_model_can_be_hurried_without_knowing_its_pace():
    model, knobs = read_model("sim-atlas:speed=10")

    assert (knobs.ttft_ms, knobs.rate) == (model.ttft_ms / 10, model.rate * 10)
    assert read_model("sim-atlas:ttft=100,rate=20,speed=4")[1].ttft_ms == 25
    assert (read_model("sim-atlas:speed=0")[1].ttft_ms, read_model("sim-atlas:speed=0")[1].rate) == (0, 0)


def test_a_trace_is_kept_on_request():
    assert read_model("sim-cedar:trace=1")[1].trace
    assert not read_model("sim-cedar:trace=0")[1].trace
    assert not read_model("sim-cedar")[1].trace


def test_a_fault_without_a_count_is_for_every_call():
    assert read_model("sim-delta:fail=hang")[1].fail == Counted("hang", None)


def test_a_million_characters_hurry_unless_they_are_told_not_to():
    assert read_model("sim-conductor:say=million")[1].rate == 0
    assert read_model("sim-conductor:say=million,rate=20")[1].rate == 20


@pytest.mark.parametrize(
    "knob",
    [
        "haste=3",
        "speed=-1",
        "ttft=-1",
        "ttft=fast",
        "tokens=",
        "fail=200",
        "fail=429x",
        "fail=sleep",
        "say=hello",
        "seed=1.5",
        "rate",
        "trace=2",
        "trace",
    ],
)
def test_a_knob_that_cannot_be_understood_is_refused(knob):
    with pytest.raises(BadKnob):
        read_model(f"sim-conductor:{knob}")


def test_bad_plans_are_for_conductors():
    with pytest.raises(BadKnob, match="conducts"):
        read_model("sim-atlas:say=forward")


def test_a_model_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(UnknownModel, match="sim-atlas"):
        read_model("gpt-9:ttft=0")
