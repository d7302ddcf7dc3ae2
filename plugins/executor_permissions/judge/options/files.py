"""Programs about files, folders and archives, and about the machine. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry, coreutils

PROGRAMS: dict[str, Entry] = {
    "ls dir vdir": coreutils(
        "reader",
        "read*",
        "-1 -A -B -C -D -F -G -H -I: -L -N -Q -R -S -T: -U -X -Z -a -b -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s "
        "-t -u -v -w: -x --all --almost-all --author --block-size: --classify? --color? --context --dereference "
        "--dereference-command-line --dereference-command-line-symlink-to-dir --directory --dired --escape "
        "--file-type --format: --full-time --group-directories-first --hide-control-chars --hide: --human-readable "
        "--hyperlink? --ignore-backups --ignore: --indicator-style: --inode --kibibytes --literal --no-group "
        "--numeric-uid-gid --quote-name --quoting-style: --recursive --reverse --show-control-chars --si --size "
        "--sort: --tabsize: --time: --time-style: --width: --zero",
        traits="inert",
    ),
    "stat": coreutils(
        "reader",
        "read*",
        "-L -c: -f -t --cached: --dereference --file-system --format: --printf: --terse",
        traits="inert",
    ),
    "file": Entry(
        "reader",
        "read*",
        "-0 -E -L -N -b -c -d -e: -F: -h -i -k -l -n -r -s -v -P: --apple --brief --checking-printout --debug "
        "--dereference --exclude: --exclude-quiet: --extension --keep-going --list --mime --mime-encoding --mime-type "
        "--no-buffer --no-dereference --no-pad --parameter: --print0 --raw --separator: --special-files --help "
        "--version",
        manual="file 5.44",
        asks="-C --compile -m:read --magic-file:read -f:list --files-from:list -p --preserve-date",
    ),
    "du": coreutils(
        "reader",
        "read*",
        "-0 -B: -D -H -L -P -S -X:read -a -b -c -d: -h -k -l -m -s -t: -x --all --apparent-size --block-size: "
        "--bytes --count-links --dereference --dereference-args --exclude-from:read --exclude: --human-readable "
        "--inodes --max-depth: --no-dereference --null --one-file-system --separate-dirs --si --summarize "
        "--threshold: --time? --time-style: --total",
        asks="--files0-from:list",
        traits="inert",
    ),
    "df": coreutils(
        "reader",
        "read*",
        "-B: -H -P -T -a -h -i -k -l -t: -v -x: --all --block-size: --exclude-type: --human-readable --inodes "
        "--local --no-sync --output? --portability --print-type --si --total --type:",
        traits="inert",
    ),
    "realpath": coreutils(
        "reader",
        "read*",
        "-L -P -e -m -q -s -z --canonicalize-existing --canonicalize-missing --logical --no-symlinks --physical "
        "--quiet --relative-base: --relative-to: --strip --zero",
        traits="inert",
    ),
    "readlink": coreutils(
        "reader",
        "read*",
        "-e -f -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet "
        "--silent --verbose --zero",
        traits="inert",
    ),
    "which type": Entry(
        "reader", "text*", "-a -t -p -P -f --all --help --version", manual="debianutils 5.7, bash 5.2", traits="inert"
    ),
    "whereis": Entry(
        "reader", "text*", "-b -m -s -u -l -B: -M: -S: -f --help --version", manual="util-linux 2.38", traits="inert"
    ),
    "pwd": coreutils("reader", "", "-L -P --logical --physical", traits="inert"),
    "cp": coreutils(
        "writer",
        "read* write",
        "-a -b -d -f -i -H -l -L -n -P -p -r -R -s -S: -T -u -v -x -Z --archive --backup? --dereference --force "
        "--interactive --link --no-clobber --no-dereference --parents --preserve? --no-preserve: --recursive "
        "--reflink? --remove-destination --sparse: --strip-trailing-slashes --symbolic-link --suffix: "
        "--no-target-directory --update? --verbose --one-file-system --attributes-only --copy-contents",
        asks="-t:target --target-directory:target",
        shape="linking",
    ),
    "mv": coreutils(
        "writer",
        "write*",
        "-b -f -i -n -S: -T -u -v -Z --backup? --force --interactive --no-clobber --strip-trailing-slashes "
        "--suffix: --no-target-directory --update? --verbose",
        asks="-t:target --target-directory:target",
    ),
    "ln": coreutils(
        "writer",
        "read* write",
        "-b -d -f -F -i -L -n -P -r -s -S: -T -v --backup? --force --interactive --logical --no-dereference "
        "--physical --relative --symbolic --suffix: --no-target-directory --verbose",
        asks="-t:target --target-directory:target",
        shape="linking",
    ),
    "install": coreutils(
        "writer",
        "read* write",
        "-b -c -C -D -d -g: -m: -o: -p -S: -T -v --backup? --compare --directory --group: --mode: --owner: "
        "--preserve-timestamps --suffix: --no-target-directory --verbose",
        asks="-t:target --target-directory:target -s --strip --strip-program:",
        shape="install",
    ),
    "mkdir": coreutils("writer", "write*", "-p -v -m: -Z --parents --verbose --mode:"),
    "rmdir": coreutils("writer", "write*", "-p -v --parents --verbose --ignore-fail-on-non-empty"),
    "rm": coreutils(
        "writer",
        "write*",
        "-f -i -I -r -R -d -v --force --interactive? --recursive --dir --verbose --one-file-system --preserve-root?",
        asks="--no-preserve-root",
    ),
    "unlink": coreutils("writer", "write"),
    "touch": coreutils(
        "writer",
        "write*",
        "-a -c -d: -f -h -m -t: -r:read --no-create --date: --no-dereference --reference:read --time:",
    ),
    "chmod": coreutils(
        "writer",
        "text write*",
        "-c -f -v -R --changes --silent --quiet --verbose --recursive --preserve-root --no-preserve-root "
        "--reference:read",
    ),
    "chown chgrp": coreutils(
        "writer",
        "text write*",
        "-c -f -v -R -h -H -L -P --changes --silent --quiet --verbose --recursive --dereference --no-dereference "
        "--preserve-root --from: --reference:read",
    ),
    "truncate": coreutils("writer", "write*", "-c -o -s: -r:read --no-create --io-blocks --size: --reference:read"),
    "split": coreutils(
        "writer",
        "read write",
        "-a: -b: -C: -d -x -e -l: -n: -t: -u --suffix-length: --additional-suffix: --bytes: --line-bytes: "
        "--numeric-suffixes? --hex-suffixes? --elide-empty-files --lines: --number: --separator: --unbuffered "
        "--verbose",
        asks="--filter:",
    ),
    "csplit": coreutils(
        "writer",
        "read text*",
        "-f:write -k -n: -s -q -z --prefix:write --keep-files --suppress-matched --digits: --quiet --silent "
        "--elide-empty-files",
        asks="-b: --suffix-format:",
    ),
    "tee": coreutils("writer", "write*", "-a -i -p --append --ignore-interrupts --output-error?"),
    "dd": coreutils("writer"),
    "mktemp": coreutils(
        "writer", "write", "-d -u -q -t --directory --dry-run --quiet --suffix:", asks="-p?write --tmpdir?write"
    ),
    "shuf": coreutils(
        "reader",
        "read",
        "-e -i: -n: -r -z --echo --input-range: --head-count: --repeat --random-source:read --zero-terminated",
        asks="-o:write --output:write",
    ),
    "tar gtar": Entry(
        "writer",
        "read*",
        "-c -r -u -t -x -A -d -f:archive -v -w -z -j -J -Z -a -k -p -m -h -O -U -S -l -b: -N: -K: --create --append "
        "--update --list --extract --get --diff --compare --concatenate --catenate --file:archive --verbose --gzip "
        "--gunzip --ungzip --bzip2 --xz --lzip --lzma --zstd --compress --auto-compress --keep-old-files "
        "--skip-old-files --keep-newer-files --no-overwrite-dir --preserve-permissions --same-permissions --touch "
        "--dereference --to-stdout --sparse --blocking-factor: --exclude: --exclude-vcs --exclude-vcs-ignores "
        "--exclude-backups --exclude-caches --strip-components: --no-recursion --recursion --totals --numeric-owner "
        "--owner: --group: --mode: --mtime: --sort: --format: --wildcards --no-wildcards --anchored --no-anchored "
        "--ignore-case --no-ignore-case --show-transformed-names --full-time --utc --force-local --null "
        "--no-same-owner --no-same-permissions --newer: --after-date: --one-file-system --hard-dereference "
        "--no-xattrs --xattrs --acls --no-acls --selinux --no-selinux --verify --check-links --warning: "
        "--quoting-style: --starting-file: --occurrence? --delay-directory-restore --usage --help --version",
        manual="GNU tar 1.34",
        asks="-W -C:write --directory:write -P --absolute-names -T:list --files-from:list -X:read --exclude-from:read "
        "-I:code --use-compress-program:code -F:code --info-script:code --new-volume-script:code --to-command:code "
        "--checkpoint? --checkpoint-action:code --rsh-command:code --rmt-command:code --index-file:write "
        "--volno-file:write --listed-incremental:write --one-top-level? --transform: --xform: --remove-files "
        "--unlink-first --overwrite --recursive-unlink --delete -G --incremental -i -s -M --multi-volume "
        "--overwrite-dir --keep-directory-symlink --no-check-device --backup? --suffix: --add-file:read -B -V: "
        "--label: --atime-preserve?",
        shape="tar",
    ),
    "zip": Entry(
        "writer",
        "write read*",
        "-rq -qr -rj -jr -r9 -9r -ry -yr -r -q -v -j -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -X -y -D -e -n: -z -l -ll -A -o -f "
        "-u -d -F -FF -g -k -m --help --version",
        manual="Info-ZIP zip 3.0",
        asks="-T -TT: -b:write -O:write -P: -R -t: -tt: -s: -sf -lf:write --out:write --unzip-command: --test -@",
        traits="exact",
        shape="zip",
    ),
    "unzip": Entry(
        "writer",
        "read text*",
        "-l -v -t -z -p -c -q -qq -o -n -u -f -j -C -L -a -aa -Z -Z1 -lq -ql -tq -qt -qo -oq -x --help --version",
        manual="Info-ZIP UnZip 6.0",
        asks="-d:write -K -X -W -P: -T -M",
        traits="exact open",
    ),
    "zipinfo": Entry(
        "reader",
        "read text*",
        "-1 -2 -s -m -l -v -h -t -T -z -x --help --version",
        manual="Info-ZIP UnZip 6.0",
        traits="exact inert open",
    ),
    "patch": Entry(
        "writer",
        "write read",
        "-p: -F: -l -c -n -u -N -R -E -b -t -f -s -i:read -D: --strip: --fuzz: --ignore-whitespace --context --normal "
        "--unified --forward --reverse --remove-empty-files --backup --batch --force --quiet --silent --dry-run "
        "--verbose --binary --merge? --input:read --version --help",
        manual="GNU patch 2.7.6",
        asks="-o:write -r:write -B:write -d:write -V: -Y: -z: -g: -e --ed --output:write --reject-file:write "
        "--prefix:write --directory:write --follow-symlinks --suffix: --basename-prefix: --get:",
    ),
    "gzip gunzip": Entry(
        "writer",
        "change*",
        "-# -c -d -f -h -k -l -L -n -N -q -t -v -V --stdout --to-stdout --decompress --uncompress --force --keep "
        "--list --no-name --name --quiet --synchronous --test --verbose --fast --best --rsyncable --help --version",
        manual="gzip 1.12",
        asks="-r --recursive -S: --suffix:",
    ),
    "bzip2 bunzip2": Entry(
        "writer",
        "change*",
        "-# -c -d -f -h -k -L -q -s -t -v -V -z --stdout --decompress --compress --force --keep --test --quiet "
        "--verbose --small --fast --best --help --version",
        manual="bzip2 1.0.8",
    ),
    "xz unxz": Entry(
        "writer",
        "change*",
        "-# -c -d -e -f -F: -h -H -k -l -q -Q -t -T: -v -V -z --stdout --to-stdout --decompress --uncompress "
        "--compress --force --keep --list --test --quiet --verbose --extreme --threads: --format: --check: "
        "--memlimit: --no-warn --help --version",
        manual="XZ Utils 5.4",
        asks="-S: --suffix: --files? --files0?",
    ),
    "zstd unzstd": Entry(
        "writer",
        "change*",
        "-# -c -d -f -h -k -l -q -r -t -v -V -z --stdout --decompress --force --keep --list --test --quiet --verbose "
        "--threads: --ultra --fast? --long? --no-progress --help --version",
        manual="zstd 1.5",
        asks="-T? -o:write -D:read --rm --output-dir-flat:write --output-dir-mirror:write --filelist:list "
        "--patch-from:read",
    ),
    "zcat gzcat bzcat xzcat zstdcat": Entry(
        "reader",
        "read*",
        "-f -q -v -h --force --help --version",
        manual="gzip 1.12, bzip2 1.0.8, xz 5.4, zstd 1.5",
        traits="inert",
    ),
    "date": coreutils(
        "reader",
        "plusformat",
        "-I? -R -d: -f:read -r:read -u --date: --debug --file:read --iso-8601? --reference:read --resolution "
        "--rfc-3339: --rfc-email --universal --utc",
        asks="-s: --set:",
    ),
    "cal ncal": Entry(
        "reader",
        "text*",
        "-1 -3 -A: -B: -j -m -s -w -y -Y -n: --help --version",
        manual="util-linux 2.38",
        traits="inert",
    ),
    "uptime nproc arch hostid tty logname groups users": coreutils(
        "reader", "text*", "-p -s --pretty --since --all --ignore:", traits="inert"
    ),
    "hostname": coreutils("reader", "", "-a -A -d -f -i -I -s -y", asks="-F:read -b"),
    "whoami": coreutils("reader", "", "", traits="inert"),
    "id": coreutils(
        "reader",
        "text*",
        "-G -Z -a -g -n -r -u -z --context --group --groups --name --real --user --zero",
        traits="inert",
    ),
    "uname": coreutils(
        "reader",
        "",
        "-a -i -m -n -o -p -r -s -v --all --hardware-platform --kernel-name --kernel-release --kernel-version "
        "--machine --nodename --operating-system --processor",
        traits="inert",
    ),
    "printenv": coreutils("reader", "text*", "-0 --null", traits="inert"),
    "sleep": coreutils("reader", "text*", traits="inert"),
    "getconf locale": Entry("reader", "text*", "-a -c -k -m -v --help --version", manual="glibc 2.36", traits="inert"),
    "sync": coreutils("writer"),
}
