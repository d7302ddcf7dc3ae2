"""Programs that read text and print text. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "cat": Entry(
        "reader",
        "read*",
        "-A -E -T -b -e -n -s -t -u -v --number --number-nonblank --show-all --show-ends --show-nonprinting "
        "--show-tabs --squeeze-blank --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "head": Entry(
        "reader",
        "read*",
        "-# -c: -n: -q -v -z --bytes: --lines: --quiet --silent --verbose --zero-terminated --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "tail": Entry(
        "reader",
        "read*",
        "-# -c: -n: -q -v -z --bytes: --lines: --quiet --silent --verbose --zero-terminated -f -F --follow? --retry "
        "--pid: -s: --sleep-interval: --max-unchanged-stats: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "wc": Entry(
        "reader",
        "read*",
        "-L -c -l -m -w --bytes --chars --lines --max-line-length --words --help --version",
        manual="GNU coreutils 9.1",
        asks="--files0-from:list",
        traits="inert",
    ),
    "sort": Entry(
        "reader",
        "read*",
        "-C -M -R -V -b -c -d -f -g -h -i -k: -m -n -r -s -t: -u -z --batch-size: --check? --debug --dictionary-order "
        "--field-separator: --general-numeric-sort --human-numeric-sort --ignore-case --ignore-leading-blanks "
        "--ignore-nonprinting --key: --merge --month-sort --numeric-sort --parallel: --random-sort "
        "--random-source:read --reverse --sort: --stable --unique --version-sort --zero-terminated --help --version",
        manual="GNU coreutils 9.1",
        asks="-o:write --output:write -T:write --temporary-directory:write -S: --buffer-size: --compress-program:code "
        "--files0-from:list",
    ),
    "uniq": Entry(
        "reader",
        "read",
        "-# -D -c -d -f: -i -s: -u -w: -z --all-repeated? --check-chars: --count --group? --ignore-case --repeated "
        "--skip-chars: --skip-fields: --unique --zero-terminated --help --version",
        manual="GNU coreutils 9.1",
    ),
    "cut": Entry(
        "reader",
        "read*",
        "-b: -c: -d: -f: -n -s -z --bytes: --characters: --complement --delimiter: --fields: --only-delimited "
        "--output-delimiter: --zero-terminated --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "tr": Entry(
        "reader",
        "text text",
        "-C -c -d -s -t --complement --delete --squeeze-repeats --truncate-set1 --help --version",
        manual="GNU coreutils 9.1",
        traits="inert stop",
    ),
    "nl": Entry(
        "reader",
        "read*",
        "-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --footer-numbering: --header-numbering: "
        "--join-blank-lines: --line-increment: --no-renumber --number-format: --number-separator: --number-width: "
        "--section-delimiter: --starting-line-number: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "tac": Entry(
        "reader",
        "read*",
        "-b -r -s: --before --regex --separator: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "rev": Entry("reader", "read*", "-V -h --help --version", manual="util-linux 2.38", traits="inert"),
    "paste": Entry(
        "reader",
        "read*",
        "-d: -s -z --delimiters: --serial --zero-terminated --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "comm": Entry(
        "reader",
        "read read",
        "-1 -2 -3 -z --check-order --nocheck-order --output-delimiter: --total --zero-terminated --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "join": Entry(
        "reader",
        "read read",
        "-1: -2: -a: -e: -i -j: -o: -t: -v: -z --check-order --nocheck-order --header --ignore-case --zero-terminated "
        "--help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "fold": Entry(
        "reader",
        "read*",
        "-# -b -s -w: --bytes --spaces --width: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "fmt": Entry(
        "reader",
        "read*",
        "-# -c -g: -p: -s -t -u -w: --crown-margin --goal: --prefix: --split-only --tagged-paragraph "
        "--uniform-spacing --width: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "expand unexpand": Entry(
        "reader",
        "read*",
        "-# -i -t: --initial --tabs: -a --all --first-only --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "column": Entry(
        "reader",
        "read*",
        "-c: -d -e -H: -J -L -N: -O: -R: -T: -W: -s: -t -x -n: -o: -l: -i: -p: -r: -E: -V -h --fillrows --json "
        "--keep-empty-lines --output-separator: --output-width: --separator: --table --table-columns: "
        "--table-columns-limit: --table-header-repeat --table-hide: --table-name: --table-noextreme: "
        "--table-noheadings --table-order: --table-right: --table-truncate: --table-wrap: --help --version",
        manual="util-linux 2.38",
        traits="inert",
    ),
    "od": Entry(
        "reader",
        "read*",
        "-A: -N: -S: -a -b -c -d -f -i -j: -l -o -s -t: -v -w? -x --address-radix: --endian: --format: "
        "--output-duplicates --read-bytes: --skip-bytes: --strings? --traditional --width? --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "xxd": Entry(
        "reader",
        "read",
        "-a -b -c: -C -d -e -E -g: -h -i -l: -n: -o: -p -ps -s: -u -v --help --version",
        manual="xxd 2022-01-14",
        asks="-r -revert",
        traits="exact stop",
    ),
    "hexdump hd": Entry(
        "reader",
        "read*",
        "-C -V -b -c -d -e: -f:read -h -n: -o -s: -v -x -L? --canonical --color? --format: --format-file:read "
        "--length: --no-squeezing --one-byte-char --one-byte-octal --skip: --two-bytes-decimal --two-bytes-hex "
        "--two-bytes-octal --help --version",
        manual="util-linux 2.38",
        traits="inert",
    ),
    "strings": Entry(
        "reader",
        "read*",
        "-# -a -d -e: -f -h -n: -o -s: -t: -v -V -w -U: -T: --all --bytes: --data --encoding: "
        "--include-all-whitespace --output-separator: --print-file-name --radix: --target: --unicode: --help "
        "--version",
        manual="GNU binutils 2.40",
        traits="inert at",
    ),
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum": Entry(
        "reader",
        "read*",
        "-b -t -w -z --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -l: --length: "
        "--help --version",
        manual="GNU coreutils 9.1",
        asks="-c --check",
        traits="inert",
    ),
    "cksum sum": Entry(
        "reader",
        "read*",
        "-a: --algorithm: -r -s --sysv -z --zero --tag --untagged -l: --length: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "base64 base32": Entry(
        "reader",
        "read",
        "-d -i -w: --decode --ignore-garbage --wrap: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "echo": Entry("reader", manual="GNU coreutils 9.1, bash 5.2", traits="inert", shape="anything"),
    "printf": Entry("reader", manual="bash 5.2", asks="-v:", shape="printf"),
    "seq": Entry(
        "reader",
        "text*",
        "-f: -s: -w --equal-width --format: --separator: --help --version",
        manual="GNU coreutils 9.1",
        traits="inert stop",
    ),
    "expr": Entry("reader", "text*", "--help --version", manual="GNU coreutils 9.1", traits="inert"),
    "factor numfmt": Entry(
        "reader",
        "text*",
        "-d: --delimiter: --field: --format: --from: --from-unit: --grouping --header? --invalid: --padding: --round: "
        "--suffix: --to: --to-unit: -z --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "sed": Entry(
        "reader",
        "sed read*",
        "-n -E -r -s -u -z -b -l:number -e:sed --expression:sed --quiet --silent --regexp-extended --separate "
        "--unbuffered --null-data --zero-terminated --posix --debug --sandbox --line-length:number --help --version",
        manual="GNU sed 4.9",
        asks="-i? --in-place? -f:codesed --file:codesed --follow-symlinks",
        shape="sed",
    ),
    "awk gawk mawk nawk": Entry(
        "reader",
        "awk readawk*",
        "-F: -v: --field-separator: --assign: --csv --re-interval --posix --traditional --sandbox -S --help --version",
        manual="mawk 1.3.4, GNU awk 5.2",
        asks="-f:codeawk --file:codeawk -i:code --include:code -l:code --load:code -e: --source: -E:code --exec:code "
        "-o? -p? -d? -D? -W:",
        traits="stop",
        shape="awk",
    ),
    "jq": Entry(
        "reader",
        "jq read*",
        "-c -n -e -s -r -R -C -M -S -j -a -h -V --tab --arg:: --argjson:: --slurpfile:: --rawfile:: --indent: "
        "--compact-output --null-input --exit-status --slurp --raw-output --raw-input --color-output "
        "--monochrome-output --sort-keys --join-output --ascii-output --unbuffered --seq --stream --help --version",
        manual="jq 1.6, 1.7",
        asks="-f --from-file -L:read",
    ),
    "yq": Entry(
        "reader",
        "yq read*",
        "-r -c -C -M -N -e -j -y -o: -p: -P -I: --raw-output --compact-output --no-colors --colors --prettyPrint "
        "--output-format: --input-format: --indent: --no-doc --tojson --yaml-output --null-input -n --help --version",
        manual="yq 4, kislyuk yq 3",
        asks="-i --inplace -s: --split-exp: -f: --from-file:",
        shape="yq",
    ),
    "basename": Entry(
        "reader",
        "text*",
        "-a -s: -z --multiple --suffix: --zero --help --version",
        manual="GNU coreutils 9.1",
        traits="inert",
    ),
    "dirname": Entry("reader", "text*", "-z --zero --help --version", manual="GNU coreutils 9.1", traits="inert"),
}
