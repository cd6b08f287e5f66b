"""Reports for everyone: names for screen readers, contrast, colour-blind readers, keyboard, motion, paper."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

Colour = tuple[float, float, float]
Matrix = list[list[float]]

THEMES = ["light", "dark"]
# What lacks the cones for long, middle or short waves do to linear RGB: Machado, Oliveira and Fernandes,
# "A physiologically-based model for simulation of color vision deficiency", 2009, severity 1.
SIGHT: dict[str, Matrix] = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Roles that say nothing without a name.
NAMED = {"button", "combobox", "searchbox", "textbox", "checkbox", "spinbutton", "img", "image", "application", "link", "listbox", "region"}

CONTRASTS = """() => {
    const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
        if (!text || !element.checkVisibility() || ["SCRIPT", "OPTION"].includes(element.tagName)) continue;
        const style = getComputedStyle(element), back = behind(element);
        const [a, b] = [over(parse(element.closest("svg") ? style.fill : style.color), back), back].map(luminance);
        found.push([text.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
    }
    return found;
}"""


def linear(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    curve = lambda x: x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4
    return curve(red), curve(green), curve(blue)


def times(matrix: Matrix, vector: Colour) -> Colour:
    a, b, c = (sum(x * y for x, y in zip(row, vector)) for row in matrix)
    return a, b, c


def oklab(rgb: Colour) -> Colour:
    """Björn Ottosson's, in which distances are about as large as they look."""
    red, green, blue = (min(1.0, max(0.0, x)) for x in rgb)
    cones = times(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]],
        (red, green, blue),
    )
    a, b, c = (x ** (1 / 3) for x in cones)
    return times(
        [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099], [0.0259040371, 0.7827717662, -0.8086757660]],
        (a, b, c),
    )


def seen(colour: str, sight: str) -> Colour:
    return oklab(times(SIGHT[sight], linear(colour)))


def apart(a: Colour, b: Colour) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b)) ** 0.5


def contrast(a: str, b: str) -> float:
    low, high = sorted(times([[0.2126, 0.7152, 0.0722]] * 3, linear(colour))[0] for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


def test_colours_of_groups_are_told_apart_without_a_kind_of_cones(karate: Path, opened: Any) -> None:
    palettes = opened(karate).evaluate("nearfar.palettes")
    for theme, background in zip(THEMES, ["#ffffff", "#1c1f25"]):
        groups = palettes["CLASSES"][theme]
        assert len(groups) == 18
        for sight in SIGHT:
            nearest = min((apart(seen(a, sight), seen(b, sight)), a, b) for a, b in combinations(groups, 2))
            assert nearest[0] > 0.055, (theme, sight, nearest)
        faintest = min((contrast(colour, background), colour) for colour in groups)
        assert faintest[0] > 2.2, (theme, faintest)


def test_scales_are_ordered_without_a_kind_of_cones(karate: Path, opened: Any) -> None:
    palettes = opened(karate).evaluate("nearfar.palettes")
    for theme in THEMES:
        for sight in SIGHT:
            lightness = [seen(colour, sight)[0] for colour in palettes["SEQUENTIAL"][theme]]
            assert lightness == sorted(lightness, reverse=theme == "light"), (theme, sight)
            # The farther apart on the scale of near and far, the farther apart in colour.
            near, *_, far = ramp = [seen(colour, sight) for colour in palettes["DIVERGING"][theme]]
            assert apart(near, far) > 0.14, (theme, sight)
            assert all(apart(a, b) > 0.04 for a, b in zip(ramp, ramp[1:])), (theme, sight)


@pytest.mark.parametrize("scheme", THEMES)
def test_text_has_contrast_and_controls_have_names(karate: Path, opened: Any, scheme: str) -> None:
    report = opened(karate, color_scheme=scheme)
    report.page.click("#area-in-view")
    report.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    contrasts = report.page.evaluate(CONTRASTS)
    assert len(contrasts) > 200
    assert [text for text in contrasts if text[1] < 4.5] == []
    tree = report.context.new_cdp_session(report.page).send("Accessibility.getFullAXTree")["nodes"]
    known = [node for node in tree if not node["ignored"] and node["role"]["value"].lower() in NAMED]
    assert len(known) > 40
    assert [node["role"]["value"] for node in known if not node.get("name", {}).get("value")] == []
    levels = report.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].filter(one => one.checkVisibility()).map(one => +one.tagName[1])")
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:])), "no level of headings is left out"


def test_everything_is_reached_with_the_keyboard(karate: Path, opened: Any) -> None:
    report = opened(karate)
    reached = set()
    for _ in range(120):
        report.page.keyboard.press("Tab")
        reached.add(report.evaluate("document.activeElement.id || document.activeElement.className"))
    controls = {"search", "colour", "layout", "names", "zoom-in", "lasso", "area-in-view", "png", "svg", "link"}
    assert controls | {"map", "hops-map", "similarity-map", "similarity", "node"} <= reached
    # Enter selects the node in the middle; arrows move to others.
    report.page.focus("#map")
    nodes = []
    for _ in range(6):
        report.page.keyboard.press("Enter")
        nodes.append(report.selected())
        report.page.keyboard.press("ArrowRight")
    assert len(set(nodes)) > 1
    group = report.page.locator("#legend button").first
    group.focus()
    report.page.keyboard.press("Space")
    assert group.get_attribute("aria-pressed") == "false"


def test_nothing_moves_by_itself(karate: Path, opened: Any) -> None:
    report = opened(karate, reduced_motion="reduce")
    report.evaluate("nearfar.select(7)")
    report.page.click("#zoom-in")
    assert report.evaluate("document.getAnimations().length") == 0


def test_paper_is_white_and_without_controls(karate: Path, opened: Any) -> None:
    report = opened(karate, color_scheme="dark", viewport={"width": 794, "height": 1123})
    report.page.emulate_media(media="print", color_scheme="dark")
    report.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert report.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert report.page.locator(".tools").is_hidden()
    assert report.evaluate("document.documentElement.scrollWidth") <= 794
    assert [text for text in report.page.evaluate(CONTRASTS) if text[1] < 4.5] == []
    # Maps keep their proportions, and the swatches of legends their colours.
    assert report.evaluate("getComputedStyle(nearfar.maps.main.canvas).objectFit") == "contain"
    assert report.evaluate("getComputedStyle(document.querySelector('#legend i')).printColorAdjust") == "exact"
    pixels = "nearfar.maps.main.pixels.find(pixel => pixel >>> 24 === 255) & 0xffffff"
    light = report.evaluate("nearfar.palettes.CLASSES.light.map(one => parseInt(one.slice(5) + one.slice(3, 5) + one.slice(1, 3), 16))")
    assert report.evaluate(pixels) in light
