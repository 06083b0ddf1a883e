"""The benchmarks in fresh processes (`cold`, `devices`, `memory`, `threads`) report figures that fit."""

from pathlib import Path
from typing import Any

import pytest
from other_pytest import run_benchmark

from event_ops_harness.bench.fresh import group_of, take_turns
from event_ops_harness.bench.suites import test_cold as cold
from event_ops_harness.bench.suites import test_devices as devices
from event_ops_harness.bench.suites import test_memory as memory
from event_ops_harness.bench.workers import cold as cold_worker
from event_ops_harness.bench.workers import memory as memory_worker
from event_ops_harness.bench.workers.cold import WAYS
from event_ops_harness.bench.workers.memory import KINDS
from event_ops_harness.networks.shared.rivals import WorkerError

LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs")


def entries_of(output: Path, *words: str) -> dict[tuple[str, str], dict[str, Any]]:
    _, result = run_benchmark(output, *words)
    return {(entry["group"], entry["name"]): entry for entry in result["benchmarks"]}


def test_who_cannot_be_imported_is_skipped_and_who_fails_otherwise_is_wrong():
    def fail(reason: str):
        raise WorkerError(reason)

    jobs = {
        "ours": lambda: {"seconds": 2.0},
        "absent": lambda: fail("ModuleNotFoundError: No module named 'absent'"),
        "broken": lambda: fail("y has norm 2; expected 1"),
    }
    group = group_of(*take_turns(jobs, 3), lambda each: each["seconds"], lambda rounds: {"n": len(rounds)})
    assert group.seconds == {"ours": [2.0] * 3} and group.info == {"ours": {"n": 3}}
    assert group.skipped == {"absent": "ModuleNotFoundError: No module named 'absent'"}
    assert group.wrong == {"broken": "failed: y has norm 2; expected 1"}


@pytest.mark.slow
def test_cold_start_of_the_default_and_scipy(tmp_path: Path):
    pytest.importorskip("numba", reason="the default is a Numba kernel")
    words = ("cold", "-k", "(SciPy or numba_cpu or jax) and not imported", "--benchmark-min-rounds", "1")
    entries = entries_of(tmp_path / "cold.json", *words)
    seconds = {key: entry["stats"]["median"] for key, entry in entries.items()}
    assert seconds["import", "jax"] > seconds["import", "event_ops, after jax"] > 0
    own = [f"first call, {name} process" for name in ("first", "second")]
    for call in own:
        info = entries[call, "event_ops, numba_cpu"]["extra_info"]
        assert info["ours"] and info["kept_files"] >= 1 and info["kept_bytes"] > 0 and info["jax_start"] > 0
        assert seconds[call, "event_ops, numba_cpu"] > info["second_call"]
        assert info["rival"] == "SciPy" and entries[call, "SciPy"]["extra_info"]["kept_files"] == 0
    assert seconds[own[0], "event_ops, numba_cpu"] > seconds[own[1], "event_ops, numba_cpu"]
    cached = "first call, second process, JAX's cache on"
    assert (cached, "event_ops, numba_cpu") in entries and (cached, "SciPy") not in entries


def test_cold_start_refuses_a_wrong_product(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cold, "ask", lambda *_: {"norm": 2.0, "first": 1.0})
    with pytest.raises(WorkerError, match=r"y has norm 2; expected 1"):
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
    assert cold.two_processes({}, False, 1.0)["kept"] == {"kept_files": 1, "kept_bytes": 5}
    cold.two_processes({}, True, 1.0)
    assert seen[0] == seen[1] != seen[2] == seen[3] and not any(folder.exists() for folder in seen)


def test_ways_of_cold_start_name_modules_and_begin_with_the_default():
    assert cold.DEFAULT == "event_ops, numba_cpu" and all(way.modules for way in WAYS.values())


@LINUX
@pytest.mark.slow
def test_memory_of_scipy_and_csr(tmp_path: Path):
    sizes = ("--sizes", "2000000,8000000,16000000", "--benchmark-min-rounds", "1")
    entries = entries_of(tmp_path / "memory.json", "memory", "-k", "SciPy or weight", *sizes)
    assert len(entries) == 6
    names = ("SciPy CSR", "event_ops.CSR, one weight")
    theirs, ours = (entries["building", name]["extra_info"] for name in names)
    assert theirs["kept_bytes_per_synapse"] == pytest.approx(8, abs=1)  # float32 and int32
    assert ours["kept_bytes_per_synapse"] == pytest.approx(4, abs=1)  # int32
    assert ours["ours"] and not theirs["ours"] and ours["synapses"] == [2_000_000, 8_000_000, 16_000_000]
    for stage in ("product", "event product"):
        assert entries[stage, "SciPy CSR"]["extra_info"]["bytes_per_synapse"] > 7
        assert entries[stage, "SciPy CSR"]["stats"]["median"] > 0


def test_bytes_per_synapse_are_the_slope_of_medians():
    sizes = (1_000_000, 2_000_000, 4_000_000)
    resident = [[100 * 2**20 + 8 * n, 2**40, 100 * 2**20 + 8 * n] for n in sizes]  # one round was disturbed
    found = memory.fitted(sizes, resident)
    assert (found["bytes_per_synapse"], found["fixed_MiB"]) == pytest.approx((8, 100))
    assert found["error"] == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.compared])
def test_kinds_of_memory_multiply_alike(name: str):
    pytest.importorskip("brainevent" if "BrainEvent" in name else "scipy", reason="not installed")
    size = {"rows": 300, "per_row": 20}
    found, expected = (memory_worker.measure({"kind": kind, **size}) for kind in (name, memory.FIRST))
    for product in KINDS[name].compared:
        assert found[f"norm of {product}"] == pytest.approx(expected[f"norm of {product}"], rel=1e-4)
    assert 0 < found["kept"] <= found["building"] * 1.1 and found["product"] > 0 < found["event product"]
    assert set(found["seconds"]) == set(memory.STAGES) and min(found["seconds"].values()) > 0


@pytest.mark.parametrize("name", [name for name in WAYS if "by hand" not in name])
def test_ways_of_cold_start_multiply_as_scipy_does(name: str, monkeypatch):
    for library in ("brainevent", "warp", "numba"):
        if library in name.lower():
            pytest.importorskip(library, reason="not installed")
    size = {"rows": 60, "per_row": 5}
    found = cold_worker.measure({"way": name, **size})
    monkeypatch.setattr(cold, "SIZE", size)
    expected = cold.expected()
    assert found["norm"] == pytest.approx(expected, rel=1e-4)
    assert list(found["imports"]) == list(WAYS[name].modules) and found["first"] > 0 < found["second"]


def test_memory_leaves_out_wrong_products():
    right, wrong = ([{"norm of product": 1.0, "norm of event product": x}] for x in (2.0, 3.0))
    first, *others = "event_ops.CSR", "SciPy CSR", "JAX BCSR", "event_ops, procedural"
    found = memory.different({first: [right], **{name: [wrong] for name in others}})
    assert found == {"SciPy CSR": f"its event product has norm 3; that of {first} 2"}


class Config:
    """Has the option --sizes."""

    def __init__(self, *sizes):
        self.getoption = lambda name, default: list(sizes) or default


def test_memory_needs_three_sizes_of_whole_squares():
    assert memory.sizes_of(Config()) == memory.SYNAPSES
    for wrong in ((1_000_000, 2_000_000), (1000, 2000, 3000), (1_000_000, 2_000_000, 3_000_001)):
        with pytest.raises(pytest.UsageError, match="expected at least three different multiples of 1000"):
            memory.sizes_of(Config(*wrong))


@pytest.fixture
def threads():
    return pytest.importorskip("event_ops_harness.bench.suites.test_threads", reason="threads are Numba's")


@pytest.mark.slow
def test_threads_of_a_parallel_and_of_a_serial_operator(tmp_path: Path, threads):
    words = ("threads", "-k", "trace_decay or pack_events", "--benchmark-min-rounds", "1")
    entries = entries_of(tmp_path / "threads.json", *words, "--benchmark-max-time", "0.01")
    every = next(iter(threads.MEMBERS))
    assert set(entries) == {  # pack_events starts none
        ("trace_decay 1M float32", name) for name in (every, threads.ONE)
    }
    one, two = (entries["trace_decay 1M float32", name] for name in (threads.ONE, every))
    count = two["extra_info"]["threads"]
    assert one["extra_info"]["efficiency"] == 1 and one["extra_info"]["threads"] == 1 < count
    ratio = one["stats"]["median"] / (count * two["stats"]["median"])
    assert two["extra_info"]["efficiency"] == pytest.approx(ratio, rel=1e-3)
    assert two["extra_info"]["rival"] == threads.ONE


def test_threads_takes_the_last_case_of_each_orientation(threads):
    found = [name for name in threads.CASES if name.startswith(("csr_matvec", "lif_step"))]
    assert found == ["csr_matvec 1M-10 float32", "csr_matvec 1M-10-transposed float32", "lif_step 1M float32"]
    assert threads.CASES["lif_step 1M float32"] == ("lif_step", "1M")
    assert next(iter(threads.CASES)) == threads.TRIAD


def test_threads_refuses_another_count(monkeypatch: pytest.MonkeyPatch, threads):
    monkeypatch.setattr(threads, "ask", lambda *_: {"threads": 1, "seconds": 1.0, "parallel": True})
    with pytest.raises(WorkerError, match="Numba started with 1 threads; expected 2"):
        threads.measured({}, 2)


def test_a_kernel_without_threads_is_skipped(monkeypatch: pytest.MonkeyPatch, threads):
    def ask(worker, request, env):
        return {"threads": int(env["NUMBA_NUM_THREADS"]), "seconds": 1.0, "parallel": False}

    monkeypatch.setattr(threads, "ask", ask)
    group = threads.threads("lif_step 1M float32", 1, 0.0)
    assert group.skipped == dict.fromkeys(threads.MEMBERS, "starts no threads")


@pytest.mark.slow
def test_every_split_of_the_network_has_the_same_spikes(tmp_path: Path):
    words = ("devices", "--sizes", "300", "--seconds", "0.05", "--benchmark-min-rounds", "1")
    entries = entries_of(tmp_path / "devices.json", *words, "-k", "not 4")
    assert list(entries) == [("300 neurons", name) for name in ("1 device", "2 devices", "2 processes")]
    assert len({entry["extra_info"]["spikes"] for entry in entries.values()}) == 1
    assert entries["300 neurons", "1 device"]["extra_info"]["spikes"] > 0


def test_a_split_with_other_spikes_is_wrong(monkeypatch: pytest.MonkeyPatch):
    def ask(worker: str, request: dict[str, Any], env: Any) -> dict[str, Any]:
        return {"seconds": 1.0, "spikes": 9 - request.get("processes", 1), "synapses": 5}

    monkeypatch.setattr(devices, "ask_together", ask)
    group = devices.devices(("2 devices", "2 processes"), 300, 1.0, 2)
    assert group.seconds == {"1 device": [1.0, 1.0], "2 devices": [1.0, 1.0]}
    assert group.info["1 device"] == {"spikes": 8, "synapses": 5}
    assert group.wrong == {"2 processes": "failed: spikes 7; 1 device has 8"}
