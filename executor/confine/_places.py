"""Folders that every box knows: where secrets are kept, where toolexec keeps its own, and where a box may write."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor.confine._disk import Disk
from executor.confine._mounted import is_in, mounts, other_names
from executor.ownfiles import kept_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from executor.confine._mounted import Mount
    from executor.values._profile import Profile


SECRET_PLACES = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".docker/config.json",
    ".docker/contexts/tls",
    ".docker/key.pem",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".s3cfg",
    ".oci",
    ".databrickscfg",
    ".snowflake",
    ".snowsql/config",
    ".kaggle/kaggle.json",
    ".bitcoin/wallet.dat",
    ".bitcoin/wallets",
    ".ethereum/keystore",
    ".boto",
    ".authinfo",
    ".authinfo.gpg",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/helm/registry",
    ".config/pypoetry/auth.toml",
    ".config/gcloud",
    ".config/doctl",
    ".config/stripe",
    ".config/containers/auth.json",
    ".config/solana/id.json",
    ".config/kaggle/kaggle.json",
    ".config/netlify",
    ".config/ngrok",
    ".config/weechat/sec.conf",
    ".config/wrangler",
    ".config/.wrangler",
    ".config/Code/User/globalStorage/state.vscdb",
    ".local/share/com.vercel.cli",
    ".local/share/uv/credentials",
    ".electrum/wallets",
    ".fetchmailrc",
    ".fly/config.yml",
    ".msmtprc",
    ".ngrok2",
    ".pulumi/credentials.json",
    ".step/secrets",
    ".vercel",
    ".wrangler",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/git/credentials",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/google-chrome-unstable",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/microsoft-edge-beta",
    ".config/microsoft-edge-dev",
    ".config/opera",
    ".config/vivaldi",
    ".config/mozilla",
    ".mozilla",
    ".librewolf",
    ".waterfox",
    ".floorp",
    ".zen",
    ".thunderbird",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings-security.xml",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".vault-token",
    ".Xauthority",
    ".ICEauthority",
    "snap/firefox",
    "snap/chromium",
    "snap/brave",
    "snap/opera",
    ".var/app",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".rediscli_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
)
"""The files and folders below the home folder in which programs keep what nobody else is to see."""
SECRET_VARIABLES: dict[str, tuple[str, ...]] = {
    "AWS_CONFIG_FILE": ("",),
    "AWS_SHARED_CREDENTIALS_FILE": ("",),
    "AWS_WEB_IDENTITY_TOKEN_FILE": ("",),
    "AZURE_CONFIG_DIR": ("",),
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "CLOUDSDK_CONFIG": ("",),
    "COMPOSER_HOME": ("auth.json",),
    "DATABRICKS_CONFIG_FILE": ("",),
    "DOCKER_CONFIG": ("config.json",),
    "GH_CONFIG_DIR": ("",),
    "GNUPGHOME": ("",),
    "GOOGLE_APPLICATION_CREDENTIALS": ("",),
    "HF_HOME": ("token",),
    "HF_TOKEN_PATH": ("",),
    "HISTFILE": ("",),
    "ICEAUTHORITY": ("",),
    "KAGGLE_CONFIG_DIR": ("kaggle.json",),
    "KUBECONFIG": ("",),
    "NETRC": ("",),
    "NPM_CONFIG_USERCONFIG": ("",),
    "OCI_CLI_CONFIG_FILE": ("",),
    "PASSWORD_STORE_DIR": ("",),
    "PGPASSFILE": ("",),
    "PIP_CONFIG_FILE": ("",),
    "PULUMI_HOME": ("credentials.json",),
    "RCLONE_CONFIG": ("",),
    "REGISTRY_AUTH_FILE": ("",),
    "SOPS_AGE_KEY_FILE": ("",),
    "TF_CLI_CONFIG_FILE": ("",),
    "XAUTHORITY": ("",),
    "XDG_RUNTIME_DIR": ("containers/auth.json",),
    "npm_config_userconfig": ("",),
}
"""The variables that name other places for them, and what is secret there: "" is all that is named."""
_USUALLY: dict[Literal["config", "state", "data", "cache"], str] = {
    "config": ".config",
    "state": ".local/state",
    "data": ".local/share",
    "cache": ".cache",
}
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_SETTINGS = ("config.toml", "mcp.json", "permissions.json")  # toolexec's own files in its folder of settings
DEVICE_FOLDER = "/dev"
_KINDS_OF_DEVICES = ("devtmpfs", "devpts")  # of file systems
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class Places(NamedTuple):
    """
    The user's own folders, as the environment names them now.

    Those of toolexec are where all of it keeps them: what says otherwise here would leave them open to every box.
    """

    home: str
    config: str
    state: str
    data: str
    cache: str
    own_files: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()

    @classmethod
    def now(cls, environ: Mapping[str, str] | None = None) -> Places:
        """*environ* is this process's own, for who has copied it: each look into ``os.environ`` costs a microsecond."""
        told = os.environ.copy() if environ is None else environ
        home = _home(told)
        config, state, data, cache = (_kept(kind, home, told) for kind in _USUALLY)
        return cls(home, config, state, data, cache, kept_own(), _named_in(told, home, SECRET_VARIABLES))

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
        for path in filter(None, value.split(os.pathsep) if variable == "KUBECONFIG" else (value,)):
            with contextlib.suppress(FileNotFoundError):  # in a working folder that is gone there is nothing
                whole = os.path.abspath(path)
                if not whole.startswith(_NO_FILES) and not is_in(home, whole):
                    found += [os.path.join(whole, part) if part else whole for part in SECRET_VARIABLES[variable]]
    return tuple(found)


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
    disk, named = disk or Disk(), _named(profile, places)
    yield from named
    yield from other_names((disk.real(path) for path in named), mounts() if mounted is None else mounted)


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
    kept = set(profile.credentials)
    for name in SECRET_PLACES:
        if (path := os.path.join(places.home, name)) not in kept:
            yield path
        below_config = name.removeprefix(".config/")
        if below_config != name and (path := os.path.join(places.config, below_config)) not in kept:
            yield path
    yield from (path for path in profile.unreadable if path not in kept)
    yield from (path for path in places.named if path not in kept and not is_in(profile.project, path))
    yield from places.all_own
