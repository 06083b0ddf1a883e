from pathlib import Path

import pytest
from tagged import PACKAGES, UNPUBLISHED, main, problems

ADDRESS = "https://git.example/event-ops"


@pytest.fixture
def root(tmp_path):
    for package in PACKAGES:
        folder = tmp_path / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text('__version__ = "1.2.0"\n')
        (folder.parent / "README.md").write_text("Install it from the index.\n")
        (folder.parent / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{ADDRESS}"\n')
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/getting-started.md"):
        (tmp_path / page).write_text("It is on the index.\n")
    (tmp_path / "ci" / "conda").mkdir(parents=True)
    (tmp_path / "ci" / "conda" / "recipe.yaml").write_text('context:\n  version: "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - 2030-01-31\n")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\nlicense: Apache-2.0\n")
    return tmp_path


def test_a_tag_that_is_every_version_is_a_release(root):
    assert list(problems("v1.2.0", root, ADDRESS)) == []


def test_another_version_is_named(root):
    (root / PACKAGES[1] / "__init__.py").write_text('__version__ = "1.2.1"\n')
    assert list(problems("v1.2.0", root)) == [
        f"{PACKAGES[1]} has version 1.2.1; the tag is v1.2.0, expected v1.2.1"
    ]


def test_another_version_to_cite_is_named(root):
    (root / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.1.0\n")
    assert list(problems("v1.2.0", root)) == ["CITATION.cff has another version; expected 'version: 1.2.0'"]


def test_another_version_of_the_conda_packages_is_named(root):
    (root / "ci" / "conda" / "recipe.yaml").write_text('context:\n  version: "1.1.0"\n')
    (problem,) = problems("v1.2.0", root)
    assert problem == """ci/conda/recipe.yaml has another version; expected 'version: "1.2.0"'"""


def test_another_address_than_the_one_it_is_published_from_is_named(root):
    assert list(problems("v1.2.0", root, "https://git.example/fork")) == [
        f"{Path(package).parent}/pyproject.toml says {ADDRESS}; it is published from https://git.example/fork"
        for package in PACKAGES
    ]


def test_a_page_that_says_that_nothing_is_published_is_named(root):
    (root / "ops" / "README.md").write_text(f"These packages are {UNPUBLISHED}.\n")
    assert list(problems("v1.2.0", root)) == [
        "ops/README.md says 'not on the index yet': take the sentence out"
    ]


def test_a_changelog_without_a_day_is_named(root):
    (root / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - unreleased\n")
    (problem,) = problems("v1.2.0", root)
    assert problem.startswith("CHANGELOG.md has no heading '## [1.2.0] - YYYY-MM-DD'")


def test_this_repository_is_no_release_zero(capsys):
    assert main(["v0.0.0"]) == 1
    assert len(capsys.readouterr().out.splitlines()) >= len(PACKAGES) + 3
