"""The source of a projection that learns, in a run on the CPU: lines for its arrays, and for its step."""

from typing import Any

from event_ops.codegen.emit import tuple_of
from event_ops.codegen.function import ALL
from event_ops.network import deferred_source, learning_loops
from event_ops.network.learning_plan import Learning
from event_ops.plasticity.emit import COLUMNS, ROWS
from event_ops.plasticity.numba_cpu import make_visit_rows


def functions(part: Learning) -> dict[str, Any]:
    """Return the functions that the lines of a projection call, by name."""
    q, (pre, post) = part.projection, part.rules
    visit_pre = learning_loops.keep if pre is None else make_visit_rows(pre, ROWS)
    called = {f"learn{q}": learning_loops.make_learn(visit_pre)}
    if post is None:
        return called
    deferred = deferred_source.functions(part, visit_pre) if part.may_defer else {}
    return called | deferred | {f"visit{q}": make_visit_rows(post, COLUMNS)}


def arrays(part: Learning) -> list[str]:
    """Return the names of the arrays that a run makes or changes for a projection."""
    q = part.projection
    deferred = deferred_source.arrays(part) if part.may_defer else []
    return [f"weights{q}", *_each("post", part), f"copies{q}", *deferred]


def begin(part: Learning) -> list[str]:
    """Return the lines in front of the run."""
    q, pre = part.projection, _each("pre", part)
    made = f"copies{q} = np.empty((shares, {len(pre)}, size{part.source}), weights{q}.dtype)"
    deferred = deferred_source.begin(part) if part.may_defer else []
    return [made, *(f"copies{q}[:, {k}] = {x}" for k, x in enumerate(pre)), *deferred]


def last(part: Learning) -> list[str]:
    """Return the lines of a share behind its last step."""
    return deferred_source.last(part, _variables(part, 1)) if part.may_defer else []


def end(part: Learning) -> list[str]:
    """Return the lines behind the run."""
    return [f"{x}[:] = copies{part.projection}[0, {k}]" for k, x in enumerate(_each("pre", part))]


def step(part: Learning, y: str, time: str, newest: int) -> list[str]:
    """Return the lines of a step in the range of a share: of spikes that arrive at `time`, or come back."""
    q, s, p = part.projection, part.source, part.target
    post = [f"{x}.reshape(1, -1)" for x in _each("post", part)]
    mine = f"own_spikes(sent{p}, {time}, np.uintp(hoist(back{q})), np.uintp({newest}), share)"
    decayed = [f"decay_traces({x}, decays_post{q}[{k}:], low{p}, high{p})" for k, x in enumerate(post)]
    spikes = f"ages{q}, sent{s}, {time}, np.uintp({newest}), rows{s}[share]"
    found = [f"found{q} = {mine}"] if post or part.rules[1] else []
    acts = _at_once(part, spikes, y)
    if part.may_defer:
        variables = _variables(part, 0), _variables(part, 1)
        acts = deferred_source.step(part, spikes, y, time, variables, acts)
    raised = [f"raise_traces({x}, found{q})" for x in post]
    return [*decayed, *found, *acts, *raised]


def _at_once(part: Learning, spikes: str, y: str) -> list[str]:
    """Return the lines of presynaptic traces and of both rules, of which none waits."""
    q, p = part.projection, part.target
    decayed = f"decay_traces(copies{q}[share], decays_pre{q}, 0, copies{q}.shape[2])"
    matrix = [f"weights{q}", f"matrix{q}_1", f"matrix{q}_2", _variables(part, 0), f"copies{q}[share]"]
    learnt = [f"learn{q}({tuple_of(matrix)}, {spikes}, {y}, low{p}, high{p})"]
    returned = []
    if part.rules[1]:
        columns = ", ".join(f"columns{q}_{k}" for k in range(3))
        every = f"(np.uintp(0), np.uintp(copies{q}.shape[2]))"
        returned = [f"visit{q}((weights{q},), {columns}, {every}, {_variables(part, 1)}, found{q})"]
    return [decayed, *returned, *learnt] if part.post_first else [decayed, *learnt, *returned]


def _each(side: str, part: Learning) -> list[str]:
    """Return the names of the arrays of the traces of a side."""
    return [f"{side}{part.projection}_{k}" for k in range(len(part.traces[side == "post"]))]


def _variables(part: Learning, axis: int) -> str:
    """Return the tuple of the arguments of a rule."""
    rule, q = part.rules[axis], part.projection
    if rule is None:
        return "()"
    names = []
    for k, (name, place) in enumerate(zip(part.taken[axis], rule.places[1:], strict=True)):
        if name in part.traces[0]:
            names.append(f"copies{q}[share, {part.traces[0].index(name)}]")
        elif name in part.traces[1]:
            names.append(f"post{q}_{part.traces[1].index(name)}")
        else:
            given = f"variable{q}_{axis}_{k}"
            names.append(f"hoist({given})" if place == ALL else given)
    return tuple_of(names) if names else "()"
