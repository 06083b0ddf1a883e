"""A thousand tests compile some thousand programs: let go of them after each file."""

import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def _forget_compiled_programs():
    yield
    jax.clear_caches()
