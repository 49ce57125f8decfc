"""The page on which one reviewer accepts or rejects made items, in a real browser, by keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.agents.made_folder import NAMES, write_folder
from tests.report.browser import Keys, Page
from toolhop_agents.construct.reviews import Material, read
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_tools.construct.reviews import Ruling

pytestmark = pytest.mark.browser

SHOWN = "return document.documentElement.dataset.item === '{}'"


def test_items_are_judged_by_keys_and_a_reload_goes_on(driver: Chrome, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    items = write_folder(folder)
    session = ReviewSession.open(Material.read(folder), "anna", settles=False)
    with ReviewServer(session) as server:
        page = Page(driver, folder)
        page.address = server.address
        page.prefer("light")
        page.resize(1400, 900)
        page.open()
        assert page.one("#question").text == items[0].question
        assert page.count(".hops > li") == len(items[0].hops)
        assert page.count("details.of-code[open]") == 0
        page.press("c")
        assert page.count("details.of-code[open]") == len(items[0].tools)
        # A letter in the field for the reason is a letter, and no verdict.
        page.press("r")
        assert page.focused == "reason"
        page.press("as read")
        assert [*read(folder)] == []
        page.press(Keys.ENTER)
        page.until(SHOWN.format(NAMES[1]))
        page.press("a")
        page.until(SHOWN.format(NAMES[2]))
        assert page.one("#done").text == "2 of 3 judged"
        page.press("k")
        page.until(SHOWN.format(NAMES[1]))
        assert page.one("#accept").get_attribute("aria-pressed") == "true"
        page.open()
        page.until(SHOWN.format(NAMES[2]))
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.resize(390, 844)
            wide = "return document.documentElement.scrollWidth > innerWidth"
            assert not page.js(wide), scheme
        page.one("#accept").click()
        page.until_text("#finished", "All 3 items judged, 1 rejected")
        assert page.errors() == []
    said = [(one.item, one.ruling, one.reason) for one in read(folder)]
    assert said == [
        (NAMES[0], Ruling.REJECT, "as read"),
        (NAMES[1], Ruling.ACCEPT, ""),
        (NAMES[2], Ruling.ACCEPT, ""),
    ]
