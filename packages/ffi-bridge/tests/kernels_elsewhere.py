"""Run kernels in a process of their own: given as source, which counts how often it compiles, or exported."""

import child_python

PROGRAM = """
import sys
import jax
import jax.numpy as jnp
from ffi_bridge import numba_kernel
from ffi_bridge.numba_cpu import compile as compiler
compile_kernel, compiled = compiler._compile, []

def counted(*arguments):
    compiled.append(1)
    return compile_kernel(*arguments)

compiler._compile = counted
batched, *sources = sys.argv[1:]
for source in sources:
    names = {}
    exec("import numba\\nimport numpy as np\\nfrom numba.extending import overload\\n" + source, names)
    call = numba_kernel(names["kernel"], jax.ShapeDtypeStruct((4,), jnp.float32))
    for x in jnp.arange(4, dtype=jnp.float32), jnp.full(4, -1, jnp.float32):
        try:
            print(call(x))
        except Exception as error:
            print(str(error).splitlines()[0])
    if batched:
        print(jax.jit(jax.vmap(call))(jnp.ones((2, 4), jnp.float32)))
print("compiled", len(compiled), file=sys.stderr)
"""


def run(*kernels, batched="", **environment):
    """Return what a process prints, and how often it compiled."""
    done = child_python.run("-c", PROGRAM, batched, *kernels, new=True, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr.split()[-1])


EXPORTED = """
import sys
import jax.numpy as jnp
from ffi_bridge import export
try:
    program = export.deserialize(open(sys.argv[1], "rb").read())
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
print(program.call(jnp.arange(4.0)))
"""


def call_exported(path, then=""):
    """Read the program at `path`, call it, go on with `then`, and return the process."""
    return child_python.run("-c", EXPORTED + then, path)
