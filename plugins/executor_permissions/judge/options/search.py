"""Programs that look for files and text, compare and show them. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry
from executor_permissions.judge.options._programs import GREPS

PROGRAMS: dict[str, Entry] = {
    "diff": Entry(
        "reader",
        "read read",
        "-# -B -C: -D: -E -F: -H -I: -N -S: -T -U: -W: -X:read -Z -a -b -c -d -e -i -n -p -q -r -s -t -u -v -w -x: -y "
        "--brief --color? --context? --ed --exclude-from:read --exclude: --expand-tabs --from-file:read "
        "--to-file:read --horizon-lines: --ifdef: --ignore-all-space --ignore-blank-lines --ignore-case "
        "--ignore-file-name-case --ignore-matching-lines: --ignore-space-change --ignore-tab-expansion "
        "--ignore-trailing-space --initial-tab --label: --left-column --line-format: --old-line-format: "
        "--new-line-format: --unchanged-line-format: --old-group-format: --new-group-format: --changed-group-format: "
        "--unchanged-group-format: --minimal --new-file --no-dereference --no-ignore-file-name-case --normal "
        "--palette: --rcs --recursive --report-identical-files --show-c-function --show-function-line: --side-by-side "
        "--speed-large-files --starting-file: --strip-trailing-cr --suppress-blank-empty --suppress-common-lines "
        "--tabsize: --text --unidirectional-new-file --unified? --width: --help --version",
        manual="GNU diffutils 3.8",
        traits="inert",
    ),
    "cmp": Entry(
        "reader",
        "read read text text",
        "-b -i: -l -n: -s -v --bytes: --ignore-initial: --print-bytes --quiet --silent --verbose --help --version",
        manual="GNU diffutils 3.8",
        traits="inert",
    ),
    "diff3": Entry(
        "reader",
        "read read read",
        "-A -e -E -3 -x -X -a -m -T -i -L: --show-all --ed --show-overlap --easy-only --overlap-only --text --merge "
        "--initial-tab --label: --strip-trailing-cr --help --version",
        manual="GNU diffutils 3.8",
        asks="--diff-program:",
    ),
    "sdiff": Entry(
        "reader",
        "read read",
        "-i -E -Z -b -W -B -I: -a -w: -l -s -t -d -H --ignore-case --ignore-tab-expansion --ignore-trailing-space "
        "--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines: --strip-trailing-cr "
        "--text --width: --left-column --suppress-common-lines --expand-tabs --tabsize: --minimal --speed-large-files "
        "--help --version",
        manual="GNU diffutils 3.8",
        asks="-o:write --output:write --diff-program:",
    ),
    " ".join(sorted(GREPS)): Entry(
        "reader",
        "pattern read*",
        "-# -A: -B: -C: -D: -E -F -G -H -I -L -P -R -T -U -V -Z -a -b -c -d: -e:pattern -f:readpattern -h -i -l -m: "
        "-n -o -q -r -s -v -w -x -y -z --after-context: --basic-regexp --before-context: --binary --binary-files: "
        "--byte-offset --color? --colour? --context: --count --dereference-recursive --devices: --directories: "
        "--exclude-dir: --exclude-from:read --exclude: --extended-regexp --file:readpattern --files-with-matches "
        "--files-without-match --fixed-strings --group-separator: --ignore-case --include: --initial-tab "
        "--invert-match --label: --line-buffered --line-number --line-regexp --max-count: --no-filename "
        "--no-group-separator --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp --quiet "
        "--recursive --regexp:pattern --silent --text --with-filename --word-regexp --help --version",
        manual="GNU grep 3.8",
        traits="inert",
    ),
    "rg": Entry(
        "reader",
        "pattern read*",
        "-A: -B: -C: -E: -F -H -I -L -M: -N -P -S -T: -U -V -a -b -c -e:pattern -f:readpattern -g: -h -i -j: -l -m: "
        "-n -o -p -q -r: -s -t: -u -v -w -x -0 -. --after-context: --auto-hybrid-regex --before-context: --binary "
        "--block-buffered --byte-offset --case-sensitive --color: --colors: --column --context: --context-separator: "
        "--count --count-matches --crlf --debug --dfa-size-limit: --encoding: --engine: --field-context-separator: "
        "--field-match-separator: --file:readpattern --files --files-with-matches --files-without-match "
        "--fixed-strings --follow --glob: --glob-case-insensitive --heading --hidden --iglob: --ignore-case "
        "--ignore-file:read --ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered "
        "--line-number --line-regexp --max-columns: --max-columns-preview --max-count: --max-depth: --max-filesize: "
        "--mmap --multiline --multiline-dotall --no-config --no-context-separator --no-filename --no-heading "
        "--no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages "
        "--no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --no-mmap --no-pcre2-unicode "
        "--no-require-git --no-unicode --no-hidden --no-follow --null --null-data --one-file-system --only-matching "
        "--passthru --path-separator: --pcre2 --pcre2-version --pretty --quiet --regex-size-limit: --regexp:pattern "
        "--replace: --smart-case --sort: --sortr: --stats --text --threads: --trace --trim --type: --type-add: "
        "--type-clear: --type-list --type-not: --unrestricted --vimgrep --with-filename --word-regexp --help "
        "--version",
        manual="ripgrep 14",
        asks="--pre:code --pre-glob: -z --search-zip --hostname-bin:code",
    ),
    "fd fdfind": Entry(
        "reader",
        "text read*",
        "-0 -1 -E: -F -H -I -L -S: -V -a -c: -d: -e: -g -h -i -j: -o: -p -q -s -t: -u --absolute-path --and: "
        "--case-sensitive --changed-after: --changed-before: --changed-within: --newer: --older: --color: "
        "--exact-depth: --exclude: --extension: --fixed-strings --follow --full-path --glob --hidden --ignore "
        "--ignore-case --ignore-file:read --ignore-vcs --max-depth: --max-results: --min-depth: --no-follow "
        "--no-hidden --no-ignore --no-ignore-parent --no-ignore-vcs --one-file-system --owner: --path-separator: "
        "--print0 --prune --quiet --regex --relative-path --show-errors --size: --strip-cwd-prefix --threads: --type: "
        "--unrestricted --help --version",
        manual="fd 9",
        asks="-x -X --exec --exec-batch -l --list-details",
    ),
    "tree": Entry(
        "reader",
        "read*",
        "-a -d -f -i -l -p -s -h -g -u -D -Q -q -N -v -t -c -U -r -x -F -S -A -C -n -J -X -L: -P: -I: -T: --du "
        "--dirsfirst --filesfirst --device --inodes --matchdirs --metafirst --noreport --nolinks --prune --si "
        "--ignore-case --gitignore --sort: --filelimit: --timefmt: --charset: --fflinks --help --version",
        manual="tree 2.1",
        traits="apart",
        asks="-o:write --output:write -R",
    ),
    "find": Entry(
        "reader",
        "",
        "-name: -iname: -path: -ipath: -wholename: -iwholename: -regex: -iregex: -regextype: -lname: -ilname: -type: "
        "-xtype: -size: -empty -maxdepth: -mindepth: -depth -d -mtime: -atime: -ctime: -mmin: -amin: -cmin: "
        "-newer:read -anewer:read -cnewer:read -newermt: -neweraa: -newerac: -neweram: -newerat: -newerca: -newercc: "
        "-newercm: -newerct: -newerma: -newermc: -newermm: -perm: -user: -group: -uid: -gid: -nouser -nogroup -links: "
        "-inum: -samefile:read -readable -writable -executable -fstype: -mount -xdev -follow -noleaf -daystart "
        "-ignore_readdir_race -noignore_readdir_race -warn -nowarn -used: -true -false -print -print0 -printf: -ls "
        "-prune -quit -help -version --help --version",
        manual="GNU findutils 4.9",
        asks="-delete -exec -execdir -ok -okdir -fprint:write -fprint0:write -fls:write -fprintf:: -files0-from:list",
        traits="words",
        shape="find",
    ),
    "less more most": Entry(
        "reader",
        "read*",
        "-# -N -n -S -R -r -F -X -i -I -e -E -m -M -s -g -G -w -W -c -C -u -U -f -q -Q -d -p:nodollar -x:number "
        "-b:number -h:number -j:number -y:number -z:number +F +G +# --LINE-NUMBERS --chop-long-lines "
        "--RAW-CONTROL-CHARS --quit-if-one-screen --no-init --ignore-case --squeeze-blank-lines --help --version",
        manual="less 590",
        asks="-o:write -O:write -k:read -t: -T: --log-file:write --LOG-FILE:write --lesskey-file:read "
        "--lesskey-src:read --lesskey-content:",
        traits="plus",
    ),
}
