"""Python, its package managers. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PIP = (
    "-v -q -h --help --verbose --quiet --no-color --no-input --disable-pip-version-check --isolated "
    "--no-python-version-warning --require-virtualenv --debug --timeout: --retries: --exists-action: -vv -vvv -qq"
)
PIP_INSTALL = (
    "-r:codelocal -c:codelocal -e:codepackage -U -I --requirement:codelocal --constraint:codelocal "
    "--editable:codepackage --upgrade --upgrade-strategy: --force-reinstall --ignore-installed --no-deps --pre --user "
    "--no-user --dry-run --no-build-isolation --use-pep517 --no-use-pep517 --no-cache-dir --no-clean --no-compile "
    "--compile --only-binary: --no-binary: --prefer-binary --platform: --python-version: --implementation: --abi: "
    "--require-hashes --no-warn-script-location --break-system-packages --progress-bar: --root-user-action: "
    "--ignore-requires-python --no-index -y --yes --group:filename"
)
UV_RESOLVE = (
    "--frozen --locked --no-sync --all-extras --extra: --no-extra: --no-dev --dev --only-dev --group: --no-group: "
    "--no-default-groups --only-group: --all-groups --all-packages --package: --upgrade -U --upgrade-package: -P: "
    "--resolution: --prerelease: --exclude-newer: --no-build --no-build-package: --no-binary --no-binary-package: "
    "--reinstall --refresh --inexact --exact --isolated --active --no-editable --no-install-project "
    "--no-install-workspace --dry-run --check --compile-bytecode --no-index --strict --no-sources --raw --bounds: "
    "--optional: --workspace --no-workspace --branch: --tag: --rev: --editable"
)
PROGRAMS: dict[str, Entry] = {
    "pip": Entry(
        "builder",
        "",
        PIP + " -V --version",
        manual="pip 23, 25",
        asks="--log:write --python:code --proxy: --cert:read --client-cert:read --cache-dir: --trusted-host: "
        "--use-feature: --use-deprecated: --keyring-provider:",
        traits="globals",
        subs={
            "list": Entry(
                "reader",
                "",
                "-l -e --local --user --editable --exclude-editable --include-editable --exclude: --format: "
                "--not-required -o -u --outdated --uptodate --pre",
            ),
            "show": Entry("reader", "text*", "-f --files"),
            "freeze": Entry(
                "reader", "", "-l --local --user --all --exclude-editable --exclude: -r:read --requirement:read"
            ),
            "check inspect debug": Entry("reader", "", "--local --user"),
            "help": Entry("reader", "text"),
            "config": Entry(
                "writer",
                "",
                "--user --global --site",
                subs={"list debug": Entry("reader"), "get": Entry("reader", "text")},
            ),
            "cache": Entry(
                "writer",
                "",
                "--format:",
                subs={"dir info list": Entry("reader", "text*", "--format:"), "remove purge": Entry("writer", "text*")},
            ),
            "hash": Entry("reader", "read*", "-a: --algorithm:"),
            "index": Entry("network", subs={"versions": Entry("network", "text", "--pre --json")}),
            "install": Entry(
                "builder",
                "codepackage*",
                PIP_INSTALL,
                asks="-t:write --target:write --prefix:write --root:write --src:write -i: --index-url: "
                "--extra-index-url: -f: --find-links: --report:write --config-settings: -C: --build-option: "
                "--global-option:",
            ),
            "uninstall": Entry(
                "writer", "text*", "-y --yes -r:read --requirement:read --break-system-packages --root-user-action:"
            ),
        },
    ),
    "uv": Entry(
        "builder",
        "",
        "-q -v -h --quiet --verbose --help --offline --no-config --no-progress --color: --no-python-downloads -n "
        "--no-cache --native-tls -V --version",
        manual="uv 0.5",
        asks="--directory:code --project:code --config-file:code --cache-dir:write --allow-insecure-host: "
        "--python-preference: -p:code --python:code --index: --default-index: --index-url: -i: --extra-index-url: "
        "--find-links: -f: --managed-python --no-managed-python",
        traits="globals",
        subs={
            "run": Entry(
                "builder",
                "command",
                UV_RESOLVE,
                asks="-m --module -s --script --gui-script --with:code --with-editable:code --with-requirements:code "
                "--env-file:read -w:",
                traits="stop runner",
            ),
            "sync lock add remove": Entry(
                "builder",
                "codepackage*",
                UV_RESOLVE + " -r:codelocal --requirements:codelocal -c:codelocal --constraints:codelocal",
                asks="--script: --default-index:",
            ),
            "tree": Entry(
                "builder",
                "",
                UV_RESOLVE
                + " -d: --depth: --prune: --no-dedupe --invert --universal --outdated --show-version-specifiers",
            ),
            "export": Entry(
                "builder",
                "",
                UV_RESOLVE + " --format: --no-hashes --no-header --no-annotate --no-emit-project --no-emit-package:",
                asks="-o:write --output-file:write",
            ),
            "version": Entry("writer", "text", "--short --output-format: --bump: --dry-run --frozen"),
            "cache": Entry(
                "writer", subs={"dir": Entry("reader"), "prune clean": Entry("writer", "text*", "--ci --force")}
            ),
            "build": Entry(
                "builder",
                "",
                "--sdist --wheel --package: --all-packages --no-build-logs --clear",
                asks="-o:write --out-dir:write",
            ),
            "init": Entry(
                "writer", "write", "--app --lib --package --no-package --bare --name: --no-readme --no-workspace --vcs:"
            ),
            "venv": Entry(
                "writer", "write", "--seed --allow-existing --clear --prompt: --system-site-packages --relocatable"
            ),
            "help": Entry("reader", "text*"),
            "self": Entry(
                "network",
                subs={
                    "version": Entry("reader", "", "--short"),
                    "update uninstall": Entry("network", "text*", "--dry-run", traits="spell"),
                },
            ),
            "python": Entry(
                "builder",
                subs={
                    "list find dir": Entry("builder", "filename*", "--all-versions --only-installed --output-format:"),
                    "install pin": Entry("network", "filename*"),
                },
            ),
            "pip": Entry(
                "builder",
                subs={
                    "list freeze check tree show": Entry(
                        "builder",
                        "text*",
                        UV_RESOLVE
                        + " -e -f --files --editable --exclude-editable --exclude: --format: -d: --depth: --prune: --no-dedupe --invert --outdated",
                    ),
                    "install sync": Entry(
                        "builder",
                        "codepackage*",
                        UV_RESOLVE
                        + " -r:codelocal -e:codepackage -c:codelocal --requirements:codelocal --editable:codepackage "
                        "--constraints:codelocal --no-deps --user",
                        asks="-t:write --target:write --prefix:write --system --break-system-packages",
                    ),
                    "uninstall": Entry("writer", "text*", "-y -r:read --requirements:read"),
                    "compile": Entry(
                        "builder",
                        "code*",
                        UV_RESOLVE + " --no-header --no-annotate --generate-hashes --universal --no-strip-extras",
                        asks="-o:write --output-file:write",
                    ),
                },
            ),
            "tool": Entry(
                "builder",
                subs={
                    "list dir": Entry("reader"),
                    "run": Entry("builder", "command", traits="stop runner spell", asks="--from: --with:"),
                    "install upgrade uninstall": Entry("network", "codepackage*", "--force --upgrade", traits="spell"),
                },
            ),
        },
    ),
    "uvx": Entry(
        "builder",
        "command",
        "-q -v --quiet --verbose --offline --no-config --isolated",
        manual="uv 0.5",
        asks="--from:code --with:code -p:code --python:code --index: --with-editable:code --with-requirements:code "
        "--env-file:read",
        traits="stop runner",
    ),
    "poetry pdm hatch pipenv rye": Entry(
        "builder",
        "",
        "-q -v -vv -vvv -h -n --quiet --verbose --no-interaction --ansi --no-ansi --help --version -V --no-plugins "
        "--no-cache",
        manual="poetry 1.8, 2, pdm 2, hatch 1",
        asks="-C:code --directory:code -P:code --project:code -p:code -e: --env:",
        traits="globals loads",  # plugins
        subs={
            "run": Entry("builder", "command", traits="stop runner"),
            "show check lock about list version search info outdated status graph": Entry(
                "builder",
                "text*",
                "-t -l -o -a -T --tree --latest --outdated --all --top-level --no-dev --why --with: --without: "
                "--only: --no-update --regenerate --strict --short -s --lock --graph --json --check --resolve "
                "--fields: --freeze --sort:",
            ),
            # For pipenv, what it does not know and all that follows is a package.
            "install sync add remove update": Entry(
                "builder",
                "codepackage*",
                "--no-root --sync --with:codepackage --without:codepackage --only:codepackage --only-root "
                "--all-extras --extras:codepackage -E:codepackage --all-groups --dry-run --no-dev --dev -D -d "
                "--group:codepackage -G:codepackage --optional --editable --allow-prereleases --lock --compile "
                "--python:pythonversion --platform:codepackage --prod --no-self --frozen-lockfile --no-lock "
                "--skip-lock --deploy",
            ),
            "build": Entry(
                "builder", "", "-f: --format: --clean --local-version: --no-isolation", asks="-o:write --output:write"
            ),
            "env": Entry(
                "builder",
                subs={
                    "info list show": Entry("builder", "text*", "-p -e --path --executable --full-path"),
                    "use": Entry("builder", "pythonversion"),
                    "remove": Entry("builder", "filename*", "--all"),
                },
            ),
            "config": Entry("writer", "", "--list"),
            "test fmt": Entry("builder", "code*", "-a -c -p --all --cover --parallel --randomize -l --check"),
            "publish": Entry("network", "", "--dry-run --build --skip-existing -r: --repository:"),
        },
    ),
    "pipx": Entry(
        "builder",
        "",
        "--version --help",
        manual="pipx 1",
        subs={
            "list": Entry("reader", "", "--short --json --include-injected"),
            "run": Entry(
                "builder",
                "command",
                asks="--spec: --python: --pip-args: --index-url: --no-cache",
                traits="stop runner spell",
            ),
            "install upgrade uninstall inject": Entry(
                "network", "codepackage*", "-f --force", asks="--index-url: --pip-args:", traits="spell"
            ),
        },
    ),
    "python pypy": Entry("builder", manual="CPython 3.13", shape="python"),
}
