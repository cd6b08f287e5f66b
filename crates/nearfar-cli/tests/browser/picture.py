"""The README's picture: a report on Cora, if NEARFAR_DATA has it, else on a synthetic graph."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from conftest import ARGUMENTS, Opened, nearfar
from playwright.sync_api import sync_playwright


def main(picture: str) -> None:
    cora = Path(os.environ.get("NEARFAR_DATA", "")) / "cora"
    graph = cora if cora.is_dir() else "builtin:moderate"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        nearfar("embed", graph, "-o", Path(folder) / f"{Path(graph).name}.npy", "--report", page)
        browser = playwright.chromium.launch(executable_path=os.environ["NEARFAR_BROWSER"], args=ARGUMENTS)
        report = Opened(browser, page, viewport={"width": 1000, "height": 1500})
        # The map and the pair of maps below it, without the words between them.
        report.ask("['map-keys', 'map-note'].forEach(id => { document.getElementById(id).hidden = true; })")
        report.settle()
        top = report.page.locator("#facts").bounding_box()["y"] - 12
        pair = report.page.locator(".pair").bounding_box()
        height = pair["y"] + pair["height"] + 12 - top
        report.page.screenshot(path=picture, clip={"x": 0, "y": top, "width": 1000, "height": height})
        browser.close()


main(sys.argv[1])
