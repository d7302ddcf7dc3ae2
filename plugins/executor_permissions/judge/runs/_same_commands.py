"""
The other names that programs, and their sub-commands, have for the same: data, for `_other_names`.

Only what the program's own manual calls the same is here. What is nearly the same may be meant by a rule.
"""

# ruff: noqa: SIM905 -- lines of names are read, and changed, best
from __future__ import annotations

# Programs: how a command begins, and how else it may begin.
PROGRAMS = (
    "sudoedit | sudo -e | sudo --edit",
    "docker-compose | docker compose",
    "reboot | systemctl reboot | init 6 | telinit 6",
    "poweroff | systemctl poweroff | init 0 | telinit 0",
    "halt | systemctl halt",
    "mkfs | mke2fs",
    "fd | fdfind",
    "npx | npm exec | npm x",
    "uvx | uv tool run",
    "pnpx | pnpm dlx",
    "node | nodejs",
    "apt | apt-get",
    "source | .",
    "declare | typeset",
    "mapfile | readarray",
)
_OF_CONTAINERS = (
    "rm | container rm | container remove",
    "rmi | image rm | image remove",
    *(
        f"{name} | container {name}"
        for name in "attach commit cp create diff exec export kill logs pause port rename restart run start stats"
        " stop top unpause update wait".split()
    ),
    *(f"{name} | image {name}" for name in "build history import load pull push save tag".split()),
    "ps | container ls | container list | container ps",
    "images | image ls | image list",
    "volume rm | volume remove",
    "network rm | network remove",
)
# Sub-commands of one program, each with its other names.
SUB_COMMANDS = {
    **dict.fromkeys(("docker", "podman", "nerdctl"), _OF_CONTAINERS),
    "npm": (
        "install | i | in | ins | inst | insta | instal | isnt | isntall | add",
        "uninstall | un | unlink | remove | rm | r",
        "ci | clean-install | ic | install-clean",
        "run-script | run | rum | urn",
        "test | t | tst",
        "exec | x",
        "config | c",
        "update | up | upgrade | udpate",
        "adduser | add-user",
        "dist-tag | dist-tags",
        "owner | author",
        "publish",
        "unpublish",
        "deprecate",
        "login",
        "logout",
        "token",
        "access",
        "version | verison",
    ),
    "pnpm": (
        "install | i",
        "remove | rm | uninstall | un",
        "update | up | upgrade",
        "run | run-script",
        "test | t | tst",
    ),
    "cargo": ("build | b", "check | c", "test | t", "run | r", "doc | d", "remove | rm"),
    "git": ("add | stage",),
    "helm": ("uninstall | del | delete | un",),
    "brew": ("uninstall | remove | rm", "install | instal"),
    "gh": (
        *(f"{name} create | {name} new" for name in ("pr", "issue", "repo", "release", "gist")),
        "pr checkout | co",
        "codespace | cs",
        "extension | extensions | ext",
    ),
    "composer": ("remove | rm | uninstall", "require | r", "update | u | upgrade", "run-script | run"),
    "bun": ("install | i", "add | a", "remove | rm"),
    "mise": ("exec | x", "run | r", "install | i", "uninstall | rm | remove", "use | u", "upgrade | up"),
    "direnv": ("allow | permit | grant",),
    "conda": ("remove | uninstall", "update | upgrade"),
    "hg": ("commit | ci", "update | up | checkout | co", "remove | rm"),
    "svn": ("commit | ci", "delete | del | remove | rm", "update | up", "checkout | co", "switch | sw"),
}
