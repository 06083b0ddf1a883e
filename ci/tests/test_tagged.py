import pytest
from tagged import PACKAGES, main, problems


@pytest.fixture
def root(tmp_path):
    for package in PACKAGES:
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - 2030-01-31\n")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\nlicense: Apache-2.0\n")
    return tmp_path


def test_a_tag_that_is_every_version_is_a_release(root):
    assert list(problems("v1.2.0", root)) == []


def test_another_version_is_named(root):
    (root / PACKAGES[1] / "__init__.py").write_text('__version__ = "1.2.1"\n')
    assert list(problems("v1.2.0", root)) == [
        f"{PACKAGES[1]} has version 1.2.1; the tag is v1.2.0, expected v1.2.1"
    ]


def test_another_version_to_cite_is_named(root):
    (root / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.1.0\n")
    assert list(problems("v1.2.0", root)) == ["CITATION.cff has another version; expected 'version: 1.2.0'"]


def test_a_changelog_without_a_day_is_named(root):
    (root / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - unreleased\n")
    (problem,) = problems("v1.2.0", root)
    assert problem.startswith("CHANGELOG.md has no heading '## [1.2.0] - YYYY-MM-DD'")


def test_this_repository_is_no_release_zero(capsys):
    assert main(["v0.0.0"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == len(PACKAGES) + 2
