"""What the environment, and files that are known to hold secrets, are shown by: never unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor_permissions import Policy
from executor_permissions.judge.paths._secrets import secret_places_below

STARTER = Path(__file__).parents[3] / "permissions.example.json"
COPYING = {"defaultPolicy": "ask", "whitelist": {"patterns": ["cp *", "mv *", "tar *", "rsync *", "zip *"]}}
GIVEN = [  # what a word becomes is shown by what it is given to, or compared with
    "cat <<< {}",
    "base64 <<< {}",
    "git commit -F - <<< {}",
    'read a <<< {}; printf %s "$a"',
    'while read -r x; do echo "$x"; done <<< {}',
    "{{ cat; }} <<< {}",
    "(cat) <<< {}",
    "if true; then cat; fi <<< {}",
    "for i in 1; do cat <<< {}; done",
    'x={}; cat <<< "$x"',
    'echo "$(cat <<< {})"',
    "case {} in a*) echo yes;; esac",
    "case a in b) ls;; {}) echo yes;; esac",
    'case x in *) y={};;& "$y"*) echo yes;; esac',
    'p=; for i in a b; do case {} in "$p$i"*) p=$p$i;; esac; done; echo $p',
    "case x$(case {} in a) echo y;; esac) in xy) ls;; esac",
]
OTHERWISE_ASKED = ("{{", "(", 'echo "$(', "case x in")  # the readings differ, or a substitution is nested
PRIVATE = ["$TOKEN", '"$TOKEN"', "x$TOKEN", '"x $TOKEN y"', "${TOKEN}", '"$USER$TOKEN"']
PUBLIC = ["x", '"x y"', "$USER", '"$HOME"', '"$(ls)"', '"a $(git log -1)"']


@pytest.fixture
def verdict(tmp_path):
    root = tmp_path.resolve()
    (root / "a.txt").write_text("x")
    policies = {
        "starter": Policy.load(STARTER, project_root=root, home=root / "home"),
        "copying": Policy.from_dict(COPYING, project_root=root, home=root / "home"),
    }
    return lambda command, policy="starter": policies[policy].decide("runCommand", {"command": command}).verdict


@pytest.mark.parametrize("form", GIVEN)
def test_what_the_environment_holds_is_asked_about_wherever_it_is_looked_at(verdict, form):
    assert [word for word in PRIVATE if verdict(form.format(word)) != "ask"] == []


@pytest.mark.parametrize("form", [form for form in GIVEN if not form.startswith(OTHERWISE_ASKED)])
def test_what_anyone_may_see_is_not(verdict, form):
    assert [word for word in PUBLIC if verdict(form.format(word)) != "allow"] == []


@pytest.mark.parametrize(
    "place",
    [
        ".config/pypoetry/auth.toml",
        ".config/helm/registry/config.json",
        ".local/share/uv/credentials/credentials.toml",
        ".docker/contexts/tls/x/docker/key.pem",
        ".docker/key.pem",
        ".terraformrc",
        ".rediscli_history",
    ],
)
def test_what_clients_of_services_log_in_with_is_asked_about(verdict, place):
    assert [verdict(f"{program} ~/{place}") for program in ("cat", "head -3", "grep -r token")] == ["ask"] * 3


PLACES = ["/proc", "/proc/self", "/proc/self/", "/proc/thread-self", "/proc/1", "/proc/self/task", "/dev/fd/..", "/etc"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", ["grep -ra KEY {}", "rg -a KEY {}"])
def test_a_search_where_secrets_are_is_asked_about(verdict, command, place):
    assert verdict(command.format(place)) == "ask"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", ["cp -r {} x", "tar cf x.tar {}", "rsync -a {} x", "zip -r x.zip {}"])
def test_so_is_a_copy_of_a_folder_where_secrets_are(verdict, command, place):
    assert verdict(command.format(place), "copying") == "ask"


def test_of_a_copy_of_the_home_folder_what_is_there_counts(verdict, tmp_path):
    (tmp_path / "home" / "docs").mkdir(parents=True)
    commands = ["cp -r home x", "tar cf x.tar home"]
    assert [verdict(command, "copying") for command in commands] == ["allow", "allow"]
    (tmp_path / "home" / ".netrc").touch()
    assert [verdict(command, "copying") for command in commands] == ["ask", "ask"]


def test_a_name_stands_for_the_star_of_a_place():
    below = secret_places_below("/proc/42/task/7", "/home/u")
    assert below == ["/proc/42/task/7/environ", "/proc/42/task/7/mem"]
    assert "/proc/*/environ" in secret_places_below("/proc", "/home/u")
    assert secret_places_below("/proc/42/net/tcp/x/y", "/home/u") == []
