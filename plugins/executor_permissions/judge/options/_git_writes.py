"""git's sub-commands that change the repository, the work tree or another repository. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

WRITES: dict[str, Entry] = {
    "worktree": Entry(
        "writer",
        subs={
            "list": Entry("reader", "", "-v -z --porcelain --verbose --expire:"),
            "add": Entry(
                "writer",
                "write text",
                "-f -b: -B: -d -q --force --detach --checkout --no-checkout --guest-remote --no-track --track --lock "
                "--reason: --quiet --guess-remote --no-guess-remote",
            ),
            "lock unlock move remove prune repair": Entry(
                "writer", "write*", "-f -n -v --force --dry-run --verbose --reason: --expire:"
            ),
        },
    ),
    "submodule": Entry(
        "writer",
        "",
        "-q --quiet --cached",
        subs={
            "status": Entry("reader", "text*", "-q --quiet --cached --recursive"),
            "summary": Entry("reader", "text*", "--cached --files -n: --summary-limit:"),
            "init deinit sync update absorbgitdirs": Entry(
                "writer",
                "text*",
                "-q -f -N -j: --quiet --init --remote --no-fetch --force --checkout --merge --rebase --recursive "
                "--depth: --jobs: --all --progress --recommend-shallow --no-recommend-shallow --single-branch "
                "--no-single-branch --filter:",
            ),
            "add": Entry("writer", "remote write", "-q -f -b: --quiet --force --branch: --name: --depth:"),
            "foreach": Entry("builder", "text*", "-q --quiet --recursive", traits="spell stop"),
        },
    ),
    "ls-remote": Entry(
        "network",
        "remote text*",
        "-q -h -t --heads --tags --refs --get-url --sort:format --exit-code --symref --quiet",
        asks="--upload-pack: --exec: -o: --server-option:",
    ),
    "fetch": Entry(
        "network",
        "remotename fetched*",
        "-p -t -n -v -q -4 -6 -j: --all --atomic --multiple --no-tags --tags --jobs: --prune --no-recurse-submodules "
        "--dry-run --keep --progress --no-progress --depth: --shallow-since: --deepen: --unshallow "
        "--no-auto-maintenance --no-auto-gc --show-forced-updates --no-show-forced-updates --no-write-fetch-head "
        "--verbose --quiet --ipv4 --ipv6 --recurse-submodules? --set-upstream -a --append --shallow-exclude: "
        "--filter: --prefetch --refetch --write-commit-graph",
        asks="-f --force -u --update-head-ok -P --prune-tags --refmap: --upload-pack: -o: --server-option: "
        "--negotiation-tip: --stdin",
    ),
    "pull": Entry(
        "network",
        "remotename fetched*",
        "-p -t -n -v -q -4 -6 -j? --all --atomic --multiple --no-tags --tags --jobs? --prune --no-recurse-submodules "
        "--dry-run --keep --progress --no-progress --depth: --shallow-since: --deepen: --unshallow "
        "--no-auto-maintenance --no-auto-gc --show-forced-updates --no-show-forced-updates --no-write-fetch-head "
        "--verbose --quiet --ipv4 --ipv6 -r? --rebase? --no-rebase --ff --no-ff --ff-only --squash --no-squash "
        "--commit --no-commit --edit --no-edit --stat --no-stat --log? --no-log --signoff --no-signoff --verify "
        "--no-verify --autostash --no-autostash --allow-unrelated-histories --recurse-submodules? --set-upstream "
        "--cleanup: -s:(ort|recursive|resolve|octopus|ours|subtree) "
        "--strategy:(ort|recursive|resolve|octopus|ours|subtree) -X: --strategy-option: -S? --gpg-sign? --no-gpg-sign "
        "--verify-signatures",
        asks="-f --force --prune-tags --upload-pack: -o: --server-option:",
    ),
    "push": Entry(
        "network",
        "remotename refspec*",
        "-u -n -v -q -4 -6 --all --branches --tags --follow-tags --no-follow-tags --set-upstream --dry-run "
        "--porcelain --verbose --quiet --progress --no-progress --atomic --no-atomic --thin --no-thin --signed? "
        "--no-signed --ipv4 --ipv6 --no-verify --verify --recurse-submodules: --no-recurse-submodules --push-option: "
        "-o:",
        asks="-f -d --force --force-with-lease? --force-if-includes --mirror --delete --prune --receive-pack: --exec: "
        "--repo:",
    ),
    "clone": Entry(
        "network",
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
        "write",
        "-q -b: --quiet --bare --initial-branch: --object-format: --shared? --ref-format:",
        asks="--template:code --separate-git-dir:write",
    ),
    "add stage": Entry(
        "writer",
        "text*",
        "-n -v -u -A -N --dry-run --verbose --update --all --no-all --ignore-removal --no-ignore-removal "
        "--intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --sparse --chmod: "
        "--no-warn-embedded-repo -f -p -i -e --force --patch --interactive --edit",
        asks="--pathspec-from-file:read --pathspec-file-nul",
        traits="inert",
    ),
    "rm": Entry(
        "writer",
        "text*",
        "-f -n -r -q --force --dry-run --cached --ignore-unmatch --sparse --quiet",
        asks="--pathspec-from-file:read",
        traits="inert",
    ),
    "mv": Entry("writer", "text*", "-f -k -n -v --force --dry-run --verbose --sparse", traits="inert"),
    "commit": Entry(
        "writer",
        "text*",
        "-a -m: -q -v -s -o --all --message: --quiet --verbose --signoff --only --allow-empty --allow-empty-message "
        "--author: --date: --cleanup: --no-edit --dry-run --short --branch --porcelain --long --status --no-status "
        "--no-gpg-sign --trailer: --reset-author -p -n -e -c: -C: -F:read -i -u? -z -S? --patch --no-verify --verify "
        "--amend --edit --file:read --reuse-message: --reedit-message: --fixup: --squash: --include --no-signoff "
        "--gpg-sign? --untracked-files? --null --no-post-rewrite --ahead-behind --no-ahead-behind",
        asks="-t:read --template:read --pathspec-from-file:read",
    ),
    "switch": Entry(
        "writer",
        "text*",
        "-q -d -c: -t --quiet --detach --create: --guess --no-guess --progress --no-progress --no-track --track? "
        "--no-recurse-submodules --no-overwrite-ignore -C: -f -m --force --force-create: --discard-changes --merge "
        "--conflict: --orphan: --ignore-other-worktrees --recurse-submodules? --overwrite-ignore",
    ),
    "checkout": Entry(
        "writer",
        "text*",
        "-b: -q --quiet --detach --progress --no-progress --guess --no-guess --no-track --no-recurse-submodules -B: "
        "-f -m -p -t -l -d --force --merge --patch --track? --ours --theirs --conflict: --orphan: "
        "--ignore-other-worktrees --overlay --no-overlay --ignore-skip-worktree-bits --recurse-submodules? "
        "--overwrite-ignore --no-overwrite-ignore",
        asks="--pathspec-from-file:read",
    ),
    "restore": Entry(
        "writer",
        "text*",
        "-S -q --staged --quiet --progress --no-progress --no-recurse-submodules -s: -W -p -m --source: --worktree "
        "--patch --ours --theirs --merge --conflict: --overlay --no-overlay --ignore-unmerged "
        "--ignore-skip-worktree-bits --recurse-submodules?",
        asks="--pathspec-from-file:read",
        traits="inert",
    ),
    "reset": Entry(
        "writer",
        "text*",
        "-q -N -p --quiet --no-quiet --mixed --soft --hard --merge --keep --patch --intent-to-add --refresh "
        "--no-refresh --recurse-submodules?",
        asks="--pathspec-from-file:read",
    ),
    "revert cherry-pick": Entry(
        "writer",
        "text*",
        "-n -e -x -s -m: -S? -X: --no-commit --edit --no-edit --signoff --mainline: --gpg-sign? --no-gpg-sign --ff "
        "--allow-empty --allow-empty-message --keep-redundant-commits --empty: --cleanup: "
        "--strategy:(ort|recursive|resolve|octopus|ours|subtree) --strategy-option: --continue --skip --quit --abort "
        "--rerere-autoupdate --no-rerere-autoupdate --reference",
    ),
    "merge": Entry(
        "writer",
        "text*",
        "-n -e -q -v -m: -s:(ort|recursive|resolve|octopus|ours|subtree) -X: -S? --commit --no-commit --edit "
        "--no-edit --ff --no-ff --ff-only --squash --no-squash --log? --no-log --signoff --no-signoff --stat "
        "--no-stat --strategy:(ort|recursive|resolve|octopus|ours|subtree) --strategy-option: --verify --no-verify "
        "--verify-signatures --no-verify-signatures --summary --quiet --verbose --progress --no-progress --autostash "
        "--no-autostash --allow-unrelated-histories --message: --into-name: --gpg-sign? --no-gpg-sign "
        "--rerere-autoupdate --no-rerere-autoupdate --overwrite-ignore --no-overwrite-ignore --cleanup: --abort "
        "--quit --continue",
        asks="-F:read --file:read",
    ),
    "rebase": Entry(
        "writer",
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
        subs={
            "start bad good new old skip reset terms next log": Entry(
                "writer", "text*", "--term-new: --term-old: --term-good: --term-bad: --no-checkout --first-parent"
            ),
            "run": Entry("builder", "command", traits="runner spell stop"),
            "replay": Entry("writer", "read"),
        },
    ),
    "clean": Entry("writer", "text*", "-d -f -i -n -q -e: -x -X --force --interactive --dry-run --quiet --exclude:"),
    "apply": Entry(
        "writer",
        "read*",
        "-3 -p: -C: -R -v -q -z -N --check --stat --numstat --summary --index --cached --3way --reverse --reject "
        "--whitespace: --ignore-whitespace --ignore-space-change --recount --verbose --quiet --include: --exclude: "
        "--intent-to-add --allow-empty --inaccurate-eof --unidiff-zero --apply --no-add --ours --theirs --union",
        asks="--unsafe-paths --directory: --build-fake-ancestor:write",
    ),
    "am": Entry(
        "writer",
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
        "text*",
        "-# -n -N -k -s -v: -p --stdout --numbered --no-numbered --start-number: --numbered-files --signoff "
        "--suffix:filename --quiet -q --no-binary --zero-commit --cover-letter --no-cover-letter --subject-prefix: "
        "--rfc? --to: --cc: --from? --no-from --thread? --no-thread --attach? --inline? --signature: --no-signature "
        "--base: --root --reroll-count: --progress --keep-subject --filename-max-length: --stat? --no-stat --notes? "
        "--no-notes -M? -C? -U:",
        asks="-o:write --output-directory:write --output:write --signature-file:read",
        traits="exact",
    ),
    "notes": Entry(
        "writer",
        "",
        "--ref:",
        subs={
            "list show": Entry("reader", "text*"),
            "add append edit copy remove prune merge get-ref": Entry(
                "writer",
                "text*",
                "-f -m: -C: -n -v -q -s: --force --message: --allow-empty --ignore-missing --dry-run --verbose",
            ),
        },
    ),
    "gc": Entry(
        "writer",
        "",
        "-q --quiet --auto --aggressive --prune? --no-prune --cruft --no-cruft --force --keep-largest-pack --detach "
        "--no-detach",
    ),
    "prune": Entry(
        "writer", "text*", "-n -v --dry-run --verbose --progress --no-progress --expire: --exclude-promisor-objects"
    ),
    "pack-refs": Entry("writer", "", "--all --no-prune --prune"),
    "repack": Entry(
        "writer",
        "",
        "-a -A -d -l -f -F -q -n -b -k -i -m --quiet --local --cruft --no-cruft --write-bitmap-index --window: "
        "--depth: --threads: --pack-kept-objects --keep-unreachable --delta-islands --geometric: "
        "--unpack-unreachable: --max-pack-size: --window-memory: --cruft-expiration: --write-midx",
    ),
    "fsck": Entry(
        "reader",
        "text*",
        "-v --verbose --full --no-full --strict --unreachable --dangling --no-dangling --root --tags --cache "
        "--progress --no-progress --connectivity-only --name-objects --no-reflogs --reflogs",
        asks="--lost-found",
    ),
    "hash-object": Entry("writer", "read*", "-t: -w --stdin --path: --no-filters --literally", asks="--stdin-paths"),
    "symbolic-ref": Entry("writer", "refname refname", "-d -q -m: --delete --quiet --short --recurse --no-recurse"),
    "update-ref": Entry("writer", "refname text text", "-d -m: --no-deref --create-reflog"),
    "merge-tree": Entry(
        "writer",
        "text*",
        "-z --write-tree --trivial-merge --messages --no-messages --name-only --allow-unrelated-histories",
    ),
    "write-tree": Entry("writer", "", "--missing-ok --prefix:"),
    "update-index": Entry(
        "writer",
        "text*",
        "-q --add --remove --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree "
        "--no-skip-worktree --ignore-missing --ignore-submodules --unmerged --again -g --verbose --chmod:(+x|-x)",
    ),
    "sparse-checkout": Entry(
        "writer",
        subs={
            "list": Entry("reader"),
            "set add init disable reapply": Entry(
                "writer", "text*", "--cone --no-cone --sparse-index --no-sparse-index --skip-checks"
            ),
        },
    ),
    "rerere": Entry(
        "writer", subs={"status diff remaining": Entry("reader"), "clear forget gc": Entry("writer", "text*")}
    ),
    "bundle": Entry(
        "writer",
        subs={
            "verify list-heads": Entry("reader", "read text*", "-q --quiet"),
            "create": Entry(
                "writer",
                "write text*",
                "-q --quiet --progress --all-progress --all --branches? --tags?",
                traits="spell",
            ),
        },
    ),
}
