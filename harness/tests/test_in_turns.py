"""The fixture `in_turns` measures in turns, and its rounds and ratios arrive in pytest-benchmark's files."""

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

from other_pytest import EXAMPLE, run_pytest

from event_ops_harness.bench import interleaved
from event_ops_harness.bench.interleaved import Group, a_core_each
from event_ops_harness.bench.plugin import ALONE, Replay, limit


@pytest.fixture
def run(tmp_path):
    shutil.copy(Path(__file__).with_name("timed_members.py"), tmp_path / "test_speed.py")

    def run(*options, expression="", **environment):
        output = ("--benchmark-json", str(tmp_path / "found.json"))
        words = ("-k", expression, "--benchmark-max-time", "0.2", *output, *options)
        return run_pytest(tmp_path, *words, **environment)

    return run


def entries(tmp_path):
    found = json.loads((tmp_path / "found.json").read_text())["benchmarks"]
    return {(entry["group"], entry["name"]): entry for entry in found}


def test_rounds_and_ratios_are_in_the_file_and_in_the_table(run, tmp_path):
    done = run("--benchmark-only", expression="slow")
    assert done.returncode == 0, done.stdout + done.stderr
    found = entries(tmp_path)
    assert [name for _, name in found] == ["mine", "theirs", "NumPy"]
    mine, theirs = found["slow products", "mine"], found["slow products", "theirs"]
    assert mine["fullname"].endswith("test_slow[mine]")
    assert mine["extra_info"]["ours"] and not theirs["extra_info"]["ours"]
    assert mine["extra_info"]["threads"] >= 1
    assert mine["stats"]["rounds"] >= interleaved.ROUNDS
    assert 0.5 * 0.02 < mine["stats"]["min"] < mine["stats"]["median"]
    assert 1.2 < mine["extra_info"]["low"] < 2 < mine["extra_info"]["high"] < 3
    assert mine["stats"]["median"] / theirs["stats"]["median"] == pytest.approx(mine["extra_info"]["ratio"])
    assert mine["extra_info"]["rival"] == "theirs"
    assert mine["extra_info"]["low"] <= mine["extra_info"]["ratio"] <= mine["extra_info"]["high"]
    assert theirs["extra_info"]["ratio"] == 1
    assert "benchmark 'slow products': 3 tests" in done.stdout
    assert "slow products: mine, " in done.stdout and " x the time of theirs (" in done.stdout


@pytest.mark.slow
def test_a_rival_alone_is_not_ours_and_parts_are_not_compared(run, tmp_path):
    done = run("--benchmark-ratio-fail", ":1.1", expression="ours")
    assert "3 passed" in done.stdout, done.stdout
    found = {name: entry["extra_info"] for (_, name), entry in entries(tmp_path).items()}
    assert [found[name]["ours"] for name in ("theirs", "whole", "part")] == [False, True, True]
    assert not any("ratio" in info for info in found.values())


def test_a_member_is_timed_alone_where_revisions_are_compared(run, tmp_path, monkeypatch):
    monkeypatch.setenv(ALONE, "1")
    done = run("--benchmark-ratio-fail", ":1.1", expression="wrong or slow")
    assert "5 passed" in done.stdout, done.stdout
    assert not any("ratio" in entry["extra_info"] for entry in entries(tmp_path).values())


@pytest.mark.slow
def test_a_saved_run_is_compared_with(run, tmp_path):
    storage = ("--benchmark-storage", str(tmp_path / "saved"))
    run(*storage, "--benchmark-save", "before", expression="slow")
    done = run(*storage, "--benchmark-compare", "--benchmark-compare-fail", "median:1000%", expression="slow")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine (NOW)" in done.stdout and "mine (0001_before)" in done.stdout
    assert "benchmark 'slow products': 6 tests" in done.stdout


@pytest.mark.slow
def test_twice_the_time_is_beyond_the_limit_and_noise_is_not(run):
    limits = ("--benchmark-ratio-fail", "slow:1.3", "--benchmark-ratio-fail", ":1.8")
    done = run(*limits, expression="slow or alike")
    assert done.returncode == 1
    assert "1 failed, 4 passed" in done.stdout, done.stdout
    assert "slow products: mine, " in done.stdout and "the limit is 1.3" in done.stdout


@pytest.mark.slow
def test_a_member_with_other_values_fails_and_is_not_timed(run, tmp_path):
    done = run(expression="wrong")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "theirs differs from mine: Not equal to tolerance rtol=1e-05" in done.stdout
    assert set(entries(tmp_path)) == {("test_wrong", "mine")}


@pytest.mark.slow
def test_loops_are_timed_by_the_step_and_their_results_made_comparable(run, tmp_path):
    done = run(expression="loops")
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    assert "another differs from mine" in done.stdout
    found = {name: entry for (_, name), entry in entries(tmp_path).items()}
    assert list(found) == ["mine", "words", "nothing to compare"]
    assert found["mine"]["stats"]["median"] == pytest.approx(1e-3)
    info = found["mine"]["extra_info"]
    assert info["bytes"] == 10_000 and info["share"] == pytest.approx(1e4 / 1e-3 / 5e9)
    assert [entry["extra_info"]["ours"] for entry in found.values()] == [True, False, True]


@pytest.mark.slow
@pytest.mark.parametrize(("rival", "ends"), [("theirs", " x that of kernel"), ("nobody", ")")])
def test_a_faster_one_of_ours_is_named_and_is_the_yardstick_where_there_is_no_rival(run, rival, ends):
    said = run(expression=f"backends and {rival}").stdout.splitlines()
    (line,) = (x for x in said if x.startswith("test_backends: reference, "))
    yardstick = "theirs" if rival == "theirs" else "kernel"
    assert f" x the time of {yardstick} (" in line and line.endswith(ends)


@pytest.mark.slow
def test_rounds_of_processes_are_reported(run, tmp_path):
    done = run(expression="processes")
    assert "1 failed, 2 passed, 1 skipped" in done.stdout, done.stdout
    assert "absent: is not installed" in done.stdout and "other has 9 spikes" in done.stdout
    mine, theirs = (entries(tmp_path)["test_processes", name] for name in ("mine", "theirs"))
    assert mine["stats"]["data"] == pytest.approx([2.0, 2.1, 2.2])
    assert theirs["extra_info"]["spikes"] == 7 and theirs["extra_info"]["cores"] == 2
    assert mine["extra_info"]["ratio"] == pytest.approx(2.1 / 1.1)


@pytest.mark.slow
def test_times_of_programs_that_are_not_optimized_are_refused(run):
    done = run(expression="alike", JAX_DISABLE_MOST_OPTIMIZATIONS="1")
    assert "JAX compiles without optimizations here" in done.stdout and "pytest --noconftest" in done.stdout
    assert (
        "2 passed"
        in run("--benchmark-disable", expression="alike", JAX_DISABLE_MOST_OPTIMIZATIONS="1").stdout
    )


@pytest.mark.slow
def test_without_benchmarks_members_are_called_once_and_compared(run):
    done = run("--benchmark-disable", expression="not unknown")
    assert "3 failed, 20 passed, 1 skipped" in done.stdout, done.stdout
    assert "theirs differs from mine: Not equal to tolerance rtol=1e-05" in done.stdout


@pytest.mark.slow
def test_the_example_runs(run, tmp_path):
    done = run(str(EXAMPLE / "test_speed.py"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert entries(tmp_path)["test_leaky_sum", "leaky_sum"]["extra_info"]["rival"] == "SciPy"
    assert "test_leaky_sum: leaky_sum, " in done.stdout


@pytest.mark.slow
def test_a_name_of_nobody_is_an_error(run):
    assert "1 passed" in run(expression="unknown").stdout


@pytest.mark.parametrize("text", ["csr_matvec", "csr_matvec:fast", "csr_matvec:0", "csr_matvec:-1"])
def test_a_limit_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=r"not GROUP:RATIO|could not convert"):
        limit(text)


def test_limits_name_groups_or_all():
    assert (limit("csr_matvec:1.1"), limit(":2")) == (("csr_matvec", 1.1), ("", 2.0))


def test_a_replay_gives_each_time_once():
    replay = Replay()
    replay.seconds = [0.25, 0.5]
    assert [-replay() + replay() for _ in range(2)] == [0.25, 0.5]


def test_the_fastest_is_that_of_the_least_median():
    seconds = {"mine": [1.0, 1.0, 1.0], "often": [2.0, 2.0, 9.0], "once": [0.5, 3.0, 3.0]}
    group = Group(seconds, wrong={"wrong": "differs"})
    assert group.fastest(["often", "once", "wrong"]) == "often"
    assert group.fastest(["wrong"]) is None
    assert group.ratio_to("often", "mine").ratio == 0.5


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a system without os.sched_setaffinity")
def test_threads_have_a_core_each_for_a_while():
    cores, end = sorted(os.sched_getaffinity(0)), threading.Event()
    if len(cores) < 2:
        pytest.skip("there is one core")
    others = [threading.Thread(target=end.wait) for _ in range(2)]
    for thread in others:
        thread.start()
    ids = [threading.get_native_id(), *(thread.native_id for thread in others)]
    with a_core_each():
        inside = [os.sched_getaffinity(i) for i in ids]
    after = [os.sched_getaffinity(i) for i in ids]
    end.set()
    assert inside[0] == {cores[0]}
    assert all(len(x) == 1 and cores[0] not in x for x in inside[1:])
    assert after == [set(cores)] * 3
