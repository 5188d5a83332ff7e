"""Sphinx configuration: Markdown through MyST, the furo theme, warnings as errors (`make docs`)."""

from importlib.metadata import version as installed_version

project = "negotiator"
author = "the negotiator contributors"
project_copyright = "the negotiator contributors, Apache-2.0"
release = installed_version("uaix-negotiator")
version = release

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "negotiator"
html_copy_source = False
html_show_sphinx = False
# Cedar and UAIX have no lexers: such blocks are shown as they are.
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]
