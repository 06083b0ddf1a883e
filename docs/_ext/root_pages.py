"""Copy files of the repository's root as pages, with the links between them.

They are written to `project` before Sphinx reads its sources, and are not part of git.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CITATION = "CITATION.cff"
PAGES = {
    "SECURITY.md": "promises.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
# The README is no page of the site: a guide has what this link leads to.
ELSEWHERE = {"README.md#add-an-operator": "../how-to/add-an-operator.md"}


def setup(app: Any) -> dict[str, bool]:
    """Write the pages first."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "project"))
    return {"parallel_read_safe": True}


def write(folder: Path) -> None:
    """Write the pages that have changed."""
    for file, page in PAGES.items():
        write_changed(folder / page, linked((ROOT / file).read_text(encoding="utf-8")))
    write_changed(folder / "cite.md", cite((ROOT / CITATION).read_text(encoding="utf-8")))


def fields_of(text: str) -> dict[str, str]:
    """Return the plain fields of a file in the Citation File Format."""
    return dict(re.findall(r"^([\w-]+): \"?(.*?)\"?$", text, re.MULTILINE))


def repository() -> str:
    """Return the address of the repository."""
    return fields_of((ROOT / CITATION).read_text(encoding="utf-8"))["repository-code"]


def cite(text: str) -> str:
    """Return the page that says how to cite, of a file in the Citation File Format."""
    fields = fields_of(text)
    authors = " and ".join(f"{{{name}}}" for name in re.findall(r"^  - name: (.*)$", text, re.MULTILINE))
    named = {"title": fields["title"], "author": authors, "version": fields["version"]}
    lines = ["@software{event_ops,", *(f"  {name} = {{{value}}}," for name, value in named.items()), "}"]
    blocks = ["# Cite", fields["message"], _block("bibtex", "\n".join(lines)), "As a citation file:"]
    return "\n\n".join([*blocks, _block("yaml", text.rstrip())]) + "\n"


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def write_changed(path: Path, text: str) -> None:
    """Write a page unless it is as it was: Sphinx reads pages anew that have another time."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Write a folder of pages, by name, and remove pages that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        write_changed(folder / f"{name}.md", text)


def linked(text: str) -> str:
    """Return text whose links between files of the root are links between pages."""
    for file, page in (PAGES | ELSEWHERE).items():
        text = text.replace(f"]({file})", f"]({page})")
    return text
