"""A graph of 150 steps in a browser: the time until it stands, and the frames while somebody drags it about."""

import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async
from playwright.async_api import Page, async_playwright

from apps.runs.models import Run
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio, Viewer
from tests.browsers import find_chromium

STEPS = 150
MOST_READ = 3
BACK = 12  # how far back a step reads
ZOOMS = {"all of it in view": 0, "zoomed in to the cards": 12}  # presses of +
DRAGS, MOVES = 6, 40
SMOOTH_MS, DRAWN_S = 33, 2.0  # thirty frames a second, as a page that is dragged should have at least

# How long each frame was, from one to the next, while it is told to.
WATCH = """() => {
  window.frames_ms = []
  let last = performance.now()
  const tick = (now) => { window.frames_ms.push(now - last); last = now; window.watching = requestAnimationFrame(tick) }
  window.watching = requestAnimationFrame(tick)
}"""
STOP = "() => { cancelAnimationFrame(window.watching); return window.frames_ms.slice(1) }"


def big(setting: Setting, *, seed: int = 7) -> Any:
    """A workflow of 150 steps, each of which reads up to three of the twelve before it."""
    dice = random.Random(seed)
    reads: list[tuple[str, str, list[str]]] = []
    for number in range(1, STEPS + 1):
        before = range(max(1, number - BACK), number)
        sources = sorted(dice.sample(before, min(len(before), dice.randint(1, MOST_READ)))) if number > 6 else []
        reads.append((f"s{number}", setting.fast, [f"s{source}" for source in sources]))
    return setting.workflow(reads)


async def measure(studio: Studio, setting: Setting) -> list[str]:
    run: Run = await sync_to_async(setting.submit)(await sync_to_async(big)(setting))
    await Viewer(studio, run.code).watch()
    name = studio.cookie.split("studio_session=")[1].split(";")[0]
    lines = [f"A graph of {STEPS} steps, dragged {DRAGS} times {MOVES} moves"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        context = await browser.new_context(viewport={"width": 1440, "height": 900})
        await context.add_cookies([{"name": "studio_session", "value": name, "url": studio.url}])
        page = await context.new_page()
        began = time.perf_counter()
        await page.goto(f"{studio.url}/runs/{run.code}/", wait_until="commit")
        await page.locator("#canvas .react-flow__node").first.wait_for()
        lines.append(f"  until it stands: {(time.perf_counter() - began) * 1000:.0f} ms (under {DRAWN_S * 1000:.0f})")
        await page.wait_for_timeout(800)
        for what, presses in ZOOMS.items():
            await page.get_by_role("button", name="Fit").click()
            for _ in range(presses):
                await page.get_by_role("button", name="Zoom in").click()
            await page.wait_for_timeout(500)
            lines.append(f"  {what}: {told(await dragged(page))}")
        await browser.close()
    return lines


async def dragged(page: Page) -> list[float]:
    """The length of each frame, in milliseconds, while the graph is dragged to and fro by its ground."""
    box = await page.locator("#canvas").bounding_box()
    assert box is not None
    left, right, y = box["x"] + 60, box["x"] + box["width"] - 60, box["y"] + 18
    await page.evaluate(WATCH)
    for drag in range(DRAGS):
        start, end = (left, right) if drag % 2 else (right, left)
        await page.mouse.move(start, y)
        await page.mouse.down()
        for move in range(1, MOVES + 1):
            await page.mouse.move(start + (end - start) * move / MOVES, y + move)
        await page.mouse.up()
    frames: list[float] = await page.evaluate(STOP)
    return frames


def told(frames: Sequence[float]) -> str:
    """`frames of 16.7 ms, 95 % within 16.8 ms, longest 40 ms, 0 of 400 over 33 ms`"""
    within = statistics.quantiles(frames, n=20)[18]
    late = sum(frame > SMOOTH_MS for frame in frames)
    return (
        f"frames of {statistics.median(frames):.1f} ms, 95 % within {within:.1f} ms, "
        f"longest {max(frames):.0f} ms, {late} of {len(frames)} over {SMOOTH_MS} ms"
    )
