"""Says which browser a session is in, in words that its person recognises: `Firefox on Linux`."""

import re

# The first that fits: every browser also says that it is others.
BROWSERS = {
    "Edge": r"Edg\w*/",
    "Opera": r"OPR/",
    "Firefox": r"Firefox/|FxiOS/",
    "Chrome": r"Chrome/|CriOS/",
    "Safari": r"Safari/",
}
SYSTEMS = {
    "Android": "Android",
    "an iPhone": "iPhone",
    "an iPad": "iPad",
    "Windows": "Windows",
    "macOS": "Mac OS X|Macintosh",
    "Linux": "Linux|X11",
}
SHOWN = 40


def named(agent: str) -> str:
    """A browser and its system, or the beginning of what was said."""
    browser, system = _first(BROWSERS, agent), _first(SYSTEMS, agent)
    if not browser:
        return agent[:SHOWN] or "an unknown browser"
    return f"{browser} on {system}" if system else browser


def _first(patterns: dict[str, str], agent: str) -> str:
    return next((name for name, pattern in patterns.items() if re.search(pattern, agent)), "")
