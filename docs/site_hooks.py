# ruff: noqa: INP001 -- loaded by mkdocs, in no package
"""
What makes a site of the pages: those that lie beside mkdocs.yml, the README, the changelog, and the reference.

A link in a page is written for who reads it in the repository. Here one to a page goes to that page, and one to any
other file to the repository.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import posixpath
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

import executor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
ROOT = DOCS.parent
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
CODE_IN_TABLE = re.compile(r"^\|.*`.*$", re.MULTILINE)
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def public_modules() -> dict[ModuleType, list[str]]:
    """The modules without an underscore, ``executor`` first, and the names that are public in each."""
    names = ["executor", *(f"executor.{found.name}" for found in pkgutil.iter_modules(executor.__path__))]
    names.append("executor_permissions")  # of the bundled plugins the one that programs import
    modules = [importlib.import_module(name) for name in names if not name.rpartition(".")[2].startswith("_")]
    return {module: public for module in modules if (public := public_names(module))}


def public_names(module: ModuleType) -> list[str]:
    """What the module lists, or, where it has no list, what is its own and begins with no underscore."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", None) or (name for name in own if not name.startswith("_")))


def reference() -> Iterator[tuple[str, str]]:
    """
    Of each module its name and its page: what it is for, then its names, for mkdocstrings to fill in the docstrings.

    What an earlier page has is only named, with a link.
    """
    told: dict[int, str] = {}
    for module, names in public_modules().items():
        values = {name: getattr(module, name) for name in names}
        elsewhere = {name: told[id(value)] for name, value in values.items() if id(value) in told}
        parts = [f"# {module.__name__}", inspect.cleandoc(module.__doc__ or "")]
        if elsewhere:
            parts.append("Also here: " + ", ".join(f"[`{name}`]({page}.md)" for name, page in elsewhere.items()) + ".")
        for name, value in values.items():
            if name not in elsewhere and not inspect.ismodule(value):
                told[id(value)] = module.__name__
                parts.append(f"::: {module.__name__}.{name}")
        yield module.__name__, "\n\n".join(parts) + "\n"


def on_config(config: MkDocsConfig) -> None:
    """The reference stands in the navigation, and the repository beside it."""
    config.repo_url, config.repo_name = REPOSITORY, "/".join(REPOSITORY.split("/")[-2:])
    config.edit_uri = ""
    config.nav.append({"Reference": [{each.__name__: f"reference/{each.__name__}.md"} for each in public_modules()]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add what lies elsewhere."""
    for path in sorted([*DOCS.glob("*.md"), *DOCS.glob("*.svg")]):
        files.append(File(path.name, str(DOCS), config.site_dir, config.use_directory_urls))
    for source, page in MOVED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for module, text in reference():
        files.append(File.generated(config, f"reference/{module}.md", content=text))


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """The text of a page with its links as they are on the site."""
    if page.file.src_uri.startswith("reference/"):
        return markdown
    here = {there: source for source, there in MOVED.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(found: re.Match[str]) -> str:
        before, target, anchor, after = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        there = MOVED.get(place, place.removeprefix("docs/"))
        if files.get_file_from_path(there) is None and (ROOT / place).exists():
            there = f"{REPOSITORY}/blob/main/{place}"
        return f"{before}{there}{anchor or ''}{after}"

    return CODE_IN_TABLE.sub(bare, LINK.sub(link, markdown))


def bare(row: re.Match[str]) -> str:
    """A row of a table: GitHub wants a bar within code to be escaped, and Python-Markdown would show the escape."""
    return re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0])
