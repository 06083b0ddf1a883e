"""The source of a projection on the CPU whose postsynaptic spikes may wait: functions, arrays and lines."""

from typing import Any, Final

from event_ops.codegen.emit import filled
from event_ops.codegen.function import ALL
from event_ops.codegen.primitives import NUMBA
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.network import deferred_loops, waiting_spikes
from event_ops.network.deferred_loops import ROOM
from event_ops.network.learning_plan import Learning
from event_ops.plasticity.emit import OTHER, SPIKING, SYNAPSE, block_functions
from event_ops.plasticity.numba_cpu import called_by

_AT: Final = {SYNAPSE: "[k]", SPIKING: "[post]", OTHER: "[pre]"}
_TAKEN: Final = ("k", "pre", "post", "kept", "back", "past", "values")
_STEP: Final = """\
waiting{q} = Deferred({arrays})
work{q} = (weights{q}, matrix{q}_1, matrix{q}_2), {variables}, decays_pre{q}, waiting{q}, share
if not has_room(waiting{q}, found{q}):
    update{q}(work{q}, {step} - 1, low{p}, high{p})
if defers(waiting{q}, share, found{q}.size, {step}, turns - 1, high{p} - low{p}):
    {acts}
else:
    {otherwise}"""
_LAST: Final = """\
waiting{q} = Deferred({arrays})
if is_deferring(waiting{q}, share):
    work{q} = (weights{q}, matrix{q}_1, matrix{q}_2), {variables}, decays_pre{q}, waiting{q}, share
    update{q}(work{q}, turns - 2, low{p}, high{p})"""


def functions(part: Learning, visit_pre: Any) -> dict[str, Any]:
    """Return the functions that the lines of a projection call, by name."""
    rule: Any = part.rules[1]
    sources = {0: "a0[k]"}
    for i, (name, place) in enumerate(zip(part.taken[1], rule.places[1:], strict=True), 1):
        if name in part.traces[0]:
            sources[i] = f"past[{part.traces[0].index(name)}, back]"
        elif name in part.traces[1]:
            sources[i] = f"values[{part.traces[1].index(name)}, kept]"
        elif place != ALL:
            sources[i] = f"a{i}{_AT[place]}"
    called = called_by(rule)
    inlined = njit(error_model="numpy", _nrt=False, forceinline=True)
    update_row = deferred_loops.make_update_row(
        *map(inlined, block_functions(rule, sources, _TAKEN, NUMBA, AT_ONCE=ROOM, **called)),
        post_first=part.post_first,
        takes_values=any(name in part.traces[1] for name in part.taken[1]),
    )
    q = part.projection
    learn = deferred_loops.make_learn(update_row, visit_pre)
    return {f"defer{q}": learn, f"update{q}": deferred_loops.make_update_all(update_row)}


def arrays(part: Learning) -> list[str]:
    """Return the names of the arrays that a run makes for a projection."""
    names = "steps", "newest", "kept", "spikes", "values", "counts", "past", "block", "lists"
    return [f"waiting_{name}{part.projection}" for name in names]


def begin(part: Learning) -> list[str]:
    """Return the lines in front of the run."""
    q, (pre, post), inputs = part.projection, map(len, part.traces), len(part.taken[1]) + 1
    room, x = f"size{part.target} * {int(waiting_spikes.KEPT)}", f"weights{q}.dtype"
    made = (
        f"np.empty((shares, size{part.source}), np.int64)",
        f"np.full((size{part.target}, 2), {waiting_spikes.NEVER}, np.int32)",
        f"np.zeros(size{part.target}, np.int32)",
        f"np.empty({room}, np.int32)",
        f"np.empty(({post}, {room}), {x})",
        "np.zeros((shares, 8), np.int64)",
        f"np.empty((shares, {pre}, turns), {x})",
        f"np.empty((shares, {inputs * int(ROOM)}), {x})",
        f"np.empty((shares, 5, {int(ROOM)}), np.int32)",
    )
    return [f"{name} = {value}" for name, value in zip(arrays(part), made, strict=True)]


def step(
    part: Learning, spikes: str, y: str, time: str, variables: tuple[str, str], otherwise: list[str]
) -> list[str]:
    """Return the lines of a step, in which spikes wait, or else act at once by the lines `otherwise`."""
    q, p = part.projection, part.target
    taken = [(k, name) for k, name in enumerate(part.traces[1]) if name in part.taken[1]]
    kept = [f"keep_trace(waiting{q}, {k}, post{q}_{k}, found{q})" for k, _ in taken]
    kept.append(f"keep_spikes(waiting{q}, {time} - start, found{q})")
    learnt = [f"defer{q}((work{q}, {variables[0]}, {time} - start), {spikes}, {y}, low{p}, high{p})"]
    acts = [*kept, *learnt] if part.post_first else [*learnt, *kept]
    return filled(_named(_STEP, part, variables[1], f"{time} - start"), acts=acts, otherwise=otherwise)


def last(part: Learning, variables: str) -> list[str]:
    """Return the lines behind the last step of a share."""
    return _named(_LAST, part, variables).splitlines()


def _named(lines: str, part: Learning, variables: str, step: str = "") -> str:
    """Return lines with the names of a projection."""
    of_waiting = ", ".join([f"copies{part.projection}", *arrays(part)])
    names = {"{q}": part.projection, "{p}": part.target, "{arrays}": of_waiting}
    for key, name in (names | {"{variables}": variables, "{step}": step}).items():
        lines = lines.replace(key, str(name))
    return lines
