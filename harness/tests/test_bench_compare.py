"""`bench --compare` flags a slower revision, leaves an equal one alone, and cleans up."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from event_ops_harness import revisions
from event_ops_harness.bench import compare

# Measures what its revision says; every process differs by a bit of noise. The names of libraries that
# PYTHONPATH puts first tell the revision.
STUB = """
import json, sys, zlib, os, time
import event_ops, ffi_bridge
noise = 1 + 0.02 * (zlib.crc32(str(time.perf_counter_ns()).encode()) % 1000) / 1000
def entry(group, name, seconds):
    info = {"ours": name == "ours"}
    return {"group": group, "name": name, "stats": {"median": seconds}, "extra_info": info}
entries = [
    entry("slowed", "ours", 10e-6 * event_ops.SLOWDOWN * noise),
    entry("equal", "ours", 5e-6 * noise),
    entry("slowed", "theirs", 7e-6 * event_ops.SLOWDOWN * noise),
    entry(f"only with {event_ops.SLOWDOWN}", "ours", 1e-6),
]
with open(sys.argv[sys.argv.index("--benchmark-json") + 1], "w") as file:
    json.dump({"benchmarks": entries}, file)
"""
KEY = ("slowed", "ours")


def libraries(root: Path, slowdown: float) -> Path:
    """A tree with two libraries, as the repository has them."""
    for name, folder in revisions.LIBRARIES.items():
        package = root / folder / name
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(f"SLOWDOWN = {slowdown}\n")
    return root


@pytest.fixture
def stub(tmp_path: Path) -> list[str]:
    program = tmp_path / "stub.py"
    program.write_text(STUB)
    return ["-B", str(program)]


def changes_between(a: Path, b: Path, stub: list[str], harness: Path):
    environments = [revisions.environment(tree, harness) for tree in (a, b)]
    for tree, env in zip((a, b), environments, strict=True):
        revisions.check(tree, env)
    measure = compare.make_measure(stub, harness)
    times, ours = compare.take_turns(measure, environments, 2, lambda _: None)
    return compare.compare(*times), ours


def test_slower_copy_is_flagged_and_equal_rows_are_not(tmp_path: Path, stub: list[str]):
    a, b = libraries(tmp_path / "a", 1.0), libraries(tmp_path / "b", 1.5)
    found, ours = changes_between(a, b, stub, tmp_path)
    assert set(found) == {KEY, ("equal", "ours"), ("slowed", "theirs")}
    assert found[KEY].verdict == "slower" and found[KEY].ratio == pytest.approx(1.5, rel=0.03)
    assert found[KEY].low <= found[KEY].ratio <= found[KEY].high
    assert compare.is_regression(found[KEY], 0.1) and not compare.is_regression(found[KEY], 0.6)
    assert not compare.is_regression(found["equal", "ours"], 0.1)
    assert KEY in ours and ("slowed", "theirs") not in ours


def test_equal_copies_are_not_flagged(tmp_path: Path, stub: list[str]):
    a, b = libraries(tmp_path / "a", 1.0), libraries(tmp_path / "b", 1.0)
    found, _ = changes_between(a, b, stub, tmp_path)
    assert len(found) == 4 and not any(compare.is_regression(x, 0.1) for x in found.values())


def test_revisions_take_turns(monkeypatch: pytest.MonkeyPatch):
    order: list[str] = []

    def measure(env, name):
        order.append(env["revision"])
        stats = {"median": float(len(order))}
        return [{"group": "g", "name": "r", "stats": stats, "extra_info": {}}]

    (before, after), _ = compare.take_turns(
        measure, [{"revision": "A"}, {"revision": "B"}], 2, lambda _: None
    )
    assert "".join(order) == "ABBAABBA"
    assert before == {("g", "r"): [1, 4, 5, 8]} and after == {("g", "r"): [2, 3, 6, 7]}


def test_faster_and_noisy_are_no_regressions():
    slow, noisy = [10.0, 11.0, 12.0, 13.0], [9.0, 10.5, 20.0, 30.0]
    found = compare.compare({KEY: slow}, {KEY: [x / 2 for x in slow]})[KEY]
    assert found.verdict == "faster" and not compare.is_regression(found, 0.0)
    found = compare.compare({KEY: slow}, {KEY: noisy})[KEY]
    assert found.ratio > 1.1 and found.verdict == "same" and not compare.is_regression(found, 0.1)


def repository_with(root: Path, slowdown: float) -> Path:
    """A git repository with one commit."""
    libraries(root, slowdown)
    return committed(root)


def committed(root: Path) -> Path:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "Base")):
        revisions.git(root, *words)
    return root


@pytest.mark.parametrize(("slowdown", "status"), [(1.5, 1), (1.0, 0)])
def test_working_tree_beside_a_commit(
    tmp_path: Path, stub: list[str], monkeypatch: pytest.MonkeyPatch, capsys, slowdown: float, status: int
):
    root = repository_with(tmp_path / "repository", 1.0)
    libraries(root, slowdown)
    monkeypatch.setattr(compare, "command_of", lambda words: [*stub, *words])
    kept = tmp_path / "kept"
    words = ["HEAD", "--turns", "2", "--keep", str(kept), "call", "--benchmark-min-rounds", "3"]
    assert compare.main(words, root) == status
    names = sorted(path.name for path in kept.iterdir())
    assert names == [f"{who}-{k}.json" for who in ("base", "here") for k in (1, 2, 3, 4)]
    (slow,) = (x for x in json.loads((kept / "here-4.json").read_text())["benchmarks"] if name_of(x) == KEY)
    assert slow["stats"]["median"] == pytest.approx(1e-5 * slowdown, rel=0.03)
    said = capsys.readouterr().out
    assert ("slower: slowed, ours: 1." in said) == bool(status)
    assert f" of {4 - status} entries: the same within noise; {2 * status} in one" in said
    assert len(revisions.git(root, "worktree", "list").splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("twice", [True, False], ids=["work done twice", "a busy machine"])
def test_a_slower_kernel_is_caught_and_noise_is_not(tmp_path: Path, capsys, twice: bool):
    pytest.importorskip("numba", reason="the kernel is one for Numba")
    root, kept = tmp_path / "repository", compare.HARNESS.parent
    for folder in revisions.LIBRARIES.values():
        shutil.copytree(kept / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    committed(root)
    kernel = root / "ops" / "event_ops" / "kernels" / "numba_cpu" / "split.py"
    of_rows = r"(\n +rows\(data, indices, ends, values, y, .*\))(?=\n)"
    changed, places = re.subn(of_rows, r"\1\1", kernel.read_text())
    assert places == 1
    if twice:
        kernel.write_text(changed)
    words = ["HEAD", "--turns", "2", "catalog", "-k", "csr_matvec-1000x2000 and numba_cpu"]
    with contextlib.nullcontext() if twice else busy():
        assert compare.main(words, root) == twice
    slower = [line for line in capsys.readouterr().out.splitlines() if line.startswith("slower: ")]
    expected = ["slower: csr_matvec 1000x2000-5% float32, numba_cpu"] if twice else []
    assert [line.rpartition(":")[0] for line in slower] == expected


BUSY = """
import time
while True:
    end = time.time() + 0.02
    while time.time() < end:
        pass
    time.sleep(0.02)
"""


@contextlib.contextmanager
def busy():
    """Keep a core busy every other 20 ms."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        try:
            yield
        finally:
            process.kill()


def name_of(entry):
    return entry["group"], entry["name"]


def test_base_may_be_measured_by_its_own_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = repository_with(tmp_path / "repository", 1.0)
    seen: list[str] = []
    monkeypatch.setattr(
        compare, "make_measure", lambda *_: lambda env, name: seen.append(env["PYTHONPATH"]) or []
    )
    for words, own in (([], False), (["--own-harness"], True)):
        seen.clear()
        assert compare.main(["HEAD", *words], root) == 0
        base, here = seen[0].split(":"), seen[1].split(":")
        assert base[0].endswith("base/packages/ffi-bridge") and here[0].startswith(str(root))
        assert here[2] == str(compare.HARNESS)
        assert base[2] == (base[0].replace("packages/ffi-bridge", "harness") if own else here[2])


def test_git_is_not_led_astray_by_a_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = repository_with(tmp_path / "repository", 1.0)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert Path(revisions.git(root, "rev-parse", "--show-toplevel")).resolve() == root.resolve()


def test_worktree_is_removed_where_measuring_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    root = repository_with(tmp_path / "repository", 1.0)
    failing = ["-c", "raise ImportError('no backend')"]
    monkeypatch.setattr(compare, "command_of", lambda words: failing)
    assert compare.main(["HEAD", "--turns", "2"], root) == 2
    assert "cannot compare: the benchmark of base failed: ImportError: no backend" in capsys.readouterr().out
    assert len(revisions.git(root, "worktree", "list").splitlines()) == 1


def test_unknown_revision_is_an_error(tmp_path: Path, capsys):
    root = repository_with(tmp_path / "repository", 1.0)
    assert compare.main(["no-such-branch"], root) == 2
    assert "cannot compare: git rev-parse" in capsys.readouterr().out


def test_libraries_from_elsewhere_are_refused(tmp_path: Path):
    a, b = libraries(tmp_path / "a", 1.0), libraries(tmp_path / "b", 1.0)
    with pytest.raises(revisions.RevisionError, match="is imported instead of what is in"):
        revisions.check(b, revisions.environment(a, tmp_path))
    (a / "ops" / "event_ops" / "__init__.py").write_text("import no_such_module\n")
    with pytest.raises(revisions.RevisionError, match=r"cannot be imported.*no_such_module"):
        revisions.check(a, revisions.environment(a, tmp_path))


def test_words_that_are_not_its_own_are_the_benchmark_and_its_options():
    options, words = compare._parse(["main", "--tolerance", "0.2", "scaling", "-k", "x"])
    assert options.base == "main" and options.tolerance == 0.2
    assert words == ["scaling", "-k", "x"] and compare._parse(["call"])[1] == []


@pytest.mark.parametrize(
    "words", [[], ["main", "--turns", "1"], ["main", "--tolerance", "-1"], ["main", "--turns", "x"]]
)
def test_bad_options_stop_with_exit_code_2(words: list[str]):
    with pytest.raises(SystemExit) as stop:
        compare.main(words)
    assert stop.value.code == 2
