"""A rule that forbids a command is about it under the other names that its program has for it."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

from itertools import product

import pytest

from executor_permissions import Policy
from executor_permissions.judge.runs._other_names import (
    _beginnings,
    _sub_commands,
    has_other_name,
    other_names,
)
from executor_permissions.judge.runs._same_commands import SUB_COMMANDS

SAME = {  # a rule, and spellings of what it is about
    "git push * main": ["git push origin HEAD:main", "git push origin refs/heads/main", "git push origin +HEAD:refs/heads/main", "git push o x:heads/main", "git push -u o +main"],
    "git push origin main": ["git push origin main:main", "git push origin HEAD:main", "git push origin +refs/heads/main"],
    "cargo publish *": ["cargo +nightly publish", "cargo +1.80 publish --dry-run"],
    "npx *": ["npm exec x", "npm x -- y", "npx x"],
    "chmod +x *": ["chmod a+x x", "chmod u+x x", "chmod ugo+rx x", "chmod a=rx x", "chmod u+w,g+x x", "chmod -R a+rwx ."],
    "tar -x* *": ["tar xf a.tar", "tar xzf a.tgz -C /", "tar -xf a.tar"],
    "tar xf *": ["tar -xf a.tar"],
    "mv * /srv/x": ["mv -t /srv/x a b", "mv -t/srv/x a", "mv a -vt /srv/x", "mv --target-directory=/srv/x a", "mv a --target-directory /srv/x", "mv -v --tar=/srv/x a b", "sudo mv -t /srv/x a", "find . -exec mv -t /srv/x {} +", "ls | xargs mv -t /srv/x"],
    "find * -delete": ["find -- . -delete", "find -L -- . -name x -delete", "/usr/bin/find -- x -type f -delete"],
    "cp * prod/*": ["cp -at prod/x a", "cp --target-directory=prod/x a"],
    "node -e *": ["node --eval x", "node --eval=x"],
    "psql -h prod*": ["psql --host prod-1", "psql --host=prod-1 -c x", "psql -hprod-1"],
    "curl -d *": ["curl --data x h", "curl --data-ascii x h", "curl -s --data=x h"],
    "npm install -g *": ["npm install --location=global x", "npm i --global x", "npm install x -g"],
    "mysql -h prod*": ["mysql --host=prod-1"],
    "sudo -u root *": ["sudo --user=root x", "sudo --user root x"],
    "iptables -F *": ["iptables --flush", "iptables --flush INPUT"],
    "python -c *": ["python3 -c x", "python3.12 -c x", "/usr/bin/python3 -c 'import os'", "env python3 -c x"],
    "python *deploy*": ["python3 scripts/deploy.py", "python3.11 deploy.py"],
    "make deploy *": ["gmake deploy", "gmake test deploy", "gmake -j4 deploy"],
    "kill -9 *": ["kill -KILL 1", "kill -SIGKILL 1", "kill -s KILL 1", "kill -s 9 1", "kill -s sigkill 1", "kill -n 9 1", "kill --signal=KILL 1", "kill --signal 9 1", "/bin/kill -kill 1"],
    "kill -KILL *": ["kill -9 1", "kill -s 9 1"],
    "killall -9 *": ["killall -s KILL x", "killall -KILL x"],
    "pkill -9 *": ["pkill -KILL x", "pkill --signal SIGKILL x"],
    "npm exec *": ["npx x"],
    "uvx *": ["uv tool run x"],
    "yarn deploy*": ["yarn run deploy", "yarn run deploy:prod"],
    "docker rm *": ["docker container rm x", "docker container rm -f x", "docker -H h container rm x", "docker --host=h container remove x"],
    "docker container rm *": ["docker rm x", "docker rm -f x", "docker --context c rm x"],
    "podman rm *": ["podman container rm x", "podman container remove x", "/usr/bin/podman container rm -f x"],
    "gh pr create *": ["gh pr new", "gh pr new -f -R a/b"],
    "gh pr checkout *": ["gh co 3"],
    "gh extension install *": ["gh ext install a/b", "gh extensions install a/b"],
    "composer remove *": ["composer rm x", "composer uninstall x"],
    "composer run-script *": ["composer run x"],
    "gradle publish *": ["gradlew publish", "./gradlew clean publish", "gradle :publish", "./gradlew :publish -q"],
    "gradlew publish *": ["./gradlew publish", "./gradlew clean publish"],
    "mvn deploy *": ["./mvnw deploy", "./mvnw -q clean deploy", "mvnd deploy"],
    "bun remove *": ["bun rm x"],
    "mise exec *": ["mise x -- ls"],
    "direnv allow *": ["direnv permit", "direnv grant ."],
    "svn commit *": ["svn ci -m x"],
    "gcloud compute instances delete *": ["gcloud beta compute instances delete x", "gcloud -q alpha compute instances delete x"],
    "docker rmi *": ["docker image rm x", "docker image remove x"],
    "docker compose down *": ["docker-compose down", "docker-compose down -v"],
    "npm publish *": ["npm pub", "npm publ --tag x", "npm publi", "npm -s pub", "npm --registry=x publis", "npm exec npm@9 publish", "npm exec npm@latest pub"],
    "npm install *": ["npm i x", "npm add x", "npm inst x", "npm isntall x", "npm --prefix p i x"],
    "npm i *": ["npm install x", "npm add x"],
    "npm uninstall *": ["npm rm x", "npm un x", "npm uninst x", "npm unin x"],
    "pnpm remove *": ["pnpm rm x", "pnpm un x"],
    "cargo run *": ["cargo r", "cargo r --release", "cargo +nightly r"],
    "git add *": ["git stage .", "git -C x stage .", "git-add .", "/usr/lib/git-core/git-stage ."],
    "git push *": ["git-push", "/usr/lib/git-core/git-push o main", "env git-push", "/usr/lib/git-core/git push"],
    "git push --force *": ["git push origin +main", "git push origin main +other:other", "git -C x push . +a", "git-push -f", "/usr/bin/git push o +main", "/usr/lib/git-core/git-push o +main", "git push -- o +main", "git push o -- +main"],
    "git push --delete *": ["git push origin :main", "git push -q origin a :b", "git push -- origin :main"],
    "helm uninstall *": ["helm delete x", "helm del x"],
    "pip install *": ["python -m pip install x", "python3 -m pip install x", "python3.11 -m pip install x", "python -Im pip install x", "python -mpip install x", "pip3 install x", "pip3.11 install x", "env python -m pip install x"],
    "sudo *": ["sudoedit /etc/hosts", "/usr/bin/sudoedit x", "timeout 5 sudoedit x"],
    "reboot *": ["systemctl reboot", "init 6", "telinit 6", "bash -c 'systemctl reboot'"],
    "poweroff *": ["systemctl poweroff", "init 0"],
    "mkfs *": ["mke2fs /dev/sda", "mkfs.ext4 /dev/sda"],
    "chmod 777 *": ["chmod a+rwx x", "chmod a=rwx x", "chmod ugo+rwx x", "chmod +rwx x", "chmod u=rwx,go=rwx x", "chmod u+rwx,g+rwx,o+rwxt x", "chmod guo=wrx x", "chmod 0777 x", "chmod 1777 x", "chmod 4777 x", "chmod 07777 x", "chmod =777 x", "chmod a+rw,a+x x", "chmod u=rwx,go=u x", "chmod a=rw+x x", "chmod -v 2777 x"],
    "terraform destroy *": ["terraform apply -destroy", "terraform apply -auto-approve -destroy", "terraform -chdir=x apply --destroy x", "terraform apply -destroy=true"],
    "terraform apply -destroy *": ["terraform destroy", "terraform destroy -auto-approve"],
    "tofu destroy *": ["tofu apply -destroy"],
    "chmod -R 777 *": ["chmod -R a+rwx .", "chmod --recursive ugo=rwx ."],
}  # fmt: skip
OTHERS = {
    "git push * main": ["git push origin main:x", "git push origin HEAD:mainly", "git push origin feature/main", "git push git@h:main x"],
    "npx *": ["npm test", "npm run exec"],
    "chmod +x *": ["chmod a-x x", "chmod u+rw x", "chmod 644 x", "chmod a=rw x"],
    "tar -x* *": ["tar cf a.tar x", "tar tf a.tar"],
    "node -e *": ["node x.js", "node --test"],
    "kill -9 *": ["kill -15 1", "kill -TERM 1", "kill 9", "kill -s TERM 9", "kill -l"],
    "python -c *": ["python3 x.py", "python3 -m c"],
    "yarn deploy *": ["yarn run x", "yarn add deploy-tool"],
    "docker rm *": ["docker ps", "docker container ls", "docker image rm x", "docker rmi x"],
    "composer remove *": ["composer show x", "composer require rem"],
    "gradle publish *": ["gradle test", "gradle :test", "./gradlew republish"],
    "gh pr create *": ["gh pr view", "gh issue new"],
    "npm publish *": ["npm p", "npm run publ", "npm unpublish x", "npm test"],
    "npm install *": ["npm ci", "npm run i", "npm ls"],
    "git push --force *": ["git push origin main", "git push origin a:b", "git log +x"],
    "git push --delete *": ["git push origin a:b", "git push origin main"],
    "git push *": ["git-lfs push", "git-pushy", "git-"],
    "pip install *": ["python -m pytest", "pip list", "pip3 list"],
    "sudo *": ["sudoers", "echo sudoedit"],
    "reboot *": ["systemctl status reboot", "init 3", "systemctl restart x"],
    "chmod 777 *": ["chmod u+rwx x", "chmod a+rx x", "chmod go+rwx x", "chmod 755 x", "chmod a-rwx x", "chmod +x a", "chmod 0755 x", "chmod 770 x", "chmod a+rwx,o-w x", "chmod u=rwx,g=u x", "chmod 7770 x"],
    "terraform destroy *": ["terraform apply", "terraform plan -destroy", "terraform apply -destroy=false"],
}  # fmt: skip


def judged(tmp_path, rule, list_name="blacklist"):
    policy = Policy.from_dict({"defaultPolicy": "allow", list_name: {"patterns": [rule]}}, project_root=tmp_path)
    return lambda text: policy.decide("runCommand", {"command": text}).verdict


@pytest.mark.parametrize("rule", SAME)
def test_other_names_of_what_is_forbidden_are_forbidden(tmp_path, rule):
    forms = ("{}", "true && {}", "timeout 9 {}", "if true; then {}; fi")
    texts = [form.format(text) for form, text in product(forms, SAME[rule])]
    verdict = judged(tmp_path, rule)
    assert [text for text in texts if verdict(text) != "deny"] == []


@pytest.mark.parametrize("rule", OTHERS)
def test_what_is_not_the_same_is_not(tmp_path, rule):
    verdict = judged(tmp_path, rule)
    assert [text for text in OTHERS[rule] if verdict(text) != "allow"] == []


def test_a_question_is_asked_about_them_as_well(tmp_path):
    policy = Policy.from_dict(
        {"version": "1.1", "ask": {"patterns": ["npm publish *"]}, "whitelist": {"patterns": ["npm *"]}},
        project_root=tmp_path,
    )
    assert policy.decide("runCommand", {"command": "npm publish"}).method == "ask_rule"
    assert policy.decide("runCommand", {"command": "npm publ"}).method == "ask_rule"


def test_what_is_nearly_the_same_is_for_a_person(tmp_path):
    verdict = judged(tmp_path, "git push --force *")
    assert [verdict(f"git push --{name}") for name in ("force-with-lease", "force-with-lease=a", "mirror")] == [
        "ask"
    ] * 3


@pytest.mark.parametrize(
    ("rule", "texts"),
    [
        ("composer remove *", ["composer rem x", "composer -n remo x", "php composer remov x"]),
        ("bundle exec *", ["bundle exe x", "bundle e x"]),
        ("gem install *", ["gem inst x", "gem i x"]),
        ("hg push *", ["hg pus", "hg pu"]),
        ("ip link delete *", ["ip l del x", "ip link d x", "ip -4 li de x"]),
        ("gradle publish *", ["gradle pub", "./gradlew clean pub", "gradle :app:publish", "gradle :app:publi"]),
    ],
)
def test_what_is_short_for_it_where_the_program_takes_that_is_for_a_person(tmp_path, rule, texts):
    verdict = judged(tmp_path, rule)
    assert [text for text in texts if verdict(text) != "ask"] == []


def test_no_other_name_allows(tmp_path):
    rules = {"whitelist": {"patterns": ["docker rm *", "npm test *", "pip install *", "python3 *", "chmod 777 *"]}}
    policy = Policy.from_dict(rules, project_root=tmp_path)
    for text in ("docker container rm x", "npm t", "pip3 install x", "chmod a+rwx x", "python x.py"):
        assert policy.decide("runCommand", {"command": text}).verdict == "ask", text


def test_only_a_program_that_is_said_to_have_another_name_has_one():
    for program in {"chmod", "git", "ls", "python3", "pip3.11", *SUB_COMMANDS, *_beginnings()}:
        for begins in _sub_commands(program) if program in SUB_COMMANDS else [("push",), ("777",)]:
            others = {words[0] for words, _ in other_names([program, *begins, "+x", "-m", "pip", "-e"])}
            assert others <= {program} or has_other_name(program)
    assert has_other_name("docker-compose")
    assert has_other_name("git-push")
    assert not has_other_name("git")
