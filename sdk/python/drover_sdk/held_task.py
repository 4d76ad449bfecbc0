"""One task that the agent holds, from the answer that brought it to the answer to its report.

    running -> ended (its report is on the way) -> closed

It is listed in heartbeats until it is closed, or until the server reports that the lease is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from drover_sdk.clocks import Clock
from drover_sdk.durations import from_duration
from drover_sdk.errors import StopKind
from drover_sdk.leases import Lease
from drover_sdk.v1.payload_pb2 import Payload
from drover_sdk.v1.task_pb2 import Progress
from drover_sdk.v1.task_pb2 import Task as TaskMessage


@dataclass(frozen=True)
class Notes:
    """Progress and details of a handler that the server has not yet stored."""

    progress: Progress | None = None
    details: Payload | None = None

    def __bool__(self) -> bool:
        return self.progress is not None or self.details is not None


class HeldTask:
    """All of it belongs to the loop of the runtime, but `left` and `stopped`."""

    def __init__(self, clock: Clock, task: TaskMessage, sent: float, waited: float) -> None:
        """`sent`: when the call that brought it was sent; `waited`: as in its answer."""
        # It cannot be longer than the call itself took; a server that reports more is not trusted.
        took = clock.monotonic() - sent
        self.task = task
        self.heartbeat_interval = max(from_duration(task.heartbeat_interval), 0.001)
        self.stopped: StopKind | None = None
        """Why it has to stop; None if it does not."""
        self.on_change: Callable[[], None] | None = None
        """Called when it has to stop, and when the end of its lease has moved."""
        self.notes = Notes()
        self._lost = False
        self._closed = False
        self._lease = Lease(
            clock,
            sent + min(max(waited, 0.0), took),
            from_duration(task.lease_for),
            from_duration(task.attempt_for),
            self.stop,
        )

    @property
    def name(self) -> str:
        """For log lines."""
        task = self.task
        item = f"[{task.item}]" if task.HasField("item") else ""
        return f"run={task.run_id} step={task.step_id}{item} attempt={task.attempt}"

    @property
    def listed(self) -> bool:
        """False once the server reported that the lease is lost, and when it is closed."""
        return not self._lost and not self._closed

    @property
    def lease_end(self) -> float:
        """When lease or attempt end, by the clock."""
        return self._lease.end

    def left(self) -> float:
        """Seconds of lease and attempt, whichever is less; 0 when one has ended, or the server
        reported that it is lost."""
        return 0.0 if self._lost else self._lease.left()

    def note(self, notes: Notes) -> None:
        """For the next heartbeat."""
        progress = self.notes.progress if notes.progress is None else notes.progress
        details = self.notes.details if notes.details is None else notes.details
        self.notes = Notes(progress, details)

    def noted(self, notes: Notes) -> None:
        """These notes were answered: stored, or refused for good."""
        now = self.notes
        progress = None if now.progress is notes.progress else now.progress
        details = None if now.details is notes.details else now.details
        self.notes = Notes(progress, details)

    def carry_on(self, sent: float, lease_for: float) -> None:
        """The heartbeat that was sent then renewed the lease."""
        self._lease.renew(sent, lease_for)
        self._changed()

    def cancel(self, sent: float, within: float) -> None:
        """The heartbeat that was sent then brought a cancel."""
        self._lease.shorten(sent, within)
        self.stop("cancelled")
        self._changed()

    def lose(self) -> None:
        """The server reported that this agent no longer holds it."""
        self._lost = True
        self.stop("lease-lost")

    def stop(self, kind: StopKind) -> None:
        """The first reason counts."""
        if self.stopped is None:
            self.stopped = kind
            self._changed()

    def end(self) -> None:
        """The handler has ended; the lease no longer matters to it."""
        self.on_change = None
        self._lease.stop()

    def close(self) -> None:
        """The agent no longer holds it."""
        self._closed = True
        self.end()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()
