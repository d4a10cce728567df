"""What events of flow rules say."""

from apps.web.words.events import facts_of

ONE = {"carries": "secret", "needs": "trusted", "reader": "s2", "model": "sim-birch", "path": ["task:", "s2"]}


def test_an_approval_says_of_which_run_each_call_is():
    data = {"rules": [{**ONE, "run": "outer"}, {**ONE, "run": "inner"}], "within": ["inner"]}

    assert list(facts_of("run.excepted", data, {})) == [
        "secret → s2: sim-birch is not trusted",
        "secret → s2 of run inner: sim-birch is not trusted",
        "with what holds run inner",
    ]
