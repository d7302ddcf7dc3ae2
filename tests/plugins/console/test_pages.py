"""Several pages and processes at once, how a page is opened, how it tells, and how it looks."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from executor.systempath import open_in_browser
from executor_console._notify import Notifier
from tests.plugins.console import scripts
from tests.plugins.console.conftest import HERE, LIMIT, ROOT, Console, Process
from tests.plugins.console.hands import CONTEXT, card_of, expect, none_left, press, ready


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
    expect(page.locator("#no-questions")).to_be_hidden()  # what waits is not known any more
    expect(page.locator("article.question")).to_have_count(0)
    press(card_of(opened(other.link), "act"), "Allow once")
    assert asker.result("1")["kind"] == "ok"


def test_a_page_goes_on_when_the_console_had_too_many_connections_for_a_while(console, opened):
    page, refused = opened(console().link), []

    def answer(route):
        if len(refused) == 5:  # after so many attempts one that cannot be reached is given up
            route.continue_()
            return
        refused.append(route)
        route.fulfill(status=503, content_type="text/plain", body="Service Unavailable")

    expect(page.locator("#state")).to_have_text("connected")
    page.route("**/api/events", answer)
    page.reload()
    expect(page.locator("#state")).to_contain_text("too many connections")
    expect(page.locator("#state")).to_have_text("connected")
    assert len(refused) == 5


def race(pages, asker, number):
    asker.call(str(number), "act", {"number": number})
    for page in pages:
        ready(card_of(page, "act"))
    at = time.time() * 1000 + 300
    for page, button in zip(pages, ("allow", "deny"), strict=True):
        page.evaluate(scripts.PRESS_AT, [at, button])
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
    assistant.call("1", "runCommand", {"command": "curl -u me:Open.Sesame x.com"})
    ready(card_of(page, "runCommand"))
    assert page.evaluate("window.told") == [["runCommand waits for you", "curl -u me:*** x.com: no rule allows it"]]


def test_notify_send_tells_where_the_page_may_not(project, started, own_folders, assistant, opened):
    folder = own_folders / "bin"
    folder.mkdir()
    os.mkfifo(folder / "told")
    (folder / "notify-send").write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {folder / "told"}\n')
    (folder / "notify-send").chmod(0o700)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "OF_SYSTEM": str(folder)}
    started.append(Console(project, env=env, program=str(HERE / "of_system.py")))
    page = opened(started[-1].link)
    with page.expect_response("**/api/presence"):
        page.evaluate(scripts.HIDE)
    asker = assistant()
    asker.call("1", "runCommand", {"command": "curl -u me:Open.Sesame x.com"})
    said = "runCommand waits for you|curl -u me:*** x.com: no rule allows it|"
    assert (folder / "told").read_text() == f"--app-name=toolexec|--|{said}"


def test_no_program_of_the_project_tells_of_a_question(project, monkeypatch):
    (project / "bin").mkdir()
    (project / "bin" / "notify-send").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{project / 'bin'}:bin:{os.environ['PATH']}")
    found = Notifier()._program
    assert found is None or Path(found).parent in map(Path, ("/usr/bin", "/bin", "/usr/local/bin"))


@pytest.mark.parametrize("program", ["xdg-settings", "xdg-open", "www-browser"])
@pytest.mark.parametrize("rest", ["/usr/bin:/bin", ""])
def test_nor_opens_the_page(project, tmp_path, monkeypatch, program, rest):
    ran = tmp_path / "ran"
    for folder in (project, project / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / program).write_text(f"#!/bin/sh\n: > {ran}\n")
        (folder / program).chmod(0o700)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{project / 'bin'}:{rest}")
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("BROWSER", raising=False)
    open_in_browser((tmp_path / "none.html").as_uri())
    assert not ran.exists()


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
    """With CONSOLE_SCREENSHOTS=1 they are those of the documentation."""
    folder = ROOT / "docs" / "images" if os.environ.get("CONSOLE_SCREENSHOTS") else folder
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
