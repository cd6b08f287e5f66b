"""The screenshot of the README: a report on Cora, if NEARFAR_DATA has it, else on a synthetic graph."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from pathlib import Path

from conftest import ARGUMENTS, Opened, nearfar
from PIL import Image
from playwright.sync_api import sync_playwright


def main(picture: str) -> None:
    cora = Path(os.environ.get("NEARFAR_DATA", "")) / "cora"
    graph = cora if cora.is_dir() else "builtin:moderate"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        nearfar("embed", graph, "-o", Path(folder) / f"{Path(graph).name}.npy", "--report", page)
        browser = playwright.chromium.launch(executable_path=os.environ["NEARFAR_BROWSER"], args=ARGUMENTS)
        report = Opened(browser, page, viewport={"width": 1000, "height": 760})
        # The map and the two maps below it, without the text in between.
        report.evaluate("['map-keys', 'map-note', 'tip'].forEach(id => { document.getElementById(id).hidden = true; })")
        report.page.locator(".pair").scroll_into_view_if_needed()
        report.settle()
        report.evaluate("scrollTo(0, 0)")
        report.settle()
        top = report.page.locator("#map-title").bounding_box()["y"] - 12
        pair = report.page.locator(".pair").bounding_box()
        clip = {"x": 0, "y": top, "width": 1000, "height": pair["y"] + pair["height"] + 12 - top}
        shot = report.page.screenshot(clip=clip, full_page=True)
        browser.close()
    # Quantise colours for a small file.
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(picture, optimize=True)


main(sys.argv[1])
