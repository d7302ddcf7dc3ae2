"""Files that no tool may read, where a command names them in ways that only its program reads."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy

KEPT = {"arguments": {"readFile": {"path": ["${project}/.env", "${project}/prod.db", "~/.ssh/"]}}}


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve() / "proj"
    (root / "src").mkdir(parents=True)
    for name in (".env", "prod.db", "a.py", "src/b.py"):
        (root / name).write_text("SECRET\n")
    return root


def not_verdict(verdict, root, commands, rules=None):
    policy = Policy.from_dict(
        {"blacklist": KEPT, **(rules or {"defaultPolicy": "allow"})}, project_root=root, home=root.parent / "home"
    )
    calls = [(command, policy.decide("runCommand", {"command": command})) for command in commands]
    assert [one.reason for _, one in calls if one.method == "error"] == []
    return [command for command, one in calls if one.verdict != verdict]


PROGRAMS = [
    "curl {}",
    "curl -s --url {}",
    "curl --url={}",
    "curl -o x {}",
    "unknown -i{}",
    "ffmpeg -i {} a.mp4",
    "sqlite3 {} .dump",
    "git ls-remote {}",
]
ADDRESSES = ["{}/.env", "{}/%2eenv", "{}/.%65nv", "{}/.e%6Ev#x", "'{}/.env?mode=ro'", "'{}/%2Eenv?a=b&c#d'", "{}/src/../.env", "{}/.env%00.txt", "{}/src/%2e%2e/.env"]  # fmt: skip
STARTS = ["file://{}", "FILE://{}", "file:{}", "file://localhost{}", "File://127.0.0.1{}"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_address_of_a_file_is_that_file_however_it_is_encoded(root, program):
    commands = [program.format(address.format(start.format(root))) for address in ADDRESSES for start in STARTS]
    commands += [program.format(f"'{name}'") for name in ("file:.env?mode=ro", "file:%70rod.db", f"{root}/.%65nv", ".%65nv")]  # fmt: skip
    if program.startswith("sqlite3"):
        commands.append(program.format("'file:src/../prod.db?mode=rwc'"))
    assert not_verdict("deny", root, commands) == []


def test_what_is_encoded_and_no_file_that_is_kept_is_allowed(root):
    commands = ["curl http://x/%2eenv", "curl 'http://x/a%20b?c=%2F'", "curl file://{root}/a%20b", "cat a%20b 100%", "date +%F", "git log --format=%h%x2eenv", "printf %s%2eenv",
                "sqlite3 'file:b.db?mode=ro' 'select 1'", "ffmpeg -i file:a%2eb c", "psql postgres://u:p%40@h/d"]  # fmt: skip
    assert not_verdict("allow", root, commands) == []
    allowed = {"whitelist": {"patterns": ["ffmpeg *"]}}
    assert not_verdict("ask", root, ["ffmpeg -i file:///root/.%61ws/credentials"], allowed) == []


LISTED = ["tar cf - -T -", "tar -cT- -f x.tar", "tar cTf - x.tar", "tar --files=- -cz", "tar cf x.tar -T names", "timeout 5 tar -c --files-from -", "zip - -@", "zip -q@ a.zip", "cpio -o", "cpio -pdm out",
          "cpio --create", "pax -w", "sort --files0-from=-", "sort --files0=-", "xz --files -c", "xz --files0 -ck", "7z a a.7z -i@names", "gpg --multifile -d", "rsync --files-from=- src h:",
          "parallel cat", "parallel cat {}", "parallel -j2 head -3 {/}", "parallel 'cat {}'", "parallel 'head -3'", "parallel 'cat {} | wc'", "bash -c 'tar cf - -T -'"]  # fmt: skip


@pytest.mark.parametrize("program", LISTED)
def test_files_that_a_list_or_the_input_names_may_be_kept_ones(root, program):
    feeds = [f"{names} | {program}" for names in ("find . -type f", "ls -A", "git ls-files -z")] + [
        f"{program} < names"
    ]
    assert not_verdict("ask", root, feeds) == []
    (root / ".env").unlink()
    (root / "prod.db").unlink()
    assert not_verdict("allow", root, [f"ls -A | {program}"] if "'" not in program else []) == []


def test_who_takes_no_names_from_its_input_is_fed_them(root):
    commands = ["ls -A | cat", "find . | wc -l", "find . -print0 | wc --files0-from=-", "find . | grep -f - x", "tar czf a.tgz src", "tar tf a.tar", "tar xf a.tar src", "zip -r a.zip src", "unzip -l a.zip",
                "cpio -it < a.cpio", "parallel cat ::: a.py src/b.py", "parallel echo {} ::: 1 2", "ls -A | parallel echo {}", "ls *.py | parallel ruff check", "7z x a.7z", "gpg -d a.gpg", "xz -k a.py", "rsync -a src/ out/"]  # fmt: skip
    assert not_verdict("allow", root, commands) == []
