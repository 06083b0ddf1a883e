"""The command line: a run gives a table and a figure; bad input gives one line and exit code 2."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from refused_options import check_one_line

from event_ops_harness.networks.cuba import main

PNG = b"\x89PNG\r\n\x1a\n"


def run(*options: str, output: Path) -> int:
    return main([*options, "--output", str(output), "--seconds", "0.2", "--no-progress"])


@pytest.mark.slow_cases("--backend reference")
@pytest.mark.parametrize("options", [[], ["--backend", "reference"]], ids=" ".join)
def test_run_prints_the_table_and_draws_the_figure(tmp_path, capsys, options):
    assert run("--neurons", "200", *options, output=tmp_path / "a.png") == 0
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    text = capsys.readouterr().out
    for word in ("neurons", "synapses", "mean rate", "time per step", "real-time factor", "backend"):
        assert word in text
    assert "reference: asked for by name" in text or "--backend" not in options


@pytest.mark.slow
def test_matrix_is_used(tmp_path, capsys):
    scipy.sparse.save_npz(tmp_path / "net.npz", scipy.sparse.eye_array(33, format="csr"))
    assert run("--matrix", str(tmp_path / "net.npz"), output=tmp_path / "a.pdf") == 0
    assert "33 (net.npz)" in capsys.readouterr().out


def test_silent_network_is_drawn_too(tmp_path, capsys):
    scipy.sparse.save_npz(tmp_path / "net.npz", scipy.sparse.csr_array(np.full((20, 20), -1e3)))
    assert main(["--matrix", str(tmp_path / "net.npz"), "--seconds", "0.0005", "--no-progress",
                 "--output", str(tmp_path / "a.png")]) == 0  # fmt: skip
    assert "too few spikes" in capsys.readouterr().out


BAD = [
    "--neurons 0", "--neurons -3", "--neurons many", "--neurons 1.5", "--seconds 0", "--seconds nan",
    "--seconds inf", "--seed -1", "--seed x", "--backend nonsense", "--backend numba_cuda",
    "--output a.txt", "--output /no/such/folder/a.png", "--matrix missing.mtx", "--matrix a.csv",
    "--matrix a.mtx --neurons 5", "--weight-scale 2", "--matrix a.mtx --weight-scale nan",
    "--devices 0", "--devices 3 --processes 2", "--coordinator 127.0.0.1:1",
    "--process-id 0", "--processes 2 --coordinator 127.0.0.1:1 --process-id 2", "--neurons 4 --devices 5",
    "--neurons 100000000", "--frobnicate", "extra",
]  # fmt: skip


@pytest.mark.parametrize("options", BAD)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, options):
    check_one_line("cuba", main, options, tmp_path, monkeypatch, capsys)
