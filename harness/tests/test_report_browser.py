"""The page in headless Chromium: wide and narrow, light and dark, without a network."""

import re
import shutil
import subprocess
from pathlib import Path

import matplotlib.image
import pytest
from report_results import write_all

from event_ops_harness.report.__main__ import RESULTS, main
from event_ops_harness.report.inputs import read

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# What only a browser knows, written into the document before it is dumped.
PROBE = """<script>
addEventListener("load", () => {
  const root = document.documentElement, panel = document.querySelector("details[id]:not([open])");
  root.dataset.overflow = root.scrollWidth - innerWidth;
  root.dataset.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.charts = [...document.querySelectorAll(".chart svg")].filter(x => x.clientWidth > 250).length;
  root.dataset.requests = performance.getEntriesByType("resource").length;
  location.hash = panel.id;
  root.dataset.target = document.querySelector(":target").id;
});
</script>"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the path"),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of this repository's results; those that it lacks are small ones."""
    folder = write_all(tmp_path_factory.mktemp("page"))
    for name in read(RESULTS).files:
        shutil.copy(RESULTS / f"{name}.json", folder)
    output = folder / "report.html"
    main(["--results", str(folder), "--output", str(output)])
    return output.read_text(encoding="utf-8")


def browse(page: Path, *flags: str) -> str:
    """Return what Chromium prints of the page."""
    profile = page.parent / "profile"
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_page_fits_the_screen_and_follows_its_colours(tmp_path: Path, source: str, width: int, dark: bool):
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(source.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    look = (f"--window-size={width},1600", f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    dom = browse(page, *look, "--dump-dom")
    found = dict(re.findall(r'data-(\w+)="([^"]*)"', dom.partition("<head>")[0]))
    assert int(found["overflow"]) <= 0
    assert found["dark"] == str(dark).lower()
    assert int(found["charts"]) >= 2
    assert int(found["requests"]) == 0
    assert f'id="{found["target"]}"' in dom
    for name in ("conformance", "catalog", "call", "cuba", "sources"):
        assert f'<section id="{name}"' in dom

    page.write_text(source, encoding="utf-8")
    browse(page, *look, f"--screenshot={picture}")
    pixels = matplotlib.image.imread(picture)[..., :3]
    assert pixels.shape == (1600, width, 3)
    assert (pixels.mean() < 0.3) if dark else (pixels.mean() > 0.8)
    assert pixels.std() > 0.03  # not blank
