"""What a session's browser is called."""

import pytest

from apps.web.people.agents import named

MOZILLA = "Mozilla/5.0"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (f"{MOZILLA} (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (f"{MOZILLA} (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/140.0 Safari/537.36", "Chrome on Windows"),
        (f"{MOZILLA} (Windows NT 10.0) {WEBKIT} Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        (f"{MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Version/18.1 Safari/605.1", "Safari on macOS"),
        (f"{MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) {WEBKIT} CriOS/140.0 Safari/6", "Chrome on an iPhone"),
        (f"{MOZILLA} (Linux; Android 15) {WEBKIT} Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.7.1", "curl/8.7.1"),
        ("", "an unknown browser"),
        ("<script>" * 20, ("<script>" * 20)[:40]),
    ],
)
def test_a_browser_goes_by_the_name_people_know(agent: str, name: str) -> None:
    assert named(agent) == name
