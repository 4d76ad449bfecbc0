"""Errors that a handler raises to report how its attempt ended, and errors that the client raises.

- `TransientError`: it failed and will probably work later; retried by the step's policy.
- `PermanentError`: it failed and will never work; not retried.
- `UnknownError`: it is unknown whether it took effect, for example because a connection broke.
- `TaskCancelledError`: stopped because the task had to stop.

Any other exception counts as unknown, with the code `unexpected-error`: it may have come after the
effect, and only the handler knows. An asyncio.CancelledError or a `TaskStoppedError` after a cancel
counts as cancelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from drover_sdk.durations import Duration, seconds_of
from drover_sdk.error_reason import ErrorReason

StopKind = Literal["cancelled", "lease-lost", "lease-ended", "attempt-over", "agent-stopped"]
"""Why a task must stop.

- cancelled: the server requested it: the run is being stopped, or the attempt took too long
- lease-lost: the server answered that the task no longer belongs to this agent
- lease-ended: by the agent's own clock the lease ended, as no heartbeat was answered in time
- attempt-over: the time of the attempt has passed
- agent-stopped: the agent is stopping, and its grace is over
"""

_STOP_TEXTS: dict[StopKind, str] = {
    "cancelled": "Stopped: the server asked to cancel the task.",
    "lease-lost": "Stopped: the server has given the task to another.",
    "lease-ended": "Stopped: the lease ended, because no heartbeat was answered in time.",
    "attempt-over": "Stopped: the time of the attempt is over.",
    "agent-stopped": "Stopped: the agent is being stopped.",
}


class TransientError(Exception):
    """It failed, and will probably work later."""

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        retry_after: Duration | None = None,
        no_effect: bool = False,
    ) -> None:
        """`code`: stable name for programs and retry policies, such as `rate-limited`.

        `retry_after`: minimum time before the next try.
        `no_effect`: nothing exists at the remote service, from this attempt or an earlier one.
        """
        super().__init__(message)
        self.code = code
        self.retry_after = None if retry_after is None else seconds_of(retry_after)
        self.no_effect = no_effect


class PermanentError(Exception):
    """It failed, and will never work."""

    def __init__(self, code: str, message: str = "", *, no_effect: bool = False) -> None:
        """`code` and `no_effect` as in TransientError."""
        super().__init__(message)
        self.code = code
        self.no_effect = no_effect


class UnknownError(Exception):
    """It is unknown whether it took effect."""

    def __init__(self, code: str, message: str = "") -> None:
        """`code`: stable name for programs and retry policies, such as `broken-pipe`."""
        super().__init__(message)
        self.code = code


class TaskCancelledError(Exception):
    """Stopped because the task had to stop."""

    def __init__(
        self, message: str = "The task was cancelled.", *, no_effect: bool = False
    ) -> None:
        """`no_effect`: as in TransientError."""
        super().__init__(message)
        self.no_effect = no_effect


class TaskStoppedError(Exception):
    """Raised by `task.raise_if_stopped()`; let it propagate."""

    def __init__(self, kind: StopKind) -> None:
        """`kind`: why."""
        super().__init__(_STOP_TEXTS[kind])
        self.kind: StopKind = kind


class HandlersLostError(Exception):
    """Handlers did not end although they had to stop: end the process, they may still act."""


@dataclass(frozen=True)
class CallField:
    """What is wrong with one field of a request."""

    path: str
    """Path of the field, such as `definition.steps[2].needs[0]`."""
    message: str


CallOutcome = Literal["unknown", "later", "definite"]

_UNKNOWN_CODES = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN"})


_ADMISSION_REASONS = frozenset(
    {
        ErrorReason.INVALID_REQUEST,
        ErrorReason.MALFORMED_MESSAGE,
        ErrorReason.MESSAGE_TOO_LARGE,
        ErrorReason.DEADLINE_TOO_LONG,
        ErrorReason.NAMESPACE_NOT_FOUND,
        ErrorReason.TOKEN_REQUIRED,
        ErrorReason.NOT_ALLOWED,
    }
)


class CallError(Exception):
    """Why a call, or one item of a call, was refused.

    `code` is the name of the gRPC status, `reason` one of ErrorReason, such as KEY_REUSED, or the
    name of a reason that a newer server has (empty: not made by a Drover server), `retry_after` in
    seconds how long to wait before the call is repeated (None: the server gave no time).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        reason: str = "",
        fields: Sequence[CallField] = (),
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        """See the attributes of the same names."""
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.fields = tuple(fields)
        self.metadata = dict(metadata or {})
        self.retry_after = retry_after

    @property
    def call_outcome(self) -> CallOutcome:
        """What the error means for the caller.

        - unknown: it is not known whether the call took effect; repeat it
        - later: nothing was changed, and the call may work after `retry_after`
        - definite: nothing was changed, and a repeat fails again unless something else changes
        """
        if self.code in _UNKNOWN_CODES:
            return "unknown"
        later = self.code == "RESOURCE_EXHAUSTED" and self.retry_after is not None
        return "later" if later else "definite"

    @property
    def is_about_results(self) -> bool:
        """For the error of a whole Complete: whether it is about its results; only a Drover server
        can judge them. Any other error is about the call, and proves nothing about the results."""
        if self.reason == ErrorReason.MESSAGE_TOO_LARGE:
            return True
        named = any(field.path.startswith("results[") for field in self.fields)
        return self.code == "INVALID_ARGUMENT" and self.reason != "" and named

    @property
    def was_not_admitted(self) -> bool:
        """Whether a Drover server refused the call before it searched for tasks, so that nothing
        can have been granted. After any other error the poll must be named as lost, also after an
        error that the client's own library made, such as RESOURCE_EXHAUSTED for an answer over its
        limit."""
        return self.reason in _ADMISSION_REASONS
