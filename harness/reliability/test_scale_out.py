"""Promise 11: over several devices and processes a matrix has the products that it has on one."""

import json
import re
import signal
import time
from pathlib import Path

import pytest
from scale_out_start import ENDLESS, PRODUCTS, lose, on_loopback, outputs, started

from event_ops_harness.networks.shared.processes import FAILED, HEARTBEAT_SECONDS

pytestmark = pytest.mark.promise(11)

SHORT, ALL = 2, 6
slow = pytest.mark.slow


def check_reports(texts, devices, record_property):
    reports = [json.loads(text.splitlines()[-1]) for text in texts]
    assert all(report["devices"] == devices and report["tried"] > 0 for report in reports)
    for failure in ("different", "other collectives"):
        assert [report[failure] for report in reports] == [[]] * len(reports)
    record_property("tried", sum(report["tried"] for report in reports))


@slow
@pytest.mark.parametrize(("devices", "cases"), [(2, SHORT), (4, ALL), (8, ALL)])
def test_devices_of_one_process_give_the_product_of_one_device(devices, cases, record_property):
    check_reports(outputs([(PRODUCTS, devices, cases)]), devices, record_property)


@slow
@pytest.mark.parametrize(("processes", "devices", "cases"), [(2, 2, SHORT), (2, 4, ALL), (4, 4, ALL)])
def test_processes_give_the_product_of_one_device(processes, devices, cases, record_property):
    coordinator, numbers = on_loopback(processes)
    commands = [(PRODUCTS, devices, cases, coordinator, processes, k) for k in numbers]
    check_reports(outputs(commands), devices, record_property)


# Lost connections are seen at once, a lost heartbeat after its timeout; then the way out takes as much again.
BOUND_SECONDS = 3 * HEARTBEAT_SECONDS


def ended_clearly(k, code, errors, victim, how):
    """By a line of the demo; where one hangs, or process 0 is lost, also by JAX, which says so and aborts."""
    if code == -signal.SIGABRT and (victim == 0 or how == signal.SIGSTOP):
        return "the JAX distributed service detected fatal errors" in errors
    return code == FAILED and f"cuba: error: process {k} of" in errors and "lost another process" in errors


@pytest.mark.parametrize(
    ("processes", "victim", "how"),
    [
        (2, 1, signal.SIGKILL),
        pytest.param(2, 0, signal.SIGKILL, marks=slow),
        pytest.param(4, 2, signal.SIGKILL, marks=slow),
        pytest.param(2, 1, signal.SIGSTOP, marks=slow),
        pytest.param(2, 0, signal.SIGSTOP, marks=slow),
    ],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else None,
)
def test_a_lost_process_ends_the_others_with_an_error(processes, victim, how, tmp_path, record_property):
    coordinator, numbers = on_loopback(processes)
    words = (ENDLESS, "--neurons", "400", "--seconds", "100000", "--processes", processes)
    figure = ("--output", tmp_path / "a.png", "--coordinator", coordinator)
    with started([(*words, *figure, "--process-id", k) for k in numbers]) as children:
        for child in children:
            assert any(line.startswith("50 of") for line in child.stdout), child.stderr.read()
        began = lose(children[victim], how)
        for k, child in enumerate(children):
            if k != victim:
                _, errors = child.communicate(timeout=BOUND_SECONDS)
                assert ended_clearly(k, child.returncode, errors, victim, how), (child.returncode, errors)
        assert time.monotonic() - began < BOUND_SECONDS
    record_property("tried", len(numbers) - 1)


def test_the_programs_of_the_page_run(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "scale-out.md"
    products, exchange, _ = re.findall(
        r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    shown = []
    for name, program in (("products.py", products), ("exchange.py", exchange)):
        (tmp_path / name).write_text(program)
        shown += outputs([(tmp_path / name,)])
    assert shown == [
        "ShardedCSR(1000 x 1000, 1 shard along 'devices', A @ v of shape (1, 1000)) 9.0\n",
        "[  2 100] 0\n",
    ]
