"""Axes, figures as text and colours of the page."""

import re
from pathlib import Path

import pytest

import event_ops_harness.report
from event_ops_harness.report.charts import curves
from event_ops_harness.report.figures import count, duration, percent, ratio, short, span
from event_ops_harness.report.rows import Group, Timing
from event_ops_harness.report.svg import Amount, LogScale, amount_bars, ratio_bars, ratio_scale, style

STYLE = (Path(event_ops_harness.report.__file__).parent / "templates" / "style.css").read_text()


def bars_of(svg: str) -> list[tuple[float, float]]:
    """(start, width) of each bar in percent."""
    return [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)%" width="([\d.]+)%"', svg)]


def test_scale_is_logarithmic_and_clamped():
    scale = LogScale(1.0, 100.0, start=10.0, end=90.0)
    assert [scale.at(x) for x in (0.1, 1.0, 10.0, 100.0, 1e9)] == pytest.approx([10, 10, 50, 90, 90])


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.9, 6.0, [1, 2, 5]), (0.5, 2000.0, [1, 10, 100, 1000]), (1e-3, 1e9, [1e-3, 1, 1e3, 1e6, 1e9])],
)
def test_ticks_are_round_and_few(low: float, high: float, ticks: list[float]):
    assert LogScale(low, high).ticks() == pytest.approx(ticks)


def test_figures_have_the_digits_that_matter():
    assert [duration(x) for x in (0.1196, 7.85, 9565.8, 1.04e6)] == ["120 ns", "7.85 µs", "9.57 ms", "1.04 s"]
    assert [ratio(x) for x in (0.047, 0.5, 0.996, 1.96, 9.96, 25315.0)] == [
        *("0.047×", "0.50×", "1.0×", "2.0×", "10×"),
        "25,315×",
    ]
    assert [short(x) for x in (0.0, 0.25, 1234.5)] == ["0", "0.25", "1,234"]
    assert [percent(x) for x in (0.002, 0.48, 2.31)] == ["0.2%", "48%", "231%"]
    assert [count(x) for x in (10, 4000, 1e6, 2.5e9)] == ["10", "4k", "1M", "2.5G"]
    assert span([1.0, 1.9]) == "1.0 to 1.9" and span([2.0, 2.01]) == "2.0"


def test_ratio_bars_start_at_the_limit_and_point_to_the_slower_side():
    group = Group("g", tuple(Timing("g", f"r{x}", x, x, "g", False) for x in (0.5, 1.0, 4.0)))
    scale = ratio_scale([group])
    (left, faster), (_, none), (right, slower) = bars_of(ratio_bars(group, scale))
    assert left + faster == pytest.approx(scale.at(1.0), abs=0.02) == right
    assert none == 0 and slower == pytest.approx(2 * faster, abs=0.05)


def test_amount_bars_start_at_zero():
    amounts = [Amount("a", 4.0, "4", False), Amount("b", 8.0, "8", True), Amount("c", -0.1, "0", True)]
    assert bars_of(amount_bars("x", amounts)) == [(0, 50), (0, 100), (0, 0)]


def test_curves_need_three_sizes_and_take_exponents_from_rows_or_fits():
    rows = [
        {"group": f"f {n}", "rival": who, "us": n * 2.0, "nnz": n, "neurons": 5}
        for who in "ab"
        for n in (1, 4, 16)
    ]
    rows += [{"group": f"g {n}", "rival": "a", "us": 1.0, "nnz": n} for n in (1, 2)]
    (found,) = curves(rows, [{"group": "f", "rival": "b", "exponent": 1.5, "error": 0.25}])
    assert (found.title, found.axis, [s.exponent for s in found.series]) == (
        "f",
        "nnz",
        ["", "exponent 1.50 ± 0.25"],
    )
    assert found.series[0].points == ((1, 2), (4, 8), (16, 32))


def test_eleven_curves_are_told_apart_and_the_first_has_its_colour_alone():
    styles = [style(position) for position in range(11)]
    assert len(set(styles)) == 11
    assert [kind for kind, _ in styles].count("s0") == 1


def palette(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", text))


LIGHT, DARK = (palette(part) for part in STYLE.split("@media (prefers-color-scheme: dark)", 1))
INKS = ("ink", "soft", "accent", "behind", "failed")
SHAPES = ("rival", "s1", "s2", "s3", "s4", "s5")
PAIRS = [("pass-ink", "pass"), ("part-ink", "part"), ("skip-ink", "skip"), ("fail-ink", "fail")]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_that_of_wcag_aa(colours: dict[str, str]):
    for ink, ground in [*((ink, "paper") for ink in INKS), *((ink, "sheet") for ink in INKS), *PAIRS]:
        assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for shape in SHAPES:
        assert contrast(colours[shape], colours["paper"]) >= 3, shape
