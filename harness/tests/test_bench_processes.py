"""The benchmarks in fresh processes (`cold`, `devices`, `memory`, `threads`) write figures that fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from event_ops_harness.bench import cold, devices, memory, threads
from event_ops_harness.bench.fresh import ProcessError
from event_ops_harness.bench.workers import cold as cold_worker
from event_ops_harness.bench.workers import memory as memory_worker
from event_ops_harness.bench.workers.cold import WAYS
from event_ops_harness.bench.workers.memory import KINDS

LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs")


def run(main: Any, output: Path, *words: str) -> dict[str, Any]:
    assert main([*words, "--output", str(output)]) == 0
    return json.loads(output.read_text())


@pytest.mark.slow
def test_cold_start_of_the_reference_scipy_and_a_cached_kernel(tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("numba", reason="one way is a Numba kernel")
    monkeypatch.setattr(cold, "IMPORTED", {"event_ops": "event_ops", "absent": "no_such_module"})
    words = ("--rounds", "1", "--rows", "50", "--per-row", "4", "--only", "SciPy", "Numba by hand")
    result = run(cold.main, tmp_path / "cold.json", *words)
    rows = {(row["group"], row["rival"]): row for row in result["rows"]}
    assert rows["import", "jax"]["us"] > rows["import", "event_ops, after jax"]["us"] > 0
    assert not rows["import", "jax"]["ours"] and rows["import", "event_ops, after jax"]["ours"]
    assert "no_such_module" in result["skipped"]["absent"] and "skipped: absent" in capsys.readouterr().out
    kernel = [
        rows[f"first call, {name} process", "Numba by hand, cache=True"] for name in ("first", "second")
    ]
    assert all(row["files"] >= 2 and row["us"] > row["second_call_us"] for row in kernel)
    own = rows["first call, first process", cold.BASELINE]
    assert own["ratio"] == 1 and own["us"] > own["second_call_us"] > 0 and own["files"] == 0
    assert own["quartiles_us"] == [own["us"]] * 2 and own["ours"] and own["jax_start_us"] > 0
    assert rows["first call, second process, JAX's cache on", cold.BASELINE]["files"] > 0
    assert rows["first call, second process", "SciPy"]["files"] == 0
    assert not any("JAX's cache" in group for group, rival in rows if rival == "SciPy")


def test_cold_start_refuses_a_wrong_product(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cold, "ask", lambda *_: {"norm": 2.0, "first": 1.0})
    with pytest.raises(ProcessError, match=r"y has norm 2; expected 1"):
        cold.two_processes({}, False, 1.0)


def test_each_pair_of_processes_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch):
    seen: list[Path] = []

    def ask(worker, request, env):
        folder = Path(env["NUMBA_CACHE_DIR"]).parent
        seen.append(folder)
        assert len(list(folder.iterdir())) == seen.count(folder) - 1  # empty for the first one
        (folder / "kept").write_text("12345")
        assert (env["JAX_COMPILATION_CACHE_DIR"] is None) == (len(seen) <= 2)
        return {"norm": 1.0, "first": 1.0}

    monkeypatch.setattr(cold, "ask", ask)
    assert cold.two_processes({}, False, 1.0)["kept"] == {"files": 1, "bytes": 5}
    cold.two_processes({}, True, 1.0)
    assert seen[0] == seen[1] != seen[2] == seen[3] and not any(folder.exists() for folder in seen)


def test_ways_of_cold_start_name_modules_and_the_baseline():
    assert cold.BASELINE in WAYS and all(way.modules for way in WAYS.values())


@LINUX
@pytest.mark.slow
def test_memory_of_scipy_and_csr(tmp_path: Path, capsys):
    sizes = ("1000000", "3000000", "5000000")
    result = run(
        memory.main, tmp_path / "memory.json", "--rounds", "1", "--synapses", *sizes, "--only", "one weight"
    )
    rows = {(row["group"], row["rival"]): row for row in result["rows"]}
    assert len(rows) == 8 and not result["skipped"]
    theirs, ours = (rows["kept", name] for name in (memory.BASELINE, "event_ops.CSR, one weight"))
    assert theirs["bytes_per_synapse"] == pytest.approx(8, abs=1)  # float32 and int32
    assert ours["bytes_per_synapse"] == pytest.approx(4, abs=1)  # int32
    assert theirs["ratio"] == 1
    assert ours["ratio"] == pytest.approx(ours["bytes_per_synapse"] / theirs["bytes_per_synapse"])
    for stage in ("product", "event product"):
        assert rows[stage, memory.BASELINE]["bytes_per_synapse"] > 7
    assert rows["building", memory.BASELINE]["resident_MiB"][0] > 8e6 / 2**20
    assert "SciPy CSR" in capsys.readouterr().out


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.compared])
def test_kinds_of_memory_multiply_as_scipy_does(name: str):
    pytest.importorskip("brainevent" if "BrainEvent" in name else "scipy", reason="not installed")
    size = {"rows": 300, "per_row": 20}
    found, expected = (memory_worker.measure({"kind": kind, **size}) for kind in (name, memory.BASELINE))
    for product in KINDS[name].compared:
        assert found[f"norm of {product}"] == pytest.approx(expected[f"norm of {product}"], rel=1e-4)
    assert 0 < found["kept"] <= found["building"] * 1.1 and found["product"] > 0 < found["event product"]


@pytest.mark.parametrize("name", [name for name in WAYS if "by hand" not in name])
def test_ways_of_cold_start_multiply_as_scipy_does(name: str):
    for library in ("brainevent", "warp", "numba"):
        if library in name.lower():
            pytest.importorskip(library, reason="not installed")
    found = cold_worker.measure({"way": name, "rows": 60, "per_row": 5})
    assert found["norm"] == pytest.approx(cold._expected(60, 5), rel=1e-4)
    assert list(found["imports"]) == list(WAYS[name].modules) and found["first"] > 0 < found["second"]


def test_memory_leaves_out_wrong_products():
    sizes = [{"norm of product": 1.0, "norm of event product": 2.0}]
    wrong = [{"norm of product": 1.0, "norm of event product": 3.0}]
    found = {memory.BASELINE: [{"sizes": sizes}], "event_ops.CSR": [{"sizes": wrong}]}
    found |= {"JAX BCSR": [{"sizes": wrong}], "event_ops, procedural": [{"sizes": wrong}]}
    assert memory._wrong(found) == {"event_ops.CSR": "its event product has norm 3; expected 2"}


@pytest.mark.slow
def test_threads_of_a_parallel_and_of_a_serial_operator(tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("numba", reason="threads are Numba's")
    wanted = ["1M", "4k-1%"]
    monkeypatch.setattr(threads, "_largest", lambda operator: [wanted[operator.name == "pack_events"]])
    result = run(
        threads.main,
        tmp_path / "threads.json",
        *("--only", "trace_decay", "pack_events", "--threads", "2", "--rounds", "1"),
        *("--budget", "0.01", "--footprint", "240000"),
    )
    rows = result["rows"]
    assert [(row["group"], row["threads"]) for row in rows] == [
        (name, n) for name in (threads.TRIAD, "trace_decay 1M") for n in (1, 2)
    ]
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        assert one["efficiency"] == one["ratio"] == 1
        assert two["efficiency"] == pytest.approx(one["us"] / (2 * two["us"]))
    assert result["serial"] == ["pack_events 4k-1%"] and not result["skipped"]
    assert "left out: pack_events" in capsys.readouterr().out


def test_threads_takes_the_last_case_of_each_orientation():
    pytest.importorskip("numba", reason="threads are Numba's")
    asked = threads.requests(["csr_matvec", "lif_step"], 0.1, 240)
    assert list(asked) == [threads.TRIAD, "csr_matvec 1M-10", "csr_matvec 1M-10-transposed", "lif_step 1M"]
    assert asked["lif_step 1M"] == {"operator": "lif_step", "case": "1M", "budget": 0.1}


def test_threads_refuses_another_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "ask", lambda *_: {"threads": 1, "seconds": 1.0, "parallel": True})
    with pytest.raises(ProcessError, match="Numba started with 1 threads; expected 2"):
        threads.measure("x", {}, 2, 1, lambda _: None)


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (cold.main, ["--rounds", "0"]),
        (memory.main, ["--synapses", "1000000", "2000000"]),
        (memory.main, ["--synapses", "1000", "2000", "3000"]),
        (memory.main, ["--per-row", "0"]),
        (threads.main, ["--threads", "1"]),
        (threads.main, ["--only", "no_such"]),
    ],
)
def test_bad_options_stop_with_exit_code_2(main: Any, words: list[str]):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2


@pytest.mark.slow
def test_every_split_of_the_network_has_the_same_spikes(tmp_path: Path):
    words = ("--neurons", "300", "--counts", "2", "--seconds", "0.05", "--rounds", "1")
    result = run(devices.main, tmp_path / "devices.json", *words)
    rows = {row["rival"]: row for row in result["rows"]}
    assert list(rows) == ["1 device", "2 devices", "2 processes"]
    assert len({row["spikes"] for row in rows.values()}) == 1
    assert rows["1 device"]["spikes"] > 0 and rows["1 device"]["ratio"] == 1
    assert result["skipped"] == {}


def test_a_split_with_other_spikes_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def ask(worker: str, request: dict[str, Any], env: Any) -> dict[str, Any]:
        return {"seconds": 1.0, "spikes": 9 - request.get("processes", 1), "synapses": 5}

    monkeypatch.setattr(devices, "ask", ask)
    words = ("--neurons", "300", "--counts", "2", "--rounds", "1")
    result = run(devices.main, tmp_path / "devices.json", *words)
    assert [row["rival"] for row in result["rows"]] == ["1 device", "2 devices"]
    assert result["skipped"] == {"300 neurons, 2 processes": "7 spikes; one device has 8"}
