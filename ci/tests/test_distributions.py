import re
import tomllib
from pathlib import Path

import matrix
import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]["members"]
ALONE = "packages/ptx-on-cpu"  # knows neither JAX nor the others, and has one toolchain
EXTRAS = {"numba", "cuda12", "cuda13", "warp", "export", "enzyme", "all"}


def project(folder):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_distribution_carries_the_licence_and_a_readme(folder):
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (ROOT / folder / "README.md").read_text().startswith(f"# {project(folder)['name']}\n")


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != ALONE])
def test_distribution_has_every_extra(folder):
    assert set(project(folder)["optional-dependencies"]) >= EXTRAS


@pytest.mark.parametrize("folder", FOLDERS)
def test_package_is_typed(folder):
    package = project(folder)["name"].replace("-", "_")
    assert (ROOT / folder / package / "py.typed").is_file()
    assert "Typing :: Typed" in project(folder)["classifiers"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_distribution_says_whose_it_is_and_which_pythons_ci_runs(folder):
    first = project(FOLDERS[0])
    for key in ("authors", "urls", "license", "requires-python"):
        assert project(folder)[key] == first[key]
    prefix = "Programming Language :: Python :: "
    pythons = [c.removeprefix(prefix) for c in project(folder)["classifiers"] if c.startswith(prefix)]
    assert pythons == sorted({row["python"] for row in matrix.rows()})


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_sdist_is_made_without_what_git_ignores(folder):
    build = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    hook = ROOT / folder / build["targets"]["sdist"]["hooks"]["custom"]["path"]
    assert hook.resolve() == ROOT / "ci" / "tools" / "sdist.py"


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_conda_package_has_the_same_bounds(folder):
    name = project(folder)["name"]
    recipe = (ROOT / "ci" / "conda" / "recipe.yaml").read_text()
    (package,) = [text for text in recipe.split("  - package:\n") if text.startswith(f"      name: {name}\n")]
    for dependency in project(folder)["dependencies"]:
        other, bounds = re.fullmatch(r"([a-z0-9-]+)(>=.+)", dependency).groups()
        pinned = f'pin_subpackage("{other}"' in package
        bounded = re.search(rf"- {other}(-base)? {re.escape(bounds)}\n", package)
        assert pinned or bounded, f"ci/conda/recipe.yaml, {name}: no {other} {bounds}"


def test_the_versions_are_one():
    sources = [
        ROOT / folder / project(folder)["name"].replace("-", "_") / "__init__.py" for folder in FOLDERS
    ]
    version = re.compile(r'^__version__ = "(.+)"$', flags=re.MULTILINE)
    assert len({version.search(path.read_text())[1] for path in sources}) == 1
