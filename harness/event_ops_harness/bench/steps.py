"""Make work to time out of operators' cases: calls from Python, or steps of a loop in machine code.

An operator that updates its input in place is timed in `lax.fori_loop`, where nothing has to be copied; so is
one that takes a vector of events, with other events at each step, so that no branch predictor learns them and
the cost of a call does not hide that of the kernel. Where that vector is large, and so is the kernel's work,
it is called from Python: the loop would have to copy it.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.cases import BENCHMARK, Case
from event_ops.checks.arrays import HALVES
from event_ops.discover import Operator
from event_ops_harness.bench.timing import Steps, repeated

EVENT_BANK: Final = 16  # how many different event vectors a loop over steps goes through
# A prime, whose multiples modulo the number of neurons come to all of them.
TURN: Final = 7919  # neurons by which `turning` events move on in each step
EVENTS: Final = ("events", "spikes", "spikes_pre", "spikes_post", "words")
COUNTED: Final = "step"  # the argument whose number a loop counts
LARGE: Final = 1 << 18  # bytes of events; copying them takes longer than the call that the loop saves
# State starts anew after so many steps, before what decays gets denormal, which some code is slow with.
LIFETIME: Final = 1000


@dataclass(frozen=True)
class Problem:
    """Hold one case of one operator, with its arrays in NumPy.

    `varying` is the position of the events that differ from step to step, `carried` that of state, `counted`
    that of the number of the step: were it the same, XLA would draw random numbers once, before the loop.
    Where events are `turning`, those of the bank move on by some neurons in each step: so all neurons have a
    turn, as in a simulation, and not only few, whose synapses would stay in a cache. State starts anew after
    `lifetime` steps. All who are timed use one `memory` for it, in turns: the place of large arrays decides
    about a tenth of the time of random accesses.
    """

    operator: Operator
    case: Case
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    varying: int | None
    carried: Mapping[int, int]
    counted: int | None = None
    turning: bool = False
    lifetime: int = LIFETIME
    memory: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """Return the name of its group."""
        return named(self.operator, self.case)

    @property
    def per(self) -> str:
        """Name the unit that is timed: a "call" from Python, or a "step" of a loop."""
        return "call" if self.varying is None and not self.carried else "step"

    @functools.cached_property
    def on_device(self) -> tuple[Any, ...]:
        """Return the arguments as JAX arrays, the same ones for all who are timed."""
        return tuple(map(jnp.asarray, self.args))

    def with_weights_in(self, dtype: Any) -> Self:
        """Return the case with its weights cast to a dtype."""
        names = list(inspect.signature(self.operator.function).parameters)
        place = names.index("data" if "data" in names else "weights")
        args = list(self.args)
        args[place] = np.asarray(args[place]).astype(jnp.dtype(dtype))
        return replace(self, args=tuple(args))

    @functools.cached_property
    def bank(self) -> np.ndarray:
        """Return the events of `EVENT_BANK` steps, beginning with the case's events."""
        rng = np.random.default_rng(1)
        assert self.varying is not None, "only events vary from step to step"
        events = self.args[self.varying]
        # Permutations: every step has as many events.
        return np.stack([events, *(rng.permutation(events) for _ in range(1, EVENT_BANK))])


def named(operator: Operator, case: Case) -> str:
    """Return the name of a case that is measured: operator, case, dtype."""
    return f"{operator.name} {case.name} {operator.dtypes[0]}"


def largest(operator: Operator) -> list[Case]:
    """Return the last case to be measured of each orientation, the largest."""
    return list({"transposed" in case.name: case for case in operator.tagged(BENCHMARK)}.values())


def stored_in_halves(operator: Operator) -> bool:
    """Return whether an operator takes weights that are stored in 16 bits."""
    return any(case.name.startswith(HALVES) for case in operator.cases)


def make_problem(operator: Operator, case: Case) -> Problem:
    """Make the case in the first of the operator's dtypes, with 32-bit indices."""
    args, kwargs = case.make(np.random.default_rng(0), operator.dtypes[0], "int32")
    place = event_place(operator, args)
    carried = operator.bench.carried
    varying = place if place is not None and (args[place].nbytes <= LARGE or carried) else None
    return Problem(operator, case, args, kwargs, varying, carried, _place(operator, args, (COUNTED,)))


def event_place(operator: Operator, args: tuple[Any, ...]) -> int | None:
    """Return the position of the events among the arguments, if there are any."""
    return _place(operator, args, EVENTS)


def _place(operator: Operator, args: tuple[Any, ...], searched: tuple[str, ...]) -> int | None:
    """Return the position of the first argument that has one of these names, if there is any."""
    names = list(inspect.signature(operator.function).parameters)[: len(args)]
    return next((i for i, name in enumerate(names) if name in searched), None)


def steps_of(problem: Problem, function: Callable[..., Any]) -> Steps:
    """Compile `function`, of the operator's positional arguments, to be called or to run in a loop."""
    return _looped(problem, function) if problem.per == "step" else called(function, problem.on_device)


def called(function: Callable[..., Any], args: tuple[Any, ...], **how: Any) -> Steps:
    """Compile `function` for these arguments, to be called from Python; `how` goes to `Steps`."""
    compiled = jax.jit(function).lower(*args).compile()
    return Steps(repeated(lambda: jax.block_until_ready(compiled(*args))), **how)


def fed_back(operation: Callable[[Any, Any], Any], x: Any) -> Steps:
    """Return steps of a loop in machine code, `y = operation(y, x)`, that begins with y = x."""
    run: Any = jax.jit(lambda a, n: jax.lax.fori_loop(0, n, lambda _, y: operation(y, a), a))
    return Steps(lambda steps: jax.block_until_ready(run(x, steps)))


def _looped(problem: Problem, function: Callable[..., Any]) -> Steps:
    replaced = {*problem.carried, problem.varying}
    fixed = [None if i in replaced else x for i, x in enumerate(problem.on_device)]
    bank = None if problem.varying is None else jnp.asarray(problem.bank)
    if bank is not None and problem.turning:
        # Side by side twice, so that a window of all neurons may begin anywhere.
        bank = jnp.concatenate([bank, bank], axis=1)
    shapes = jax.tree.leaves(jax.eval_shape(function, *problem.on_device))
    begins, key = True, tuple((x.shape, x.dtype) for x in shapes)
    loop = loop_of(problem, function).lower(start(problem, shapes), fixed, bank, 0, 1).compile()

    def run(steps: int) -> list[Any]:
        nonlocal begins
        state, age = problem.memory.pop(key, (None, problem.lifetime))
        # The memory may hold another member's state: the first run of this one starts anew.
        age, begins = problem.lifetime if begins else age, False
        while steps:
            if age == problem.lifetime:
                new = start(problem, shapes)
                # In the memory of the state before, if there was one.
                state, age = new if state is None else _into(state, new), 0
            chunk = min(steps, problem.lifetime - age)
            state = loop(state, fixed, bank, age, chunk)
            age, steps = age + chunk, steps - chunk
        by_input, others = jax.block_until_ready(state)
        problem.memory[key] = (by_input, others), age
        rest, carried = iter(others), {out: by_input[i] for i, out in problem.carried.items()}
        return [carried[i] if i in carried else next(rest) for i in range(len(shapes))]

    return Steps(run, values=lambda result: [np.array(x) for x in result])  # the next one takes the memory


def loop_of(problem: Problem, function: Callable[..., Any]) -> Any:
    """Return `(state, fixed, bank, first, steps) -> state` under jit, which donates the state of `start`."""
    carried, varying, counted = problem.carried, problem.varying, problem.counted

    def step(fixed: Any, bank: Any, t: Any, state: Any) -> Any:
        args = [state[0].get(i, x) for i, x in enumerate(fixed)]
        if counted is not None:
            args[counted] += t.astype(args[counted].dtype)
        if varying is not None:
            args[varying] = _events(problem, bank, t)
        outs = jax.tree.leaves(function(*args))
        others = [x for i, x in enumerate(outs) if i not in carried.values()]
        return {i: outs[out] for i, out in carried.items()}, others

    @functools.partial(jax.jit, donate_argnums=0)
    def loop(state: Any, fixed: Any, bank: Any, first: Any, steps: Any) -> Any:
        return jax.lax.fori_loop(first, first + steps, functools.partial(step, fixed, bank), state)

    return loop


# Kept, though unused: its memory is what the new state is written into.
@functools.partial(jax.jit, donate_argnums=0, keep_unused=True)
def _into(state: Any, new: Any) -> Any:
    return jax.lax.optimization_barrier(new)  # without it, jit would return what it is given


def _events(problem: Problem, bank: Any, t: Any) -> Any:
    """Return the events of step t."""
    if not problem.turning:
        return jax.lax.dynamic_index_in_dim(bank, t % EVENT_BANK, keepdims=False)
    neurons = bank.shape[1] // 2
    # The product outgrows 31 bits, and would get negative.
    begin = t.astype("uint32") * TURN % neurons
    return jax.lax.dynamic_slice(bank, (t % EVENT_BANK, begin.astype(t.dtype)), (1, neurons))[0]


def start(problem: Problem, shapes: list[Any]) -> Any:
    """Return the state before the first step: the carried inputs, and zeros for all further outputs."""
    carried = {i: jnp.array(problem.args[i]) for i in problem.carried}
    others = [jnp.zeros(x.shape, x.dtype) for i, x in enumerate(shapes) if i not in problem.carried.values()]
    return carried, others
