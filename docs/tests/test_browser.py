"""The built site in headless Chromium: wide and narrow, light and dark, without a network."""

import re
import shutil
import subprocess
from pathlib import Path

import matplotlib.image
import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
PICTURES = ROOT / "build" / "screenshots"  # to be looked at
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# What only a browser knows, written into the document before it is dumped.
PROBE = """<script>
addEventListener("load", () => {
  const root = document.documentElement;
  root.dataset.overflow = root.scrollWidth - innerWidth;
  const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g);
  root.dataset.light = (Number(r) + Number(g) + Number(b)) / 765;
  const loaded = performance.getEntriesByType("resource");
  root.dataset.outside = loaded.filter(x => x.name.startsWith("http")).length;
  root.dataset.broken = [...document.images].filter(x => x.complete && x.naturalWidth == 0).length;
});
</script>"""
PAGES = {
    "front": "index.html",
    "tutorial": "tutorials/spiking-network.html",
    "operator": "reference/operators/csr_event_matvec.html",
    "network": "how-to/microcircuit.html",
    "drawing": "explanation/call-path.html",
    "charts": "project/measured.html",
    "gallery": "gallery.html",
    "records": "project/records/catalog.html",
    "gpu": "project/gpu.html",
    "changelog": "project/changelog.html",
    "guide": "how-to/run-a-network.html",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the path"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="build/docs is not there: run nox -s docs"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, whose pages have the probe."""
    copy = tmp_path_factory.mktemp("site") / "docs"
    shutil.copytree(SITE, copy)
    for name in PAGES.values():
        page = copy / name
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    return copy


def browse(address: str, profile: Path, *flags: str) -> str:
    """What Chromium prints of the page."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("page", PAGES)
def test_page_fits_the_screen_and_follows_its_colours(
    tmp_path: Path, site: Path, page: str, width: int, dark: bool
):
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"{page}-{'phone' if width < 600 else 'desktop'}-{'dark' if dark else 'light'}.png"
    picture.unlink(missing_ok=True)
    look = (f"--window-size={width},1600", f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    wanted = ("--virtual-time-budget=5000", "--dump-dom", f"--screenshot={picture}")
    document = browse((site / PAGES[page]).as_uri(), tmp_path, *look, *wanted)
    probed = dict(re.findall(r'data-(\w+)="([^"]*)"', document.partition(">")[2].partition(">")[0]))
    assert int(probed["overflow"]) <= 0
    assert (float(probed["light"]) < 0.3) == dark
    assert (probed["outside"], probed["broken"]) == ("0", "0")
    assert matplotlib.image.imread(picture).std() > 0.02


@pytest.mark.parametrize(("asked", "found"), [("spike_compact", "spike_compact"), ("spmv", "csr_matvec")])
def test_search_works_without_a_server(tmp_path: Path, site: Path, asked: str, found: str):
    address = f"{(site / 'search.html').as_uri()}?q={asked}"
    document = browse(address, tmp_path, "--virtual-time-budget=20000", "--dump-dom")
    assert f"reference/operators/{found}.html" in document
