"""git's sub-commands that mostly read. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

# Shared by diff, log, show and the like.
DIFF = (
    "-p -u -U: -s -W -w -b -z -R -a -B? -M? -C? -D -S: -G: -l: -O:read --patch --no-patch --unified: "
    "--function-context --raw --patch-with-raw --patch-with-stat --numstat --shortstat --dirstat? --cumulative "
    "--check --summary --name-only --name-status --stat? --stat-width: --stat-name-width: --stat-graph-width: "
    "--stat-count: --compact-summary --binary --full-index --color? --no-color --ws-error-highlight: --abbrev? "
    "--no-abbrev --src-prefix: --dst-prefix: --line-prefix: --no-prefix --inter-hunk-context: --break-rewrites? "
    "--find-renames? --irreversible-delete --find-copies? --find-copies-harder --no-renames --rename-empty "
    "--no-rename-empty --minimal --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol "
    "--ignore-blank-lines --ignore-matching-lines: --indent-heuristic --no-indent-heuristic --patience --histogram "
    "--diff-algorithm: --anchored: --word-diff? --word-diff-regex: --color-words? --color-moved? --color-moved-ws: "
    "--relative? --no-relative --text --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? "
    "--submodule? --pickaxe-all --pickaxe-regex --find-object: --diff-filter: --ita-invisible-in-index "
    "--ita-visible-in-index --cc -c"
)
LOG = (
    "-# -n: -i -E -F -P -g -m -r -t --max-count: --skip: --since: --after: --until: --before: --author: --committer: "
    "--grep: --grep-reflog: --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp "
    "--fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents: --max-parents: --no-min-parents "
    "--no-max-parents --first-parent --not --all --branches? --tags? --remotes? --glob: --exclude: --reflog "
    "--walk-reflogs --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse "
    "--simplify-merges --ancestry-path --cherry --cherry-mark --cherry-pick --left-only --right-only --left-right "
    "--topo-order --date-order --author-date-order --reverse --no-walk? --do-walk --oneline --pretty?format "
    "--format:format --abbrev-commit --no-abbrev-commit --encoding: --expand-tabs? --no-expand-tabs --notes? "
    "--no-notes --relative-date --date: --parents --children --graph --show-linear-break? --full-diff --follow "
    "--source --use-mailmap --mailmap --no-mailmap --decorate? --no-decorate --decorate-refs: "
    "--decorate-refs-exclude: --clear-decorations --log-size --diff-merges: --no-diff-merges --root "
    "--no-show-signature -L: --end-of-options"
)
READS: dict[str, Entry] = {
    "status": Entry(
        "reader",
        "text*",
        "-s -b -v -z -u? -M? --short --branch --show-stash --ahead-behind --no-ahead-behind --porcelain? --long "
        "--verbose --null --untracked-files? --ignored? --ignore-submodules? --column? --no-column --find-renames? "
        "--renames --no-renames",
        traits="inert",
    ),
    "log whatchanged": Entry(
        "reader", "text*", f"{DIFF} {LOG}", asks="--output:write --ext-diff --textconv --show-signature", traits="exact"
    ),
    "show": Entry(
        "reader", "text*", f"{DIFF} {LOG}", asks="--output:write --ext-diff --textconv --show-signature", traits="exact"
    ),
    "diff": Entry(
        "reader",
        "read*",
        f"{DIFF} -1 -2 -3 -0 -q --cached --staged --merge-base --base --ours --theirs",
        asks="--output:write --ext-diff --textconv",
        traits="exact",
    ),
    "diff-tree diff-index diff-files": Entry(
        "reader",
        "text*",
        f"{DIFF} {LOG} --stdin --cached --merge-base --creation-factor: --no-dual-color",
        asks="--output:write --ext-diff --textconv",
        traits="exact",
    ),
    "range-diff": Entry(
        "reader",
        "text*",
        "-s --creation-factor: --no-dual-color --notes? --no-notes --left-only --right-only --stat? --no-patch "
        "--color? --no-color --no-ext-diff --no-textconv",
        asks="--output:write --ext-diff --textconv",
        traits="exact",
    ),
    "blame annotate": Entry(
        "reader",
        "read*",
        "-b -c -e -f -l -n -p -s -t -w -L: -M? -C? --root --show-stats --progress --no-progress --score-debug "
        "--show-name --show-number --porcelain --line-porcelain --incremental --show-email --ignore-rev: "
        "--ignore-revs-file:read --color-lines --color-by-age --minimal --abbrev? --since: --date: --encoding: "
        "--first-parent",
        asks="-S:read --contents:read",
    ),
    "branch": Entry(
        "writer",
        "text*",
        "-l -a -r -v -i --list --all --remotes --show-current --contains: --no-contains: --merged? --points-at: "
        "--sort:format --format:format --color? --no-color --column? --no-column --abbrev? --no-abbrev --ignore-case "
        "--verbose -d -D -m -c -f -q -t -u: --delete --move --copy --force --quiet --track? --no-track "
        "--set-upstream-to: --unset-upstream --no-merged: --recurse-submodules --create-reflog",
        asks="--edit-description -M -C",
    ),
    "tag": Entry(
        "writer",
        "text*",
        "-l -n? -i --list --contains: --no-contains: --merged? --no-merged? --sort:format --format:format --color? "
        "--column? --no-column --ignore-case -a -m: -d -f -s -u: --annotate --message: --delete --force --sign "
        "--local-user: --cleanup: --create-reflog --points-at:",
        asks="-e --edit -F:read --file:read -v --verify",
    ),
    "remote": Entry(
        "writer",
        "",
        "-v --verbose",
        subs={
            "add": Entry("writer", "text address", "-t: -m: -f --fetch --tags --no-tags --track: --master: --mirror?"),
            "get-url": Entry("reader", "text", "--push --all"),
            # An address, or a folder, is taken for a remote as well, and is asked.
            "show": Entry("network", "remotename*", "-n -v"),
            "prune": Entry("writer", "remotename*", "-n --dry-run"),
            "set-head": Entry("writer", "remotename text", "-a -d --auto --delete"),
            "rename remove rm": Entry("writer", "text*", "--progress"),
            "set-url": Entry("writer", "text address address", "--push --add --delete"),
            "set-branches": Entry("writer", "text*", "--add"),
            "update": Entry("network", "remotename*", "-p --prune"),
        },
    ),
    "rev-parse": Entry(
        "reader",
        "text*",
        "--show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir "
        "--git-common-dir --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository "
        "--show-object-format --abbrev-ref? --symbolic --symbolic-full-name --short? --verify -q --quiet --all "
        "--branches? --tags? --remotes? --glob: --exclude: --revs-only --no-revs --flags --no-flags --sq --not "
        "--default: --local-env-vars --git-path: --path-format: --resolve-git-dir: --shared-index-path --since: "
        "--until: --disambiguate:",
        traits="exact inert",
    ),
    "ls-files": Entry(
        "reader",
        "text*",
        "-c -d -m -o -i -s -k -u -t -v -f -z -x: -X: --cached --deleted --modified --others --ignored --stage "
        "--killed --directory --eol --no-empty-directory --unmerged --resolve-undo --exclude: --exclude-from: "
        "--exclude-per-directory: --exclude-standard --full-name --recurse-submodules --error-unmatch --with-tree: "
        "--abbrev? --debug --deduplicate --sparse --format:format",
        traits="inert",
    ),
    "ls-tree": Entry(
        "reader",
        "text*",
        "-d -r -t -l -z --long --name-only --name-status --object-only --full-name --full-tree --format:format "
        "--abbrev?",
        traits="inert",
    ),
    "show-ref": Entry(
        "reader",
        "text*",
        "-d -s -q --tags --heads --verify --head --dereference --hash? --abbrev? --quiet",
        traits="inert",
    ),
    "merge-base": Entry(
        "reader", "text*", "-a --all --octopus --independent --is-ancestor --fork-point", traits="inert"
    ),
    "name-rev": Entry(
        "reader",
        "text*",
        "--tags --refs: --exclude: --all --name-only --undefined --no-undefined --always",
        traits="inert",
    ),
    "describe": Entry(
        "reader",
        "text*",
        "--contains --dirty? --broken? --debug --all --tags --long --first-parent --abbrev? --exact-match "
        "--candidates: --match: --exclude: --always",
        traits="inert",
    ),
    "count-objects": Entry("reader", "text*", "-v -H --verbose --human-readable", traits="inert"),
    "version": Entry("reader", "text*", "--build-options", traits="inert"),
    "check-ignore check-attr check-mailmap": Entry(
        "reader",
        "text*",
        "-q -v -n -z --quiet --verbose --non-matching --no-index --stdin -a --all --cached",
        traits="inert",
    ),
    "check-ref-format": Entry(
        "reader", "text*", "--branch --allow-onelevel --no-allow-onelevel --refspec-pattern --normalize", traits="inert"
    ),
    "var": Entry("reader", "text", "-l", traits="inert"),
    "column stripspace patch-id fmt-merge-msg": Entry(
        "reader",
        "",
        "-s -c --strip-comments --comment-lines --mode? --raw-mode: --width: --indent: --nl: --padding: --stable "
        "--unstable --verbatim --log? --no-log -m: --message:",
    ),
    "cherry": Entry("reader", "text*", "-v --verbose --abbrev?", traits="inert"),
    "show-branch": Entry(
        "reader",
        "text*",
        "-a -r -g? --all --remotes --current --topo-order --date-order --sparse --more? --list --merge-base "
        "--independent --no-name --sha1-name --topics --reflog? --color? --no-color",
        traits="inert",
    ),
    "for-each-ref": Entry(
        "reader",
        "text*",
        "--shell --perl --python --tcl -s -p --count: --format:format --color? --sort:format --points-at: --merged? "
        "--no-merged? --contains? --no-contains? --ignore-case",
    ),
    "rev-list": Entry(
        "reader",
        "text*",
        "-# -n: -i -E -F -P -g --max-count: --skip: --since: --after: --until: --before: --author: --committer: "
        "--grep: --grep-reflog: --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp "
        "--fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents: --max-parents: "
        "--no-min-parents --no-max-parents --first-parent --not --all --branches? --tags? --remotes? --glob: "
        "--exclude: --reflog --walk-reflogs --boundary --simplify-by-decoration --show-pulls --full-history --dense "
        "--sparse --simplify-merges --ancestry-path --cherry --cherry-mark --cherry-pick --left-only --right-only "
        "--left-right --topo-order --date-order --author-date-order --reverse --no-walk? --do-walk --oneline "
        "--pretty?format --format:format --abbrev-commit --no-abbrev-commit --encoding: --expand-tabs? "
        "--no-expand-tabs --date: --parents --children --graph --show-linear-break? --end-of-options --count "
        "--objects --header --timestamp --disk-usage",
        traits="exact",
    ),
    "shortlog": Entry(
        "reader",
        "text*",
        "-n -s -e -c -w? --numbered --summary --email --committer --group:format --no-merges --since: --until: "
        "--author: --all",
    ),
    "cat-file": Entry(
        "reader",
        "text*",
        "-e -p -t -s --batch? --batch-check? --batch-all-objects --buffer --unordered --follow-symlinks --use-mailmap "
        "--no-use-mailmap --allow-unknown-type --path:",
        asks="--textconv --filters --batch-command?",
    ),
    "verify-commit verify-tag verify-pack": Entry(
        "reader", "text*", "-v -s --verbose --stat-only --raw --format:format"
    ),
    "stash": Entry(
        "writer",
        "",
        "-p -S -k -q -u -a -m: --patch --staged --keep-index --no-keep-index --quiet --include-untracked --all "
        "--message:",
        subs={
            "list": Entry(
                "reader", "text*", f"{DIFF} {LOG}", asks="--output:write --ext-diff --textconv", traits="exact"
            ),
            "show": Entry(
                "reader",
                "text*",
                f"{DIFF} -u --include-untracked --only-untracked",
                asks="--output:write --ext-diff --textconv",
                traits="exact",
            ),
            "push save": Entry(
                "writer",
                "text*",
                "-p -S -k -q -u -a -m: --patch --staged --keep-index --no-keep-index --quiet --include-untracked "
                "--all --message:",
            ),
            "pop apply drop": Entry("writer", "text", "-q --quiet --index"),
            "clear": Entry("writer"),
            "branch": Entry("writer", "text text"),
            "create store": Entry("writer", "text*", "-m: -q --message: --quiet"),
        },
    ),
    "config": Entry(
        "writer",
        "text*",
        "-l -z --list --get --get-all --get-regexp --get-urlmatch --get-colorbool --type: --bool --int --bool-or-int "
        "--path --null --name-only --includes --no-includes --show-origin --show-scope --global --system --local "
        "--worktree --default: --fixed-value",
        asks="-f:read --file:read --blob: -e --edit --add --replace-all --unset --unset-all --rename-section "
        "--remove-section",
        shape="config",
    ),
    "grep": Entry(
        "reader",
        "pattern text*",
        "-# -a -c -e:pattern -E -F -G -h -H -i -I -l -L -n -o -P -p -q -r -s -v -w -W -z -A: -B: -C: -f:readpattern "
        "-m: --cached --untracked --no-untracked --exclude-standard --no-exclude-standard --recurse-submodules "
        "--invert-match --ignore-case --word-regexp --text --no-textconv --max-depth: --extended-regexp "
        "--basic-regexp --fixed-strings --perl-regexp --line-number --column --full-name --files-with-matches "
        "--name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading "
        "--context: --before-context: --after-context: --threads: --show-function --function-context --and --or --not "
        "--quiet --all-match --max-count:",
        asks="-O? --open-files-in-pager? --textconv --no-index",
    ),
    "reflog": Entry(
        "reader",
        "",
        f"{DIFF} {LOG}",
        traits="exact",
        subs={
            "show": Entry(
                "reader", "text*", f"{DIFF} {LOG}", asks="--output:write --ext-diff --textconv", traits="exact"
            ),
            "exists": Entry("reader", "text"),
            "expire delete": Entry(
                "writer",
                "text*",
                "-n -v --all --dry-run --verbose --rewrite --updateref --stale-fix --expire: --expire-unreachable: "
                "--single-worktree",
                traits="spell",
            ),
        },
    ),
    "archive": Entry(
        "reader",
        "text*",
        "-l -v --format: --prefix: --list --verbose --worktree-attributes -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --mtime:",
        asks="-o:write --output:write --remote: --exec: --add-file:read --add-virtual-file:",
    ),
}
