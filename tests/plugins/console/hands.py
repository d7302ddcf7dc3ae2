"""What a test does on a page."""

from __future__ import annotations

import re

DEAD = re.compile(r"\bdead\b")
CONTEXT = {"agent": "reviewer", "intent": "publish the release that you asked for"}


def expect(found):
    """What is to be seen on the page within the limit of the tests."""
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
    """Press what stands still; a rule that is being read will move it."""
    expect(card.locator(".reading:empty")).to_have_count(0)
    ready(card).get_by_role("button", name=name, exact=True).click()


def none_left(page):
    expect(page.locator("article.question")).to_have_count(0)
