"""Small results of every benchmark, and what the page made of them holds."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from event_ops_harness.report.inputs import read
from event_ops_harness.report.page import page

VOID = {"meta", "br", "hr", "img", "input", "link"}
MACHINE = {"cpu": "A processor", "cores": 2, "system": "Linux x86_64", "python": "3.12.1", "jax": "0.12.0"}
ATTACK = '<script>alert("no")</script> & more'


class Elements(HTMLParser):
    """Checks that what is opened is closed; keeps tags, ids, links and text."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"{tag} closes another element, on line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def having(self, tag: str, **attrs: str) -> list[dict[str, str | None]]:
        return [
            a for t, a in self.tags if t == tag and all(a.get(k.rstrip("_")) == v for k, v in attrs.items())
        ]

    @property
    def ids(self) -> list[str]:
        return [str(attrs["id"]) for _, attrs in self.tags if "id" in attrs]

    @property
    def links(self) -> set[str]:
        return {str(attrs["href"]) for _, attrs in self.tags if "href" in attrs}


def cell(operator: str, backend: str, kind: str, status: str, reason: str = "") -> dict[str, str]:
    where = {"row": "3.12-linux", "case": "empty", "dtype": "float32"}
    what = {"operator": operator, "backend": backend, "property": kind}
    return where | what | {"status": status, "reason": reason}


MATRIX = {
    "command": "nox -s matrix",
    "date": "2026-01-02",
    "commit": "abc1234",
    "machine": MACHINE,
    "rows": [
        {"name": "3.12-linux", "python": "3.12", "jax": "0.12.0", "platform": "linux", "status": "failed"},
        {
            "name": "gpu",
            "python": "3.12",
            "jax": "0.12.0",
            "platform": "gpu",
            "status": "skipped",
            "reason": "no GPU",
        },
    ],
    "cells": [
        cell("f", "numba_cpu", "jit", "passed"),
        cell("f", "numba_cpu", "jit", "skipped", "not here"),
        cell("f", "numba_cpu", "vmap", "failed", ATTACK),
        cell("f", "numba_cpu", "vmap", "passed"),
        cell("f", "warp", "jit", "skipped", "no Warp"),
        cell("g/h", "numba_cpu", "jit", "passed"),
    ],
}


def row(group: str, rival: str, us: float, ratio: float, **more: Any) -> dict[str, Any]:
    return {"group": group, "rival": rival, "us": us, "ratio": ratio, **more}


def benchmark(*rows: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"command": "nox -s bench -- it", "machine": MACHINE, "rows": list(rows), **sections}


CALL = benchmark(
    row("loop", "numba_kernel", 0.5, 5.0), row("loop", "XLA", 0.1, 1.0), row("loop", "callback", 50, 500)
)


def write(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def rendered(folder: Path) -> Elements:
    return Elements(page(read(folder), "2026-01-03", "fedcba9"))


def text_of(elements: Elements) -> str:
    return " ".join(" ".join(elements.text).split())


def write_all(folder: Path) -> Path:
    """Every benchmark, as small as it can be."""
    many = [
        row(
            f"op{i} 4k",
            rival,
            us,
            us,
            operator=f"op{i}",
            ours=rival == "numba_cpu",
            share=0.5,
            per="call",
            bytes=8,
        )
        for i in range(13)
        for rival, us in (("numba_cpu", 1.0), ("SciPy", 0.5 + i))
    ]
    sized = [
        row(f"f {n} rows", "numba_cpu", n / 10, 1.0, series="f by rows", size=n)
        for n in (10, 100, 1000, 10000)
    ]
    simulators = (("event-ops, fused step", 2.0, 0.25), ("Brian2", 8.0, 1.0))
    network = [
        {"simulator": who, "neurons": n, "us_median": us, "ratio_median": ratio, "us_per_step": [us]}
        for n in (4000, 40000)
        for who, us, ratio in simulators
    ]
    gpu = {"launch, us": 2.0, "f 1k, us": 4.0, "f 1k, cuSPARSE us": 6.0, "f 1k, share": 0.5}
    steps = {
        "products": {"status": "passed", "seconds": 1.0, "found": gpu, "tail": ""},
        "racecheck": {"status": "skipped", "seconds": 0.0, "found": None, "tail": "no compute-sanitizer"},
    }
    return write(
        folder,
        matrix=MATRIX,
        call=CALL,
        catalog=benchmark(*many, verdicts=["op1 is slow"], triad=[{"MiB": 3, "GB/s": 27.8}]),
        cuba=benchmark(*network, {"simulator": "NEST", "neurons": 4000, "skipped": "not installed"}),
        cuba_400000=benchmark(*({**x, "neurons": 400000} for x in network[:2])),
        scaling=benchmark(
            *sized, fits=[{"series": "f by rows", "rival": "numba_cpu", "exponent": 1.0, "error": 0.02}]
        ),
        threads=benchmark(
            row("STREAM triad", "1 thread", 10, 1.0, threads=1, efficiency=1.0),
            row("STREAM triad", "2 threads", 8, 0.8, threads=2, efficiency=0.625),
            serial=["g"],
        ),
        devices=benchmark(
            row("500 neurons", "1 device", 10, 1.0), row("500 neurons", "2 processes", 7, 0.7), skipped={}
        ),
        memory=benchmark({"group": "kept", "rival": "event_ops.CSR", "bytes_per_synapse": 8.0, "ratio": 1.0}),
        cold=benchmark(
            row("import", "jax", 6e5, 1.0), row("import", "event_ops", 6e4, 0.1), skipped={"MKL": "gone"}
        ),
        gpu={"command": "ci/gpu.sh", "device": "A GPU", "machine": MACHINE | {"jax": "0.11"}, "steps": steps},
        novel=benchmark({"what": "anything", "figure": 42}),
    )
