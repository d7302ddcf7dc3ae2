"""Secrets in entries of servers, in the shapes and places in which vendors' own instructions put them."""

from __future__ import annotations

import json

import pytest

from executor.mcp import Catalogue, masked, without_secrets
from executor.mcp._secrets import looks_random, secrets_of

R = "q7Zt2mVx9KpL4sWn8RbY3cJd"  # drawn at random
HEX = "9f86d081884c7d659a2feaa0c55ad015"
UUID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


def args(*words):
    return {"command": "npx", "args": list(words)}


def env(**values):
    return {"command": "npx", "env": values}


def header(name, value):
    return {"url": "https://h.example/mcp", "headers": {name: value}}


def url(text):
    return {"url": text}


SHAPES = {  # what is secret in it last
    "flag": (args("--api-key", R), R),
    "flag with =": (args(f"--api-key={R}"), R),
    "short word behind a flag": (args("--token", "hunter2"), "hunter2"),
    "camel case flag": (args("--accessToken", R), R),
    "--key": (args("--key", R), R),
    "--key, short": (args("--key", "abc123"), "abc123"),
    "--key=": (args("--key=sec-Ret1"), "sec-Ret1"),
    "-k": (args("-k", R), R),
    "--auth": (args("--auth", "ada:pw-1"), "pw-1"),
    "--pat": (args("--pat", "p4t-value"), "p4t-value"),
    "--password": (args("--password", "tiger"), "tiger"),
    "password in capitals": (args("--PASSWORD=tiger"), "tiger"),
    "mcp-remote's header": (args("mcp-remote", "https://h/mcp", "--header", f"Authorization: Bearer {R}"), R),
    "header without blank": (args("mcp-remote", "https://h/mcp", "--header", f"Authorization:Bearer {R}"), R),
    "header with =": (args(f"--header=X-Api-Key: {R}"), R),
    "-H": (args("-H", f"X-Auth: {R}"), R),
    "-H, odd name": (args("-H", "X-Thing: abc12345"), "abc12345"),
    "docker -e": ({"command": "docker", "args": ["run", "-i", "-e", f"GITHUB_TOKEN=ghp_{R}{R}", "img"]}, R),
    "docker -e, odd name": ({"command": "docker", "args": ["run", "-e", f"GH={R}", "img"]}, R),
    "docker --env=": ({"command": "docker", "args": ["run", f"--env=API_KEY={HEX}", "img"]}, HEX),
    "env in front": ({"command": "env", "args": [f"NOTION_TOKEN=ntn_{R}{R}", "npx", "x"]}, R),
    "postgres URL": (args("postgresql://ada:pw-1@db.example/app"), "pw-1"),
    "postgres URL behind a flag": (args("--dsn", "postgres://ada:tiger@db/app"), "tiger"),
    "mongodb URL": (args("mongodb+srv://ada:p%40ss1@c.example/?x=1"), "p%40ss1"),
    "redis URL without user": (args("redis://:tiger99@h:6379/0"), "tiger99"),
    "URL with a token for a user": (args(f"https://{R}@git.example/a.git"), R),
    "query": (args(f"https://h.example/mcp?api_key={R}"), R),
    "query, short": (args("https://h.example/mcp?token=abc"), "token=abc"),
    "query, odd name": (args(f"https://h.example/mcp?q={HEX}"), HEX),
    "path of a URL": (args(f"https://mcp.zapier.example/api/mcp/s/{R}/mcp"), R),
    "JSON": (args("--config", json.dumps({"apiKey": R, "a": 1})), R),
    "connection string": (args("Server=db;User Id=ada;Password=tiger7;"), "tiger7"),
    "bare vendor token": (args("srv", f"sk-ant-api03-{R}"), R),
    "bare random word": (args("figma-mcp", R), R),
    "bare hex": (args("srv", HEX), HEX),
    "bare UUID": (args("srv", UUID), UUID),
    "telegram": (args("123456789:AAHq7Zt2mVx9KpL4sWn8RbY3cJdq7Zt2mV"), "AAHq7Zt2mVx9"),
    "bearer in one word": (args(f"Bearer {R}"), R),
    "env": (env(GITHUB_TOKEN="ghp-3"), "ghp-3"),
    "env, plain word": (env(DB_PASSWORD="tiger"), "tiger"),
    "env, odd name with a vendor's shape": (env(GH=f"ghp_{R}{R}"), R),
    "env, odd name with a random value": (env(FOO=R), R),
    "env, hex": (env(BRAVE=HEX), HEX),
    "env, UUID": (env(HEROKU=UUID), UUID),
    "env, JWT": (env(SUPABASE=JWT), JWT),
    "env, URL": (env(DATABASE_URI="postgresql://ada:pw-1@h/d"), "pw-1"),
    "env, AWS": (env(AWS_ACCESS_KEY_ID="AKIAIOSFODNN7EXAMPLE"), "AKIAIOSFODNN7EXAMPLE"),
    "env, AWS secret": (env(AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), "wJalrXUtnFEMI"),
    "env, KEY": (env(KEY="abc123"), "abc123"),
    "env, headers in JSON": (env(OPENAPI_MCP_HEADERS=json.dumps({"Authorization": f"Bearer ntn_{R}"})), R),
    "env, webhook": (
        env(SLACK="https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
        "XXXXXXXX",
    ),
    "env, private key": (
        env(PEM="-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----"),
        "MIIEvQIBADANBg",
    ),
    "header": (header("Authorization", "Bearer b-4"), "b-4"),
    "header without scheme": (header("Authorization", R), R),
    "header, basic": (header("Authorization", "Basic YWRhOnRpZ2Vy"), "YWRhOnRpZ2Vy"),
    "header, own name": (header("X-Api-Key", "a-5"), "a-5"),
    "header, odd name": (header("CONTEXT7", f"ctx7sk-{R}"), R),
    "header, cookie": (header("Cookie", "session=tiger7"), "tiger7"),
    "url query": (url(f"https://h.example/mcp?key={R}&x=1"), R),
    "url path": (url(f"https://h.example/{HEX}/sse"), HEX),
    "Cursor's auth": ({"url": "https://h", "auth": {"CLIENT_ID": "app", "CLIENT_SECRET": "cs-1"}}, "cs-1"),
    "oauth": ({"url": "https://h", "oauth": {"clientId": "app", "clientSecret": "cs-1"}}, "cs-1"),
    "a top-level key": ({"url": "https://h", "bearerToken": "hunter2"}, "hunter2"),
    "description": ({"command": "x", "description": "say token=hunter2"}, "hunter2"),
    "--pwd": (args("--pwd", "tiger9"), "tiger9"),
    "--pin": (args("--pin", "7391"), "7391"),
    "a number behind a flag": ({"command": "x", "args": ["--token", 4815162342]}, "4815162342"),
    "env, a number": ({"command": "x", "env": {"PIN": 4815162342}}, "4815162342"),
    "env, as pairs": ({"command": "x", "env": [{"name": "TOKEN", "value": "hunter2"}]}, "hunter2"),
    "a list in a list": ({"command": "x", "args": [["--token", "hunter2"]]}, "hunter2"),
    "header, KEY, a plain word": (header("Ocp-Apim-Subscription-Key", "tiger"), "tiger"),
    "oracle": (args("jdbc:oracle:thin:scott/tiger@h:1521:x"), "tiger"),
    "nested list": ({"command": "x", "more": [{"name": "n", "apiKey": "k-9"}]}, "k-9"),
    "headersHelper": ({"url": "https://h", "headersHelper": f"echo Authorization: Bearer {R}"}, R),
}
NO_SECRETS = [
    args("-y", "@modelcontextprotocol/server-filesystem", "/home/ada/projects/a1b2c3d4e5f6g7h8"),
    args("mcp-server-git", "--repository", "/srv/9f86d081884c7d659a2feaa0c55ad015"),
    args("-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"),
    args("run", "-i", "--rm", "ghcr.io/github/github-mcp-server:v0.5.0"),
    args("--api-key", "${KEY}", "--token=${TOKEN}", "--verbose", "--max-tokens", "4096"),
    args("mcp-remote", "https://mcp.example.com/sse", "--header", "Authorization: Bearer ${TOKEN}"),
    {"command": "x", "args": ["--port", 8080, "--max-tokens", 4096], "env": {"PORT": 8080, "DEBUG": True}},
    args("--project-id", UUID, "--region", "eu-central-1"),
    args("--key", "/etc/ssl/private/server.pem", "--auth-method", "oauth"),
    args("postgresql://${DB_USER}:${DB_PASSWORD}@db/app"),
    env(HOME="/home/ada", LOG_LEVEL="debug", PORT="8080", NODE_ENV="production", TENANT_ID=UUID),
    env(PATH="/usr/local/bin:/usr/bin:/opt/homebrew/bin", LANG="de_DE.UTF-8", TOKEN="${TOKEN:-}"),
    env(BASE_URL="https://api.example.com/v2/things?limit=10", TIMEOUT_MS="30000", AUTH_METHOD="oauth"),
    header("Accept", "application/json, text/event-stream"),
    header("Notion-Version", "2026-03-01"),
    url("https://api.githubcopilot.com/mcp/x/issues/readonly"),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_secret_becomes_a_variable_and_is_neither_stored_nor_shown(shape, tmp_path):
    entry, secret = SHAPES[shape]
    kept, names = without_secrets("my-server", entry)
    assert names
    assert secret not in json.dumps(kept)
    assert all(f"${{{name}}}" in json.dumps(kept) for name in names)
    assert not secrets_of(kept)
    assert secret not in json.dumps(masked(entry))
    catalogue = Catalogue(tmp_path / "mcp.json")
    with pytest.raises(ValueError, match=r"looks like a secret in the clear") as refused:
        catalogue.put({"my-server": entry})
    assert secret not in str(refused.value)
    catalogue.put({"my-server": kept})


@pytest.mark.parametrize("entry", NO_SECRETS)
def test_what_is_no_secret_stays(entry):
    assert [secret.place for secret in secrets_of(entry)] == []
    assert without_secrets("s", entry) == (entry, [])


def test_what_is_around_a_secret_stays():
    entry = args("postgresql://ada:pw-1@db/app", "--header", f"X-Key: Bearer {R}", f"https://h/mcp?a=1&key={R}")
    kept, names = without_secrets("db", entry)
    assert kept["args"] == [
        "postgresql://ada:${DB_ARG}@db/app",
        "--header",
        "X-Key: Bearer ${DB_X_KEY}",
        "https://h/mcp?a=1&key=${DB_ARG_2}",
    ]
    assert names == ["DB_ARG", "DB_X_KEY", "DB_ARG_2"]


def test_two_servers_have_variables_of_their_own():
    first, names = without_secrets("a", env(API_KEY="one-1"))
    second, more = without_secrets("b", env(API_KEY="two-2"), set(names))
    assert (names, more) == (["API_KEY"], ["B_API_KEY"])
    assert first["env"] != second["env"]


@pytest.mark.parametrize(
    ("text", "random"), [(R, True), (HEX, True), (UUID, True), ("server-sequential-thinking", False)]
)
def test_what_looks_random(text, random):
    assert looks_random(text) is random
