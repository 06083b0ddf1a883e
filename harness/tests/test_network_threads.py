"""How many threads XLA is given beside the one that runs a program."""

import os

import child_python
import pytest

from event_ops_harness.networks.shared.processes import leave_a_processor, let_threads_finish


@pytest.mark.parametrize(("processors", "threads"), [(1, "1"), (2, "1"), (8, "7")])
def test_one_processor_is_left(monkeypatch, processors, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(processors), raising=False)
    monkeypatch.setenv("PJRT_NPROC", "")  # so that it is put back
    monkeypatch.delenv("PJRT_NPROC")
    leave_a_processor()
    assert os.environ["PJRT_NPROC"] == threads


def test_what_the_user_says_is_kept(monkeypatch):
    monkeypatch.setenv("PJRT_NPROC", "3")
    leave_a_processor()
    assert os.environ["PJRT_NPROC"] == "3"


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has batches")
def test_threads_that_wake_up_do_not_interrupt_others():
    module = let_threads_finish.__module__
    code = f"import os, {module} as m; m.let_threads_finish(); print(os.sched_getscheduler(0))"
    assert int(child_python.output("-c", code)) == os.SCHED_BATCH
