"""Test runners, type checkers, linters and formatters of Python projects, and modules that are run (``-m NAME``). See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

TOX = (
    "-v -q -h --help --colored: --verbose --quiet -vv -vvv -qq -s: --skip-missing-interpreters? "
    "--no-recreate-provision --no-recreate-pkg --no-pkg-install? --skip-pkg-install --notest -n --no-deps -p: "
    "--parallel: --parallel-no-spinner --parallel-live --hashseed: -e: -m: -f: --skip-env: --develop --no-capture -i "
    "--fail-fast"
)
MYPY = (
    "-v -V -h -p: -m: --package: --module: --verbose --strict --no-strict-optional --ignore-missing-imports "
    "--follow-imports: --no-site-packages --namespace-packages --no-namespace-packages --explicit-package-bases "
    "--exclude: --python-version: --platform: --always-true: --always-false: --disallow-any-unimported "
    "--disallow-any-expr --disallow-any-decorated --disallow-any-explicit --disallow-any-generics "
    "--disallow-subclassing-any --disallow-untyped-calls --disallow-untyped-defs --disallow-incomplete-defs "
    "--disallow-untyped-decorators --check-untyped-defs --implicit-optional --no-implicit-optional "
    "--no-implicit-reexport --strict-equality --extra-checks --warn-redundant-casts --warn-unused-ignores "
    "--no-warn-no-return --warn-return-any --warn-unreachable --warn-unused-configs --allow-untyped-globals "
    "--allow-redefinition --local-partial-types --enable-error-code: --disable-error-code: --show-error-context "
    "--show-column-numbers --show-error-end --show-error-codes --hide-error-codes --show-error-code-links "
    "--hide-error-code-links --pretty --no-pretty --no-color-output --no-error-summary --show-absolute-path "
    "--show-traceback --tb --no-incremental --incremental --skip-version-check --skip-cache-mtime-checks "
    "--cache-fine-grained --scripts-are-modules --no-silence-site-packages --non-interactive -O: --output: "
    "--no-install-types --version --help --no-warn-unused-configs --warn-no-return --strict-optional --strict-bytes "
    "--no-extra-checks --allow-redefinition-new --report-deprecated-as-note --warn-incomplete-stub --num-workers: "
    "--sqlite-cache --no-sqlite-cache"
)
MYPY_ASKS = (
    "--config-file:code --cache-dir:write --python-executable:code --junit-xml:write --junit-format: --install-types "
    "--html-report:write --txt-report:write --xml-report:write --any-exprs-report:write --cobertura-xml-report:write "
    "--linecount-report:write --linecoverage-report:write --lineprecision-report:write --xslt-html-report:write "
    "--xslt-txt-report:write --custom-typeshed-dir:read --custom-typing-module: --shadow-file:: --find-occurrences: "
    "--pdb --quickstart-file:read --plugins:"
)
_TOX_SUBS: dict[str, Entry] = {
    "list l": Entry("builder", "", TOX + " -d --no-desc"),
    "config c": Entry("builder", "", TOX + " -k: -d --core --format:", asks="-o:write --output-file:write"),
    "run r run-parallel p": Entry("builder", "codeargument*", TOX + " -o"),
    "depends de": Entry("builder", "", TOX),
    "exec e": Entry("builder", "command", TOX, traits="runner spell stop"),
}

PROGRAMS: dict[str, Entry] = {
    "pytest": Entry(
        "builder",
        "code*",
        "-v -q -x -l -s -V -h -k: -m: -r: -W:warning -n:codeoperand --verbose --quiet --exitfirst --maxfail: "
        "--showlocals --no-showlocals --tb: --capture: --co --collect-only --lf --last-failed --ff --failed-first "
        "--nf --new-first --sw --stepwise --sw-skip --stepwise-skip --lfnf: --durations: --durations-min: "
        "--strict-markers --strict-config --strict --ignore: --ignore-glob: --deselect: --keep-duplicates "
        "--import-mode: --runxfail --setup-only --setup-plan --setup-show --fixtures --funcargs --fixtures-per-test "
        "--markers --noconftest --color: --code-highlight: --no-header --no-summary --full-trace --show-capture: "
        "--disable-warnings --disable-pytest-warnings --doctest-modules --doctest-glob: --doctest-continue-on-failure "
        "--doctest-ignore-import-errors --doctest-report: --log-level: --log-cli-level: --log-format: "
        "--log-date-format: --log-cli-format: --log-cli-date-format: --log-disable: --log-auto-indent: --verbosity: "
        "--xfail-tb --no-fold-skipped --force-short-summary --continue-on-collection-errors "
        "--max-warnings:codeoperand --cov? --no-cov --cov-branch --cov-append --cov-fail-under:codeoperand "
        "--no-cov-on-fail --dist:codeoperand --numprocesses:codeoperand --version --help -p:(no:*) "
        "--cov-report:(term|term-missing|term:skip-covered|term-missing:skip-covered) --cov-context:(test) "
        "--cache-show?below --cache-clear --reruns:codeoperand --reruns-delay:codeoperand --timeout:codeoperand "
        "--timeout-method:codeoperand -f --looponfail --forked --no-fixtures-cleanup --trace-config --benchmark-only "
        "--benchmark-skip --benchmark-disable --snapshot-update --random-order --randomly-seed:codeoperand "
        "--asyncio-mode:codeoperand --hypothesis-seed:codeoperand --hypothesis-profile:codeoperand "
        "--hypothesis-show-statistics --maxprocesses:codeoperand --no-strict",
        manual="pytest 8, 9, pytest-cov, pytest-xdist",
        asks="-c:code --config-file:code -o: --override-ini: --rootdir:code --confcutdir:code --basetemp:write "
        "--junitxml:write --junit-xml:write --junit-prefix: --log-file:write --result-log:write --debug? --pastebin: "
        "--report-log:write --html:write --cov-config:read --json-report-file:write --pdb --pdbcls: --trace --tx: "
        "--px: -d --rsyncdir: --testrunuid: --self-contained-html",
        traits="at",
    ),
    "mypy": Entry("builder", "read*", MYPY, manual="mypy 1, 2", asks=MYPY_ASKS, traits="at"),
    "dmypy": Entry(
        "builder",
        "",
        "-h -V --help --version",
        manual="mypy 1, 2",
        subs={
            # Behind "--" stand the options of mypy.
            "run start restart": Entry(
                "builder", "read*", f"-- {MYPY} --timeout:", asks=f"{MYPY_ASKS} --log-file:write", traits="at open"
            ),
            "check recheck": Entry("builder", "read*", "-v -q --verbose --quiet"),
            "status stop kill": Entry("reader"),
        },
    ),
    "ruff": Entry(
        "builder",
        "",
        "-v -q -s -h --verbose --quiet --silent --help --isolated --color: -V --version",
        manual="ruff 0.5, 0.17",
        asks="--config:",
        traits="globals at",
        subs={
            "check": Entry(
                "builder",
                "write*",
                "-e -n -w --fix --no-fix --unsafe-fixes --no-unsafe-fixes --show-fixes --no-show-fixes --diff --watch "
                "--fix-only --no-fix-only --ignore-noqa --output-format: --target-version: --preview --no-preview "
                "--select: --ignore: --extend-select: --extend-ignore: --per-file-ignores: --extend-per-file-ignores: "
                "--fixable: --unfixable: --extend-fixable: --exclude: --extend-exclude: --respect-gitignore "
                "--no-respect-gitignore --force-exclude --no-force-exclude --no-cache --exit-zero "
                "--exit-non-zero-on-fix --statistics --add-noqa? --show-files --show-settings --stdin-filename: "
                "--line-length: --dummy-variable-rgx: --extension:",
                asks="-o:write --output-file:write --cache-dir:write",
                traits="at",
            ),
            "format": Entry(
                "builder",
                "write*",
                "-n --check --diff --no-cache --respect-gitignore --no-respect-gitignore --exclude: --force-exclude "
                "--no-force-exclude --target-version: --preview --no-preview --line-length: --stdin-filename: "
                "--range: --exit-non-zero-on-format --extension: --output-format:",
                asks="--cache-dir:write",
                traits="at",
            ),
            "rule": Entry("reader", "text*", "--all --output-format:", traits="at"),
            "linter version config": Entry("reader", "text*", "--output-format:", traits="at"),
            "clean": Entry("writer"),
            "analyze": Entry(
                "reader",
                subs={
                    "graph": Entry(
                        "reader",
                        "read*",
                        "--direction: --detect-string-imports --preview --target-version:",
                        traits="at",
                    )
                },
            ),
        },
    ),
    "black": Entry(
        "builder",
        "write*",
        "-c: -l: -t: -S -C -q -v -W: -x -h --check --diff --color --no-color --fast --safe --code: --line-length: "
        "--target-version: --pyi --ipynb --skip-string-normalization --skip-magic-trailing-comma --preview --unstable "
        "--exclude: --extend-exclude: --force-exclude: --stdin-filename: --quiet --verbose --version --help "
        "--required-version: --workers: --skip-source-first-line --enable-unstable-feature: --line-ranges:",
        manual="black 24",
        asks="--config:read --include:",  # any file at all, which it then shows or writes
    ),
    "isort": Entry(
        "builder",
        "write*",
        "-c -d -q -v -l: -w: -m: -s: -e -j: -V -h --check --check-only --diff --quiet --verbose --version --help "
        "--profile: --line-length: --line-width: --skip: --skip-glob: --filter-files --atomic --only-modified "
        "--multi-line: --trailing-comma --force-sort-within-sections --jobs: --color --stdout --show-files "
        "--show-config --py: --force-single-line-imports --combine-as --float-to-top --remove-redundant-aliases "
        "--known-first-party: --known-third-party: --src:read",
        manual="isort 5",
        asks="--settings-path:read --settings-file:read --sp:read --formatter: --sort-order:",
    ),
    "autopep8": Entry(
        "builder",
        "write*",
        "-v -d -i -r -j: -p: -a -h --version --help --verbose --diff --in-place --recursive --jobs: --pep8-passes: "
        "--aggressive --exclude: --list-fixes --ignore: --select: --max-line-length: --line-range:: --experimental "
        "--exit-code",
        manual="autopep8 2",
        asks="--global-config:read --ignore-local-config",
    ),
    "yapf": Entry(
        "builder",
        "write*",
        "-d -i -r -p -m -vv -q -e: -l: -h -v --version --help --diff --in-place --recursive --parallel "
        "--print-modified --quiet --exclude: --lines: --no-local-style --verbose",
        manual="yapf 0.40",
        asks="--style:",
    ),
    "flake8 pylint pyflakes pycodestyle pydocstyle": Entry(
        "builder",
        "text*",
        "-v -q -h -j: -E --verbose --quiet --help --version --count --exclude: --extend-exclude: "
        "--format:(default|pylint|text|colorized|json|parseable) --hang-closing --ignore: --extend-ignore: "
        "--per-file-ignores: --max-line-length: --max-complexity: --max-doc-length: --indent-size: --select: "
        "--extend-select: --disable-noqa --show-source --no-show-source --statistics --exit-zero --jobs: --color: "
        "--disable: --enable: --errors-only --fail-under: --reports: --score: -r: -s: "
        "-f:(text|json|colorized|parseable) --recursive: --ignore-patterns: --ignore-paths:",
        manual="flake8 7, pylint 3",
        asks="--filename: --config:code --append-config:code --output-file:write --tee --rcfile:code --load-plugins: "
        "--init-hook: --init-import: --output: -o --benchmark --bug-report --isolated --enable-extensions: "
        "--require-plugins: --doctests",
        traits="at",
    ),
    "pyright basedpyright": Entry(
        "builder",
        "read*",
        "-v -h --version --help --verbose --stats --warnings --outputjson --level: --skipunannotated --dependencies "
        "--watch -w --threads? --pythonplatform: --pythonversion:",
        manual="pyright 1.1",
        asks="-p:read --project:read --pythonpath: --venvpath:read --venv-path:read -t:read --typeshedpath:read "
        "--createstub: --verifytypes: --ignoreexternal",
    ),
    "coverage": Entry(
        "builder",
        manual="coverage 7",
        asks="--rcfile:code --data-file:write",
        traits="globals loads",
        subs={
            "report": Entry(
                "reader",
                "text*",
                "-m -i --show-missing --skip-covered --skip-empty --no-skip-covered --fail-under: --include: --omit: "
                "--precision: --sort: --format:(text|markdown|total)",
            ),
            "combine": Entry("writer", "change*", "-q -a --append --keep --quiet"),
            "html xml json lcov annotate erase": Entry(
                "writer",
                "text*",
                "-q -i -a --append --keep --skip-covered --skip-empty --show-contexts --include: --omit: "
                "--fail-under: --pretty-print --precision: --title: --quiet --ignore-errors",
                asks="-d:write --directory:write -o:write",
            ),
            "run": Entry(
                "builder",
                "code text*",
                "-a -p -L --append --branch --parallel-mode --timid --include: --omit: --source: --context: "
                "--concurrency:",
                asks="-m",
                traits="stop runner spell",
            ),
        },
    ),
    "tox": Entry(
        "builder",
        "codeargument*",
        TOX + " -o --version -l --listenvs -a --listenvs-all --showconfig --print-deps",
        manual="tox 4",
        asks="--no-provision?write -c:code --conf:code --root:code --workdir:write -x: --override: --installpkg:read "
        "--discover: --result-json:write --force-dep: --recreate -r --runner: --devenv:write --index-url: --pre",
        traits="globals",
        subs=_TOX_SUBS,
    ),
    "nox": Entry(
        "builder",
        "codeargument*",
        "-l -s: -e: -k: -t: -p: -x -R -r -v -h --list --sessions: --session: --python: --keywords: --tags: "
        "--reuse-existing-virtualenvs --reuse-venv: --no-reuse-existing-virtualenvs -N --no-install "
        "--stop-on-first-error --no-stop-on-first-error --error-on-missing-interpreters --error-on-external-run "
        "--non-interactive --forcecolor --nocolor --list-sessions --verbose --version --help --json",
        manual="nox 2024",
        asks="-f:code --noxfile:code --envdir:write --report:write --default-venv-backend: --force-venv-backend: "
        "--extra-pythons: --force-python: -P: --install-only --add-timestamp",
    ),
    "-m unittest": Entry(
        "builder",
        "module*",
        "-v -q -f -b -k: -s:codefolder -t:codefolder -p: --verbose --quiet --locals --failfast --buffer --catch "
        "--durations: --start-directory:codefolder --top-level-directory:codefolder --pattern:",
        manual="CPython 3.13",
        shape="unittest",
    ),
    # They only read, but modules of these names in the folder are run in their place.
    "-m json.tool": Entry(
        "builder",
        "read",
        "--sort-keys --json-lines --indent: --tab --no-indent --compact --no-ensure-ascii -h --help",
        manual="CPython 3.13",
    ),
    "-m ast": Entry(
        "builder",
        "read",
        "-m: -a -i: -h --mode: --no-type-comments --include-attributes --indent:",
        manual="CPython 3.13",
    ),
    "-m calendar": Entry("builder", "text text", "-m: -t: -h --help", manual="CPython 3.13"),
    "-m dis": Entry("builder", "read", "-h --help", manual="CPython 3.13"),
    "-m doctest": Entry("builder", "code*", "-v -f -h --verbose --fail-fast --help", manual="CPython 3.13"),
    "-m platform": Entry("builder", manual="CPython 3.13"),
    "-m site": Entry("builder", "", "--user-base --user-site", manual="CPython 3.13"),
    "-m sysconfig": Entry("builder", manual="CPython 3.13"),
    "-m tabnanny": Entry("builder", "read*", "-q -v", manual="CPython 3.13"),
    "-m this": Entry("builder", manual="CPython 3.13"),
    "-m tokenize": Entry("builder", "read", "-e -h --exact --help", manual="CPython 3.13"),
    "-m compileall": Entry("writer", "change*", "-q -f -l -b -j: -r: -x:", manual="CPython 3.13"),
    "-m venv": Entry(
        "writer",
        "write*",
        "--clear --upgrade --without-pip --prompt: --system-site-packages --upgrade-deps --symlinks --copies",
        manual="CPython 3.13",
    ),
    "-m http.server": Entry(
        "network", "text", "-b: --bind:", manual="CPython 3.13", asks="-d:read --directory:read --cgi"
    ),
    "-m build": Entry(
        "builder",
        "",
        "-s -w -n -x --sdist --wheel --no-isolation --skip-dependency-check",
        manual="build 1",
        asks="-o:write --outdir:write -C: --config-setting: --installer:",
    ),
}
