"""Where the user's own folders are, whatever the environment says of them."""

from __future__ import annotations

import errno
import os
import pwd
import struct
import subprocess
import sys
from dataclasses import replace

import platformdirs
import pytest

from executor.confine import Profile, _bubblewrap, _secret_places, carried, launcher, start
from executor.confine._files import out_of_reach
from executor.confine._places import Places
from executor.ownfiles import keep_own
from tests.confine.conftest import NOBODY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's boxes are about the homes of others")

OF_ALICE = """
import ctypes, os, sys
from pathlib import Path
place, project = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
try:
    told = f"fd={os.open('/dev/fuse', os.O_RDWR)},rootmode=40000,user_id=65534,group_id=65534"
except OSError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
if libc.mount(b"x", place.encode(), b"fuse", 0, told.encode()) < 0:
    print(os.strerror(ctypes.get_errno()), file=sys.stderr)
    sys.exit(3)
from executor.confine import Profile, _secret_places, start
_secret_places.HOMES = (str(Path(place).parents[1]),)
boxed = start(Profile("project", project), ["echo", "hello"], cwd=project)
sys.exit(boxed.process.wait())
"""  # nobody answers it, and nobody but its owner comes so far as to ask
ODD = {
    "a home from nowhere on": {"HOME": "home"},
    "no home": {"HOME": ""},
    "a tilde that no shell has read": {"XDG_STATE_HOME": "~/state", "XDG_CONFIG_HOME": "~/config"},
    "folders from nowhere on": {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"},
    "blank folders": {"XDG_STATE_HOME": " ", "XDG_CONFIG_HOME": ""},
}


@pytest.fixture(params=ODD)
def home(request, tmp_path, monkeypatch):
    """The home of a user whose environment is odd, as the system knows it."""
    known = list(pwd.getpwuid(os.getuid()))
    known[5] = str(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(known))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), **ODD[request.param]}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_toolexec_s_own_folders_are_where_all_of_it_keeps_them(home):
    places = Places.now()
    assert places.home == str(home)
    assert places.own == str(platformdirs.user_state_path("toolexec", appauthor=False).absolute())
    assert f"{places.config}/toolexec" == str(platformdirs.user_config_path("toolexec", appauthor=False).absolute())


@pytest.mark.parametrize("named", ["", "/c", "/c/", "/c//d/", "/c/../d", "/", "c", "~/c", " "])
@pytest.mark.parametrize("home", ["/h", "/h/", "/h/../i", "/", "//h", "", "h", "~", " "])
def test_usual_folders_are_read_as_the_odd_ones_are(home, named, monkeypatch):
    for name, value in {"HOME": home, "XDG_STATE_HOME": named, "XDG_CONFIG_HOME": named}.items():
        monkeypatch.setenv(name, value)
    state = os.path.dirname(platformdirs.user_state_dir("toolexec", appauthor=False))
    config = os.path.dirname(platformdirs.user_config_dir("toolexec", appauthor=False))
    told = [path if os.path.isabs(path) else os.path.abspath(path) for path in (config, state)]
    assert [Places.now().config, Places.now().state] == told


def test_two_dots_behind_a_link_lead_where_the_system_says(tmp_path, monkeypatch):
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/away")
    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/link/../state")
    assert os.path.realpath(Places.now().own) == f"{tmp_path}/far/state/toolexec"


def test_who_has_no_home_at_all_has_places_from_the_root_on(monkeypatch):
    def nobody(_):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    assert all(os.path.isabs(path) for path in Places.now()[:3])


@pytest.mark.parametrize("name", ["read", "project"])
def test_no_box_reads_secrets_because_the_environment_is_odd(home, name, landlock, bubblewrap):
    own = platformdirs.user_state_path("toolexec", appauthor=False) / "people"
    project = home / "project"
    for folder in (own, home / ".ssh", project):
        folder.mkdir(parents=True)
    for file in (own / "key", home / ".ssh/id"):
        file.write_text("SECRET")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    boxed = start(Profile(name, str(project)), ["cat", f"{own}/key", f"{home}/.ssh/id"], cwd=str(project), **streams)
    said, _ = boxed.process.communicate(timeout=60)
    boxed.close()
    assert b"SECRET" not in said
    assert boxed.process.returncode == 1


OWN = ["state/toolexec/grants", "config/toolexec/mcp.json", "data/toolexec/oauth/x.json", "cache/toolexec/mcp/x"]


def in_a_box(project, line, *, launched=None, profile="project"):
    """What *line* says in a box that may write the project; started by others with the environment *launched*."""
    profile = Profile(profile, str(project)) if isinstance(profile, str) else profile
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    if launched is not None:
        command = [*launcher(profile), "/bin/sh", "-c", line]
        return subprocess.run(command, cwd=project, env=carried(launched), **streams, check=False).stdout.decode()
    boxed = start(profile, ["sh", "-c", line], cwd=str(project), stdin=subprocess.DEVNULL, **streams)
    said, _ = boxed.process.communicate(timeout=60)
    boxed.close()
    return said.decode()


@pytest.mark.parametrize("path", OWN)
def test_no_box_reads_what_toolexec_keeps(own_folders, tmp_path, bubblewrap, path):
    file = own_folders / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("SECRET")
    assert "SECRET" not in in_a_box(tmp_path, f"cat {file}")


@pytest.mark.parametrize("profile", ["read", "project", "network"])
def test_no_box_reads_the_secrets_that_variables_name(tmp_path, bubblewrap, monkeypatch, profile):
    secret, project = tmp_path / "elsewhere", tmp_path / "project"
    for folder in (secret / "containers", project):
        folder.mkdir(parents=True)
    for name in ("one", "two", "config.json", "containers/auth.json"):
        (secret / name).write_text("SECRET")
    line = f"cat {secret}/one {secret}/two; cat {secret}/config.json; cat {secret}/containers/auth.json; cat {secret}/*"
    said = in_a_box(project, line, profile=profile)
    assert said.count("SECRET") == 7  # with the folder of which nobody says that it is one of secrets
    monkeypatch.setenv("KUBECONFIG", f"{secret}/one{os.pathsep}{secret}/two")
    monkeypatch.setenv("DOCKER_CONFIG", f"{secret}/")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(secret))
    assert "SECRET" not in in_a_box(project, line, profile=profile)
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("GNUPGHOME", f"{secret}/../elsewhere")
    assert "SECRET" not in in_a_box(project, line, profile=profile)


@pytest.mark.parametrize("profile", ["read", "project", "network"])
def test_what_a_variable_names_from_the_working_folder_on_is_hidden_too(tmp_path, bubblewrap, monkeypatch, profile):
    (tmp_path / "kube").mkdir()
    (tmp_path / "kube" / "config").write_text("SECRET")
    monkeypatch.chdir(tmp_path)
    assert "SECRET" in in_a_box(tmp_path, "cat kube/config", profile=profile)
    monkeypatch.setenv("KUBECONFIG", "./kube/config")
    assert "SECRET" not in in_a_box(tmp_path, "cat kube/config", profile=profile)


@pytest.mark.parametrize("profile", ["read", "project", "network"])
@pytest.mark.parametrize(("variable", "kind"), [("KRB5CCNAME", "FILE:"), ("KRB5CCNAME", "DIR:"), ("KRB5_KTNAME", "")])
def test_no_box_reads_tickets(tmp_path, bubblewrap, monkeypatch, profile, variable, kind):
    project, kept = tmp_path / "project", tmp_path / "tickets" / "tkt"
    for folder in (project, kept.parent):
        folder.mkdir()
    kept.write_text("SECRET")
    assert "SECRET" in in_a_box(project, f"cat {kept}", profile=profile)
    monkeypatch.setenv(variable, f"{kind}{kept.parent if kind == 'DIR:' else kept}")
    assert "SECRET" not in in_a_box(project, f"cat {kept}", profile=profile)


@pytest.mark.parametrize("profile", ["read", "project", "network"])
def test_no_box_reads_the_system_s_secrets_that_this_user_may_read(tmp_path, bubblewrap, monkeypatch, profile):
    project, ticket = tmp_path / "project", tmp_path / f"krb5cc_{os.getuid()}"
    project.mkdir()
    for file in (ticket, tmp_path / "key"):
        file.write_text("SECRET")
    line = f"cat {tmp_path}/*; true"
    assert in_a_box(project, line, profile=profile).count("SECRET") == 2
    monkeypatch.setattr(_secret_places, "SYSTEM_PLACES", (f"{tmp_path}/key",))
    monkeypatch.setattr(_secret_places, "TICKETS", f"{tmp_path}/krb5cc_")
    assert "SECRET" not in in_a_box(project, line, profile=profile)


@pytest.mark.parametrize("profile", ["read", "project", "network"])
def test_no_box_reads_secrets_of_the_user_s_own_home_because_home_is_elsewhere(
    tmp_path, bubblewrap, monkeypatch, profile
):
    project, own = tmp_path / "project", tmp_path / "own"
    for folder in (project, own / ".ssh"):
        folder.mkdir(parents=True)
    (own / ".ssh" / "id").write_text("SECRET")
    line = f"cat {own}/.ssh/id"
    assert "SECRET" in in_a_box(project, line, profile=profile)
    monkeypatch.setattr(_secret_places, "_home_of", lambda _: str(own))
    assert "SECRET" not in in_a_box(project, line, profile=profile)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read them at all")
@pytest.mark.parametrize("profile", ["read", "project", "network"])
def test_no_box_of_root_reads_what_is_kept_from_all_others(tmp_path, bubblewrap, monkeypatch, profile):
    project, other = tmp_path / "project", tmp_path / "homes" / "alice"
    for folder in (project, other / ".ssh"):
        folder.mkdir(parents=True)
    (other / ".ssh" / "id").write_text("SECRET")
    (other / "public").write_text("hello")
    monkeypatch.setattr(_secret_places, "HOMES", (str(other.parent),))
    said = in_a_box(project, f"cat {other}/.ssh/id /etc/shadow; cat {other}/public", profile=profile)
    assert "SECRET" not in said
    assert "/etc/shadow: Permission denied" in said
    assert said.endswith("hello")


@pytest.mark.parametrize("profile", ["read", "project", "network"])
def test_no_box_reads_the_tickets_of_another_session(tmp_path, bubblewrap, monkeypatch, profile):
    project = tmp_path / "project"
    project.mkdir()
    for name in (f"krb5cc_{os.getuid()}", f"krb5cc_{os.getuid()}_a1B2c3"):
        (tmp_path / name).write_text("SECRET")
    (tmp_path / "krb5").write_text("hello")
    monkeypatch.setattr(_secret_places, "TICKETS", f"{tmp_path}/krb5cc_")
    assert in_a_box(project, f"cat {tmp_path}/krb5cc* 2> /dev/null; cat {tmp_path}/krb5", profile=profile) == "hello"


@as_root
@pytest.mark.parametrize("profile", ["read", "project"])
@pytest.mark.parametrize("name", ["tmp/krb5cc_0", "homes/alice/.mozilla", "homes/alice/.config"])
def test_no_link_of_somebody_else_hides_what_is_not_his(tmp_path, bubblewrap, monkeypatch, profile, name):
    project, link = tmp_path / "project", tmp_path / name
    for folder in (project, tmp_path / "tmp", tmp_path / "homes" / "alice", tmp_path / "system" / "git"):
        folder.mkdir(parents=True)
    (tmp_path / "system" / "git" / "credentials").write_text("hello")
    link.symlink_to(tmp_path / "system")
    for path in (link, link.parent):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    monkeypatch.setattr(_secret_places, "HOMES", (str(tmp_path / "homes"),))
    monkeypatch.setattr(_secret_places, "TICKETS", f"{tmp_path}/tmp/krb5cc_")
    assert in_a_box(project, f"cat {tmp_path}/system/git/credentials", profile=profile) == "hello"


@as_root
@pytest.mark.parametrize("profile", ["read", "project"])
def test_a_secret_of_another_home_is_hidden_where_a_link_in_it_leads(tmp_path, bubblewrap, monkeypatch, profile):
    project, alice, far = tmp_path / "project", tmp_path / "homes" / "alice", tmp_path / "far"
    for folder in (project, alice, far):
        folder.mkdir(parents=True)
    (far / "id").write_text("SECRET")
    (alice / ".ssh").symlink_to(far)
    for path in (alice, alice / ".ssh", far):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    monkeypatch.setattr(_secret_places, "HOMES", (str(alice.parent),))
    assert "SECRET" not in in_a_box(project, f"cat {alice}/.ssh/id {far}/id", profile=profile)


@as_root
def test_copies_of_passwords_and_the_machine_s_own_ticket_are_root_s_secrets(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: True)
    assert {"/etc/shadow-", "/var/backups/shadow.bak", "/etc/krb5.keytab"} <= {*Places.now().elsewhere}


@as_root
@pytest.mark.parametrize("profile", ["read", "project"])
@pytest.mark.parametrize("closed", ["", ".config", ".config/gh", ".config/gh/token"])
# Of whoever is in the group, its part of the mode alone counts.
@pytest.mark.parametrize(("group", "mode"), [(NOBODY, 0o700), (0, 0o705)])
def test_root_has_boxes_whatever_folders_of_others_are_closed(
    tmp_path, bubblewrap, monkeypatch, profile, closed, group, mode
):
    project, home = tmp_path / "project", tmp_path / "homes" / "alice"
    token = home / ".config" / "gh" / "token"
    for folder in (project, token.parent):
        folder.mkdir(parents=True)
    token.write_text("SECRET")
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)
        os.chown(path, NOBODY, group)
    (home / closed).chmod(mode)
    monkeypatch.setattr(_secret_places, "HOMES", (str(home.parent),))
    said = in_a_box(project, f"cat {token}; echo well", profile=profile)
    assert "SECRET" not in said
    assert said.endswith("well\n")


@as_root
def test_root_has_boxes_where_a_file_system_of_somebody_lets_nobody_else_in(tmp_path, bubblewrap):
    project, place = tmp_path / "project", tmp_path / "homes" / "alice" / ".ssh"
    for folder in (project, place):
        folder.mkdir(parents=True)
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", OF_ALICE, str(place), str(project)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if done.returncode == 3:
        pytest.skip(done.stderr)
    assert done.stdout == "hello\n", done.stderr


@as_root
def test_what_a_list_opens_to_root_is_in_reach(tmp_path):
    entries = ((0x01, 7, 2**32 - 1), (0x02, 5, 0), (0x04, 0, 2**32 - 1), (0x10, 5, 2**32 - 1), (0x20, 0, 2**32 - 1))
    (tmp_path / "x").touch()
    os.chown(tmp_path, NOBODY, NOBODY)
    tmp_path.chmod(0o700)
    assert out_of_reach(f"{tmp_path}/x")
    told = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(tmp_path, "system.posix_acl_access", told)
    except OSError as error:
        pytest.skip(f"no lists here: {error}")
    assert not out_of_reach(f"{tmp_path}/x")


@as_root
def test_root_has_boxes_where_thousands_have_homes(tmp_path, bubblewrap, monkeypatch):
    project, homes = tmp_path / "project", tmp_path / "homes"
    project.mkdir()
    for number in range(1600):
        for name in (".ssh", ".config/gh"):
            (homes / f"{number}" / name).mkdir(parents=True)
        os.chmod(homes / f"{number}", 0o750)
        os.chown(homes / f"{number}", NOBODY, NOBODY)
    (homes / "7" / ".ssh" / "id").write_text("SECRET")
    monkeypatch.setattr(_secret_places, "HOMES", (str(homes),))
    said = in_a_box(project, f"cat {homes}/7/.ssh/id; echo well")
    assert "SECRET" not in said
    assert said.endswith("well\n")


@as_root
@pytest.mark.parametrize("profile", ["read", "project"])
def test_a_project_below_home_has_its_own_settings(tmp_path, bubblewrap, monkeypatch, profile):
    project = tmp_path / "homes" / "app"
    for folder in (project / ".ssh", project / ".vercel"):
        folder.mkdir(parents=True)
    for name in (".npmrc", ".yarnrc.yml", ".vercel/project.json"):
        (project / name).write_text("hello\n")
    (project / ".ssh" / "id").write_text("SECRET")
    monkeypatch.setattr(_secret_places, "HOMES", (str(project.parent),))
    line = "cat .npmrc .yarnrc.yml .vercel/project.json .ssh/id 2> /dev/null"
    assert in_a_box(project, line, profile=profile) == "hello\n" * 3


def test_homes_that_cannot_be_listed_now_are_no_reason_for_a_wider_box(monkeypatch):
    def refused(_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "listdir", refused)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        Places.now()


@pytest.mark.parametrize("named", ["real", "link"])
def test_credentials_are_shown_whatever_the_home_folder_is_called(tmp_path, bubblewrap, monkeypatch, named):
    project, real = tmp_path / "project", tmp_path / "real"
    for folder in (project, real / ".kube", real / ".ssh"):
        folder.mkdir(parents=True)
    for file in (".kube/config", ".ssh/id"):
        (real / file).write_text("SECRET" if file == ".ssh/id" else "hello")
    (tmp_path / "link").symlink_to(real)
    monkeypatch.setenv("HOME", str(tmp_path / named))
    other = tmp_path / ("link" if named == "real" else "real")
    monkeypatch.setattr(_secret_places, "_home_of", lambda _: str(other))
    profile = Profile("network", str(project), credentials=(f"{real}/.kube",))
    assert in_a_box(project, "cat ~/.kube/config ~/.ssh/id 2> /dev/null", profile=profile) == "hello"


@pytest.mark.parametrize("around", ["system", "run"])
def test_credentials_are_shown_in_a_place_that_is_hidden(tmp_path, bubblewrap, monkeypatch, around):
    project, vault, other = tmp_path / "project", tmp_path / "vault", tmp_path / "other"
    for folder in (project, vault / "own", other):
        folder.mkdir(parents=True)
    for file in (vault / "own" / "token", vault / "key", other / "key"):
        file.write_text("SECRET" if file.name == "key" else "hello")
    (vault / "link").symlink_to(other)  # what a command may have put there
    if around == "run":
        monkeypatch.setattr(_bubblewrap, "_RUN", str(vault))
        monkeypatch.setattr(_bubblewrap, "_STOP", f"{vault}/toolexec")
    monkeypatch.setattr(_secret_places, "SYSTEM_PLACES", (str(vault) if around == "system" else "/none", str(other)))
    profile = Profile("network", str(project), credentials=(f"{vault}/own", f"{vault}/link"))
    line = f"cat {vault}/own/token {vault}/key {vault}/link/key {other}/key 2> /dev/null"
    assert in_a_box(project, line, profile=profile) == "hello"
    assert in_a_box(project, line) == ""
    assert in_a_box(project, line, profile=replace(profile, unreadable=(str(vault),))) == ""


@pytest.mark.parametrize(
    "value", ["", "relative", "..", "/", "/dev/null", "{home}", "{project}", "{project}/..", "/proc/self"]
)
def test_a_variable_that_cannot_be_meant_hides_nothing(tmp_path, own_folders, bubblewrap, monkeypatch, value):
    project = tmp_path / "project"
    project.mkdir()
    (project / "file").write_text("hello")
    for name in ("PIP_CONFIG_FILE", "KUBECONFIG", "GNUPGHOME", "HISTFILE"):
        monkeypatch.setenv(name, value.format(project=project, home=os.environ["HOME"]))
    said = in_a_box(project, "cat file && cat /dev/null && ls / > /dev/null && echo well")
    assert said == "hellowell\n"


@pytest.mark.parametrize("path", OWN)
def test_no_box_makes_what_toolexec_keeps_where_its_folders_are_in_the_project(own_folders, bubblewrap, path):
    (own_folders / "config").mkdir()
    file = own_folders / path
    in_a_box(own_folders, f"mkdir -p {file.parent}; echo > {file}")
    assert not file.exists()


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["config.toml", "mcp.json", "permissions.json"])
def test_no_box_writes_a_file_of_settings_that_is_a_link_into_the_project(
    own_folders, tmp_path, bubblewrap, name, there
):
    link, file = own_folders / "config" / "toolexec" / name, tmp_path / "project" / name
    for folder in (link.parent, file.parent):
        folder.mkdir(parents=True)
    link.symlink_to(file)
    if there:
        file.write_text("SECRET")
    assert "SECRET" not in in_a_box(file.parent, f"echo x > {name}; cat {name}")
    assert not file.exists() or file.read_text() == "SECRET"


def test_no_box_writes_the_policy_that_a_variable_names(own_folders, tmp_path, bubblewrap, monkeypatch):
    (tmp_path / "policy.json").write_text("{}")
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(tmp_path / "policy.json"))
    in_a_box(tmp_path, "echo x > policy.json")
    assert (tmp_path / "policy.json").read_text() == "{}"


@pytest.mark.parametrize("variables", [("HOME",), ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")])
def test_what_others_start_is_in_the_box_of_who_asked_for_it(own_folders, tmp_path, bubblewrap, variables):
    own, project, other = tmp_path / "own.toml", tmp_path / "project", tmp_path / "other"
    files = [own, own_folders / ".ssh/id", own_folders / "config/gh/hosts.yml", *(own_folders / path for path in OWN)]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("SECRET")
    project.mkdir()
    keep_own(own)
    launched = {"PATH": "", **dict.fromkeys(variables, str(other))}
    said = in_a_box(project, f"/bin/cat {' '.join(map(str, files))}; echo home $HOME", launched=launched)
    assert "SECRET" not in said
    assert f"home {other}" in said, "the command has its own environment"
    assert not other.exists()
