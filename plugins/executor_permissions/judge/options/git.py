"""git. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry
from executor_permissions.judge.options._git_reads import READS
from executor_permissions.judge.options._git_writes import WRITES

PROGRAMS: dict[str, Entry] = {
    "git": Entry(
        "writer",
        "",
        "-P --no-pager --no-replace-objects --no-optional-locks --literal-pathspecs --glob-pathspecs "
        "--noglob-pathspecs --icase-pathspecs --no-lazy-fetch --no-advice -v --version --html-path --man-path "
        "--info-path",
        manual="git 2.39",
        asks="-C:!code -c:! --git-dir:!code --work-tree:!code --namespace:! --exec-path?code --config-env:! "
        "--super-prefix:! --attr-source:! -p --paginate --bare",
        traits="exact",
        subs={**READS, **WRITES},
    )
}
