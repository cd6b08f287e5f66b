"""Reports to test, and the browser that opens them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def nearfar(*arguments: object) -> str:
    """Runs a command and returns its standard output; fails if the command does."""
    command = [os.environ["NEARFAR_BIN"], *map(str, arguments), "--quiet"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def nearfar_json(*arguments: object) -> Any:
    return json.loads(nearfar(*arguments, "--json"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["NEARFAR_BROWSER"], args=ARGUMENTS)
        yield browser
        browser.close()


class Opened:
    """A report in the browser. Records console messages, errors, dialogs and network requests."""

    def __init__(self, browser: Browser, file: Path, **options: Any) -> None:
        self.file = file
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(f"dialog: {dialog.message}"))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready=true]", state="attached", timeout=60_000)
        self.settle()

    def settle(self) -> None:
        """Waits until pending redraws are done."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def wait_for(self, expression: str) -> None:
        """Waits until an expression is true. Playwright's wait_for_function evaluates strings, which the policy forbids."""
        for _ in range(100):
            if self.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        pytest.fail(f"never true: {expression}")

    def position(self, node: int, map: str = "main") -> tuple[float, float]:
        """The position of a node in the window, after scrolling its map into view."""
        self.page.locator(f"#{self.evaluate(f'nearfar.maps.{map}.canvas.id')}").scroll_into_view_if_needed()
        self.settle()
        x, y = self.evaluate(
            f"""(() => {{ const map = nearfar.maps.{map}, box = map.canvas.getBoundingClientRect();
            const at = map.pixelOf({node}), ratio = map.canvas.width / box.width;
            return [box.left + at.x / ratio, box.top + at.y / ratio]; }})()"""
        )
        return x, y

    def selected(self) -> int:
        return int(self.page.get_attribute("#selected", "data-node") or -1)

    def rows(self, title: str) -> list[list[str]]:
        """The rows of the table of a card."""
        card = self.page.locator(".card", has=self.page.get_by_role("heading", name=title, exact=True))
        return [row.locator("td").all_inner_texts() for row in card.locator("tbody tr").all()]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Any]:
    """Opens reports; checks at the end that none logged a message or made a request."""
    all_opened: list[Opened] = []

    def open_(file: Path, **options: Any) -> Opened:
        all_opened.append(Opened(browser, file, **options))
        return all_opened[-1]

    yield open_
    for one in all_opened:
        assert one.messages == []
        assert one.requests == [one.file.as_uri()]
        one.context.close()


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def karate(work: Path) -> Path:
    nearfar("embed", "builtin:karate", "-o", work / "karate.npy", "--report", work / "karate.html")
    return work / "karate.html"


@pytest.fixture(scope="session")
def moderate(work: Path) -> Path:
    nearfar("embed", "builtin:moderate", "-o", work / "moderate.npy", "--dim", 32, "--log", work / "moderate.jsonl", "--report", work / "moderate.html")
    return work / "moderate.html"


@pytest.fixture(scope="session")
def large(work: Path) -> Path:
    """100 000 nodes, with short training and a small t-SNE sample: only the page is tested."""
    nearfar("synth", "moderate", "--nodes", 100_000, "-o", work / "large")
    quick = ["--negatives", "uniform", "--epochs", 1, "--walks", 1, "--context", 3, "--l2", 0]
    nearfar("embed", work / "large", "-o", work / "large.npy", *quick)
    nearfar("report", work / "large.npy", "--graph", work / "large", "--points", 1000, "-o", work / "large.html")
    return work / "large.html"
