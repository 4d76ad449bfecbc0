"""What a handler returns when the task is not simply done with an output.

    perform   deferred()           accepted by the remote service; the outcome follows by callback
    verify    happened(output)     the attempt took effect, and this is the output of the step
              did_not_happen()     it did not take effect, so the step may be retried
              cannot_tell(message) verify again; after the last try a person is asked
    any       again(after)         not finished at the remote service: hand the task out again then

A handler raises errors instead, see errors.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from drover_sdk.durations import Duration, seconds_of


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
"""Made by the functions in this file; a handler returns it unchanged."""

_AGAIN_LEAST = 0.001


def again(after: Duration) -> Again:
    """No agent holds the task meanwhile, and no attempt is counted; the step's `total` limits the
    time."""
    return Again(max(seconds_of(after), _AGAIN_LEAST))


def deferred() -> Deferred:
    """The outcome comes by `client.complete_deferred(task.callback_token, ...)`.

    It must come within the step's `timeouts.callback`; after that it is unknown. That call may come
    before this answer.
    """
    return Deferred()


def happened(output: Any = None) -> Happened:
    """`output` is what the lost attempt would have returned: JSON, a Payload, or None."""
    return Happened(output)


def did_not_happen() -> DidNotHappen:
    """Nothing exists at the remote service, neither from this attempt nor from an earlier one."""
    return DidNotHappen()


def cannot_tell(message: str) -> CannotTell:
    """`message` is one sentence for the person who may be asked."""
    return CannotTell(message)
