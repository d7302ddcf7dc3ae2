"""Folders that every box knows: the user's own, where secrets are kept in them, and where toolexec keeps its own."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor.confine._disk import Disk
from executor.confine._mounted import is_in, mounts, other_names
from executor.confine._real import in_folder
from executor.confine._secret_places import (
    OF_PROJECTS_TOO,
    SECRET_PLACES,
    SECRET_VARIABLES,
    other_homes,
    readable_elsewhere,
)
from executor.ownfiles import kept_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from executor.confine._mounted import Mount
    from executor.values._profile import Profile

_USUALLY: dict[Literal["config", "state", "data", "cache"], str] = {
    "config": ".config",
    "state": ".local/state",
    "data": ".local/share",
    "cache": ".cache",
}
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_KIND_OF_TICKETS = re.compile(r"\A(?:FILE|DIR)::?")  # in front of a path; those of another kind are in no file
_SETTINGS = ("config.toml", "mcp.json", "permissions.json")  # toolexec's own files in its folder of settings
DEVICE_FOLDER = "/dev"
_KINDS_OF_DEVICES = ("devtmpfs", "devpts")  # of file systems
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class Places(NamedTuple):
    """
    The user's own folders, as the environment names them now.

    Those of toolexec are where all of it keeps them: what says otherwise here would leave them open to every box.

    Attributes:
        named: The secrets that variables name.
        elsewhere: Those of the system, as far as this user may read them.
        homes: Other home folders, where secrets are kept as in the user's own.
    """

    home: str
    config: str
    state: str
    data: str
    cache: str
    own_files: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()

    @classmethod
    def now(cls, environ: Mapping[str, str] | None = None) -> Places:
        """*environ* is this process's own, for who has copied it: each look into ``os.environ`` costs a microsecond."""
        told = os.environ.copy() if environ is None else environ
        home = _home(told)
        config, state, data, cache = (_kept(kind, home, told) for kind in _USUALLY)
        return cls(
            home,
            config,
            state,
            data,
            cache,
            kept_own(),
            _named_in(told, home, SECRET_VARIABLES),
            readable_elsewhere(),
            other_homes(home),
        )

    @property
    def own(self) -> str:
        """The folder in which toolexec keeps its tasks, grants, records and boxes."""
        return os.path.join(self.state, "toolexec")

    @property
    def all_own(self) -> tuple[str, ...]:
        """All of toolexec's own folders and files: tokens of servers (data) and what these say (cache) included."""
        folders = [f"{folder}/toolexec" for folder in (self.state, self.config, self.data, self.cache)]
        settings = [f"{self.config}/toolexec/{name}" for name in _SETTINGS]  # which may be links to elsewhere
        return (*folders, *settings, *self.own_files)


def named_secrets(home: str, variables: Iterable[str] = SECRET_VARIABLES) -> tuple[str, ...]:
    """
    What *variables* name now that is secret, from the working folder on. What holds the *home* folder, or is a device,
    cannot be meant.
    """
    return _named_in(os.environ, home, variables)


def _named_in(environ: Mapping[str, str], home: str, variables: Iterable[str]) -> tuple[str, ...]:
    given = [(variable, environ[variable]) for variable in variables if variable in environ]
    found = []
    for variable, value in given:
        for path in _paths_in(variable, value):
            with contextlib.suppress(FileNotFoundError):  # in a working folder that is gone there is nothing
                whole = os.path.abspath(path)
                if not whole.startswith(_NO_FILES) and not is_in(home, whole):
                    found += [os.path.join(whole, part) if part else whole for part in SECRET_VARIABLES[variable]]
    return tuple(found)


def _paths_in(variable: str, value: str) -> Iterator[str]:
    paths = value.split(os.pathsep) if variable == "KUBECONFIG" else (_KIND_OF_TICKETS.sub("", value),)
    return filter(None, paths)


def _home(environ: Mapping[str, str]) -> str:
    """The user's home folder: the system's word for it, where the environment does not name one from the root on."""
    named = environ.get("HOME", "")
    if os.path.isabs(named) or sys.platform == "win32":
        return os.path.expanduser("~")
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def _kept(kind: Literal["config", "state", "data", "cache"], home: str, environ: Mapping[str, str]) -> str:
    """Where toolexec's folder of this kind is: what all of it asks has its own reading of variables that are odd."""
    named, usually = environ.get(f"XDG_{kind.upper()}_HOME", ""), os.path.join(home, _USUALLY[kind])
    if sys.platform == "linux" and os.path.isabs(named or environ.get("HOME", "")):  # by far the most
        return os.path.dirname(os.path.join(named or usually, "toolexec"))
    try:
        import platformdirs  # 10 ms, which most processes that have boxes have spent already

        told: str = getattr(platformdirs, f"user_{kind}_dir")("toolexec", appauthor=False)
        folder = os.path.dirname(told)
        return folder if os.path.isabs(folder) else os.path.abspath(folder)  # which loses a ".." behind a link
    except (ImportError, RuntimeError):  # a Python with this package alone; nobody says where this user's home is
        return named if os.path.isabs(named) else usually


def secrets(
    profile: Profile, places: Places, disk: Disk | None = None, mounted: tuple[Mount, ...] | None = None
) -> Iterator[str]:
    """
    Every place whose contents *profile* may not read, by each of its names, whether there is one or not.

    Args:
        disk: What was found of the disk so far, for somebody who looks at the same folders next.
        mounted: What is mounted, for somebody who has looked.
    """
    disk = disk or Disk()
    named = (*_named(profile, places), *_in_homes(places.homes, disk, disk.real(profile.project)))
    yield from named
    yield from other_names((disk.real(path) for path in named), mounts() if mounted is None else mounted)


def _in_homes(homes: Iterable[str], disk: Disk, project: str) -> Iterator[str]:
    """
    Where secrets are kept in *homes*; with links somebody can hide what is his own, and not the whole system.

    Args:
        project: May be one of them, as in a container; what any project may have is its own then.
    """
    for home in map(disk.real, homes):
        for name in SECRET_PLACES:
            if home == project and name in OF_PROJECTS_TOO:
                continue
            path = in_folder(home, name)
            if (real := disk.real(path)) == path or _owner(home) in (os.geteuid(), _owner(real)):
                yield path


def _owner(path: str) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None


def devices_elsewhere(mounted: tuple[Mount, ...]) -> tuple[str, ...]:
    """Where devices are seen again: in the roots of containers and the like; those that everybody may use left out."""
    own = {f"{DEVICE_FOLDER}/{name}" for name in DEVICES}
    shown = {mount.point for mount in mounted if mount.kind in _KINDS_OF_DEVICES}
    # One device alone is laid over what nobody is to read, below /proc too.
    harmless = set(other_names(own, mounted))
    again = (path.rstrip("/") for path in other_names((DEVICE_FOLDER,), mounted))
    found = {*again, *shown} - harmless
    return tuple(path for path in found if path != DEVICE_FOLDER and not path.startswith(DEVICE_FOLDER + "/"))


@lru_cache(maxsize=16)
def _named(profile: Profile, places: Places) -> tuple[str, ...]:
    return tuple(_each_named(profile, places))


def _each_named(profile: Profile, places: Places) -> Iterator[str]:
    kept = set(_each_kept(profile, places.home))
    for name in SECRET_PLACES:
        if (path := os.path.join(places.home, name)) not in kept:
            yield path
        below_config = name.removeprefix(".config/")
        if below_config != name and (path := os.path.join(places.config, below_config)) not in kept:
            yield path
    yield from (path for path in profile.unreadable if path not in kept)
    yield from (path for path in places.named if path not in kept and not is_in(profile.project, path))
    yield from (path for path in places.elsewhere if path not in kept)
    yield from places.all_own


def credentials_shown(profile: Profile) -> tuple[str, ...]:
    """The credentials that *profile* shows also where a place around them is hidden, unless the policy says so."""
    closed = profile.unreadable
    return tuple(one for one in profile.credentials if not any(one != each and is_in(one, each) for each in closed))


def _each_kept(profile: Profile, home: str) -> Iterator[str]:
    """The credentials that *profile* shows; of the home folder both as it is named and without links."""
    real = os.path.realpath(home) if profile.credentials else ""
    for path in profile.credentials:
        yield path
        if is_in(path, real):
            yield home + path[len(real) :]
