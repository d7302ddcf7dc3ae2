"""The page in a real browser: what waits is answered there, and what is shown is what there is."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

from executor.approval import Approval, Inbox, new_approval_id
from executor_console._question import told
from tests.plugins.console import scripts
from tests.plugins.console.hands import CONTEXT, card_of, expect, none_left, press, ready


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


def test_no_number_is_shown_or_sent_as_another_one(common):
    _, assistant, page = common
    numbers = {"account": 9007199254740993, "deep": [{"n": -(10**30)}], "huge": 10**400, "rate": 0.1, "far": 1e300}
    assistant.call("1", "tell", {**numbers, "note": "a"})
    card = card_of(page, "tell")
    expect(card.locator("dl.arguments pre")).to_have_count(6)
    shown = card.locator("dl.arguments pre").all_inner_texts()
    assert [json.loads(text.replace("⏎", "")) for text in shown[:5]] == list(numbers.values())
    press(card, "Edit …")
    card.get_by_role("textbox", name="note").fill("b")
    card.get_by_label("deep (JSON)").fill('[{"n": 9007199254740995}]')
    expect(card.locator(".changes ins").last).to_have_text("b")
    press(card, "Run it so")
    told = json.loads(assistant.result("1")["content"])
    assert told == {**numbers, "deep": [{"n": 9007199254740995}], "note": "b"}


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


def test_a_line_that_is_written_anew_without_end_holds_the_page_up_for_no_time(common):
    *_, page = common
    told = page.evaluate("""async () => {
      const { Screen } = await import("/text.js");
      const screen = new Screen(), began = performance.now();
      screen.write("a line\\n".repeat(25_000));
      const end = screen.write("\\r50 %\\b\\b\\b1 %".repeat(20_000)).slice(-11);
      const short = new Screen(20);
      return [end, performance.now() - began, short.write("one\\ntwo\\nthree\\nfour\\nfive"), short.write("\\rsix")];
    }""")
    assert told[0] == "a line\n51 %"
    assert told[1] < 3000  # it was 6 s where nothing else ran, for 64 KB
    assert told[2:] == ["…\n\nfour\nfive", "…\n\nfour\nsix"]


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
        undo = self._inbox.put(approval, on_answer)
        self._undo.append(undo)
        return undo

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


def test_a_question_that_comes_makes_no_work_for_each_that_waits(scene):
    """Else thousands of them, which one batch of calls can put, hold the page up for minutes."""
    _, _, page = scene
    question = told(Approval("none", "deploy", {}, "because", deadline=time.time() + 300), time.time())
    assert page.evaluate(scripts.LOOKED_FOR, [question, 50]) < 10


def test_no_argument_is_wider_than_the_page(scene, inbox):
    _, _, page = scene
    script = "echo " + "harmless " * 30 + "; rm -rf /home/me"
    for wide in ("a" + "\u0336" * 400, "x" * 3000, "\u0489" * 400, "ﷺ" * 200):
        undo = inbox(Approval(new_approval_id(), "deploy", {"note": wide, "script": script}, "because"))
        block = page.locator("article.question").locator("pre", has_text="rm -rf")
        expect(block).to_be_visible()
        assert block.evaluate("element => element.scrollWidth <= element.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        undo()
        none_left(page)


def test_words_that_are_written_from_right_to_left_stay_in_their_order(scene, inbox):
    _, _, page = scene
    undo = inbox(Approval(new_approval_id(), "deploy", {"command": "cp \u05d0\u05d1/1 \u0634/2 end"}, "because"))
    block = page.locator("article.question").locator("pre", has_text="end")
    expect(block).to_be_visible()
    seen = block.evaluate(scripts.LEFT_OF_EACH, ["cp", "\u05d0\u05d1", "1", "\u0634", "2", "end"])
    assert seen == sorted(seen)
    undo()
    none_left(page)


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
    expect(card_of(page, "number 1").locator(".reading")).to_contain_text("covers this call")
    ready(card_of(page, "number 1"))
    page.keyboard.press("Control+Enter")
    assert assistant.result("1")["kind"] == "ok"
    expect(card_of(page, "number 1")).to_have_count(0)  # until the page knows it, the keys go to its field
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_field_of_one_line_holds_no_text_of_several(scene):
    _, assistant, page = scene
    command = "echo 'a\nb'"
    assistant.call("1", "runCommand", {"command": command})
    card = card_of(page, "runCommand")
    press(card, "Always …")
    expect(card.get_by_label("The rule that is stored")).to_have_value(json.dumps(command))
    press(card, "Always allow")
    assistant.call("2", "runCommand", {"command": command})
    assert [assistant.result(number)["kind"] for number in ("1", "2")] == ["ok", "ok"]
    fields = {"note": {"type": "string", "default": "a\nb"}, "__proto__": {"type": "string"}, "any": True}
    assistant.call("3", "fillIn", {"schema": {"type": "object", "properties": fields, "required": ["__proto__"]}})
    card = card_of(page, "fillIn")
    expect(card.get_by_label("note")).to_have_value("a\nb")
    card.get_by_label("__proto__").fill("c")
    press(card, "Send")
    assert json.loads(assistant.result("3")["content"]) == {"note": "a\nb", "__proto__": "c"}


def test_a_form_that_a_server_has_made_to_be_odd_hides_no_question(scene, inbox):
    _, assistant, page = scene
    odd = {"toString": 1}
    fields = {
        "text": {"type": "string", "default": odd},
        "count": {"type": "integer", "default": odd},
        "pick": {"enum": [odd, "a"], "enumNames": [odd]},
        "either": {"oneOf": [True]},
        "one": {"oneOf": [{"const": odd}]},
    }
    assistant.call("1", "fillIn", {"schema": {"type": "object", "properties": fields}})
    inbox(Approval(new_approval_id(), "bad", {}, options=("yes", "no", "edit"), form={"required": 5}))
    assistant.call("2", "act")
    expect(page.locator("article.question")).to_have_count(3)
    expect(card_of(page, "bad")).to_contain_text("toolexec approvals show")
    assert page.problems
    page.problems.clear()
    expect(page.locator("#state")).to_have_text("connected")
    press(card_of(page, "bad"), "Deny")
    press(card_of(page, "act"), "Allow once")
    assert assistant.result("2")["kind"] == "ok"
