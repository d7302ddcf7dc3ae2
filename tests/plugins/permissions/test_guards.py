"""How far a rule's ``*`` reaches: for each program what it covers, and what a rule must spell out."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy
from executor_permissions.judge.bash._words import Command
from executor_permissions.judge.rules._guards import exposed


def misjudged(table, *others):
    """The (pattern, command, verdict) of *table* in which an allowing pattern covers too much or too little."""
    wrong = []
    for pattern, covered, asked in table:
        rules = {"whitelist": {"patterns": [pattern, *others]}}
        policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
        for expected, commands in (("allow", covered), ("ask", asked)):
            for command in commands:
                decision = policy.decide("runCommand", {"command": command})
                if decision.verdict != expected or decision.method == "error":
                    wrong.append((pattern, command, decision.verdict, decision.reason))
    return wrong


# Rows of (pattern, what it covers, what it does not).
OPTIONS = [
    ("apt *", ["apt list"], ["apt -o A=b list", "apt -c f list", "apt --option=A=b list"]),
    ("apt-get *", ["apt-get -y install x"], ["apt-get -o A=b install x", "apt-get --config-file=f install x"]),
    ("base64 *", ["base64 -d f"], ["base64 -o out f", "base64 --output=f x"]),
    ("bsdtar *", ["bsdtar tf x"], ["bsdtar -I prog -x", "bsdtar --directory=/x -x", "bsdtar -T list -x", "bsdtar -P -x"]),
    ("cargo *", ["cargo test", "cargo build --release"], ["cargo --config x build", "cargo -Z x build", "cargo build --target-dir=/x"]),
    ("clang *", ["clang -c a.c"], ["clang -fplugin=x a.c", "clang -B/x a.c", "clang -wrapper x a.c", "clang @args a.c"]),
    ("coverage *", ["coverage report"], ["coverage html --rcfile=x", "coverage xml -o x"]),
    ("crontab *", ["crontab -l"], ["crontab -e", "crontab -r", "crontab -u root f"]),
    ("curl *", ["curl -s https://x", "curl --silent https://x"], ["curl -o f https://x", "curl -so f https://x", "curl --output f https://x", "curl --outp f https://x", "curl -d @f https://x", "curl -K f", "curl --json x https://x"]),
    ("date *", ["date -u"], ["date -s 12:00", "date --set=12:00"]),
    ("docker *", ["docker ps", "docker --debug images"], ["docker run x", "docker exec c sh", "docker -H tcp://x ps", "docker cp a b", "docker --config x ps", "docker --debug run x"]),
    ("podman *", ["podman ps"], ["podman cp a b", "podman -H x ps"]),
    ("eslint *", ["eslint src"], ["eslint -o f src", "eslint --rulesdir x src", "eslint --init"]),
    ("fd *", ["fd x"], ["fd x -x rm", "fd x -X rm", "fd --exec rm"]),
    ("fdfind *", ["fdfind x"], ["fdfind x -x rm", "fdfind --exec-batch rm"]),
    ("file *", ["file a"], ["file -C -m x", "file --compile", "file --magic-file x a"]),
    ("find *", ["find . -name x"], ["find . -exec ls {} ;", "find . -delete", "find . -fprint f", "find . -files0-from f", "find . --delete"]),
    ("g++ *", ["g++ -c a.cc"], ["g++ -fplugin=x a.cc", "g++ -B/x a.cc", "g++ @args"]),
    ("gcc *", ["gcc -c a.c", "gcc -Wall -O2 -Iinc -DX=1 -std=c11 -c a.c"], ["gcc -specs=x a.c", "gcc -B/x a.c", "gcc @args"]),
    ("gh *", ["gh pr list"], ["gh alias set x y", "gh api x", "gh --help config"]),
    ("go *", ["go test ./...", "go vet"], ["go run x.go", "go generate", "go test -exec x", "go build -toolexec x", "go build -o /x", "go test --exec x"]),
    ("helm *", ["helm list"], ["helm plugin install x", "helm template --post-renderer x", "helm --kubeconfig f list"]),
    ("jest *", ["jest src"], ["jest -c f", "jest --outputFile=x", "jest --globalSetup=x"]),
    ("journalctl *", ["journalctl -n 5"], ["journalctl --vacuum-size=1", "journalctl --rotate", "journalctl --flu"]),
    ("kubectl *", ["kubectl get pods"], ["kubectl exec p ls", "kubectl cp a b", "kubectl --kubeconfig=f get pods", "kubectl port-forward p 1"]),
    ("less *", ["less f"], ["less -o f x", "less --log-file=x f", "less +!id f", "less -k f x"]),
    ("make *", ["make test", "make -j4 test"], ["make -f x", "make -C /x", "make --eval=x", "make --file=x"]),
    ("gmake *", ["gmake test"], ["gmake -f x", "gmake A=/x"]),
    ("man *", ["man ls"], ["man -P x ls", "man --pager=x ls", "man -H ls"]),
    ("more *", ["more f"], ["more -o f", "more +/x f"]),
    ("mypy *", ["mypy src"], ["mypy --config-file x src", "mypy --junit-xml=x src", "mypy --xslt-html-report x"]),
    ("nc *", ["nc -z h 80"], ["nc -e sh h 80", "nc -c sh h 80", "nc -o f h 80"]),
    ("ncat *", ["ncat -z h 80"], ["ncat -e sh h 80", "ncat --sh-exec x h", "ncat -x f h"]),
    ("netcat *", ["netcat -z h 80"], ["netcat -e sh h 80", "netcat -o f h"]),
    ("nmap *", ["nmap h"], ["nmap -oN f h", "nmap --script x h", "nmap -iL f"]),
    ("npm *", ["npm test", "npm run build"], ["npm exec x", "npm x y", "npm --prefix /x test", "npm test --script-shell=x", "npm -c x", "npm config set a b", "npm --node-options=x test"]),
    ("openssl *", ["openssl version"], ["openssl enc -out f", "openssl x -engine y", "openssl req -keyout f", "openssl req --config f"]),
    ("pip *", ["pip list", "pip install x"], ["pip config set a b", "pip install -t d x", "pip install --target=d x", "pip install -i http://x y", "pip download x", "pip install -f x y"]),
    ("pip3 *", ["pip3 list"], ["pip3 install -t d x", "pip3 wheel x"]),
    ("pnpm *", ["pnpm test"], ["pnpm dlx x", "pnpm -C d test", "pnpm config set a b", "pnpm --script-shell=x test"]),
    ("poetry *", ["poetry show"], ["poetry config a b", "poetry -C d show", "poetry self add x", "poetry shell", "poetry --project=x show"]),
    ("prettier *", ["prettier --check src"], ["prettier --plugin=x src", "prettier --config f src"]),
    ("printf *", ["printf %s a"], ["printf -v x a"]),
    ("pytest *", ["pytest tests", "pytest -x --lf"], ["pytest -p x", "pytest -c f", "pytest --basetemp=d", "pytest -o a=b", "pytest --rootdir d", "pytest --pastebin=all", "pytest @f"]),
    ("py.test *", ["py.test tests"], ["py.test -p x", "py.test --basetemp=d"]),
    ("rg *", ["rg x", "rg --pretty x"], ["rg --pre x y", "rg -z x", "rg --hostname-bin x y"]),
    ("rsync *", ["rsync -av a b"], ["rsync -e sh a b", "rsync --rsh=x a b", "rsync --log-file=f a b", "rsync -M x a b"]),
    ("ruff *", ["ruff check ."], ["ruff -o f", "ruff check --config x", "ruff check --cache-dir=x", "ruff check --output-file f"]),
    ("rustc *", ["rustc a.rs"], ["rustc -C linker=x a.rs", "rustc -o f a.rs", "rustc --out-dir=x a.rs", "rustc @f"]),
    ("javac *", ["javac -version"], ["javac A.java", "javac @f"]),
    ("scp *", ["scp a b"], ["scp -S x a b", "scp -o A=b a b", "scp -F f a b"]),
    ("sftp *", ["sftp h"], ["sftp -b f h", "sftp -S x h", "sftp -o A=b h"]),
    ("sort *", ["sort -n a", "sort --numeric-sort a"], ["sort -o f a", "sort -no f a", "sort --output=f a", "sort --out=f a", "sort --compress-program=x a", "sort -T d a"]),
    ("split *", ["split a"], ["split --filter=x a"]),
    ("systemctl *", ["systemctl status x"], ["systemctl edit x", "systemctl -H h status", "systemctl link x", "systemctl --root=d status"]),
    ("tcpdump *", ["tcpdump -i eth0"], ["tcpdump -w f", "tcpdump -z x", "tcpdump -G 5"]),
    ("tree *", ["tree -L 2"], ["tree -o f", "tree --output=f", "tree -R"]),
    ("terraform *", ["terraform plan"], ["terraform console", "terraform plan -out f", "terraform -chdir=d plan", "terraform plan --out f"]),
    ("uv *", ["uv lock"], ["uv tool install x", "uv lock --directory d", "uv pip install --index-url x", "uv x y", "uv lock -p x"]),
    ("wget *", ["wget -q https://x"], ["wget -O f https://x", "wget -i f", "wget --execute=x https://x", "wget --post-data=x https://x", "wget -P d https://x"]),
    ("yarn *", ["yarn test"], ["yarn dlx x", "yarn exec x", "yarn --cwd d test", "yarn config set a b", "yarn --registry=x"]),
    ("yq *", ["yq .a f"], ["yq -i .a=1 f", "yq --inplace .a f", "yq -s .a f", "yq --split-exp x f"]),
    ("zip *", ["zip -r a b"], ["zip -T a b", "zip --unzip-command=x a", "zip --test a"]),
    ("foo *", ["foo -o x --output=y", "foo run"], []),
]  # fmt: skip


def test_a_wildcard_covers_no_option_that_runs_or_writes_something():
    assert misjudged(OPTIONS) == []


SPELLED = [
    ("sort -o *", ["sort -o f a"], ["sort -n -o f a", "sort -o f -o g"]),
    ("sort -o f", ["sort -o f"], ["sort -o g"]),
    ("sort * -o *", [], ["sort a -o f", "sort -k -o f"]),
    ("sort --output=* *", ["sort --output=f a"], ["sort a --output=f"]),
    ("sort -k * -o *", ["sort -k 1 -o f"], ["sort a 1 -o f"]),
    ("sort *", ["sort -- -o f", "sort a -- --output=x"], ["sort -o f -- a", "sort *", "sort a ?b", "sort [ab]"]),
    ("sort a *", ["sort a b*", "sort a src/*"], ["sort a *b", "sort b a"]),
    ("curl *", ["curl -s -- https://x"], ["curl -s -- -o f"]),
    ("docker compose *", ["docker compose up"], []),
    ("docker run *", ["docker run x"], ["docker exec x", "docker -H x run y"]),
    ("docker * run *", [], ["docker a run x", "docker a exec x"]),
    ("docker *", ["docker top run", "docker --debug=true top run"], ["docker ps run", "docker --context ps run", "docker --host x ps"]),
    ("npm *", ["npm run exec", "npm test exec", "npm i -- x"], ["npm --loglevel silent exec"]),
    ("git *", ["git log -- --output=x", "git log -5"], ["git log --output=x -- a"]),
    ("kubectl *", ["kubectl get exec", "kubectl --v=1 get exec"], ["kubectl --namespace x exec"]),
    ("pytest *", ["pytest --cov-report=term", "pytest --cov-report term-missing:skip-covered", "pytest -p no:cacheprovider", "pytest -pno:x", "pytest --cov-report=term-missing:skip-covered"],
     ["pytest --cov-report=html:/x", "pytest --cov-report xml:f", "pytest -px", "pytest -p x no:y", "pytest --cov-config=no:x", "pytest -c no:x", "pytest -p-no:x"]),
    ("ruff *", [], ["ruff check --conf x"]),
    ("rg *", [], ["rg --pr x", "rg --pre=x y"]),
    ("rsync *", ["rsync --archive a b"], ["rsync --rem x a b", "rsync --partial-dir=x a b"]),
    ("zip *", [], ["zip --un x a"]),
    ("split *", [], ["split --file a", "split --filt=x a"]),
    ("sort *", [], ["sort --files0-from=x", "sort --o f a"]),
    ("base64 *", ["base64 -w0 f"], ["base64 -o f"]),
    ("wget *", ["wget --spider x"], ["wget --us x", "wget --execut x y"]),
    ("find . -delete", ["find . -delete"], ["find . -delete -o x", "find /x -delete"]),
    ("find * -delete *", ["find x -delete"], ["find -L -delete", "find ( -delete", "find ! -delete", "find a b -delete"]),
    ("find src -exec grep *", [r"find src -exec grep x y \;"], [r"find src -exec rm x \;"]),
    ("bash -c 'echo hi'", ["bash -c 'echo hi'"], ["bash -c 'echo hi' x", "echo x | bash -c 'echo hi'"]),
    ("bash -x *", ["bash -x a.sh"], ["bash -o x a.sh"]),
    ("* x", [], ["foo x"]),
    ("f*o x", [], ["foo x"]),
    ("./build/*", [], ["./build/x"]),
    ("./run.sh *", ["./run.sh a"], ["run.sh a", "/x/run.sh a"]),
    ("echo a", ["echo a"], ["echo", "echo a b", "echo b"]),
    ("echo a *", ["echo a", "echo a b c"], ["echo", "echo b"]),
    ("echo a* *", ["echo ab", "echo a", "echo abc d"], ["echo ba"]),
    ("cat src/*", ["cat src/a", "cat src/*.md", "cat src/a?"], ["cat src/[ab]", "cat src/{a,b}", "cat src/$x", "cat a"]),
    ("cat src/* *", ["cat src/a b", "cat src/a *"], ["cat src/a $x", 'cat src/a "$x"']),
    ("grep *", ["grep -r x $?", "grep x src/*.py"], ["grep $x f"]),
    ("xargs grep *", [], ["xargs rm x"]),
    ("timeout 5 ls *", ["timeout 5 ls a"], ["timeout 6 ls a"]),
    ("sudo ls *", ["sudo ls a"], ["sudo rm a", "sudo -u x ls a"]),
    ("sudo env *", [], ["sudo env rm a", "sudo env sh"]),
    ("env nice ls *", ["env nice ls a"], ["env nice rm a"]),
    ("git -C /x log *", ["git -C /x log -5"], ["git -C /y log", "git -C /x status"]),
    ("kubectl get *", ["kubectl get pods -o yaml", "kubectl get deploy/x externalsecrets", "kubectl get pods,svc -A"], ["kubectl get secret x -o json", "kubectl get -A Secrets -o yaml", "kubectl get pods,secrets -o yaml", "kubectl get secret/x", "kubectl get secrets.v1. x"]),
    ("kubectl get secrets *", ["kubectl get secrets -A"], ["kubectl get secret x"]),
    ("yq *", ["yq .a f", "yq e .a.env f", "yq eval '.load' f", "yq -r '.a[\"b\"]' f"], ["yq 'load(\"f\")' g", "yq e 'load_str(\"f\")' g", "yq ea 'strload(\"f\")' g", "yq -n 'strenv(HOME)'", "yq -n 'env(HOME)'", "yq -n 'envsubst'", "yq -n 'eval(\"lo\" + \"ad\")'", "yq e -i .a=1 f", "yq -r eval 'load(\"f\")' g"]),
    ("cmake *", ["cmake --build b -j4 -- -j4 -k all", "cmake --build b --target install -- V=1", "cmake -S . -B b"], ["cmake --build b -- SHELL=x", "cmake --build b -- --eval=x", "cmake --build b -- -f x", "cmake --build b -- -j4 CC=x", "cmake --build b -- 'A!=x'", "cmake -- SHELL=x"]),
    ("git clone *", ["git clone https://x/y"], ["git clone ext::sh", "git clone -u x y", "git clone --upload-pack=x y", "git clone --template=x y"]),
]  # fmt: skip


def test_what_a_rule_spells_out_is_covered_up_to_there():
    assert misjudged(SPELLED) == []


SED = [
    ("sed *",
     ["sed -n 1p f", "sed s/a/b/ f", "sed 's|a|b|g' f", "sed 's#a#b#' f", "sed '1,5p' f", "sed '/x/,/y/d' f", "sed -e p -e d f", "sed --expression=p f",
      "sed --quiet p f", "sed -E p f", "sed -s -u -z -r p f", "sed '1!p' f", "sed '$p' f", "sed 'p;d' f", "sed q5 f", "sed 'y/a/b/' f", "sed '1,+2p' f", "sed '1,~4p' f",
      "sed -- p f", "sed p - f", "sed -n --posix p f", "sed -nErsuz p f", "sed", "sed 's/a\\/b/c/' f", "sed 's,a,b,2' f", "sed '/a/I p' f", "sed 's!a!b!;s@a@b@;s_a_b_;s%a%b%' f", "sed ' p ; ' f"],
     ["sed -i p f", "sed --in-place p f", "sed -n 'w f' f", "sed 's/a/b/w f' f", "sed 's/a/b/e' f", "sed e f", "sed -f script f", "sed -e p -e 'w f' f", "sed --expression='w f' f",
      "sed -e 'w f' p f", "sed -ne 'w f' g", "sed --file=x f", "sed '1r f' f", "sed 'p;w f' f", "sed s/a/b/x f", "sed 's/a/b' f", "sed '{w f\n}' g", "sed p -i f"]),
    ("sed '-*' f", [], ["sed -* f"]),
    ("gsed *", ["gsed p f"], ["gsed -i p f", "gsed 'w f' f"]),
    ("sed -i *", ["sed -i p f", "sed -i s/a/b/ f"], ["sed -n -i p f"]),
    ("sed -e 'w f' *", ["sed -e 'w f' a"], ["sed -e 'w g' a", "sed -e 'w f' -e 'w g' a"]),
    ("sed 'w f' *", ["sed 'w f' a"], ["sed 'w f' -i a"]),
    ("sed --expression='w f' *", ["sed --expression='w f' a"], ["sed --expression='w g' a"]),
]  # fmt: skip


def test_sed_scripts_are_covered_if_they_only_print_and_replace():
    assert misjudged(SED) == []


AWK = [
    (f"{name} *",
     [f"{name} '{{print $1}}' f", f"{name} -F : '{{print}}' f", f"{name} -F: '{{print}}'", f"{name} -v a=1 p f", f"{name} -va=1 p", f"{name} 'a || b' f", f"{name} --csv p f", f"{name} --version", f"{name} --posix x", f"{name} '{{print > \"/dev/stderr\"}}'",
      f"{name} -F , -v a=1 p", name],
     [f"{name} 'BEGIN {{system(x)}}'", f"{name} -f prog f", f"{name} '{{print > x}}' f", f"{name} '{{print | x}}' f", f"{name} 'getline' f", f"{name} '@load x'", f"{name} -F : 'system(x)'", f"{name} -va=1 'system(x)'",
      f"{name} p -f prog", f"{name} -i x p", f"{name} 'fflush()'", f"{name} 'close (x)'", f"{name} -v a=1 'system(x)'"])
    for name in ("awk", "gawk", "mawk", "nawk")
]  # fmt: skip
AWK += [
    ("awk -f *", ["awk -f prog"], ["awk -v a=1 -f prog"]),
    ("awk 'system(x)'", ["awk 'system(x)'"], ["awk 'system(y)'"]),
    ("awk -F : *", ["awk -F : p"], ["awk -F : 'system(x)' a"]),
    ("awk 'system(x)' *", ["awk 'system(x)'", "awk 'system(x)' a"], ["awk 'system(y)' a"]),
]


def test_awk_programs_are_covered_if_they_run_and_write_nothing():
    assert misjudged(AWK) == []


SMALL = [
    ("uniq *", ["uniq", "uniq a", "uniq -c a", "uniq -f 1 a", "uniq -s 1 -w 2 a"], ["uniq a b", "uniq -c a b", "uniq -f 1 a b", "uniq - b", "uniq -c -- a b"]),
    ("uniq a b *", ["uniq a b"], ["uniq -c a b"]),
    ("uniq a *", ["uniq a"], ["uniq a b"]),
    ("xxd *", ["xxd a", "xxd -l 5 a", "xxd -c 8 -g 1 -s 1 a", "xxd -n x a", "xxd -o 1 a"], ["xxd a b", "xxd -r a", "xxd -revert a", "xxd -p a b", "xxd -l 5 a b"]),
    ("xxd -r *", ["xxd -r a"], ["xxd -p -r a", "xxd -r a b"]),
    ("xxd a b", ["xxd a b"], ["xxd a c"]),
    ("tar *", ["tar tf a.tar", "tar -tzf a.tar", "tar --list -f a.tar", "tar xf a.tar CI"],
     ["tar xPf a.tar", "tar -xf a.tar -C /x", "tar -xf a.tar --to-command=x", "tar xf a --checkpoint-action=x", "tar cf a --use-compress-program=x", "tar xf a -I x", "tar xf a -T l", "tar xFf s a",
      "tar -xf a --directory=/x", "tar xf a --to-c x", "tar xf a --transform=x", "tar xf a --xform=x", "tar xf a --one-top-level", "tar xf a --rsh-command=x", "tar xf a --info-script=x", "tar xf a --absolute-names", "tar xf a --rmt-command=x", "tar xf a --new-volume-script=x", "tar xf a --files-from=x"]),
    ("tar xf a -C build *", ["tar xf a -C build", "tar xf a -C build b"], ["tar xf a -C /x", "tar xf a -C build -C /x"]),
    ("tar --to-command=x *", ["tar --to-command=x -t"], ["tar --to-command=y -t"]),
    ("less -N *", ["less -N f"], ["less -N +!x f"]),
    ("less +F *", ["less +F f"], ["less f +F"]),
    *[(f"{name} *", [f"{name} a.txt"], [f"{name} -c :!id", f"{name} +:!id a", f"{name} a -S x"]) for name in ("vi", "vim", "nvim", "emacs", "nano", "ed")],
    ("vim -n *", ["vim -n a"], ["vim -n -c x"]),
    ("vim a +5 *", ["vim a +5"], ["vim a +6"]),
    ("make *", ["make V=1", "make DEBUG=yes", "make x.o", "make ARGS='-k foo'"], ["make CC= test", "make ARGS=-p", "make 'ARGS=a; b'", "make SHELL=x", "make MAKE=1", "make CC=gcc", "make cc=1", "make A:=x", "make A+=x", "make A!=x", "make .X=1", "make V=1 CC=x"]),
    ("make CC=gcc *", ["make CC=gcc test"], ["make CC=gcc LD=x", "make test CC=gcc"]),
    ("npm run *", ["npm run init", "npm run a", "npm run init x"], ["npm run a --script-she=x"]),
    *[(f"{name} *", [f"{name} init", f"{name} init -y", f"{name} install"], [f"{name} init x", f"{name} init -y x", f"{name} innit x"]) for name in ("npm", "pnpm", "yarn")],
    ("npm init x", ["npm init x"], ["npm init y"]),
    ("npm init x *", ["npm init x"], ["npm init x y"]),
    *[(f"{name} *", [f"{name} LANG=C", f"{name} -p", f"{name} -x CI=1", f"{name} LANG"], [f"{name} PATH=/x", f"{name} -f x", f"{name} LANG=C PATH=x", f"{name} -n CI"]) for name in ("export", "declare", "typeset", "readonly", "local")],
    ("export A=1 *", ["export A=1", "export A=1 LANG=C"], ["export B=1"]),
    ("export -f x *", [], ["export -f y"]),
    ("socat *", ["socat"], ["socat a b"]),
    ("socat a b", ["socat a b"], ["socat a c"]),
    ("set *", ["set -e"], []),
    ("unset *", ["unset LANG"], ["unset $x"]),
    ("read *", ["read x"], []),
]  # fmt: skip


def test_programs_with_a_shape_of_their_own():
    assert misjudged(SMALL) == []


PYTHONS = [
    row
    for name in ("python", "python2", "python3", "pypy", "pypy3")
    for row in (
        (f"{name} *",
         [f"{name} x.py", f"{name} -u x.py -c y", f"{name} -mpytest", f"{name} --version", f"{name} -V", f"{name} -VV -c x", f"{name} -h", f"{name} --help", f"{name} -X dev x.py", f"{name} -W error x.py", f"{name} -B -m unittest", f"{name} -u -mhttp.server"],
         [f"{name}", f"{name} -c x", f"{name} -uc x", f"{name} -i x.py", f"{name} -", f"{name} - x", f"{name} -m pdb x.py", f"{name} -mtimeit x", f"{name} -mpdb x", f"{name} -umbdb x", f"{name} -m other -c x", f"{name} -m code", f"{name} -m", f"{name} -m idlelib.x", f"{name} -m cProfile x", f"{name} -m profile x", f"{name} -m trace x",
          f"{name} -m runpy x", f"{name} -m pydoc x", f"{name} -m bdb x", f"{name} /dev/stdin", f"{name} /proc/self/fd/0", f"{name} --check-hash-based-pycs always x.py", f"{name} $x", f"{name} -X dev -c x", f"{name} -W error -", f"{name} -u", f"{name} -X x.py"]),
        (f"{name} -c *", [f"{name} -c x"], [f"{name} -u -c x", f"{name} -"]),
        (f"{name} -m pdb *", [f"{name} -m pdb x.py"], [f"{name} -u -m pdb x.py"]),
        (f"{name} -m other *", [f"{name} -m other -c x"], [f"{name} -u -m other", f"{name} -m IPython"]),
        (f"{name} -m pytest *", [f"{name} -m pytest -q"], [f"{name} -m pip"]),
        (f"{name} -i x.py", [f"{name} -i x.py"], []),
        (f"{name} - *", [], [f"{name} - x"]),
        (f"{name} -X dev -c *", [f"{name} -X dev -c x"], [f"{name} -X dev -i"]),
    )
]  # fmt: skip


def test_python_runs_scripts_and_modules_but_no_code():
    assert misjudged(PYTHONS) == []


INTERPRETERS = [
    *[
        (f"{name} *", [f"{name} x.sh", f"{name} -x x.sh", f"{name} -eu +x x.sh a", f"{name} --version"],
         [name, f"{name} -c x", f"{name} -x", f"{name} --rcfile f x.sh", f"{name} -i x", f"{name} -", f"{name} /dev/stdin", f"{name} -s", f"{name} -v", f"{name} --version x", f"{name} -h", f"{name} -O extglob x.sh", f"{name} +O extglob x.sh"])
        for name in ("bash", "sh", "zsh", "dash", "fish")
    ],
    *[
        (f"{name} *", [f"{name} x.js", f"{name} --version", f"{name} -v", f"{name} -h"], [name, f"{name} -e x", f"{name} -", f"{name} --version x", f"{name} /dev/stdin", f"{name} -r x y.js", f"{name} -x x.js"])
        for name in ("node", "perl", "ruby", "php", "lua", "Rscript")
    ],
    ("deno *", ["deno test"], ["deno eval x", "deno repl", "deno"]),
    ("bun *", ["bun test"], ["bun x y", "bun repl"]),
    ("node eval", ["node eval"], []),
    ("node x *", ["node x"], []),
    ("sqlite3 *", ["sqlite3 f.db 'select 1'", "sqlite3 -header -csv f.db 'select 1'", "sqlite3 -readonly -json f.db 'select 1'"],
     ["sqlite3 f.db", "sqlite3 f.db .shell", "sqlite3 f.db 'select writefile(1)'", "sqlite3 -init f x.db 'select 1'", "sqlite3 f.db 'attach x'", "sqlite3 f.db 'select 1' .shell", "sqlite3 f.db '|x'", "sqlite3 f.db 'select edit(1)'"]),
    ("psql *", ["psql --version"], ["psql db 'select 1'", "psql db", "psql db 'copy x to program y'", "psql -c x", "psql db '\\! id'", "psql -header db x"]),
    ("mysql *", ["mysql --version"], ["mysql db 'select 1'", "mysql db", "mysql db 'select 1 into outfile x'", "mysql db '|x'"]),
    ("mariadb *", ["mariadb --version"], ["mariadb db 'select 1'", "mariadb db", "mariadb db 'select 1 into dumpfile x'", "mariadb db 'load_extension(1)'"]),
    ("sqlite3 f.db .tables", ["sqlite3 f.db .tables"], ["sqlite3 f.db .schema"]),
    ("sqlite3 f.db .tables *", ["sqlite3 f.db .tables"], ["sqlite3 f.db .tables .shell"]),
    ("bash -c *", [], ["bash -c x"]),
    ("bash -x *", ["bash -x x.sh"], ["bash -x -c y", "bash -x -i y"]),
    ("perl -e *", ["perl -e x"], ["perl -n -e x"]),
]  # fmt: skip


def test_interpreters_run_scripts_but_no_code_and_no_options():
    assert misjudged(INTERPRETERS) == []


GIT = [
    ("git *",
     ["git status", "git --no-pager log", "git -P log", "git --version", "git -v", "git config --get x", "git config --list", "git config -l", "git config --get-all x", "git config --get-regexp x", "git add *", "git rm *.o", "git mv *x a",
      "git merge -s ours x", "git merge -sours x", "git merge --strategy=recursive x", "git merge --strategy ort x", "git pull -s resolve", "git log --oneline", "git stash list", "git bisect start", "git submodule update", "git log --format=x",
      "git", "git --no-pager", "git show HEAD:src/x", "git log -- *", "git rebase -i x", "git log -5 src/*", "git restore *", "git ls-files *.py", "git stage ?", "git check-ignore *", "git status *", "git --html-path", "git clone https://x", "git merge -s octopus a b", "git merge -s subtree a"],
     ["git foo", "git -C /x log", "git -c a=b log", "git --git-dir=x log", "git --git-dir x log", "git log --output=x", "git log --outp=x", "git grep -O x", "git grep -nO x", "git grep --open-files-in-pager", "git rebase -x id", "git rebase --exec id", "git rebase -s x",
      "git merge -s evil x", "git merge --strategy=evil x", "git merge --strategy evil x", "git pull -s evil", "git bisect run x", "git submodule foreach x", "git bundle create x", "git bisect visualize", "git archive -o f", "git format-patch -o d", "git clone -u x y", "git clone -c a=b y",
      "git clone ext::sh", "git fetch x::y", "git diff --ext-diff", "git config user.name x", "git --exec-path=/x log", "git log --textconv", "git cat-file --filters x", "git init --separate-git-dir=x", "git push --receive-pack=x", "git log *", "git -C /x", "git --paginate log",
      "git diff --tex", "git apply --unsafe-paths", "git difftool --extcmd=x", "git --namespace x log", "git -c a=b config --get x", "git config --add --get x", "git add $x"]),
    ("git config *", ["git config user.name x", "git config"], ["git -C /x config a b", "git config --config-env=x"]),
    ("git -c a=b *", ["git -c a=b log", "git -c a=b config --get x"], ["git -c a=c log", "git -c a=b -c d=e log", "git -c a=b foo"]),
    ("git -C /x *", ["git -C /x log"], ["git -C /x -C /y log", "git -C /y log"]),
    ("git -C", ["git -C"], []),
    ("git --paginate *", ["git --paginate log"], ["git log --paginate --output=x"]),
    ("git --git-dir=x *", ["git --git-dir=x log"], ["git --git-dir=y log"]),
    ("git log *", ["git log -5 --stat", "git log --no-textconv"], ["git log -o", "git log --output=x", "git status", "git log [ab]"]),
    ("git log --output=x *", ["git log --output=x -5"], ["git log --output=x --output=y"]),
    ("git bisect run *", ["git bisect run make"], []),
    ("git rebase -x *", ["git rebase -x make main"], ["git rebase main -x make"]),
    ("git foo *", ["git foo bar"], ["git bar"]),
    ("git merge -s evil *", ["git merge -s evil x"], ["git merge -s evil -s bad x"]),
]  # fmt: skip


def test_git_is_covered_but_for_what_runs_or_writes_elsewhere():
    assert misjudged(GIT) == []


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("docker ps -a", -1), ("docker ps -a x", 3), ("docker --zzz ps -a x", 4), ("git --zzz log a b", 4), ("git --zzz -- log", 3), ("kubectl --zzz x get pods a", 5), ("apt --zzz install x y", 4),
        ("sort --unheard a b", 1), ("sort --unheard -- a b", 2), ("head -n -5 f", -1), ("head -n - f", -1), ("head -n -é f", 2), ("head -n -é", 2), ("head -n -x f", 2), ("head -n --x f", 2), ("git log -n -é x", 3),
    ],
)  # fmt: skip
def test_a_rule_must_spell_out_all_up_to_the_last_word_that_is_not_known_to_be_safe(text, last):
    assert exposed(Command(text.split(), text)) == last
