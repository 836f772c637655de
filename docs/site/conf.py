"""Sphinx's configuration."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import tracejit
from docs.site import docstrings

project = "tracejit"
author = copyright = "The tracejit authors"
version = release = tracejit.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"tracejit {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = html_copy_source = False
templates_path = []
exclude_patterns = ["**/_*"]
pygments_style, pygments_dark_style = "friendly", "monokai"
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

# `name` in docstrings is a parameter or a function: it becomes a link where there is such a name
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
napoleon_google_docstring, napoleon_numpy_docstring = True, False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
# the IR and machine code are no language that Pygments knows
myst_fence_as_directive = []
highlight_language = "text"
# a notebook that raises fails the build
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nb_execution_show_tb = True


def setup(app):
    """Docstrings are read as ``docstrings.py`` has them."""
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)  # before napoleon
