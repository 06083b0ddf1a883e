"""Axes, figures as text and colours of the page."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import event_ops_harness.report
from event_ops_harness.report.charts import Chart, amounts, members, scaling
from event_ops_harness.report.drawing import LogScale
from event_ops_harness.report.figures import between, count, duration, percent, ratio, short, span
from event_ops_harness.report.rows import Group, Timing

STYLE = (Path(event_ops_harness.report.__file__).parent / "templates" / "style.css").read_text()


def titles(charts: list[Chart]) -> list[str]:
    """Return the words of each mark of the only chart."""
    (chart,) = charts
    root = ElementTree.fromstring(f"<div>{chart.drawing}</div>")
    return [str(title.text) for title in root.iter("title")]


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
    assert between(1.64, 1.56, 1.72) == "1.6× (1.6 to 1.7)" and between(12.3) == "12×"
    assert span([1.0, 1.9]) == "1.0 to 1.9" and span([2.0, 2.01]) == "2.0"


def test_rivals_are_what_others_wrote_and_the_plain_definition():
    ours = {"numba_cpu": 1.0, "warp": 0.2, "reference": 2.0}
    timings = [Timing(name, us, ours=True) for name, us in ours.items()]
    others = [Timing("SciPy", 3.0, ours=False), Timing("BCOO", 1.5, ours=False)]
    group = Group("g", (*timings, *others))
    assert group.rivals == [timings[2], *others] and group.fastest_rival is others[1]
    assert Group("g", tuple(timings[:2])).fastest_rival is None
    assert titles(members([group])) == [
        *(
            "warp: 200 ns, 0.20×, ours: 0.20×",
            "numba_cpu: 1 µs, 1.0×, ours: 1.0×",
            "BCOO: 1.5 µs, 1.5×, rival: 1.5×",
        ),
        *("reference: 2 µs, 2.0×, rival: 2.0×", "SciPy: 3 µs, 3.0×, rival: 3.0×"),
    ]


def test_amounts_are_drawn_beside_ours_where_there_are_any():
    given = {"a": 4.0, "b": 8.0, "c": -0.001}
    taken = [Timing(name, 1.0, name == "a", {"bytes_per_synapse": x}) for name, x in given.items()]
    assert titles(amounts([Group("kept", tuple(taken))])) == ["a: 4 B, ours: 1.0×", "b: 8 B, rival: 2.0×"]
    assert "c: 0 B" in amounts([Group("kept", tuple(taken))])[0].drawing


def test_curves_need_three_sizes_and_their_largest_has_the_exponent():
    def timing(series: str, name: str, size: int, **more: float) -> Timing:
        return Timing(name, size * 2.0, False, {"series": series, "size": size, **more})

    fit = {"exponent": 1.5, "error": 0.25}
    groups = [
        Group("f 16", (timing("f by rows", "a", 16), timing("f by rows", "b", 16, **fit))),
        *(Group(f"f {n}", (timing("f by rows", "a", n), timing("f by rows", "b", n))) for n in (1, 4)),
        *(Group(f"g {n}", (timing("g", "a", n),)) for n in (1, 2)),
        Group("h", (Timing("a", 1.0, True),)),
    ]
    (found,) = scaling(groups)
    assert (found.title, found.remark.split(";")[0]) == ("f by rows", "Time against rows")
    assert all(f"</svg>{name}</li>" in found.drawing for name in ("a", "b, exponent 1.50 ± 0.25"))
    assert titles([found])[:3] == ["a, 1: 2 µs", "a, 4: 8 µs", "a, 16: 32 µs"]


def palette(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", text))


LIGHT, DARK = (palette(part) for part in STYLE.split("@media (prefers-color-scheme: dark)", 1))
INKS = ("ink", "soft", "accent", "failed")
MARKS = tuple(f"c{k}" for k in range(8))
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
    for mark in MARKS:
        assert contrast(colours[mark], colours["paper"]) >= 3, mark
