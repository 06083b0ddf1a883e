"""The command line of the microcircuit: tables, figure, files; bad input is one line and exit code 2."""

import child_python
import numpy as np
import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops_harness.networks.microcircuit.__main__ import main

PNG = b"\x89PNG\r\n\x1a\n"
TINY = ("--scale", "0.01", "--discard", "0.02", "--no-progress")


@pytest.mark.slow
def test_run_prints_the_tables_and_draws_the_figure(tmp_path, capsys):
    files = ("--output", str(tmp_path / "a.png"), "--npz-out", str(tmp_path / "a.npz"))
    assert main([*TINY, *files, "--seconds", "0.08", "--checkpoint", str(tmp_path / "state.npz")]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    text = capsys.readouterr().out
    for word in ("L23E", "L6I", "NEST, full", "real-time factor", "synaptic events", "bytes per synapse"):
        assert word in text
    with np.load(tmp_path / "a.npz") as found:
        assert found["steps"] == 1000 and found["sizes"].sum() == 767
        assert found["times"].size == found["ids"].size > 0
        assert found["ids"].max() < 767 and found["times"].max() < 1000
    again = (
        "--resume",
        str(tmp_path / "state.npz"),
        "--output",
        str(tmp_path / "b.pdf"),
        "--seconds",
        "0.01",
    )
    assert main([*TINY, *again]) == 0


@pytest.mark.slow
def test_dc_drive_pulse_and_no_stored_synapses(tmp_path, capsys):
    options = ("--drive", "dc", "--pulse", "0.005", "--procedural", "--seconds", "0.02")
    assert main([*TINY, *options, "--output", str(tmp_path / "a.png")]) == 0
    text = capsys.readouterr().out
    assert "dc drive" in text and "read_slot" in text


BAD = [
    "--scale 0", "--scale 1.5", "--scale x", "--scale 0.0001", "--seconds 0", "--drive ac", "--seed -1",
    "--backend nonsense", "--npz-out a.txt", "--npz-out /no/such/folder/a.npz", "--output a.txt",
    "--scale 0.002 --resume missing.npz", "--discard -1", "extra", "--devices 0",
    "--devices 3 --processes 2", "--process-id 0",
]  # fmt: skip


@pytest.mark.parametrize("options", BAD)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    try:
        code = main([*options.split(), "--no-progress"])
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.err.startswith("microcircuit: error: ") and captured.err.count("\n") == 1
    assert captured.out == "" and not list(tmp_path.iterdir())


def spikes_of(path, *options):
    """Times and ids that a program of its own finds."""
    words = ("--npz-out", path, "--output", path.with_suffix(".png"), *options)
    program = ("-m", "event_ops_harness.networks.microcircuit", *TINY)
    child_python.output(*program, *words, JAX_PLATFORMS="cpu")
    with np.load(path) as found:
        return np.stack([found["times"], found["ids"]])


@pytest.fixture(scope="module")
def on_one_device(tmp_path_factory):
    """The spikes of one device, by what else was asked for."""
    found = {}

    def ask(options):
        if options not in found:
            path = tmp_path_factory.mktemp("one") / "one.npz"
            found[options] = spikes_of(path, "--seconds", 0.08, *options.split())
        return found[options]

    return ask


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "options"),
    [
        ("--devices 2", ""),
        ("--devices 4", ""),
        ("--processes 2", ""),
        ("--devices 4 --processes 2", ""),
        ("--devices 3", "--procedural"),
        ("--processes 2", "--procedural --pulse 0.03"),
        ("--devices 3", "--pulse 0.03"),
    ],
)
def test_the_very_same_spikes_on_several_devices_and_processes(tmp_path, on_one_device, split, options):
    one = on_one_device(options)
    several = spikes_of(tmp_path / "several.npz", "--seconds", 0.08, *options.split(), *split.split())
    assert one.shape[1] > 20
    np.testing.assert_array_equal(several, one)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "--procedural"])
def test_a_checkpoint_goes_on_with_other_devices(tmp_path, on_one_device, options):
    whole, files = on_one_device(options), [tmp_path / f"{part}.npz" for part in ("first", "second", "state")]
    words = ("--seconds", 0.04, *options.split())
    first = spikes_of(files[0], *words, "--checkpoint", files[2], "--processes", 2)
    second = spikes_of(files[1], *words, "--resume", files[2], "--devices", 3)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=1), whole)
