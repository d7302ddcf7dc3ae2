"""Answers that nobody meant to give: by a click or a key that was on its way to something else."""

from __future__ import annotations

import pytest

from executor.approval import Approval, Inbox, new_approval_id
from tests.plugins.console.hands import card_of, expect, ready

# As on a page where nothing else is long.
SHOW_QUESTIONS_ALONE = """() => {
  for (const part of document.querySelectorAll("#running, #grants, #history")) part.hidden = true;
}"""

# When a question has gone, presses "allow" on the one that is left, in the frame after.
PRESS_WHAT_IS_PULLED = """() => {
  new MutationObserver(() => {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const card = document.querySelector("article.question");
      card.querySelector(".answers > .allow").click();
      window.wasDead = card.classList.contains("dead");
    }));
  }).observe(document.getElementById("questions"), { childList: true });
}"""
TALL = "\n".join(f"line {number}" for number in range(60))


@pytest.fixture
def asked(own_folders):
    """Puts questions of this process; what it gives back withdraws one. Their answers are in `said`."""
    said, undo = {}, []

    def put(tool, form=None, **arguments):
        options = ("edit", "no") if form else ("once", "no")
        approval = Approval(new_approval_id(), tool, arguments, tool, options, form=form)
        undo.append(Inbox.shared().put(approval, lambda answer: said.setdefault(tool, answer)))
        return undo[-1]

    put.said = said
    yield put
    for each in undo:
        each()


def test_typing_into_a_question_that_goes_selects_and_answers_no_other_one(scene, asked):
    *_, page = scene
    asked("dangerous")
    ready(card_of(page, "dangerous"))
    withdraw = asked("harmless")
    said = ready(card_of(page, "harmless")).get_by_label("Tell the model")
    said.focus()
    page.keyboard.type("no: as")
    withdraw()
    expect(card_of(page, "harmless")).to_have_count(0)
    page.keyboard.type("ked, and now do", delay=20)  # "k" would select the other one, "n" and "d" answer it
    assert page.evaluate("document.activeElement.id") == "waiting"
    assert not asked.said
    page.evaluate("() => new Promise((go) => setTimeout(go, 750))")
    page.keyboard.press("j")  # after a pause a key is a key again
    expect(card_of(page, "dangerous")).to_be_focused()


def test_a_question_that_is_pulled_down_as_the_page_ends_is_dead_for_a_moment(scene, asked):
    *_, page = scene
    page.set_viewport_size({"width": 700, "height": 500})
    asked("above", text=TALL)
    ready(card_of(page, "above"))  # the one that comes first stands first
    withdraw = asked("below", text=TALL)
    page.evaluate(SHOW_QUESTIONS_ALONE)
    ready(card_of(page, "below"))
    page.evaluate("scrollTo(0, 1e6)")
    above = ready(card_of(page, "above"))
    before = above.bounding_box()["y"]
    page.evaluate(PRESS_WHAT_IS_PULLED)
    withdraw()
    expect(card_of(page, "below")).to_have_count(0)
    page.evaluate("async () => { while (window.wasDead === undefined) await new Promise(requestAnimationFrame); }")
    assert above.bounding_box()["y"] > before + 100
    assert page.evaluate("window.wasDead")
    assert not asked.said


def test_a_page_that_comes_to_the_front_takes_no_answer_for_a_moment(scene, asked):
    *_, page = scene
    asked("act")
    card = ready(card_of(page, "act"))
    page.evaluate("""() => {
      dispatchEvent(new Event("focus"));  // the window that lay over it was closed by the first of two clicks
      document.querySelector(".answers > .allow").click();
      window.wasDead = document.querySelector("article.question").classList.contains("dead");
    }""")
    assert page.evaluate("window.wasDead")
    ready(card)
    assert not asked.said
