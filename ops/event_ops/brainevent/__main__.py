"""`python -m event_ops.brainevent program.py ...` runs a program of BrainEvent's on this catalog."""

import runpy
import sys

from event_ops.brainevent import explain, install


def main(words: list[str]) -> None:
    """Install, and run the program that the first word names with the rest of them; without one, explain."""
    install()
    if not words:
        print(explain())
        return
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
