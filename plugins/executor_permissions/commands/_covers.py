"""What a rule of the whitelist covers that its author may not have thought of; and what it was meant to be about."""

from __future__ import annotations

import difflib
import re
import shutil
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from executor_permissions.judge.options import is_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from executor_permissions.store._load import Policy

_MAX_TOLD = 6
NOTABLE = (  # commands that change or run more than somebody who writes "git *" has in mind, and what they do
    ("git push -f", "overwrites what others have pushed"),
    ("git reset --hard", "throws changes away"),
    ("git clean -fdx", "deletes files that are not tracked"),
    ("git stash clear", "throws stashed changes away"),
    ("git branch -D x", "deletes a branch"),
    ("git config --global alias.x '!x'", "has git run other programs"),
    ("npm publish", "publishes the package"),
    ("npm install x", "runs scripts of packages"),
    ("npm exec x", "runs programs of packages"),
    ("pnpm publish", "publishes the package"),
    ("yarn add x", "runs scripts of packages"),
    ("npx x", "runs programs of packages"),
    ("pip install x", "runs scripts of packages"),
    ("uv pip install x", "runs scripts of packages"),
    ("uv run x", "runs other programs"),
    ("cargo publish", "publishes the package"),
    ("cargo install x", "builds and installs programs"),
    ("go run x.go", "runs other programs"),
    ("make install", "runs whatever the makefile says"),
    ("docker run -v /:/host x", "gives a container the whole file system"),
    ("docker system prune -af", "deletes images and containers"),
    ("kubectl delete namespace x", "deletes what runs in a cluster"),
    ("kubectl exec x -- sh", "runs programs in a cluster"),
    ("gh repo delete x", "deletes a repository"),
    ("gh api -X DELETE x", "deletes on the server"),
    ("terraform destroy", "takes infrastructure down"),
    ("aws s3 rm s3://x --recursive", "deletes stored data"),
    ("systemctl stop x", "stops services"),
    ("find . -delete", "deletes files"),
    ("find . -exec sh -c x ';'", "runs other programs"),
    ("sed -i s/a/b/ x", "changes files in place"),
    ("sort -o x x", "writes a file"),
    ("tar -xf x", "writes files"),
    ("curl -o x https://example.com", "writes a file"),
    ("curl -d @x https://example.com", "sends a file away"),
    ("wget https://example.com", "writes a file"),
    ("ssh host rm -rf x", "runs programs elsewhere"),
    ("scp x host:", "sends a file away"),
    ("rsync -a --delete a b", "deletes files"),
    ("rm -rf x", "deletes folders"),
    ("cp a b", "overwrites files"),
    ("mv a b", "overwrites files"),
    ("dd of=x", "overwrites files"),
    ("chmod -R 777 x", "opens files to everybody"),
    ("tee x", "writes a file"),
    ("python -c x", "runs any program text"),
    ("python x.py", "runs any program text"),
    ("node -e x", "runs any program text"),
    ("perl -e x", "runs any program text"),
    ("ruby -e x", "runs any program text"),
    ("bash -c x", "runs any command"),
    ("sh x.sh", "runs any command"),
    ("env x", "runs other programs"),
    ("xargs x", "runs other programs"),
    ("sudo x", "runs programs as root"),
)


def told(before: Policy, after: Policy) -> str:
    """What *after* allows of the notable commands, and *before* did not, in a sentence; "" for nothing."""
    found = list(_more(before, after))
    if not found:
        return ""
    shown = ", ".join(f"{command} ({does})" for command, does in found[:_MAX_TOLD])
    more = f", and {len(found) - _MAX_TOLD} more of this kind" if len(found) > _MAX_TOLD else ""
    return f"this covers {shown}{more}: forbid what you do not mean with 'toolexec permissions add --deny'"


def _more(before: Policy, after: Policy) -> Iterator[tuple[str, str]]:
    for command, does in NOTABLE:
        args = {"command": command}
        if after.decide("runCommand", args).verdict == "allow" != before.decide("runCommand", args).verdict:
            yield command, does


def misspelt(rule: str, tools: Collection[str]) -> str:
    """Where *rule* begins with what is almost a tool's name, and no program's here, in a sentence; "" where not."""
    name = re.split(r"[\s(]", rule.strip(), maxsplit=1)[0]
    if name[:1] in "'\"":  # what is quoted is meant for a command
        return ""
    if any(fnmatchcase(tool, name) for tool in tools) or is_known(name) or shutil.which(name):
        return ""
    near = difflib.get_close_matches(name, tools, n=1, cutoff=0.8)
    return f"there is neither a tool nor a program {name!r} here: did you mean {near[0]!r}?" if near else ""
