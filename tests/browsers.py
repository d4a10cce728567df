"""Find a Chromium, and where there is none, get one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def find_chromium() -> str:
    """`CHROMIUM`, else one on PATH, else Debian's package when root, else Playwright's own.

    :raises AssertionError: there is none; the message says what was tried.
    """
    if named := os.environ.get("CHROMIUM"):
        assert shutil.which(named), f"CHROMIUM={named} is no program"
        return named
    tried = ["CHROMIUM is not set", "no chromium on PATH"]
    return _on_path() or _from_debian(tried) or _from_playwright(tried) or _none(tried)


def _on_path() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


def _from_debian(tried: list[str]) -> str | None:
    if os.getuid() != 0 or not shutil.which("apt-get"):
        tried.append("not root on a Debian, so apt-get was not asked")
        return None
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-yq", "--no-install-recommends", "chromium"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            tried.append(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")
            return None
    return _on_path()


def _from_playwright(tried: list[str]) -> str | None:
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tried.append(f"playwright install chromium failed: {(done.stderr or done.stdout).strip()[-300:]}")
        return None
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _none(tried: list[str]) -> str:
    raise AssertionError("A browser is needed and there is none: " + "; ".join(tried))
