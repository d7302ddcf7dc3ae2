"""Whether, how often and after how long a failed call is tried again: values and options, without any state."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from executor._signatures import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ErrorClassifier: TypeAlias = "Callable[[BaseException], BaseException]"
OnRetry: TypeAlias = "Callable[[int, BaseException, float], object]"
Option: TypeAlias = "Callable[[RetryConfig], RetryConfig | None]"


class Permanent(Exception):  # noqa: N818 -- it marks an error; the name is the one people know
    """
    Marks an error that trying again cannot mend: raise it in a tool, or return it from a classifier.

    The caller sees the error itself, with its own cause and context.

    Attributes:
        error: The marked error.
    """

    def __init__(self, error: BaseException | str) -> None:
        super().__init__(error)
        self.error = error if isinstance(error, BaseException) else RuntimeError(error)
        self.__cause__ = self.error

    def __str__(self) -> str:
        return str(self.error)


@runtime_checkable
class RetryPolicy(Protocol):
    """
    How often, and after which waits. Implement it for a circuit breaker, a fixed interval or anything else.

    Attributes:
        max_retries: Tries after the first failure; 0 is one attempt only.
    """

    @property
    def max_retries(self) -> int: ...

    def new_backoff(self) -> Iterator[float]:
        """The waits of one call, in seconds, made afresh for each; its end is the end of the tries."""
        ...


class ErrorPolicy(Protocol):
    """Looks at each failure: returns it (or another error) to try again, wrapped in `Permanent` to stop."""

    def classify(self, error: BaseException) -> BaseException: ...


@dataclass(frozen=True, slots=True)
class ExponentialRetry:
    """
    Waits that grow.

    Attributes:
        initial: The first wait in seconds.
        multiplier: How much longer each following one is.
        jitter: Each wait varies by this part of it, up or down, so that many callers do not return at once.
        max_delay: No wait is longer, jitter aside.
        max_elapsed: No wait ends later than so many seconds after the first attempt began.
    """

    max_retries: int = 3
    initial: float = 0.5
    multiplier: float = 1.5
    jitter: float = 0.5
    max_delay: float = 60.0
    max_elapsed: float = 900.0

    def __post_init__(self) -> None:
        if type(self.max_retries) is not int or self.max_retries < 0:
            raise ValueError(f"max_retries is {self.max_retries!r}, not a whole number from 0 on")
        for name, least, most in (
            ("initial", 0, math.inf),
            ("multiplier", 1, math.inf),
            ("jitter", 0, 1),
            ("max_delay", 0, math.inf),
            ("max_elapsed", 0, math.inf),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ValueError(f"{name} is {value!r}, not a number from {least} to {most}")

    def new_backoff(self) -> Iterator[float]:
        """The waits of one call; the clock of `max_elapsed` starts now."""
        return self._waits(time.monotonic())

    def _waits(self, began: float) -> Iterator[float]:
        import random  # 3 ms at import, wanted by failures only

        interval = self.initial
        while True:
            wait = interval * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 -- no secret
            if time.monotonic() - began + wait > self.max_elapsed:
                return
            yield wait
            interval = min(interval * self.multiplier, self.max_delay)


def default_error_classifier(error: BaseException) -> BaseException:
    """Takes every failure for one that may pass."""
    return error


@dataclass(frozen=True, slots=True)
class _Classified:
    """An `ErrorPolicy` of one function."""

    classify: ErrorClassifier


@dataclass(slots=True)
class RetryConfig:
    """
    Everything about the retries of one tool. Options change it; afterwards it is only read.

    Attributes:
        retry: How often, and after which waits.
        err_policy: Which failures are final.
        on_retry: Told of each failure that another try follows: its number from 1, the error, the wait in seconds.
        retry_unsafe: Try again also what is not known to be idempotent or read-only.
    """

    retry: RetryPolicy = field(default_factory=ExponentialRetry)
    err_policy: ErrorPolicy = field(default_factory=lambda: _Classified(default_error_classifier))
    on_retry: OnRetry | None = None
    retry_unsafe: bool = False

    @classmethod
    def of(cls, value: object) -> RetryConfig:
        """
        The configuration that *value* stands for: itself, a `RetryPolicy`, a number of retries, or one or more options.

        Raises:
            ValueError: It is none of these.
        """
        if isinstance(value, RetryConfig):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return cls(retry=ExponentialRetry(value))
        if isinstance(value, RetryPolicy):
            return cls(retry=value)
        if callable(value):
            return configured(value)
        if isinstance(value, list | tuple) and all(map(callable, value)):
            return configured(*value)
        raise ValueError(
            f"retry is {value!r}: give a RetryConfig, a RetryPolicy, a number of retries, or options such as "
            "with_max_retries(5)"
        )


def with_max_retries(count: int) -> Option:
    """Try again at most *count* times, with exponential waits."""

    def option(config: RetryConfig) -> RetryConfig:
        now = config.retry
        policy = replace(now, max_retries=count) if isinstance(now, ExponentialRetry) else ExponentialRetry(count)
        return replace(config, retry=policy)

    return option


def with_retry_policy(policy: RetryPolicy | None) -> Option:
    """Replace how often and after which waits; None is the default."""
    return lambda config: replace(config, retry=policy if policy is not None else ExponentialRetry())


def with_classifier(classifier: ErrorClassifier | None) -> Option:
    """Classify failures by a function; None is the default."""
    return with_error_policy(_Classified(classifier or default_error_classifier))


def with_error_policy(policy: ErrorPolicy | None) -> Option:
    """Replace the classification of failures; None is the default."""
    return lambda config: replace(config, err_policy=policy or _Classified(default_error_classifier))


def with_on_retry(fn: Callable[..., object] | None) -> Option:
    """Tell ``fn(attempt, error, delay)``, or ``fn(attempt, error)``, of each failure that another try follows."""
    return lambda config: replace(config, on_retry=_three_arguments(fn) if fn is not None else None)


def with_retry_unsafe(unsafe: bool) -> Option:  # noqa: FBT001 -- it is the value of the option
    """Whether to try again also what is not known to be idempotent or read-only."""
    return lambda config: replace(config, retry_unsafe=unsafe)


def _three_arguments(fn: Callable[..., object]) -> OnRetry:
    try:
        signature_of(fn).bind(1, None, 0.0)
    except TypeError:
        return lambda attempt, error, _: fn(attempt, error)
    except ValueError:  # a signature that cannot be read
        return fn
    return fn


def default_options() -> list[Option]:
    """The defaults as options, to be followed by others: ``[*default_options(), with_max_retries(5)]``."""
    return [with_retry_policy(None), with_error_policy(None), with_on_retry(None)]


OPTIONS: dict[str, Callable[..., Option]] = {
    "max_retries": with_max_retries,
    "retry_policy": with_retry_policy,
    "classifier": with_classifier,
    "error_policy": with_error_policy,
    "on_retry": with_on_retry,
    "retry_unsafe": with_retry_unsafe,
}


def configured(*options: Option, **keywords: object) -> RetryConfig:
    """
    The configuration that these options make, applied in their order, the keywords (``max_retries=5``) last.

    Raises:
        ValueError: There is no such keyword.
    """
    config = RetryConfig()
    for option in (*options, *(_named(name, value) for name, value in keywords.items())):
        changed = option(config)
        if changed is not None:  # an option may as well change what it is given
            config = changed
    return config


def _named(name: str, value: object) -> Option:
    make = OPTIONS.get(name.removeprefix("with_"))
    if make is None:
        raise ValueError(f"unknown option {name!r}: use one of {', '.join(OPTIONS)}")
    return make(value)
