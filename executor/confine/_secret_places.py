"""Where secrets are kept: by programs in the user's home folder, where variables say so, and by the system."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from executor.confine._values import PASSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.confine._disk import Stamp

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
OF_PROJECTS_TOO = frozenset({".npmrc", ".yarnrc.yml", ".vercel", ".wrangler"})
"""Those of them that a project has as well, where there is mostly no secret in them."""
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
    "KRB5CCNAME": ("",),
    "KRB5_CLIENT_KTNAME": ("",),
    "KRB5_KTNAME": ("",),
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
SYSTEM_PLACES = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssl/private",
    "/run/secrets",
    "/var/run/secrets",
    "/etc/kubernetes/admin.conf",
    "/etc/rancher/k3s/k3s.yaml",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/archive",
)
"""Those of the system itself."""
TICKETS = "/tmp/krb5cc_"  # noqa: S108 -- Kerberos keeps them there, with the user's number behind
HOMES = ("/home", "/Users")  # where homes are
_OF_ROOT = "/root"
_ROOT_ALONE = (  # reads them, so that nobody else is to be kept from them
    *("/etc/shadow-", "/etc/gshadow-", "/var/backups/shadow.bak", "/var/backups/gshadow.bak"),  # copies
    "/etc/krb5.keytab",
    *(f"/etc/ssh/ssh_host_{kind}_key" for kind in ("dsa", "ecdsa", "ed25519", "rsa")),
)


def readable_elsewhere() -> tuple[str, ...]:
    """The system's secrets that this user may read: it keeps them from nearly everybody itself."""
    if sys.platform == "win32":  # where there are no boxes
        return ()
    told = (*SYSTEM_PLACES, *(_ROOT_ALONE if os.geteuid() == 0 else ()))
    return (*(path for path in told if os.access(path, os.R_OK)), *_tickets())


def other_homes(home: str) -> tuple[str, ...]:
    """
    The home folders but for *home*, by whatever name, in which this user's boxes may read no secrets: the one that is
    the user's when ``HOME`` names another, and everybody's if this is root.
    """
    if sys.platform == "win32":
        return ()
    found = {_home_of(os.getuid()), *(homes_below("/") if os.geteuid() == 0 else ())} - {home, ""}
    own = _identity(home) if found else None
    return tuple(sorted(path for path in found if own is None or _identity(path) != own))


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _tickets() -> Iterator[str]:
    """
    The tickets of this user, of each session (``krb5cc_1000_a1B2c3``); of root, everybody's.

    What somebody else calls so can be a link to anything, and is not followed.
    """
    folder, _, beginning = TICKETS.rpartition("/")
    user = os.geteuid()
    for name in _names_in(folder, beginning):
        with contextlib.suppress(OSError):
            found = os.lstat(f"{folder}/{name}")
            if found.st_uid == user or (user == 0 and stat.S_ISREG(found.st_mode)):
                yield f"{folder}/{name}"


def _names_in(folder: str, beginning: str) -> tuple[str, ...]:
    """The names in *folder* with this *beginning*: of thousands, which are only looked at when one comes or goes."""
    from executor.confine._disk import stamp_of  # with which comes what nobody needs who judges a path

    stamp = stamp_of(folder)
    if stamp is None:
        return ()
    return (_names_at if stamp.changed else _names_at.__wrapped__)(stamp, beginning)


@lru_cache(maxsize=1)
def _names_at(stamp: Stamp, beginning: str) -> tuple[str, ...]:
    return tuple(name for name in _listed(stamp.path) if name.startswith(beginning))


def homes_below(folder: str) -> list[str]:
    """
    The home folders that *folder*, "/" or one of `HOMES`, holds.

    Raises:
        OSError: It cannot be told now, and may be soon.
    """
    found = [_OF_ROOT] if folder == "/" else []
    for parent in HOMES:
        if folder in ("/", parent):
            found += [f"{parent}/{name}" for name in _listed(parent)]
    return found


def _listed(folder: str) -> list[str]:
    """The names in *folder*, none where it cannot be listed. Raises OSError: now, and it may be soon."""
    try:
        return os.listdir(folder)
    except OSError as error:
        if error.errno in PASSING:
            raise
        return []


@lru_cache(maxsize=4)
def _home_of(user: int) -> str:
    """As the system says it, which is looked up once: a server may have to be asked."""
    if sys.platform == "win32":
        return ""
    import pwd

    try:
        return pwd.getpwuid(user).pw_dir
    except KeyError:
        return _OF_ROOT
