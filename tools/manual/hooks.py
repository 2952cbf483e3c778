# SPDX-License-Identifier: Apache-2.0
"""Hooks of MkDocs: adds the generated pages to the manual, and to its navigation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[2]
# The sections of the navigation that list all pages of a folder.
FOLDERS = {
    "Commands": "commands",
    "C and C++ reference": "reference",
    "Locks": "locks",
    "Events": "events",
    "Studies": "studies",
    "Decisions": "decisions",
}
# Links to files of the repository that are not part of the manual.
OUTSIDE = re.compile(r"\]\((?:\.\./)+(?!docs/)([\w./-]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    sys.path.insert(0, str(Path(__file__).parent))
    import command_pages
    import header_pages

    for path, content in {**command_pages.pages(), **header_pages.reference()}.items():
        files.append(File.generated(config, path, content=content))
    config.nav = [_filled(entry, files) for entry in config.nav or ()]
    return files


def _filled(entry: Any, files: Files) -> Any:
    """Returns a section of the navigation with all pages of its folder."""
    if not isinstance(entry, dict):
        return entry
    ((title, value),) = entry.items()
    folder = FOLDERS.get(title)
    if folder is None:
        return entry
    paths = sorted(
        file.src_uri
        for file in files.documentation_pages()
        if file.src_uri.startswith(f"{folder}/") and file.src_uri not in (value or ())
    )
    return {title: [*(value or ()), *paths]}


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, **_: Any) -> str:
    """Turns links to other files of the repository into their names, which the manual has not."""
    return OUTSIDE.sub(lambda found: _named(found, page, config), markdown)


def _named(found: re.Match[str], page: Any, config: MkDocsConfig) -> str:
    base = Path(config.docs_dir) / Path(page.file.src_uri).parent
    target = (base / found[0][2:-1]).resolve()
    if not target.exists():
        raise ValueError(f"{page.file.src_uri}: the link {found[0][2:-1]} leads nowhere")
    if target.is_relative_to(Path(config.docs_dir).resolve()):
        return found[0]
    return f"] (`{target.relative_to(ROOT)}` of the repository)"
