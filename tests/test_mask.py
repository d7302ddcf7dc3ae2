"""What is masked in records, in whatever surroundings, and what must stay readable."""

import os
import re
import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from executor import _secret_names, _secret_shapes
from executor._mask import is_secret_name, keyed_digest, mask, without_hidden
from executor._secret_shapes import mask_text

SECRET = "q9" + "Zx7Kp2Lm" * 5  # 42 letters and digits, as most tokens have

# The whole as it occurs, and what must be left of it.
SHAPES = {
    f"ghp_{SECRET}": "ghp_***",
    f"github_pat_{SECRET}": "github_pat_***",
    f"glpat-{SECRET}": "glpat-***",
    f"xoxb-{SECRET}": "xoxb-***",
    f"AIza{SECRET}": "AIza***",
    f"ya29.{SECRET}": "ya29.***",
    f"sk-{SECRET}": "sk-***",
    f"sk-proj-{SECRET}": "sk-***",
    f"sk-ant-api03-{SECRET}": "sk-ant-***",
    f"sk_live_{SECRET}": "sk_live_***",
    f"npm_{SECRET}": "npm_***",
    f"pypi-AgEI{SECRET}": "pypi-Ag***",
    f"hf_{SECRET}": "hf_***",
    f"SG.{SECRET}.{SECRET}": "SG.***",
    f"hvs.{SECRET}": "hvs.***",
    f"shpat_{'0a' * 16}": "shpat_***",
    "AKIAQ9ZX7KP2LMQ9ZX7K": "AKIA***",
    f"ASIAQ9ZX7KP2LMQ9ZX7K {SECRET[:40]}": "ASIA***",
    f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}": "eyJ***",
    f"Bearer {SECRET}": "Bearer ***",
    f"basic {SECRET}==": "basic ***",
    f"Authorization: Bearer {SECRET}": "Authorization: Bearer ***",
    f"https://ada:{SECRET}@example.org/x": "https://ada:***@example.org/x",
    f"postgresql://ada:p@{SECRET}@db:5432/x": "postgresql://ada:***@db:5432/x",
    f"https://hooks.slack.com/services/T0/B0/{SECRET}": "https://hooks.slack.com/services/***",
    f"https://example.org/?v=1&api_key={SECRET}&w=2": "https://example.org/?v=1&api_key=***&w=2",
    f"https://example.org/?sv=1&sig={SECRET}": "https://example.org/?sv=1&sig=***",
    f"SK{'0a' * 16}": "SK***",
    f"key-{'0a' * 16}": "key-***",
    f"ATATT3{SECRET}": "ATATT3***",
    f"sq0atp-{SECRET}": "sq0atp-***",
    f"tskey-auth-{SECRET}": "tskey-***",
    f"sntrys_{SECRET}": "sntrys_***",
    f"nvapi-{SECRET}": "nvapi-***",
    f"pscale_tkn_{SECRET}": "pscale_tkn_***",
    f"AbcdefGhijklmn.atlasv1.{SECRET * 2}": "AbcdefGhijklmn.atlasv1.***",
    f"123456789:AA{SECRET}": "123456789:AA***",
    SECRET: "***",
    f"v1.0-{SECRET[:24]}": "v1.***",
    f"<password>{SECRET}</password>": "<password>***</password>",
    f"machine h login ada password {SECRET}": "machine h login ada password ***",
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----": (
        "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"
    ),
}

# Commands and texts: `§` stands for the secret, on the right is what is kept.
TEXTS = {
    "tool --password § -v": "tool --password *** -v",
    "tool --password=§ -v": "tool --password=*** -v",
    "tool --api-key '§' -v": "tool --api-key '***' -v",
    'tool --token "§ §" -v': 'tool --token "***" -v',
    "mysql -uroot -p§ db": "mysql -uroot -p*** db",
    "/usr/bin/mysqldump -h h -p'§ §' db > x; mkdir -pv a": "/usr/bin/mysqldump -h h -p'***' db > x; mkdir -pv a",
    "curl -d 'a;b' -u ada:§ https://h": "curl -d 'a;b' -u ada:*** https://h",
    "curl --user 'ada:§ §' h": "curl --user 'ada:***' h",
    "curl -uada:§ h": "curl -uada:*** h",
    "curl -sSu ada:§ h": "curl -sSu ada:*** h",
    "smbclient -U ada%§ //h/s": "smbclient -U ada%*** //h/s",
    "zip -P § a.zip b": "zip -P *** a.zip b",
    "unzip -P§ a.zip": "unzip -P*** a.zip",
    "docker login -u ada -p §": "docker login -u ada -p ***",
    "redis-cli -a § ping": "redis-cli -a *** ping",
    "PGPASSWORD=§ psql -c 'select 1'": "PGPASSWORD=*** psql -c 'select 1'",
    "cd x && export CLIENT_SECRET=§ && rm y": "cd x && export CLIENT_SECRET=*** && rm y",
    'sh -c "PGPASSWORD=§ psql"': 'sh -c "PGPASSWORD=*** psql"',
    'curl -H "Authorization: token §" h': 'curl -H "Authorization: token ***" h',
    'curl -H "X-Api-Key: §" h': 'curl -H "X-Api-Key: ***" h',
    'curl -H "Cookie: a=§; b=§" h': 'curl -H "Cookie: ***" h',
    '{"password": "§\\"§", "a": 1}': '{"password": "***", "a": 1}',
    '{"b": "{\\"password\\": \\"§\\\\\\"§\\", \\"a\\": 1}"}': '{"b": "{\\"password\\": \\"***\\", \\"a\\": 1}"}',
    "{'client_secret': '§'}": "{'client_secret': '***'}",
    "db:\n  password: § # why\n  user: ada": "db:\n  password: *** # why\n  user: ada",
    "password = §\nuser = ada": "password = ***\nuser = ada",
    "AccountName=ada;AccountKey=§;Suffix=x": "AccountName=ada;AccountKey=***;Suffix=x",
    "Your password: §": "Your password: ***",
    'token := "§"': 'token := "***"',
}

BENIGN = [
    "bearer authentication is not basic authentication",
    "the bearer of this letter",
    "max_tokens=100 max_tokens: 4096 prompt_tokens=12 tokens=512",
    "tokenizer=cl100k_base secretary: Bob, keyboard=us, monkey=1",
    "def login(password: str, token: str | None = None) -> None:",
    "token = get_token()\npassword = getpass.getpass()",
    'if password == "x" or token != other:',
    "curl -H \"Authorization: Bearer $TOKEN\" -u 'ada:$PASSWORD' https://example.org",
    "PGPASSWORD=$PASSWORD psql; DB_PASSWORD=${DB_PASSWORD} run; export TOKEN=$(cat file)",
    'headers = {"Authorization": f"Bearer {token}"}',
    "docker run -p 8080:80 nginx && mkdir -p a/b && ssh -p 22 host",
    "docker login --password-stdin --username ada",
    "tool --max-tokens 100 --token-file /run/token --no-password --dry-run",
    "git@github.com:ada/repo.git http://localhost:8080/a@b https://example.org/?next=a@b:c",
    "https://ada@example.org/x ssh://git@host:22/x",
    "sk-learn sk-folding-cube-of-css task-1234567890123456789012 ghp_short npm_config_registry",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ada@host",
    "d41d8cd98f00b204e9800998ecf8427e 550e8400-e29b-41d4-a716-446655440000",
    "https://example.org/token?page=2#secret",
    "What is a cookie? A token? The secret of good soup: salt and time",
    "import secrets\nfrom http import cookies",
    "password: ***",
    "TestTheLoginPage2OfUser3WithAnEmptyName getHTTPSConnectionPoolV2 MY_CONSTANT_NAME_32_BITS-utf8",
    "local_72dbabcb83dd8efa110deefde02d516c sha256-4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    "<passengers>12</passengers> <keyboard>de</keyboard>",
    '{"next_page_token": "abc", "nextPageToken": "abc", "continuation_token": "abc"}',
]  # fmt: skip

# No letter, digit or mark that may belong to a token or word itself.
EDGE = st.text(alphabet=" \n\t,;()[]<>|!?", max_size=20)
PLAIN = st.text(alphabet="abc XYZ 012 .,:;!?-_/\\\n\t\"'()[]{}<>|&$`ä漢", max_size=60)


@settings(max_examples=600)
@given(whole=st.sampled_from(sorted(SHAPES)), before=PLAIN, edge=EDGE, after=EDGE, rest=PLAIN)
def test_a_shape_is_masked_in_any_surroundings(whole, before, edge, after, rest):
    text = f"{before} {edge}{whole} {after}{rest}"
    masked = mask_text(text)
    assert not leaks(masked)
    assert mask({"a": [1, text]}) == {"a": [1, masked]}


def leaks(text):
    """Whether eight characters in a row of the secret are there still."""
    return any(SECRET[i : i + 8] in text for i in range(len(SECRET) - 8))


@pytest.mark.parametrize(("whole", "kept"), SHAPES.items(), ids=lambda text: text[:24])
def test_what_kind_of_secret_it_was_can_be_seen(whole, kept):
    assert mask_text(whole) == kept
    assert mask_text(f'see {whole}\nand "{whole}"') == f'see {kept}\nand "{kept}"'


@pytest.mark.parametrize(("text", "kept"), TEXTS.items(), ids=lambda text: text[:24])
def test_options_and_assignments_lose_their_values_only(text, kept):
    assert mask_text(text.replace("§", "hunter2")) == kept
    assert mask_text(f"true\n{text}\nfalse".replace("§", "h2")) == f"true\n{kept}\nfalse"


@pytest.mark.parametrize("text", BENIGN, ids=lambda text: text[:24])
def test_what_only_speaks_of_secrets_stays(text):
    assert mask_text(text) == text
    assert mask([text, {"a": text}]) == [text, {"a": text}]


@given(st.text(max_size=300))
@example("password=" * 5)
@example('"password": "' * 3)
@example("mysql -p")
def test_masking_ends_and_is_stable(text):
    masked = mask_text(text)
    assert mask_text(masked) == masked


NAMES = {
    "password passwd DB_PASSWORD dbPassword PGPASSWORD MYSQL_PWD passphrase secret clientSecret client-secret api_key"
    " apiKey X-Api-Key apikey APIKey access_token accessToken authToken authtoken tokens Authorization"
    " Proxy-Authorization credentials private_key ssh-key Cookie Set-Cookie session_cookie auth AccountKey jwt"
    " secret_access_key --password": True,
    "max_tokens maxTokens token_count n_tokens num_tokens tokenizer secretary password_policy passwordLength token_type"
    " token_url cookie_name author authors authority auth_method keyboard key keys primary_key public_key PWD OLDPWD"
    " compass passenger bypass monkey --password-stdin TOKEN_FILE": False,
}


@pytest.mark.parametrize(("name", "secret"), [(n, secret) for names, secret in NAMES.items() for n in names.split()])
def test_a_name_means_a_secret_by_its_whole_words(name, secret):
    assert is_secret_name(name) is secret
    assert mask({name: "hunter2"}) == {name: "***" if secret else "hunter2"}


def test_counts_flags_and_empty_values_stay_under_any_name():
    value = {"tokens": 512, "use_token": 3.5, "password": None, "secret": "", "credentials": True}
    assert mask(value) == value
    assert mask({"password": 12345, "secret": {"a": 1}, "cookies": ["a=b"]}) == {
        "password": "***",
        "secret": "***",
        "cookies": "***",
    }


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["mysql", "-u", "root", "-pX", "db"], ["mysql", "-u", "root", "-p***", "db"]),
        (["sudo", "/usr/bin/curl", "-u", "ada:X", "h"], ["sudo", "/usr/bin/curl", "-u", "ada:***", "h"]),
        (["curl", "--user=ada:X"], ["curl", "--user=ada:***"]),
        (["tool", "--password", "X", "--port", 80], ["tool", "--password", "***", "--port", 80]),
        (["tool", "--port", 80, "--token=X"], ["tool", "--port", 80, "--token=***"]),
        (["tool", "--password", "--verbose", "X"], ["tool", "--password", "--verbose", "X"]),
        (["docker", "login", "-p", "X"], ["docker", "login", "-p", "***"]),
        (["docker", "run", "-p", "80:80"], ["docker", "run", "-p", "80:80"]),
        (["bash", "-c", "PGPASSWORD=X psql"], ["bash", "-c", "PGPASSWORD=*** psql"]),
        (["curl", "-H", "Authorization: Bearer X"], ["curl", "-H", "Authorization: Bearer ***"]),
        (["curl", "-sSu", "ada:X", "h"], ["curl", "-sSu", "ada:***", "h"]),
        (["smbclient", "-U", "ada%X", "//h/s"], ["smbclient", "-U", "ada%***", "//h/s"]),
        (["Authorization", "X"], ["Authorization", "***"]),
        (["tool", "--token", "$TOKEN"], ["tool", "--token", "$TOKEN"]),
    ],
)
def test_a_list_of_words_is_read_as_a_command_line(words, kept):
    before = list(words)
    assert mask({"argv": words}) == {"argv": kept}
    assert words == before


def test_a_pair_of_name_and_value_is_read_as_one():
    headers = [{"name": "Authorization", "value": "x"}, {"key": "Accept", "value": "y"}]
    assert mask(headers) == [{"name": "Authorization", "value": "***"}, {"key": "Accept", "value": "y"}]


@pytest.mark.parametrize(("value", "secret"), [("hunter2", True), ("/home/ada", False), ("C:\\x", False), (".", False)])
def test_pwd_is_a_password_unless_it_is_a_folder(value, secret):
    assert mask({"pwd": value}) == {"pwd": "***" if secret else value}


def test_registered_values_are_masked_the_longest_first_and_in_keys():
    assert mask({"hunter2": ["see hunter2-long", "hunter2"]}, frozenset({"hunter2", "hunter2-long"})) == {
        "***": ["see ***", "***"]
    }


ADVERSE = [
    "a", "://", "://a:", "bearer ", "eyJ", "eyJaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "password ",
    "password=", '"password":"', "'password':\"", '\\"password\\":\\"', 'password=\\\\\\"', "mysql ", "mysql -p",
    "mysql \"'", "curl -u a", 'curl -u "', "sk-", "sk-a", "token.a", "--token ", "basic aaaaaaaaaaaaaaaa", "AKIA",
    "cookie:", "secret=$(", "?sig=", "token: x ", "password" + "\\" * 9,
]  # fmt: skip


@pytest.mark.parametrize("piece", ADVERSE)
def test_a_text_made_against_it_takes_time_in_proportion(piece):
    def seconds(size):
        text = (piece * (size // len(piece) + 1))[:size]
        began = time.process_time()
        mask_text(text)
        return time.process_time() - began

    small = min(seconds(32_000) for _ in range(2))
    # 32 times the text: 32 times the time, where something quadratic would take 1,024 times.
    assert seconds(1_024_000) < 200 * max(small, 0.001)


def test_the_digest_tells_equal_arguments_from_others_and_cannot_be_guessed():
    arguments = {"a": 1, "b": {"password": "hunter2"}}
    digest = keyed_digest(arguments)
    assert digest == keyed_digest({"b": {"password": "hunter2"}, "a": 1})
    assert digest != keyed_digest({"a": 1, "b": {"password": "hunter3"}})
    code = f"from executor._mask import keyed_digest; print(keyed_digest({arguments!r}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50, env=environment
    )
    assert len(other.stdout.strip()) == len(digest) == 64
    assert other.stdout.strip() != digest


def test_the_digest_of_what_is_no_json_is_made_all_the_same():
    cycle = {}
    cycle["self"] = cycle
    for value in ({1: "a", "b": 2}, cycle, {"a": {1, 2}}, b"\xff", None):
        assert keyed_digest(value) == keyed_digest(value)


def test_every_word_that_speaks_of_a_secret_makes_a_name_clear():
    assert len(_secret_names._ABOUT) > 60
    for word in sorted(_secret_names._ABOUT):
        assert re.fullmatch("[a-z]+", word)
        assert not is_secret_name(f"token_{word}")
        assert not is_secret_name(f"{word}Password")


# What is hidden in the arguments, said elsewhere ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": "hunter2"},
        {"pwd": "hunter2"},
        {"login": {"credentials": {"user": "ada", "phrase": "hunter2"}}},
        {"auth_token": ["x", "hunter2"]},
        {"headers": [{"name": "Authorization", "value": "hunter2"}]},
        {"headers": [["X-Api-Key", "hunter2"]]},
        '{"password": "hunter2"}',
    ],
    ids=repr,
)
def test_what_is_hidden_in_the_arguments_is_left_out_of_a_text_about_them(arguments):
    assert without_hidden("401 for ada:hunter2, sorry", arguments).endswith(":***, sorry")


def test_a_text_about_arguments_keeps_what_is_not_hidden_in_them_and_what_is_too_short_to_be_told_apart():
    for arguments in (
        {"city": "Oslo", "max_tokens": "4000"},
        {"password": "a"},
        {"password": 12},
        None,
        "{",
        '["a"]',
        [],
    ):
        assert without_hidden("no 4000 of Oslo, and 12 a", arguments) == "no 4000 of Oslo, and 12 a"


def test_a_longer_hidden_value_is_left_out_whole_and_line_breaks_as_they_are_written():
    arguments = {"password": "hunter2", "secret": "hunter2\nand more"}
    assert without_hidden("hunter2\nand more", arguments) == "***"
    assert without_hidden(repr({"x": "hunter2\nand more"}), arguments) == "{'x': '***'}"


PIECES = sorted({need for shape in _secret_shapes._SHAPES for need in shape.needs} | {*_secret_shapes._TRIGGERS, "</"})


@given(
    pieces=st.lists(
        st.sampled_from(PIECES).map(str.upper)
        | st.sampled_from([*PIECES, *_secret_shapes._PROGRAMS])
        | st.text("aK1=: -\"'@/İ", max_size=6),
        max_size=5,
    )
)
def test_what_is_brief_is_masked_as_what_is_long(pieces):
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_secret_shapes, "_BRIEF", 10**9)
        brief = _secret_shapes.mask_text(text)
        patch.setattr(_secret_shapes, "_BRIEF", -1)
        assert brief == _secret_shapes.mask_text(text)
