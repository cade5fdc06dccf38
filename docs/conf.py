"""Configuration of the site: `make docs` builds it."""

import re
import sys
from pathlib import Path

import skspc

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))  # for story_order

project = "skspc"
author = "The skspc developers"
copyright = "the skspc developers"
version = release = skspc.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "**.ipynb", "gallery/*.py", "sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
suppress_warnings = ["config.cache"]

# The API reference
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings tell types
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"
numpydoc_xref_param_type = False

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The gallery: `make docs GALLERY=trust` runs the examples whose path has that in it
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "story_order.StoryOrder",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
}

# The look of it
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["skspc.css"]
html_title = "skspc"
html_sourcelink_suffix = ""
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "skspc"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "changelog": [], "contributing": [], "results": [], "getting_started": []}


def link_to_gallery(app, name, source):
    """Pages link to the scripts of examples, so that a checkout can be read; on the site, to what was made of them."""
    text = source[0].replace("](../examples/GALLERY_HEADER.rst)", "](gallery/index.rst)")
    source[0] = re.sub(r"\]\(\.\./examples/(plot_\w+)\.py\)", r"](gallery/\1.rst)", text)


def setup(app):
    app.connect("source-read", link_to_gallery)
