"""The machine: services, processes, packages, databases, infrastructure. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

TERRAFORM_APPLY = (
    "-no-color -input: -auto-approve -lock: -refresh? -target: -var: -compact-warnings -parallelism: -json"
)
TERRAFORM_APPLY_ASKS = "-var-file:read -state:write -state-out:write -backup:write"

PROGRAMS: dict[str, Entry] = {
    "systemctl": Entry(
        "reader",
        "",
        "-a -l -n: -o: -p: -q -r -t: --all --full --lines: --output: --property: --quiet --recursive --type: "
        "--no-pager --plain --state: --failed --value --no-legend --legend: --user --system --reverse --timestamp: "
        "--show-types --with-dependencies --no-ask-password -h --help --version --wait --no-wall --after --before "
        "--job-mode: -i",
        manual="systemd 252",
        asks="-H: --host: -M: --machine: --root: --image: -s: --signal: -f --force --now --runtime --global "
        "--kill-whom: --what: --firmware-setup --boot-loader-menu: --boot-loader-entry: --message: --preset-mode: "
        "--no-block --dry-run --drop-in: --read-only --mkdir --check-inhibitors:",
        traits="globals",
        subs={
            "status show cat list-units list-unit-files list-timers list-sockets list-jobs list-dependencies list-machines list-paths list-automounts is-active is-enabled is-failed is-system-running get-default": Entry(
                "reader", "text*"
            ),
            "enable reenable": Entry("writer", "code*", "--now --runtime -f --force --no-block", traits="spell"),
            "start stop restart reload try-restart reload-or-restart try-reload-or-restart disable mask unmask daemon-reload daemon-reexec reset-failed kill preset isolate set-property revert add-wants add-requires": Entry(
                "writer", "text*", "--now --runtime -f --force --no-block -s: --signal: --kill-whom:", traits="spell"
            ),
            "poweroff reboot halt suspend hibernate rescue emergency default exit switch-root kexec soft-reboot": Entry(
                "writer", "text*", traits="spell"
            ),
        },
    ),
    "journalctl": Entry(
        "reader",
        "read*",
        "-u: -n? -r -S: -U: -b? -k -p: -o: -g: -x -q -a -l -m -t: -F: -N -c: --unit: --user-unit: --lines? --reverse "
        "--since: --until: --boot? --dmesg --priority: --output: --output-fields: --grep: --case-sensitive? --catalog "
        "--quiet --all --full --no-full --merge --identifier: --field: --fields --cursor: --after-cursor: "
        "--show-cursor --list-boots --disk-usage --header --no-pager --utc --no-hostname --no-tail --user --system "
        "--facility: --version --help -h -f --follow -e --pager-end",
        manual="systemd 252",
        asks="-D:read --directory:read --file:read -i:read --root:read --image:read -M: --machine: --namespace: "
        "--vacuum-size: --vacuum-time: --vacuum-files: --rotate --flush --sync --relinquish-var "
        "--smart-relinquish-var --cursor-file:write --setup-keys --interval: --verify --verify-key: --update-catalog "
        "--list-catalog --dump-catalog --force",
    ),
    "ps": Entry(
        "reader",
        "psletters pscolumn*",
        "-A -e -a -d -N -f -F -H -j -l -L -T -m -M -c -P -y -w -V -C: -G:pslist -g:pslist -p:pslist -q:pslist "
        "-s:pslist -t:pslist -u:pslist -U:pslist -O:psformat -o:psformat --pid: --ppid: --quick-pid: --sid: --tty: "
        "--user: --User: --Group: --group: --deselect --forest --context --headers --no-headers --cols: --columns: "
        "--width: --rows: --lines: --sort: --format:psformat --cumulative --info --version -ef -aux -axu -efl",
        manual="procps 4.0",
    ),
    "pgrep pidof": Entry(
        "reader",
        "text*",
        "-a -c -d: -f -g: -G: -i -l -n -o -O: -P: -s: -t: -u: -U: -v -w -x -F:read -r: -q --full --list-name "
        "--list-full --newest --oldest --count --exact --parent: --euid: --uid: --ignore-case --inverse --delimiter: "
        "--help --version",
        manual="procps 4.0",
        traits="inert",
    ),
    "kill": Entry(
        "writer",
        "text*",
        "-# -l -L -s: -n: -p -q: -TERM -KILL -HUP -INT -QUIT -USR1 -USR2 -STOP -CONT -SIGTERM -SIGKILL -SIGHUP "
        "-SIGINT --signal: --list? --table",
        manual="procps 4.0",
        traits="exact",
    ),
    "pkill killall": Entry(
        "writer",
        "text*",
        "-# -e -f -g -i -I -n -o -q -r: -s: -u: -v -w -x -P: -t: -TERM -KILL -HUP -INT -9 -15 --signal: --exact "
        "--full --newest --oldest --ignore-case --wait --quiet --verbose --help --version",
        manual="procps 4.0",
        traits="exact",
    ),
    "ss": Entry(
        "reader",
        "socketfilter*",
        "-n -r -a -l -o -e -m -p -i -s -b -E -Z -z -N: -4 -6 -0 -t -u -d -w -x -S -M -H -Q -O -T -f: -h -V --numeric "
        "--resolve --all --listening --options --extended --memory --processes --info --summary --ipv4 --ipv6 --tcp "
        "--udp --unix --no-header --oneline --family: --help --version",
        manual="iproute2 6",
        asks="-D:write --diag:write -F:read --filter:read -K --kill -A: --query:",
    ),
    "lsof": Entry(
        "reader",
        "nohost*",
        "-a -b -l -n -N -o -P -R -t -U -w -V -v -h -i?nohost -p: -u: -c: -d: -g? -s? -F? -T?",
        manual="lsof 4.95",
        asks="-D: -A: -k: -m: -e: -x? -r? -S?",
    ),
    "top htop vmstat iostat free w who last lscpu lsblk lsusb lspci lsmod netstat": Entry(
        "reader",
        "text*",
        "-a -b -c -d: -e -f -g -h -H -i -k -l -m -n -o: -p -r -s -S -t -u -v -w -x -M -N -P -U -V --human --bytes "
        "--kibi --mebi --gibi --giga --mega --lohi --total --wide --all --json --list --output: --noheadings --paths "
        "--fs --tree --help --version",
        manual="procps 4.0, util-linux 2.38, iproute2 6",
    ),
    "arp": Entry("reader", "text*", "-a -e -n -v -i: -H:", manual="net-tools 2.10", asks="-s -d -f:read -D"),
    "man": Entry(
        "reader",
        "manpage*",
        "-k -f -a -w -W -s: -S: -e: -i -I -K -d -D -h -V --apropos --whatis --all --where --path --sections: "
        "--names-only --regex --wildcard --help --version",
        manual="man-db 2.11",
        asks="-P: --pager: -H? --html? -C:read --config-file:read -M:read --manpath:read -T? --troff-device? -X? "
        "--gxditview? -Z --ditroff -t --troff -p: --preprocessor: -r: --prompt: -R: --recode: -L: --locale: -E: -m: "
        "--systems: -l --local-file -u --update",
    ),
    "apropos whatis": Entry(
        "reader",
        "text*",
        "-a -d -e -l -r -v -w -s: -h -V --and --debug --exact --long --regex --verbose --wildcard --sections: --help "
        "--version",
        manual="man-db 2.11",
        asks="-C:read --config-file:read -M:read --manpath:read -L: --locale: -m: --systems:",
    ),
    "info": Entry(
        "reader",
        "text*",
        "-a -k: -n: -w -h --all --apropos: --node: --where --location --usage --help --version",
        manual="texinfo 6.8",
        asks="-o:write --output:write -d: --directory: -f:read --file:read --restore:read --dribble:write "
        "--init-file:read",
    ),
    "apt apt-get apt-cache apt-mark": Entry(
        "writer",
        "",
        "-y -q -qq -s -d -f -m -u -V --yes --assume-yes --assume-no --quiet --simulate --dry-run --no-act "
        "--download-only --fix-broken --no-install-recommends --install-recommends --show-upgraded --verbose-versions "
        "--no-upgrade --only-upgrade --reinstall --auto-remove --autoremove --purge --ignore-missing --fix-missing -a "
        "--all-versions --installed --upgradable --manual-installed --full --names-only --no-all-versions -h --help "
        "-v --version -n",
        manual="apt 2.6",
        asks="-o: --option: -c:read --config-file:read -t: --target-release: --allow-unauthenticated "
        "--allow-downgrades --allow-remove-essential --allow-change-held-packages --force-yes --host-architecture:",
        traits="globals",
        subs={
            "list show search policy depends rdepends showpkg madison pkgnames stats dump unmet showsrc dumpavail showauto showmanual showhold": Entry(
                "reader", "text*"
            ),
            "update upgrade full-upgrade dist-upgrade install remove purge autoremove autoclean clean satisfy build-dep source download check changelog auto manual hold unhold reinstall": Entry(
                "writer",
                "filename*",  # with a path it is a package that anybody may have made
            ),
        },
    ),
    "rpm": Entry(
        "reader",
        "text*",
        "-q -a -i -l -f -p -c -d -s -R -qa -qi -ql -qf -qip -qlp --query --all --info --list --file --package "
        "--requires --provides --changelog --scripts --last --version --help",
        manual="rpm 4.18",
        asks="-V --verify -E: --eval: --qf: --queryformat: -D: --define: --pipe: --rcfile: --macros: --load: --root: "
        "--dbpath:",
    ),
    "dpkg dpkg-query": Entry(
        "reader",
        "text*",
        "-l -L -s -S -p -W -f: --list --listfiles --status --search --print-avail --show --showformat: "
        "--get-selections --print-architecture --print-foreign-architectures --verify -V --audit -C -c --contents -I "
        "--info --compare-versions -q -qa -qi -ql -qf --version --help",
        manual="dpkg 1.21",
        asks="-i --install -r --remove -P --purge --unpack --configure --admindir: --root: --instdir: --pre-invoke: "
        "--post-invoke: --force-all -e -U -F --eval: --define: --pipe:",
        traits="exact",
    ),
    "brew": Entry(
        "writer",
        "",
        "--version -v --verbose -d --debug -q --quiet --help",
        manual="Homebrew 4",
        traits="globals",
        subs={
            "list ls info search outdated deps uses config doctor desc leaves home --prefix --cellar commands": Entry(
                "reader", "text*", "--formula --cask --versions --json? --tree --installed --all -1 -l --full-name"
            ),
            "install upgrade uninstall remove rm update cleanup tap untap link unlink pin unpin reinstall fetch services": Entry(
                "writer",
                "code*",
                "--formula --cask -f --force -n --dry-run --build-from-source -s --HEAD --overwrite --greedy --prune? "
                "--zap",
            ),
        },
    ),
    "crontab": Entry("writer", "", "-l", manual="cron 3", asks="-e -r -i -u:", shape="listing"),
    "dmesg": Entry(
        "reader",
        "",
        "-d -e -f: -H -k -l: -L? -P -p -r -S -s: -t -T -u -w -W -x -J --human --level: --facility: --follow --kernel "
        "--nopager --color? --ctime --raw --reltime --notime --decode --json --since: --until: --help --version",
        manual="util-linux 2.38",
        asks="-c -C -D -E -n: --clear --read-clear --console-off --console-on --console-level: -F:read --file:read",
    ),
    "sqlite3": Entry(
        "builder",
        "database sql*",
        "-header -noheader -csv -json -column -line -list -markdown -table -box -html -quote -tabs -readonly -bail "
        "-batch -echo -version -help --version -separator: -nullvalue:",
        manual="sqlite 3.40",
        asks="-init: -cmd: -unsafe-testing -append -A: -ar -archive -deserialize -interactive -newline: -lookaside:: "
        "-mmap: -maxsize: -nofollow -zip -vfs:",
        traits="words open",
        shape="database",
    ),
    "psql mysql mariadb": Entry(
        "builder",
        "database sql*",
        "--version -V",
        manual="PostgreSQL 15, MariaDB 10",
        asks="-c: -f:read -e: -o:write --command: --file:read --execute: -h: -U: -u: -p? -d: -P: --host: --user: "
        "--port: --init-command:",
        shape="database",
    ),
    "openssl": Entry(
        "reader",
        manual="OpenSSL 3.0",
        shape="named",  # older ones read commands from their input
        subs={
            "version": Entry("reader", "", "-a -v -b -o -f -p -d -e -m -r -c", traits="words"),
            "x509 req rsa ec verify": Entry(
                "reader",
                "text*",
                "-in:read -noout -text -subject -issuer -dates -startdate -enddate -fingerprint -serial -pubkey "
                "-purpose -hash -sha256 -sha1 -checkend: -nameopt: -verify -modulus -email -alias "
                "-inform:(pem|der|PEM|DER) -CAfile:read -untrusted:read -check -pubin -pubout -issuer_hash "
                "-subject_hash -ext:",
                asks="-out:write -engine: -provider: -provider-path: -config: -keyout:write -CApath:read",
                traits="words",
            ),
            "dgst md5 sha1 sha256 sha512": Entry(
                "reader",
                "read*",
                "-md5 -sha1 -sha256 -sha384 -sha512 -hex -binary -r -c",
                asks="-out:write -engine: -provider: -provider-path: -sign:read",
                traits="words",
            ),
            "rand": Entry("reader", "text", "-hex -base64", asks="-out:write -engine: -provider:", traits="words"),
        },
    ),
    "terraform tofu": Entry(
        "network",
        "",
        "-version --version -v -help",
        manual="Terraform 1.11",
        asks="-chdir:code",
        traits="words loads",  # providers, and what a backend's settings say gives its credentials
        subs={
            "fmt": Entry("builder", "write*", "-no-color -list? -write? -diff -check -recursive", traits="words bool"),
            "providers": Entry(
                "builder",
                subs={
                    "lock schema": Entry("builder", "", "-json -platform:", traits="words"),
                    "mirror": Entry("network", "write", "-platform:", traits="words"),
                },
            ),
            "plan validate show output version graph init get refresh": Entry(
                "builder",
                "code*",
                "-no-color -input? -lock? -lock-timeout: -refresh? -refresh-only -target: -var: -compact-warnings "
                "-detailed-exitcode -destroy -parallelism: -json -raw -upgrade -reconfigure -backend? -get?",
                asks="-out:write -var-file:read -state:read -backend-config: -from-module:code -plugin-dir:code "
                "-migrate-state -force-copy -generate-config-out:write -lockfile: -state-out:write",
                traits="words bool",
            ),
            "state": Entry(
                "builder",
                subs={
                    "list show pull": Entry("reader", "text*", "-id:", asks="-state:read", traits="words"),
                    "mv rm push replace-provider": Entry("writer", "text*", "-dry-run -lock:", traits="words spell"),
                },
            ),
            "workspace": Entry(
                "builder",
                subs={
                    "list show": Entry("reader"),
                    "select new delete": Entry("writer", "text", "-lock:", traits="words spell"),
                },
            ),
            "apply destroy": Entry(
                "network", "code*", TERRAFORM_APPLY, asks=TERRAFORM_APPLY_ASKS, traits="words bool spell"
            ),
            "import taint untaint": Entry(
                "network", "text*", TERRAFORM_APPLY, asks=TERRAFORM_APPLY_ASKS, traits="words bool spell"
            ),
        },
    ),
}
