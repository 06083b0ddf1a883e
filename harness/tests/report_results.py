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

COUNTED = {"operator": "op1", "case": "4k", "backend": "warp", "launches": 2, "excess": 1.25}
COUNTED |= {"streamed": 0.875, "warp_efficiency": 0.5, "bank_conflicts": 3, "atomics": 7, "registers": 40}
COUNTED |= {"local": 0, "occupancy": 0.75, "h100_us": 2.5, "h200_us": 2.25}


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


def entry(group: str | None, name: str, us: float, *, ours: bool = False, **more: Any) -> dict[str, Any]:
    """Make an entry as pytest-benchmark writes it, of three rounds; `more` goes to extra_info."""
    low, median, high = (x * us * 1e-6 for x in (0.9, 1.0, 1.3))
    stats = {"min": low, "max": high, "mean": (low + median + high) / 3, "stddev": high - low, "rounds": 3}
    stats |= {"median": median, "iqr": high - low, "q1": low, "q3": high, "ld15iqr": low, "hd15iqr": high}
    stats |= {"iqr_outliers": 0, "stddev_outliers": 1, "outliers": "1;0", "iterations": 1}
    rest = {"ops": us and 1 / stats["mean"], "total": low + median + high, "data": [median, low, high]}
    return {
        "group": group,
        "name": name,
        "fullname": f"test_it.py::test_it[{name}]",
        "params": {"member": name},
        "param": f"float32-{name}",
        "extra_info": {"ours": ours, **more},
        "options": {"disable_gc": False, "min_rounds": 5, "max_time": 1.0, "warmup": False},
        "stats": stats | rest,
    }


def ours(group: str, name: str, us: float, **more: Any) -> dict[str, Any]:
    return entry(group, name, us, ours=True, **more)


def benchmark(*entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": "nox -s bench -- it",
        "machine_info": MACHINE,
        "commit_info": {"id": "0123456789abcdef", "dirty": True},
        "benchmarks": list(entries),
        "datetime": "2026-01-04T10:11:12.000000+00:00",
        "version": "5.3.1",
    }


CALL = benchmark(
    ours("loop", "numba_kernel", 0.5), entry("loop", "XLA", 0.1), entry("loop", "callback", 50.0)
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
    many: list[dict[str, Any]] = []
    for i in range(13):
        told: dict[str, Any] = {"operator": f"op{i}", "per": "call", "bytes": 8, "share": 0.5}
        ratio = {"rival": "SciPy", "ratio": 1 / (0.5 + i), "low": 0.9 / (0.5 + i), "high": 1.25 / (0.5 + i)}
        many += [
            ours(f"op{i} 4k", "numba_cpu", 1.0, **told, **ratio),
            ours(f"op{i} 4k", "warp", 0.25, **told),
            entry(f"op{i} 4k", "SciPy", 0.5 + i, operator=f"op{i}", versions={"scipy": "1.16"}),
        ]
    many += [
        ours("gradient of op1 4k", "value_and_grad", 6.0, operator="op1", rival="value", low=2.5, high=3.5),
        entry("gradient of op1 4k", "value", 2.0, operator="op1"),
    ]
    fit = {"exponent": 1.0, "error": 0.02}
    sized = [
        ours(f"f {n} rows", "numba_cpu", n / 10, series="f by rows", size=n, **(fit if n == 10000 else {}))
        for n in (10, 100, 1000, 10000)
    ]

    def network(neurons: int) -> list[dict[str, Any]]:
        group = f"{neurons:,} neurons"
        return [
            ours(group, "event-ops, one call", 2.0, rate=5.5),
            entry(group, "Brian2", 8.0, versions={"brian2": "2.10", "jax": MACHINE["jax"]}),
        ]

    gpu = {"launch, us": 2.0, "f 1k, cuSPARSE us": 6.0, "f 1k, us": 4.0, "f 1k, share": 0.5}
    steps = {
        "products": {"status": "passed", "seconds": 1.0, "found": gpu, "tail": ""},
        "racecheck": {"status": "skipped", "seconds": 0.0, "found": None, "tail": "no compute-sanitizer"},
    }
    distances = {"population": "L4E", "ks_to_nest": [0.25, *range(1, 10)]}
    return write(
        folder,
        matrix=MATRIX,
        call=CALL,
        forms=benchmark(ours("a step", "vectorize", 0.1), entry("a step", "NumPy", 0.2)),
        sampling=benchmark(ours("gradient", "numba_kernel", 0.2), entry("gradient", "pure_callback", 60.0)),
        plasticity=benchmark(ours("on_pre", "a rule", 0.1), entry("on_pre", "by hand", 0.1)),
        neurons=benchmark(ours("lif_step", "a model", 0.1), entry("lif_step", "by hand", 0.1)),
        derivatives=benchmark(ours("f, jvp", "numba_kernel", 0.2), entry("f, jvp", "JAX", 0.5)),
        catalog=benchmark(*many),
        cuba=benchmark(*network(4000), *network(40000)),
        cuba_400000=benchmark(*network(400000)),
        coba=benchmark(*network(4000)),
        inhibitory_stdp=benchmark(ours("a step", "event-ops", 9.0), entry("a step", "Brian2", 50.0)),
        hpc_benchmark=benchmark(ours("a step", "event-ops", 9.0), entry("a step", "NEST", 50.0)),
        brainevent=benchmark(ours("CUBA", "event-ops", 2.0), entry("CUBA", "BrainEvent", 8.0)),
        training=benchmark(ours("256 neurons", "one call", 2.0), entry("256 neurons", "JAX scan", 8.0)),
        graph_messages=benchmark(ours("sum", "gspmm", 2.0), entry("sum", "segments", 8.0)),
        microcircuit=benchmark(
            ours("scale 0.1", "event-ops", 9.0, real_time_factor=0.17), entry("scale 0.1", "NEST", 400.0)
        ),
        microcircuit_statistics={"seeds": 10, "rows": [distances], "means": {"L4E": {"rate": 4.5}}},
        scaling=benchmark(*sized),
        threads=benchmark(
            entry("STREAM triad", "1 thread", 10, threads=1, efficiency=1.0),
            entry("STREAM triad", "2 threads", 8, threads=2, efficiency=0.625),
        ),
        devices=benchmark(ours("500 neurons", "1 device", 10), ours("500 neurons", "2 processes", 7)),
        processes=benchmark(ours("225 neurons", "1 process", 10), ours("225 neurons", "2 processes", 6)),
        memory=benchmark(
            ours("kept", "event_ops.CSR", 9, bytes_per_synapse=8.0, resident_MiB=[251.25, 297]),
            entry("kept", "SciPy", 8, bytes_per_synapse=12.0),
        ),
        cold=benchmark(ours("import", "event_ops, after jax", 6e4), entry("import", "jax", 6e5)),
        gpu={"command": "ci/gpu.sh", "device": "A GPU", "machine": MACHINE | {"jax": "0.11"}, "steps": steps},
        gpu_counters={"command": "nox -s counters", "rows": [COUNTED], "estimates": "by a roofline"},
        novel=benchmark(entry(None, "test_anything", 42.0, answer=4242)),
    )
