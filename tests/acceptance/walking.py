"""What every step of the walk does in the browser: hand a task in, wait on the open page, hold it against the log."""

import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.fresh import FreshStudio
from tests.acceptance.pages import RunShown, hold_against, read_run

ENDED = re.compile("succeeded|failed|cancelled")


def submit(page: Page, studio: FreshStudio, task: str, *, profile: str = "") -> str:
    """Type a task at `/`, choose a profile or leave the first, press Ctrl-Enter: the run page opens. The run's code."""
    page.goto(studio.url)
    box = page.locator("textarea[name=task]")
    expect(box).to_be_focused()
    if profile:
        choose(page, profile)
    box.fill(task)
    box.press("Control+Enter")
    page.wait_for_url(re.compile(r"/runs/\w+/"))
    return page.url.split("/runs/")[1].split("/")[0]


def choose(page: Page, profile: str) -> None:
    """Choose a profile: a card where there are few, a list where there are many."""
    many = page.locator("select[name=profile]")
    if many.count():
        many.select_option(profile)
    else:
        page.locator(f"input[name=profile][value='{profile}']").check(force=True)


def wait_for_end(page: Page, *, state: str = "succeeded", within_s: float = 90) -> None:
    """Wait on the open page, which must learn it by itself: nobody reloads."""
    pill = page.locator("#head .pill")
    expect(pill).to_have_attribute("data-state", ENDED, timeout=within_s * 1000)
    assert pill.get_attribute("data-state") == state, page.locator("#head").inner_text()


def wait_for_middle(page: Page, *, done: int = 1) -> None:
    """Wait until some steps are done while another is being written."""
    expect(page.locator("#outline .dot[data-state=succeeded]").nth(done - 1)).to_be_visible(timeout=60_000)
    expect(page.locator("#outline .dot[data-state=running]").first).to_be_visible(timeout=60_000)


def settled(context: BrowserContext, studio: FreshStudio, code: str, asked_before: int) -> RunShown:
    """The run as its pages show it, held against what the simulator was asked."""
    run = read_run(context, studio.url, code)
    hold_against(run, studio.asked(asked_before))
    return run


def add(page: Page, studio: FreshStudio, noun: str, *, app: str = "workers", **fields: str) -> None:
    """Fill in an admin form and save it."""
    page.goto(f"{studio.url}/admin/{app}/{noun}/add/")
    for name, value in fields.items():
        if (offered := page.locator(f"#id_{name}_from")).count():  # two lists: what is chosen moves over
            offered.locator(f"option[value='{value}']").dblclick()
            continue
        field = page.locator(f"#id_{name}")
        if field.evaluate("(element) => element.tagName") == "SELECT":
            field.select_option(value)
        elif field.get_attribute("type") == "checkbox":
            field.check()
        else:
            field.fill(value)
    page.locator("[name=_save]").first.click()
    expect(page.get_by_text(re.compile("was added successfully"))).to_be_visible()


def value_of(page: Page, select: str, label: str) -> str:
    """The value of the choice whose words are `label`."""
    value = page.locator(f"{select} option", has_text=label).first.get_attribute("value")
    assert value is not None
    return value
