"""Weights of a `CSR` that change at spikes."""

from __future__ import annotations

from typing import Any, Self

import jax
from jax.typing import ArrayLike

from event_ops.catalog.stdp_on_post.op import kernel as along_columns
from event_ops.catalog.stdp_on_pre.op import kernel as along_rows
from event_ops.checks.arrays import FLOATS, as_array, check_dtype
from event_ops.parts.reference.plasticity import check_spikes, check_trace, rate_and_bounds
from event_ops.sparse.csr_convert import CSRConvert


class CSRPlasticity(CSRConvert):
    """STDP on a `CSR` whose rows are presynaptic, with the rules of `stdp_on_pre` and `stdp_on_post`."""

    def stdp_on_pre(
        self,
        spikes_pre: ArrayLike,
        x_post: ArrayLike,
        *,
        A_minus: ArrayLike,
        w_min: ArrayLike,
        w_max: ArrayLike,
        backend: str | None = None,
    ) -> Self:
        """`A[i, j] = clip(A[i, j] - A_minus * x_post[j], w_min, w_max)` for every row i that spikes.

        Changes `data` as the operator `stdp_on_pre` does, in place where it is not needed again; structure
        and plan stay. A plan that keeps weights is brought up to date in a pass over all entries; one that
        `plan(weights=False)` made has none to update. A transposed matrix must have a plan.

        Args:
            spikes_pre: (rows,); bool, or the dtype of the weights.
            x_post: (columns,), the postsynaptic traces; dtype of the weights.
            A_minus: a number, 0-d or (nse,), as `data` is ordered; >= 0, depression per unit of trace.
            w_min: a number, 0-d or (nse,), lowest weight; -inf for none.
            w_max: a number, 0-d or (nse,), highest weight, >= w_min; inf for none.
            backend: run on this one or not at all; default: choose.

        Raises:
            TypeError: a dtype that is not taken, or that is not the one of the weights.
            ValueError: one weight for all entries, a shape that does not fit, no plan where one is needed, or
                A_minus < 0 or w_min > w_max where their values are known when traced.
        """
        rate, low, high = rate_and_bounds(self._each_weight(), "A_minus", A_minus, w_min, w_max)
        spikes, x = self._ends("spikes_pre", spikes_pre, 0), self._ends("x_post", x_post, 1)
        return self._moved(self.transposed, spikes, x, (-rate, low, high), backend)

    def stdp_on_post(
        self,
        spikes_post: ArrayLike,
        x_pre: ArrayLike,
        *,
        A_plus: ArrayLike,
        w_min: ArrayLike,
        w_max: ArrayLike,
        backend: str | None = None,
    ) -> Self:
        """`A[i, j] = clip(A[i, j] + A_plus * x_pre[i], w_min, w_max)` for every column j that spikes.

        Changes `data` as the operator `stdp_on_post` does. The matrix must have a plan unless it is
        transposed: `A = A.plan(weights=False)` in front of the loop. All else is as in `stdp_on_pre`.

        Args:
            spikes_post: (columns,); bool, or the dtype of the weights.
            x_pre: (rows,), the presynaptic traces; dtype of the weights.
            A_plus: a number, 0-d or (nse,), as `data` is ordered; >= 0, potentiation per unit of trace.
            w_min: a number, 0-d or (nse,), lowest weight; -inf for none.
            w_max: a number, 0-d or (nse,), highest weight, >= w_min; inf for none.
            backend: run on this one or not at all; default: choose.

        Raises:
            TypeError: a dtype that is not taken, or that is not the one of the weights.
            ValueError: one weight for all entries, a shape that does not fit, no plan where one is needed, or
                A_plus < 0 or w_min > w_max where their values are known when traced.
        """
        rule = rate_and_bounds(self._each_weight(), "A_plus", A_plus, w_min, w_max)
        spikes, x = self._ends("spikes_post", spikes_post, 1), self._ends("x_pre", x_pre, 0)
        return self._moved(not self.transposed, spikes, x, rule, backend)

    def _each_weight(self) -> jax.Array:
        check_dtype("data", self.data, FLOATS)
        if not self.data.ndim:
            raise ValueError(
                "data is one weight for all entries; expected (nse,), one that can change for each; "
                "A.with_data(A.repeated_data())"
            )
        return self.data

    def _ends(self, name: str, given: ArrayLike, axis: int) -> jax.Array:
        x, why = as_array(given), f"{('row', 'column')[axis]} of shape={self.shape}"
        check = check_spikes if name.startswith("spikes") else check_trace
        check(name, x, self.data, self.shape[axis], why)
        return x

    def _moved(self, by_column: bool, spikes: Any, x: Any, rule: Any, backend: str | None) -> Self:
        options: dict[str, Any] = {
            "outs": jax.ShapeDtypeStruct(self.data.shape, self.dtype),
            "backend": backend,
        }
        if not by_column:
            return self.with_data(
                along_rows(self.data, self.indices, self.indptr, spikes, x, *rule, **options)
            )
        if self.by_column is None:
            raise ValueError(
                "the matrix has no plan, and these weights are found by the column they are stored in; "
                "make it once, in front of the loop: A = A.plan(weights=False)"
            )
        return self.with_data(along_columns(self.data, *self.by_column[:3], spikes, x, *rule, **options))
