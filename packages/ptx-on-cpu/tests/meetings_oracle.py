"""Random kernels with barriers in branches and loops, and what each thread comes to, in plain Python.

A kernel is a list of statements: ("add", n), ("barrier", number), ("if", condition, yes, no),
("for", loop, turns, body), ("return", number, condition); numbers grow along the text. Conditions and turns
are texts of C and of Python at once, of the thread's number `t`, of `one`, which is 1 and unknown to the
compiler, and of the turns of loops `i0`, `i1`.
"""

import random
from typing import Any

THREADS = 64
_OF_THREADS = ("t < 40", "t % 2 == 0", "t >= 32", "t % 32 < 16", "t == 5")
_OF_ALL = ("one == 1", "one == 2")
_TURNS = ("2 * one", "one - 1", "3 * one")
_TURNS_OF_THREADS = ("t % 3", "one + t % 2", "one + (t >= 32)")


def program(rng: random.Random) -> list[Any]:
    """Return the statements of a kernel; most of its barriers are where all threads come."""
    numbers = iter(range(1000))

    def body(depth: int, loops: int, is_common: bool) -> list[Any]:
        return [statement(depth, loops, is_common) for _ in range(rng.randrange(1, 4))]

    def statement(depth: int, loops: int, is_common: bool) -> Any:
        kind = rng.choice(["add", "barrier", "if", "for", "return"] if depth < 3 else ["add", "barrier"])
        if kind == "barrier" and (is_common or rng.random() < 0.1):
            return "barrier", next(numbers)
        if kind == "if":
            of_all = rng.random() < 0.4
            turn = [f"i{loops - 1} == 1"] if loops else []
            condition = rng.choice([*_OF_ALL, *turn] if of_all else _OF_THREADS)
            branches = [body(depth + 1, loops, is_common and of_all) for _ in range(rng.randrange(1, 3))]
            return "if", condition, branches[0], branches[1] if len(branches) > 1 else []
        if kind == "for":
            of_all = rng.random() < 0.6
            turns = rng.choice(_TURNS if of_all else _TURNS_OF_THREADS)
            return "for", loops, turns, body(depth + 1, loops + 1, is_common and of_all)
        if kind == "return":
            return "return", next(numbers), rng.choice(_OF_THREADS) if rng.random() < 0.5 else "one == 2"
        return "add", next(numbers)

    return [*body(0, 0, True), *body(0, 0, True), ("add", 7)]


def source(statements: list[Any]) -> str:
    """Return the kernel in CUDA C++; every sum goes to memory at once."""
    lines = []
    for kind, *rest in statements:
        if kind == "add":
            lines.append(f"y[t] = 3 * y[t] + {rest[0]};")
        elif kind == "barrier":
            lines.append("__syncthreads();")
        elif kind == "if":
            lines.append(f"if ({rest[0]}) {{ {source(rest[1])} }} else {{ {source(rest[2])} }}")
        elif kind == "for":
            i = f"i{rest[0]}"
            lines.append(f"for (int {i} = 0; {i} < {rest[1]}; {i}++) {{ {source(rest[2])} }}")
        else:
            lines.append(f"if ({rest[1]}) return;")
    return "\n".join(lines)


class _ReturnError(Exception):
    """The thread returns."""


class Walk:
    """The way of one thread: its sum, the barriers that it came to, where it returned early, if it did.

    A place is the number of a statement and the turns of the loops around it.
    """

    def __init__(self, statements: list[Any], thread: int) -> None:
        self.known = {"t": thread, "one": 1}
        self.total, self.barriers, self.returned = 0, list[tuple[int, ...]](), ()
        try:
            self._run(statements)
        except _ReturnError as error:
            self.returned = error.args

    def _run(self, statements: list[Any]) -> None:
        for kind, *rest in statements:
            if kind == "add":
                self.total = (3 * self.total + rest[0]) % 2**32
            elif kind == "barrier":
                self.barriers.append(self._place(rest[0]))
            elif kind == "if":
                self._run(rest[1] if self._value(rest[0]) else rest[2])
            elif kind == "return" and self._value(rest[1]):
                raise _ReturnError(*self._place(rest[0]))
            elif kind == "for":
                for turn in range(self._value(rest[1])):
                    self.known[f"i{rest[0]}"] = turn
                    self._run(rest[2])
                self.known.pop(f"i{rest[0]}", None)

    def _place(self, number: int) -> tuple[int, ...]:
        return number, *(self.known[name] for name in sorted(self.known) if name[0] == "i")

    def _value(self, text: str) -> Any:
        return eval(text, dict(self.known))


def are_right(walks: list[Walk]) -> bool | None:
    """Return whether all threads come to the same barriers, those that return to the first of them.

    None where it is a matter of words: all that came to the most have returned, or some have left a barrier
    out and returned behind it, or warps meet each other at different barriers.
    """
    longest = max((walk.barriers for walk in walks), key=len)
    by_words = all(walk.returned for walk in walks if walk.barriers == longest)
    is_right = True
    for walk in walks:
        count = len(walk.barriers)
        if walk.returned and walk.barriers == longest[:count]:
            by_words |= count < len(longest) and _is_behind(walk.returned, longest[count])
        else:
            is_right &= walk.barriers == longest
    warps = [{str(walk.barriers) for walk in walks[first : first + 32]} for first in (0, 32)]
    by_words |= [len(warp) for warp in warps] == [1, 1] and len(walks[0].barriers) == len(walks[32].barriers)
    if all(walk.barriers == longest for walk in walks):
        return True
    return None if by_words else is_right


def _is_behind(place: tuple[int, ...], barrier: tuple[int, ...]) -> bool:
    """Return whether a place comes behind a barrier, or may do so: in a later turn, or in the text."""
    return place[0] > barrier[0] or place[1:] > barrier[1 : len(place)]
