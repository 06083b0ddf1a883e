"""DEEP R and SET of the page "Prune, rewire and normalise synapses" do what their papers say."""

import ast
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import ELL

pytestmark = pytest.mark.slow  # `nox -s docs` runs it, too
PAGE = Path(__file__).parents[1] / "how-to" / "structural-plasticity.md"
SHAPE = 40, 30
INDICES = np.argsort(np.random.default_rng(1).random(SHAPE))[:, :8].astype(np.int32)
WEIGHTS = np.random.default_rng(2).standard_normal(INDICES.shape).astype("f")


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return the functions that the page defines; the build of the site runs all of it."""
    pytest.importorskip("numba", reason="Numba is not installed")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    program = ast.parse("\n".join(cells))
    program.body = [x for x in program.body if isinstance(x, ast.Import | ast.ImportFrom)] + [
        x for x in program.body if isinstance(x, ast.FunctionDef) and not x.decorator_list
    ]
    namespace: dict[str, Any] = {"__name__": "structural_plasticity"}
    exec(compile(program, str(PAGE), "exec"), namespace)
    return namespace


def test_deep_r(page):
    sign = np.where(np.arange(40) % 2, 1, -1).astype("f")
    A = ELL(sign[:, None] * abs(WEIGHTS), INDICES, shape=SHAPE)
    gradient, key = np.roll(WEIGHTS, 1), jax.random.key(0)
    B = page["deep_r"](A, gradient, sign, key, step=3, eta=0.1, alpha=0.2, T=0.05)
    noise = np.sqrt(2 * 0.1 * 0.05) * jax.random.normal(key, INDICES.shape)
    theta = abs(WEIGHTS) - 0.1 * (sign[:, None] * gradient + 0.2) + noise
    active = np.asarray(theta >= 0)
    assert 10 < (~active).sum() < active.sum()
    np.testing.assert_allclose(B.data, np.where(active, sign[:, None] * theta, 0), rtol=1e-5)
    np.testing.assert_array_equal(B.indices[active], INDICES[active])
    assert not B.free.any() and (B.indices[~active] != INDICES[~active]).mean() > 0.5
    assert all(len(set(row.tolist())) == 8 for row in np.asarray(B.indices))


def test_set(page):
    spare = np.full((40, 3), 30, np.int32)
    A = ELL(np.pad(WEIGHTS, ((0, 0), (0, 3))), np.hstack([INDICES, spare]), shape=SHAPE)
    B = page["evolve"](A, jax.random.key(0), step=0, zeta=0.25, scale=0.01)
    assert int((~B.free).sum()) == WEIGHTS.size
    kept = np.asarray(B.data[:, :8] == WEIGHTS)
    for side in (1, -1):
        sizes = np.sort(side * WEIGHTS[side * WEIGHTS > 0])
        gone = np.sort(side * WEIGHTS[(side * WEIGHTS > 0) & ~kept])
        np.testing.assert_array_equal(gone, sizes[: len(gone)])
        assert abs(len(gone) - 0.25 * len(sizes)) <= 1
    np.testing.assert_array_equal(B.indices[:, :8][kept], INDICES[kept])
    # New ones are anywhere in what was free: also in spare slots.
    assert 0 < int((~B.free[:, 8:]).sum()) < 120
    assert jnp.abs(jnp.where(kept, 0, B.data[:, :8])).max() < 0.06
