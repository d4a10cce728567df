"""People, their browsers and a run; what a test writes is rolled back."""

import pytest

from apps.accounts.models import User
from apps.runs.models import Run
from tests.integration.web.given import a_run
from tests.people import ada, bob, browser, other_browser, rung

__all__ = ["ada", "bob", "browser", "other_browser", "rung"]


@pytest.fixture
def database(db: None) -> None:
    """A transaction that is rolled back."""


@pytest.fixture
def run(ada: User) -> Run:
    """A run of Ada's."""
    return a_run(ada)
