"""The page on which one reviewer accepts or rejects made items, in a real browser, by keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.agents.made_folder import NAMES, write_folder
from tests.report.browser import Keys, Page
from toolhop_agents.construct.reviews import Material, read
from toolhop_agents.review.bench import Bench
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_tools.construct.reviews import Ruling

pytestmark = pytest.mark.browser

SHOWN = "return document.querySelector('input[name=item]')?.value === '{}'"
SAYS = "return document.getElementById('{}')?.textContent.includes('{}')"
REVEALED = "return !!document.getElementById('derived')"


def test_items_are_answered_and_judged_by_keys_and_a_reload_goes_on(
    driver: Chrome, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    items = write_folder(folder)
    [first, *_] = items[0].hops
    assert first.gold is not None
    with (
        Bench("process") as bench,
        ReviewServer(ReviewSession.open(Material.read(folder), "anna", bench)) as server,
    ):
        page = Page(driver, folder)
        page.prefer("light")
        page.resize(1400, 900)
        driver.get(server.address)
        assert page.one("#question").text == items[0].question
        assert page.one("#accept").get_attribute("disabled")
        page.press("a")  # is no verdict before an answer
        assert first.question not in page.one("#main").text
        page.js(
            "document.getElementById('arguments').value = arguments[0];"
            "document.querySelector('#call select').value = arguments[1]",
            json.dumps(dict(first.gold.arguments)),
            first.tool.name,
        )
        page.one("#call button").click()
        page.until(SAYS.format("results", first.answer))
        page.one("#answer").send_keys("as read", Keys.ENTER)
        page.until(REVEALED)
        assert "is not the gold: as read" in page.one("#derived").text
        assert first.question in page.one("#main").text
        assert page.count("details[open]") == 0
        page.press("c")
        assert page.count("details[open]") == 2 * len(items[0].tools)
        # A letter in the field for the reason is a letter, and no verdict.
        page.press("r")
        assert page.focused == "reason"
        page.press("as read")
        assert not any(one.judges for one in read(folder))
        page.press(Keys.ENTER)
        page.until(SHOWN.format(NAMES[1]))
        page.one("#none").click()
        page.until(REVEALED)
        page.press("a")
        page.until(SHOWN.format(NAMES[2]))
        assert page.one("#done").text == "2 of 3 judged"
        page.press("k")
        page.until(SHOWN.format(NAMES[1]))
        assert page.one("#accept").get_attribute("aria-pressed") == "true"
        driver.get(server.address)
        page.until(SHOWN.format(NAMES[2]))
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.resize(390, 844)
            wide = "return document.documentElement.scrollWidth > innerWidth"
            assert not page.js(wide), scheme
        page.one("#answer").send_keys(items[2].answer, Keys.ENTER)
        page.until(REVEALED)
        page.one("#accept").click()
        page.until(SAYS.format("finished", "All 3 items judged, 1 rejected"))
        assert page.errors() == []
    said = {one.item: (one.ruling, one.reason, one.agreed) for one in read(folder)}
    assert said == {
        NAMES[0]: (Ruling.REJECT, "as read", False),
        NAMES[1]: (Ruling.ACCEPT, "", False),
        NAMES[2]: (Ruling.ACCEPT, "", True),
    }
