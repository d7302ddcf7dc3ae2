"""Ruby's tools. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "bundle": Entry(
        "builder",
        "",
        "-v --version --verbose --quiet --no-color",
        manual="bundler 2",
        traits="loads",
        subs={
            "exec": Entry("builder", "command", traits="stop runner"),
            "check list show info outdated platform licenses doctor": Entry(
                "reader", "text*", "--paths --strict --parseable"
            ),
            "install update add remove lock cache clean": Entry(
                "builder",
                "text*",
                "-j: --jobs: --quiet --retry: --local --all --group: --version: --dry-run --force --frozen",
            ),
        },
    ),
    "rake": Entry(
        "builder",
        "maketarget*",
        "-v --version -T -P -n -q -s --quiet --silent --dry-run --tasks? --trace",
        manual="rake 13",
        asks="-f:code --rakefile:code -r:code --require:code -R:code --rakelibdir:code -I:code --libdir:code",
    ),
}
