"""Ruby's tools. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "bundle": Entry(
        "builder",
        "bundler 2",
        "",
        "-v --version --verbose --quiet --no-color",
        traits="loads",
        subs={
            "exec": Entry("builder", "bundler 2", "command", traits="stop runner"),
            "check list show info outdated platform licenses doctor": Entry(
                "reader", "bundler 2", "text*", "--paths --strict --parseable"
            ),
            "install update add remove lock cache clean": Entry(
                "builder",
                "bundler 2",
                "text*",
                "-j: --jobs: --quiet --retry: --local --all --group: --version: --dry-run --force --frozen",
            ),
        },
    ),
    "rake": Entry(
        "builder",
        "rake 13",
        "maketarget*",
        "-v --version -T -P -n -q -s --quiet --silent --dry-run --tasks? --trace",
        asks="-f:code --rakefile:code -r:code --require:code -R:code --rakelibdir:code -I:code --libdir:code",
    ),
}
