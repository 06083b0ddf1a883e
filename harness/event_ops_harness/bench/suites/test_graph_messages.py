"""Time messages along edges beside gathering them into an array of edges times features, DGL and PyG.

`gspmm` makes a kernel of a message; "segments" gathers sources and destinations and reduces by
`jax.ops.segment_sum` or `segment_max`, as jraph does; "BCOO" is the product of JAX's sparse matrix, where the
message is a weight times a source; DGL and PyTorch Geometric run in a process of `--rivals-python`, in turns
with the rest. Graphs are random, with as many edges into each node, planned outside of the time; "gradient"
is of the sum of squares, in the weights and the sources. All find the same values.

"peak" is a fresh process's: resident bytes at most during a call, beyond those before it, per node and
feature; its seconds are those of that call.

Not measured: compilation, the plan, a GPU.

`--sizes` are the nodes, of which each is timed at 1, 16 and 64 features, with 10 edges into each, the least
with 100, too.
"""

import functools
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from event_ops_harness.bench import options, workers
from event_ops_harness.bench.fresh import RETURNS_MEMORY, apart, ask, group_of, take_turns
from event_ops_harness.bench.plugin import cores
from event_ops_harness.bench.simulators import rivals_python
from event_ops_harness.bench.timing import Steps, Work
from event_ops_harness.bench.workers.graph_messages import MESSAGES, OURS, PRODUCT, WAYS, graph, work_of
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

SIZES = (10_000, 100_000)
FEATURES = (1, 16, 64)
EDGES = (10, 100)  # into each node
FOREIGN = ("DGL", "PyG")
MEMBERS = (*WAYS, *FOREIGN)
RIVALS = MEMBERS[1:]
PROGRAM = (str(Path(workers.__file__).with_name("torch_graphs.py")),)
PASSES = ("forward", "gradient")


def pytest_generate_tests(metafunc):
    nodes = options.counts(metafunc.config, "sizes", SIZES)
    sizes = [(n, edges) for n in nodes for edges in EDGES if edges == EDGES[0] or n <= min(nodes)]
    metafunc.parametrize(("nodes", "edges"), sizes)


@pytest.fixture(scope="module")
def stack():
    """Hold the processes of one group; they end when the next group begins."""
    with ExitStack() as stack:
        yield stack


@functools.lru_cache(maxsize=1)
def members_of(name, nodes, edges, features, gradient, python, stack):
    """Return member -> work that returns the reduction, or its gradient; and why members are missing."""
    stack.close()
    arrays = graph(nodes, edges, features)
    own = {member: work_of(member, name, arrays, gradient) for member in WAYS}
    members: dict[str, Work | Steps] = {member: work for member, work in own.items() if work is not None}
    missing = dict.fromkeys(set(own) - set(members), "it has products alone")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    np.savez(folder / "graph.npz", allow_pickle=False, **arrays)
    request = {"graph": str(folder / "graph.npz"), "message": name, "gradient": gradient, "threads": cores()}
    for library in FOREIGN:
        task = request | {"library": library, "result": str(folder / f"{library}.npz")}
        try:
            worker = stack.enter_context(closing(Worker(Rival(library, PROGRAM), python, task)))
        except WorkerError as error:
            missing[library] = str(error)
        else:
            members[library] = Steps(worker.run, functools.partial(values_of, worker, task["result"]))
    return members, missing


def values_of(worker, path, _):
    worker.run(0)
    with np.load(path) as held:
        return [held[name] for name in held]


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("pass_", PASSES)
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("name", MESSAGES)
def test_messages(in_turns, benchmark, request, stack, nodes, edges, name, features, pass_, member):
    python = options.option(request.config, "rivals_python", rivals_python())
    members, missing = members_of(name, nodes, edges, features, pass_ == "gradient", python, stack)
    if member in missing:
        pytest.skip(f"{member}: {missing[member]}")
    benchmark.group = f"{name}, {pass_}, {nodes:,} nodes, {edges} edges each, {features} features"
    info = {"nodes": nodes, "edges": edges, "features": features}
    in_turns(members, member, rivals=RIVALS, info=info)


@functools.lru_cache(maxsize=1)
def peaks(name, nodes, edges, gradient, rounds):
    """Return the group of fresh processes at the most features."""
    task = {"name": name, "nodes": nodes, "edges": edges, "features": FEATURES[-1], "gradient": gradient}
    able = [member for member in WAYS if member != PRODUCT or name == "product"]
    jobs = {x: functools.partial(ask, "graph_messages", task | {"member": x}, RETURNS_MEMORY) for x in able}
    answers, failed = take_turns(jobs, rounds)
    failed |= apart(answers, OURS, "norm", 1e-3)
    values = nodes * FEATURES[-1]

    def bytes_per_value(rounds):
        return {"bytes_per_value": median(x["bytes"] for x in rounds) / values}

    return group_of(answers, failed, lambda answer: answer["seconds"], bytes_per_value)


@pytest.mark.parametrize("member", WAYS)
@pytest.mark.parametrize("pass_", PASSES)
@pytest.mark.parametrize("name", MESSAGES)
def test_peak(in_turns, benchmark, nodes, edges, name, pass_, member):
    if member == PRODUCT and name != "product":
        pytest.skip("BCOO has products alone")
    benchmark.group = f"peak, {name}, {pass_}, {nodes:,} nodes, {edges} edges each, {FEATURES[-1]} features"
    info = {"nodes": nodes, "edges": edges, "features": FEATURES[-1]}
    in_turns.report(peaks(name, nodes, edges, pass_ == "gradient", 3), member, rivals=RIVALS, info=info)
