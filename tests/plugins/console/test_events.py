"""What the pages are told, without a browser."""

from __future__ import annotations

from executor.approval import Approval, Inbox
from executor_console._hub import MOST_BEHIND, MOST_NEWS, Page
from tests.plugins.console.client import Client


def test_a_form_with_what_no_browser_reads_hides_no_question(console):
    client = Client(console())
    events = client.events()
    assert next(events)[0] == "hello"
    form = {"type": "object", "properties": {"most": {"type": "number", "default": float("inf")}}}
    take_back = Inbox.shared().put(Approval("ask_1", "deploy", {}, form=form), lambda _: None)
    told = next(value for kind, value in events if kind == "asked")
    assert told["form"]["properties"]["most"]["default"] == "Infinity"
    take_back()
    events.close()


def test_a_page_that_takes_nothing_is_sent_no_output_and_given_up_in_the_end():
    page = Page("page-1")
    for number in range(MOST_NEWS * 2):
        assert page.behind is (number > MOST_BEHIND)
        page.tell(("tasks", []))
    news = [page.news.get_nowait() for _ in range(page.news.qsize())]
    assert len(news) == MOST_NEWS + 1
    assert news[-1] is None
