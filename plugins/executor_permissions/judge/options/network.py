"""Programs that speak to other machines. See `Entry` for the notation."""

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

GH = (
    "-L: --limit: --json: -q:jq --jq:jq -t: --template: -R: --repo: -A: -B: -H: -S: -a: -l: -m: -s: --app: --author: "
    "--base: --head: --search: --assignee: --draft --label: --state: --milestone: --mention: -b: -u: --branch: "
    "--user: --workflow: --archived --no-archived --fork --source --language: --topic: --visibility: --exclude-drafts "
    "--exclude-pre-releases --order: --sort: --created: --event: --commit: --all -c --comments -v --verbose --log "
    "--log-failed --exit-status -j: --job: --attempt: --color: --name-only --patch --required --owner: --match: "
    "--hostname: --active"
)
GH_WRITE = (
    "-t: --title: -b: --body: -B: --base: -H: --head: -l: --label: -a: --assignee: -r: --reviewer: -m: --milestone: "
    "-p: --project: -d --draft -f --fill --fill-first --no-maintainer-edit -R: --repo: -c: --comment: --reason: -s "
    "--squash --merge --rebase --delete-branch --auto --add-label: --remove-label: --add-assignee: --remove-assignee: "
    "--add-reviewer: --remove-reviewer: --approve --request-changes --undo --detach --branch: --force --prerelease "
    "--latest? --notes: -n: --generate-notes --target: --failed --job: -j: --debug -y --yes --ref:"
)

PROGRAMS: dict[str, Entry] = {
    "curl": Entry(
        "network",
        "url*",
        "-s -S -L -I -i -v -f -g -G -k -q -4 -6 -# -0 -2 -3 -1 -N -Z -A: -b:cookie -H:header -m: -u: "
        "-X:(GET|HEAD|OPTIONS) -r: -e: -y: -Y: -z: -w:curlformat -h -V -l -j -a --silent --show-error --location "
        "--head --include --verbose --fail --fail-with-body --fail-early --globoff --get --compressed "
        "--compressed-ssh --ipv4 --ipv6 --http1.0 --http1.1 --http2 --http3 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 "
        "--tlsv1.3 --user-agent: --cookie:cookie --header:header --max-time: --connect-timeout: --retry: "
        "--retry-delay: --retry-max-time: --retry-all-errors --retry-connrefused --request:(GET|HEAD|OPTIONS) "
        "--range: --referer: --max-redirs: --no-progress-meter --progress-bar --no-buffer --write-out:curlformat "
        "--url:url --user: --limit-rate: --parallel --path-as-is --speed-limit: --speed-time: --basic --digest --ntlm "
        "--negotiate --anyauth --tr-encoding --raw --max-filesize: --disable --no-keepalive --keepalive-time: "
        "--tcp-nodelay --styled-output --no-styled-output --insecure --version --help? --proto:protocols "
        "--proto-redir:protocols --proto-redi:protocols --proto-red:protocols --proto-re:protocols "
        "--proto-r:protocols --oauth2-bearer: --post301 --post302 --stderr:(-)",
        manual="curl 7.88",
        asks="-x: -n --proto-default: --location-trusted -o:write -O -T:read -K:code -c:write -D:write -F: -J -d: -C: "
        "-E:read -P: -Q: -U: -t: -R --output:write --output-dir:write --remote-name --remote-name-all "
        "--remote-header-name --upload-file:read --config:code --cookie-jar:write --dump-header:write --trace:write "
        "--trace-ascii:write --libcurl:write --etag-save:write --etag-compare:read --hsts:write --alt-svc:write "
        "--form: --form-string: --data: --data-ascii: --data-binary: --data-raw: --data-urlencode: --json: "
        "--create-dirs --engine: --netrc-file:read --netrc --unix-socket: --abstract-unix-socket: --url-query: "
        "--proxy: --cacert:read --cert:read --key:read --interface: --quote: --postquote: --prequote: "
        "--telnet-option: --mail-from: --mail-rcpt: --remote-time --remove-on-error --no-clobber --ssl-reqd --socks5: "
        "--doh-url: --capath:read --ftp-create-dirs --preproxy: --proxy-user: --delegation: --egd-file:read "
        "--random-file:read",
    ),
    "wget": Entry(
        "network",
        "url*",
        "-q -v -d -S -4 -6 -t: -T: -w: -Q: -U: --spider --quiet --verbose --no-verbose -nv --server-response --tries: "
        "--timeout: --dns-timeout: --connect-timeout: --read-timeout: --wait: --waitretry: --random-wait --quota: "
        "--user-agent: --header:header --max-redirect: --no-check-certificate --inet4-only --inet6-only --no-proxy "
        "--no-cache --no-cookies --limit-rate: --https-only --progress: --show-progress --no-hsts --compression: "
        "--no-config --version --help -V -h --debug --content-on-error --no-dns-cache --method:(GET|HEAD) --no-iri "
        "--retry-connrefused --secure-protocol: --no-http-keep-alive --prefer-family: --dns-servers: --no-directories "
        "-nd --no-host-directories --no-clobber -nc",
        manual="GNU Wget 1.21",
        asks="-O:write -o:write -a:write -P:write -e: -i:read -r -l: -k -K -p -m -A: -R: -D: -I: -X: -H -L -N -x -E "
        "-F -c -b -B: --output-document:write --output-file:write --append-output:write --directory-prefix:write "
        "--execute: --input-file:read --config:read --use-askpass: --post-file:read --post-data: --body-file:read "
        "--body-data: --save-cookies:write --load-cookies:read --hsts-file:write --warc-file:write --recursive "
        "--mirror --page-requisites --convert-links --rejected-log:write --ca-certificate:read --certificate:read "
        "--private-key:read --background --continue --default-page: --force-html --base: --level: "
        "--input-metalink:read --metalink-file:read --bind-address: --unlink --backups? --secure-protocol-ciphers: "
        "--user: --password: --http-user: --http-password:",
    ),
    "ssh": Entry(
        "network",
        "text command",
        "-4 -6 -a -C -n -N -q -T -t -v -V -x -l: -p:",
        manual="OpenSSH 9.2",
        asks="-A -B: -b: -c: -D: -E:write -e: -F:read -f -G -g -I: -i:read -J: -K -k -L: -M -m: -O: -o: -P: -Q: -R: "
        "-S: -s -W: -w: -X -Y -y",
        traits="stop",
        shape="joined",
    ),
    "scp sftp rcp": Entry(
        "network",
        "read* write",
        "-3 -4 -6 -B -C -p -q -r -T -v -l: -P:",
        manual="OpenSSH 9.2",
        asks="-S: -o: -F:read -D: -b:read -i:read -c: -J: -O -R: -s: -X: -A -a -f -N -R",
    ),
    "rsync": Entry(
        "network",
        "read* write",
        "-a -v -q -c -r -R -b -u -l -L -k -H -p -E -A -X -o -g -D -t -O -U -N -S -n -W -x -m -z -h -P -i -8 -4 -6 -C "
        "-y -I -d -J --verbose --quiet --checksum --archive --recursive --relative --no-implied-dirs --backup "
        "--suffix: --update --inplace --append --append-verify --dirs --links --copy-links --copy-unsafe-links "
        "--safe-links --munge-links --copy-dirlinks --hard-links --perms --executability --chmod: --acls --xattrs "
        "--owner --group --devices --specials --times --atimes --crtimes --omit-dir-times --omit-link-times --super "
        "--fake-super --sparse --preallocate --dry-run --whole-file --checksum-choice: --one-file-system "
        "--block-size: --existing --ignore-non-existing --ignore-existing --delete --delete-before --delete-during "
        "--delete-delay --delete-after --delete-excluded --ignore-errors --force --max-delete: --max-size: "
        "--min-size: --partial --delay-updates --prune-empty-dirs --numeric-ids --usermap: --groupmap: --chown: "
        "--timeout: --contimeout: --ignore-times --size-only --modify-window: --fuzzy --compress --compress-choice: "
        "--compress-level: --skip-compress: --cvs-exclude --filter:rsyncfilter -f:rsyncfilter --exclude: --include: "
        "--from0 --protect-args --stats --8-bit-output --human-readable --progress --itemize-changes --out-format: "
        "--info: --debug: --bwlimit: --list-only --protocol: --iconv: --version --help --no-perms --no-owner "
        "--no-group --no-times --no-recursive --mkpath --open-noatime --trust-sender",
        manual="rsync 3.2",
        asks="-K --keep-dirlinks -e: -M: -B: -T:write --rsh: --rsync-path: --remote-option: --log-file:write "
        "--log-file-format: --write-batch:write --only-write-batch:write --read-batch:read --partial-dir:write "
        "--temp-dir:write --backup-dir:write --compare-dest:read --copy-dest:read --link-dest:read --files-from:list "
        "--exclude-from:read --include-from:read --password-file:read --early-input:read --daemon --config:read "
        "--address: --port: --sockopts: --copy-as: --remove-source-files --outbuf: --stop-after: -s --secluded-args "
        "--old-args --fsync",
        shape="copying",
    ),
    "gh": Entry(
        "network",
        "",
        "--version --help",
        manual="gh 2.40",
        subs={
            "pr": Entry(
                "writer",
                subs={
                    "list view diff checks status": Entry("network", "text*", GH),
                    "create merge close reopen edit comment review ready checkout lock unlock update-branch": Entry(
                        "network", "text*", GH_WRITE, traits="spell"
                    ),
                },
            ),
            "issue": Entry(
                "writer",
                subs={
                    "list view status": Entry("network", "text*", GH),
                    "create close reopen edit comment delete lock unlock pin unpin transfer develop": Entry(
                        "network", "text*", GH_WRITE, traits="spell"
                    ),
                },
            ),
            "run workflow": Entry(
                "writer",
                subs={
                    "list view watch": Entry("network", "text*", GH),
                    "rerun cancel delete run enable disable": Entry("network", "text*", GH_WRITE, traits="spell"),
                },
            ),
            "repo": Entry(
                "writer",
                subs={
                    "list view": Entry("network", "text*", GH),
                    "clone": Entry("network", "text write", traits="spell open"),  # behind -- are options for git
                    "create fork sync edit delete rename archive set-default": Entry(
                        "network", "text*", GH_WRITE, traits="spell open"
                    ),
                },
            ),
            "release": Entry(
                "writer",
                subs={
                    "list view": Entry("network", "text*", GH),
                    "create delete edit": Entry("network", "text*", GH_WRITE, traits="spell"),
                },
            ),
            "label gist cache ruleset project variable org": Entry(
                "writer", subs={"list view check": Entry("network", "text*", GH)}
            ),
            "search": Entry("network", subs={"issues prs repos commits code": Entry("network", "text*", GH)}),
            "auth": Entry(
                "writer",
                traits="spell",
                subs={"status": Entry("network", "", "--active -a --hostname: -h:", asks="-t --show-token")},
            ),
            "status version": Entry("network", "", "-o: -e: --org: --exclude:"),
            "browse": Entry("network", "text*", "-n --no-browser -R: --repo:"),
            "api": Entry(
                "network",
                "text",
                "--paginate -q:jq --jq:jq -t: --template: --cache: -i --include -X:(GET) --method:(GET) --slurp "
                "--silent --hostname:",
                asks="-f: -F: --field: --raw-field: --input:read -H: --header: --preview: -p:",
                traits="spell",
            ),
        },
    ),
    "nc ncat netcat": Entry(
        "network",
        "text*",
        "-z -v -vv -n -u -4 -6 -w: -l -p: -k -q: --version --help -h",
        manual="ncat 7.93",
        asks="-e: -c: -o:write -x: --exec: --sh-exec: --lua-exec: --output:write --hex-dump:write -s: -X: -U -G: -g: "
        "-i: --proxy: --ssl-key:read",
    ),
    "ping ping6 traceroute dig nslookup host whois": Entry(
        "network",
        "text*",
        "-4 -6 -c: -i: -w: -W: -n -q -v -t: -s: -m: -x: -p: -a -A -D -O --version --help +short +noall +answer +trace",
        manual="iputils 20221126",
        asks="-f:read -k:read -I:",
    ),
    "tcpdump": Entry(
        "network",
        "text*",
        "-A -b -c: -D -e -i: -l -L -n -nn -q -s: -S -t -tt -ttt -v -vv -vvv -x -X -XX --version --count",
        manual="tcpdump 4.99",
        asks="-w:write -r:read -z: -W: -C: -G: -F:read -V:read -Z: -E:",
        traits="exact",
    ),
    "nmap": Entry(
        "network",
        "text*",
        "-p: -sT -sV -sn -Pn -n -v -vv -F -T: -T4 -O -A -6 --open --reason --top-ports: --version",
        manual="nmap 7.93",
        asks="-o:write -oN:write -oX:write -oG:write -oA:write -iL:read --script: --script-args: --datadir: "
        "--servicedb: --resume:read -iR: --excludefile:read --stylesheet:",
        traits="exact",
    ),
    "socat": Entry("network", manual="socat 1.7", shape="nothing"),
}
