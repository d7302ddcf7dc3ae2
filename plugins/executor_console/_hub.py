"""The pages that are open, and what they are told: questions as they come, tasks, and what has changed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Any

from executor.approval import Surface
from executor.errors import ExecutorUnavailableError
from executor.ownfolders import home_folder
from executor_console._notify import Notifier
from executor_console._question import told

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from executor.approval import Approval
    from executor_console._watch import Watch

STAY = 5.0  # seconds that the surface stays open after the last page: a page that is loaded anew comes back
BEAT = 15.0  # seconds without news after which a page is told that there are none
MOST_NEWS = 2_000  # that a page has not taken, before it is given up
MOST_BEHIND = 20  # before it is sent no more output
Event = tuple[str, Any]


class Page:
    """
    A page that is open. Used on the loop.

    Attributes:
        hidden: It is not seen.
        notifies: It tells its user by itself when there is a question.
        follows: The tasks whose output it shows, and how far it has it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.hidden = False
        self.notifies = False
        self.follows: dict[str, int] = {}
        self.news: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(self, event: Event) -> None:
        """Send it an event; one that takes none any more is given up."""
        if (waiting := self.news.qsize()) <= MOST_NEWS:
            self.news.put_nowait(event if waiting < MOST_NEWS else None)

    @property
    def behind(self) -> bool:
        """Whether it takes what it is sent too slowly to be sent output, which it can be given later."""
        return self.news.qsize() > MOST_BEHIND


class Hub:
    """
    Brings the pages what happens. All methods belong to the loop.

    As long as a page is open, and a little longer, so is a `Surface`: then there is somebody to ask.

    Args:
        watch: Looks after what other processes change, while a page is open.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._pages: dict[str, Page] = {}
        self._numbers = itertools.count(1)
        self._questions: dict[str, tuple[Approval, float]] = {}
        self._surface: Surface | None = None
        self._changing = asyncio.Lock()
        self._leaving: asyncio.TimerHandle | None = None
        self._works: set[asyncio.Task[None]] = set()
        self._notifier = Notifier()
        self._over = False
        self._problem = ""

    # Pages -------------------------------------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[Event | None]:
        """What a new page is told, from now until it leaves; None: there is nothing new."""
        if self._over:
            return
        page = Page(f"page-{next(self._numbers)}")
        self._pages[page.name] = page
        try:
            await self._keep_surface()
            questions = [told(*each) for each in self._questions.values()]
            hello = {"page": page.name, "questions": questions, "problem": self._problem, "home": str(home_folder())}
            yield "hello", hello  # before what has come meanwhile
            while True:
                try:
                    event = await asyncio.wait_for(page.news.get(), BEAT)
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    return
                yield event
        finally:
            del self._pages[page.name]
            if not self._pages and not self._over:
                self._leaving = asyncio.get_running_loop().call_later(STAY, self._left)

    def page(self, name: str) -> Page | None:
        """An open page."""
        return self._pages.get(name)

    @property
    def pages(self) -> list[Page]:
        """Those that are open."""
        return list(self._pages.values())

    def tell(self, kind: str, value: Any) -> None:
        """Tell every page."""
        for page in self._pages.values():
            page.tell((kind, value))

    async def close(self) -> None:
        """End: the pages are told so, and nobody is shown questions any more."""
        self._over = True
        self.tell("end", {})
        for page in self._pages.values():
            page.news.put_nowait(None)
        if self._leaving is not None:
            self._leaving.cancel()
        await self._watch.stop()
        await self._keep_surface()

    # The surface -------------------------------------------------------------------------------------------------

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)

    def _left(self) -> None:
        self._leaving = None
        self._begin(self._keep_surface())

    async def _keep_surface(self) -> None:
        """Open the surface, or close it, as there are pages or not."""
        async with self._changing:
            wanted = bool(self._pages) and not self._over
            if wanted and self._leaving is not None:
                self._leaving.cancel()
                self._leaving = None
            if wanted:
                self._watch.start(self)
            if wanted and self._surface is None:
                await self._open_surface()
            elif not wanted and self._surface is not None:
                await self._watch.stop()
                surface, self._surface = self._surface, None
                await asyncio.to_thread(surface.close)
                self._questions.clear()

    async def _open_surface(self) -> None:
        loop = asyncio.get_running_loop()

        def on_event(event: str, approval: Approval) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._hear, surface, event, approval)

        surface = Surface("page", on_event)
        try:
            self._surface = surface
            await asyncio.to_thread(surface.open)
        except ExecutorUnavailableError as error:
            self._surface, self._problem = None, error.message
        else:
            self._problem = ""

    def _hear(self, surface: Surface, event: str, approval: Approval) -> None:
        if surface is not self._surface:
            return
        if event == "asked":
            self._questions[approval.id] = approval, time.time()
            self.tell("asked", told(approval, time.time()))
            if all(page.hidden and not page.notifies for page in self._pages.values()):
                self._begin(self._notifier.notify(approval))
        elif self._questions.pop(approval.id, None) is not None:
            self.tell("closed", {"id": approval.id})

    def question(self, approval_id: str) -> Approval | None:
        """An open question."""
        found = self._questions.get(approval_id)
        return found[0] if found is not None else None

    async def answer(self, approval_id: str, said: object, digest: str) -> bool:
        """Answer a question. Returns whether that is what decided it."""
        surface = self._surface
        if surface is None:
            return False
        return await asyncio.to_thread(surface.answer, approval_id, said, digest=digest)
