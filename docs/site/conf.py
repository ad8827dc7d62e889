"""Sphinx configuration of the documentation site (`scripts/docs --site`).

Sources are the Markdown pages below `docs/`. A link from a page to a file outside `docs/`, such as
a test or a program, is shown as the path of that file, because the site does not contain it. A link
to a file that does not exist is an error, as is a link to a heading that does not exist.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")

project = "Duolog"
author = "the Duolog developers"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site/**"]
root_doc = "index"
html_theme = "furo"
html_title = "Duolog"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_static_path: list[str] = []
myst_heading_anchors = 4
nitpicky = True
# Output of consoles is text, and the dialect of SQL is not one that Pygments knows.
suppress_warnings = ["misc.highlighting_failure"]


def _show_outside_files(_app: Sphinx, name: str, source: list[str]) -> None:
    """Replace links to files outside `docs/` by the paths of these files."""
    page = DOCS / f"{name}.md"

    def path_of(match: re.Match[str]) -> str:
        text, target, _ = match.groups()
        found = (page.parent / target).resolve()
        if found.is_relative_to(DOCS):
            return match.group()
        if not found.exists():
            raise SphinxError(f"{page}: the link to {target} leads nowhere")
        path = f"`{found.relative_to(ROOT)}`"
        return path if text.strip("`") in path else f"{text} ({path})"

    source[0] = _LINK.sub(path_of, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what this file adds to Sphinx."""
    app.connect("source-read", _show_outside_files)
    return {"parallel_read_safe": True}
