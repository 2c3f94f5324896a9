"""Configuration of the documentation site: `make docs` builds it into build/site, and warnings are errors.

The source folder is the root of the repository, so that links from pages to examples, schemas and tests are those that a reader of the
repository follows.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from links import ROOT, pages  # noqa: E402

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = "Trialwise"
author = "the Trialwise authors"
version = release = _PROJECT["version"]
language = "en"
smartquotes = False
"""Options begin with two hyphens."""

extensions = ["myst_nb", "sphinx_copybutton", "mathml", "screens"]
root_doc = "docs/index"
include_patterns = [str(page.relative_to(ROOT)) for page in pages()]
exclude_patterns = [".*", "build", "target", "demo", "crates", "src", "tests", "fuzz", "docs/site"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "substitution", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"
nb_render_error_lexer = "text"

html_theme = "pydata_sphinx_theme"
html_title = "Trialwise"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra", str(ROOT / "build/extra")]
html_show_sourcelink = False
html_copy_source = False
templates_path = ["templates"]
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["version", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "search_bar_text": "Search",
}
html_math_renderer = "mathml"
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
pygments_style = "default"

OTHER_VERSIONS: list[dict[str, str]] = json.loads((HERE / "versions.json").read_text(encoding="utf-8"))
"""Other versions of these pages, newest first: `version` and `url`."""

myst_substitutions = {
    "version": version,
    "versions": "\n".join(f"- [{each['version']}]({each['url']})" for each in OTHER_VERSIONS)
    or "There are no pages of other versions.",
}


def setup(app: Sphinx) -> None:
    """Register the language of paths, which has no colours."""
    app.add_lexer("link", TextLexer)
