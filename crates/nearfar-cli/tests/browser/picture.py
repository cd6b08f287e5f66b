"""Pictures of reports for the documentation.

    picture.py FILE                 the README's: Cora, if NEARFAR_DATA has it, else a synthetic graph
    picture.py --against FILE       uniform and distance negatives on the same graph, side by side
    picture.py --views PAGE FILE    a page in both themes, on a desktop and on a phone
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from pathlib import Path

from conftest import ARGUMENTS, Opened, nearfar
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

DATA = Path(os.environ.get("NEARFAR_DATA", "")) / "cora"
GRAPH = DATA if DATA.is_dir() else Path("builtin:moderate")


def hide(report: Opened, *ids: str) -> None:
    report.evaluate(f"{list(ids)}.forEach(id => {{ document.getElementById(id).hidden = true; }})")


def shot(report: Opened, top: str, bottom: str, width: int) -> Image.Image:
    """The page from the top of an element to the bottom of another one."""
    report.page.locator(bottom).scroll_into_view_if_needed()
    report.settle()
    report.evaluate("scrollTo(0, 0)")
    report.settle()
    start = report.page.locator(top).bounding_box()["y"] - 12
    last = report.page.locator(bottom).bounding_box()
    clip = {"x": 0, "y": start, "width": width, "height": last["y"] + last["height"] + 4 - start}
    return Image.open(io.BytesIO(report.page.screenshot(clip=clip, full_page=True))).convert("RGB")


def readme(browser: Browser, folder: Path) -> Image.Image:
    page = folder / "report.html"
    nearfar("embed", GRAPH, "-o", folder / f"{GRAPH.name}.npy", "--report", page)
    report = Opened(browser, page, viewport={"width": 1000, "height": 760})
    # The map and the two maps below it, without the text in between.
    hide(report, "map-keys", "map-note", "tip")
    return shot(report, "#map-title", "#hops-figure", 1000)


def against(browser: Browser, folder: Path) -> Image.Image:
    files = {law: folder / f"{law}.npy" for law in ["uniform", "distance"]}
    for law, file in files.items():
        nearfar("embed", GRAPH, "-o", file, "--negatives", law)
    page = folder / "against.html"
    nearfar("report", files["uniform"], "--against", files["distance"], "--graph", GRAPH, "-o", page)
    report = Opened(browser, page, viewport={"width": 1000, "height": 760})
    hide(report, "tip")
    return shot(report, "#against-title", "#against-cards", 1000)


def views(browser: Browser, page: Path) -> Image.Image:
    """Both themes from the title to the map, at half the size of a desktop's and a phone's screen."""
    shots = {}
    for scheme in ["light", "dark"]:
        for width in [1280, 390]:
            report = Opened(browser, page, color_scheme=scheme, viewport={"width": width, "height": 844})
            report.page.wait_for_timeout(500)
            shots[scheme, width] = shot(report, "header", "#map-keys" if width > 600 else "#legend", width)
            report.context.close()
    heights = [max(shots[scheme, width].height for width in [1280, 390]) for scheme in ["light", "dark"]]
    sheet = Image.new("RGB", (1280 + 390 + 60, sum(heights) + 60), "#c9c7c1")
    for at, scheme in enumerate(["light", "dark"]):
        for left, width in [(20, 1280), (1320, 390)]:
            sheet.paste(shots[scheme, width], (left, 20 + at * (heights[0] + 20)))
    return sheet.resize((sheet.width // 2, sheet.height // 2), Image.Resampling.LANCZOS)


def main(arguments: list[str]) -> None:
    draw = {"--against": against, "--views": views}.get(arguments[0], readme)
    names = [name for name in arguments if not name.startswith("--")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["NEARFAR_BROWSER"], args=ARGUMENTS)
        picture = draw(browser, Path(names[0]) if draw is views else Path(folder))
        browser.close()
    # Quantise colours for a small file.
    picture.quantize(256, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE).save(names[-1], optimize=True)


main(sys.argv[1:])
