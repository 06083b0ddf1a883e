"""Run one simulation in several processes: start them on one host, meet on several, end together."""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, NoReturn

import jax
from jax.sharding import Mesh

from event_ops_harness.networks.shared.blocks import mesh_of

# A lost process is noticed after so many seconds; the others then end within as many more.
HEARTBEAT_SECONDS = 10
START_SECONDS = 60
LAST_SECONDS = 2
FAILED = 1
POLL_SECONDS = 0.05
LOOPBACK = "127.0.0.1"


class DevicesError(RuntimeError):
    """Devices or processes are not available; the message is one line for the user."""


def prepare_devices(per_process: int) -> None:
    """Split the CPU into `per_process` devices, if JAX runs on it and has not started yet."""
    with suppress(RuntimeError):  # JAX has started: `check_devices` says whether it found enough
        jax.config.update("jax_num_cpu_devices", per_process)


def check_devices(per_process: int) -> None:
    """Raise DevicesError unless this process has `per_process` devices."""
    available = jax.local_device_count()
    if available < per_process:
        raise DevicesError(
            f"this process has {available} {jax.default_backend()} devices; expected {per_process}: "
            "ask for fewer, or for more processes on other hosts"
        )


def mesh_of_options(options: argparse.Namespace, neurons: int) -> Mesh | None:
    """Return the devices of all processes, which share the neurons, or None for one device."""
    processes = options.processes or 1
    devices = options.devices or processes
    if devices == 1 and options.devices is None:
        return None
    if devices > neurons:
        raise DevicesError(f"{devices} devices for {neurons} neurons; expected at most one for each")
    prepare_devices(devices // processes)
    if options.coordinator is not None:
        join(options.coordinator, processes, options.process_id)
    check_devices(devices // processes)
    return mesh_of(devices, processes)


def join(coordinator: str, processes: int, process_id: int) -> None:
    """Meet all processes at HOST:PORT, where process 0 listens; collectives on the CPU are gloo's."""
    let_threads_finish()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    local = coordinator.startswith(LOOPBACK)
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process_id,
            cluster_detection_method="deactivate",
            # Without it JAX listens at every address of the host.
            coordinator_bind_address=coordinator if local else None,
            initialization_timeout=START_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
            shutdown_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise DevicesError(
            f"process {process_id} did not meet the {processes - 1} others at {coordinator} "
            f"in {START_SECONDS} s ({reason})"
        ) from error


def leave(program: str, process_id: int, processes: int, error: Exception) -> NoReturn:
    """Print one line and end this process, whose collective failed, most likely because another has ended.

    What JAX does at exit is skipped: it would wait for the lost process, and then abort. Process 0 leaves
    last: it runs the service without which JAX would end the others before they print their line.
    """
    reason = str(error).strip().partition("\n")[0]
    lost = f"process {process_id} of {processes} lost another process ({reason})"
    print(f"{program}: error: {lost}", file=sys.stderr)
    if process_id == 0:
        time.sleep(LAST_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(FAILED)


def free_port() -> int:
    """Return a port of this host that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def start(program: str, arguments: Sequence[str], processes: int) -> int:
    """Run a network's command in `processes` of this host; return the first exit code that is not 0.

    Process 0 writes where this one does. When a process fails, or is killed, the others are ended.
    """
    coordinator = f"{LOOPBACK}:{free_port()}"
    module = f"event_ops_harness.networks.{program}"
    command = [sys.executable, "-m", module, *arguments, "--coordinator", coordinator]
    children: list[subprocess.Popen[Any]] = []
    with tempfile.TemporaryFile() as errors:
        try:
            for k in range(processes):
                streams: dict[str, Any] = {} if k == 0 else {"stdout": subprocess.DEVNULL, "stderr": errors}
                children.append(subprocess.Popen([*command, "--process-id", str(k)], **streams))
            return wait(program, children, errors)
        finally:
            for child in children:
                child.kill()
                child.wait()


def wait(program: str, children: Sequence[subprocess.Popen[Any]], errors: IO[bytes]) -> int:
    """Return 0 once all have ended well; else print which failed first, and return its exit code."""
    while not any(codes := [child.poll() for child in children]):
        if None not in codes:
            return 0
        time.sleep(POLL_SECONDS)
    k, code = next((k, code) for k, code in enumerate(codes) if code)
    # Process 0 has written its error itself.
    if k:
        errors.seek(0)
        sys.stderr.write(errors.read().decode(errors="replace"))
    if code < 0 or k:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        others = len(children) - 1
        print(
            f"{program}: error: process {k} of {len(children)} {how}; the other {others} are ended",
            file=sys.stderr,
        )
    # For a signal 128 and its number, as a shell says it.
    return code if code > 0 else 128 - code


def leave_a_processor() -> None:
    """Let XLA's pool have a thread for each processor but one; call it before JAX is used.

    The thread that runs a program is not of the pool, whose threads spin while they wait for work: with one
    for each processor they would take turns with the thread that has work.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("PJRT_NPROC", str(max(1, available - 1)))


def let_threads_finish() -> None:
    """Have threads that wake up wait until the running ones have nothing to do, where the system can.

    To be called before JAX starts threads, which do as the one that starts them. A thread of gloo's waits in
    a loop while the thread that communicates holds a lock; if it interrupts that one, it waits for all of its
    time slice, which is some milliseconds, and so would every all-gather.
    """
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
