"""
Workers, deadlines, the loop thread, forks.

`LoopThread` is for authors of plugins too: whatever talks asyncio behind a synchronous call runs on one of its own.
"""

from executor.threads._loop import LoopThread

__all__ = ["LoopThread"]
