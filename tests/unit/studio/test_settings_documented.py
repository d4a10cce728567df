"""Every variable the studio reads is explained, and none is explained that nobody reads."""

import re

from tests.services import ROOT

READS = re.compile(
    r"""(?:env\.\w+|environ\.get|address)\(\s*"([A-Z_]+)"|environ\["([A-Z_]+)"\](?!\s*=)|secret\(\s*"([a-z_]+)"\)"""
)


def read() -> set[str]:
    """The variables that the wiring reads. Apps read settings, never the environment."""
    sources = [ROOT / "manage.py", *(ROOT / "studio").rglob("*.py")]
    found = [match for path in sources for match in READS.findall(path.read_text())]
    return {name.upper() for names in found for name in names if name}


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))


def test_every_variable_is_explained_in_the_docs() -> None:
    assert read() - documented() == set()


def test_no_variable_is_explained_that_nobody_reads() -> None:
    assert documented() - read() == set()


def test_apps_read_no_environment() -> None:
    reading = re.compile(r"os\.(environ\.get|getenv)\(|os\.environ\[[^\]]+\](?!\s*=)")
    apps = [path for path in (ROOT / "apps").rglob("*.py") if path.parent.name != "simulator"]

    assert [str(path) for path in apps if reading.search(path.read_text())] == []
