"""Reports in a browser: areas, files, links, columns, two embeddings, samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from conftest import Opened, nearfar, nearfar_json
from test_report import distances, search


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
    assert picture.startswith("<svg") and picture.count("<circle") == 34 and ">Mr. Hi</text>" in picture


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
    report.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    curves = report.rows("Similarity by distance, ξ, of both")
    for at, file in enumerate(files.values()):
        measured = nearfar_json("measure", file, "builtin:karate")
        assert [float(row[2 + at]) for row in curves] == pytest.approx(measured["xi"], abs=1e-4)
        correlation = measured["spearman"]
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
    # Hops are estimated, as well as the page says.
    nearfar("synth", "moderate", "-o", work / "moderate")
    rows = report.evaluate("[...nearfar.data.rows]")
    right = []
    for node in range(0, 300, 30):
        report.evaluate(f"nearfar.select({node})")
        exact = distances(work / "moderate" / "edges.tsv", str(rows[node]))
        right += [hop == exact.get(str(row), -1) for row, hop in zip(rows, report.evaluate("[...nearfar.selection().hops]"))]
    assert sum(right) / len(right) == pytest.approx(report.evaluate("nearfar.data.index.exact"), abs=0.1)
    assert "hops from the selected node are estimated" in report.page.inner_text("#notes")


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


def measures(pairs: list[int], xi: list[float], **more: Any) -> dict[str, Any]:
    """Measures as the page gets them, of distances from 1 hop on."""
    return {"distance": list(range(1, len(pairs) + 1)), "pairs": pairs, "xi": xi, "xi_std": [0.1] * len(pairs), "counted": "all", **more}


def said(report: Opened, given: dict[str, Any]) -> tuple[str, str]:
    """The sentence at the top and the caption of the curve for some measures."""
    sentence, caption = report.page.evaluate(
        "given => { const { carried, courseSentence, courseCaption } = nearfar.sentences, curve = carried(given);"
        " return [courseSentence(curve), courseCaption(given, curve)]; }",
        given,
    )
    return sentence, caption


def test_sentences_are_about_distances_with_enough_pairs(karate: Path, opened: Any) -> None:
    report = opened(karate)
    # The largest distance has one pair, which is very similar.
    sentence, caption = said(report, measures([50_000, 40_000, 900, 2], [0.9, 0.5, 0.45, 0.99]))
    assert "0.99" not in sentence and "(50\u202f000 pairs)" in sentence and "0.50 at 2 hops" in sentence
    assert "falls with distance" in caption and "3, 4 hops: left out" in caption
    # One pair in a hundred is enough in a small graph.
    assert "4 hops (3 pairs)" in said(report, measures([150, 90, 40, 3], [0.9, 0.5, 0.3, 0.1]))[0]
    sampled = measures([10**6, 10**8, 10**4], [0.9, 0.5, 1.0], counted="sampled", sources=1000, nodes=10**6,
                       interval={"xi": [0.01, 0.02, 1e-13]})
    # In a sample, a thousand pairs up to half of the diameter, and ten for each source beyond it.
    sentence, caption = said(report, {**sampled, "pairs": [2 * 10**6, 10**9, 5 * 10**6]})
    assert "0.90 ± 0.01 at 1 hop (2\u202f000\u202f000 pairs)" in sentence and "1.00" not in sentence
    assert "Estimated from the pairs of 1\u202f000 nodes, with 95 % intervals" in caption


def test_captions_follow_the_curve(karate: Path, opened: Any) -> None:
    report = opened(karate)
    for xi, course in [
        ([0.9, 0.6, 0.4, 0.2], "falls with distance"),
        ([0.2, 0.4, 0.6, 0.9], "rises with distance"),
        ([0.5, 0.5, 0.505, 0.5], "hardly changes with distance"),
        ([0.9, 0.3, 0.4, 0.6], "falls until 2 hops and rises beyond"),
        ([0.5, 0.9, 0.1, 0.5], "neither falls nor rises steadily"),
        ([0.9, 0.3, 0.8, 0.2], "neither falls nor rises steadily"),
        ([0.5, 0.9, 0.1, 0.2, 0.95], "neither falls nor rises steadily"),
    ]:
        assert course in said(report, measures([10_000] * len(xi), xi))[1]
    # Changes within the intervals are none.
    noisy = measures([10_000] * 2, [0.5, 0.47], counted="sampled", sources=100, nodes=200, interval={"xi": [0.02, 0.02]})
    assert "hardly changes" in said(report, noisy)[1]
    sentence, caption = said(report, {**noisy, "interval": {"xi": [0.02, 0.3]}})
    assert sentence == "The mean similarity σ(z·z) is 0.50 ± 0.02 at 1 hop (10\u202f000 pairs)."
    assert "2 hops: left out" in caption and "an interval of more than ± 0.1" in caption


def test_many_distances_are_taken_together(work: Path, opened: Any) -> None:
    path = work / "path.tsv"
    path.write_text("".join(f"{node}\t{node + 1}\n" for node in range(299)))
    nearfar("embed", path, "-o", work / "path.npy", "--dim", 8, "--report", work / "path.html")
    report = opened(work / "path.html")
    report.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    rows = report.rows("Similarity by distance, ξ")
    found = nearfar_json("measure", work / "path.npy", path)
    assert 10 < len(rows) < 60
    for hops, pairs, xi, _ in rows:
        first, last = (int(end) - 1 for end in (hops.split("–") * 2)[:2])
        counts = found["pairs"][first : last + 1]
        assert int(pairs.replace("\u202f", "")) == sum(counts) >= 897, "1 % of all"
        mean = sum(count * one for count, one in zip(counts, found["xi"][first : last + 1])) / sum(counts)
        assert float(xi) == pytest.approx(mean, abs=1e-4)
    assert "at 1–2 hops (1\u202f194 pairs)" in report.page.inner_text("#summary")
    assert len(report.rows("Distance distribution")) == 60
    assert len(report.rows("Similarity by distance")) < 60


def test_the_caption_of_training_explains_the_loss(karate: Path, opened: Any) -> None:
    report = opened(karate)
    caption = lambda loss, l2: report.page.evaluate(
        "([loss, l2]) => nearfar.sentences.trainingCaption(loss.map((value, at) => ({ epoch: at + 1, loss: value, l2: l2[at] })))", [loss, l2])
    rising = caption([0.7, 0.55, 0.6, 0.65], [0.1, 0.1, 0.2, 0.4])
    assert "falls to 0.550 in epoch 2, rises to 0.650 in epoch 4 while λ grows from 0.100 to 0.400." in rising
    assert "A larger λ shortens vectors" in rising
    steady = caption([0.7, 0.55, 0.551, 0.555], [0.1, 0.1, 0.2, 0.4])
    assert "falls to 0.550 in epoch 2, and stays near it." in steady and "shortens" not in steady
    assert "λ is 0.100 throughout." in caption([0.7, 0.6], [0.1, 0.1])


def test_settings_are_as_used(karate: Path, opened: Any) -> None:
    report = opened(karate)
    settings = dict(report.rows("Settings"))
    assert {"negatives": "distance", "seed": "0", "epochs": "30", "version": "0.1.0"}.items() <= settings.items()
    assert all("auto" not in value.split() for value in settings.values())
    assert settings["l2"].startswith("adjusted after each epoch: from ")
    run = dict(report.rows("Run"))
    assert {"read, seconds", "prepare, seconds", "train, seconds", "save, seconds", "memory, planned"} <= set(run)


def test_classes_of_one_node_do_not_hide_the_scores(karate: Path, work: Path, opened: Any) -> None:
    labels = work / "many-labels.tsv"
    labels.write_text("".join(f"{node}\t{'only one' if node == 0 else f'label {node % 3} ' + 'of many words ' * 9}\n" for node in range(34)))
    page = work / "many-labels.html"
    nearfar("report", karate.with_suffix(".npy"), "--graph", "builtin:karate", "--labels", labels, "-o", page)
    report = opened(page, viewport={"width": 360, "height": 740})
    assert "F1-macro" in [row[0] for row in report.rows("Node classification")]
    assert "only one" in report.page.inner_text("#numbers")
    assert report.evaluate("document.documentElement.scrollWidth") <= 360


def test_groups_beyond_the_colours_have_names(moderate: Path, work: Path, opened: Any) -> None:
    labels = work / "25-labels.tsv"
    labels.write_text("".join(f"{node}\tgroup {node % 25 + 1}\n" for node in range(2000)))
    page = work / "25-labels.html"
    nearfar("report", moderate.with_suffix(".npy"), "--graph", "builtin:moderate", "--labels", labels, "-o", page)
    report = opened(page)
    legend = report.page.locator("#legend")
    assert legend.locator("summary").inner_text() == "7 more, in grey"
    legend.locator("summary").click()
    last = legend.locator("details button").last
    last.hover()
    highlighted = "nearfar.maps.main.colouring.groups[nearfar.view.highlight].text"
    assert report.evaluate(highlighted) == last.locator("span").inner_text()
    report.settle()
    assert report.evaluate("nearfar.maps.main.drawnNames").__len__() <= 1


def test_hostile_links_open_the_usual_view(karate: Path, opened: Any) -> None:
    report = opened(karate)
    usual = report.evaluate("JSON.stringify([nearfar.view.x, nearfar.view.y, nearfar.view.zoom, nearfar.view.layout, nearfar.view.selected])")
    for text in [
        "x=NaN&y=1e999&zoom=-1&map=__proto__&colour=constructor&node=-1&hidden=1e9.x.-1&range=a~b",
        "node=1.5&map=%3Cimg%20src=x%20onerror=alert(1)%3E&names=%00&zoom=",
        "%E0%A4%A&&&===&node=99999999999999999999",
    ]:
        report.page.goto("about:blank")
        report.requests.clear()
        report.page.goto(f"{report.file.as_uri()}#{text}")
        report.page.wait_for_selector("html[data-ready=true]", state="attached")
        report.settle()
        now = report.evaluate("JSON.stringify([nearfar.view.x, nearfar.view.y, nearfar.view.zoom, nearfar.view.layout, nearfar.view.selected])")
        assert now == usual
        assert report.evaluate("nearfar.view.hidden.size") == 0 and report.evaluate("nearfar.view.range") is None
    report.requests[:] = [report.file.as_uri()]


def test_the_policy_forbids_scripts_and_requests(karate: Path, opened: Any) -> None:
    report = opened(karate)
    policy = report.page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content") or ""
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'" and parts["base-uri"] == parts["form-action"] == "'none'"
    assert parts["script-src"].startswith("'sha256-") and parts["style-src"].startswith("'sha256-")
    assert "unsafe" not in policy and "http" not in policy
    # What a script that came in would try.
    attempts = report.evaluate("""(async () => {
        const blocked = [];
        document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => blocked.push(effectiveDirective));
        const script = document.createElement("script");
        script.textContent = "globalThis.polluted = true";
        document.body.append(script);
        await fetch("data:text/plain,x").catch(() => {});
        await new Promise((done) => setTimeout(done, 100));
        return [globalThis.polluted ?? null, blocked.sort().join()];
    })()""")
    assert attempts == [None, "connect-src,script-src-elem"]
    report.messages.clear()


def test_hops_of_a_directed_graph_follow_its_edges(work: Path, opened: Any) -> None:
    cycle = work / "cycle.tsv"
    cycle.write_text("".join(f"{node}\t{(node + 1) % 12}\n" for node in range(12)))
    nearfar("embed", cycle, "--directed", "-o", work / "cycle.npy", "--dim", 4)
    nearfar("report", work / "cycle.npy", "--graph", cycle, "--directed", "-o", work / "cycle.html")
    report = opened(work / "cycle.html")
    for node in [0, 7]:
        search(report, str(node))
        assert report.evaluate("[...nearfar.selection().hops]") == [(other - node) % 12 for other in range(12)]
    assert "along the edges" in report.page.inner_text("#hops-title")
    assert "Edges have directions" in report.page.inner_text("#notes")


def test_lengths_are_told_from_hops(work: Path, opened: Any) -> None:
    # A path of 80 nodes with edges of length 0.5: distances up to 39.5, in 79 hops.
    path = work / "lengths.tsv"
    path.write_text("".join(f"{node}\t{node + 1}\t0.5\n" for node in range(79)))
    lengths = ["--distance", "length"]
    nearfar("embed", path, *lengths, "-o", work / "lengths.npy", "--dim", 4)
    nearfar("report", work / "lengths.npy", "--graph", path, *lengths, "-o", work / "lengths.html")
    report = opened(work / "lengths.html")
    assert "by length; diameter 39.5" in report.page.inner_text("#facts")
    assert " at length 2 (" in report.page.inner_text("#summary")
    assert "Edges have lengths" in report.page.inner_text("#notes")
    # Bins of lengths are not joined into ranges of hops, and the page searches by hops.
    bins = report.evaluate("nearfar.sentences.carried(nearfar.data.head.measures).map(({ unit, from, to }) => [unit, to - from])")
    assert len(bins) > 10 and all(one == ["length", 0] for one in bins)
    search(report, "0")
    assert report.evaluate("[...nearfar.selection().hops]") == list(range(80))
