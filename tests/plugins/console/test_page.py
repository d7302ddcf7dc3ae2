"""The page in a real browser: what waits is answered there, and what is shown is what there is."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from executor.approval import Approval, Inbox, new_approval_id
from tests.plugins.console import scripts
from tests.plugins.console.conftest import LIMIT, ROOT, Console, Process

DEAD = re.compile(r"\bdead\b")
CONTEXT = {"agent": "reviewer", "intent": "publish the release that you asked for"}


def expect(found):
    from playwright.sync_api import expect

    return expect(found)


def ready(card):
    """The card, once it has stood still for long enough."""
    expect(card).to_be_visible()
    expect(card).not_to_have_class(DEAD)
    return card


def card_of(page, text):
    return page.locator("article.question").filter(has_text=text)


def press(card, name):
    ready(card).get_by_role("button", name=name, exact=True).click()


def none_left(page):
    expect(page.locator("article.question")).to_have_count(0)


@pytest.fixture
def scene(console, assistant, opened):
    """A console, an assistant, and a page."""
    started = console(), assistant()
    return *started, opened(started[0].link)


def test_a_detached_task_of_one_process_asks_and_the_page_answers(common):
    _, assistant, page = common
    assistant.call("1", "deploy", detach=True)
    task_id = assistant.result("1")["task"]
    card = ready(card_of(page, "Deploy where?"))
    press(card, "Send")
    expect(card.get_by_role("alert")).to_contain_text("is needed")
    card.get_by_label("Where to").select_option(label="live")
    card.get_by_label("replicas").fill("3")
    press(card, "Send")
    expect(page.locator("article.task .chip").first).to_have_text("completed")
    none_left(page)
    told = {"task_id": task_id, "wait_seconds": 1}
    assistant.call("2", "getBackgroundOutput", told)
    value = json.loads(assistant.result("2")["content"])["result"]
    assert {name: value[name] for name in ("to", "replicas", "notify")} == {"to": "live", "replicas": 3, "notify": True}


def test_once_deny_a_comment_and_yes_but(common):
    _, assistant, page = common
    said = {
        "1": ("Allow once", "", "ok"),
        "2": ("Deny", "", "denied"),
        "3": ("Deny, and say so", "use git mv", "denied"),
        "4": ("Allow, but say so", "only this time", "ok"),
    }
    for number, (name, text, kind) in said.items():
        assistant.call(number, "act", {"number": number}, context=CONTEXT)
        card = card_of(page, "act")
        if text:
            card.get_by_label("Tell the model").fill(text)
        press(card, name)
        told = assistant.result(number)
        assert told["kind"] == kind
        assert text in told["content"]
        none_left(page)


def test_always_with_an_edited_rule_until_it_is_revoked(common):
    _, assistant, page = common
    assistant.call("1", "runCommand", {"command": "echo one"}, context=CONTEXT)
    card = card_of(page, "echo one")
    press(card, "Always …")
    rule = card.get_by_label("The rule that is stored")
    expect(rule).to_have_value("echo one")
    expect(card.locator(".reading")).to_contain_text("It covers this call.")
    rule.fill("printf *")
    expect(card.locator(".reading")).to_contain_text("It does not cover this call.")
    press(card, "Always allow")
    expect(card.get_by_role("alert")).to_contain_text("the rule has to decide this very call")
    rule.fill("echo *")
    expect(card.locator(".reading")).to_contain_text("whatever follows it")
    card.get_by_label("It ends").select_option(label="for 8 hours")
    card.get_by_label("For how many calls").fill("9")
    press(card, "Always allow")
    assert assistant.result("1")["kind"] == "ok"
    grant = page.locator("article.grant")
    expect(grant).to_contain_text("echo *")
    expect(grant).to_contain_text("8 calls left")
    expect(grant).to_contain_text("ends in 7 h 59 min")
    assistant.call("2", "runCommand", {"command": "echo two"}, context=CONTEXT)
    assert "two" in assistant.result("2")["content"]
    grant.get_by_role("button").click()
    expect(grant).to_have_count(0)
    assistant.call("3", "runCommand", {"command": "echo three"}, context=CONTEXT)
    press(card_of(page, "echo three"), "Deny")
    assert assistant.result("3")["kind"] == "denied"


def test_never_and_the_whole_tool(scene):
    _, assistant, page = scene
    assistant.call("1", "runCommand", {"command": "git push origin main"})
    card = card_of(page, "git push")
    press(card, "Never …")
    expect(card.get_by_label("The rule that is stored")).to_have_value("git push *")
    press(card, "Never allow")
    assert assistant.result("1")["kind"] == "denied"
    assistant.call("2", "runCommand", {"command": "git push origin next"})
    assert "never" in assistant.result("2")["content"]
    assistant.call("3", "act", {"a": 1})
    card = card_of(page, "act")
    press(card, "Always …")
    card.get_by_label("every call of act").check()
    press(card, "Always allow")
    assistant.call("4", "act", {"b": 2})
    assert [assistant.result(number)["kind"] for number in ("3", "4")] == ["ok", "ok"]


def test_edited_arguments_are_shown_as_a_difference_and_judged_again(common):
    _, assistant, page = common
    assistant.call("1", "runCommand", {"command": "echo before it\n", "timeout": 5})
    card = card_of(page, "echo before it")
    press(card, "Edit …")
    expect(card.get_by_role("button", name="Run it so")).to_be_disabled()
    card.get_by_role("textbox", name="command").fill("echo after it\n")
    assert card.locator(".diff del").all_inner_texts() == ["before"]
    assert card.locator(".diff ins").all_inner_texts() == ["after"]
    card.get_by_label("timeout (JSON)").fill("{")
    expect(card.locator(".changes")).to_contain_text("timeout is not JSON")
    card.get_by_label("timeout (JSON)").fill("6")
    press(card, "Run it so")
    assert "after it" in assistant.result("1")["content"]
    assistant.call("2", "runCommand", {"command": "echo again"})
    card = card_of(page, "echo again")
    press(card, "Edit …")
    card.get_by_role("textbox", name="command").fill("git push --force origin main")
    press(card, "Run it so")
    assert assistant.result("2")["kind"] == "denied"


def test_a_secret_reaches_the_tool_alone(scene, own_folders):
    console, assistant, page = scene
    assistant.call("1", "login", {})
    card = card_of(page, "Password for")
    field = card.get_by_label("answer", exact=True)
    assert field.get_attribute("type") == "password"
    field.fill("correct horse battery")
    press(card, "Send")
    assert assistant.result("1")["content"] == "21 characters"
    none_left(page)
    assert "correct horse" not in page.content()
    for path in own_folders.rglob("*"):
        assert not path.is_file() or b"correct horse" not in path.read_bytes(), path
    os.kill(console.process.pid, signal.SIGTERM)
    assert not [line for line in console.rest() if "correct horse" in line]


def test_time_runs_out_and_the_question_is_gone(common):
    _, assistant, page = common
    assistant.call("1", "deploy", {"seconds": 3})
    card = card_of(page, "Deploy where?")
    expect(card).to_have_class(re.compile("late"))
    expect(card.locator(".left")).to_have_text("1 s")
    none_left(page)
    assert "nobody answered in time" in assistant.result("1")["content"]


def test_tasks_of_all_processes_are_followed_and_cancelled(scene, assistant, tmp_path):
    _, one, page = scene
    two = assistant()
    one.call("1", "build", {"until": str(tmp_path / "stop"), "from": 12})
    two.call("2", "build", {"from": 30})
    cards = page.locator("article.task")
    expect(cards).to_have_count(2)
    mine = cards.filter(has_text=f"process {one.pid}")
    other = cards.filter(has_text=f"process {two.pid}")
    expect(mine.locator(".hint")).to_contain_text("of 34 · compiling")
    mine.get_by_role("button", name="Output").click()
    expect(mine.get_by_role("log")).to_contain_text("Compiling part 30")
    assert "\x1b" not in mine.get_by_role("log").text_content()
    other.get_by_role("button", name="Cancel").click()
    other.get_by_role("button", name="Really cancel?").click()
    expect(other.locator(".chip")).to_have_text("cancelled")
    (tmp_path / "stop").touch()
    expect(mine.locator(".chip")).to_have_text("completed")
    expect(page.locator("#count-running")).to_have_text("0")


def test_history_explains_itself_and_tries_a_rule(scene):
    _, assistant, page = scene
    assistant.call("1", "runCommand", {"command": "git push --force origin main"})
    assistant.result("1")
    assistant.call("2", "runCommand", {"command": "npm test -- --watch=false"})
    press(card_of(page, "npm test"), "Deny")
    assistant.result("2")
    rows = page.locator("#history .row")
    expect(rows).to_have_count(2)
    page.get_by_label("Filter").fill("force denied blacklist")
    expect(rows).to_have_count(0)
    page.get_by_label("Filter").fill("force blacklist")
    expect(rows).to_have_count(1)
    rows.get_by_role("button").click()
    expect(rows).to_contain_text("the rule 'git push --force *' of the blacklist forbids it")
    expect(rows).to_contain_text("permissions.json:")
    expect(rows).to_contain_text("toolexec permissions remove --deny")
    page.get_by_label("Filter").fill("")
    page.get_by_label("Would this rule").fill("npm test *")
    page.get_by_role("button", name="Try").click()
    expect(page.locator("#history .reading")).to_contain_text("It would have let one call of 2 run unasked.")
    expect(rows.filter(has_text="npm test")).to_contain_text("the rule allows it")
    page.get_by_label("Would this rule").fill("git *")
    page.get_by_role("button", name="Try").click()
    expect(page.locator("#history .reading")).to_contain_text("0 calls of 2")
    expect(page.locator("#history .reading")).to_contain_text("throws changes away")


UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
MARKUP = "<img src=x onerror=\"document.title='hit'\"><b>bold</b>&amp;"
ODD = MARKUP + "\x1b[2J\x1b]0;t\x07\u202egnp.exe\u2066\u200b\x85\U000e0041"


@pytest.fixture
def inbox():
    made = Inbox.shared()
    with made_asking(made) as asked:
        yield asked


class made_asking:
    """Puts questions of this process."""

    def __init__(self, inbox):
        self._inbox, self._undo = inbox, []

    def __enter__(self):
        return self

    def __call__(self, approval, on_answer=lambda _: None):
        self._undo.append(self._inbox.put(approval, on_answer))

    def __exit__(self, *_):
        for undo in self._undo:
            undo()


def test_markup_controls_and_bidi_in_every_field_are_text(scene, inbox):
    _, assistant, page = scene
    form = {"type": "object", "required": [ODD], "properties": {
        ODD: {"type": "string", "title": ODD, "description": ODD, "default": ODD},
        "pick": {"enum": [ODD, "b"], "title": f"pick {ODD}"}}}  # fmt: skip
    parts = tuple({"text": ODD, "verdict": verdict, "reason": ODD, "rule": ODD} for verdict in ("allow", "ask", ODD))
    common = {"options": ("yes", "no", "once", "always", "never", "comment", "edit", "all"), "text": ODD}
    common |= {"rules": {"always": (ODD,), "never": (ODD,)}, "details": {ODD: ODD, "folder": ODD}, "origin": ODD}
    inbox(Approval(new_approval_id(), ODD, {ODD: ODD, "list": [ODD]}, ODD, parts, offered_rule=ODD, **common))
    inbox(Approval(new_approval_id(), f"form{ODD}", {"message": ODD, "form": form}, ODD, form=form, **common))
    assistant.call("1", "build", {"say": ODD})
    assistant.call("2", "runCommand", {"command": f"echo {ODD}"})
    expect(page.locator("article.question")).to_have_count(3)
    expect(page.locator("#history .row")).to_have_count(1)
    card = page.locator("article.question").first
    for opener in ("Always …", "Never …", "Edit …", "More …"):
        card.get_by_role("button", name=opener).click()
        check_all_is_text(page)
    page.get_by_role("button", name="Output").click()
    expect(page.get_by_role("log")).to_contain_text("<img src=x")
    for row in page.locator("#history .row").all():
        row.get_by_role("button", name="Why?").click()
    page.get_by_label("Would this rule").fill(ODD)
    page.get_by_role("button", name="Try").click()
    expect(page.locator("#history .reading")).not_to_be_empty()
    expect(page.locator("#history .why-body")).to_contain_text("By the rules alone")
    check_all_is_text(page)
    assert "hit" not in page.title()


def check_all_is_text(page):
    assert page.locator("img, b:not(.count)").count() == 0
    shown = page.locator("html").evaluate(scripts.EVERY_TEXT)
    assert re.findall(UNSEEN, shown) == []


def test_no_answer_is_taken_before_a_question_has_stood_still_and_nothing_is_focused(scene):
    _, assistant, page = scene
    page.evaluate(scripts.PRESS_WHAT_APPEARS)  # as a person may who means another one
    for number in ("1", "2"):
        assistant.call(number, "act", {"number": number})
        expect(page.locator("article.question").nth(int(number) - 1)).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    first, second = page.locator("article.question").all()
    ready(first), ready(second)
    # The one below moves up as the first is gone: it is dead again for a moment, and stays open when pressed.
    page.evaluate(scripts.PRESS_WHAT_MOVES)
    first.get_by_role("button", name="Allow once").click()
    assert assistant.result("1")["kind"] == "ok"
    expect(page.locator("article.question")).to_have_count(1)
    press(page.locator("article.question"), "Deny")
    assert page.evaluate("window.wasDead")
    assert assistant.result("2")["kind"] == "denied"


def test_the_keyboard_answers_what_is_selected_and_nothing_else(common):
    _, assistant, page = common
    for number in ("1", "2"):
        assistant.call(number, "runCommand", {"command": f"echo number {number}"})
        ready(card_of(page, f"number {number}"))
    page.keyboard.press("o")  # nothing is selected
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("m")
    page.keyboard.type("do not")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    assert "do not" in assistant.result("2")["content"]
    ready(card_of(page, "number 1"))
    page.keyboard.press("k")
    page.keyboard.press("a")
    expect(card_of(page, "number 1").get_by_label("The rule that is stored")).to_be_focused()
    ready(card_of(page, "number 1"))
    page.keyboard.press("Control+Enter")
    assert assistant.result("1")["kind"] == "ok"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_question_is_on_the_page_at_once_and_gone_with_its_asker(scene):
    _, assistant, page = scene
    page.evaluate(scripts.NOTE_TIMES)
    took = []
    for number in range(1, 6):
        began = time.time()
        assistant.call(str(number), "act", {"number": number})
        expect(page.locator("article.question")).to_have_count(number)
        took.append(page.evaluate(f"window.times[{number}]") - began)
    assert sorted(took)[2] <= 0.5, took
    assistant.process.kill()
    killed = time.time()
    expect(page.locator("article.question")).to_have_count(0)
    assert page.evaluate("window.times[0]") - killed <= 1.0


def test_a_page_that_is_gone_leaves_the_question_for_the_next(console, assistant, opened):
    asker, *consoles = assistant(), console(), console()
    first = opened(consoles[0].link)
    asker.call("1", "act", {"a": 1})
    ready(card_of(first, "act"))
    first.context.close()
    press(card_of(opened(consoles[1].link), "act"), "Allow once")
    assert asker.result("1")["kind"] == "ok"


def test_a_console_that_is_killed_leaves_the_question_and_its_page_says_so(console, assistant, opened):
    asker, one, other = assistant(), console(), console()
    page = opened(one.link)
    asker.call("1", "act", {"a": 1})
    ready(card_of(page, "act"))
    one.process.kill()
    expect(page.locator("#state")).to_contain_text("cannot be reached any more")
    expect(page.locator("article.question")).to_have_count(0)
    press(card_of(opened(other.link), "act"), "Allow once")
    assert asker.result("1")["kind"] == "ok"


def race(pages, asker, number):
    asker.call(str(number), "act", {"number": number})
    cards = [ready(card_of(page, "act")) for page in pages]
    for card, name in zip(cards, ("Allow once", "Deny"), strict=True):
        # At the same moment as far as a test can have it: both are pressed before either page is looked at again.
        card.get_by_role("button", name=name, exact=True).evaluate("(button) => setTimeout(() => button.click(), 20)")
    kind = asker.result(str(number))["kind"]
    for page in pages:
        none_left(page)
    return kind


@pytest.mark.parametrize("times", [4, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_two_pages_race_and_one_wins(times, console, assistant, opened):
    asker, *consoles = assistant(), console(), console()
    pages = [opened(each.link) for each in consoles]
    for page in pages:
        page.evaluate(scripts.NOTE_RECEIPTS)
    kinds = [race(pages, asker, number) for number in range(times)]
    won = [page.evaluate("window.said.filter((text) => /^(Allowed once|Denied):/.test(text)).length") for page in pages]
    assert won == [kinds.count("ok"), kinds.count("denied")]
    assert sum(won) == times


def test_the_link_works_once_and_the_session_lives_in_its_tab(console, opened):
    link = console().link
    page = opened(link)
    assert page.url.endswith("/")  # the code is of no use to anybody, and not in the history
    page.reload()
    page.locator("#state.good").wait_for()
    assert page.context.cookies() == []
    again = opened(link, wait=False)
    expect(again.locator("#state")).to_contain_text("This link has been used, or is older than a minute.")
    bare = opened(link.partition("#")[0], wait=False)
    expect(bare.locator("#state")).to_contain_text("This page is opened by 'toolexec console'.")
    tab = page.context.new_page()
    tab.goto(link.partition("#")[0])
    expect(tab.locator("#state")).to_contain_text("This page is opened by 'toolexec console'.")


def test_the_browser_is_led_to_the_page_by_a_file_of_the_user_alone(browser, project, started, own_folders, opened):
    opener = own_folders / "opener"
    opener.write_text('#!/bin/sh\necho "opened $1"\n')
    opener.chmod(0o700)
    started.append(Process("-m", "executor", "console", cwd=project, env={"BROWSER": f"{opener} %s"}))
    lines = [started[-1].line(), started[-1].line()]
    (found,) = (line.partition("file://")[2] for line in lines if line.startswith("opened"))
    assert Path(found).stat().st_mode & 0o777 == 0o600
    assert Path(found).parent.stat().st_mode & 0o777 == 0o700
    page = opened(f"file://{found}")
    assert page.url.startswith("http://127.0.0.1:")
    os.kill(started[-1].process.pid, signal.SIGINT)
    started[-1].rest()
    assert started[-1].process.wait(LIMIT) == 130
    assert not Path(found).exists()


def test_a_hidden_page_tells_its_user(scene, own_folders):
    _, assistant, page = scene
    page.evaluate(scripts.PERMIT_NOTIFICATIONS)
    page.evaluate(scripts.HIDE)
    assistant.call("1", "act", {"a": 1})
    ready(card_of(page, "act"))
    assert page.evaluate("window.told") == [["act waits for you", "no rule is about act"]]


def test_notify_send_tells_where_the_page_may_not(project, started, own_folders, assistant, opened):
    folder = own_folders / "bin"
    folder.mkdir()
    os.mkfifo(folder / "told")
    (folder / "notify-send").write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {folder / "told"}\n')
    (folder / "notify-send").chmod(0o700)
    started.append(Console(project, env={"PATH": f"{folder}:{os.environ['PATH']}"}))
    page = opened(started[-1].link)
    with page.expect_response("**/api/presence"):
        page.evaluate(scripts.HIDE)
    asker = assistant()
    asker.call("1", "act", {"a": 1})
    assert (folder / "told").read_text() == "--app-name=toolexec|--|act waits for you|no rule is about act|"


# How it looks ----------------------------------------------------------------------------------------------------


@pytest.fixture
def full(scene):
    """A page with something in every part, and panels that are open."""
    _, assistant, page = scene
    assistant.call("0", "runCommand", {"command": "git fetch origin"}, context=CONTEXT)
    press(card_of(page, "git fetch origin"), "Always …")
    press(card_of(page, "git fetch origin"), "Always allow")
    assistant.call("1", "runCommand", {"command": "git push --force origin main"}, context=CONTEXT)
    assistant.result("0"), assistant.result("1")
    assistant.call(
        "2",
        "runCommand",
        {"command": "git status -s && npm version minor && npm publish --access public"},
        context=CONTEXT,
    )
    card = ready(card_of(page, "npm publish"))
    content = "export const total = (items: Item[]) =>\n  items.reduce((sum, item) => sum + item.price, 0);\n"
    assistant.call("3", "writeFile", {"path": "src/total.ts", "content": content}, context=CONTEXT)
    ready(card_of(page, "src/total.ts"))
    assistant.call("4", "deploy", {}, context=CONTEXT)
    ready(card_of(page, "Deploy where?"))
    assistant.call("5", "build", {"from": 12, "pause": 0.4})
    page.get_by_role("button", name="Output").click()
    expect(page.get_by_role("log")).to_contain_text("part 14")
    press(card, "Always …")
    expect(card.locator(".reading")).to_contain_text("npm")
    page.evaluate("document.getElementById('receipts').replaceChildren(); document.activeElement.blur()")
    ready(card)
    return page


def take_screenshots(page, folder):
    """With TOOLEXEC_DRAW=1 they are those of the documentation."""
    folder = ROOT / "docs" / "images" if os.environ.get("TOOLEXEC_DRAW") else folder
    folder.mkdir(exist_ok=True)
    for name, width, height, scheme in (
        ("console", 1280, 980, "light"),
        ("console-dark", 1280, 980, "dark"),
        ("console-narrow", 360, 780, "dark"),
    ):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.evaluate("scrollTo(0, 0)")
        ready(page.locator("article.question").first)
        page.screenshot(path=folder / f"{name}.png")
        assert (folder / f"{name}.png").stat().st_size > 10_000


def test_it_is_accessible_and_fits_wide_and_narrow_dark_and_light(full, npm_folder, tmp_path):
    take_screenshots(full, tmp_path)
    axe = npm_folder(Path(__file__).parent / "axe.json") / "node_modules" / "axe-core" / "axe.min.js"
    edited = card_of(full, "src/total.ts")
    press(edited, "Edit …")
    edited.get_by_role("textbox", name="content").fill("export const total = 1;\n")
    full.locator("#history .row").first.get_by_role("button").click()
    expect(full.locator("#history .why-body").first).to_contain_text("By the rules alone")
    full.evaluate(axe.read_text("utf-8"))
    for width in (1280, 360):
        for scheme in ("light", "dark"):
            full.set_viewport_size({"width": width, "height": 900})
            full.emulate_media(color_scheme=scheme)
            found = full.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
            told = [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found]
            assert not told, (width, scheme, told)
        assert full.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not full.problems
