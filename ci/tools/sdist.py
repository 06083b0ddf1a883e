"""Leave `.gitignore` out of sdists: a build hook of Hatch.

Hatch puts the `.gitignore` that it finds, here that of the whole repository, into every sdist, whatever
`exclude` says: a wheel that is built from the sdist is to lack the same files. Ours name their packages, and
caches of Python are never part of a wheel, so that nothing needs it there.

Only the target `sdist` names this hook: who builds a wheel from an sdist does not have this file.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WithoutGitignore(BuildHookInterface):
    """Drop `.gitignore` from the files that are always included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Remove it from `build_data`, which Hatch reads next."""
        included = build_data["force_include"]
        build_data["force_include"] = {path: name for path, name in included.items() if name != ".gitignore"}
