"""
Workers, deadlines, the loop thread, forks.

Two are for authors of plugins too: whatever talks asyncio behind a synchronous call runs on a `LoopThread` of its own,
and a lock that is `fork_safe` keeps no child of a fork waiting for a thread that it does not have.
"""

from executor.threads._fork import fork_safe
from executor.threads._loop import LoopThread

__all__ = ["LoopThread", "fork_safe"]
