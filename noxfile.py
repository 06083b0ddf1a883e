"""Every task, one session each; words after `--` go to its program, and `nox -t TAG` runs those of a tag.

[commit] before each, [push] what CI adds, [versions] of Python and libraries, [gpu] real and emulated, [long]
hours, [figures] beside rivals, [site] what is written, [networks] to look at.
"""

import shutil
import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).parent / "ci" / "tools"))
from environments import (
    DISTRIBUTIONS,
    ROOT,
    SUPPORTED,
    group,
    install,
    install_row,
    of_tier,
    prepare,
    pytest,
    run_module,
    shared_libraries,
    version_of,
    workspace,
)
from matrix import EMULATED, WITHOUT_GPU, row_here

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # skipped by name; nox runs on one
nox.options.sessions = ["lint", "types", "tests"]
HERE = prepare()  # first the one that nox runs on
CELLS = ROOT / ".nox" / "cells"  # what each row of the matrix found
ROW = row_here(HERE)  # the one that `conformance` looks at


@nox.session(tags=["commit"])
def tests(session: nox.Session) -> None:
    """Run the quick tests under the Python that nox runs on; at the end it says what is left out."""
    of_tier(session, "tests", "--budget", "tests")


@nox.session(default=False, tags=["commit"])
def operator(session: nox.Session) -> None:
    """Check an operator of the catalog, `-- NAME`: cells, also on an emulated GPU, tests, style and types."""
    install(session, *workspace("numba", "warp", "test"), *group("lint"), *group("types"))
    session.run("python", "harness/conformance/one_operator.py", *session.posargs)


@nox.session(tags=["commit"])
def lint(session: nox.Session) -> None:
    """Check style, formatting, the direction of imports, that no function body imports, and the workflows."""
    install(session, *group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": ":".join(DISTRIBUTIONS)})
    workflows = map(str, sorted((ROOT / ".github" / "workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("zizmor", "--offline", "--quiet", "--min-severity", "medium", ".github")


@nox.session(tags=["commit"])
def types(session: nox.Session) -> None:
    """Check types with pyright: strictly in the two libraries, basically in the harness."""
    session.env["UV_COMPILE_BYTECODE"] = "0"  # pyright reads, and nothing is run
    install(session, *workspace("numba", "warp", "test"), *group("types"))
    session.run("pyright")
    session.run("pyright", "-p", "harness")


@nox.session(default=False, tags=["push"])
def thorough(session: nox.Session) -> None:
    """Run all tests but slow ones, as CI does for every push: emulated GPU, processes, promises, too."""
    of_tier(session, "thorough", "--budget", "thorough")


@nox.session(default=False, tags=["push"])
def promises(session: nox.Session) -> None:
    """Run the quick forms of what keeps the promises of SECURITY.md; `reliability` has the long ones."""
    of_tier(session, "promises")


@nox.session(default=False, reuse_venv=False, tags=["push"])
def build(session: nox.Session) -> None:
    """Build wheels and sdists twice, to the same bytes, and try them in a fresh environment."""
    install(session, *group("build"), "pytest>=8.3")
    dist, again = ROOT / "dist", ROOT / ".nox" / "built-again"
    for built in (dist, again):
        shutil.rmtree(built, ignore_errors=True)
        for folder in DISTRIBUTIONS:
            session.run("python", "-m", "build", "--installer", "uv", "--outdir", str(built), folder)
    session.run("diff", "-r", str(dist), str(again), external=True)
    session.run("python", "ci/tools/try_built.py", str(dist), *session.posargs)


@nox.session(default=False, python=SUPPORTED, tags=["versions"])
def python(session: nox.Session) -> None:
    """Run the tests under another Python: `nox -s python-3.12`."""
    of_tier(session, "thorough")


@nox.session(default=False, tags=["versions"])
def audit(session: nox.Session) -> None:
    """Look up each pinned version in the database of known vulnerabilities; needs a network."""
    install(session, *group("audit"))
    for pinned in sorted(map(str, ROOT.glob("ci/constraints/py*.txt"))):  # one not looked up is a failure
        session.run("pip-audit", "--strict", "--no-deps", "--disable-pip", "-r", pinned, *session.posargs)


@nox.session(default=False, python=WITHOUT_GPU[ROW]["python"], tags=["versions"])
def conformance(session: nox.Session) -> None:
    """Look at every operator, backend and property in row `$ROW` of the matrix; `-- --profile full`: all."""
    install_row(session, WITHOUT_GPU[ROW], *workspace("numba", "warp", "test"))
    emulated = ("--emulate-gpu",) if WITHOUT_GPU[ROW]["platform"] == EMULATED else ()
    pytest(session, *emulated, "--operators", "catalog_operators", f"--cells-json={CELLS / ROW}.json")


@nox.session(default=False, tags=["versions"])
def matrix(session: nox.Session) -> None:
    """Run every row of the matrix that this machine can, and write harness/results/matrix.json."""
    install(session, *workspace("numba"))
    shutil.rmtree(CELLS, ignore_errors=True)
    one = (sys.executable, "-m", "nox", "-s", "conformance", "--", *session.posargs)
    for name in (name for name, row in WITHOUT_GPU.items() if row["python"] in HERE):
        session.run(*one, env={"ROW": name}, external=True, success_codes=[0, 1])
    session.run("python", "-m", "event_ops_harness.conformance.matrix", "ci/matrix.toml", str(CELLS))


@nox.session(default=False, python=SUPPORTED[0], reuse_venv=False, tags=["versions"])
def minimums(session: nox.Session) -> None:
    """Run the tests with the oldest versions that the distributions allow."""
    install(session, *workspace("numba", "warp", "test"), pins="lowest")
    pytest(session, "-m", "not slow")


@nox.session(default=False, reuse_venv=False, tags=["versions"])
def newest(session: nox.Session) -> None:
    """Run the tests with the newest releases of everything, pre-releases too; that they are new is shown."""
    session.install("--upgrade", "--pre", *workspace("numba", "warp", "test"))
    pytest(session, "-m", "not slow", "-W", "default::ffi_bridge.errors.UntestedVersionWarning")


@nox.session(default=False, tags=["versions"])
def constraints(session: nox.Session) -> None:
    """Pin anew what `ci/constraints/` holds: the newest for each Python, and the oldest allowed."""
    session.install("uv>=0.8")
    session.run("python", "ci/tools/pin.py", *session.posargs)


@nox.session(default=False, tags=["gpu"])
def gpu(session: nox.Session) -> None:
    """Test and measure on an NVIDIA GPU, by `ci/gpu.sh`; check the catalog on an emulated one without it."""
    if not Path("/proc/driver/nvidia/version").exists():  # of the driver
        return session.notify("conformance", session.posargs)
    install(session, *workspace("cuda13", "warp", "test"))
    session.run("ci/gpu.sh", *session.posargs, env={"PYTHON": f"{ROOT / session.bin}/python"}, external=True)


@nox.session(default=False, tags=["gpu"])
def counters(session: nox.Session) -> None:
    """Count what the CUDA kernels do; `-- --operators NAME`: of some; `-- brainevent`: theirs beside ours."""
    install(session, *workspace("numba", "warp", "test"))
    theirs = session.posargs[:1] == ["brainevent"]
    if theirs:
        install(session, "--no-deps", "brainevent; python_version >= '3.12'")  # its sources alone
    module = "by_brainevent" if theirs else "count_catalog"
    session.run("python", "-m", f"event_ops_harness.gpu.{module}", *session.posargs[int(theirs) :])


@nox.session(default=False, python=SUPPORTED[0], tags=["gpu"])
def triton(session: nox.Session) -> None:
    """Test operators with a Triton kernel; jax-triton and JAX's CUDA plugin are half a gigabyte."""
    install(session, *workspace("numba", "test"), "jax-triton")
    session.install("--no-deps", f"jax-cuda12-plugin=={version_of(session, 'jax')}")
    pytest(session, *(f"packages/ffi-bridge/tests/test_triton{x}.py" for x in ("", "_calls")), "-rs")


@nox.session(default=False, tags=["long"])
def slow(session: nox.Session) -> None:
    """Run the tests that take long: all properties of all operators, training, benchmarks, a browser."""
    of_tier(session, "slow")


@nox.session(default=False, python=SUPPORTED[1], tags=["long"])  # the oldest that BrainEvent supports
def coverage(session: nox.Session) -> None:
    """Measure what the tests of the libraries reach: at least 95 % of lines, 90 % of branches."""
    install(session, *workspace("numba", "warp", "test", "enzyme"), *group("coverage"))
    env = {"WORKSPACE": str(ROOT), "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0"}  # not XLA's threads call kernels
    session.run("coverage", "erase", env=env)
    folders = ("packages/ptx-on-cpu/tests", "packages/ffi-bridge/tests", "ops/tests", "harness/conformance")
    tried = (*folders, "harness/tests/test_catalog_bench.py")
    kernels = [f"harness/conformance/test_{x}.py" for x in ("cuda_values", "python_forms")]  # slow ones, too
    for selected in (("-m", "not slow", *tried), kernels):  # with nothing compiled before: compilers count
        pytest(session, "-p", "no:cacheprovider", *selected, under=("-m", "coverage", "run"), env=env)
    session.run("python", "ci/tools/covered.py", env=env)


@nox.session(default=False, tags=["long"])
def mutation(session: nox.Session) -> None:
    """Change the code in one place at a time, and print what no test noticed: `-- abi`, `handler`, `csr`."""
    install(session, *workspace("numba", "warp", "test"), *group("mutation"))
    session.run("python", "ci/tools/mutate.py", *(session.posargs or ("abi",)))


@nox.session(default=False, tags=["long"])
def reliability(session: nox.Session) -> None:
    """Run what keeps the promises of SECURITY.md, and print what was tried and what failed."""
    install(session, *workspace("numba", "warp", "test"), *group("layers"))
    env = {"NUMBA_THREADING_LAYER_PRIORITY": "omp workqueue tbb"} | shared_libraries(session)
    pytest(session, "-p", "event_ops_harness.reliability", "-m", "promise", env=env)


@nox.session(default=False, venv_backend="none", tags=["long"])
def full(session: nox.Session) -> None:
    """Run everything that this machine can: hours."""
    once = "lint", "types", "thorough", "docs", "slow", "reliability", "coverage", "minimums", "build"
    for name in (*once, "seeds", "triton", "derivatives", "gpu", *map("python-{}".format, HERE[1:])):
        session.notify(name)
    session.notify("matrix", ["--profile", "full"])
    session.notify("report", [])


@nox.session(default=False, tags=["long"])
def derivatives(session: nox.Session) -> None:
    """Test derivatives of Numba kernels; their compiler, Enzyme, is half a gigabyte."""
    install(session, *workspace("numba", "warp", "test", "enzyme"))
    pytest(session, "packages/ffi-bridge/tests", "harness/tests", "harness/conformance", "-k", "derivative")


@nox.session(default=False, tags=["figures"])
def bench(session: nox.Session) -> None:
    """Time beside rivals: `-- NAME` (catalog) and pytest's options; `-- --compare BASE`: two revisions."""
    mkl = shared_libraries(session)  # sparse_dot_mkl looks for MKL in the system, not where pip put it
    mkl["MKL_RT"] = f"{mkl['LD_LIBRARY_PATH']}/libmkl_rt.so.3"
    enzyme = ("enzyme",) if session.posargs[:1] == ["derivatives"] else ()
    run_module(session, "event_ops_harness.bench", "numba", "warp", "bench", *enzyme, env=mkl)


@nox.session(default=False, tags=["figures"])
def tune(session: nox.Session) -> None:
    """Measure which backend is the fastest for which calls, and write this device's tuning table."""
    run_module(session, "event_ops_harness.bench.tune", "numba", "warp")


@nox.session(default=False, tags=["site"])
def docs(session: nox.Session) -> None:
    """Build the site into build/docs, its tutorials executed, and look at it; warnings are errors."""
    install(session, *workspace("numba", "warp", "test", "enzyme"), *group("docs"), *group("guides"))
    shutil.rmtree(ROOT / "build" / "docs", ignore_errors=True)
    kernels = {"FFI_BRIDGE_CACHE_DIR": str(ROOT / "build" / "kernels")}
    session.run("sphinx-build", "-WE", "--keep-going", "-d", "build/trees", "docs", "build/docs", env=kernels)
    pytest(session, "docs/tests", env=kernels)


@nox.session(default=False, tags=["site"])
def seeds(session: nox.Session) -> None:
    """Run the seed tutorials against ffi_bridge, where `../shared` holds them."""
    if not (script := ROOT.parent / "shared" / "tools" / "run_seeds.py").exists():
        session.skip("../shared/tools/run_seeds.py is not here: the tutorials are not part of git")
    install(session, *workspace("numba", "warp"))
    for tutorial in session.posargs or ("numba_cpu", "warp"):
        session.run("python", str(script), "--only", tutorial)


@nox.session(default=False, tags=["site"])
def report(session: nox.Session) -> None:
    """Write `harness/results/report.html` from what `matrix`, `bench` and `gpu` found; `-- --help`."""
    run_module(session, "event_ops_harness.report")


@nox.session(default=False, tags=["site"])
def table(session: nox.Session) -> None:
    """Write tables and the picture of README.md and ops/README.md, and those of the paper."""
    install(session, *workspace("numba", "warp"))
    session.run("python", "-m", "event_ops_harness.table", "--write", "README.md", "ops/README.md")
    for script in ("docs/paper/figures.py", "docs/_ext/standalone.py"):
        session.run("python", script)


@nox.session(default=False, tags=["networks"])
def demo(session: nox.Session) -> None:
    """Simulate the CUBA network of 4000 spiking neurons; `-- --help` shows its options."""
    run_module(session, "event_ops_harness.networks.cuba", "numba")


@nox.session(default=False, tags=["networks"])
def microcircuit(session: nox.Session) -> None:
    """Simulate the Potjans-Diesmann microcircuit at scale 0.1; `-- --help` shows its options."""
    run_module(session, "event_ops_harness.networks.microcircuit", "numba")


@nox.session(default=False, tags=["networks"])
def plasticity(session: nox.Session) -> None:
    """Simulate a network that learns, of Vogels et al. (2011), or `-- hpc_benchmark`; `-- --help`."""
    run_module(session, "event_ops_harness.networks", "numba")
