"""Which tools are registered, and how they are configured."""

from pathlib import Path

import jsonschema
import pytest

import executor_files

WRITERS = {"writeFile", "editFile", "deleteFile", "undoFileChange"}


class TestRegistration:
    def test_every_schema_is_strict_valid_and_describes_every_argument(self, tools):
        assert len(tools.registered) == 7
        for _, settings in tools.registered.values():
            schema = settings["schema"]
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["additionalProperties"] is False
            assert all(argument["description"] for argument in schema["properties"].values())
            assert settings["argument_kinds"] == {"path": "path"}

    def test_the_hints_tell_readers_from_writers(self, tools):
        for name, (_, settings) in tools.registered.items():
            assert settings["annotations"]["read_only"] is (name not in WRITERS)
            assert settings["annotations"]["destructive"] is (name in WRITERS)
        assert not tools.registered["editFile"][1]["annotations"]["idempotent"]

    def test_what_may_hang_has_a_time_limit_and_what_writes_has_none(self, tools):
        for name, (_, settings) in tools.registered.items():
            assert (settings.get("timeout") is None) is (name in WRITERS)


class TestConfiguration:
    @pytest.mark.parametrize(
        ("config", "problem"),
        [
            ({"rooot": "."}, "unknown key 'rooot': use root"),
            ({"root": 3}, "give the path"),
            ({"root": "/no/such/folder"}, "is not a folder"),
            ({"max_read_bytes": 0}, "from 1"),
            ({"max_read_bytes": True}, "from 1"),
            ({"max_read_bytes": "1"}, "from 1"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, config, problem):
        with pytest.raises(ValueError, match=problem):
            executor_files.FilesPlugin().executor_configure(config)

    def test_paths_outside_the_root_are_refused_however_they_are_written(self, here, configured):
        (here / "root").mkdir()
        (here / "root-2").mkdir()
        (here / "root-2" / "f").write_text("x")
        (here / "root" / "link").symlink_to(here / "root-2")
        tools = configured(root=str(here / "root"))
        for path in ("../root-2/f", here / "root-2" / "f", "link/f", "/etc/passwd", "~"):
            assert "outside" in tools.refuse("readFile", path)
            assert "outside" in tools.refuse("writeFile", path, content="")
            assert "outside" in tools.refuse("listFiles", path)
        assert "outside" in tools.refuse("deleteFile", "link/f")
        assert (here / "root-2" / "f").read_text() == "x"

    def test_relative_paths_start_at_the_root(self, here, configured):
        (here / "root").mkdir()
        tools = configured(root=here / "root")
        tools.writeFile("f", content="x")
        assert (here / "root" / "f").read_text() == "x"
        assert tools.listFiles()["path"] == str(here / "root")

    def test_a_link_inside_the_root_that_leads_out_can_be_deleted(self, here, configured):
        (here / "root").mkdir()
        (here / "root" / "link").symlink_to("/etc/passwd")
        assert configured(root=here / "root").deleteFile("link")["deleted"] == "link"
        assert Path("/etc/passwd").exists()

    def test_the_root_itself_is_not_deleted(self, here, configured):
        (here / "root").mkdir()
        assert "not deleted" in configured(root=here / "root").refuse("deleteFile", ".")
        assert (here / "root").is_dir()

    def test_max_read_bytes_bounds_what_can_be_asked_for(self, here, configured):
        (here / "f").write_text("12345\n12345\n")
        tools = configured(max_read_bytes=8)
        assert tools.readFile("f")["content"] == "12345\n"
        with pytest.raises(jsonschema.ValidationError):
            tools.readFile("f", max_bytes=9)
