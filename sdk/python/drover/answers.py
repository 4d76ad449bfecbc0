"""What a handler returns to say something else than "done, and this is the output".

    perform   deferred()           accepted over there; the outcome comes by `task.callback_token`
    verify    happened(output)     it took effect, and this is the output of the step
              did_not_happen()     it did not, so the step may be tried again
              cannot_tell(message) to be looked up again; in the end a person is asked
    any       again(after)         not finished over there: hand the task out again then

What went wrong is raised instead, see errors.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from drover.durations import Duration, seconds_of


@dataclass(frozen=True)
class Again:
    """Made by `again`."""

    after: float


@dataclass(frozen=True)
class Deferred:
    """Made by `deferred`."""


@dataclass(frozen=True)
class Happened:
    """Made by `happened`."""

    output: Any


@dataclass(frozen=True)
class DidNotHappen:
    """Made by `did_not_happen`."""


@dataclass(frozen=True)
class CannotTell:
    """Made by `cannot_tell`."""

    message: str


Answer = Union[Again, Deferred, Happened, DidNotHappen, CannotTell]
"""Made by the functions here; a handler returns it as it is."""

_AGAIN_LEAST = 0.001


def again(after: Duration) -> Again:
    """Nobody holds the task meanwhile, and no attempt is counted; the step's `total` bounds it."""
    return Again(max(seconds_of(after), _AGAIN_LEAST))


def deferred() -> Deferred:
    """Somebody says how it ended by `client.complete_deferred(task.callback_token, ...)`.

    Within the step's `timeouts.callback`; after that it is unknown. That call may come before this
    answer.
    """
    return Deferred()


def happened(output: Any = None) -> Happened:
    """`output` is what the lost attempt would have returned: JSON, a Payload, or None."""
    return Happened(output)


def did_not_happen() -> DidNotHappen:
    """Nothing exists over there, from this attempt or an earlier one."""
    return DidNotHappen()


def cannot_tell(message: str) -> CannotTell:
    """`message` is one sentence for the person who may be asked."""
    return CannotTell(message)
