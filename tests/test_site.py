"""The pages are linked and in the navigation; what they name is there. `.ci/run` builds the site itself, strictly."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONFIG = yaml.safe_load((DOCS / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
READ = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *sorted(DOCS.glob("*.md"))]


def in_navigation(entries):
    for entry in entries:
        for where in entry.values() if isinstance(entry, dict) else [entry]:
            yield from in_navigation(where) if isinstance(where, list) else [where]


def links(path):
    """Where the links of a page lead that are no addresses, and the anchor of each."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)", text)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_in_the_navigation_once_and_linked_from_the_readme():
    assert sorted(in_navigation(CONFIG["nav"])) == sorted(["index.md", "changelog.md", *PAGES])
    assert {f"docs/{page}" for page in PAGES} <= {target for target, _ in links(ROOT / "README.md")}


def test_the_build_is_strict_about_every_kind_of_link():
    assert CONFIG["strict"] is True
    assert set(CONFIG["validation"].values()) == {"warn"}
    assert set(CONFIG["validation"]) == {
        "omitted_files", "absolute_links", "unrecognized_links", "anchors", "not_found",
    }  # fmt: skip


@pytest.mark.parametrize("page", READ, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    for target, anchor in links(page):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), (target, anchor)


def test_every_figure_is_shown_on_a_page():
    shown = {target for page in READ for target, _ in links(page)}
    assert {path.name for path in DOCS.glob("*.svg")} <= shown


class Files:
    """What mkdocs has found, for a hook that asks for pages by name."""

    def get_file_from_path(self, name):
        return name if name in {"index.md", "changelog.md", *PAGES} else None


@pytest.mark.parametrize(
    ("page", "written", "shown"),
    [
        ("index.md", "docs/tasks.md#states", "tasks.md#states"),
        ("index.md", "plugins/executor_echo/__init__.py", "{repository}/blob/main/plugins/executor_echo/__init__.py"),
        ("changelog.md", "docs/stability.md", "stability.md"),
        ("tasks.md", "permissions.md", "permissions.md"),
        ("tasks.md", "../README.md", "index.md"),
        ("tasks.md", "../executor/hookspecs.py", "{repository}/blob/main/executor/hookspecs.py"),
        ("tasks.md", "examples/web_chat.py", "{repository}/blob/main/docs/examples/web_chat.py"),
        ("tasks.md", "#states", "#states"),
        ("tasks.md", "https://example.org/x.md#y", "https://example.org/x.md#y"),
        ("tasks.md", "missing.md", "missing.md"),  # which the strict build refuses
    ],
)
def test_a_link_leads_to_the_page_or_else_into_the_repository(page, written, shown):
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    hooks = runpy.run_path(str(DOCS / "site_hooks.py"))
    given = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    made = hooks["on_page_markdown"](f"see [this]({written}).", page=given, config=None, files=Files())
    assert made == f"see [this]({shown.format(repository=hooks['REPOSITORY'])})."


def test_a_bar_within_code_in_a_table_has_no_escape_on_the_site():
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    hooks = runpy.run_path(str(DOCS / "site_hooks.py"))
    given = SimpleNamespace(file=SimpleNamespace(src_uri="cli.md"))
    text = "| `a\\|b` | c \\| `d\\|e` |\n\nno table: `a\\|b`"
    made = hooks["on_page_markdown"](text, page=given, config=None, files=Files())
    assert made == "| `a|b` | c \\| `d|e` |\n\nno table: `a\\|b`"


def test_the_reference_has_every_public_name_once():
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    hooks = runpy.run_path(str(DOCS / "site_hooks.py"))
    pages = dict(hooks["reference"]())
    assert set(pages) >= {"executor", "executor.hookspecs", "executor.run", "executor_permissions"}
    shown = re.findall(r"^::: (.*)$", "\n".join(pages.values()), re.MULTILINE)
    assert len(shown) == len(set(shown)) > 150
    for module, names in hooks["public_modules"]().items():
        for name in names:
            assert re.search(
                rf"^::: {module.__name__}\.{name}$|\[`{name}`\]", pages[module.__name__], re.MULTILINE
            ) or (isinstance(getattr(module, name), ModuleType)), (module, name)
