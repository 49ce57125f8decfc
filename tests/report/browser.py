"""Headless Chromium, and what tests ask of a page in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,900",
)
WAIT_S = 120.0
"""For what must come: only a page that is broken makes a test wait so long."""


@contextmanager
def started(chromium: tuple[str, str]) -> Iterator[Chrome]:
    """A browser of its own, with an empty profile."""
    options = Options()
    options.binary_location = chromium[0]
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(chromium[1]))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """A report in a browser."""

    def __init__(self, driver: Chrome, file: Path) -> None:
        self.driver = driver
        self.address = file.as_uri()

    def open(self, hash_: str = "") -> Page:
        """Load it anew, at a place; waits until it is drawn."""
        self.driver.get("about:blank")
        self.log("browser")
        self.driver.get(f"{self.address}{hash_}")
        self.until("return document.documentElement.dataset.ready === 'yes'")
        return self

    def filtered(self, name: str, value: str) -> Page:
        """Another list, by its address alone; waits until it is there."""
        hash_ = f"#view=episodes&{name}={value}"
        self.js("document.activeElement.blur(); location.hash = arguments[0]", hash_)
        # The fields follow the address after the list does.
        self.until(f"return document.getElementById('filter-{name}')?.value === '{value}'")
        return self

    def read(self, episode: str, title: str) -> Page:
        """Another episode, by its address alone; waits until it is there."""
        self.js("location.hash = arguments[0]", f"#episode={episode}")
        self.until_text("#episode-title", title)
        return self

    def log(self, kind: str) -> list[dict[str, Any]]:
        """Entries of a log since it was last read."""
        entries: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return entries

    def js(self, script: str, *values: object) -> Any:
        return self.driver.execute_script(script, *values)

    def until(self, script: str) -> Any:
        """Wait until a script returns something true."""
        return WebDriverWait(self.driver, WAIT_S, 0.05).until(lambda _: self.js(script))

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.js(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
            selector,
        )
        return found

    def count(self, selector: str) -> int:
        return int(self.js("return document.querySelectorAll(arguments[0]).length", selector))

    def until_text(self, selector: str, text: str) -> None:
        """Wait until an element holds a text."""
        wanted = json.dumps([selector, text])
        self.until(
            f"const [s, t] = {wanted}; return document.querySelector(s)?.textContent.includes(t)"
        )

    def press(self, *keys: str) -> None:
        """Keys on whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    @property
    def focused(self) -> str:
        """Id of what has the focus, else its tag's name."""
        return str(self.js("return document.activeElement.id || document.activeElement.tagName"))

    @property
    def hash(self) -> str:
        return str(self.js("return decodeURIComponent(location.hash)"))

    def errors(self) -> list[str]:
        """What the console complained of since the page was opened."""
        return [str(entry["message"]) for entry in self.log("browser")]

    def requests(self) -> list[str]:
        """Addresses that the page has loaded; what its policy forbids is among `errors`."""
        found: list[str] = self.js(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)"
        )
        return found

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """The system's colours: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


__all__ = ["Keys", "Page", "started"]
