"""Balanced networks have the same spikes on one device, on several, and in several processes."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import child_python
import pytest

from event_ops_harness.networks.shared import processes

ON_DEVICES = Path(__file__).with_name("cuba_on_devices.py")


def python(*words: object) -> str:
    return child_python.output(*words, JAX_PLATFORMS="cpu")


@pytest.fixture(scope="module")
def report():
    return json.loads(python(ON_DEVICES).splitlines()[-1])


@pytest.mark.promise(11)
def test_the_very_same_spikes_on_any_number_of_devices(report):
    same = {name: parts for name, parts in report.items() if "," in name}
    assert len(same) == 12
    assert not {name: parts for name, parts in same.items() if not all(parts.values())}


@pytest.mark.promise(11)
@pytest.mark.parametrize("network", ["cuba", "coba"])
def test_a_step_exchanges_one_bit_per_neuron_and_nothing_else(report, network):
    # 403 neurons on 8 devices are 51 each, in 2 words; the traces of 16 are added up once per chunk.
    assert report[network]["collectives"] == ["f32[1000,16]", "u32[8,2]"]
    assert report[network]["bytes"] == 7 * 2 * 4


@pytest.fixture(scope="module")
def one_device(tmp_path_factory):
    return table(tmp_path_factory.mktemp("one") / "a.png")


def table(figure: Path, *options: object) -> dict[str, str]:
    """What the demo prints, by name, but for times."""
    words = ("--neurons", "300", "--seconds", "0.06", "--no-progress", "--output", figure)
    text = python("-m", "event_ops_harness.networks.cuba", *words, *options)
    assert text.count("CUBA network") == 1 and figure.exists()
    return dict(
        re.findall(r"^ *│? *(spikes|mean rate|CV of intervals|devices|synapses) +│ (.+?) *│?$", text, re.M)
    )


@pytest.mark.parametrize(
    ("options", "devices"),
    [
        pytest.param(("--devices", 3), "3 (processes: 1)", marks=pytest.mark.slow),
        pytest.param(("--processes", 2), "2 (processes: 2)", marks=pytest.mark.slow),
        pytest.param(("--processes", 2, "--devices", 4), "4 (processes: 2)", marks=pytest.mark.slow),
        pytest.param(("--processes", 4), "4 (processes: 4)", marks=pytest.mark.slow),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
@pytest.mark.promise(11)
def test_the_demo_prints_the_same_statistics(one_device, tmp_path, options, devices):
    found = table(tmp_path / "a.png", *options)
    assert found.pop("devices") == devices
    assert found == one_device and len(found) == 4


def test_a_killed_process_ends_the_others_of_its_host(capfd):
    sleeping = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)]
    with tempfile.TemporaryFile() as errors:
        sleeping[1].kill()
        try:
            assert processes.wait("cuba", sleeping, errors) == 128 + 9
        finally:
            sleeping[0].kill()
            sleeping[0].wait()
    assert "process 1 of 2 was killed by signal 9; the other 1 are ended" in capfd.readouterr().err
