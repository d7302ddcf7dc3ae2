"""
Which options of a program are the same: for denying and asking, where a rule has one spelling and a command another.

Data, from the programs' manuals. A line is of programs, or of their sub-commands, with commas between: ``x=--long`` are
the same, ``r,R=--recursive`` are two letters for one, ``D=--delete,--force`` is one for two.
"""

# ruff: noqa: E501 -- lines of words are read, and changed, best
from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

_TABLE = """
rm: r,R=--recursive f=--force d=--dir i=--interactive v=--verbose I=--interactive=once
rmdir: p=--parents v=--verbose
mkdir: p=--parents m=--mode v=--verbose
chmod,chgrp: R=--recursive f=--silent f=--quiet v=--verbose c=--changes
chown: R=--recursive h=--no-dereference f=--silent f=--quiet v=--verbose c=--changes
cp: r,R=--recursive f=--force a=--archive l=--link s=--symbolic-link n=--no-clobber t=--target-directory T=--no-target-directory u=--update L=--dereference P=--no-dereference x=--one-file-system i=--interactive v=--verbose
mv: f=--force n=--no-clobber t=--target-directory T=--no-target-directory u=--update i=--interactive v=--verbose
ln: f=--force s=--symbolic r=--relative n=--no-dereference t=--target-directory T=--no-target-directory i=--interactive
install: d=--directory m=--mode o=--owner g=--group t=--target-directory s=--strip
ls,dir,vdir: a=--all A=--almost-all R=--recursive r=--reverse L=--dereference
touch: c=--no-create r=--reference d=--date
tee: a=--append i=--ignore-interrupts
truncate: s=--size c=--no-create r=--reference
shred: u=--remove f=--force n=--iterations z=--zero
sort: o=--output k=--key u=--unique T=--temporary-directory m=--merge c=--check
date: s=--set f=--file r=--reference d=--date
grep,egrep,fgrep,zgrep: r=--recursive R=--dereference-recursive f=--file i=--ignore-case v=--invert-match
sed,gsed: i=--in-place n=--quiet n=--silent e=--expression f=--file s=--separate E,r=--regexp-extended
awk,gawk: f=--file i=--include l=--load v=--assign e=--source o=--pretty-print
tar,gtar,bsdtar: x=--extract x=--get c=--create f=--file t=--list r=--append u=--update A=--catenate A=--concatenate C=--directory P=--absolute-names I=--use-compress-program T=--files-from X=--exclude-from k=--keep-old-files O=--to-stdout F=--info-script F=--new-volume-script z=--gzip j=--bzip2 J=--xz v=--verbose
zip: m=--move r=--recurse-paths d=--delete
gzip,gunzip,bzip2,xz,zstd: d=--decompress d=--uncompress k=--keep f=--force c=--stdout r=--recursive
rsync: a=--archive r=--recursive e=--rsh n=--dry-run b=--backup u=--update l=--links P=--partial f=--filter
curl: o=--output O=--remote-name T=--upload-file d=--data d=--data-ascii X=--request k=--insecure K=--config F=--form H=--header L=--location x=--proxy u=--user c=--cookie-jar b=--cookie E=--cert D=--dump-header n=--netrc U=--proxy-user I=--head A=--user-agent J=--remote-header-name Q=--quote P=--ftp-port G=--get q=--disable s=--silent
wget: O=--output-document o=--output-file P=--directory-prefix i=--input-file r=--recursive m=--mirror e=--execute p=--page-requisites b=--background a=--append-output c=--continue k=--convert-links
kill: s=--signal l=--list 9=--signal=KILL
pkill: 9=--signal=KILL f=--full u=--euid x=--exact n=--newest o=--oldest P=--parent
killall: 9=--signal=KILL u=--user e=--exact r=--regexp i=--interactive w=--wait s=--signal
shutdown: P,h=--poweroff r=--reboot H=--halt
sudo: u=--user g=--group s=--shell i=--login E=--preserve-env b=--background n=--non-interactive S=--stdin A=--askpass l=--list
su,runuser: c=--command l=--login s=--shell u=--user
systemd-run: t=--pty p=--property u=--unit H=--host M=--machine
wipefs: a=--all f=--force n=--no-act o=--offset
sgdisk: Z=--zap-all z=--zap o=--clear
swapoff: a=--all
iptables,ip6tables: F=--flush P=--policy A=--append D=--delete I=--insert R=--replace X=--delete-chain t=--table j=--jump
dpkg: i=--install r=--remove P=--purge
rpm: i=--install e=--erase U=--upgrade F=--freshen
pacman: S=--sync R=--remove U=--upgrade Q=--query D=--database y=--refresh n=--nosave
node,nodejs: e=--eval p=--print r=--require i=--interactive c=--check
php: r=--run f=--file a=--interactive d=--define S=--server c=--php-ini
psql: h=--host U=--username d=--dbname c=--command f=--file p=--port W=--password o=--output
pg_dump,pg_restore,pg_dumpall,dropdb,createdb: h=--host U=--username d=--dbname p=--port f=--file c=--clean C=--create t=--table n=--schema a=--data-only s=--schema-only
mysql,mysqldump,mysqladmin,mariadb,mariadb-dump: h=--host u=--user p=--password P=--port D=--database e=--execute f=--force
ansible,ansible-playbook: i=--inventory l=--limit e=--extra-vars b=--become C=--check u=--user m=--module-name a=--args
ncat: e=--exec c=--sh-exec l=--listen
fd,fdfind: x=--exec X=--exec-batch H=--hidden I=--no-ignore
twine: r=--repository u=--username p=--password
heroku: a=--app r=--remote
az: g=--resource-group n=--name s=--subscription y=--yes
conda,mamba: n=--name p=--prefix y=--yes c=--channel
make,gmake: C=--directory f=--file f=--makefile B=--always-make n=--just-print n=--dry-run n=--recon e=--environment-overrides I=--include-dir k=--keep-going i=--ignore-errors
env: i=--ignore-environment u=--unset C=--chdir S=--split-string
xargs: a=--arg-file I=--replace n=--max-args P=--max-procs d=--delimiter p=--interactive
patch: d=--directory i=--input o=--output R=--reverse f=--force
crontab: r=--remove
useradd,usermod: G=--groups g=--gid s=--shell u=--uid a=--append L=--lock d=--home
userdel: r=--remove f=--force
passwd: d=--delete l=--lock u=--unlock
mount,umount: o=--options t=--types B=--bind l=--lazy f=--force a=--all
systemctl: f=--force H=--host t=--type M=--machine
journalctl: D=--directory f=--follow u=--unit
apt,apt-get,aptitude: y=--yes y=--assume-yes f=--fix-broken d=--download-only s=--simulate s=--dry-run t=--target-release m=--ignore-missing o=--option q=--quiet
dnf,yum: y=--assumeyes
pip,pip3: U=--upgrade y=--yes r=--requirement e=--editable i=--index-url t=--target c=--constraint f=--find-links
npm,npx: g=--global g=--location=global f=--force y=--yes S=--save D=--save-dev E=--save-exact w=--workspace C=--prefix p=--package c=--call
pnpm: g=--global f=--force D=--save-dev P=--save-prod r=--recursive C=--dir w=--workspace-root F=--filter
yarn: D=--dev f=--force
cargo: F=--features p=--package j=--jobs r=--release Z=--unstable v=--verbose q=--quiet
cargo install: f=--force
docker,podman: H=--host D=--debug c=--context
docker run,podman run,docker create,podman create: v=--volume p=--publish P=--publish-all e=--env d=--detach i=--interactive t=--tty u=--user w=--workdir m=--memory h=--hostname l=--label a=--attach
docker exec,podman exec: e=--env d=--detach i=--interactive t=--tty u=--user w=--workdir
docker rm,podman rm: f=--force v=--volumes l=--link
docker rmi,docker image rm,docker prune,docker network rm,docker volume rm,podman rmi,podman prune,docker remove,docker volume remove: f=--force a=--all
docker build,podman build: t=--tag f=--file o=--output
docker compose down,docker-compose down: v=--volumes t=--timeout
docker compose rm,docker-compose rm: f=--force s=--stop v=--volumes
docker compose,docker-compose: f=--file p=--project-name
docker compose up,docker-compose up: d=--detach V=--renew-anon-volumes
docker stop,docker restart: t=--time
docker kill: s=--signal
docker swarm leave: f=--force
kubectl,oc: n=--namespace A=--all-namespaces f=--filename l=--selector k=--kustomize o=--output s=--server c=--container R=--recursive
helm: n=--namespace f=--values i=--install a=--atomic
gh: R=--repo
gh api: X=--method f=--raw-field F=--field H=--header
gh pr merge: d=--delete-branch m=--merge r=--rebase s=--squash
gh pr create,gh issue create: t=--title b=--body d=--draft w=--web
gh release create: d=--draft p=--prerelease
gpg,gpg2: d=--decrypt e=--encrypt o=--output a=--armor s=--sign b=--detach-sign u=--local-user r=--recipient
brew: f=--force
poetry: n=--no-interaction C=--directory
uv: p=--python
git: c=--config C=--directory p=--paginate P=--no-pager
git push: f=--force d=--delete u=--set-upstream n=--dry-run o=--push-option q=--quiet v=--verbose
git fetch,git pull: f=--force a=--append p=--prune P=--prune-tags t=--tags n=--no-tags j=--jobs q=--quiet r=--rebase u=--update-head-ok
git clone: b=--branch o=--origin u=--upload-pack c=--config l=--local s=--shared n=--no-checkout
git commit: a=--all m=--message n=--no-verify F=--file C=--reuse-message c=--reedit-message e=--edit s=--signoff S=--gpg-sign q=--quiet i=--include o=--only p=--patch t=--template v=--verbose
git add,git stage: A=--all A=--no-ignore-removal f=--force u=--update n=--dry-run p=--patch i=--interactive e=--edit N=--intent-to-add
git clean: f=--force n=--dry-run q=--quiet e=--exclude i=--interactive
git branch: d=--delete D=--delete,--force m=--move M=--move,--force c=--copy C=--copy,--force f=--force u=--set-upstream-to a=--all r=--remotes t=--track
git tag: d=--delete f=--force a=--annotate s=--sign m=--message F=--file u=--local-user l=--list n=-n v=--verify
git checkout: f=--force m=--merge d=--detach t=--track p=--patch q=--quiet
git switch: f=--force f=--discard-changes c=--create C=--force-create d=--detach m=--merge t=--track
git restore: s=--source S=--staged W=--worktree p=--patch m=--merge
git reset: p=--patch q=--quiet N=--intent-to-add
git rm: f=--force n=--dry-run q=--quiet
git mv: f=--force n=--dry-run
git merge: m=--message m=--m s=--strategy X=--strategy-option S=--gpg-sign n=--no-stat q=--quiet F=--file
git rebase: i=--interactive x=--exec f=--force-rebase f=--no-ff m=--merge s=--strategy X=--strategy-option S=--gpg-sign r=--rebase-merges
git cherry-pick,git revert: n=--no-commit e=--edit m=--mainline s=--signoff S=--gpg-sign X=--strategy-option
git stash: a=--all u=--include-untracked k=--keep-index m=--message p=--patch q=--quiet S=--staged
git remote: f=--fetch t=--track m=--master
git submodule: f=--force r=--recursive b=--branch
git worktree: f=--force b=--b B=--B d=--detach
git config: e=--edit f=--file l=--list z=--null
git apply: R=--reverse C=--context
git archive: o=--output l=--list
git format-patch: o=--output-directory n=--numbered
git am: i=--interactive 3=--3way s=--signoff q=--quiet k=--keep
git filter-branch: f=--force d=--d
git notes: f=--force m=--message F=--file
git update-index,git gc,git prune: n=--dry-run v=--verbose
git diff,git log,git show: O=--order-file
git replace: d=--delete f=--force e=--edit l=--list
"""
_PAIR = re.compile(r"([^=\s]+)=(\S+)")


class Pairs(NamedTuple):
    """
    The options of a command that have a letter and long spellings.

    Attributes:
        longs: By letter, each of the ways to spell it out: long options, which have to be there together.
        letters: By long option, the letters that mean it, perhaps with others.
    """

    longs: dict[str, frozenset[frozenset[str]]]
    letters: dict[str, frozenset[str]]


def pairs_of(program: str, words: list[str]) -> Pairs:
    """Those of *program*, and of each sub-command that any of *words* may be."""
    named = _sub_commands().get(program)
    return _pairs(program, named.intersection(word for word in words if type(word) is str) if named else frozenset())


@cache
def _lines() -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for line in _TABLE.strip().splitlines():
        names, _, options = line.partition(": ")
        found |= {tuple(name.split()): options for name in names.split(",")}
    return found


@cache
def _sub_commands() -> dict[str, frozenset[str]]:
    """By program, the words of its sub-commands."""
    found: dict[str, frozenset[str]] = {}
    for program, *words in _lines():
        found[program] = found.get(program, frozenset()) | frozenset(words)
    return found


@cache
def _pairs(program: str, named: frozenset[str]) -> Pairs:
    longs: dict[str, set[frozenset[str]]] = {}
    letters: dict[str, set[str]] = {}
    for (name, *words), options in _lines().items():
        if name == program and named.issuperset(words):
            for short, spelled in _PAIR.findall(options):
                together = frozenset(spelled.split(","))
                for letter in short.split(","):
                    longs.setdefault(letter, set()).add(together)
                    for long in together:
                        letters.setdefault(long, set()).add(letter)
    return Pairs(
        {letter: frozenset(spelled) for letter, spelled in longs.items()},
        {long: frozenset(short) for long, short in letters.items()},
    )
