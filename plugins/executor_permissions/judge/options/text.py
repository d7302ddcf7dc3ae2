"""Programs that read text and print text. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry, coreutils

PROGRAMS: dict[str, Entry] = {
    "cat": coreutils(
        "reader",
        "read*",
        "-A -E -T -b -e -n -s -t -u -v --number --number-nonblank --show-all --show-ends --show-nonprinting "
        "--show-tabs --squeeze-blank",
        traits="inert",
    ),
    "head": coreutils(
        "reader",
        "read*",
        "-# -c: -n: -q -v -z --bytes: --lines: --quiet --silent --verbose --zero-terminated",
        traits="inert",
    ),
    "tail": coreutils(
        "reader",
        "read*",
        "-# -c: -n: -q -v -z --bytes: --lines: --quiet --silent --verbose --zero-terminated -f -F --follow? --retry "
        "--pid: -s: --sleep-interval: --max-unchanged-stats:",
        traits="inert",
    ),
    "wc": coreutils(
        "reader",
        "read*",
        "-L -c -l -m -w --bytes --chars --lines --max-line-length --words",
        asks="--files0-from:list",
        traits="inert",
    ),
    "sort": coreutils(
        "reader",
        "read*",
        "-C -M -R -V -b -c -d -f -g -h -i -k: -m -n -r -s -t: -u -z --batch-size: --check? --debug "
        "--dictionary-order --field-separator: --general-numeric-sort --human-numeric-sort --ignore-case "
        "--ignore-leading-blanks --ignore-nonprinting --key: --merge --month-sort --numeric-sort --parallel: "
        "--random-sort --random-source:read --reverse --sort: --stable --unique --version-sort --zero-terminated",
        asks="-o:write --output:write -T:write --temporary-directory:write -S: --buffer-size: --compress-program:code "
        "--files0-from:list",
    ),
    "uniq": coreutils(
        "reader",
        "read",
        "-# -D -c -d -f: -i -s: -u -w: -z --all-repeated? --check-chars: --count --group? --ignore-case --repeated "
        "--skip-chars: --skip-fields: --unique --zero-terminated",
    ),
    "cut": coreutils(
        "reader",
        "read*",
        "-b: -c: -d: -f: -n -s -z --bytes: --characters: --complement --delimiter: --fields: --only-delimited "
        "--output-delimiter: --zero-terminated",
        traits="inert",
    ),
    "tr": coreutils(
        "reader",
        "text text",
        "-C -c -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
        traits="inert stop",
    ),
    "nl": coreutils(
        "reader",
        "read*",
        "-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --footer-numbering: --header-numbering: "
        "--join-blank-lines: --line-increment: --no-renumber --number-format: --number-separator: --number-width: "
        "--section-delimiter: --starting-line-number:",
        traits="inert",
    ),
    "tac": coreutils("reader", "read*", "-b -r -s: --before --regex --separator:", traits="inert"),
    "rev": Entry("reader", "read*", "-V -h --help --version", manual="util-linux 2.38", traits="inert"),
    "paste": coreutils("reader", "read*", "-d: -s -z --delimiters: --serial --zero-terminated", traits="inert"),
    "comm": coreutils(
        "reader",
        "read read",
        "-1 -2 -3 -z --check-order --nocheck-order --output-delimiter: --total --zero-terminated",
        traits="inert",
    ),
    "join": coreutils(
        "reader",
        "read read",
        "-1: -2: -a: -e: -i -j: -o: -t: -v: -z --check-order --nocheck-order --header --ignore-case --zero-terminated",
        traits="inert",
    ),
    "fold": coreutils("reader", "read*", "-# -b -s -w: --bytes --spaces --width:", traits="inert"),
    "fmt": coreutils(
        "reader",
        "read*",
        "-# -c -g: -p: -s -t -u -w: --crown-margin --goal: --prefix: --split-only --tagged-paragraph "
        "--uniform-spacing --width:",
        traits="inert",
    ),
    "expand unexpand": coreutils(
        "reader", "read*", "-# -i -t: --initial --tabs: -a --all --first-only", traits="inert"
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
    "od": coreutils(
        "reader",
        "read*",
        "-A: -N: -S: -a -b -c -d -f -i -j: -l -o -s -t: -v -w? -x --address-radix: --endian: --format: "
        "--output-duplicates --read-bytes: --skip-bytes: --strings? --traditional --width?",
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
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum": coreutils(
        "reader",
        "read*",
        "-b -t -w -z --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -l: --length:",
        asks="-c --check",
        traits="inert",
    ),
    "cksum sum": coreutils(
        "reader", "read*", "-a: --algorithm: -r -s --sysv -z --zero --tag --untagged -l: --length:", traits="inert"
    ),
    "base64 base32": coreutils("reader", "read", "-d -i -w: --decode --ignore-garbage --wrap:", traits="inert"),
    "echo": Entry("reader", manual="GNU coreutils 9.1, bash 5.2", traits="inert", shape="anything"),
    "printf": Entry("reader", manual="bash 5.2", asks="-v:", shape="printf"),
    "seq": coreutils("reader", "text*", "-f: -s: -w --equal-width --format: --separator:", traits="inert stop"),
    "expr": coreutils("reader", "text*", traits="inert"),
    "factor numfmt": coreutils(
        "reader",
        "text*",
        "-d: --delimiter: --field: --format: --from: --from-unit: --grouping --header? --invalid: --padding: "
        "--round: --suffix: --to: --to-unit: -z",
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
    "basename": coreutils("reader", "text*", "-a -s: -z --multiple --suffix: --zero", traits="inert"),
    "dirname": coreutils("reader", "text*", "-z --zero", traits="inert"),
}
