"""Programs about files, folders and archives, and about the machine. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one
from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "ls dir vdir": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read*",
        "-1 -A -B -C -D -F -G -H -I: -L -N -Q -R -S -T: -U -X -Z -a -b -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s "
        "-t -u -v -w: -x --all --almost-all --author --block-size: --classify? --color? --context --dereference "
        "--dereference-command-line --dereference-command-line-symlink-to-dir --directory --dired --escape "
        "--file-type --format: --full-time --group-directories-first --hide-control-chars --hide: --human-readable "
        "--hyperlink? --ignore-backups --ignore: --indicator-style: --inode --kibibytes --literal --no-group "
        "--numeric-uid-gid --quote-name --quoting-style: --recursive --reverse --show-control-chars --si --size "
        "--sort: --tabsize: --time: --time-style: --width: --zero --help --version",
        traits="inert",
    ),
    "stat": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read*",
        "-L -c: -f -t --cached: --dereference --file-system --format: --printf: --terse --help --version",
        traits="inert",
    ),
    "file": Entry(
        "reader",
        "file 5.44",
        "read*",
        "-0 -E -L -N -b -c -d -e: -F: -h -i -k -l -n -r -s -v -P: --apple --brief --checking-printout --debug "
        "--dereference --exclude: --exclude-quiet: --extension --keep-going --list --mime --mime-encoding "
        "--mime-type --no-buffer --no-dereference --no-pad --parameter: --print0 --raw --separator: --special-files "
        "--help --version",
        asks="-C --compile -m:read --magic-file:read -f:list --files-from:list -p --preserve-date",
    ),
    "du": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read*",
        "-0 -B: -D -H -L -P -S -X:read -a -b -c -d: -h -k -l -m -s -t: -x --all --apparent-size --block-size: "
        "--bytes --count-links --dereference --dereference-args --exclude-from:read --exclude: --human-readable "
        "--inodes --max-depth: --no-dereference --null --one-file-system --separate-dirs --si --summarize "
        "--threshold: --time? --time-style: --total --help --version",
        asks="--files0-from:list",
        traits="inert",
    ),
    "df": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read*",
        "-B: -H -P -T -a -h -i -k -l -t: -v -x: --all --block-size: --exclude-type: --human-readable --inodes "
        "--local --no-sync --output? --portability --print-type --si --total --type: --help --version",
        traits="inert",
    ),
    "realpath": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read*",
        "-L -P -e -m -q -s -z --canonicalize-existing --canonicalize-missing --logical --no-symlinks --physical "
        "--quiet --relative-base: --relative-to: --strip --zero --help --version",
        traits="inert",
    ),
    "readlink": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read*",
        "-e -f -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet "
        "--silent --verbose --zero --help --version",
        traits="inert",
    ),
    "which type": Entry(
        "reader",
        "debianutils 5.7, bash 5.2",
        "text*",
        "-a -t -p -P -f --all --help --version",
        traits="inert",
    ),
    "whereis": Entry(
        "reader",
        "util-linux 2.38",
        "text*",
        "-b -m -s -u -l -B: -M: -S: -f --help --version",
        traits="inert",
    ),
    "pwd": Entry(
        "reader",
        "GNU coreutils 9.1",
        "",
        "-L -P --logical --physical --help --version",
        traits="inert",
    ),
    "cp": Entry(
        "writer",
        "GNU coreutils 9.1",
        "read* write",
        "-a -b -d -f -i -H -l -L -n -P -p -r -R -s -S: -T -u -v -x -Z --archive --backup? --dereference --force "
        "--interactive --link --no-clobber --no-dereference --parents --preserve? --no-preserve: --recursive "
        "--reflink? --remove-destination --sparse: --strip-trailing-slashes --symbolic-link --suffix: "
        "--no-target-directory --update? --verbose --one-file-system --attributes-only --copy-contents --help --version",
        asks="-t:target --target-directory:target",
        shape="linking",
    ),
    "mv": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-b -f -i -n -S: -T -u -v -Z --backup? --force --interactive --no-clobber --strip-trailing-slashes "
        "--suffix: --no-target-directory --update? --verbose --help --version",
        asks="-t:target --target-directory:target",
    ),
    "ln": Entry(
        "writer",
        "GNU coreutils 9.1",
        "read* write",
        "-b -d -f -F -i -L -n -P -r -s -S: -T -v --backup? --force --interactive --logical --no-dereference "
        "--physical --relative --symbolic --suffix: --no-target-directory --verbose --help --version",
        asks="-t:target --target-directory:target",
        shape="linking",
    ),
    "install": Entry(
        "writer",
        "GNU coreutils 9.1",
        "read* write",
        "-b -c -C -D -d -g: -m: -o: -p -S: -T -v --backup? --compare --directory --group: --mode: --owner: "
        "--preserve-timestamps --suffix: --no-target-directory --verbose --help --version",
        asks="-t:target --target-directory:target -s --strip --strip-program:",
        shape="install",
    ),
    "mkdir": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-p -v -m: -Z --parents --verbose --mode: --help --version",
    ),
    "rmdir": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-p -v --parents --verbose --ignore-fail-on-non-empty --help --version",
    ),
    "rm": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-f -i -I -r -R -d -v --force --interactive? --recursive --dir --verbose --one-file-system --preserve-root? --help --version",
        asks="--no-preserve-root",
    ),
    "unlink": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write",
        "--help --help --version",
    ),
    "touch": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-a -c -d: -f -h -m -t: -r:read --no-create --date: --no-dereference --reference:read --time: --help --version",
    ),
    "chmod": Entry(
        "writer",
        "GNU coreutils 9.1",
        "text write*",
        "-c -f -v -R --changes --silent --quiet --verbose --recursive --preserve-root --no-preserve-root "
        "--reference:read --help --version",
    ),
    "chown chgrp": Entry(
        "writer",
        "GNU coreutils 9.1",
        "text write*",
        "-c -f -v -R -h -H -L -P --changes --silent --quiet --verbose --recursive --dereference --no-dereference "
        "--preserve-root --from: --reference:read --help --version",
    ),
    "truncate": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-c -o -s: -r:read --no-create --io-blocks --size: --reference:read --help --version",
    ),
    "split": Entry(
        "writer",
        "GNU coreutils 9.1",
        "read write",
        "-a: -b: -C: -d -x -e -l: -n: -t: -u --suffix-length: --additional-suffix: --bytes: --line-bytes: "
        "--numeric-suffixes? --hex-suffixes? --elide-empty-files --lines: --number: --separator: --unbuffered --verbose "
        "--help --version",
        asks="--filter:",
    ),
    "csplit": Entry(
        "writer",
        "GNU coreutils 9.1",
        "read text*",
        "-f:write -k -n: -s -q -z --prefix:write --keep-files --suppress-matched --digits: --quiet --silent "
        "--elide-empty-files --help --version",
        asks="-b: --suffix-format:",
    ),
    "tee": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write*",
        "-a -i -p --append --ignore-interrupts --output-error? --help --version",
    ),
    "dd": Entry(
        "writer",
        "GNU coreutils 9.1",
        "",
        "--help --help --version",
    ),
    "mktemp": Entry(
        "writer",
        "GNU coreutils 9.1",
        "write",
        "-d -u -q -t --directory --dry-run --quiet --suffix: --help --version",
        asks="-p?write --tmpdir?write",
    ),
    "shuf": Entry(
        "reader",
        "GNU coreutils 9.1",
        "read",
        "-e -i: -n: -r -z --echo --input-range: --head-count: --repeat --random-source:read --zero-terminated --help --version",
        asks="-o:write --output:write",
    ),
    "tar gtar": Entry(
        "writer",
        "GNU tar 1.34",
        "read*",
        "-c -r -u -t -x -A -d -f:archive -v -w -z -j -J -Z -a -k -p -m -h -O -U -S -l -b: -N: -K: "
        "--create --append --update --list --extract --get --diff --compare --concatenate --catenate --file:archive "
        "--verbose --gzip --gunzip --ungzip --bzip2 --xz --lzip --lzma --zstd --compress --auto-compress "
        "--keep-old-files --skip-old-files --keep-newer-files --no-overwrite-dir --preserve-permissions "
        "--same-permissions --touch --dereference --to-stdout --sparse --blocking-factor: --exclude: --exclude-vcs "
        "--exclude-vcs-ignores --exclude-backups --exclude-caches --strip-components: --no-recursion --recursion "
        "--totals --numeric-owner --owner: --group: --mode: --mtime: --sort: --format: --wildcards --no-wildcards "
        "--anchored --no-anchored --ignore-case --no-ignore-case --show-transformed-names --full-time --utc "
        "--force-local --null --no-same-owner --no-same-permissions --newer: --after-date: --one-file-system "
        "--hard-dereference --no-xattrs --xattrs --acls --no-acls --selinux --no-selinux --verify --check-links "
        "--warning: --quoting-style: --starting-file: --occurrence? --delay-directory-restore --usage --help --version",
        asks="-W -C:write --directory:write -P --absolute-names -T:list --files-from:list -X:read --exclude-from:read -I:code "
        "--use-compress-program:code -F:code --info-script:code --new-volume-script:code --to-command:code --checkpoint? "
        "--checkpoint-action:code --rsh-command:code --rmt-command:code --index-file:write --volno-file:write "
        "--listed-incremental:write --one-top-level? --transform: --xform: --remove-files --unlink-first "
        "--overwrite --recursive-unlink --delete -G --incremental -i -s -M --multi-volume --overwrite-dir "
        "--keep-directory-symlink --no-check-device --backup? --suffix: --add-file:read -B -V: --label: "
        "--atime-preserve?",
        shape="tar",
    ),
    "zip": Entry(
        "writer",
        "Info-ZIP zip 3.0",
        "write read*",
        "-rq -qr -rj -jr -r9 -9r -ry -yr -r -q -v -j -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -X -y -D -e -n: -z -l -ll -A -o -f -u -d -F -FF -g -k -m --help --version",
        asks="-T -TT: -b:write -O:write -P: -R -t: -tt: -s: -sf -lf:write --out:write --unzip-command: --test -@",
        traits="exact",
        shape="zip",
    ),
    "unzip": Entry(
        "writer",
        "Info-ZIP UnZip 6.0",
        "read text*",
        "-l -v -t -z -p -c -q -qq -o -n -u -f -j -C -L -a -aa -Z -Z1 -lq -ql -tq -qt -qo -oq -x --help --version",
        asks="-d:write -K -X -W -P: -T -M",
        traits="exact open",
    ),
    "zipinfo": Entry(
        "reader",
        "Info-ZIP UnZip 6.0",
        "read text*",
        "-1 -2 -s -m -l -v -h -t -T -z -x --help --version",
        traits="exact inert open",
    ),
    "patch": Entry(
        "writer",
        "GNU patch 2.7.6",
        "write read",
        "-p: -F: -l -c -n -u -N -R -E -b -t -f -s -i:read -D: --strip: --fuzz: --ignore-whitespace --context --normal "
        "--unified --forward --reverse --remove-empty-files --backup --batch --force --quiet --silent --dry-run "
        "--verbose --binary --merge? --input:read --version --help",
        asks="-o:write -r:write -B:write -d:write -V: -Y: -z: -g: -e --ed --output:write --reject-file:write "
        "--prefix:write --directory:write --follow-symlinks --suffix: --basename-prefix: --get:",
    ),
    "gzip gunzip": Entry(
        "writer",
        "gzip 1.12",
        "change*",
        "-# -c -d -f -h -k -l -L -n -N -q -t -v -V --stdout --to-stdout --decompress --uncompress --force --keep --list "
        "--no-name --name --quiet --synchronous --test --verbose --fast --best --rsyncable --help --version",
        asks="-r --recursive -S: --suffix:",
    ),
    "bzip2 bunzip2": Entry(
        "writer",
        "bzip2 1.0.8",
        "change*",
        "-# -c -d -f -h -k -L -q -s -t -v -V -z --stdout --decompress --compress --force --keep --test --quiet --verbose "
        "--small --fast --best --help --version",
    ),
    "xz unxz": Entry(
        "writer",
        "XZ Utils 5.4",
        "change*",
        "-# -c -d -e -f -F: -h -H -k -l -q -Q -t -T: -v -V -z --stdout --to-stdout --decompress --uncompress --compress "
        "--force --keep --list --test --quiet --verbose --extreme --threads: --format: --check: --memlimit: --no-warn "
        "--help --version",
        asks="-S: --suffix: --files? --files0?",
    ),
    "zstd unzstd": Entry(
        "writer",
        "zstd 1.5",
        "change*",
        "-# -c -d -f -h -k -l -q -r -t -v -V -z --stdout --decompress --force --keep --list --test --quiet --verbose "
        "--threads: --ultra --fast? --long? --no-progress --help --version",
        asks="-T? -o:write -D:read --rm --output-dir-flat:write --output-dir-mirror:write --filelist:list --patch-from:read",
    ),
    "zcat gzcat bzcat xzcat zstdcat": Entry(
        "reader",
        "gzip 1.12, bzip2 1.0.8, xz 5.4, zstd 1.5",
        "read*",
        "-f -q -v -h --force --help --version",
        traits="inert",
    ),
    "date": Entry(
        "reader",
        "GNU coreutils 9.1",
        "plusformat",
        "-I? -R -d: -f:read -r:read -u --date: --debug --file:read --iso-8601? --reference:read --resolution "
        "--rfc-3339: --rfc-email --universal --utc --help --version",
        asks="-s: --set:",
    ),
    "cal ncal": Entry(
        "reader",
        "util-linux 2.38",
        "text*",
        "-1 -3 -A: -B: -j -m -s -w -y -Y -n: --help --version",
        traits="inert",
    ),
    "uptime nproc arch hostid tty logname groups users": Entry(
        "reader",
        "GNU coreutils 9.1",
        "text*",
        "-p -s --pretty --since --all --ignore: --help --version",
        traits="inert",
    ),
    "hostname": Entry(
        "reader",
        "GNU coreutils 9.1",
        "",
        "-a -A -d -f -i -I -s -y --help --version",
        asks="-F:read -b",
    ),
    "whoami": Entry(
        "reader",
        "GNU coreutils 9.1",
        "",
        "--help --help --version",
        traits="inert",
    ),
    "id": Entry(
        "reader",
        "GNU coreutils 9.1",
        "text*",
        "-G -Z -a -g -n -r -u -z --context --group --groups --name --real --user --zero --help --version",
        traits="inert",
    ),
    "uname": Entry(
        "reader",
        "GNU coreutils 9.1",
        "",
        "-a -i -m -n -o -p -r -s -v --all --hardware-platform --kernel-name --kernel-release --kernel-version "
        "--machine --nodename --operating-system --processor --help --version",
        traits="inert",
    ),
    "printenv": Entry(
        "reader",
        "GNU coreutils 9.1",
        "text*",
        "-0 --null --help --version",
        traits="inert",
    ),
    "sleep": Entry(
        "reader",
        "GNU coreutils 9.1",
        "text*",
        "--help --help --version",
        traits="inert",
    ),
    "getconf locale": Entry(
        "reader",
        "glibc 2.36",
        "text*",
        "-a -c -k -m -v --help --version",
        traits="inert",
    ),
    "sync": Entry("writer", "GNU coreutils 9.1", "", "--help --version"),
}
