"""Containers and clusters. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

DOCKER_SHOWS = "-a -H -f: --all --no-stream --human --filter: --limit: --format: --no-trunc -q --quiet"
HELM = (
    "-a -A -q -o:(json|yaml|table) --output:(json|yaml|table) --all --all-namespaces --filter: "
    "--revision: --max: -l --versions --version: --set: --short --strict --api-versions: --include-crds "
    "--kube-version: --no-hooks --release-name"
)
HELM_ASKS = (
    "-f:read --values:read --set-file:read --post-renderer: --output-dir:write --repo: --ca-file:read --show-only:"
)
PROGRAMS: dict[str, Entry] = {
    "docker": Entry(
        "network",
        "",
        "-v --version --help -D --debug -l: --log-level:",
        manual="Docker 28",
        asks="-H: --host: -c: --context: --config: --tls --tlscacert:read --tlscert:read --tlskey:read --tlsverify",
        traits="bool",
        subs={
            "ps": Entry(
                "reader", "", "-a -l -n: -s -f: --all --latest --last: --size --filter: --format: --no-trunc -q --quiet"
            ),
            "images": Entry(
                "reader", "text", "-a -f: --all --digests --filter: --tree --format: --no-trunc -q --quiet"
            ),
            "inspect": Entry("reader", "text*", "-f: -s --format: --size --type:"),
            "logs": Entry("reader", "text", "-f -t -n: --follow --details --since: --until: --tail: --timestamps"),
            "version info": Entry("reader", "", "-f: --format:"),
            "top": Entry("reader", "text psletters*"),
            "stats port diff history": Entry("reader", "text*", DOCKER_SHOWS),
            "search": Entry("network", "text*", DOCKER_SHOWS),
            "build": Entry(
                "builder",
                "readcontext",
                "-t: -q --tag: --quiet --no-cache --pull --progress: --target: --build-arg:dockervariable --platform: "
                "--rm --force-rm --label: --network:(default|none) --load --squash -m: --memory:",
                asks="-f:read --file:read -o:write --output: --secret: --ssh: --cache-from: --cache-to: "
                "--iidfile:write --metadata-file:write --allow: --build-context: --push --add-host: --builder: "
                "--entitlement:",
            ),
            "start stop restart kill pause unpause wait rename rm rmi tag attach": Entry(
                "writer",
                "text*",
                "-t: -s: -f -a -i -v -l --time: --timeout: --signal: --force --attach --interactive --volumes --link "
                "--no-prune --detach-keys: --no-stdin --sig-proxy",
            ),
            "pull push": Entry("network", "text", "-a -q --all-tags --platform: --quiet --disable-content-trust"),
            "run create": Entry(
                "builder",
                "text command",
                "-d -i -t --rm --init --name: --detach --interactive --tty -it -ti -e:dockervariable "
                "--env:dockervariable -w: --workdir: -h: --hostname: -l: --label: -m: --memory: --cpus: --platform: "
                "--pull: -q --quiet --read-only --network:(none|bridge) --net:(none|bridge) --restart: "
                "--stop-timeout: --shm-size: --tmpfs: --user: -u:",
                asks="-v: --volume: --mount: --privileged --cap-add: --device: --pid: --ipc: --uts: --userns: "
                "--security-opt: --env-file:read -p: --publish: -P --publish-all --entrypoint: --volumes-from: "
                "--cgroupns: --gpus: --add-host: --cidfile:write --group-add: --sysctl: --dns: --runtime:",
                traits="spell stop",
            ),
            "exec": Entry(
                "builder",
                "text command",
                "-d -i -t -it -ti --detach --interactive --tty -w: --workdir: -u: --user: -e:dockervariable "
                "--env:dockervariable",
                asks="--privileged --env-file:read",
                traits="spell stop",
            ),
            "cp": Entry("writer", "read write", "-a -L -q --archive --follow-link --quiet", traits="spell"),
            "network volume": Entry(
                "writer",
                subs={
                    "ls list": Entry("reader", "text*", "-a -f: --all --filter: --format: --no-trunc -q --quiet"),
                    "inspect show": Entry("reader", "text*", "-f: --format:"),
                    "create rm": Entry("writer", "text*", "-f --force -d: --driver: --label:"),
                },
            ),
            "container image": Entry(
                "writer",
                subs={
                    "ls list": Entry("reader", "text*", "-a -f: --all --filter: --format: --no-trunc -q --quiet"),
                    "inspect show": Entry("reader", "text*", "-f: --format:"),
                    "create rm": Entry("writer", "text*", "-f --force -d: --driver: --label:"),
                },
            ),
            "context": Entry(
                "writer", traits="spell", subs={"ls show inspect": Entry("reader", "text*", "-q -f: --format: --quiet")}
            ),
            "system": Entry(
                "writer",
                subs={
                    "df info": Entry("reader", "", "-v --verbose --format:"),
                    "prune": Entry("writer", "", "-a -f --all --force --filter: --volumes"),
                },
            ),
            "compose": Entry(
                "builder",
                "",
                "--ansi: --progress: --profile: --compatibility --dry-run --parallel:",
                asks="-f:code --file:code --env-file: --project-directory:code -p: --project-name:",
                subs={
                    "ps ls images logs top port version config events": Entry(
                        "reader",
                        "text*",
                        "-a -q -f -n: -t --all --quiet --follow --tail: --timestamps --no-color --no-log-prefix "
                        "--since: --until: --format: --filter: --services --status: --short --volumes --profiles",
                    ),
                    "up down start stop restart pull build create rm kill pause unpause wait watch": Entry(
                        "builder",
                        "text*",
                        "-d -t: -f -s -v -q -V --detach --build --no-build --force-recreate --no-recreate --no-deps "
                        "--remove-orphans --timeout: --wait --wait-timeout: --abort-on-container-exit "
                        "--exit-code-from: --always-recreate-deps --attach: --no-attach: --no-log-prefix --no-start "
                        "--pull: --quiet-pull --renew-anon-volumes --scale: --timestamps --volumes --rmi: --force "
                        "--stop --no-cache --parallel --quiet --signal: --menu --watch",
                    ),
                    "run exec": Entry(
                        "builder",
                        "text command",
                        "-d -i -t -T -it -e:dockervariable --rm --no-deps --name: --env:dockervariable -w: --workdir: "
                        "-u: --user: --detach --build --index: --interactive --no-TTY",
                        traits="spell stop",
                        asks="-v: --volume: -p: --publish: --entrypoint: --privileged --service-ports --cap-add:",
                    ),
                },
            ),
        },
    ),
    "kubectl": Entry(
        "network",
        "",
        "-n: --namespace: --request-timeout: --v:(0|1|2|3|4|5) -v:(0|1|2|3|4|5)",
        manual="kubectl 1.32",
        asks="--context: --cluster: --kubeconfig: -s: --server: --token: --as: --as-group: --user: --cache-dir:write "
        "--log-file:write --certificate-authority:read --client-key:read --client-certificate:read "
        "--insecure-skip-tls-verify --profile: --profile-output:write --password: --username: --tls-server-name:",
        traits="globals bool",
        subs={
            "get": Entry(
                "network",
                "resource*",
                "-n: --namespace: --request-timeout: -l: --selector: --chunk-size: -A -L: "
                "-o:(wide|name|json|yaml|jsonpath=*|custom-columns=*|go-template=*) --all-namespaces --label-columns: "
                "--output:(wide|name|json|yaml|jsonpath=*|custom-columns=*|go-template=*) --field-selector: "
                "--no-headers --show-labels --show-kind --show-managed-fields --sort-by: --ignore-not-found "
                "--subresource: --server-print -w --watch --watch-only",
                asks="-f: --filename: -k: --kustomize: --raw: --template: -R",
            ),
            "describe": Entry(
                "network",
                "text*",
                "-n: --namespace: --request-timeout: -l: --selector: --chunk-size: -A --all-namespaces --show-events",
                asks="-f: --filename: -k:",
            ),
            "logs": Entry(
                "network",
                "text*",
                "-n: --namespace: --request-timeout: -c: -p -l: --container: --previous --tail: --since: "
                "--since-time: --timestamps --limit-bytes: --prefix --all-containers --ignore-errors --selector: "
                "--max-log-requests: -f --follow",
            ),
            "top": Entry(
                "network",
                subs={
                    "pod pods po node nodes no": Entry(
                        "network",
                        "text*",
                        "-A -l: --all-namespaces --containers --no-headers --sort-by: --sum --selector:",
                    )
                },
            ),
            "options": Entry("reader"),
            "explain version api-resources api-versions": Entry(
                "network",  # they ask the cluster
                "text*",
                "--recursive --api-version: --client -o:(json|yaml|wide|name) "
                "--output:(json|yaml|wide|name|plaintext|plaintext-openapiv2) --api-group: --namespaced --no-headers "
                "--sort-by: --verbs: --cached --short",
            ),
            "cluster-info": Entry("network"),
            "config": Entry(
                "writer",
                traits="spell",
                subs={
                    "get-contexts current-context get-clusters get-users view": Entry(
                        "reader", "text*", "--no-headers -o:(json|yaml|name) --output:(json|yaml|name) --minify"
                    ),
                    "use-context": Entry("writer", "text", traits="spell"),
                },
            ),
            "auth": Entry(
                "network",
                subs={
                    "can-i whoami": Entry(
                        "network", "text*", "-A -q --list --no-headers --quiet --all-namespaces -o:(json|yaml)"
                    )
                },
            ),
            "rollout": Entry(
                "network",
                subs={
                    "history status": Entry("network", "text*", "--revision: --timeout: -w --watch -l: --selector:"),
                    "restart undo pause resume": Entry("network", "text*", "--to-revision: --dry-run: -l: --selector:"),
                },
            ),
            "apply create delete scale label annotate expose patch set autoscale cordon uncordon drain taint wait diff replace": Entry(
                "network",
                "created*",
                "-l: --selector: --all --replicas: --dry-run? --overwrite --timeout: --wait --force --grace-period: "
                "--now --ignore-not-found --cascade? --record --server-side --prune -R --recursive --for: --image: "
                "--port: --target-port: --name: --type: -o:(name|yaml|json) --output:(name|yaml|json) "
                "--current-replicas: --min: --max: --cpu-percent: --ignore-daemonsets --delete-emptydir-data -A "
                "--all-namespaces -p:",
                asks="-f:read --filename:read -k:read --kustomize:read --raw: --from-file:read --from-env-file:read "
                "--patch-file:read",
            ),
            "exec": Entry(
                "network",
                "text command",
                "-i -t -it -q --stdin --tty --quiet -c: --container:",
                asks="-f:",
                traits="spell stop",
            ),
            "run debug": Entry(
                "network",
                "text command",
                "-i -t -it --rm --stdin --tty --image: --restart: --quiet -q --env: --labels: -l: --port: --dry-run? "
                "--attach -c: --target:",
                asks="--overrides: --privileged --profile: --copy-to: --share-processes -f:",
                traits="spell stop",
            ),
            "cp": Entry("network", "read write", "-c: --container: --no-preserve --retries:number", traits="spell"),
            "port-forward proxy attach edit": Entry(
                "network",
                "text*",
                "-c: --container: --pod-running-timeout:",
                asks="--address: -w: --www: -p: --port: --accept-hosts: -f:",
                traits="spell",
            ),
        },
    ),
    "helm": Entry(
        "network",
        "",
        "-h --help -n: --namespace: --debug --kube-context:",
        manual="helm 3",
        asks="--kubeconfig: --kube-apiserver: --kube-token: --registry-config:read --repository-cache:write "
        "--repository-config:read",
        traits="globals bool",
        subs={
            "list ls status history get search version env": Entry("network", "text*", HELM, asks=HELM_ASKS),
            # They show the project's chart, and what its links lead to, and need no cluster for it.
            "show lint template": Entry("builder", "text*", HELM, asks=HELM_ASKS),
            "repo dependency": Entry(
                "network",
                subs={
                    "list ls": Entry("reader", "text*", "-o:(json|yaml|table) --output:(json|yaml|table)"),
                    "update build up add remove rm index": Entry("network", "text*", traits="spell"),
                },
            ),
            "install upgrade uninstall rollback test": Entry(
                "network",
                "text*",
                "-i --install --set: --set-string: --version: --wait --timeout: --atomic --dry-run? "
                "--create-namespace --force --cleanup-on-fail --reuse-values --reset-values --keep-history --no-hooks "
                "--description: -g --generate-name",
                asks="-f:read --values:read --set-file:read --post-renderer: --repo:",
                traits="spell",
            ),
        },
    ),
}
