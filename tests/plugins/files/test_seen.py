"""Images and PDFs are shown to the model as they are."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from executor import Image, PluginRegistry, Resource, ToolCall, ToolExecutor, models
from executor_files import _seen

FILES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 30,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 30,
    "image/gif": b"GIF89a" + b"\0" * 30,
    "image/webp": b"RIFF\x1e\0\0\0WEBPVP8 " + b"\0" * 18,
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
}


@pytest.mark.parametrize("kind", FILES)
def test_it_is_a_block_of_the_result(here, tools, kind):
    (here / "whatever it is called").write_bytes(FILES[kind])
    result = tools.readFile("whatever it is called")
    assert (result["type"], result["size"]) == (kind, len(FILES[kind]))
    block = result["content"]
    assert isinstance(block, Resource if kind == "application/pdf" else Image)
    assert (block.mime_type, block.raw) == (kind, FILES[kind])


@pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF....WAVE", b"%PD", b"\x89PN text"])
def test_what_only_looks_a_little_like_it_is_none(data):
    assert _seen.media_type(data) is None


def test_what_is_too_large_is_refused(here, tools, monkeypatch):
    (here / "f.png").write_bytes(FILES["image/png"])
    monkeypatch.setattr(_seen, "MAX_SEEN", 20)
    assert "up to 20 are shown: make a smaller copy" in tools.refuse("readFile", "f.png")


@pytest.mark.parametrize(
    ("form", "name", "carried"),
    [
        ("anthropic", "f.png", '"type": "image"'),
        ("openai-chat", "f.png", '"type": "image_url"'),
        ("ollama", "f.png", '"images"'),
        ("anthropic", "f.pdf", "application/pdf"),
        ("ollama", "f.pdf", "f.pdf"),
    ],
)
def test_the_model_is_shown_it_or_told_of_it(here, form, name, carried):
    (here / "f.png").write_bytes(FILES["image/png"])
    (here / "f.pdf").write_bytes(FILES["application/pdf"])
    registry = PluginRegistry(entry_points=False)
    registry.discover()
    registry.expose("files")
    with ToolExecutor(registry=registry) as executor:
        result = executor.call(ToolCall("1", "readFile", {"path": name}))
    used = {"type": "tool_use", "id": "1", "name": "readFile", "input": {}}
    called = {"id": "1", "type": "function", "function": {"name": "readFile", "arguments": "{}"}}
    replies = {
        "anthropic": {"role": "assistant", "content": [used]},
        "openai-chat": {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [called]}}]},
        "ollama": {"message": {"role": "assistant", "tool_calls": [called]}},
    }
    request = models.read(replies[form], form)
    answers = request.answer([replace(result, call_id=request.calls[0].id)])
    assert carried in json.dumps(answers)
