"""Reports in a browser: areas, files, links, columns, two embeddings, samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from conftest import Opened, nearfar, nearfar_json
from test_report import search


def saved(report: Opened, button: str) -> bytes:
    """The content of the file that a button saves."""
    with report.page.expect_download() as download:
        report.page.click(button)
    return Path(download.value.path()).read_bytes()


def rows_of_area(report: Opened) -> list[list[str]]:
    """The CSV file of the area, with its header."""
    return list(csv.reader(io.StringIO(saved(report, "#area-csv").decode())))


def test_the_nodes_of_an_area_are_listed_and_saved(karate: Path, opened: Any) -> None:
    report = opened(karate)
    report.page.click("#area-in-view")
    assert report.page.inner_text("#area-count").startswith("34 ")
    header, *rows = rows_of_area(report)
    assert header[0] == "id"
    assert sorted(int(row[0]) for row in rows) == list(range(34))
    degree = header.index("degree")
    assert {row[0]: row[degree] for row in rows}["33"] == "17"
    # An area drawn around one node.
    report.page.click("#area-clear")
    report.page.click("#lasso")
    x, y = report.position(11)
    report.page.mouse.move(x - 4, y - 4)
    report.page.mouse.down()
    for to in [(4, -4), (4, 4), (-4, 4), (-4, -4)]:
        report.page.mouse.move(x + to[0], y + to[1], steps=3)
    report.page.mouse.up()
    report.settle()
    assert "11" in [row[0] for row in rows_of_area(report)]


def test_maps_are_saved_as_pictures(karate: Path, opened: Any) -> None:
    report = opened(karate)
    assert saved(report, "#png").startswith(b"\x89PNG")
    picture = saved(report, "#svg").decode()
    assert picture.startswith("<svg") and picture.count("<circle") == 34


def test_a_link_restores_the_view(moderate: Path, opened: Any) -> None:
    report = opened(moderate)
    report.page.select_option("#layout", "pca")
    report.page.select_option("#colour", label="degree")
    report.page.click("#zoom-in")
    search(report, "17")
    report.wait_for("location.hash.includes('node=17') && location.hash.includes('zoom=1.6')")
    link = report.page.url
    report.page.goto("about:blank")
    report.requests.clear()
    report.page.goto(link)
    report.page.wait_for_selector("html[data-ready=true]", state="attached")
    report.settle()
    assert report.selected() == 17
    assert report.page.input_value("#layout") == "pca"
    assert report.evaluate("document.getElementById('colour').selectedOptions[0].text") == "degree"
    assert report.evaluate("nearfar.view.zoom") == pytest.approx(1.6)
    report.requests[:] = [report.file.as_uri()]


def test_columns_of_the_user_are_shown_and_coloured(karate: Path, work: Path, opened: Any) -> None:
    table = work / "columns.csv"
    lines = [f"{node},{node * 1.5},{'abc'[node % 3]},\"text, {node}\"" for node in range(34)]
    table.write_text("id,score,kind,remark\n" + "\n".join(lines) + "\n")
    page = work / "columns.html"
    nearfar("report", karate.with_suffix(".npy"), "--graph", "builtin:karate", "--columns", table, "-o", page)
    report = opened(page)
    options = report.evaluate("[...document.getElementById('colour').options].map(one => one.text)")
    assert {"score", "kind"} <= set(options) and "remark" not in options
    search(report, "12")
    assert all(text in report.page.inner_text("#selected") for text in ["18", "kind a", "text, 12"])
    report.page.select_option("#colour", label="kind")
    report.page.locator("#legend button").filter(has_text="a").first.click()
    report.page.click("#area-in-view")
    header, *rows = rows_of_area(report)
    kinds = [row[header.index("kind")] for row in rows]
    assert sorted(kinds) == ["b"] * 11 + ["c"] * 11


def test_two_embeddings_are_compared(work: Path, opened: Any) -> None:
    files = {law: work / f"law-{law}.npy" for law in ["uniform", "distance"]}
    for law, file in files.items():
        nearfar("embed", "builtin:karate", "-o", file, "--negatives", law, "--dim", 8)
    page = work / "against.html"
    nearfar("report", files["uniform"], "--against", files["distance"], "--graph", "builtin:karate", "-o", page)
    report = opened(page)

    def most_similar(law: str, node: int) -> set[str]:
        found = nearfar_json("neighbors", files[law], node, "-k", 10)
        return {one["node"] for one in found["neighbors"]}

    kept = [len(most_similar("uniform", node) & most_similar("distance", node)) for node in range(34)]
    assert f"{sum(kept) / 34:.1f} on average are the same" in report.page.inner_text("#against-summary")
    search(report, "5")
    assert f"Similar in both ({kept[5]})" in report.page.inner_text("#kept-cards")
    scores = dict((row[0], row[1:3]) for row in report.rows("Scores of both"))
    for at, file in enumerate(files.values()):
        correlation = nearfar_json("measure", file, "builtin:karate")["spearman"]
        shown = scores["rank correlation"][at].replace("−", "-")
        assert float(shown) == pytest.approx(correlation, abs=6e-4)


def test_nodes_that_are_not_on_the_map_are_found_and_said_to_be_so(moderate: Path, work: Path, opened: Any) -> None:
    page = work / "sample.html"
    nearfar("report", moderate.with_suffix(".npy"), "--graph", "builtin:moderate", "--map-nodes", 300, "-o", page)
    report = opened(page)
    assert "300" in report.page.inner_text("#sample")
    report.page.fill("#search", "1")
    listed = report.page.locator("#found li").first.inner_text()
    report.page.press("#search", "Enter")
    report.settle()
    shown = report.page.locator("#search-note")
    if "not on the map" in listed:
        assert "not in the sample" in shown.inner_text()
    else:
        assert report.page.text_content("#selected .name") == "1"
    missing = 0
    for node in range(0, 2000, 100):
        search(report, str(node))
        missing += shown.is_visible()
        if not shown.is_visible():
            assert report.page.text_content("#selected .name") == str(node)
    assert 10 < missing < 20


def test_hostile_columns_and_names_stay_inert(karate: Path, work: Path, opened: Any) -> None:
    hostile = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "=HYPERLINK(\"x\")", "__proto__"]
    table = work / "hostile.csv"
    quoted = ['"' + text.replace('"', '""') + '"' for text in hostile]
    header = "id\t" + "\t".join(quoted)
    table.write_text(header + "\n" + "".join(f"{node}\t" + "\t".join(quoted[(node + at) % 4] for at in range(4)) + "\n" for node in range(34)))
    other = work / "<b>other&amp;.npy"
    nearfar("embed", "builtin:karate", "-o", other, "--negatives", "uniform", "--dim", 8)
    page = work / "hostile-columns.html"
    nearfar("report", karate.with_suffix(".npy"), "--against", other, "--graph", "builtin:karate", "--columns", table, "-o", page)
    report = opened(page)
    for name in hostile:
        report.page.select_option("#colour", label=name)
    search(report, "3")
    report.page.click("#area-in-view")
    assert report.evaluate("document.querySelectorAll('script').length") == 2
    assert report.evaluate("document.querySelectorAll('img, b:not(.brand b), iframe, object').length") == 0
    assert "<b>other&amp;" in report.page.inner_text("#against-summary")
    # A spreadsheet would compute it.
    cells = {cell for row in rows_of_area(report) for cell in row}
    assert hostile[0] in cells and f"'{hostile[2]}" in cells and hostile[2] not in cells
    assert report.evaluate("({}).polluted") is None
