"""node, its package managers and the programs that come by them. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

# A value that one of them does not know as such is an operand, or the sub-command, for it.
COMMON = (
    "--json -l --long --parseable -p -a --all --depth:(0|1|2|3|4|5|6|7|8|9|Infinity) --omit:(dev|optional|peer) "
    "--include:(prod|dev|optional|peer) --no-color --color? -s --silent -q --quiet -d -dd -ddd --verbose "
    "--loglevel:(silent|error|warn|notice|http|timing|info|verbose|silly) --offline --prefer-offline --prefer-online "
    "--no-update-notifier --no-fund --no-audit --fund --audit --package-lock-only --no-progress --progress --yes -y "
    "--if-present --ignore-scripts --no-unicode --help -h"
)
WORKSPACES = "-w:codefolder --workspace:codefolder --workspaces --include-workspace-root"
GLOBAL = "-g --global"  # for everybody, and so outside the project
INSTALL = (
    "-S -D -E -O -P -B -f --save --save-dev --save-exact --save-optional --save-prod --save-peer --no-save "
    "--save-bundle --save-prefix:(^|~) --force --legacy-peer-deps --strict-peer-deps --prefer-dedupe "
    "--no-package-lock --package-lock --no-bin-links --dry-run --install-links "
    "--install-strategy:(hoisted|nested|shallow|linked) --legacy-bundling --engine-strict --no-optional --production "
    "--only:(prod|production|dev|development) --tag:name --cpu:name --os:name --libc:name --frozen-lockfile "
    "--no-frozen-lockfile --prod --dev --exact --recursive -r --latest --immutable --check-cache "
    "--mode:(skip-build|update-lockfile) --ignore-engines"
)
AUDIT = "--audit-level:(none|info|low|moderate|high|critical) --production -f --force --dry-run"
BUN = "-d -D --dev --watch --coverage --timeout:number --bail? --only --silent --frozen-lockfile --production --exact"
DENO = (
    "-q --quiet --check --no-check --watch --coverage --filter: --parallel --fail-fast --allow-none --cached-only "
    "--no-remote --lock?write --json"
)
DENO_ASKS = (
    "-A --allow-all --allow-read? --allow-write? --allow-net? --allow-run? --allow-env? --allow-ffi? -c:code "
    "--config:code --import-map:code"
)
# Programs of the project are given it: what they are to test or to build, mostly.
_PNPM_RUN = "--if-present -r --recursive --parallel --stream --watch --coverage"
_PNPM_SUBS: dict[str, Entry] = {
    "list ls ll la why root bin outdated licenses info view": Entry(
        "reader",
        "text*",
        "--prod -P --dev -D --no-optional --only-projects --compatible --pattern: -g --global -r --recursive",
    ),
    "test t tst start stop restart": Entry("builder", "codeargument*", _PNPM_RUN),
    "run run-script": Entry("builder", "script codeargument*", _PNPM_RUN),
    "install i add ci remove rm uninstall un update up upgrade dedupe prune rebuild rb import fetch": Entry(
        "builder", "npmpackage*", INSTALL, GLOBAL
    ),
    "link ln": Entry("builder", "npmpackage*", INSTALL, GLOBAL, traits="spell"),  # for everybody, as a global one
    "init": Entry("writer", "", "-y --yes -p --private -2"),
    "audit": Entry(
        "network",
        "text*",
        "--audit-level:(info|low|moderate|high|critical) --prod --dev --fix --groups:name "
        "--level:(info|low|moderate|high|critical)",
    ),
    "version": Entry("writer", "text*", "--no-git-tag-version --new-version: --patch --minor --major"),
    "build lint check format typecheck dev": Entry("builder", "codeargument*", "--watch --fix"),
    "config": Entry("writer", subs={"get": Entry("reader", "text*"), "list ls": Entry("reader")}),
    "store cache": Entry(
        "writer", subs={"path status dir list": Entry("reader", "text*"), "prune clean": Entry("writer")}
    ),
    "publish pack": Entry(
        "network", "codenpm*", "--dry-run --tag:name --access:(public|restricted) --no-git-checks --publish-branch:name"
    ),
    "exec": Entry("builder", "command", "--silent", asks="-c --shell-mode", traits="spell stop runner"),
    "dlx": Entry(
        "builder", "command", "--silent -q --quiet", asks="-p: --package: -c --shell-mode", traits="spell stop runner"
    ),
    "workspaces": Entry("builder", subs={"info list": Entry("reader", "", "--json")}),
    "workspace": Entry("builder", "text*", "--json", traits="spell"),  # a name, and any of these commands
}

PROGRAMS: dict[str, Entry] = {
    "npm": Entry(
        "builder",
        "",
        f"{COMMON} {WORKSPACES} -v --version",
        manual="npm 11",
        asks="-C:code --prefix:code --registry: --userconfig:code --globalconfig:code --script-shell:code "
        "--node-options: --cache: --logs-dir: --location:",
        traits="globals exact",
        shape="nopt",
        subs={
            "ls list ll la la": Entry("reader", "text*", "--link"),
            "root prefix bin": Entry("reader", "", "-g --global"),
            "explain why query": Entry("reader", "text*"),
            "pkg": Entry(
                "writer",
                subs={"get": Entry("reader", "text*"), "set delete fix": Entry("writer", "text*", traits="spell")},
            ),
            "fund": Entry("reader", "text*", "--no-browser --which:number"),
            "config c": Entry("writer", subs={"get": Entry("reader", "text*"), "list ls": Entry("reader")}),
            "get": Entry("reader", "text*"),
            "outdated search s se find": Entry("network", "text*", "-g --global --searchlimit:number --no-description"),
            "view info show v": Entry(
                "network",
                "npmpackage text*",  # of a repository it runs the git that the project's .npmrc names
                "-g --global",
            ),
            "ping whoami": Entry("network"),
            "doctor": Entry("network", "text*"),
            "audit": Entry(
                "network",
                "",
                AUDIT,
                traits="globals",
                subs={
                    "signatures": Entry("network"),
                    "fix": Entry("builder", "", INSTALL, GLOBAL),  # it installs
                },
            ),
            "test t tst": Entry("builder", "codeargument*", "--watch --watchAll --coverage"),
            "start stop restart": Entry("builder", "codeargument*", "-r --recursive --filter? --parallel --stream"),
            "run run-script rum urn": Entry(
                "builder", "script codeargument*", "-r --recursive --filter? --parallel --stream"
            ),
            "install i add in ins inst isntall ci install-test it ic clean-install uninstall remove rm r un unlink update up upgrade dedupe ddp prune rebuild rb": Entry(
                "builder", "npmpackage*", INSTALL, GLOBAL
            ),
            "link ln": Entry("builder", "npmpackage*", INSTALL, GLOBAL, traits="spell"),
            "init": Entry(
                "builder",  # it runs the module of the project that .npmrc names
                "",
                "-w: --init-author-name: --init-license: --init-version: --scope: --init-type:",
            ),
            "version": Entry(
                "builder",  # as the next, it runs the scripts of the project that are called like it
                "text",
                "--no-git-tag-version --no-commit-hooks --allow-same-version --preid: -m: --message: --sign-git-tag "
                "--no-workspaces-update -f --force",
            ),
            "pack": Entry("builder", "codenpm*", "--dry-run", asks="--pack-destination:write"),
            "publish": Entry(
                "network",
                "codenpm*",
                "--tag:name --access:(public|restricted) --dry-run --otp:number --provenance --no-git-checks",
            ),
            "shrinkwrap": Entry("writer"),
            "help-search completion": Entry("reader", "text*"),
            "cache": Entry(
                "writer",
                subs={
                    "ls": Entry("reader", "text*"),
                    "verify": Entry("writer"),
                    "clean rm": Entry("writer", "text*", "-f --force"),
                    "add": Entry("network", "npmpackage*"),  # of a repository it runs what prepares it
                },
            ),
            "exec x": Entry(
                "builder",
                "command",
                "-y --yes -p: --package: --no --no-install",
                asks="-c: --call:",
                traits="spell stop runner",
            ),
        },
    ),
    "pnpm": Entry(
        "builder",
        "",
        COMMON + " -v --version --filter: -F: -r --recursive -w --workspace-root",
        manual="pnpm 9",
        asks="-C:code --dir:code --script-shell:code --shell-emulator --registry: -c",
        traits="globals exact loads",
        shape="nopt",
        subs=_PNPM_SUBS,
    ),
    "yarn": Entry(
        "builder",
        "",
        COMMON + " -v --version --non-interactive --emoji --no-emoji --frozen-lockfile --immutable --network-timeout:",
        manual="yarn 1",
        asks="--cwd:code --use-yarnrc:code --registry: --cache-folder: --modules-folder: --script-shell:code",
        traits="globals exact loads",
        subs=_PNPM_SUBS,
    ),
    "npx bunx pnpx": Entry(
        "builder",
        "command",
        "-y --yes --no --no-install -q --quiet --silent --bun",
        manual="npm 11",
        asks="-p: --package: -c: --call: --node-options: --shell:",
        traits="stop runner",
        shape="nopt",
    ),
    "node nodejs": Entry(
        "builder",
        "",
        "-v:alone -h:alone --version:alone --help:alone --v8-options:alone --trace-warnings --no-warnings "
        "--trace-deprecation --no-deprecation --throw-deprecation --enable-source-maps --test --test-only --expose-gc "
        "--unhandled-rejections=strict --check -c --watch --max-old-space-size=4096 --max-old-space-size=8192",
        manual="node 20",
        asks="-r:code --require:code --import:code --loader:code --experimental-loader:code",
        shape="interpreter",
        subs={"inspect debug": Entry("builder", shape="nothing")},  # it runs what its input or an address says
    ),
    "deno": Entry(
        "builder",
        manual="deno 1.40",
        shape="named",
        subs={
            "run": Entry("builder", "codelocal text*", DENO, asks=DENO_ASKS, traits="stop"),
            "test lint check bench info doc": Entry("builder", "codelocal*", DENO, asks=DENO_ASKS),
            "fmt": Entry("builder", "write*", DENO, asks=DENO_ASKS),
            "task": Entry("builder", "text*", "-q --quiet", asks=DENO_ASKS, traits="stop"),
        },
    ),
    "bun": Entry(
        "builder",
        "",
        "-v --version",
        manual="bun 1.1",
        shape="named",
        subs={
            "test": Entry("builder", "code*", BUN),
            "run": Entry("builder", "codescript text*", BUN),
            "install i add remove update outdated pm": Entry("builder", "npmpackage*", BUN, GLOBAL),
        },
    ),
    "tsc": Entry(
        "builder",
        "code*",
        "-p:codefolder --project:codefolder -h -v --help --version --all --noEmit --pretty --strict --skipLibCheck "
        "--listFiles --listFilesOnly --showConfig --noImplicitAny --strictNullChecks --noUnusedLocals "
        "--noUnusedParameters --noImplicitReturns --explainFiles --traceResolution --diagnostics "
        "--extendedDiagnostics --allowJs --checkJs --jsx: --target: -t: --module: -m: --moduleResolution: --lib: "
        "--esModuleInterop --resolveJsonModule --noErrorTruncation --ignoreConfig -b --build -w --watch "
        "--noEmitOnError --incremental --declaration -d --sourceMap --force --verbose --dry --clean --isolatedModules "
        "--strictFunctionTypes --strictPropertyInitialization --removeComments --downlevelIteration "
        "--allowSyntheticDefaultImports --noFallthroughCasesInSwitch --noImplicitThis --noUncheckedIndexedAccess "
        "--listEmittedFiles --preserveWatchOutput",
        manual="TypeScript 5",
        asks="--outDir:write --outFile:write --declarationDir:write --tsBuildInfoFile:write --rootDir:read --init "
        "--generateTrace:write --generateCpuProfile:write --plugins:code",
        traits="words at bool open",
    ),
    "eslint": Entry(
        "builder",
        "code*",
        "-h -v --no-color --color --quiet --max-warnings: --ext: --no-ignore --ignore-pattern: --no-inline-config "
        "--report-unused-disable-directives --no-error-on-unmatched-pattern --no-warn-ignored --pass-on-no-patterns "
        "--stdin --stdin-filename:code --global: --rule: --stats --exit-on-fatal-error --env-info --version --help "
        "--debug --print-config:code "
        "-f:(stylish|json|html|json-with-metadata|unix|compact|tap|junit|checkstyle|jslint-xml|visualstudio) "
        "--format:(stylish|json|html|json-with-metadata|unix|compact|tap|junit|checkstyle|jslint-xml|visualstudio) "
        "--fix --fix-dry-run --fix-type: --cache --no-cache --cache-strategy: --env: --no-eslintrc "
        "--report-unused-disable-directives-severity: --ignore --no-config-lookup --concurrency:",
        manual="ESLint 9",
        asks="-c:code --config:code --rulesdir:code --resolve-plugins-relative-to:code --plugin:code --parser:code "
        "--parser-options: -o:write --output-file:write --cache-file:write --cache-location:write --init --flag: "
        "--ignore-path:read --inspect-config --mcp --suppress-all --suppress-rule: --suppressions-location:write "
        "--prune-suppressions",
    ),
    "prettier": Entry(
        "builder",
        "code*",
        "-c -l -h --check --list-different --no-color --color --log-level: -u --ignore-unknown --no-config "
        "--no-editorconfig --config-precedence: --no-error-on-unmatched-pattern --with-node-modules "
        "--stdin-filepath:code --parser:filename --tab-width: --use-tabs --print-width: --single-quote --no-semi "
        "--trailing-comma: --prose-wrap: --end-of-line: --arrow-parens: --no-bracket-spacing --bracket-same-line "
        "--jsx-single-quote --quote-props: --require-pragma --insert-pragma --file-info:code --find-config-path: "
        "--support-info --version --help --cache --cache-strategy: --no-cache --ignore-path:read --no-plugin-search "
        "--embedded-language-formatting: --html-whitespace-sensitivity: --vue-indent-script-and-style "
        "--single-attribute-per-line --experimental-ternaries --object-wrap: --semi --bracket-spacing --range-start: "
        "--range-end:",
        manual="Prettier 3",
        asks="--write -w --plugin:code --config:code --cache-location:write --plugin-search-dir:code",
    ),
    "jest vitest": Entry(
        "builder",
        "text*",
        "-b -i -o -t: -u -w: --bail? --ci --coverage --no-coverage --colors --color --no-color --debug "
        "--detectOpenHandles --errorOnDeprecated --findRelatedTests --forceExit --json --lastCommit --listTests "
        "--logHeapUsage --maxWorkers: --noStackTrace --notify --onlyChanged --onlyFailures --passWithNoTests "
        "--runInBand --showConfig --silent? --testNamePattern: --testPathPattern: --testPathIgnorePatterns: "
        "--testTimeout: --updateSnapshot --update --verbose --watch --watchAll --watch=false --watchAll=false --run "
        "--changedSince: --selectProjects: --shard: --reporter:(default|verbose|dot|json|tap|junit|basic) --help "
        "--version",
        manual="Jest 29, Vitest 2",
        asks="-c:code --config:code --outputFile:write --coverageDirectory:write --rootDir:code --globalSetup:code "
        "--setupFiles:code --testRunner:code --reporters:code --environment:code --transform:code --root:code "
        "--dir:code",
        traits="bool apart",
    ),
}
