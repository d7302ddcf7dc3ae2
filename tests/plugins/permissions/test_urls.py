"""URLs: what may be read in two ways is never allowed, and denied in each of its readings."""

# ruff: noqa: E501, RUF001 -- tables of cases: a line each; letters that look like others
from __future__ import annotations

import itertools

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._urls import MAX_URL

HOST = "evil.example"
# Ways to write https://evil.example/a that some client takes for it.
SPELLINGS = [
    f"https://{HOST}/a", f"HTTPS://{HOST.upper()}/a", f"https://{HOST}:443/a", f"https://{HOST}:0443/a", f"https://{HOST}:/a", f"https://u@{HOST}/a", f"https://u:p@{HOST}/a", f"https://good.example@{HOST}/a",
    f"https:{HOST}/a", f"https:/{HOST}/a", f"https:///{HOST}/a", f"https:////{HOST}/a", f"https:\\\\{HOST}\\a", f"https:/\\{HOST}/a", f"https://{HOST}\\a",
    f" https://{HOST}/a", f"https://{HOST}/a ", f"\thttps://{HOST}/a", f"ht\ntps://{HOST}/a", "https://ev\til.example/a", "https://evil%2eexample/a", "https://%65vil.example/a", f"https://{HOST}./a",
    "https://ｅvil.example/a", "https://evil。example/a", "https://EVIL．example/a", "https://ⓔvil.example/a", f"https://{HOST}/x/../a", f"https://{HOST}/./a", f"https://{HOST}/%2e/a", f"https://{HOST}/%61",
    f"//{HOST}/a", f"{HOST}/a", f"https://{HOST}/a?x", f"https://{HOST}/a#x", f"https://{HOST}/a/b", f"https://{HOST}/é/../a", f"https://é@{HOST}/a",
]  # fmt: skip
# 127.0.0.1 in its other forms.
LOCAL = [
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "127.1",
    "127.0.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "１２７.0.0.1",
]
PLAIN = ["https://ok.example/", "https://ok.example", "https://ok.example/a/b?c=d/../e#f", "https://ok.example:443/a", "https://OK.example/a", "https://ok.example/Zürich", "https://ok.example/a%20b", "https://ok.example/100%25", "https://ok.example/..a/b..", "https://ok.example/group%2Fname"]  # fmt: skip
UNCLEAR = [
    *(url.replace(HOST, "ok.example").replace("evil", "ok").replace("EVIL", "OK") for url in SPELLINGS[3:30]), "https://ok.example:99999/", "https://ok.example:x/", "https://ok.example:-1/", "https://[ok.example/", "https://ok.example]/", "https://ok.exa mple/", "https://ok.example\\@evil.example/a", "https://é@ok.example/a", "//ok.example/a", "ok.example/a", "https://ok.example/a b",
    "https://ok.example/\u202e", "https://ok.example/\x00", "https://ok.example/..%2fb", "https://ok.example/%252e%252e/b", "https://ok.example/a/..\\b", "https://ok.example/..", "https://ok.example/.", "https://ok.example/a/..?b", "", "x", "https://", "https:", "javascript:ok.example", "https://ok.example/" + "a" * 9000,
]  # fmt: skip


def policy(**rules):
    return Policy.from_dict({"version": "1.1", **rules}, project_root="/proj", home="/home/me")


def rule(form, text):
    """The rule about the URL *text* of the tool f, in either form."""
    return {"patterns": [f"f(url={text})"]} if form == "pattern" else {"arguments": {"f": {"url": [text]}}}


@pytest.mark.parametrize("form", ["pattern", "argument"])
@pytest.mark.parametrize("text", [f"https://{HOST}/a", f"https://{HOST}/**", f"https://{HOST}/*", f"https://{HOST}", f"https://{HOST.upper()}/", f"https://{HOST}:443/a", f"https://*.{HOST[5:]}/*", f"*{HOST}*", HOST, "https://evil."])  # fmt: skip
@pytest.mark.parametrize("name", ["blacklist", "ask"])
def test_a_denied_url_is_caught_in_every_reading(name, text, form):
    judge = policy(defaultPolicy="allow", whitelist={"tools": ["f"]}, **{name: rule(form, text)})
    wrong = [url for url in SPELLINGS if judge.decide("f", {"url": url}).verdict == "allow"]
    assert wrong == []
    if name == "blacklist" and text == f"https://{HOST}/a":
        assert [url for url in SPELLINGS if judge.decide("f", {"url": url}).verdict != "deny"] == []


@pytest.mark.parametrize("form", ["pattern", "argument"])
def test_an_address_is_denied_in_every_form(form):
    judge = policy(defaultPolicy="allow", blacklist=rule(form, "http://127.0.0.1"))
    assert [host for host in LOCAL if judge.decide("f", {"url": f"http://{host}/x"}).verdict != "deny"] == []
    metadata = policy(defaultPolicy="allow", blacklist=rule("argument", "http://169.254."))
    urls = [
        "http://169.254.169.254/latest",
        "http://0xa9fea9fe/",
        "http://2852039166/",
        "http://[::ffff:169.254.169.254]/",
        "http:169.254.169.254",
    ]
    assert [metadata.decide("f", {"url": url}).verdict for url in urls] == ["deny"] * len(urls)


@pytest.mark.parametrize("form", ["pattern", "argument"])
@pytest.mark.parametrize(
    "text",
    [
        "https://ok.example/**",
        "https://ok.example/*",
        "https://OK.example:443/*",
        "https://*.example/*",
        "http*://ok.example/*",
    ],
)
def test_only_what_is_plainly_one_url_is_allowed(text, form):
    judge = policy(whitelist=rule(form, text))
    assert [url for url in PLAIN if judge.decide("f", {"url": url}).verdict != "allow"] == []
    assert [url for url in UNCLEAR if judge.decide("f", {"url": url}).verdict == "allow"] == []


@pytest.mark.parametrize("host", LOCAL)
def test_an_address_in_another_form_is_never_allowed(host):
    urls = [f"http://{host}/", f"http://{host}:8080/"]
    judge = policy(
        whitelist={
            "patterns": ["f(url=http://*/**)", "f(url=**)", "f(url=http://127.0.0.1/*)", f"f(url=http://{host}/*)"]
        }
    )
    assert [judge.decide("f", {"url": url}).verdict for url in urls] == ["ask"] * 2
    assert judge.decide("f", {"url": "http://127.0.0.1/x"}).verdict == "allow"


WILDCARDS = [
    ("https://a.example/*", ["/x", "/x/y", "/x?y=/z", "/"], ["https://b.example/x", "http://a.example/x", "https://a.example:8443/x", "https://a.example.evil/x"]),
    ("https://a.example/v1/*", ["/v1/items", "/v1/items/3/x", "/v1/"], ["https://a.example/v2", "https://a.example/v1", "https://a.example/v1x"]),
    ("https://a.example/*/b", ["/x/b"], ["https://a.example/x/y/b", "https://a.example/x/bc"]),
    ("https://a.example/x*", ["/x", "/xy"], ["https://a.example/x/y", "https://a.example/yx"]),
    ("https://a.example/**/b", ["/x/b", "/x/y/b", "/b"], ["https://a.example/x/bc"]),
    ("https://a.example/\\*", ["/*"], ["https://a.example/x"]),
    ("https://a.example?x=*", ["/?x=", "/?x=1"], ["https://a.example/", "https://a.example/y?x=1"]),
    ("https://a.example", ["/"], ["https://a.example/x", "https://a.example/?x"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "covered", "others"), WILDCARDS)
def test_a_star_stays_between_slashes_but_at_the_end_of_the_rule(text, covered, others):
    judge = policy(whitelist={"patterns": [f"f(method=GET, url={text})"]})
    urls = [*(f"https://a.example{path}" for path in covered), *others]
    verdicts = [judge.decide("f", {"method": "GET", "url": url}).verdict for url in urls]
    assert verdicts == ["allow"] * len(covered) + ["ask"] * len(others)
    assert judge.decide("f", {"method": "POST", "url": urls[0]}).verdict == "ask"


def test_what_nobody_can_read_may_be_what_is_denied():
    judge = policy(defaultPolicy="allow", blacklist=rule("argument", "https://evil.example/"))
    for url in (
        "https://[x/",
        "gopher",
        "https://exa mple/",
        "https://0x7f.1/",
        "https://ok.example./",
        "https://" + "a" * 70000,
    ):
        decision = judge.decide("f", {"url": url})
        assert (decision.verdict, decision.maybe_denied) == ("ask", True), url
    assert judge.decide("f", {"url": "https://ok.example/a"}).verdict == "allow"


def test_lists_of_urls_are_allowed_item_by_item_and_denied_by_one():
    judge = policy(
        whitelist=rule("pattern", "https://ok.example/*"), blacklist=rule("pattern", "https://evil.example/*")
    )
    for urls, verdict in itertools.product([["https://ok.example/a"]], ["allow"]):
        assert judge.decide("f", {"url": urls}).verdict == verdict
    assert judge.decide("f", {"url": ["https://ok.example/a", "https://x.example/"]}).verdict == "ask"
    assert judge.decide("f", {"url": ["https://ok.example/a", "https:evil.example"]}).verdict == "deny"
    assert judge.decide("f", {"url": []}).verdict == "ask"


def test_an_argument_whose_rules_are_urls_is_one_whatever_its_name():
    judge = policy(defaultPolicy="allow", blacklist={"arguments": {"f": {"where": ["http://169.254."]}}})
    assert judge.decide("f", {"where": "http:\\\\169.254.169.254"}).verdict == "deny"


@pytest.mark.parametrize(("length", "verdict"), [(MAX_URL, "allow"), (MAX_URL + 1, "ask")])
def test_a_url_may_be_so_long_and_no_longer(length, verdict):
    url = "https://ok.example/".ljust(length, "a")
    assert policy(whitelist=rule("argument", "https://ok.example/**")).decide("f", {"url": url}).verdict == verdict


@pytest.mark.parametrize("rule", ["http://localhost/*", "http://localhost/admin", "http://[::1]/*", "*://localhost/*"])
def test_a_forbidden_address_without_a_port_is_that_of_every_port(rule):
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": {"patterns": [f"fetch(url={rule})"]}})
    host = "[::1]" if "::1" in rule else "localhost"
    for port in ("", ":80", ":8080", ":1"):
        assert policy.decide("fetch", {"url": f"http://{host}{port}/admin"}).verdict == "deny", port
    one = Policy.from_dict(
        {"defaultPolicy": "allow", "blacklist": {"patterns": ["fetch(url=http://localhost:8080/*)"]}}
    )
    assert one.decide("fetch", {"url": "http://localhost:9090/admin"}).verdict == "allow"
