"""What a handler raises to say how its attempt ended, and what the client raises.

- `TransientError`: it failed and will probably work later; retried by the step's policy.
- `PermanentError`: it failed and will never work; not retried.
- `UnknownError`: nobody knows whether it took effect, as when a connection broke in the middle.
- `TaskCancelled`: stopped because the task was told to stop.

Any other exception is taken as unknown, with the code `unexpected-error`: it may have come after
the effect, and only the handler can tell. An asyncio.CancelledError or a `TaskStopped` after a
cancel is taken as cancelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from drover.durations import Duration, seconds_of

StopKind = Literal["cancelled", "lease-lost", "lease-ended", "attempt-over", "agent-stopped"]
"""Why a task must stop.

- cancelled: the server asked for it: the run is being stopped, or the attempt took too long
- lease-lost: the server said that the task is no longer this agent's
- lease-ended: by the agent's own clock the lease ended, since no heartbeat was answered in time
- attempt-over: the time of the attempt is over
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

        `retry_after`: not to be tried again before this has passed.
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
    """Nobody knows whether it took effect."""

    def __init__(self, code: str, message: str = "") -> None:
        """`code`: stable name for programs and retry policies, such as `broken-pipe`."""
        super().__init__(message)
        self.code = code


class TaskCancelled(Exception):
    """Stopped because the task was told to stop."""

    def __init__(
        self, message: str = "The task was cancelled.", *, no_effect: bool = False
    ) -> None:
        """`no_effect`: as in TransientError."""
        super().__init__(message)
        self.no_effect = no_effect


class TaskStopped(Exception):
    """Raised by `task.raise_if_stopped()`; let it pass."""

    def __init__(self, kind: StopKind) -> None:
        """`kind`: why."""
        super().__init__(_STOP_TEXTS[kind])
        self.kind: StopKind = kind


class HandlersLost(Exception):
    """Handlers did not end when they were told to: end the process, for they may still act."""


@dataclass(frozen=True)
class CallField:
    """What is wrong with one field of a request."""

    path: str
    """As `definition.steps[2].needs[0]`."""
    message: str


Verdict = Literal["unknown", "later", "definite"]

_UNKNOWN_CODES = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN"})


_ADMISSION_REASONS = frozenset(
    {
        "INVALID_REQUEST",
        "MALFORMED_MESSAGE",
        "MESSAGE_TOO_LARGE",
        "DEADLINE_TOO_LONG",
        "NAMESPACE_NOT_FOUND",
        "TOKEN_REQUIRED",
        "NOT_ALLOWED",
    }
)


class CallError(Exception):
    """Why a call, or one item of a call, was refused.

    `code` is the name of the gRPC status, `reason` the stable name of error_reason.proto, such as
    KEY_REUSED (empty: not made by a Drover server), `retry_after` in seconds how long to wait
    before the call is repeated (None: the server did not say).
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
    def verdict(self) -> Verdict:
        """What a caller may make of it.

        - unknown: nobody knows whether the call took effect; repeat it
        - later: nothing was changed, and it may work after `retry_after`
        - definite: nothing was changed, and it will not work unless something else does
        """
        if self.code in _UNKNOWN_CODES:
            return "unknown"
        later = self.code == "RESOURCE_EXHAUSTED" and self.retry_after is not None
        return "later" if later else "definite"

    @property
    def is_about_results(self) -> bool:
        """Of the error of a whole Complete: whether it is about its results, which only a Drover
        server can say. Any other error is about the call, and says nothing about what became of
        the tasks."""
        if self.reason == "MESSAGE_TOO_LARGE":
            return True
        named = any(field.path.startswith("results[") for field in self.fields)
        return self.code == "INVALID_ARGUMENT" and self.reason != "" and named

    @property
    def was_not_admitted(self) -> bool:
        """Refused by a Drover server before it looked for tasks, so that nothing can have been
        granted. After any other error a poll has to be named as lost: also after one that the
        client's own library made, such as RESOURCE_EXHAUSTED for an answer that it takes for too
        large."""
        return self.reason in _ADMISSION_REASONS
