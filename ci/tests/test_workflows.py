"""Workflows run actions by commit, within a time, and for every distribution."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
HERE = "./.github/actions/prepare"


@pytest.mark.parametrize("path", [*WORKFLOWS, *GITHUB.glob("actions/*/action.yml")], ids=lambda p: p.name)
def test_an_action_is_named_by_its_commit_and_version(path):
    used = re.findall(r"uses: (.+)$", path.read_text(), flags=re.MULTILINE)
    assert used
    assert [line for line in used if line != HERE and not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_ends_and_may_only_read_unless_it_says_more(path):
    text = path.read_text()
    assert "\npermissions:\n  contents: read\n" in text
    assert "\nconcurrency:\n" in text
    jobs = re.split(r"^  (?=[a-z]+:$)", text.partition("\njobs:\n")[2], flags=re.MULTILINE)[1:]
    assert jobs
    assert [job.partition(":")[0] for job in jobs if "\n    timeout-minutes: " not in job] == []


def test_what_is_published_are_all_distributions_each_with_its_own_word():
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]["members"]
    projects = [tomllib.loads((ROOT / f / "pyproject.toml").read_text())["project"]["name"] for f in folders]
    _, published = (GITHUB / "workflows" / "release.yml").read_text().split("\n  rehearse:\n")
    jobs = published.split("\n  publish:\n")
    for job, index in zip(jobs, ("testpypi", "pypi"), strict=True):
        assert f"name: [{', '.join(projects)}]\n" in job
        assert f"    environment: {index}-${{{{ matrix.name }}}}\n" in job
        assert "      id-token: write" in job and "attestations: true" in job
    assert "if: startsWith(github.ref, 'refs/tags/v')" in jobs[1]
