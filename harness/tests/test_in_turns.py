"""The fixture `in_turns` measures in turns, and its rounds and ratios arrive in pytest-benchmark's files."""

import json

import pytest

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

from other_pytest import EXAMPLE, run_pytest

from event_ops_harness.bench import plugin
from event_ops_harness.bench.plugin import Group, Replay, limit

SPEED = """
from types import SimpleNamespace

import numpy as np
import pytest

from event_ops_harness.bench import timing

NOW, NOISE = [0.0], np.random.default_rng(0)
timing.time = SimpleNamespace(perf_counter=lambda: NOW[0])


def takes(seconds, values):
    def work():
        NOW[0] += seconds * NOISE.lognormal(0, 0.3) * (1 + NOW[0])  # on a busy machine, which slows down
        return values
    return work


ONES = np.ones(3)
ALIKE = {"mine": takes(0.01, ONES), "theirs": takes(0.01, ONES)}
SLOW = {"mine": takes(0.02, ONES), "theirs": takes(0.01, ONES), "NumPy": takes(0.04, ONES)}
WRONG = {"mine": takes(0.01, ONES), "theirs": takes(0.01, 0 * ONES)}


@pytest.mark.parametrize("member", ALIKE)
def test_alike(in_turns, member):
    in_turns(ALIKE, member)


@pytest.mark.benchmark(group="slow products")
@pytest.mark.parametrize("member", SLOW)
def test_slow(in_turns, member):
    assert in_turns(SLOW, member).sum() == 3


@pytest.mark.parametrize("member", WRONG)
def test_wrong(in_turns, member):
    in_turns(WRONG, member)


def test_unknown(in_turns):
    with pytest.raises(KeyError, match="'who' is none of the members: mine, theirs"):
        in_turns(ALIKE, "who")
    in_turns(ALIKE, "mine")
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "test_speed.py").write_text(SPEED)

    def run(*options, expression=""):
        output = ("--benchmark-json", str(tmp_path / "found.json"))
        return run_pytest(tmp_path, "-k", expression, "--benchmark-max-time", "0.2", *output, *options)

    return run


def entries(tmp_path):
    return {entry["name"]: entry for entry in json.loads((tmp_path / "found.json").read_text())["benchmarks"]}


def test_rounds_and_ratios_are_in_the_file_and_in_the_table(run, tmp_path):
    done = run("--benchmark-only", expression="slow")
    assert done.returncode == 0, done.stdout + done.stderr
    found = entries(tmp_path)
    assert set(found) == {"test_slow[mine]", "test_slow[theirs]", "test_slow[NumPy]"}
    mine, theirs = found["test_slow[mine]"], found["test_slow[theirs]"]
    assert mine["group"] == theirs["group"] == "slow products"
    assert mine["stats"]["rounds"] >= plugin.ROUNDS
    assert 0.5 * 0.02 < mine["stats"]["min"] < mine["stats"]["median"]
    assert 1.2 < mine["extra_info"]["low"] < 2 < mine["extra_info"]["high"] < 3
    assert mine["stats"]["median"] / theirs["stats"]["median"] == pytest.approx(mine["extra_info"]["ratio"])
    assert mine["extra_info"]["rival"] == "theirs"
    assert mine["extra_info"]["low"] <= mine["extra_info"]["ratio"] <= mine["extra_info"]["high"]
    assert theirs["extra_info"]["ratio"] == 1
    assert "benchmark 'slow products': 3 tests" in done.stdout
    assert "slow products: mine takes " in done.stdout and " x the time of theirs (" in done.stdout


def test_twice_the_time_is_beyond_the_limit_and_noise_is_not(run):
    limits = ("--benchmark-ratio-fail", "slow:1.3", "--benchmark-ratio-fail", ":1.8")
    done = run(*limits, expression="slow or alike")
    assert done.returncode == 1
    assert "1 failed, 4 passed" in done.stdout, done.stdout
    assert "slow products: mine takes " in done.stdout and "the limit is 1.3" in done.stdout


def test_a_member_with_other_values_fails_and_is_not_timed(run, tmp_path):
    done = run(expression="wrong")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "theirs differs from mine: Not equal to tolerance rtol=1e-05" in done.stdout
    assert set(entries(tmp_path)) == {"test_wrong[mine]"}


def test_without_benchmarks_members_are_called_once_and_compared(run):
    done = run("--benchmark-disable", expression="not unknown")
    assert "1 failed, 6 passed" in done.stdout, done.stdout
    assert "theirs differs from mine: Not equal to tolerance rtol=1e-05" in done.stdout


def test_the_example_runs(run, tmp_path):
    done = run(str(EXAMPLE / "test_speed.py"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert entries(tmp_path)["test_leaky_sum[leaky_sum]"]["extra_info"]["rival"] == "SciPy"
    assert "test_leaky_sum: leaky_sum takes " in done.stdout


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
    group = Group({}, seconds, {"wrong": "differs"})
    assert group.fastest(["often", "once", "wrong"]) == "often"
    assert group.fastest(["wrong"]) is None
    assert group.ratio_to("often", "mine").ratio == 0.5
