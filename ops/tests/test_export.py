"""Programs with every operator are exported by one process, and called by another that compiles no kernel."""

import importlib
import json

import child_python
import numpy as np
import pytest

from event_ops import catalog
from event_ops.discover import operators
from ffi_bridge.identity.fingerprint import fingerprint

pytestmark = pytest.mark.promise(9)
# Family -> the module that makes its kernels, and for which threads.
MAKERS = {
    "scatter": ("target_kernel", (False, True)),
    "segment": ("segment_kernel", ("one", "all", "sorted")),
}

EXPORT = """
import sys
from pathlib import Path
import jax
import numpy as np
from event_ops.discover import operators
from ffi_bridge import export

for operator in operators():
    case, rng = operator.tagged("conformance")[0], np.random.default_rng(0)
    arrays, static = case.make(rng, operator.dtypes[0], "int32")
    call = jax.jit(lambda *xs: operator.function(*xs, backend="numba_cpu", **static))
    folder = Path(sys.argv[1])
    (folder / operator.name).write_bytes(export.export(call)(*arrays).serialize())
    np.savez(folder / f"{operator.name}.in.npz", *arrays)
    np.savez(folder / f"{operator.name}.out.npz", *jax.tree.leaves(call(*arrays)))
"""

CALL = """
import json
import sys
from pathlib import Path
import jax
import numpy as np
from ffi_bridge import export
same = []
for program in sorted(path for path in Path(sys.argv[1]).iterdir() if not path.suffix):
    exported = export.deserialize(program.read_bytes())
    inputs, expected = np.load(f"{program}.in.npz"), np.load(f"{program}.out.npz")
    results = jax.tree.leaves(exported.call(*inputs.values()))
    if all(np.array_equal(a, b) for a, b in zip(results, expected.values(), strict=True)):
        same.append(program.name)
print(json.dumps({"same": same, "compiled": "ffi_bridge.numba_cpu.compile" in sys.modules}))
"""


@pytest.mark.slow
def test_every_operator_exported_here_is_called_elsewhere(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="Numba is not installed")
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path / "kernels"))
    child_python.output("-c", EXPORT, programs, new=True, timeout=1800)
    called = child_python.output("-c", CALL, programs, new=True, timeout=1800)
    names = [operator.name for operator in operators()]
    assert json.loads(called) == {"same": names, "compiled": False}


def kernels_of(name):
    """The kernels in an operator's module, or some that its family makes on demand."""
    family = catalog.FAMILIES.get(name)
    own = f"event_ops.catalog.{name}.numba_cpu"
    module = importlib.import_module(own if family is None else f"event_ops.kernels.numba_cpu.{family}")
    found = dict(enumerate(flattened(tuple(vars(module).values()))))
    what, _, how = name.partition("_")
    if family == "at_places":
        maker, threads = MAKERS[what]
        make, how = getattr(module, maker), "add" if how == "sum" else how
        found = {x: make(how, np.dtype("float32"), "drop", x) for x in threads}
    if family == "ell_products":
        of = module.csr_products.EVENT_MATVEC if "event" in name else module.csr_products.MATVEC
        pairs = [(turned, large) for turned in (0, 1) for large in (False, True)]
        found = {pair: module.along_equal_rows(of[pair[0]][pair[1]], pair[1]) for pair in pairs}
    return found


def has_kernels(operator):
    """Return whether an operator's kernels are its own; test_plasticity_rules looks at those of rules."""
    places = "event_ops.catalog.", "event_ops.kernels."
    return operator.kernel.backends["cpu"]["numba_cpu"].builder.startswith(places)


@pytest.mark.parametrize("name", [operator.name for operator in operators() if has_kernels(operator)])
def test_kernels_have_names_that_hold_in_every_process(name):
    """A kernel that refers to an object without contents would be compiled anew by each."""
    pytest.importorskip("numba", reason="Numba is not installed")
    kernels = kernels_of(name)
    assert kernels
    assert {key for key, value in kernels.items() if not fingerprint(value).portable} == set()


def flattened(value):
    """Yield the kernels in tuples of tuples."""
    if isinstance(value, tuple):
        for part in value:
            yield from flattened(part)
    elif hasattr(value, "py_func"):
        yield value


@pytest.mark.parametrize("family", ["arrivals", "csr_products"])
def test_kernels_that_operators_share_have_such_names(family):
    pytest.importorskip("numba", reason="Numba is not installed")
    module = importlib.import_module(f"event_ops.kernels.numba_cpu.{family}")
    kernels = list(flattened(tuple(vars(module).values())))
    assert len(kernels) > 5
    assert [kernel for kernel in kernels if not fingerprint(kernel).portable] == []
