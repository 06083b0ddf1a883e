"""The site's settings.

Sphinx, because its autodoc makes the reference of docstrings; MyST-NB, because its notebooks are text that
is executed when the site is built; Furo, because it reads well on a phone, and in the dark.
"""

import os
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import compress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

import root_pages

import event_ops_harness.report
import ffi_bridge


def answers(site: str) -> bool:
    """Return whether the inventory of a site is in reach."""
    try:
        with urllib.request.urlopen(f"{site}/objects.inv", timeout=5) as found:
            return bool(found.status == 200)
    except OSError:
        return False


BUILD = Path(__file__).parents[1] / "build"
CHARTS = Path(event_ops_harness.report.__file__).parent / "templates" / "charts.css"

# The same pages wherever they are built.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Notebooks show what cells print, not what libraries of C write: Warp remarks that there is no GPU.
profile = BUILD / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
profile.joinpath("ipython_kernel_config.py").write_text(
    "c = get_config()\nc.IPKernelApp.capture_fd_output = False\nc.IPKernelApp.log_level = 'ERROR'\n"
)
os.environ["IPYTHONDIR"] = str(profile.parent)

project = "event-ops"
author = copyright = "the contributors of event-ops"
version = release = ffi_bridge.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "docstrings",
    "operator_pages",
    "charts",
    "root_pages",
    "record_pages",
    "pictures",
    "notebooks",
    "executed",
    "completeness",
]
# Names of these libraries are links where their inventories are in reach; without a network they are code.
SITES = {
    "jax": "https://docs.jax.dev/en/latest",
    "numpy": "https://numpy.org/doc/stable",
    "numba": "https://numba.readthedocs.io/en/stable",
    "warp": "https://nvidia.github.io/warp",
}
with ThreadPoolExecutor(len(SITES)) as asked:  # where packets vanish, all wait at once
    reached = list(asked.map(answers, SITES.values()))
intersphinx_mapping = {name: (SITES[name], None) for name in compress(SITES, reached)}
if intersphinx_mapping:
    extensions.append("sphinx.ext.intersphinx")
exclude_patterns = ["README.md", "_ext", "paper"]
suppress_warnings: list[str] = []

# Notebooks: always executed, and anything unexpected is an error, since warnings are.
nb_execution_mode = os.environ.get("DOCS_EXECUTE", "cache")  # "off" is quick
nb_execution_cache_path = str(BUILD / "executed")
nb_execution_timeout = 1800  # seconds, for a cell that hangs: a busy machine may need minutes
nb_render_markdown_format = "myst"  # what a cell shows as Markdown may have tables
nb_output_stderr = "error"
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # nothing is loaded from a network

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say more: shapes, dtypes, units
autodoc_default_options = {"members": False}
smartquotes_action = "D"  # dashes, not quotes: "flags" is a string of Python
default_role = "py:obj"  # `name` is a link where the reference has that name, else code
napoleon_numpy_docstring = False
napoleon_use_param = False  # "grid, block: ..." are two arguments, not a type and one
napoleon_custom_sections = [("Outputs", "params_style")]
python_display_short_literal_types = True
add_module_names = False
# A reference that a page writes leads somewhere. Need not: code in single backticks, exceptions of other
# packages, prose that Napoleon takes for a property's type, and jax.Array by its name inside of jaxlib.
nitpicky = True
nitpick_ignore_regex = [("py:(obj|exc)", "(?s:.*)"), ("py:class", r".* .*|jax\.jaxlib\..*")]  # s: line breaks
viewcode_line_numbers = True

# The address of the repository, and that of the site as GitHub serves it from there.
repository = root_pages.repository()
owner, name = repository.rsplit("/", 2)[1:]
html_baseurl = f"https://{owner}.github.io/{name}/"

html_theme = "furo"
pygments_dark_style = "github-dark"  # every colour of it stands out by 4.5 or more
html_title = f"event-ops {release}"
html_static_path = ["_static", str(CHARTS)]
html_css_files = [CHARTS.name, "site.css"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_logo = html_favicon = "_static/logo.svg"
html_theme_options = {
    "source_repository": f"{repository}/",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_copy_source = False
html_show_sphinx = False


def setup(app: Any) -> None:
    """Make the links of 404.html begin at the root of the site: a server shows it at any address."""

    def from_root(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
        if pagename == "404":
            context["metatags"] += f'<base href="/{name}/">'

    app.connect("html-page-context", from_root)
