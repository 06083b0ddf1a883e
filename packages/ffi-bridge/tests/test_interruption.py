"""Signals end loops of kernels, on the thread that they arrive in, as their handlers in Python say."""

import textwrap

import child_python
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

BEGIN = """
    import os, signal, threading, time
    import jax, numba
    import jax.numpy as jnp
    from ffi_bridge import numba_kernel
    from ffi_bridge.handler import interruption

    @numba.njit
    def slow(x, y):
        s = x[0]
        for _ in range(30_000):
            s = s * 1.0000001 - 1e-7 * s
        y[0] = s

    step = numba_kernel(slow, jax.ShapeDtypeStruct((1,), "float32"))
    run = jax.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, x: step(x), x))
    ONE, ENDLESS = jnp.ones(1), 10**9
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell lets its background ignore
"""
AT_ONCE = "interruption.PATIENCE = 0"


def child(*parts):
    return child_python.output("-c", "\n".join(map(textwrap.dedent, parts))).splitlines()


def test_a_signal_ends_a_loop_of_kernels_if_its_handler_raises():
    program = """
        def handler(number, frame):
            raise TimeoutError

        def outcome():
            try:
                run(ONE, ENDLESS)
            except (jax.errors.JaxRuntimeError, ValueError) as error:  # JAX raises either
                return str(error)

        signal.signal(signal.SIGALRM, handler)
        run(ONE, 1)
        for number, expected in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGALRM, TimeoutError)):
            threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
            try:
                print(outcome())
            except expected as error:
                print(type(error).__name__)
        print(run(ONE, 2).shape)
    """
    assert child(BEGIN, AT_ONCE, program) == ["KeyboardInterrupt", "TimeoutError", "(1,)"]


@pytest.mark.slow
def test_a_loop_goes_on_if_the_handler_returns():
    program = """
        seen = []
        signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        expected = run(ONE, 5000)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        result = run(ONE, 5000)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen) > 1, bool(result == expected))
    """
    assert child(BEGIN, AT_ONCE, program) == ["True True"]


@pytest.mark.slow
def test_a_program_that_ends_soon_is_not_disturbed():
    program = """
        run(ONE, 1)
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            print(run(ONE, 2000).shape)
            time.sleep(60)
        except KeyboardInterrupt:
            print("KeyboardInterrupt")
    """
    assert child(BEGIN, program)[-1] == "KeyboardInterrupt"


@pytest.mark.slow
def test_programs_of_other_threads_and_wakeup_files_of_others_are_left_alone():
    program = """
        file = os.memfd_create("another")
        os.set_blocking(file, False)
        signal.set_wakeup_fd(file)
        run(ONE, 1)
        print(signal.set_wakeup_fd(-1) == file)
        interruption.watch_signals()
        worker = threading.Thread(target=lambda: print(run(ONE, 5000).shape))
        try:
            worker.start()
            os.kill(os.getpid(), signal.SIGINT)
            worker.join()
        except KeyboardInterrupt:
            worker.join()
            print("KeyboardInterrupt")
    """
    assert child(BEGIN, AT_ONCE, program) == ["True", "(1,)", "KeyboardInterrupt"]
