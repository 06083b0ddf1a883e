"""Do a chapter's misuses, all or those named: `python misuse_in_child.py CHAPTER [NAME ...]`.

A line says that one begins, and another what came of it: where the process dies in between, the last name is
the culprit's.
"""

import importlib
import json
import sys

from misuse import Misuse

BEGINS = "misuse begins: "
ENDED = "misuse ended: "


def _do(case: Misuse) -> None:
    print(BEGINS + case.name, flush=True)
    print(ENDED + json.dumps([case.name, case.problem()]), flush=True)


if __name__ == "__main__":
    chapter, *names = sys.argv[1:]
    for case in importlib.import_module(chapter).CASES:
        if not names or case.name in names:
            _do(case)
