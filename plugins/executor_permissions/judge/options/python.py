"""Python, its package managers. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

MANUAL = "pip 25, uv 0.5"
PIP = (
    "-v -q -h --help --verbose --quiet --no-color --no-input --disable-pip-version-check --isolated "
    "--no-python-version-warning --require-virtualenv --debug --timeout: --retries: --exists-action: -vv -vvv -qq"
)
PIP_INSTALL = (
    "-r:codelocal -c:codelocal -e:codepackage -U -I --requirement:codelocal --constraint:codelocal "
    "--editable:codepackage --upgrade "
    "--upgrade-strategy: --force-reinstall --ignore-installed --no-deps --pre --user --no-user --dry-run "
    "--no-build-isolation --use-pep517 --no-use-pep517 --no-cache-dir --no-clean --no-compile --compile "
    "--only-binary: --no-binary: --prefer-binary --platform: --python-version: --implementation: --abi: "
    "--require-hashes --no-warn-script-location --break-system-packages --progress-bar: --root-user-action: "
    "--ignore-requires-python --no-index -y --yes --group:filename"
)
UV_RESOLVE = (
    "--frozen --locked --no-sync --all-extras --extra: --no-extra: --no-dev --dev --only-dev --group: --no-group: "
    "--no-default-groups --only-group: --all-groups --all-packages --package: --upgrade -U --upgrade-package: -P: "
    "--resolution: --prerelease: --exclude-newer: --no-build --no-build-package: --no-binary --no-binary-package: "
    "--reinstall --refresh --inexact --exact --isolated --active --no-editable --no-install-project "
    "--no-install-workspace --dry-run --check --compile-bytecode --no-index --strict --no-sources "
    "--no-default-groups --raw --bounds: --optional: --workspace --no-workspace --branch: --tag: --rev: --editable"
)
PROGRAMS: dict[str, Entry] = {
    "pip": Entry(
        "builder",
        "pip 23, 25",
        "",
        PIP + " -V --version",
        asks="--log:write --python:code --proxy: --cert:read --client-cert:read --cache-dir: --trusted-host: --use-feature: "
        "--use-deprecated: --keyring-provider:",
        traits="globals",
        subs={
            "list": Entry(
                "reader",
                MANUAL,
                "",
                "-l -e --local --user --editable --exclude-editable --include-editable --exclude: --format: "
                "--not-required -o -u --outdated --uptodate --pre",
            ),
            "show": Entry(
                "reader",
                MANUAL,
                "text*",
                "-f --files",
            ),
            "freeze": Entry(
                "reader",
                MANUAL,
                "",
                "-l --local --user --all --exclude-editable --exclude: -r:read --requirement:read",
            ),
            "check inspect debug": Entry(
                "reader",
                MANUAL,
                "",
                "--local --user",
            ),
            "help": Entry(
                "reader",
                MANUAL,
                "text",
            ),
            "config": Entry(
                "writer",
                MANUAL,
                "",
                "--user --global --site",
                subs={"list debug": Entry("reader", MANUAL), "get": Entry("reader", MANUAL, "text")},
            ),
            "cache": Entry(
                "writer",
                MANUAL,
                "",
                "--format:",
                subs={
                    "dir info list": Entry("reader", MANUAL, "text*", "--format:"),
                    "remove purge": Entry("writer", MANUAL, "text*"),
                },
            ),
            "hash": Entry(
                "reader",
                MANUAL,
                "read*",
                "-a: --algorithm:",
            ),
            "index": Entry(
                "network",
                MANUAL,
                "",
                subs={"versions": Entry("network", MANUAL, "text", "--pre --json")},
            ),
            "install": Entry(
                "builder",
                MANUAL,
                "codepackage*",
                PIP_INSTALL,
                asks="-t:write --target:write --prefix:write --root:write --src:write -i: --index-url: "
                "--extra-index-url: -f: --find-links: --report:write --config-settings: -C: --build-option: "
                "--global-option:",
            ),
            "uninstall": Entry(
                "writer",
                MANUAL,
                "text*",
                "-y --yes -r:read --requirement:read --break-system-packages --root-user-action:",
            ),
        },
    ),
    "uv": Entry(
        "builder",
        "uv 0.5",
        "",
        "-q -v -h --quiet --verbose --help --offline --no-config --no-progress --color: --no-python-downloads -n --no-cache --native-tls -V --version",
        asks="--directory:code --project:code --config-file:code --cache-dir:write --allow-insecure-host: --python-preference: "
        "-p:code --python:code --index: --default-index: --index-url: -i: --extra-index-url: --find-links: -f: "
        "--managed-python --no-managed-python",
        traits="globals",
        subs={
            "run": Entry(
                "builder",
                MANUAL,
                "command",
                UV_RESOLVE,
                asks="-m --module -s --script --gui-script --with:code --with-editable:code --with-requirements:code "
                "--env-file:read -w:",
                traits="stop runner",
            ),
            "sync lock add remove": Entry(
                "builder",
                MANUAL,
                "codepackage*",
                UV_RESOLVE + " -r:codelocal --requirements:codelocal -c:codelocal --constraints:codelocal",
                asks="--script: --default-index:",
            ),
            "tree": Entry(
                "builder",
                MANUAL,
                "",
                UV_RESOLVE
                + " -d: --depth: --prune: --no-dedupe --invert --universal --outdated --show-version-specifiers",
            ),
            "export": Entry(
                "builder",
                MANUAL,
                "",
                UV_RESOLVE + " --format: --no-hashes --no-header --no-annotate --no-emit-project --no-emit-package:",
                asks="-o:write --output-file:write",
            ),
            "version": Entry(
                "writer",
                MANUAL,
                "text",
                "--short --output-format: --bump: --dry-run --frozen",
            ),
            "cache": Entry(
                "writer",
                MANUAL,
                "",
                subs={"dir": Entry("reader", MANUAL), "prune clean": Entry("writer", MANUAL, "text*", "--ci --force")},
            ),
            "build": Entry(
                "builder",
                MANUAL,
                "",
                "--sdist --wheel --package: --all-packages --no-build-logs --clear",
                asks="-o:write --out-dir:write",
            ),
            "init": Entry(
                "writer",
                MANUAL,
                "write",
                "--app --lib --package --no-package --bare --name: --no-readme --no-workspace --vcs:",
            ),
            "venv": Entry(
                "writer",
                MANUAL,
                "write",
                "--seed --allow-existing --clear --prompt: --system-site-packages --relocatable",
            ),
            "help": Entry("reader", MANUAL, "text*"),
            "self": Entry(
                "network",
                MANUAL,
                "",
                subs={
                    "version": Entry("reader", MANUAL, "", "--short"),
                    "update uninstall": Entry("network", MANUAL, "text*", "--dry-run", traits="spell"),
                },
            ),
            "python": Entry(
                "builder",
                MANUAL,
                "",
                subs={
                    "list find dir": Entry(
                        "builder", MANUAL, "filename*", "--all-versions --only-installed --output-format:"
                    ),
                    "install pin": Entry("network", MANUAL, "filename*"),
                },
            ),
            "pip": Entry(
                "builder",
                MANUAL,
                "",
                subs={
                    "list freeze check tree show": Entry(
                        "builder",
                        MANUAL,
                        "text*",
                        UV_RESOLVE
                        + " -e -f --files --editable --exclude-editable --exclude: --format: -d: --depth: --prune: --no-dedupe --invert --outdated",
                    ),
                    "install sync": Entry(
                        "builder",
                        MANUAL,
                        "codepackage*",
                        UV_RESOLVE
                        + " -r:codelocal -e:codepackage -c:codelocal --requirements:codelocal --editable:codepackage "
                        "--constraints:codelocal --no-deps --user",
                        asks="-t:write --target:write --prefix:write --system --break-system-packages",
                    ),
                    "uninstall": Entry("writer", MANUAL, "text*", "-y -r:read --requirements:read"),
                    "compile": Entry(
                        "builder",
                        MANUAL,
                        "code*",
                        UV_RESOLVE + " --no-header --no-annotate --generate-hashes --universal --no-strip-extras",
                        asks="-o:write --output-file:write",
                    ),
                },
            ),
            "tool": Entry(
                "builder",
                MANUAL,
                "",
                subs={
                    "list dir": Entry("reader", MANUAL),
                    "run": Entry("builder", MANUAL, "command", traits="stop runner spell", asks="--from: --with:"),
                    "install upgrade uninstall": Entry(
                        "network", MANUAL, "codepackage*", "--force --upgrade", traits="spell"
                    ),
                },
            ),
        },
    ),
    "uvx": Entry(
        "builder",
        "uv 0.5",
        "command",
        "-q -v --quiet --verbose --offline --no-config --isolated",
        asks="--from:code --with:code -p:code --python:code --index: --with-editable:code --with-requirements:code --env-file:read",
        traits="stop runner",
    ),
    "poetry pdm hatch pipenv rye": Entry(
        "builder",
        "poetry 1.8, 2, pdm 2, hatch 1",
        "",
        "-q -v -vv -vvv -h -n --quiet --verbose --no-interaction --ansi --no-ansi --help --version -V --no-plugins "
        "--no-cache",
        asks="-C:code --directory:code -P:code --project:code -p:code -e: --env:",
        traits="globals",
        subs={
            "run": Entry(
                "builder",
                MANUAL,
                "command",
                traits="stop runner",
            ),
            "show check lock about list version search info outdated status graph": Entry(
                "builder",
                MANUAL,
                "text*",
                "-t -l -o -a -T --tree --latest --outdated --all --top-level --no-dev --why --with: --without: "
                "--only: --no-update --regenerate --strict --short -s --lock --graph --json --check --resolve "
                "--fields: --freeze --sort:",
            ),
            # For pipenv, what it does not know and all that follows is a package.
            "install sync add remove update": Entry(
                "builder",
                MANUAL,
                "codepackage*",
                "--no-root --sync --with:codepackage --without:codepackage --only:codepackage --only-root --all-extras --extras:codepackage -E:codepackage --all-groups "
                "--dry-run --no-dev --dev -D -d --group:codepackage -G:codepackage --optional --editable --allow-prereleases --lock "
                "--compile --python:pythonversion --platform:codepackage --prod --no-self --frozen-lockfile --no-lock --skip-lock --deploy",
            ),
            "build": Entry(
                "builder",
                MANUAL,
                "",
                "-f: --format: --clean --local-version: --no-isolation",
                asks="-o:write --output:write",
            ),
            "env": Entry(
                "builder",
                MANUAL,
                "",
                subs={
                    "info list show": Entry("builder", MANUAL, "text*", "-p -e --path --executable --full-path"),
                    "use": Entry("builder", MANUAL, "pythonversion"),
                    "remove": Entry("builder", MANUAL, "filename*", "--all"),
                },
            ),
            "config": Entry(
                "writer",
                MANUAL,
                "",
                "--list",
            ),
            "test fmt": Entry(
                "builder",
                MANUAL,
                "code*",
                "-a -c -p --all --cover --parallel --randomize -l --check",
            ),
            "publish": Entry(
                "network",
                MANUAL,
                "",
                "--dry-run --build --skip-existing -r: --repository:",
            ),
        },
    ),
    "pipx": Entry(
        "builder",
        "pipx 1",
        "",
        "--version --help",
        subs={
            "list": Entry(
                "reader",
                MANUAL,
                "",
                "--short --json --include-injected",
            ),
            "run": Entry(
                "builder",
                MANUAL,
                "command",
                asks="--spec: --python: --pip-args: --index-url: --no-cache",
                traits="stop runner spell",
            ),
            "install upgrade uninstall inject": Entry(
                "network",
                MANUAL,
                "codepackage*",
                "-f --force",
                asks="--index-url: --pip-args:",
                traits="spell",
            ),
        },
    ),
    "python pypy": Entry(
        "builder",
        "CPython 3.13",
        "",
        shape="python",
    ),
}
