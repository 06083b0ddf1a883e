"""Look at a built site: every link and reference leads somewhere, and nothing is loaded from a network."""

import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {("script", "src"), ("link", "href"), ("img", "src"), ("source", "src"), ("iframe", "src")}
ROLES = ("py-func", "py-class", "py-mod", "py-meth")  # of references that a page writes itself


@dataclass
class Page(HTMLParser):
    """Gather the links of a page, the places in it, and its references that found nothing."""

    links: list[tuple[str, str]] = field(default_factory=list)  # (tag, address)
    ids: set[str] = field(default_factory=set)
    unresolved: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)
    _role: str | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Gather addresses and ids."""
        attributes = {name: value or "" for name, value in attrs}
        if "id" in attributes:
            self.ids.add(attributes["id"])
        for name in ("href", "src"):
            if name in attributes:
                self.links.append((tag, attributes[name]))
        classes = attributes.get("class", "").split()
        if tag == "code" and "xref" in classes and "a" not in self._open:
            self._role = next((role for role in ROLES if role in classes), None)
        if tag in ("a", "code"):
            self._open.append(tag)

    def handle_data(self, data: str) -> None:
        """Note the name in a reference, unless it is a builtin of Python."""
        if self._role and not hasattr(builtins, data):
            self.unresolved.append(f"{data} by {self._role}")
        self._role = None

    def handle_endtag(self, tag: str) -> None:
        """Leave a link."""
        if tag in self._open:
            self._open.remove(tag)


def problems(site: Path) -> Iterator[str]:
    """A line for everything that is wrong."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site} holds no pages: build it by `nox -s docs`"
    for path, page in pages.items():
        name = path.relative_to(site)
        for reference in page.unresolved:
            yield f"{name}: the reference to {reference} finds nothing"
        for tag, address in page.links:
            if problem := _problem(tag, address, path, pages):
                yield f"{name}: {address} {problem}"


def read(path: Path) -> Page:
    """Parse a page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _problem(tag: str, address: str, path: Path, pages: dict[Path, Page]) -> str | None:
    url = urlsplit(address)
    if url.scheme == "data":
        return None
    if url.scheme or url.netloc:
        loads = any(tag == name for name, _ in LOADING)
        return "is loaded from a network" if loads else None
    target = (path.parent / unquote(url.path)).resolve() if url.path else path
    if not target.is_file():
        return "is not there"
    anchor = unquote(url.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return "has no such place"
    return None


def main(argv: list[str]) -> int:
    """Print the problems; return 1 if there are any."""
    site = Path(argv[0]).resolve()
    faults = list(problems(site))
    print("\n".join(faults) or f"{site.name}: every link leads somewhere")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
