"""How fast a report is, in headless Chromium without a GPU: `run --speed PAGE` prints it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from conftest import ARGUMENTS, Opened
from playwright.sync_api import sync_playwright

# Frames a second over two seconds of a gesture on the map.
FRAMES = """gesture => new Promise(done => {
    const { canvas } = nearfar.maps.main, box = canvas.getBoundingClientRect(), start = performance.now();
    const at = (frame) => ({ clientX: box.x + box.width / 2 + 3 * Math.abs(frame % 80 - 40), clientY: box.y + box.height / 2, pointerId: 1, bubbles: true });
    canvas.setPointerCapture = () => {};
    if (gesture === "pan") canvas.dispatchEvent(new PointerEvent("pointerdown", at(0)));
    let frames = 0;
    const step = () => {
        if (gesture === "pan") canvas.dispatchEvent(new PointerEvent("pointermove", at(frames)));
        else canvas.dispatchEvent(new WheelEvent("wheel", { ...at(0), deltaY: frames % 60 < 40 ? -20 : 20, cancelable: true }));
        frames += 1;
        const time = performance.now() - start;
        if (time < 2000) return requestAnimationFrame(step);
        if (gesture === "pan") canvas.dispatchEvent(new PointerEvent("pointercancel", at(0)));
        done(1000 * frames / time);
    };
    requestAnimationFrame(step);
})"""
SELECTION = "(() => { const start = performance.now(); nearfar.select(5); return performance.now() - start; })()"


def speeds(report: Opened) -> str:
    painted = report.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    ready = report.evaluate("performance.getEntriesByName('ready')[0].startTime")
    assert 0 < painted <= ready
    report.page.focus("#map")
    report.settle()
    pan, zoom = (report.page.evaluate(FRAMES, gesture) for gesture in ("pan", "zoom"))
    nodes = report.evaluate("nearfar.data.nodes")
    return (
        f"{nodes} nodes, {report.file.stat().st_size / 1e6:.1f} MB: first paint {painted:.0f} ms, ready {ready:.0f} ms, "
        f"panning {pan:.0f} and zooming {zoom:.0f} frames a second, a selection {report.evaluate(SELECTION):.0f} ms"
    )


if __name__ == "__main__":
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["NEARFAR_BROWSER"], args=ARGUMENTS)
        print(speeds(Opened(browser, Path(sys.argv[1]))))
        browser.close()
