"""The run page in a browser: bytes over the wire, and the time until its graph stands and can be used."""

import time
from typing import Any

from asgiref.sync import sync_to_async
from playwright.async_api import async_playwright

from tests.benchmarks.plot import spread
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio, Viewer
from tests.browsers import find_chromium

TARGET_KB, TARGET_S = 250, 1.0
LOADS = 10


async def measure(studio: Studio, setting: Setting) -> list[str]:
    flow = setting.workflow([("s1", setting.fast, []), ("s2", setting.fast, []), ("s3", setting.fast, ["s1", "s2"])])
    run = await sync_to_async(setting.submit)(flow)
    await Viewer(studio, run.code).watch()
    name, value = studio.cookie.split("studio_session=")[1].split(";")[0], studio.url
    weights: list[float] = []
    times: list[float] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        for _ in range(LOADS):
            context = await browser.new_context()  # an empty cache
            await context.add_cookies([{"name": "studio_session", "value": name, "url": value}])
            page = await context.new_page()
            session = await context.new_cdp_session(page)
            await session.send("Network.enable")
            received: list[float] = []

            def count(event: dict[str, Any], received: list[float] = received) -> None:
                received.append(event["encodedDataLength"])

            session.on("Network.loadingFinished", count)
            began = time.perf_counter()
            await page.goto(f"{studio.url}/runs/{run.code}/", wait_until="commit")
            await page.locator("#canvas .react-flow__node").nth(2).wait_for()
            times.append(time.perf_counter() - began)
            await page.wait_for_load_state("networkidle")
            weights.append(sum(received) / 1000)
            await context.close()
        await browser.close()
    return [
        f"Run page, empty cache, {LOADS} loads",
        f"  over the wire: {spread(weights, 'kB')} (at most {TARGET_KB})",
        f"  until its graph can be used: {spread([s * 1000 for s in times], 'ms')} (under {TARGET_S:.0f} s)",
    ]
