"""Heartbeats: one call for all tasks that the agent holds, sent at the shortest interval that one
of them has.

A heartbeat renews leases and receives cancels. It carries progress and details only when a handler
has reported new ones, so an automatic heartbeat never moves progress. A heartbeat is due whether or
not the one before was answered: a server that hangs costs one heartbeat and not the leases.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from drover_sdk.background import Background
from drover_sdk.backoff import Backoff
from drover_sdk.clocks import Clock, Timer
from drover_sdk.durations import from_duration
from drover_sdk.errors import CallError
from drover_sdk.held_task import HeldTask, Notes
from drover_sdk.payloads import size_of
from drover_sdk.statuses import error_of_status
from drover_sdk.task_log import LOG, TaskLog
from drover_sdk.v1.agent_service_pb2 import HeartbeatAnswer, HeartbeatReport, HeartbeatResponse

# Progress and details are sent at most this much later, and at most this often, in seconds.
_NOTE_SPACING = 1.0
_REPORTS_MOST = 1_000
# The message limit is 4 MiB; what does not fit goes with the next heartbeat.
_DETAILS_BYTES_MOST = 2 * 1024 * 1024
_IN_FLIGHT_MOST = 4


@dataclass(frozen=True)
class _Carried:
    """A task in a heartbeat, with the notes of its handler that the heartbeat carries."""

    held: HeldTask
    notes: Notes


class Heartbeats:
    """Of one session."""

    def __init__(
        self,
        clock: Clock,
        send: Callable[[list[HeartbeatReport], int], Awaitable[HeartbeatResponse]],
        ended_to: Callable[[], int],
        background: Background,
    ) -> None:
        """`send`: one Heartbeat. `ended_to`: tasks of polls up to it are added by now."""
        self._clock = clock
        self._send = send
        self._ended_to = ended_to
        self._background = background
        self._backoff = Backoff(clock, 0.2, 2.0)
        # When each task was granted, or was last named in a heartbeat.
        self._named: dict[HeldTask, float] = {}
        # Tasks whose notes are in a heartbeat under way, and its end: newer notes must not overtake
        # them.
        self._noting: dict[HeldTask, asyncio.Future[None]] = {}
        self._timer: Timer | None = None
        self._timer_due = 0.0
        self._in_flight = 0
        self._last_sent = -math.inf
        self._retry = math.inf
        self._stopped = False

    def add(self, held: HeldTask) -> None:
        """It was granted."""
        now = self._clock.monotonic()
        self._named[held] = now
        self._wake_at(now + held.heartbeat_interval)

    def remove(self, held: HeldTask) -> None:
        """The agent no longer holds it."""
        self._named.pop(held, None)
        if not self._named:
            self._reschedule()

    def stop(self) -> None:
        """No further heartbeat is sent automatically."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def hurry(self) -> None:
        """A handler may have reported progress or details: sends them soon."""
        self._wake_at(self._last_sent + _NOTE_SPACING)

    def _reschedule(self) -> None:
        """After anything that may have made the next heartbeat due later: checks all tasks."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._wake_at(self._due())

    def _wake_at(self, due: float) -> None:
        """Sets the timer to this time, or leaves it at an earlier one.

        What was due may be over by then, so all tasks are checked when the timer fires, and not for
        each task that is added or removed: there may be thousands.
        """
        if self._stopped or self._in_flight >= _IN_FLIGHT_MOST or due == math.inf:
            return
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._clock.after(due - self._clock.monotonic(), self._fire)

    async def send_details(self, held: HeldTask) -> None:
        """Sends the last details of a handler, unless they were sent; never raises."""
        under_way = self._noting.get(held)
        if under_way is not None:
            await under_way
        if held.listed and held.notes.details is not None:
            await self._send_now([held], self._clock.monotonic(), 0)

    def _due(self) -> float:
        due = self._retry
        for held, last in self._named.items():
            if not held.listed:
                continue
            due = min(due, last + held.heartbeat_interval)
            if held.notes and held not in self._noting:
                due = min(due, self._last_sent + _NOTE_SPACING)
        return due

    def _fire(self) -> None:
        self._timer = None
        sent = self._clock.monotonic()
        if self._due() > sent:
            self._reschedule()
            return
        self._retry = math.inf
        self._last_sent = sent
        listed = [held for held in self._named if held.listed]
        lists_all_to = 0 if len(listed) > _REPORTS_MOST else self._ended_to()
        for at in range(0, len(listed), _REPORTS_MOST):
            some = listed[at : at + _REPORTS_MOST]
            # Now, not with the loop's next turn: a heartbeat counts from here.
            carried = self._carry(some, sent)
            self._background.start(self._send_heartbeat(carried, sent, lists_all_to))
        self._reschedule()

    async def _send_now(self, tasks: list[HeldTask], sent: float, lists_all_to: int) -> None:
        """`lists_all_to`: these tasks are all that polls up to it have brought; 0: only some."""
        await self._send_heartbeat(self._carry(tasks, sent), sent, lists_all_to)

    def _carry(self, tasks: list[HeldTask], sent: float) -> list[_Carried]:
        bytes_left = _DETAILS_BYTES_MOST
        carried = []
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for held in tasks:
            self._named[held] = sent
            notes = Notes() if held in self._noting else held.notes
            size = size_of(notes.details)
            # The first details are always sent, however large: they would never fit otherwise.
            if size > bytes_left < _DETAILS_BYTES_MOST:
                notes = Notes()
            else:
                bytes_left -= size
            if notes:
                self._noting[held] = over
            carried.append(_Carried(held, notes))
        self._in_flight += 1
        return carried

    async def _send_heartbeat(
        self, carried: list[_Carried], sent: float, lists_all_to: int
    ) -> None:
        try:
            answer = await self._send([_report(one) for one in carried], lists_all_to)
            self._backoff.reset()
            for one, given in zip(carried, answer.answers):
                self._take_answer(one, given, sent)
        except CallError as error:
            LOG.warning("heartbeat failed: %s %s: %s", error.code, error.reason, error)
            self._retry = self._clock.monotonic() + self._backoff.next(error)
        finally:
            self._in_flight -= 1
            for one in carried:
                over = self._noting.pop(one.held, None) if one.notes else None
                if over is not None and not over.done():
                    over.set_result(None)
            self._reschedule()

    def _take_answer(self, one: _Carried, answer: HeartbeatAnswer, sent: float) -> None:
        held, kind = one.held, answer.WhichOneof("answer")
        log = TaskLog(held.task)
        if kind == "carry_on":
            held.carry_on(sent, from_duration(answer.carry_on.lease_for))
            held.noted(one.notes)
        elif kind == "cancel":
            if held.stopped is None:
                log.info("the server cancelled the task")
            held.cancel(sent, from_duration(answer.cancel.within))
            held.noted(one.notes)
        elif kind == "lease_lost":
            log.warning("lease lost")
            held.lose()
        elif kind == "error":
            error = error_of_status(answer.error)
            log.error("heartbeat refused: %s: %s", error.reason, error)
            # The lease was not renewed: drop what was refused, and send again without it.
            if held.notes:
                self._retry = self._clock.monotonic() + self._backoff.next(error)
            held.noted(one.notes)
        # An answer of a newer server: carry on, and the lease is as it was.


def _report(one: _Carried) -> HeartbeatReport:
    return HeartbeatReport(
        task_token=one.held.task.task_token,
        progress=one.notes.progress,
        details=one.notes.details,
    )
