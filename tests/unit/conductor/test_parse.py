"""Replies as conductors write them, one case each: what they mean, or why they mean nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from apps.conductor.parse import MOST_CHARS, Parsed, StreamParser, parse

NAMES = {"atlas": 0, "birch": 1, "cedar-2": 2}
Written = tuple[Sequence[int], Sequence[str], Sequence[Sequence[int | str]]]
TWO: Written = ([0, 1], ["Do it.", "Check it."], [[], ["all"]])
ONE: Written = ([0], ["Do it."], [[]])


@dataclass(frozen=True)
class Case:
    name: str
    reply: str
    lists: Written
    repair: str = ""  # one of the repairs holds these words; none was made where they are empty


PLAIN = 'model_id = [0, 1]\nsubtasks = ["Do it.", "Check it."]\naccess_list = [[], ["all"]]'

TOLERATED = [
    Case("as-asked-for", PLAIN, TWO),
    Case("prose-around", f"A simple one, I think.\n\n{PLAIN}\n\nThat should do.", TWO),
    Case("on-one-line", PLAIN.replace("\n", " "), TWO),
    Case("separated-by-commas", PLAIN.replace("\n", ", "), TWO),
    Case("without-spaces", "model_id=[0,1]\nsubtasks=['Do it.','Check it.']\naccess_list=[[],['all']]", TWO),
    Case("windows-line-ends", PLAIN.replace("\n", "\r\n"), TWO),
    Case("colons", PLAIN.replace(" =", ":"), TWO),
    Case("walrus", PLAIN.replace(" =", " :="), TWO),
    Case("full-width-colons", PLAIN.replace(" =", "："), TWO),
    Case("arrows", PLAIN.replace("=", "->"), TWO),
    Case("no-sign-between", PLAIN.replace(" =", ""), TWO),
    Case("headings", PLAIN.replace("model_id =", "### model_id\n").replace(" =", "\n"), TWO),
    Case("bullets", "- " + PLAIN.replace("\n", "\n- "), TWO),
    Case("starred-bullets", "* " + PLAIN.replace("\n", "\n* "), TWO),
    Case("numbered", "1. " + PLAIN.replace("\ns", "\n2. s").replace("\na", "\n3. a"), TWO),
    Case("bold-labels", PLAIN.replace("model_id", "**model_id**").replace("subtasks =", "**subtasks:**"), TWO),
    Case("lists-in-backticks", "model_id: `[0]`\nsubtasks: `['Do it.']`\naccess_list: `[[]]`", ONE),
    Case("escaped-underscores", PLAIN.replace("_", "\\_"), TWO, "was read as model_id"),
    Case("tags", "<model_id>[0]</model_id>\n<subtasks>['Do it.']</subtasks>\n<access_list>[[]]</access_list>", ONE),
    Case(
        "annotated",
        "model_id: list[int] = [0]\nsubtasks: list[str] = ['Do it.']\naccess_list: List[List[int]] = [[]]",
        ONE,
    ),
    Case("remark-at-the-label", PLAIN.replace("model_id", "model_id (one per step)"), TWO),
    Case("fence", f"Here:\n```python\n{PLAIN}\n```\nDone.", TWO),
    Case("fence-never-closed", f"```\n{PLAIN}", TWO),
    Case(
        "fence-for-each-list",
        "model_id:\n```\n[0]\n```\nsubtasks:\n```python\n['Do it.']\n```\naccess_list:\n```\n[[]]\n```",
        ONE,
    ),
    Case("think-block", f"<think>Maybe model_id = [7]?</think>\n{PLAIN}", TWO),
    Case(
        "think-block-opened-by-the-template",
        f"So model_id = [7], subtasks = ['?']\n</think>\n\n{PLAIN}",
        TWO,
        "several sets",
    ),
    Case("think-block-shouted", f"<THINKING>hm</THINKING>{PLAIN}", TWO),
    Case("think-block-never-closed", f"<think>Well.\n{PLAIN}", TWO, "never closed"),
    Case("two-think-blocks", f"<think>a</think> <think>model_id = [5]</think> {PLAIN}", TWO),
    Case("label-model-ids", PLAIN.replace("model_id", "model_ids"), TWO, "“model_ids” was read as model_id"),
    Case("label-model-id", PLAIN.replace("model_id", "Model ID"), TWO, "“Model ID” was read as model_id"),
    Case("label-shouted", PLAIN.replace("model_id", "MODEL_ID"), TWO, "was read as model_id"),
    Case("label-camel", PLAIN.replace("access_list", "accessList"), TWO, "was read as access_list"),
    Case("label-subtask", PLAIN.replace("subtasks", "Subtask"), TWO, "“Subtask” was read as subtasks"),
    Case("label-sub-tasks", PLAIN.replace("subtasks", "Sub-tasks"), TWO, "was read as subtasks"),
    Case("label-access-list", PLAIN.replace("access_list", "Access list"), TWO, "was read as access_list"),
    Case("label-access", PLAIN.replace("access_list", "access"), TWO, "“access” was read as access_list"),
    Case("label-access-lists", PLAIN.replace("access_list", "access_lists"), TWO, "was read as access_list"),
    Case("other-order", "\n".join(reversed(PLAIN.splitlines())), TWO),
    Case(
        "lists-over-lines",
        "model_id = [\n  0,\n  1,\n]\nsubtasks = [\n  'Do it.',\n  'Check it.',\n]\n"
        "access_list = [\n  [],\n  ['all'],\n]",
        TWO,
    ),
    Case("comments", PLAIN.replace("[0, 1]", "[0,  # the strong one: [9]\n 1]  # again"), TWO),
    Case("comments-as-in-javascript", PLAIN.replace("[0, 1]", "[0, // strong\n 1]"), TWO),
    Case("numbers-as-text", PLAIN.replace("[0, 1]", '["0", "1"]'), TWO, "read as numbers"),
    Case("numbers-with-decimals", PLAIN.replace("[0, 1]", "[0.0, 1.0]"), TWO, "decimals"),
    Case("workers-as-models", PLAIN.replace("[0, 1]", '["Model 0", "model_1"]'), TWO, "read as numbers"),
    Case("workers-as-bare-models", PLAIN.replace("[0, 1]", "[Model 0, Model 1]"), TWO, "read as numbers"),
    Case("workers-by-name", PLAIN.replace("[0, 1]", '["atlas", "Birch"]'), TWO),
    Case("worker-with-a-number-in-its-name", PLAIN.replace("[0, 1]", "[cedar-2, 1]"), ([2, 1], *TWO[1:])),
    Case("workers-in-brackets", PLAIN.replace("[0, 1]", "[[0], [1]]"), TWO, "taken out"),
    Case("workers-with-remarks", PLAIN.replace("[0, 1]", "[0 (strong), 1 (fast)]"), TWO, "remarks"),
    Case("all-without-brackets", PLAIN.replace('["all"]]', '"all"]'), TWO, "without brackets"),
    Case("all-without-quotes", PLAIN.replace('["all"]', "[all]"), TWO, "“all”"),
    Case("all-bare", PLAIN.replace('["all"]]', "all]"), TWO, "“all”"),
    Case("all-nested", PLAIN.replace('["all"]', '[["all"]]'), TWO, "nested"),
    Case("all-shouted", PLAIN.replace('"all"', '"ALL"'), TWO, "“all”"),
    Case("all-capitalised", PLAIN.replace('"all"', '" All "'), TWO, "“all”"),
    Case("all-and-more", PLAIN.replace('"all"', '"all", 0'), TWO, "“all”"),
    Case("all-in-the-first-step", PLAIN.replace("[[], ", '[["all"], '), ([0, 1], TWO[1], [["all"], ["all"]])),
    Case("positions", PLAIN.replace('["all"]', "[0]"), (*TWO[:2], [[], [0]])),
    Case("positions-as-text", PLAIN.replace('["all"]', '["0"]'), (*TWO[:2], [[], [0]]), "positions written as text"),
    Case(
        "positions-in-one-text",
        PLAIN.replace('["all"]', '"0, 1"'),
        (*TWO[:2], [[], [0, 1]]),
        "positions written as text",
    ),
    Case("positions-without-brackets", PLAIN.replace('["all"]]', "0]"), (*TWO[:2], [[], [0]]), "without brackets"),
    Case("positions-nested", PLAIN.replace('["all"]', "[[0]]"), (*TWO[:2], [[], [0]]), "nested"),
    Case("positions-as-a-tuple", PLAIN.replace('["all"]', "(0,)"), (*TWO[:2], [[], [0]])),
    Case("positions-as-a-set", PLAIN.replace('["all"]', "{0}"), (*TWO[:2], [[], [0]])),
    Case("none-for-nothing", PLAIN.replace("[[], ", "[None, "), TWO, "read as nothing"),
    Case("null-for-nothing", PLAIN.replace("[[], ", "[[null], "), TWO, "read as nothing"),
    Case(
        "empty-access-list-of-one-step", "model_id = [0]\nsubtasks = ['Do it.']\naccess_list = []", ONE, "single step"
    ),
    Case(
        "typographic-quotes",
        PLAIN.replace('"Do it."', "“Do it.”").replace('"Check it."', "‘Check it.’"),
        TWO,
        "typographic",
    ),
    Case("german-quotes", PLAIN.replace('"Do it."', "„Do it.“"), TWO, "typographic"),
    Case(
        "apostrophe-in-typographic-quotes",
        PLAIN.replace('"Do it."', "‘Don’t.’"),
        ([0, 1], ["Don’t.", "Check it."], TWO[2]),
        "typographic",
    ),
    Case(
        "typographic-quotes-as-text",
        PLAIN.replace("Do it.", "Say “a”, “b”."),
        ([0, 1], ["Say “a”, “b”.", "Check it."], TWO[2]),
    ),
    Case(
        "apostrophe-in-single-quotes",
        PLAIN.replace('"Do it."', "'Don't, it's Jo's'"),
        ([0, 1], ["Don't, it's Jo's", "Check it."], TWO[2]),
        "not escaped",
    ),
    Case(
        "quotes-in-quotes",
        PLAIN.replace("Do it.", 'Say "hi", then "bye" to them'),
        ([0, 1], ['Say "hi", then "bye" to them', "Check it."], TWO[2]),
        "not escaped",
    ),
    Case(
        "escaped-quotes", PLAIN.replace("Do it.", '\\"Hi\\", he said'), ([0, 1], ['"Hi", he said', "Check it."], TWO[2])
    ),
    Case(
        "brackets-in-quotes",
        PLAIN.replace("Do it.", "Sort [3, 1] ] and (x"),
        ([0, 1], ["Sort [3, 1] ] and (x", "Check it."], TWO[2]),
    ),
    Case(
        "labels-in-quotes",
        PLAIN.replace("Do it.", "Explain model_id = [9] and access_list."),
        ([0, 1], ["Explain model_id = [9] and access_list.", "Check it."], TWO[2]),
    ),
    Case(
        "tripled-quotes",
        PLAIN.replace('"Do it."', '"""\nDo "it".\n\nWell.\n"""'),
        ([0, 1], ['Do "it".\n\nWell.', "Check it."], TWO[2]),
    ),
    Case("line-breaks-in-quotes", PLAIN.replace("Do it.", "Do\nit."), ([0, 1], ["Do\nit.", "Check it."], TWO[2])),
    Case(
        "escaped-line-breaks",
        PLAIN.replace("Do it.", "Do\\nit \\u00fcber."),
        ([0, 1], ["Do\nit über.", "Check it."], TWO[2]),
    ),
    Case("joined-texts", PLAIN.replace('"Do it."', '("Do "\n "it.")'), TWO, "joined"),
    Case("added-texts", PLAIN.replace('"Do it."', '"Do " +\n "it."'), TWO, "joined"),
    Case("prefixed-texts", PLAIN.replace('"Do it."', 'f"Do it."').replace('"Check', 'r"Check'), TWO),
    Case(
        "formulas",
        PLAIN.replace("Do it.", r"Find \frac{a}{b} \times \theta, \rho."),
        ([0, 1], [r"Find \frac{a}{b} \times \theta, \rho.", "Check it."], TWO[2]),
        "backslashes",
    ),
    Case("surrogate-pairs", PLAIN.replace("Do it.", "\\ud83d\\ude00"), ([0, 1], ["😀", "Check it."], TWO[2])),
    Case("lone-surrogates", PLAIN.replace("Do it.", "a\\ud83d"), ([0, 1], ["a\ufffd", "Check it."], TWO[2])),
    Case("nul", PLAIN.replace("Do it.", "Do\\u0000 it."), TWO),
    Case(
        "missing-last-bracket",
        'model_id = [0,1,2]\nsubtasks = ["a","b","c"]\naccess_list = [[],["all"],[["all"]]',
        ([0, 1, 2], ["a", "b", "c"], [[], ["all"], ["all"]]),
        "missing closing bracket",
    ),
    Case(
        "missing-last-bracket-then-prose",
        PLAIN[:-1] + "\n\nThis workflow checks itself.",
        TWO,
        "missing closing bracket",
    ),
    Case("missing-last-bracket-in-a-fence", f"```\n{PLAIN[:-1]}\n```\nDone.", TWO, "missing closing bracket"),
    Case("missing-first-bracket", PLAIN.replace("[0, 1]", "[0, 1"), TWO, "missing closing bracket"),
    Case("missing-bracket-after-texts", PLAIN.replace('it."]', 'it."'), TWO, "missing closing bracket"),
    Case("missing-inner-brackets", PLAIN[:-2], TWO, "missing closing bracket"),
    Case("missing-quote", PLAIN.replace('Check it."]', "Check it.]"), TWO, "missing closing quote"),
    Case("one-bracket-too-many", PLAIN.replace("[0, 1]", "[0, 1]]") + "]", TWO),
    Case("wrong-bracket", PLAIN.replace("[0, 1]", "[0, 1)"), TWO, "bracket"),
    Case("missing-comma-between-lists", PLAIN.replace("[], [", "[] ["), TWO, "missing comma"),
    Case("trailing-commas", PLAIN.replace("]", ",]").replace("[,]", "[]"), TWO),
    Case("cjk-commas", PLAIN.replace("[0, 1]", "[0，1]"), TWO),
    Case("form-repeated-before", f"model_id = [...]\nsubtasks = [...]\naccess_list = [...]\n\n{PLAIN}", TWO),
    Case("form-repeated-after", f"{PLAIN}\n\nForm: model_id = [...], subtasks = [...], access_list = [...]", TWO),
    Case(
        "draft-before",
        f"model_id = [2]\nsubtasks = ['x']\naccess_list = [[]]\nNo, better:\n{PLAIN}",
        TWO,
        "several sets",
    ),
    Case("list-named-in-passing", f"With access_list = [[]] nobody reads.\n{PLAIN}", TWO, "several sets"),
    Case("second-set-breaks-off", f"{PLAIN}\nAlternatively:\nmodel_id = [2]\nsubtasks = ['x", TWO),
    Case("token-of-the-template", f"{PLAIN}<|im_end|>", TWO),
    Case("json", json.dumps({"model_id": TWO[0], "subtasks": TWO[1], "access_list": TWO[2]}), TWO),
    Case(
        "chatty-json",
        "Sure!\n```json\n"
        + json.dumps({"model_id": TWO[0], "subtasks": TWO[1], "access_list": TWO[2]}, indent=2)
        + "\n```\nAnything else?",
        TWO,
    ),
    Case(
        "json-with-other-keys",
        json.dumps({"title": "steps [a]", "subtasks": TWO[1], "model_id": TWO[0], "access_list": TWO[2], "n": [1]}),
        TWO,
    ),
    Case("json-in-single-quotes", str({"model_id": TWO[0], "subtasks": TWO[1], "access_list": TWO[2]}), TWO),
    Case(
        "json-with-a-missing-bracket",
        '{"model_id": [0, 1, "subtasks": ["Do it.", "Check it."], "access_list": [[], ["all"]}',
        TWO,
        "missing closing bracket",
    ),
    Case(
        "json-steps",
        json.dumps(
            {
                "thinking": "So.",
                "steps": [
                    {"worker": "atlas", "instruction": "Do it.", "access": []},
                    {"worker": "birch", "instruction": "Check it.", "access": [0]},
                ],
            }
        ),
        (*TWO[:2], [[], [0]]),
    ),
    Case(
        "json-steps-without-names",
        json.dumps({"steps": [{"worker": "Model 0", "instruction": "Do it.", "access": []}]}),
        ONE,
    ),
    Case(
        "json-steps-with-models-in-another-spelling",
        json.dumps({"steps": [{"worker": "model_0", "instruction": "Do it.", "access": []}]}),
        ONE,
        "read as numbers",
    ),
    Case(
        "json-steps-with-other-keys",
        json.dumps({"steps": [{"id": 1, "model": 0, "subtask": "Do it.", "access_list": []}]}),
        ONE,
    ),
    Case(
        "json-steps-without-access",
        json.dumps({"steps": [{"worker": 0, "instruction": "Do it."}]}),
        ONE,
        "without an access list",
    ),
    Case("json-steps-alone", json.dumps([{"worker": 0, "instruction": "Do it.", "access": []}]), ONE),
    Case("repeated-positions-are-kept-for-the-check", PLAIN.replace('["all"]', "[0, 0]"), (*TWO[:2], [[], [0, 0]])),
]


@pytest.mark.parametrize("case", TOLERATED, ids=lambda case: case.name)
def test_a_reply_is_understood(case: Case) -> None:
    parsed = parse(case.reply, names=NAMES)

    assert parsed.problems == ()
    assert parsed.lists is not None
    assert (parsed.lists.model_id, parsed.lists.subtasks, parsed.lists.access_list) == case.lists
    if case.repair:
        assert any(case.repair in repair for repair in parsed.repairs), parsed.repairs
    elif case.name not in SILENTLY_REPAIRED:
        assert parsed.repairs == ()


SILENTLY_REPAIRED = {"second-set-breaks-off", "positions-as-a-tuple", "positions-as-a-set"}


@pytest.mark.parametrize("case", TOLERATED, ids=lambda case: case.name)
def test_a_reply_means_the_same_in_pieces(case: Case) -> None:
    whole = parse(case.reply, names=NAMES)

    for size in (1, 3, 7):
        assert streamed(case.reply, size) == whole


NOT_UNDERSTOOD = {
    "nothing": ("", "is empty"),
    "only-space": (" \n\t", "is empty"),
    "prose": ("I would ask the first model and be done with it.", "holds no lists"),
    "nonsense": (']]}{[[,,,\'""`==::', "holds no lists"),
    "refusal": ("I'm sorry, but I can't help with that.", "holds no lists"),
    "no-model-id": ("subtasks = ['a']\naccess_list = [[]]", "model_id is missing"),
    "no-subtasks": ("model_id = [0]\naccess_list = [[]]", "subtasks is missing"),
    "no-access-list": ("model_id = [0]\nsubtasks = ['a']", "access_list is missing"),
    "access-list-without-brackets": ("model_id = [0]\nsubtasks = ['a']\naccess_list = all", "access_list is missing"),
    "cut-in-a-text": ('model_id = [0, 1]\nsubtasks = ["a", "and the', "subtasks breaks off"),
    "cut-after-a-comma": ("model_id = [0]\nsubtasks = ['a']\naccess_list = [[],", "access_list breaks off"),
    "cut-in-a-number": ("model_id = [0]\nsubtasks = ['a']\naccess_list = [[], [1", "access_list breaks off"),
    "cut-json": ('{"steps": [{"worker": 0, "instruction": "a", "acc', "steps breaks off"),
    "cut-in-thinking": ("<think>Let me see. model_id = [0]", "within its thinking"),
    "only-in-thinking": (f"<think>{PLAIN}</think> I will do it.", "holds no lists"),
    "worker-of-no-name": (PLAIN.replace("[0, 1]", '[0, "gpt-9"]'), "Step 2 (model_id[1]) is “gpt-9”"),
    "worker-true": (PLAIN.replace("[0, 1]", "[0, true]"), "Step 2 (model_id[1]) is True"),
    "worker-half": (PLAIN.replace("[0, 1]", "[0, 1.5]"), "Step 2 (model_id[1]) is 1.5"),
    "two-workers-in-one": (PLAIN.replace("[0, 1]", "[0, [1, 2]]"), "Step 2 (model_id[1]) is a list"),
    "gap-between-commas": (PLAIN.replace("[0, 1]", "[0,, 1]"), "Step 2 (model_id[1]) cannot be read"),
    "text-is-a-number": (PLAIN.replace('"Do it."', "5"), "Step 1 (subtasks[0]) is 5, not a text"),
    "text-without-quotes": (PLAIN.replace('"Do it."', "Do it."), "not a text in quotes"),
    "text-is-an-object": (PLAIN.replace('"Do it."', '{"a": 1}'), "Step 1 (subtasks[0]) is an object"),
    "position-is-prose": (PLAIN.replace('"all"', '"the first step"'), "Step 2 (access_list[1]) holds “the first step”"),
    "position-is-true": (PLAIN.replace('"all"', "True"), "Step 2 (access_list[1]) holds True"),
    "position-is-an-object": (PLAIN.replace('["all"]', '{"step": 0}'), "Step 2 (access_list[1]) holds an object"),
    "comprehension": (PLAIN.replace('[[], ["all"]]', "[[] for _ in range(2)]"), "access_list[0]"),
    "nested-past-all-reason": (f"model_id = {'[' * 50}0{']' * 50}\nsubtasks = ['a']", "model_id breaks off"),
    "step-without-worker": ('{"steps": [{"instruction": "a", "access": []}]}', "Step 1 has no worker"),
    "step-without-instruction": ('{"steps": [{"worker": 0, "access": []}]}', "Step 1 has no instruction"),
    "step-is-no-object": ('{"steps": [{"worker": 0, "instruction": "a", "access": []}, 5]}', "Step 2 is 5"),
    "a-million-brackets": ("model_id = [" + "[]," * 333_000, "far more brackets"),
}


@pytest.mark.parametrize(("reply", "problem"), NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD.keys())
def test_a_reply_with_no_one_meaning_is_a_problem_in_words(reply: str, problem: str) -> None:
    parsed = parse(reply, names=NAMES)

    assert parsed.lists is None
    assert any(problem in told for told in parsed.problems), parsed.problems
    assert streamed(reply, 5 if len(reply) < 10_000 else 5_000) == parsed


def test_three_empty_lists_are_understood_as_such() -> None:
    parsed = parse("model_id = []\nsubtasks = []\naccess_list = []")

    assert parsed.lists is not None
    assert (parsed.lists.model_id, parsed.lists.subtasks, parsed.lists.access_list) == ([], [], [])


@pytest.mark.parametrize(
    ("reply", "thinking"),
    {
        "prose": (
            f"First a draft.\n\nThen a check.\n\n```python\n{PLAIN}\n```\nBye.",
            "First a draft.\n\nThen a check.",
        ),
        "block": (f"<think>\nHm.\n</think>\n{PLAIN}", "Hm."),
        "block-of-the-template": (f"Hm.\n</think>\n{PLAIN}", "Hm."),
        "block-and-prose": (f"<think>Hm.</think>\nSo:\n- **{PLAIN}", "Hm.\nSo:"),
        "never-closed": (f"Ah. <think>Hm.\n{PLAIN}", "Ah. \nHm."),
        "json": ('{"thinking": "A \\"draft\\".\\n", "steps": [{"worker": 0, "instruction": "a"}]}', 'A "draft".'),
        "nothing-but-prose": ("I refuse.", "I refuse."),
    }.values(),
)
def test_the_thinking_is_what_stands_before_the_lists(reply: str, thinking: str) -> None:
    assert parse(reply).thinking == thinking


def test_what_is_beyond_all_reason_is_cut_and_said_so() -> None:
    parsed = parse(f"{PLAIN}\n{'and so on ' * 100_000}")

    assert parsed.lists is not None
    assert f"only the first {MOST_CHARS:,} characters were read" in parsed.repairs


def streamed(text: str, size: int) -> Parsed:
    parser = StreamParser(names=NAMES)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    return parser.finish()
