"""Shapes for tasks that no solver understands: code, reviews, comparisons, explanations, texts, plans, questions.

Every instruction names what it is about in the task's own words; a step that says "analyse the problem" helps nobody.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apps.simulator.plans import Choices, Draft, Outline, everything_before
from apps.simulator.solvers.problem import listed, number_of

Recogniser = Callable[[str, int, Choices], Outline | None]


def outline(task: str, limit: int, choices: Choices) -> Outline:
    """A shape for the task within `limit` steps, as the seed chooses."""
    for recognise in (_review, _code, _comparison, _explanations, _rewriting, _planning, _question):
        if found := recognise(task, limit, choices):
            return found
    return _anything(task, choices)


def _sentences(text: str) -> list[str]:
    """The sentences before any code or table, without their full stops."""
    prose = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].replace("\n", " ")
    return [sentence.strip().rstrip(".") for sentence in re.split(r"(?<=[.?!])\s+", prose) if sentence.strip()]


def _short(text: str, limit: int = 140) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …"


def _lower(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _review(task: str, limit: int, choices: Choices) -> Outline | None:
    code = re.search(r"^(?:def|class|function|SELECT)\b.*", task, re.M | re.S)
    if code is None or not re.search(
        r"\b(?:review|defects?|bugs?|debug|wrong with|audit)\b", task[: code.start()], re.I
    ):
        return None
    name = re.search(r"\b(?:def|class|function)\s+(\w+)", code[0])
    about = f"`{name[1]}`" if name else "the code"
    order = re.search(r"most \w+ first|by severity|in order of \w+", task, re.I)
    sorting = order[0].lower() if order else "most serious first"
    by_line = Draft(f"Review {about} line by line: {listed(list(_places(code[0])))}; list each defect with its line.")
    by_input = Draft(
        f"Review {about} by its inputs: run it by hand on an empty, a one-element and a longer input, and list "
        "every result that is wrong."
    )
    by_use = Draft(
        f"Review {about} as its caller: types, errors raised, names and documentation; list each defect.", needed=False
    )
    reviews = choices.pick(((by_line, by_input), (by_input, by_line), (by_line, by_input, by_use)))
    last = Draft(
        f"Merge the reviews of {about} into one list of defects without doubles, {sorting}; drop what the code does "
        "not bear out" + choices.pick((".", ", and say for each how to mend it.")),
        everything_before(len(reviews)),
    )
    because = f"Two people see more defects in {about} than one: independent reviews, then one list."
    return Outline(because, (*reviews, last), f"List every defect of {about}, {sorting}, with its line and its cure.")


def _places(code: str) -> Iterator[str]:
    """Where defects hide in this very code."""
    if re.search(r"\b(?:for|while)\b", code):
        loop = re.search(r"range\([^\n]*?\)(?=\s*:)|while [^\n:]*", code)
        yield f"the bounds of the loop ({loop[0]})" if loop else "the bounds of the loop"
    if division := re.search(r"[\w)\]]+ ?/ ?[\w.]+(?:\([^()\n]*\))?", code):
        yield f"the division {division[0].strip()}"
    if re.search(r"\bif\b", code):
        yield "its conditions and what they leave out"
    if start := re.search(r"^\s+(\w+) = (?:0|None|\[\]|\"\"|'')", code, re.M):
        yield f"the start value of {start[1]}"
    yield "what it returns"


def _code(task: str, limit: int, choices: Choices) -> Outline | None:
    asks = re.search(
        r"\b(?:write|implement|create|code|build)\b[^.\n]{0,40}\b(function|class|script|program|method|query|module|parser)\b",
        task,
        re.I,
    )
    if asks is None:
        return None
    language = re.search(r"\b(Python|JavaScript|TypeScript|SQL|Rust|Go|Java|C\+\+|C|Bash|shell)\b", task)
    quoted = re.search(r"`([^`\n]+)`", task)
    about = f"`{quoted[1]}`" if quoted else f"the {asks[1].lower()}"
    bare = f"`{quoted[1].partition('(')[0]}`" if quoted else about
    first = _sentences(task)[0]
    after = re.search(r"\b(?:that|which|to)\s+(.*)", first[asks.end() - asks.start() :])
    does, _, also = (after[1] if after else first).partition(", and ")
    does = _short(does, 200)
    extra = f", and {_lower(also)}" if also else ""
    lang = f" in {language[1]}" if language else ""
    plan = Draft(
        f"Plan {about}: the cases it must handle when it {does}, the data it keeps, and the order of the work; no code."
    )
    implement = Draft(f"Implement {about}{lang} after the plan, so that it {does}.", (0,))
    alone = f"Implement {about}{lang}: it {does}{extra}."
    verify = (
        f"Verify the implementation of {bare} on the smallest, a usual and the most awkward input; "
        f"return it corrected{extra}."
    )

    shape = choices.pick((0, 1, 2))
    if shape == 0:
        drafts: tuple[Draft, ...] = (plan, implement, Draft(verify, choices.pick(((1,), (0, 1)))))
        because = f"{bare} has edge cases: plan them, implement, then verify."
    elif shape == 1:
        tests = Draft(
            f"Write the inputs and expected outputs that show whether {bare} really {does}.", (0,), needed=False
        )
        drafts = (plan, implement, tests, Draft(verify, (1, 2)))
        because = f"The tests for {bare} are written by a model that has not seen the code, so that they are fair."
    else:
        one = Draft(f"Implement {about}{lang} in the most direct way: it {does}.")
        two = Draft(f"Implement {about}{lang} with the best complexity you can reach: it {does}.")
        pick = (
            f"Verify both implementations of {bare} on the same awkward inputs and keep the better one; "
            f"return it corrected{extra}."
        )
        drafts = (one, two, Draft(pick, (0, 1)))
        because = f"Two independent implementations of {bare}, then one model verifies both and keeps the better."
    return Outline(because, drafts, alone)


@dataclass(frozen=True)
class _Sides:
    names: list[str]
    purpose: str
    aspects: str
    ending: str


def _comparison(task: str, limit: int, choices: Choices) -> Outline | None:
    sides = _sides(task)
    if sides is None:
        return None
    both = listed(sides.names)
    aspects = f": {sides.aspects}" if sides.aspects else ": strengths, weaknesses, cost and risks"
    alone = f"Compare {both}{sides.purpose}{aspects}. {sides.ending}".strip()
    if limit == 1:
        return Outline("There is room for one step only.", (Draft(alone),), alone)
    accounts = [
        Draft(f"Describe {name}{sides.purpose}{aspects}. Facts only, no verdict.") for name in sides.names[: limit - 1]
    ]
    reads = everything_before(len(accounts))
    weigh = f"Compare {both}{sides.purpose} point by point from the accounts given{aspects}. {sides.ending}".strip()
    if len(accounts) + 2 <= limit and choices.pick((False, True)):
        doubt = Draft(
            f"Name what the accounts of {both} leave out or put too kindly{sides.purpose}.", reads, needed=False
        )
        drafts = (*accounts, doubt, Draft(weigh, (*reads, len(accounts))))
        because = f"One step for each of {both}, a critic who reads all, and then the comparison."
        return Outline(because, drafts, alone)
    order = choices.pick((1, -1))
    drafts = (*accounts[::order], Draft(weigh, reads))
    return Outline(
        f"Each of {both} is described by itself, so that neither is judged through the other.", drafts, alone
    )


def _sides(task: str) -> _Sides | None:
    sentences = _sentences(task)
    match = next((m for s in sentences if (m := re.search(r"\b(?:compare|weigh|contrast)\s+(.+)", s, re.I))), None)
    if match is None:
        return None
    head, _, aspects = match[1].partition(":")
    head, purpose_word, purpose = _split_once(head, r"\s+(for|as|when|in terms of)\s+")
    names = [
        name.strip()
        for name in re.split(r",\s*(?:and\s+)?|\s+(?:and|with|to|versus|vs\.?|against)\s+", head)
        if name.strip()
    ]
    if not 2 <= len(names) <= 6:
        return None
    rest = sentences[[match[0] in sentence for sentence in sentences].index(True) + 1 :]
    ending = " ".join(f"{sentence}." for sentence in rest)
    return _Sides(names, f" {purpose_word} {purpose}" if purpose else "", aspects.strip(), _short(ending, 240))


def _split_once(text: str, pattern: str) -> tuple[str, str, str]:
    parts = re.split(pattern, text, maxsplit=1)
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else (text, "", "")


_VIEWS = (
    ("what comes in", "who asks for what, how often, and since when that changed"),
    ("what was changed", "releases, prices, rules or suppliers, and what followed each"),
    ("how the work is done", "tools, hand-overs, experience, and the time one case takes"),
    ("how it is measured", "definitions, doubles, and what used to go uncounted"),
)


def _explanations(task: str, limit: int, choices: Choices) -> Outline | None:
    match = re.search(
        r"\b(two|three|four|five|\d)\s+(?:\w+\s+){0,2}(explanations?|hypothes[ei]s|reasons|causes|views|scenarios|options)\b",
        task,
        re.I,
    )
    if match is None:
        return None
    wanted = int(number_of(match[1]) or 3)
    sentences = _sentences(task)
    situation = _lower(_short(sentences[0] if match[0] not in sentences[0] else sentences[-1]))
    demand = next(sentence for sentence in sentences if match[0].split()[0] in sentence)
    alone = f"{demand}: why is it that {situation}?"
    if limit == 1:
        return Outline("There is room for one step only.", (Draft(alone),), alone)
    start = choices.pick((0, 1, 2, 3))
    views = [_VIEWS[(start + at) % len(_VIEWS)] for at in range(min(wanted, limit - 1, len(_VIEWS)))]
    fan = [
        Draft(f"Explain from {view} why {situation} ({hint}): one explanation, and the data that would refute it.")
        for view, hint in views
    ]
    last = Draft(
        f"{demand}, from the explanations given of why {situation}. Keep them distinct.", everything_before(len(fan))
    )
    because = "Explanations written apart stay apart: one view for each model, and then one draws them together."
    return Outline(because, (*fan, last), alone)


def _rewriting(task: str, limit: int, choices: Choices) -> Outline | None:
    verb = re.search(
        r"\b(rewrite|rephrase|reword|shorten|translate|summari[sz]e|edit|proofread|simplify|polish)\b", task, re.I
    )
    if verb is None:
        return None
    quote = re.search(r"[“\"'‘](.{12,}?)[”\"'’]\s*\.?\s*$", task[verb.end() :], re.S)
    text = quote[1] if quote else task[verb.end() :].partition(":")[2] or task[verb.end() :]
    wish = task[verb.end() :].partition(":")[0] if ":" in task[verb.end() :] else ""
    wish = _short(wish.strip(" ,"), 200)
    start = _short(text, 60)
    act = verb[1].capitalize()
    alone = f"{act} “{start}” {wish}.".replace("  ", " ").replace(" .", ".")
    draft = Draft(f"Draft: {verb[1].lower()} “{start}” {wish}.".replace(" .", "."))
    other = Draft(f"Draft a second, quite different version of “{start}” {wish}.".replace(" .", "."), needed=False)
    facts = Draft(
        f"List the facts in “{start}” that the reader must still learn, and the words that give offence or can go.",
        needed=False,
    )
    editor = (
        f"Edit the draft of “{start}”: see that it is {wish or 'clear, complete and short'}; return the text alone."
    )
    shape = choices.pick((0, 1, 2))
    if shape == 0:
        return Outline("A draft, and an editor who holds it against every wish.", (draft, Draft(editor, (0,))), alone)
    if shape == 1:
        drafts = (draft, other, Draft(editor.replace("the draft", "the better of both drafts"), (0, 1)))
        return Outline("Two drafts give the editor a choice of tone.", drafts, alone)
    drafts = (facts, Draft(draft.instruction, (0,)), Draft(editor, (0, 1)))
    return Outline("First what must be kept, then the draft, then an editor who has both.", drafts, alone)


def _planning(task: str, limit: int, choices: Choices) -> Outline | None:
    verb = re.search(r"\b(plan|organi[sz]e|schedule|prepare)\s+(?=an?\b|the\b|our\b|my\b)", task, re.I)
    if verb is None:
        return None
    whole, _, wanted = task[verb.end() :].strip().rstrip(".").partition(":")
    thing = _short(whole, 120)
    wanted = _short(wanted.strip(), 160) or "who does what, when and where"
    money = re.search(r"(?:\d[\d.,]*\s?(?:EUR|USD|GBP|€|\$)|[€$£]\s?\d[\d.,]*)", task)
    alone = f"Plan {thing}: {wanted}."
    plan = Draft(f"Plan {thing}: {wanted.partition(', and ')[0]}, hour by hour, with what must be booked.")
    if money is None:
        check = Draft(f"Verify the plan of {thing} for gaps and clashes, and return it with {wanted}.", (0,))
        return Outline("A plan, and somebody who looks for what it forgot.", (plan, check), alone)
    cost = Draft(
        f"Cost every item of {thing}: quantity, unit price and amount in a table, and the sum against {money[0]}.", (0,)
    )
    verify = (
        f"Verify that the cost table adds up and stays within {money[0]}; correct it, "
        f"and return the plan with {wanted}."
    )
    if choices.pick((False, True)):
        other = Draft(
            f"Plan {thing} in a cheaper way: what can be left out or done by train, and what it saves.", needed=False
        )
        drafts: tuple[Draft, ...] = (plan, other, Draft(cost.instruction, (0, 1)), Draft(verify, (0, 1, 2)))
        return Outline(f"Two plans, one costing against {money[0]}, and a check of the sum.", drafts, alone)
    drafts = (plan, cost, Draft(verify, choices.pick(((0, 1), (1,)))))
    return Outline(f"Plan, cost, and then verify the sum: {money[0]} must hold.", drafts, alone)


def _question(task: str, limit: int, choices: Choices) -> Outline | None:
    """A short question of one sentence gets one answer."""
    sentences = _sentences(task)
    if len(task) > 160 or not sentences or len(sentences) > 2 or not sentences[0].endswith("?"):
        return None
    how = choices.pick(
        (" Answer in a sentence or two.", " Answer in one line.", " Answer, and say how sure you are.", "")
    )
    alone = f"{task.strip()}{how}"
    return Outline("A short question: one model answers it.", (Draft(alone),), alone)


def _anything(task: str, choices: Choices) -> Outline:
    sentences = _sentences(task) or ["the task"]
    topic = _short(sentences[0], 110)
    rest = _short("; ".join(_lower(sentence) for sentence in sentences[1:]), 200)
    demand = f" ({rest})" if rest else ""
    alone = _short(task, 400)
    plan = Draft(f"Set out what an answer to “{topic}” must contain{demand}, and in which order.")
    do = Draft(f"Write the answer to “{topic}”{demand}, point by point after the plan.", (0,))
    check = Draft(
        f"Verify the answer to “{topic}”: each point asked for{demand} is there and holds; return it corrected.", (1,)
    )
    shape = choices.pick((0, 1, 2))
    if shape == 0:
        return Outline("The points first, then the text, then a check of each point.", (plan, do, check), alone)
    if shape == 1:
        one = Draft(f"Write an answer to “{topic}”{demand}.")
        two = Draft(f"Write an answer to “{topic}”{demand}, from the side of somebody who doubts it.", needed=False)
        last = Draft(
            f"Merge both answers to “{topic}” into one{demand}; keep what both support and say where they differ.",
            (0, 1),
        )
        return Outline("Two answers from different sides, and one who merges them.", (one, two, last), alone)
    one = Draft(f"Write an answer to “{topic}”{demand}.")
    return Outline("An answer, and a second pair of eyes.", (one, Draft(check.instruction, (0,))), alone)
