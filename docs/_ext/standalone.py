"""Write the chart of the README, `docs/headlines.svg`: `nox -s table`."""

import re
import sys
from pathlib import Path

from drawn_records import CHARTS

DOCS = Path(__file__).parents[1]
# As site.css has them: a file that another page shows has no styles but its own.
STYLE = """
svg { --ink: #1b1f24; --soft: #57606a; --rule: #dfe2e0; --behind: #f3f4f4; --c: #0b62a4; background: #fff; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6e9ec; --soft: #a2abb4; --rule: #3a424a; --behind: #1c2227; --c: #6cb6ff; background: #111; }
}
text { fill: var(--ink); font: 12px sans-serif; } .small { fill: var(--soft); } .head { font-weight: 600; }
path { fill: var(--c); } line { stroke: var(--c); stroke-width: 2; stroke-opacity: 0.45; }
.tick { stroke: var(--rule); stroke-width: 1; stroke-opacity: 1; } .behind { fill: var(--behind); }
.one { stroke: var(--ink); stroke-width: 1.5; stroke-opacity: 1; }
"""


def headlines() -> str:
    """Return the chart with styles for light and dark, which a page that shows it as an image lacks."""
    wide, _ = re.findall(r"<svg.*?</svg>", CHARTS["headlines"]().svg)
    named = wide.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return named.replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def main() -> int:
    """Write the file."""
    (DOCS / "headlines.svg").write_text(headlines(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
