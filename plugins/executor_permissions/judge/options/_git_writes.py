"""git's sub-commands that change the repository, the work tree or another repository. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry
from executor_permissions.judge.options._git_reads import MANUAL

WRITES: dict[str, Entry] = {
    "worktree": Entry(
        "writer",
        MANUAL,
        "",
        "",
        subs={
            "list": Entry("reader", MANUAL, "", "-v -z --porcelain --verbose --expire:"),
            "add": Entry(
                "writer",
                MANUAL,
                "write text",
                "-f -b: -B: -d -q --force --detach --checkout --no-checkout --guest-remote --no-track --track --lock --reason: --quiet --guess-remote --no-guess-remote",
            ),
            "lock unlock move remove prune repair": Entry(
                "writer", MANUAL, "write*", "-f -n -v --force --dry-run --verbose --reason: --expire:"
            ),
        },
    ),
    "submodule": Entry(
        "writer",
        MANUAL,
        "",
        "-q --quiet --cached",
        subs={
            "status": Entry("reader", MANUAL, "text*", "-q --quiet --cached --recursive"),
            "summary": Entry("reader", MANUAL, "text*", "--cached --files -n: --summary-limit:"),
            "init deinit sync update absorbgitdirs": Entry(
                "writer",
                MANUAL,
                "text*",
                "-q -f -N -j: --quiet --init --remote --no-fetch --force --checkout --merge --rebase --recursive --depth: --jobs: --all "
                "--progress --recommend-shallow --no-recommend-shallow --single-branch --no-single-branch --filter:",
            ),
            "add": Entry("writer", MANUAL, "remote write", "-q -f -b: --quiet --force --branch: --name: --depth:"),
            "foreach": Entry("builder", MANUAL, "text*", "-q --quiet --recursive", traits="spell stop"),
        },
    ),
    "ls-remote": Entry(
        "network",
        MANUAL,
        "remote text*",
        "-q -h -t --heads --tags --refs --get-url --sort:format --exit-code --symref --quiet",
        asks="--upload-pack: --exec: -o: --server-option:",
    ),
    "fetch": Entry(
        "network",
        MANUAL,
        "remotename fetched*",
        "-p -t -n -v -q -4 -6 -j: --all --atomic --multiple --no-tags --tags --jobs: --prune "
        "--no-recurse-submodules --dry-run --keep --progress --no-progress --depth: --shallow-since: --deepen: "
        "--unshallow --no-auto-maintenance --no-auto-gc --show-forced-updates --no-show-forced-updates "
        "--no-write-fetch-head --verbose --quiet --ipv4 --ipv6 --recurse-submodules? "
        "--set-upstream -a --append --shallow-exclude: --filter: --prefetch --refetch "
        "--write-commit-graph",
        asks="-f --force -u --update-head-ok -P --prune-tags --refmap: --upload-pack: -o: --server-option: --negotiation-tip: --stdin",
    ),
    "pull": Entry(
        "network",
        MANUAL,
        "remotename fetched*",
        "-p -t -n -v -q -4 -6 -j? --all --atomic --multiple --no-tags --tags --jobs? --prune "
        "--no-recurse-submodules --dry-run --keep --progress --no-progress --depth: --shallow-since: --deepen: "
        "--unshallow --no-auto-maintenance --no-auto-gc --show-forced-updates --no-show-forced-updates "
        "--no-write-fetch-head --verbose --quiet --ipv4 --ipv6 -r? --rebase? --no-rebase --ff --no-ff "
        "--ff-only --squash --no-squash --commit --no-commit --edit --no-edit --stat --no-stat --log? --no-log "
        "--signoff --no-signoff --verify --no-verify --autostash --no-autostash --allow-unrelated-histories "
        "--recurse-submodules? --set-upstream --cleanup: -s:(ort|recursive|resolve|octopus|ours|subtree) "
        "--strategy:(ort|recursive|resolve|octopus|ours|subtree) -X: --strategy-option: -S? --gpg-sign? "
        "--no-gpg-sign --verify-signatures",
        asks="-f --force --prune-tags --upload-pack: -o: --server-option:",
    ),
    "push": Entry(
        "network",
        MANUAL,
        "remotename refspec*",
        "-u -n -v -q -4 -6 --all --branches --tags --follow-tags --no-follow-tags --set-upstream --dry-run "
        "--porcelain --verbose --quiet --progress --no-progress --atomic --no-atomic --thin --no-thin --signed? "
        "--no-signed --ipv4 --ipv6 --no-verify --verify --recurse-submodules: --no-recurse-submodules "
        "--push-option: -o:",
        asks="-f -d --force --force-with-lease? --force-if-includes --mirror --delete --prune --receive-pack: --exec: "
        "--repo:",
    ),
    "clone": Entry(
        "network",
        MANUAL,
        "remote write",
        "-l -s -q -v -n -b: -o: -j: --local --no-local --no-hardlinks --shared --quiet --verbose --progress "
        "--no-checkout --bare --mirror --branch: --origin: --depth: --shallow-since: --shallow-exclude: "
        "--single-branch --no-single-branch --no-tags --recursive? --recurse-submodules? --shallow-submodules "
        "--no-shallow-submodules --remote-submodules --no-remote-submodules --jobs: --sparse --filter: "
        "--also-filter-submodules --dissociate --no-reject-shallow --reject-shallow --ref-format:",
        asks="-u: --upload-pack: -c:! --config:! --template:code --separate-git-dir:write --reference:read "
        "--reference-if-able:read --bundle-uri: --server-option:",
    ),
    "init": Entry(
        "writer",
        MANUAL,
        "write",
        "-q -b: --quiet --bare --initial-branch: --object-format: --shared? --ref-format:",
        asks="--template:code --separate-git-dir:write",
    ),
    "add stage": Entry(
        "writer",
        MANUAL,
        "text*",
        "-n -v -u -A -N --dry-run --verbose --update --all --no-all --ignore-removal --no-ignore-removal "
        "--intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --sparse --chmod: "
        "--no-warn-embedded-repo -f -p -i -e --force --patch --interactive --edit",
        asks="--pathspec-from-file:read --pathspec-file-nul",
        traits="inert",
    ),
    "rm": Entry(
        "writer",
        MANUAL,
        "text*",
        "-f -n -r -q --force --dry-run --cached --ignore-unmatch --sparse --quiet",
        asks="--pathspec-from-file:read",
        traits="inert",
    ),
    "mv": Entry(
        "writer",
        MANUAL,
        "text*",
        "-f -k -n -v --force --dry-run --verbose --sparse",
        traits="inert",
    ),
    "commit": Entry(
        "writer",
        MANUAL,
        "text*",
        "-a -m: -q -v -s -o --all --message: --quiet --verbose --signoff --only --allow-empty --allow-empty-message "
        "--author: --date: --cleanup: --no-edit --dry-run --short --branch --porcelain --long --status --no-status "
        "--no-gpg-sign --trailer: --reset-author -p -n -e -c: -C: -F:read -i -u? -z -S? --patch --no-verify "
        "--verify --amend --edit --file:read --reuse-message: --reedit-message: --fixup: --squash: --include "
        "--no-signoff --gpg-sign? --untracked-files? --null --no-post-rewrite --ahead-behind --no-ahead-behind",
        asks="-t:read --template:read --pathspec-from-file:read",
    ),
    "switch": Entry(
        "writer",
        MANUAL,
        "text*",
        "-q -d -c: -t --quiet --detach --create: --guess --no-guess --progress --no-progress --no-track --track? "
        "--no-recurse-submodules --no-overwrite-ignore -C: -f -m --force --force-create: --discard-changes --merge "
        "--conflict: --orphan: --ignore-other-worktrees --recurse-submodules? --overwrite-ignore",
    ),
    "checkout": Entry(
        "writer",
        MANUAL,
        "text*",
        "-b: -q --quiet --detach --progress --no-progress --guess --no-guess --no-track --no-recurse-submodules -B: "
        "-f -m -p -t -l -d --force --merge --patch --track? --ours --theirs --conflict: --orphan: "
        "--ignore-other-worktrees --overlay --no-overlay --ignore-skip-worktree-bits --recurse-submodules? "
        "--overwrite-ignore --no-overwrite-ignore",
        asks="--pathspec-from-file:read",
    ),
    "restore": Entry(
        "writer",
        MANUAL,
        "text*",
        "-S -q --staged --quiet --progress --no-progress --no-recurse-submodules -s: -W -p -m --source: --worktree "
        "--patch --ours --theirs --merge --conflict: --overlay --no-overlay --ignore-unmerged "
        "--ignore-skip-worktree-bits --recurse-submodules?",
        asks="--pathspec-from-file:read",
        traits="inert",
    ),
    "reset": Entry(
        "writer",
        MANUAL,
        "text*",
        "-q -N -p --quiet --no-quiet --mixed --soft --hard --merge --keep --patch --intent-to-add --refresh "
        "--no-refresh --recurse-submodules?",
        asks="--pathspec-from-file:read",
    ),
    "revert cherry-pick": Entry(
        "writer",
        MANUAL,
        "text*",
        "-n -e -x -s -m: -S? -X: --no-commit --edit --no-edit --signoff --mainline: --gpg-sign? --no-gpg-sign --ff "
        "--allow-empty --allow-empty-message --keep-redundant-commits --empty: --cleanup: "
        "--strategy:(ort|recursive|resolve|octopus|ours|subtree) --strategy-option: --continue --skip --quit "
        "--abort --rerere-autoupdate --no-rerere-autoupdate --reference",
    ),
    "merge": Entry(
        "writer",
        MANUAL,
        "text*",
        "-n -e -q -v -m: -s:(ort|recursive|resolve|octopus|ours|subtree) -X: -S? --commit --no-commit --edit "
        "--no-edit --ff --no-ff --ff-only --squash --no-squash --log? --no-log --signoff --no-signoff --stat "
        "--no-stat --strategy:(ort|recursive|resolve|octopus|ours|subtree) --strategy-option: --verify --no-verify "
        "--verify-signatures --no-verify-signatures --summary --quiet --verbose --progress --no-progress "
        "--autostash --no-autostash --allow-unrelated-histories --message: --into-name: --gpg-sign? --no-gpg-sign "
        "--rerere-autoupdate --no-rerere-autoupdate --overwrite-ignore --no-overwrite-ignore --cleanup: --abort "
        "--quit --continue",
        asks="-F:read --file:read",
    ),
    "rebase": Entry(
        "writer",
        MANUAL,
        "text*",
        "-i -m -q -v -n -f -k -p -r? -S? -X: -C: --interactive --merge --quiet --verbose --stat --no-stat --onto: "
        "--keep-base --root --continue --skip --abort --quit --edit-todo --show-current-patch --autosquash "
        "--no-autosquash --autostash --no-autostash --fork-point --no-fork-point --ignore-whitespace --whitespace: "
        "--committer-date-is-author-date --ignore-date --reset-author-date --signoff --no-ff --force-rebase "
        "--rebase-merges? --no-rebase-merges --strategy-option: --gpg-sign? --no-gpg-sign --verify --no-verify "
        "--reschedule-failed-exec --no-reschedule-failed-exec --update-refs --no-update-refs --empty: --keep-empty "
        "--no-keep-empty --reapply-cherry-picks --no-reapply-cherry-picks --allow-empty-message --apply "
        "--rerere-autoupdate --no-rerere-autoupdate",
        asks="-x: --exec: -s: --strategy:",
    ),
    "bisect": Entry(
        "writer",
        MANUAL,
        "",
        "",
        subs={
            "start bad good new old skip reset terms next log": Entry(
                "writer",
                MANUAL,
                "text*",
                "--term-new: --term-old: --term-good: --term-bad: --no-checkout --first-parent",
            ),
            "run": Entry("builder", MANUAL, "command", traits="runner spell stop"),
            "replay": Entry("writer", MANUAL, "read"),
        },
    ),
    "clean": Entry(
        "writer",
        MANUAL,
        "text*",
        "-d -f -i -n -q -e: -x -X --force --interactive --dry-run --quiet --exclude:",
    ),
    "apply": Entry(
        "writer",
        MANUAL,
        "read*",
        "-3 -p: -C: -R -v -q -z -N --check --stat --numstat --summary --index --cached --3way --reverse --reject "
        "--whitespace: --ignore-whitespace --ignore-space-change --recount --verbose --quiet --include: --exclude: "
        "--intent-to-add --allow-empty --inaccurate-eof --unidiff-zero --apply --no-add --ours --theirs --union",
        asks="--unsafe-paths --directory: --build-fake-ancestor:write",
    ),
    "am": Entry(
        "writer",
        MANUAL,
        "read*",
        "-s -k -u -3 -q -m -c -p: -S? --signoff --keep --keep-non-patch --no-keep-non-patch --keep-cr --no-keep-cr "
        "--scissors --no-scissors --3way --no-3way --quiet --message-id --no-message-id --ignore-space-change "
        "--ignore-whitespace --whitespace: --reject --continue --resolved -r --skip --abort --quit "
        "--show-current-patch? --committer-date-is-author-date --ignore-date --no-verify -n --empty: --allow-empty "
        "--patch-format:",
        asks="-i --interactive --directory: --exclude: --include:",
    ),
    "format-patch": Entry(
        "writer",
        MANUAL,
        "text*",
        "-# -n -N -k -s -v: -p --stdout --numbered --no-numbered --start-number: --numbered-files --signoff "
        "--suffix:filename --quiet -q --no-binary --zero-commit --cover-letter --no-cover-letter --subject-prefix: --rfc? "
        "--to: --cc: --from? --no-from --thread? --no-thread --attach? --inline? --signature: --no-signature "
        "--base: --root --reroll-count: --progress --keep-subject --filename-max-length: --stat? --no-stat --notes? "
        "--no-notes -M? -C? -U:",
        asks="-o:write --output-directory:write --output:write --signature-file:read",
        traits="exact",
    ),
    "notes": Entry(
        "writer",
        MANUAL,
        "",
        "--ref:",
        subs={
            "list show": Entry("reader", MANUAL, "text*"),
            "add append edit copy remove prune merge get-ref": Entry(
                "writer",
                MANUAL,
                "text*",
                "-f -m: -C: -n -v -q -s: --force --message: --allow-empty --ignore-missing --dry-run --verbose",
            ),
        },
    ),
    "gc": Entry(
        "writer",
        MANUAL,
        "",
        "-q --quiet --auto --aggressive --prune? --no-prune --cruft --no-cruft --force --keep-largest-pack --detach --no-detach",
    ),
    "prune": Entry(
        "writer",
        MANUAL,
        "text*",
        "-n -v --dry-run --verbose --progress --no-progress --expire: --exclude-promisor-objects",
    ),
    "pack-refs": Entry("writer", MANUAL, "", "--all --no-prune --prune"),
    "repack": Entry(
        "writer",
        MANUAL,
        "",
        "-a -A -d -l -f -F -q -n -b -k -i -m --quiet --local --cruft --no-cruft --write-bitmap-index --window: --depth: --threads: "
        "--pack-kept-objects --keep-unreachable --delta-islands --geometric: --unpack-unreachable: --max-pack-size: "
        "--window-memory: --cruft-expiration: --write-midx",
    ),
    "fsck": Entry(
        "reader",
        MANUAL,
        "text*",
        "-v --verbose --full --no-full --strict --unreachable --dangling --no-dangling --root --tags --cache --progress "
        "--no-progress --connectivity-only --name-objects --no-reflogs --reflogs",
        asks="--lost-found",
    ),
    "hash-object": Entry(
        "writer", MANUAL, "read*", "-t: -w --stdin --path: --no-filters --literally", asks="--stdin-paths"
    ),
    "symbolic-ref": Entry(
        "writer", MANUAL, "refname refname", "-d -q -m: --delete --quiet --short --recurse --no-recurse"
    ),
    "update-ref": Entry("writer", MANUAL, "refname text text", "-d -m: --no-deref --create-reflog"),
    "merge-tree": Entry(
        "writer",
        MANUAL,
        "text*",
        "-z --write-tree --trivial-merge --messages --no-messages --name-only --allow-unrelated-histories",
    ),
    "write-tree": Entry("writer", MANUAL, "", "--missing-ok --prefix:"),
    "update-index": Entry(
        "writer",
        MANUAL,
        "text*",
        "-q --add --remove --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree --no-skip-worktree "
        "--ignore-missing --ignore-submodules --unmerged --again -g --verbose --chmod:(+x|-x)",
    ),
    "sparse-checkout": Entry(
        "writer",
        MANUAL,
        "",
        subs={
            "list": Entry("reader", MANUAL),
            "set add init disable reapply": Entry(
                "writer", MANUAL, "text*", "--cone --no-cone --sparse-index --no-sparse-index --skip-checks"
            ),
        },
    ),
    "rerere": Entry(
        "writer",
        MANUAL,
        "",
        subs={"status diff remaining": Entry("reader", MANUAL), "clear forget gc": Entry("writer", MANUAL, "text*")},
    ),
    "bundle": Entry(
        "writer",
        MANUAL,
        "",
        subs={
            "verify list-heads": Entry("reader", MANUAL, "read text*", "-q --quiet"),
            "create": Entry(
                "writer",
                MANUAL,
                "write text*",
                "-q --quiet --progress --all-progress --all --branches? --tags?",
                traits="spell",
            ),
        },
    ),
}
