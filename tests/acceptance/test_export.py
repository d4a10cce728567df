"""The walk, on: a run is exported; an outsider checks the zip with nothing else, before and after a byte is changed."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.acceptance.fresh import FreshStudio
from tests.acceptance.walking import submit, wait_for_end

TASK = "Compare tea and coffee for a night shift: two sentences each, then recommend one."

# Of each file a place behind which the byte is changed, and how the verifier names what is wrong.
CHANGES = {
    "README.txt": (b"To check", "README.txt is not the file that was signed"),
    "verify.py": (b"Nothing that", "verify.py is not the file that was signed"),
    "public_key.pem": (b"MCowBQYDK2VwAyEA", "public_key.pem is not the file that was signed"),
    "trails.jsonl": (b'"head":"', "trail run:{code}: event {last} is not the one that the trail's head names"),
    "events.jsonl": (b"run.", "trail run:{code}: event 1 is not what was sealed: its text or its hash was changed"),
    "payloads.jsonl": (b"Compare tea", "trail run:{code}: the text “task” of event 1 is not the one that was sealed"),
    "anchors.jsonl": (b"run:", "anchor {anchor} is not what was sealed: its text or its hash was changed"),
    "manifest.json": (b'"made_by": "', "manifest.json is not what was signed"),
    "signature.txt": (b"", "manifest.json is not what was signed"),
}


def test_an_outsider_verifies_an_export_with_nothing_but_the_zip_and_finds_one_changed_byte(
    studio: FreshStudio, page: Page, tmp_path: Path
) -> None:
    code = submit(page, studio, TASK)
    wait_for_end(page)
    page.goto(f"{studio.url}/audit/key/")
    fingerprint = page.locator("#fingerprint").inner_text()
    zipfile.ZipFile(exported(page, studio, code)).extractall(tmp_path)

    assert sorted(os.listdir(tmp_path)) == sorted(CHANGES)
    status, said = as_an_outsider(tmp_path, "--key", fingerprint)

    assert status == 0, said
    assert "OK: everything holds." in said
    assert b"tea and coffee" in (tmp_path / "payloads.jsonl").read_bytes()
    page.goto(f"{studio.url}/runs/{code}/?view=events")
    expect(page.locator("main")).to_contain_text(re.compile(r"trail\.exported|Trails exported"))
    for name, (place, words) in CHANGES.items():
        sound = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(with_one_changed_byte(sound, behind=place))
        status, said = as_an_outsider(tmp_path, "--key", fingerprint)
        (tmp_path / name).write_bytes(sound)
        assert status == 1, f"{name}: {said}"
        assert f"BROKEN: {words.format(code=code, **told_by(tmp_path))}" in said
    assert as_an_outsider(tmp_path, "--key", fingerprint)[0] == 0, "it was the byte alone"


def exported(page: Page, studio: FreshStudio, code: str) -> Path:
    """The zip, as the run's menu leads to it."""
    page.goto(f"{studio.url}/runs/{code}/")
    page.get_by_role("button", name="More to do with this run").click()
    page.get_by_role("link", name="Export its trail…").click()
    expect(page.get_by_label("Its code")).to_have_value(code)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export", exact=True).click()
    return download.value.path()


def as_an_outsider(folder: Path, *arguments: str) -> tuple[int, str]:
    """What Python says that knows nothing but the folder: neither the studio nor its environment."""
    command = [sys.executable, "-I", "verify.py", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env={"LANG": "C.UTF-8"})
    assert done.stderr == ""
    return done.returncode, done.stdout


def with_one_changed_byte(sound: bytes, *, behind: bytes) -> bytes:
    at = sound.index(behind) + len(behind)
    return sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]


def told_by(folder: Path) -> dict[str, str]:
    """How the trail's last event and the first anchor are numbered."""
    first = json.loads((folder / "trails.jsonl").read_text().splitlines()[0])
    anchor = json.loads((folder / "anchors.jsonl").read_text().splitlines()[0])
    return {"last": first["last"], "anchor": anchor["seq"]}
