"""From files to a `Policy`: found, merged with the project's own, tried on its own tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from executor.ownfiles import kept_own
from executor.ownfolders import home_folder, own_folder, spelt_out
from executor_permissions.judge._judge import Judge
from executor_permissions.judge.git._repository import folders_elsewhere
from executor_permissions.judge.rules._limits import Limit
from executor_permissions.judge.rules._rules import LISTS, NO_PROJECT, WHOLE_SERVER, Places
from executor_permissions.store._channel import folder_of, unfit_folder
from executor_permissions.store._own_tests import run_tests
from executor_permissions.store._private import first_missing
from executor_permissions.store._source import Source, checked, failure, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from executor_permissions.judge._judge import DefaultPolicy
    from executor_permissions.judge.boxes._profile import Confinement
    from executor_permissions.judge.paths._paths import Led

ENVIRONMENT_NAME = "TOOLEXEC_PERMISSIONS"
FILE_NAME = "permissions.json"
PROJECT_FOLDER = ".toolexec"
_PROJECT_MARKS = (".git", "pyproject.toml", PROJECT_FOLDER)
_OF_ANYBODY = ("version", "blacklist", "ask", "limits", "confine")  # what a file may say before it is trusted
_LEFT_OUT = {
    "whitelist": "what it allows",
    "argumentKinds": "what it says of arguments",
    "shellTools": "what it says of tools",
}
# What is read in the first file alone, whoever trusts the folder.
_OF_FIRST = {
    "defaultPolicy": "what becomes of calls that no rule is about",
    "channel": "where people are asked",
    "tests": "the calls that are tried",
}
_USUAL = {"defaultPolicy": "ask"}
_WITHOUT_BOXES = (None, "1.0", "1.1")  # the versions of files in which nothing is said of them


def find_project(start: Path | None = None) -> Path:
    """
    The nearest folder from *start* (the working folder) upwards that looks like a project, else *start* itself.

    The root of the file system, the home folder and what that is in are no project: programs are started there that are
    not about any, and whoever keeps that in git does not mean all that is in it. `NO_PROJECT` is, from there.
    """
    here = (start or Path.cwd()).resolve()
    mine = _possible(here)
    marked = (folder for folder in mine if any((folder / mark).exists() for mark in _PROJECT_MARKS))
    return next(marked, here if here in mine else Path(NO_PROJECT))


def _possible(folder: Path, home: str | Path | None = None) -> list[Path]:
    """*folder* and those that it is in, as far as they may be projects, the inmost first."""
    told = home or os.path.expanduser("~")  # noqa: PTH111 -- that of Path raises where there is none
    end = Path("/") if told == "~" else Path(told).resolve()
    return [one for one in (folder, *folder.parents) if one not in (end, *end.parents, Path(one.anchor))]


def user_file() -> Path:
    """Where the user's own policy is, unless the environment says otherwise."""
    return own_folder("config") / FILE_NAME


def policy_file() -> tuple[Path, bool]:
    """The policy file in use, the project's aside, and whether it exists or is asked for by the environment."""
    named = named_file()
    path = named or user_file()
    return path, named is not None or is_meant(path)


def named_file(path: str | Path | None = None) -> Path | None:
    """The policy file that was asked for: *path*, else the environment's; None: neither names one."""
    named = path or os.environ.get(ENVIRONMENT_NAME)
    return spelt_out(named).absolute() if named else None


def is_meant(path: Path) -> bool:
    """Whether there is to be a policy at *path*: a link to nowhere, and what cannot be reached, are no missing file."""
    try:
        return first_missing(path) is None
    except OSError:
        return True  # reading it says what is wrong


def project_file(project: str | Path) -> Path:
    """Where a project's own policy file is."""
    return Path(project) / PROJECT_FOLDER / FILE_NAME


def files_above(project: str | Path, home: str | Path | None = None) -> list[Path]:
    """The policy files of the folders above *project*, the nearest first; without one, that of the working folder."""
    if str(project) == NO_PROJECT:
        return [path for path in (project_file(Path.cwd().resolve()),) if is_meant(path)]
    return [path for path in map(project_file, _possible(Path(project).resolve().parent, home)) if is_meant(path)]


def default_state_dir() -> Path:
    """Where grants and trusted folders are kept."""
    return own_folder("state") / "permissions"


def own_folders() -> tuple[Path, ...]:
    """Where grants, tasks, questions and tokens of this user are kept: of every version and plugin of ours."""
    return own_folder("state"), own_folder("data"), own_folder("cache")


class Policy(Judge):
    """A policy, from a file or of a file's content."""

    _sources: tuple[Source, ...] = ()
    _problems: tuple[str, ...] | None = None
    _boxes: Confinement | None = None

    @property
    def own(self) -> Policy:
        """What holds without the file of a project that is not trusted."""
        return self

    @property
    def files(self) -> tuple[Source, ...]:
        """The files that it was loaded from, the user's first."""
        return tuple(source for source in self._sources if source.path is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        """What in the files is legal, but probably not what was meant: rules that can match nothing are among it."""
        if self._problems is None:
            from executor_permissions.store._problems import about_rules  # with the tables of options behind it

            notes = [note for source in self._sources for note in source.notes]
            self._problems = (*notes, *about_rules(self, self._sources))
        return self._problems

    @property
    def confinement(self) -> tuple[tuple[Mapping[str, Any], bool], ...]:
        """What each file says of ``confine``, and whether it may widen: an untrusted project's may not."""
        return tuple((source.value["confine"], source.trusted) for source in self._sources if "confine" in source.value)

    @property
    def boxes(self) -> Confinement:
        """Which box a command gets, as the files say under ``confine``."""
        if self._boxes is None:
            from executor_permissions.judge.boxes._profile import Confinement, Told  # as above

            told = [Told(one.value.get("confine", {}), one.marks(self.places), one.trusted) for one in self._sources]
            # What is added for a while, and an untrusted project's file, are no files that were written before boxes.
            files = [source.value for source in self._sources if source.trusted and source.value and not source.added]
            older = bool(files) and files[0].get("version") in _WITHOUT_BOXES and not self.confinement
            self._boxes = Confinement(told, self.places, self._files, older=older)
        return self._boxes

    def varied(
        self,
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        default: DefaultPolicy | None = None,
        protect: Sequence[str] = (),
    ) -> Policy:
        """
        This policy with more rules, for a while; its own tests are not run again.

        Args:
            allow: More rules of the whitelist: names of tools, patterns, ``tool(argument=value)``.
            deny: More rules of the blacklist.
            default: Another default.
            protect: More folders and files that nothing may read or write, absolute.

        Raises:
            PermissionConfigError: A rule is none.
        """
        value = {"blacklist": _section_of(deny), "whitelist": _section_of(allow)}
        source = Source(value, added=True)
        checked(source)
        places = self.places._replace(protected=tuple(sorted({*self.places.protected, *protect})))
        return _made((*self._sources, source), places, default or self.default, self._led)

    @classmethod
    def load(
        cls, path: str | Path, *, project_root: str | Path | None = None, home: str | Path | None = None
    ) -> Policy:
        """
        The policy of a file; nothing is merged with it.

        Raises:
            PermissionConfigError: It is missing, is not JSON, has a wrong key or type, or fails one of its own tests.
        """
        return build([read_source(spelt_out(path))], project_root=project_root, home=home)

    @classmethod
    def from_dict(
        cls,
        value: Mapping[str, Any],
        *,
        project_root: str | Path | None = None,
        home: str | Path | None = None,
        state_dir: Path | None = None,
    ) -> Policy:
        """
        The policy that a file of this content would be.

        Args:
            state_dir: Where grants are kept; protected as the policy's own files are.

        Raises:
            PermissionConfigError: As in `load`.
        """
        source = Source(json_copy(value))
        checked(source)
        return build([source], project_root=project_root, home=home, state_dir=state_dir)


P = TypeVar("P", bound=Policy)


def key_of(rule: str, tools: Collection[str] = ()) -> Literal["tools", "patterns"]:
    """Where in a list of a file *rule* belongs; *tools* are those that are known here."""
    of_service = WHOLE_SERVER.match(rule) is not None and any(name.startswith(rule[:-1]) for name in tools)
    is_tool = rule.startswith("mcp__") or rule in tools or of_service
    return "tools" if is_tool and "(" not in rule else "patterns"


def _section_of(rules: Sequence[str]) -> dict[str, list[str]]:
    """Rules of any form, as a list of a file has them."""
    return {key: [rule for rule in rules if key_of(rule) == key] for key in ("tools", "patterns")}


def json_copy(value: Any) -> Any:
    """A copy that shares nothing: what a caller does to its dict afterwards changes no policy."""
    if isinstance(value, Mapping):
        return {key: json_copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_copy(item) for item in value]
    return value


def load_effective(
    config_path: str | Path | None,
    project_root: Path,
    *,
    home: str | Path | None = None,
    state_dir: Path | None = None,
    is_trusted: Callable[[Path, str], bool] = lambda _folder, _digest: False,
) -> Policy:
    """
    The policy that holds: the given file, else the environment's, else the user's, else the built-in one (ask).

    The project's own file (``.toolexec/permissions.json``) adds to it: what it denies and asks always, what it allows,
    and what it says of the meaning of arguments, only when the folder is trusted with this very content. Those of the
    folders above it, up to the home folder, deny and ask too: whoever can make a project below another one, which is a
    file of a certain name, is not rid of what that forbids.

    Raises:
        PermissionConfigError: A file that was asked for is missing, or one that was found is wrong.
    """
    asked_for = named_file(config_path)
    first = asked_for or user_file()
    sources = [read_source(first) if asked_for is not None or is_meant(first) else Source({})]
    own = project_file(project_root)
    if is_meant(own) and not _is_of(sources[0], own):
        source = read_source(own)
        _note_unread(source, sources[0])
        if not is_trusted(project_root, source.digest):
            for key, what in _LEFT_OUT.items():
                if key in source.value:
                    text = f"{what} is left out until this folder is trusted: toolexec permissions trust"
                    source.notes.append(source.where((key,)) + text)
            _leave_what_narrows(source)
        sources.append(source)
    for path in files_above(project_root, home):
        if not _is_of(sources[0], path):
            source = read_source(path)
            source.project = str(path.parent.parent)
            _leave_what_narrows(source)
            sources.append(source)
    return build(sources, project_root=project_root, home=home, state_dir=state_dir)


def _note_unread(source: Source, first: Source) -> None:
    """Note what the file of a project says that is read in the *first* file alone."""
    for key, what in _OF_FIRST.items():
        if key in source.value and source.value[key] != first.value.get(key, _USUAL.get(key)):
            source.notes.append(source.where((key,)) + f"{what}, your own policy file says, and no project's")


def _is_of(source: Source, path: Path) -> bool:
    return source.path is not None and os.path.realpath(path) == os.path.realpath(source.path)


def _leave_what_narrows(source: Source) -> None:
    """Leave of it what a file may say that nobody has trusted."""
    source.value = {key: item for key, item in source.value.items() if key in _OF_ANYBODY}
    source.trusted = False


def build(
    sources: Sequence[Source],
    *,
    project_root: str | Path | None = None,
    home: str | Path | None = None,
    state_dir: Path | None = None,
) -> Policy:
    """
    One policy of several files; what is no list comes from the first.

    Raises:
        PermissionConfigError: It fails a test of its own.
    """
    places = _places(sources, Path(project_root) if project_root is not None else find_project(), home, state_dir)
    policy = _made(sources, places, sources[0].value.get("defaultPolicy", "ask"))
    first = sources[0]
    run_tests(first, policy.own, lambda elsewhere: _made([first], elsewhere, policy.default))
    return policy


def _made(sources: Sequence[Source], places: Places, default: DefaultPolicy, led: Led | None = None) -> Policy:
    """The policy of *sources*, not yet tried on its tests. Raises PermissionConfigError."""
    trusted = [source for source in sources if source.trusted]
    own = _merged(Policy, trusted, places, default, led)
    if len(trusted) == len(sources):
        return own
    from executor_permissions.store._narrowed import Narrowed  # it is a Policy itself

    policy = _merged(Narrowed, sources, places, default, led)
    policy._own = own  # noqa: SLF001 -- as below
    return policy


def _merged(kind: type[P], sources: Sequence[Source], places: Places, default: DefaultPolicy, led: Led | None) -> P:
    """The rules of all *sources* in one."""
    first = sources[0]
    kinds: dict[str, dict[str, str]] = {}
    origins: dict[tuple[str, str], str] = {}
    for source in reversed(sources):
        for tool, arguments in source.value.get("argumentKinds", {}).items():
            kinds.setdefault(tool, {}).update(arguments)
        origins.update(source.origins())
    try:
        policy = kind(
            {name: [source.section(name) for source in sources] for name in LISTS},
            places,
            default=default,
            kinds=kinds,
            shell_tools=[tool for source in sources for tool in source.value.get("shellTools", ())],
            origins=origins,
            channel=first.value.get("channel", {}),
            limits=_limits(sources),
            led=led,
        )
    except (ValueError, OSError) as error:
        raise failure(first.path, [f"{first.path or 'the policy'}: a rule cannot be used: {error}"]) from error
    policy._sources = tuple(sources)  # noqa: SLF001 -- its own, see `Policy.varied`
    return policy


def _limits(sources: Sequence[Source]) -> list[Limit]:
    """Every limit of every file: all of them hold, so that another file can only lower a number."""
    found = (
        Limit(tool, scope, number)
        for source in sources
        for tool, numbers in source.value.get("limits", {}).items()
        for scope, number in numbers.items()
    )
    return list(dict.fromkeys(found))  # one that two files say is one: a call counts for it once


def _places(sources: Sequence[Source], project: Path, home: str | Path | None, state_dir: Path | None) -> Places:
    root = Path(os.path.realpath(project))
    home_path = os.path.realpath(Path(home) if home is not None else home_folder())
    protected = {str(root / PROJECT_FOLDER), os.path.realpath(state_dir or default_state_dir())}
    protected |= {os.path.realpath(folder) for folder in (user_file().parent, *own_folders())}
    protected |= kept_own()
    protected.add(os.path.join(home_path, ".config", "toolexec"))  # noqa: PTH118 -- text
    base = Places(str(root), home_path).base
    folder = folder_of(sources[0].value.get("channel") or {}, base, home_path)
    if folder is not None:
        problem = unfit_folder(folder, base, home_path)
        if problem is not None:
            raise failure(sources[0].path, [sources[0].where(("channel", "base_path")) + problem])
        protected |= {str(folder), os.path.realpath(folder)}
    for source in sources:
        if source.path is None:
            continue
        real = Path(os.path.realpath(source.path))
        protected |= {str(real), os.path.abspath(source.path)}  # noqa: PTH100 -- the link itself, not what it leads to
        # A folder that holds the project (without one, the working folder), or is somebody's home, is not its own.
        if not Path(base).is_relative_to(real.parent) and not Path(home_path).is_relative_to(real.parent):
            protected.add(str(real.parent))
    return Places(str(root), home_path, tuple(sorted(protected)), folders_elsewhere(str(root)))
