"""Derivatives as multilinear forms: which are known, how one follows from another, and their buffers.

The k-th derivative of `y = f(x)` is a form `<v, D^k f(x)[u_1, ..., u_k]>`, linear in a covector `v`, which
has the shape of `y`, and in directions `u`, which have that of `x`. A derivative of a kernel computes the
form with one of these left open. To transpose it is to leave another one open; to differentiate it in `x` is
to add a direction.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class Buffer(NamedTuple):
    """A parameter of the kernel; `begins`: the input whose memory an output shares."""

    name: str
    is_output: bool
    is_active: bool  # has derivatives
    is_number: bool
    begins: str | None


Side = Literal["in", "out"]  # whose shapes: a direction has those of the inputs, a covector of the outputs

HIGHEST: Final = 2


class Mode(NamedTuple):
    """The derivative of order `order` with a direction ("in") or the covector ("out") left open."""

    order: int
    opens: Side

    @property
    def seeds(self) -> tuple[Side, ...]:
        """Return the sides of the given seeds, in order: the covector, then directions."""
        if self.opens == "out":
            return ("in",) * self.order
        rest: tuple[Side, ...] = ("in",) * (self.order - 1)
        return ("out", *rest)

    @property
    def symbol(self) -> str:
        """Return the suffix of the kernel's name in the name of its derivative."""
        return "jvp_of_" * (self.order - 1) + ("jvp" if self.opens == "out" else "vjp")

    def transposed(self, seed: int) -> tuple[Mode, list[int | None]]:
        """Return the form that leaves seed `seed` open, and where its seeds come from.

        None stands for what was left open here, which now is given.
        """
        others: list[tuple[Side, int | None]] = [(x, i) for i, x in enumerate(self.seeds) if i != seed]
        # "out" before "in", as `seeds` has them: the covector, then directions.
        origins = sorted([*others, (self.opens, None)], key=lambda x: x[0], reverse=True)
        return Mode(self.order, self.seeds[seed]), [place for _, place in origins]


PRIMAL: Final = Mode(0, "out")  # the kernel itself
FORWARD: Final = Mode(1, "out")
REVERSE: Final = Mode(1, "in")
