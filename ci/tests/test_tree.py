import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def drawn(text):
    """The folders of the tree in CONTRIBUTING.md, from the root of the repository."""
    tree, open_folders = set(), []
    for line in re.search(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1].splitlines():
        indent, name = re.match(r"( *)(\S+)  +\S", line).groups()
        open_folders = [*open_folders[: len(indent) // 4], name.rstrip("/")]
        if name.endswith("/"):
            tree.add(Path(*open_folders))
    return tree


def rooms():
    """The folders of packages; an operator's are drawn as one, the catalog."""
    roots = (
        ROOT / "packages/ptx-on-cpu/ptx_on_cpu",
        ROOT / "packages/ffi-bridge/ffi_bridge",
        ROOT / "ops/event_ops",
        ROOT / "harness/event_ops_harness",
    )
    found = {path.parent.relative_to(ROOT) for root in roots for path in root.rglob("__init__.py")}
    return {path for path in found if path.parent.name != "catalog"}


def test_contributing_draws_every_room_with_a_line_about_it():
    others = {Path(name) for name in (".github", "ci", "docs", "docs/paper")}
    assert drawn((ROOT / "CONTRIBUTING.md").read_text()) - others == rooms()
