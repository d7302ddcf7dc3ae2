"""The configuration file: where it is, what may stand in it, and what it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def configure(tmp_path, monkeypatch):
    """Make *text* the configuration. Returns the file."""

    def write(text):
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.setenv("TOOLEXEC_CONFIG", str(path))
        return path

    return write


def test_path_is_in_the_users_configuration_folder(run, run_json, own_folders):
    expected = own_folders / "config" / "toolexec" / "config.toml"
    assert run("config", "path").stdout == f"{expected}\n"
    assert run_json("config", "path") == {"path": str(expected), "exists": False}


def test_environment_names_another_file(run, configure):
    path = configure("")
    assert run("config", "path").stdout == f"{path}\n"


def test_without_a_file_everything_has_its_default(run_json):
    told = run_json("config", "show")
    assert told["exists"] is False
    assert {row["source"] for row in told["settings"].values()} == {"default"}


def test_show_says_where_each_value_comes_from(run_json, configure, monkeypatch):
    path = configure('ledger = "l.jsonl"\n[plugins]\nblocked = ["echo"]\n[plugins.shell]\nthreshold = 30.0\n')
    monkeypatch.setenv("TOOLEXEC_BLOCK_PLUGINS", "files")
    settings = run_json("config", "show")["settings"]
    assert settings["ledger"] == {"value": str(path.parent / "l.jsonl"), "source": "file"}
    assert settings["plugins.blocked"] == {"value": ["echo"], "source": "file"}
    assert settings["plugins.shell.threshold"] == {"value": 30.0, "source": "file"}
    assert settings["max_background_tasks"] == {"value": 64, "source": "default"}
    assert settings["TOOLEXEC_BLOCK_PLUGINS"] == {"value": "files", "source": "environment"}


def test_show_masks_secrets(run, configure):
    configure('[plugins.weather]\napi_key = "s3cret"\n[plugins.weather.deep]\npassword = "s3cret"\nurl = "u"\n')
    for words in (["config", "show"], ["config", "show", "--json"]):
        result = run(*words)
        assert result.exit_code == 0
        assert "s3cret" not in result.output
        assert "***" in result.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = \n", "line 2"),
        ("defualt_timeout = 1\n", "defualt_timeout"),
        ("default_timeout = '1'\n", "default_timeout"),
        ("default_timeout = 0\n", "default_timeout"),
        ("default_timeout = true\n", "default_timeout"),
        ("default_timeout = inf\n", "default_timeout"),
        ("max_background_tasks = 1.5\n", "max_background_tasks"),
        ("max_background_tasks = 0\n", "max_background_tasks"),
        ("ledger = 1\n", "ledger"),
        ("ledger = ''\n", "ledger"),
        ('ledger = "a\\u0000b"\n', "ledger"),
        ("plugins = 1\n", "plugins"),
        ("[plugins]\nblocked = 'echo'\n", "plugins.blocked"),
        ("[plugins]\nblocked = [1]\n", "plugins.blocked"),
        ("[plugins]\nshell = 1\n", "[plugins.shell]"),
        ("[plugins]\nblokced = ['echo']\n", "the one setting beside these is blocked"),
        ("tools = 1\n", "[tools.NAME]"),
        ("[tools]\necho = 1\n", "[tools.echo]"),
        ("[tools.echo]\nspeed = 1\n", "tools.echo.speed: there is no such setting: use timeout"),
        ("[tools.echo]\ntimeout = 0\n", "tools.echo.timeout: timeout is 0"),
        ("[tools.echo]\ntimeout = true\n", "tools.echo.timeout: "),
        ("[tools.echo]\nauto_background = -1\n", "tools.echo.auto_background: "),
        ("[tools.echo]\nauto_background = inf\n", "tools.echo.auto_background: "),
        ("[tools.echo]\nmax_concurrent = 0\n", "tools.echo.max_concurrent: "),
        ("[tools.echo]\nmax_concurrent = 1.5\n", "tools.echo.max_concurrent: "),
        ("[tools.echo]\nrate = '5/year'\n", "tools.echo.rate: "),
        ("[tools.echo]\nrate = 5\n", "tools.echo.rate: "),
        ("[tools.echo]\nresources = 'file:{path}'\n", "tools.echo.resources: "),
        ("[tools.echo]\nresources = ['']\n", "tools.echo.resources: "),
        ("[tools.echo]\nresources = ['file:{path']\n", "tools.echo.resources: "),
        ("[tools.echo]\nresources = ['file:{path.name}']\n", "tools.echo.resources: "),
        ("[tools.echo]\nresources = ['file:{}']\n", "tools.echo.resources: "),
        ("engine = 1\n", "[engine]"),
        ("[engine]\nspeed = 1\n", "engine.speed: there is no such setting: use name"),
        ("[engine]\nname = 'ray'\n", "engine.name: "),
        ("[engine]\nname = 'dask'\n", "engine.address: "),
        ("[engine]\naddress = 1\n", "engine.address: "),
        ("[engine]\naddress = 'tcp://10.0.0.1:8786'\n", "engine.address: "),
        ("[engine]\naddress = 'tls://s:8786'\n", "engine.ca: "),
        ("[engine]\naddress = 'tls://s:8786'\nca = 'no.pem'\n", "engine.ca: "),
        ("[engine]\naddress = 'tcp://127.0.0.1:1'\ninsecure = 'yes'\n", "engine.insecure: "),
        ("[engine]\naddress = 'tcp://10.0.0.1:1'\n", "set 'insecure' to true"),
        (b"\xff = 1\n", "not UTF-8"),
        ("ledger = " + "[" * 5000, "nested too deep"),
    ],
)
def test_mistake_ends_every_command_that_needs_it_with_2_and_names_file_and_key(run, configure, text, said):
    path = configure(text)
    for words in (["config", "show"], ["tools", "list"], ["call", "echo", "text=a"]):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(path) in result.stderr
        assert said in result.stderr


def test_mistake_is_one_object_with_json(run, configure):
    path = configure("ledger = 1\n")
    error = json.loads(run("config", "show", "--json").stderr)["error"]
    assert (error["exit_code"], error["kind"], error["details"]) == (2, "usage", {"path": str(path), "key": "ledger"})


@pytest.mark.parametrize("name", ["config.toml", "."], ids=["the file", "its folder"])
def test_a_link_that_leads_to_nothing_is_no_missing_configuration(run, own_folders, name):
    path = own_folders / "config/toolexec" / name
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")
    result = run("config", "show")
    assert (result.exit_code, result.stderr.partition(":")[2].split(": ")[1]) == (2, "the link leads to nothing")


def test_file_that_was_named_and_is_not_there_is_an_error(run, monkeypatch):
    for path in ("/nowhere/config.toml", "~nobody-at-all/config.toml"):
        monkeypatch.setenv("TOOLEXEC_CONFIG", path)
        assert run("config", "path").exit_code == 0
        result = run("config", "show")
        assert (result.exit_code, f"{path}: there is no such file" in result.stderr) == (2, True)


def test_below_what_is_no_folder_there_is_no_configuration(run, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null/.config")  # as with HOME=/dev/null, which users of daemons have
    assert run("config", "show").exit_code == 0
    monkeypatch.setenv("TOOLEXEC_CONFIG", "/dev/null/config.toml")
    assert "there is no such file, but TOOLEXEC_CONFIG names it" in run("config", "show").stderr


def test_what_cannot_be_read_is_said_with_what_helps(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "toolexec" / "config.toml").mkdir(parents=True)
    told = run("config", "show")
    assert told.exit_code == 2
    assert "make it readable, or have TOOLEXEC_CONFIG name another" in told.stderr


def test_folder_in_place_of_the_file_is_an_error(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(tmp_path))
    assert run("config", "show").exit_code == 2


def test_plugins_get_their_tables(run_json, configure, add_plugin, tmp_path):
    add_plugin(
        "likes",
        "from pathlib import Path\n"
        "from executor import hookimpl\n"
        "@hookimpl\n"
        "def executor_configure(config):\n"
        f"    Path({str(tmp_path / 'seen')!r}).write_text(repr(config))\n",
    )
    configure('[plugins.likes]\ncolour = "red"\n')
    run_json("plugins", "list")
    assert (tmp_path / "seen").read_text() == "{'colour': 'red'}"


def test_blocked_plugin_is_not_loaded(run_json, configure):
    configure('[plugins]\nblocked = ["echo"]\n')
    assert "echo" not in {row["name"] for row in run_json("plugins", "list")}


def test_plugin_that_refuses_its_table_is_reported_and_the_others_work(run, run_json, configure):
    configure("[plugins.shell]\nthresold = 1\n")
    shell = next(row for row in run_json("plugins", "list") if row["name"] == "shell")
    assert (shell["status"], shell["failures"][0]["stage"]) == ("failed", "configure")
    assert "thresold" in run("tools", "list").stderr


def test_table_of_a_plugin_that_is_not_there_is_a_warning(run, configure):
    configure("[plugins.nosuch]\na = 1\n")
    result = run("tools", "list")
    assert result.exit_code == 0
    assert "plugins.nosuch" in result.stderr


def test_path_of_the_ledger_may_begin_at_home(run_json, configure):
    configure('ledger = "~/calls.jsonl"\n')
    assert run_json("config", "show")["settings"]["ledger"]["value"] == str(Path("~/calls.jsonl").expanduser())


def test_a_plugins_tool_has_the_options_of_its_table(run, run_json, configure):
    configure("[tools.echo]\ntimeout = 7\nauto_background = 2.5\nrate = '20/min'\nresources = ['text {text}']\n")
    told = run_json("tools", "show", "echo")
    assert (told["timeout_seconds"], told["threshold_seconds"], told["background"]) == (7, 2.5, True)
    assert json.loads(run("call", "echo", "text=hi", "--yes").stdout) == {"text": "hi"}
    settings = run_json("config", "show")["settings"]
    assert settings["tools.echo.rate"] == {"value": "20/min", "source": "file"}
    assert settings["tools.echo.resources"]["value"] == ["text {text}"]


def test_a_tools_time_limit_ends_its_call(run, configure, add_plugin):
    add_plugin(
        "slow",
        "from executor import current_call, hookimpl\n"
        "@hookimpl\n"
        "def executor_register_tools(register):\n"
        "    register('slow', lambda args: current_call().wait())\n",
    )
    configure("[tools.slow]\ntimeout = 0.05\n")
    assert run("call", "slow", "--yes").exit_code == 6


def test_table_of_a_tool_that_is_not_there_is_a_warning(run, configure):
    configure("[tools.nosuch]\ntimeout = 1\n")
    result = run("tools", "list")
    assert result.exit_code == 0
    assert "tools.nosuch" in result.stderr
