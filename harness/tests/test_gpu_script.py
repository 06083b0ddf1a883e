"""`ci/gpu.sh` says what it did not do, and keeps what each step printed."""

import dataclasses
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from devices import gpus

from event_ops_harness.gpu.__main__ import SKIPPED, due, main, read_record
from event_ops_harness.gpu.compare import compared
from event_ops_harness.gpu.steps import ROOT, STEPS, Step, run


@pytest.mark.skipif(bool(gpus()), reason="this machine has a GPU")
def test_without_a_gpu_it_is_skipped_and_not_passed(tmp_path):
    output = tmp_path / "gpu.json"
    done = subprocess.run(
        [ROOT / "ci" / "gpu.sh", "--output", output],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == SKIPPED, done.stderr
    assert "skipped: JAX sees no NVIDIA GPU" in done.stdout
    assert not output.exists()


def python(code, seconds=20):
    return run(Step((sys.executable, "-c", code), seconds))


def test_a_step_keeps_its_last_line_of_json():
    found = python("print('text'); print('{\"us\": 1.5}'); print('more')")
    assert (found["status"], found["found"]) == ("passed", {"us": 1.5})


def test_a_failed_step_keeps_what_it_said():
    found = python("raise SystemExit('no such kernel')")
    assert found["status"] == "failed with 1"
    assert "no such kernel" in found["tail"]


def test_a_record_names_no_folder_of_a_machine():
    assert python(f"raise SystemExit('in {ROOT}/harness')")["tail"].strip() == "in harness"


def test_a_step_that_takes_too_long_has_failed_and_says_how_far_it_came():
    found = python("import time; print('half', flush=True); time.sleep(30)", seconds=2)
    assert found["status"] == "failed: more than 2 s" and found["tail"].startswith("half")


def test_a_step_that_cannot_run_is_skipped():
    assert run(Step(("absent",), 1, obstacle="no such tool"))["status"] == "skipped"
    assert {"bridge", "operators", "launch", "products", "catalog", "microcircuit"} <= STEPS.keys()


def test_steps_are_due_that_failed_or_whose_sources_have_changed(tmp_path, monkeypatch):
    source = tmp_path / "kernel.py"
    source.write_text("old")
    monkeypatch.setattr("event_ops_harness.gpu.steps.ROOT", tmp_path)
    for name in ("bridge", "cuba", "launch"):
        monkeypatch.setitem(STEPS, name, dataclasses.replace(STEPS[name], sources=("kernel.py",)))
    passed = {"status": "passed", "digest": STEPS["bridge"].digest}
    record = {"bridge": passed, "cuba": passed | {"status": "failed with 1"}}
    assert due(record, ["bridge", "cuba", "launch"]) == ["cuba", "launch"]
    source.write_text("new")
    assert due(record, ["bridge"]) == ["bridge"]


def test_the_queue_stops_in_time_and_keeps_what_it_has(tmp_path, monkeypatch, capsys):
    script = "event_ops_harness.gpu.__main__"
    monkeypatch.setattr(f"{script}.gpu", lambda: SimpleNamespace(device_kind="A GPU"))
    for name in ("bridge", "launch", "cuba"):
        step = Step((sys.executable, "-c", "print('{}')"), 20, ("noxfile.py",))
        monkeypatch.setitem(STEPS, name, step)
    output = tmp_path / "gpu.json"
    old = {"cuba": {"status": "passed", "seconds": 500.0, "found": [0]}, "launch": {"status": "skipped"}}
    output.write_text(json.dumps({"device": "A GPU", "steps": old}))
    assert main(["--only", "bridge", "cuba", "launch", "--budget", "60", "--output", str(output)]) == 0
    record = read_record(output, "A GPU")
    assert (record["bridge"]["status"], record["cuba"]) == ("passed", old["cuba"])
    assert record["launch"]["digest"] == STEPS["launch"].digest
    assert "no time was left for: cuba; they are next" in capsys.readouterr().out
    assert read_record(output, "Another GPU") == {}


def cell(status, dtype="float32"):
    names = dict.fromkeys(("operator", "backend", "case", "property"), "any")
    return {**names, "dtype": dtype, "status": status}


def test_outcomes_on_a_gpu_are_compared_with_those_on_an_emulated_one():
    real = [cell("passed"), cell("passed"), cell("failed", "float64"), cell("passed", "int8")]
    emulated = [cell("passed"), cell("passed"), cell("passed", "float64"), cell("skipped", "int8")]
    found = compared(real, emulated)
    assert found == {"cells on both": 3, "passed on both": 2, "differ": ["any-any-any-float64-any"]}
