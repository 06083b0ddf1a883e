"""Make the paper's figure and table of the records in harness/results: `python paper/figures.py`.

Each row is a whole network: how many times as long its fastest rival takes, with the interval that the record
has, and NEST beside it where another one is the fastest.
"""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

from event_ops_harness.results import RESULTS, markdown_table

HERE = Path(__file__).parent
BEGIN, END = "<!-- networks:begin -->\n", "\n<!-- networks:end -->"
# Record, the name in front of that of the group, the source of the model.
NETWORKS = (
    ("cuba", "CUBA", "@Brette2007"),
    ("cuba_400000", "CUBA", "@Brette2007"),
    ("coba", "COBA", "@Brette2007"),
    ("inhibitory_stdp", "inhibitory plasticity", "@Vogels2011"),
    ("hpc_benchmark", "STDP, 11,250 neurons", "@Morrison2007"),
    ("hpc_benchmark_2_cores", "STDP, 11,250 neurons", "@Morrison2007"),
    ("microcircuit", "cortical microcircuit", "@Potjans2014"),
    ("microcircuit_full_one_call", "whole cortical microcircuit", "@Potjans2014"),
)


@dataclass(frozen=True)
class Network:
    """Hold how many times as long a network takes in its fastest rival, and in NEST where that is another."""

    name: str
    source: str
    rival: str
    ratio: float
    low: float
    high: float
    nest: float


def networks(folder: Path = RESULTS) -> list[Network]:
    """Return the networks of the records, in their order."""
    return [
        network
        for record, name, source in NETWORKS
        for network in _groups(json.loads((folder / f"{record}.json").read_text()), name, source)
    ]


def _groups(record: dict, name: str, source: str) -> list[Network]:
    """Return a network for each group of a record that has a rival."""
    members: dict[str, dict[str, dict]] = {}
    for one in record["benchmarks"]:
        members.setdefault(one["group"], {})[one["name"]] = one["extra_info"]
    networks = []
    for group, infos in members.items():
        ours = next(iter(infos.values()))  # the catalog's operators; a kernel by hand may follow
        if "rival" in ours:
            ratio, low, high = ours["ratio"], ours["low"], ours["high"]
            nest = infos["NEST"]["ratio"] / ratio if "NEST" in infos and ours["rival"] != "NEST" else math.nan
            label = f"{name}, {group.removeprefix('scale 1')}".replace(", , ", ", ").removesuffix(", ")
            networks.append(Network(label, source, ours["rival"], 1 / ratio, 1 / high, 1 / low, nest))
    return networks


def table(rows: list[Network]) -> str:
    """Return the rows as a table in Markdown."""
    head = ("network", "model", "fastest rival", "takes times as long", "interval", "NEST")
    cells = [
        (
            *(row.name, f"[{row.source}]", row.rival, _short(row.ratio)),
            *(f"{_short(row.low)} to {_short(row.high)}", "" if math.isnan(row.nest) else _short(row.nest)),
        )
        for row in rows
    ]
    return markdown_table(head, cells)


def _short(x: float) -> str:
    return f"{x:.0f}" if x >= 9.95 else f"{x:.1f}"


def draw(rows: list[Network], path: Path) -> None:
    """Draw the ratios on a logarithmic axis, ours at 1."""
    matplotlib.use("Agg")
    figure, axes = plt.subplots(figsize=(7, 0.3 * len(rows) + 0.9), layout="constrained")
    y = range(len(rows), 0, -1)
    ratios = [row.ratio for row in rows]
    errors = [[row.ratio - row.low for row in rows], [row.high - row.ratio for row in rows]]
    axes.errorbar(ratios, y, xerr=errors, fmt="o", color="#0b6e99", capsize=3, label="fastest rival")
    axes.plot([row.nest for row in rows], y, "D", color="#c2571a", mfc="none", label="NEST")
    axes.axvline(1, color="0.4", lw=1)
    axes.set(xscale="log", yticks=list(y), xlabel="time of a step, times that of event-ops")
    axes.set_yticklabels([row.name for row in rows])
    axes.legend(frameon=False, loc="center right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=200)
    plt.close(figure)


def with_table(text: str, rows: list[Network]) -> str:
    """Return the paper with the table of `rows` between its two comments."""
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{after}"


def main() -> int:
    """Write the figure and the table."""
    rows, paper = networks(), HERE / "paper.md"
    draw(rows, HERE / "networks.png")
    paper.write_text(with_table(paper.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
