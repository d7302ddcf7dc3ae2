"""Secrets of every known shape and place: no command stores one, and none writes one out, wherever it stands."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from executor.cli import cli
from executor.confine import _start
from executor.confine._choose import Trials

_spec = importlib.util.spec_from_file_location("mcp_secrets", Path(__file__).parents[1] / "mcp" / "test_secrets.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
SHAPES = _module.SHAPES
ENTRIES = {f"server-{number}": entry for number, (entry, _) in enumerate(SHAPES.values())}
SECRETS = sorted({secret for _, secret in SHAPES.values()}, key=len)
LOOKS = [
    ["mcp", "list"],
    ["mcp", "list", "--json"],
    ["tools", "list"],
    ["tools", "list", "--json"],
    ["plugins", "list", "--json"],
    ["config", "show"],
    ["config", "show", "--json"],
    ["doctor"],
    ["doctor", "--json"],
]


def is_plain(entry):
    """Whether an entry is made of what entries are made of: others are refused, and their secrets told nowhere."""
    texts = (str, int, float)
    return isinstance(entry.get("env", {}), dict) and all(isinstance(word, texts) for word in entry.get("args", ()))


def written_by(*words, stdin=""):
    result = CliRunner().invoke(cli, list(map(str, words)), input=stdin)
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit), result.exception
    return result.stdout + result.stderr


def told(text):
    return [secret for secret in SECRETS if secret in text]


def stored(folder):
    """The secrets that stand in any file below *folder*."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): told(path.read_bytes().decode("utf-8", "replace")) for path in files}


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Another assistant's file, with a server of every shape; none of them can be started or reached."""
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps({"mcpServers": ENTRIES}))
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    # What is found out of this machine's boxes without any program is not kept for the tests that follow.
    monkeypatch.setattr(_start, "trials", Trials(_start._try))
    assert told(path.read_text()) == SECRETS
    return path


def looks():
    """What all commands write that show servers, one after the other."""
    for words in LOOKS:
        yield words, written_by(*words)
    for name, entry in ENTRIES.items():
        yield ["get", name], written_by("mcp", "get", name) + written_by("mcp", "get", name, "--json")
        if "url" not in entry:
            yield ["test", name], written_by("mcp", "test", name)
            yield ["call", name], written_by("call", f"mcp__{name}__x", "--yes")


def test_an_import_of_every_shape_leaves_none_anywhere(theirs, own_folders):
    assert len(SHAPES) >= 60
    assert told(written_by("mcp", "import", theirs)) == []
    kept = json.loads((own_folders / "config" / "toolexec" / "mcp.json").read_text())["mcpServers"]
    assert set(kept) == {name for name, entry in ENTRIES.items() if is_plain(entry)}
    assert [(words, found) for words, text in looks() if (found := told(text))] == []
    assert not any(stored(own_folders).values())


def test_servers_of_a_file_that_has_them_in_the_clear_are_shown_without(theirs, own_folders):
    config = own_folders / "config" / "toolexec" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[plugins.mcp]\nfiles = [{json.dumps(str(theirs))}]\nlist_timeout = 0.1\n")
    assert [(words, found) for words, text in looks() if (found := told(text))] == []
    assert not any(stored(own_folders).values())


@pytest.mark.parametrize("shape", SHAPES)
def test_adding_one_in_the_clear_is_refused_without_quoting_it(shape, own_folders):
    entry, secret = SHAPES[shape]
    text = written_by("mcp", "add-json", "one", json.dumps(entry)) + written_by(
        "mcp", "add-json", "one", "-", stdin=json.dumps(entry)
    )
    if not is_plain(entry):
        assert text.count("error: one: ") == 2
        assert secret not in text
        return
    words = [word for name, value in entry.get("env", {}).items() for word in ("-e", f"{name}={value}")]
    words += [word for name, value in entry.get("headers", {}).items() for word in ("-H", f"{name}={value}")]
    words += ["--url", entry["url"]] if "url" in entry else ["--", entry["command"], *entry.get("args", ())]
    if set(entry) <= {"command", "args", "env", "url", "headers"}:
        text += written_by("mcp", "add", "one", *words)
    assert text.count("secret") >= 2
    assert secret not in text
    assert not any(stored(own_folders).values())
