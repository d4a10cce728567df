import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from apps.evals import report
from apps.evals.charts import Column, Mark, Point, Row, bars, rows_of_dots, scatter
from apps.evals.contest import hold
from apps.evals.outcomes import Outcome
from apps.evals.report import Setting
from apps.evals.wording import findings, p_value, points, usd
from tests.unit.evals.making import GROUPS, contest, outcome

SETTING = Setting(
    set_name="mixed",
    n=40,
    seed=7,
    planners=("all",),
    workers=("sim-atlas", "sim-delta"),
    samples=3,
    jobs=4,
    speed=10.0,
    at=datetime(2026, 3, 2, 12, 0, tzinfo=UTC),
    wall_s=12.4,
    left_out=(("routerdc", "RouterDC has not been trained yet."),),
)


class Balanced(HTMLParser):
    """Notes tags that are not closed, and what is fetched from elsewhere."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def read(html: str) -> Balanced:
    parser = Balanced()
    parser.feed(html)
    parser.close()
    return parser


def test_the_report_is_one_sound_file_that_fetches_nothing():
    html = report.page(contest(), SETTING)

    parsed = read(html)
    assert parsed.wrong == parsed.open == []
    assert parsed.fetched == []
    assert "http" not in html
    assert "<script" not in html


def test_the_report_says_that_its_models_are_simulated_and_who_was_left_out():
    html = report.page(contest(), SETTING)

    assert "Simulated workers and conductor" in html
    assert "routerdc: RouterDC has not been trained yet." in html
    assert "at 10 times their models&#x27; pace" in html
    assert "manage.py rehearse --set mixed --n 40 --planners all --seed 7 --samples 3 --jobs 4 --speed 10" in html


def test_whoever_has_learnt_is_warned_about():
    html = report.page(contest(), Setting(**(vars(SETTING) | {"learnt": ("masrouter",)})))

    assert "masrouter learnt from recorded results before this. If they learnt from tasks of this set" in html
    assert "they have seen the answers" not in report.page(contest(), SETTING)


def test_what_models_and_people_wrote_is_escaped():
    failed: list[Outcome] = [
        outcome("conductor", 1, status="failed", right=False, error="<script>alert(1)</script>", planned=False),
        outcome("direct: sim-atlas", 1, kind="<b>"),
    ]

    html = report.page(hold([each.model_copy(update={"kind": "<b>"}) for each in failed], GROUPS), SETTING)

    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "<b>" not in html
    assert read(html).wrong == []


def test_every_picture_is_well_formed():
    html = report.page(contest(), SETTING)

    pictures = re.findall(r"<svg.*?</svg>", html, re.S)
    assert len(pictures) == 5
    for picture in pictures:
        ElementTree.fromstring(picture)


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("without", [(), ("self-consistency: sim-delta × 3",), ("moa", "conductor"), tuple(GROUPS)[:2]])
def test_a_report_is_made_of_little_too(n, without):
    found = contest(n, without=without)

    assert read(report.page(found, SETTING)).wrong == []
    assert "tasks of the set" in "\n".join(report.lines(found, SETTING))


def test_the_printed_table_has_a_line_for_each_entrant_and_stars_what_is_borne_out():
    lines = list(report.lines(contest(), SETTING))

    rows = {name: next(line for line in lines if line.startswith(name)) for name in GROUPS}
    assert "100.0 %" in rows["direct: sim-atlas"]
    assert rows["moa"].count("*") >= 1
    assert "sim-delta × 3" in rows["conductor"]
    assert any(line.startswith("Left out: routerdc") for line in lines)


def test_findings_say_who_is_better_worse_and_of_whom_nothing_is_shown():
    said = findings(contest())

    assert said[0].startswith("The best single worker is sim-atlas: right on 100.0 %")
    assert "Worse than the best single worker: moa (−25.0)." in said
    assert "No difference shown from the best single worker: conductor (−10.0)." in said
    assert "Better than the best single worker: none." in said
    assert findings(contest(without=["self-consistency: sim-delta × 3"]))[-1].startswith("No difference shown from the")


def test_figures_are_written_with_what_counts():
    assert [usd(value) for value in (0, 0.00001234, 0.00123, 1.5)] == ["$0", "$0.000012", "$0.00123", "$1.50"]
    assert [points(value) for value in (0.05, -0.05, 0)] == ["+5.0", "−5.0", "+0.0"]
    assert (p_value(0.0001), p_value(0.04)) == ("p < 0.001", "p = 0.040")


def test_labels_of_a_scatter_do_not_cover_each_other():
    many = [Point(0.001 + at * 1e-5, 0.99, f"planner number {at}") for at in range(12)]

    picture = ElementTree.fromstring(scatter(many, {}, title="t", x_title="x"))

    words = [
        (float(each.get("x", 0)), float(each.get("y", 0)), each.text or "")
        for each in picture.iter("text")
        if "planner number" in (each.text or "")
    ]
    assert len(words) == 12
    for at, (x, y, text) in enumerate(words):
        for other_x, other_y, other in words[at + 1 :]:
            apart = abs(x - other_x) >= 7 * min(len(text), len(other)) or abs(y - other_y) >= 13.9
            assert apart, (text, other)


def test_pictures_stand_what_has_no_width():
    column = Column("c", 1.0, 1.0, str)
    picture = rows_of_dots([column], [Row("<a>", [Mark(1.0, None, None, "1")]), Row("b", [None])], title="<t>")

    ElementTree.fromstring(picture)
    ElementTree.fromstring(scatter([Point(0, 0.5, "free")], {}, title="t", x_title="x"))
    ElementTree.fromstring(bars({}, title="nothing"))
    assert "2 others" in bars({"a": 5, "b": 3, "c": 1}, title="t", most=1)
