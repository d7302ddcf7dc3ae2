"""Build tools, compilers, and the tools of compiled languages. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "make": Entry(
        "builder",
        "maketarget*",
        "-k -n -s -j? -q -r -R -w -i -S -l? -O? --keep-going --no-keep-going --dry-run --just-print --recon --silent "
        "--quiet --no-silent --jobs? --question --no-builtin-rules --no-builtin-variables --print-directory "
        "--no-print-directory --ignore-errors --stop --load-average? --max-load? --output-sync? "
        "--warn-undefined-variables --trace -d --debug? -p --print-data-base -B --always-make -L "
        "--check-symlink-times -v -h --version --help",
        manual="GNU make 4.3",
        asks="-f:code --file:code --makefile:code -C:code --directory:code -I:code --include-dir:code --eval: -E: -o: "
        "--old-file: -W: --what-if: --new-file: --assume-new: -e --environment-overrides -t --touch --shuffle?",
        shape="make",
    ),
    "ninja": Entry(
        "builder",
        "text*",
        "-j: -k: -l: -n -v -d: --verbose --quiet --version -h",
        manual="ninja 1.11",
        asks="-C:code -f:code -t:",
    ),
    "cmake": Entry(
        "builder",
        "codebuilt*",
        "--version --help -N --fresh --build:codefolder --target:cmaketarget -t:cmaketarget --config: -j? --parallel? "
        "--clean-first -v --verbose -S:codefolder -B:codefolder -G: --preset: --list-presets? --workflow "
        "--install:codefolder -D:cmakevariable -L -LA -LH -Wno-dev -Wdev",
        manual="CMake 3.25",
        asks="-P:code -E: -C:code --toolchain:code --prefix:write -U: --debugger --trace --graphviz:write",
        traits="exact",
        shape="cmake",
    ),
    "cargo": Entry(
        "builder",
        "",
        "-V --version -h --help --list -q -v -vv --quiet --verbose --offline --locked --frozen --color:",
        manual="cargo 1.95",
        asks="--config:code -Z: -C:code --manifest-path:code --target-dir:write --lockfile-path:write",
        traits="globals loads",
        subs={
            "tree metadata pkgid locate-project read-manifest": Entry(
                "builder",
                "text*",
                "-q -v --quiet --verbose --offline --locked --frozen --color: -p: --package: --workspace --exclude: "
                "-i: --invert: --prune: --depth: --no-dedupe -d --duplicates --charset: -f: --format: -e: --edges: "
                "--prefix: --all-features --no-default-features -F: --features: --format-version: --no-deps "
                "--filter-platform: --message-format: --target:rusttarget",
            ),
            "version": Entry("reader"),
            "search info": Entry("network", "text*", "--limit: --registry:"),
            "check c build b doc d": Entry(
                "builder",
                "",
                "-q -v --quiet --verbose --offline --locked --frozen --color: -p: --package: --workspace --all "
                "--exclude: --lib --bins --bin: --tests --test: --examples --example: --benches --bench: "
                "--all-targets --all-features --no-default-features -F: --features: -r --release --profile: -j: "
                "--jobs: --keep-going --message-format: --future-incompat-report --no-deps --target:rusttarget "
                "--document-private-items --fix --allow-dirty --allow-staged --allow-no-vcs --unit-graph --build-plan "
                "--ignore-rust-version --timings",
                asks="--out-dir:write --artifact-dir:write",
            ),
            "clippy": Entry(
                "builder",
                "lint*",
                "-q -v --quiet --verbose --offline --locked --frozen --color: -p: --package: --workspace --all "
                "--exclude: --lib --bins --bin: --tests --test: --examples --example: --benches --bench: "
                "--all-targets --all-features --no-default-features -F: --features: -r --release --profile: -j: "
                "--jobs: --keep-going --message-format: --future-incompat-report --no-deps --target:rusttarget "
                "--document-private-items --fix --allow-dirty --allow-staged --allow-no-vcs --unit-graph --build-plan "
                "--ignore-rust-version --timings",
                asks="--out-dir:write --artifact-dir:write",
            ),
            "test t bench": Entry(
                "builder",
                "testargument*",
                "-q -v --quiet --verbose --offline --locked --frozen --color: -p: --package: --workspace --all "
                "--exclude: --lib --bins --bin: --tests --test: --examples --example: --benches --bench: "
                "--all-targets --all-features --no-default-features -F: --features: -r --release --profile: -j: "
                "--jobs: --keep-going --message-format: --future-incompat-report --no-run --no-fail-fast --doc "
                "--target:rusttarget --ignore-rust-version --timings --nocapture",
            ),
            "nextest": Entry(
                "builder",
                subs={
                    "run list": Entry(
                        "builder",
                        "text*",
                        "-p: --workspace --release --all-features --no-fail-fast --profile: -E: --retries: "
                        "--no-capture --lib --bins --tests",
                    )
                },
            ),
            "fmt": Entry("builder", "rustfmtargument*", "--check --all -p: --package: --message-format:"),
            "run r": Entry(
                "builder",
                "text*",
                "-q -v --quiet --verbose --offline --locked --frozen --color: -p: --package: --workspace --all "
                "--exclude: --lib --bins --bin: --tests --test: --examples --example: --benches --bench: "
                "--all-targets --all-features --no-default-features -F: --features: -r --release --profile: -j: "
                "--jobs: --keep-going --message-format: --future-incompat-report",
                traits="stop spell",
            ),
            "fix": Entry(
                "builder",
                "",
                "-q -v --quiet --verbose --offline --locked --frozen --color: -p: --package: --workspace --all "
                "--exclude: --lib --bins --bin: --tests --test: --examples --example: --benches --bench: "
                "--all-targets --all-features --no-default-features -F: --features: -r --release --profile: -j: "
                "--jobs: --keep-going --message-format: --future-incompat-report --allow-dirty --allow-staged "
                "--allow-no-vcs --edition --edition-idioms --broken-code",
            ),
            "clean": Entry("writer", "", "-p: --package: --release -r --doc --profile: --dry-run -n"),
            "update add remove rm fetch generate-lockfile": Entry(
                "network",
                "text*",
                "-p: --package: --aggressive --recursive --precise: -w --workspace --dry-run -n -F: --features: "
                "--no-default-features --default-features --optional --dev --build --rename: --target:rusttarget",
                asks="--path: --git: --registry: --branch: --tag: --rev: --index:",
            ),
            "new init": Entry("writer", "write", "--bin --lib --name: --edition: --vcs:"),
            "install uninstall publish login logout owner yank": Entry(
                "network", "text*", "-F: --features: --force -f --dry-run --version: --bin: --list", traits="spell"
            ),
            "audit": Entry("reader", "", "--json --deny:"),
            "deny": Entry("writer", subs={"check list": Entry("reader", "text*")}),
            "outdated machete": Entry("reader", "text*", "--json -R --root-deps-only"),
            "udeps": Entry("builder", "", "--json"),
        },
    ),
    "go": Entry(
        "builder",
        manual="go 1.22",
        asks="-C:code",
        subs={
            "version": Entry("reader", "read*", "-m -v", traits="words"),
            "env": Entry("reader", "text*", "-json -changed", asks="-w -u", traits="words bool"),
            "list": Entry(
                "builder",
                "text*",
                "-v -x -n -race -msan -asan -p: -tags: -trimpath -mod:(readonly|vendor) -a -buildvcs? -work -count: "
                "-cover -covermode: -coverpkg: -buildmode: -json -json? -m -deps -test -e -f: -find -u -versions "
                "-compiled -export -retracted",
                traits="words bool",
            ),
            "doc": Entry("reader", "text*", "-all -c -cmd -short -src -u", traits="words bool"),
            "test": Entry(
                "builder",
                "code*",
                "-v -x -n -race -msan -asan -p: -tags: -trimpath -mod:(readonly|vendor) -a -buildvcs? -work -count: "
                "-cover -covermode: -coverpkg: -buildmode: -json -run: -bench: -benchtime: -benchmem -cpu: -failfast "
                "-list: -parallel: -short -shuffle: -timeout: -skip: -vet: -c -i -fullpath -args",
                asks="-exec:code -toolexec:code -vettool:code -overlay:code -modfile:code -o:write -C:code "
                "-outputdir:write -coverprofile:write -cpuprofile:write -memprofile:write -blockprofile:write "
                "-mutexprofile:write -trace:write -pkgdir:write -ldflags: -gcflags: -asmflags: -gccgoflags: -fuzz: "
                "-fuzztime: -modcacherw -memprofilerate:",
                traits="words bool",
            ),
            "install": Entry("builder", "code*", "-v -x -n", traits="spell words bool"),
            "vet build": Entry(
                "builder",
                "code*",
                "-v -x -n -race -msan -asan -p: -tags: -trimpath -mod:(readonly|vendor) -a -buildvcs? -work -count: "
                "-cover -covermode: -coverpkg: -buildmode: -json -i -atomic -bool -buildtags -copylocks -printf "
                "-shadow -unusedresult",
                asks="-exec:code -toolexec:code -vettool:code -overlay:code -modfile:code -o:write -C:code "
                "-pkgdir:write -ldflags: -gcflags: -asmflags: -gccgoflags: -modcacherw",
                traits="words bool",
            ),
            "fmt": Entry("builder", "code*", "-n -x", asks="-mod: -modfile:", traits="words bool"),
            "mod": Entry(
                "builder",
                subs={
                    "tidy download verify vendor graph why init": Entry(
                        "builder", "text*", "-v -x -m -e -compat: -go: -json -vendor", traits="words bool"
                    ),
                    "edit": Entry(
                        "writer",
                        "change*",
                        "-fmt -json -print -require: -droprequire: -exclude: -go: -module: -retract:",
                        traits="words bool",
                    ),
                },
            ),
            "get": Entry("network", "text*", "-v -x -d -t -u? -tool", traits="words bool"),
            "clean": Entry(
                "writer", "write*", "-n -x -i -r -cache -testcache -modcache -fuzzcache", traits="words bool"
            ),
            "work": Entry(
                "builder", subs={"sync init use vendor": Entry("builder", "code*", "-r -v", traits="words bool")}
            ),
            "run": Entry(
                "builder",
                "",
                "-v -x -n -race -msan -asan -p: -tags: -trimpath -mod:(readonly|vendor) -a -buildvcs? -work -count: "
                "-cover -covermode: -coverpkg: -buildmode: -json",
                asks="-exec:code -toolexec:code -ldflags: -overlay:code -modfile:code -C:code",
                traits="spell words bool",
                shape="gorun",
            ),
            "generate fix": Entry("builder", "code*", "-v -n -x -run: -skip:", traits="spell words bool"),
            "tool": Entry("builder", "text*", "-v -n -x -run: -skip:", traits="spell words stop"),
            "help": Entry("reader", "text*"),
        },
    ),
    "gofmt goimports staticcheck": Entry(
        "builder",
        "write*",
        "-d -e -l -s -w -local: -v --verbose --fix --timeout: --fast -E: -D: --enable: --disable: --new --tests "
        "-checks: -f:(text|json|stylish)",
        manual="go 1.22",
        asks="-cpuprofile:write -r: -c:read --config:read --out-format:write -o:write --memprofile:write",
        traits="words bool",
    ),
    "golangci-lint": Entry(
        "builder",
        manual="golangci-lint 1.60",
        traits="loads",  # plugins
        subs={
            "run": Entry(
                "builder",
                "code*",
                "-v -E: -D: -p: --verbose --fix --timeout: --fast --enable: --disable: --enable-all --disable-all "
                "--new --tests --new-from-rev: --build-tags: --presets: --color: --issues-exit-code: "
                "--max-same-issues: --max-issues-per-linter:",
                asks="-c:read --config:read --out-format:write --cpu-profile-path:write --mem-profile-path:write "
                "--trace-path:write",
            ),
            "linters version help": Entry("reader", "text*"),
        },
    ),
    "rustfmt": Entry(
        "builder",
        "write*",
        "--check --edition: -l -q -v --files-with-diff --color: --emit:(files|stdout) --backup",
        manual="rustfmt 1.7",
        asks="--config-path:read --config: --print-config:: ",
    ),
    "rustc": Entry(
        "builder",
        "read*",
        "-g -O -V -v --version --verbose --help -h --crate-type: --crate-name: --edition: "
        "--emit:(metadata|dep-info|link|asm|llvm-ir|obj|mir) "
        "--print:(sysroot|cfg|target-list|target-libdir|crate-name|file-names) --test --explain: -W: -A: -D: -F: "
        "--warn: --allow: --deny: --forbid: --cap-lints: --color: --error-format: --cfg: --check-cfg: -l: "
        "--target:rusttarget",
        manual="rustc 1.95",
        asks="-C: --codegen: -o:write -L: --out-dir:write --sysroot: -Z: --extern:",
        traits="at",
    ),
    "gcc g++ cc c++ clang clang++": Entry(
        "builder",
        "read*",
        "-c -S -E -g -g0 -g1 -g2 -g3 -O -O0 -O1 -O2 -O3 -Os -Og -Ofast -w -v -s -pg -pipe -shared -static -pthread "
        "-ansi -pedantic -P -M -MM -MG -MP -std: -Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion -Wno-unused "
        "-Wno-unused-parameter -Wno-unused-variable -Wformat -Wunused -fPIC -fpic -fPIE -pie -fno-exceptions "
        "-fno-rtti -fopenmp -fsanitize: -fsyntax-only -fno-omit-frame-pointer -fstack-protector-strong -march: "
        "-mtune: -m32 -m64 -I:read -D: -U: -l: -x: --version --help -dumpversion -dumpmachine",
        manual="gcc 12, clang 17",
        asks="-o:write -B:code -L: -specs:code -wrapper:code -fplugin:code -load:code -MF:write -MT: -MQ: -Xlinker: "
        "-Xassembler: -Xclang: -isystem:read -include:read -iquote:read -T:read -dumpbase:write -dumpdir:write "
        "-aux-info:write",
        traits="at exact open",
    ),
    "javac java mvn gradle gradlew mvnw ant sbt": Entry(
        "builder",
        "",
        "-version --version -help --help -v -h",
        manual="OpenJDK 17",
        asks="-f:code --file:code -p:code --project-dir:code -b:code --build-file:code -I:code --init-script:code",
        traits="at words open",
    ),
    "dotnet": Entry(
        "builder",
        "",
        "--version --info --list-sdks --list-runtimes -h --help",
        manual=".NET 8",
        subs={
            "build test clean restore publish pack format list": Entry(
                "builder",
                "codeproject*",
                "-c: -f: -v: -r: --configuration: --framework: --runtime: --verbosity: --no-build --no-restore "
                "--nologo --filter: --list-tests --blame --verify-no-changes --force --outdated",
                asks="-o:write --output:write -l: --logger: --settings: -s: --collect: --results-directory:write "
                "--source: -p: --property:",
                traits="at words",
            )
        },
    ),
}
