"""How many threads XLA is given beside the one that runs a program."""

import os

import pytest

from event_ops_harness.networks.shared.threads import leave_a_processor


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
