"""Getting tasks, by two polls in turn: a long poll of its own, and the poll that a call of reports
carries. An idle agent has the long poll alone.

    parked -> answered | lost -> parked again, after a wait if the poll failed

A slot is promised to one poll at a time, so the server never grants more tasks than there are
slots. The slots that reports make free are for the poll that is sent with them, so that a busy
agent needs one call for each step; the others, and one of several in any case, are for the long
poll. So while the answer to one poll is on its way, the other one waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from drover_sdk.background import Background
from drover_sdk.backoff import Backoff
from drover_sdk.clocks import Clock, Timer
from drover_sdk.durations import from_duration
from drover_sdk.error_reason import ErrorReason
from drover_sdk.errors import CallError
from drover_sdk.polls import Poll, Polls
from drover_sdk.task_log import LOG
from drover_sdk.v1.agent_service_pb2 import Next, PollTaskResponse, QueueWeight
from drover_sdk.v1.task_pb2 import Task as TaskMessage

# Of one answer: as many as a call of reports can bring; 1,000 is the limit of the contract.
_TASKS_MOST = 250
# A server that is about to stop answers a poll at once and without tasks.
_HASTY = 0.5


@dataclass(frozen=True)
class Wants:
    """What an agent polls for."""

    queues: Sequence[QueueWeight]
    tasks: Sequence[str]
    wait: float
    free: Callable[[], int]
    """Slots without a task."""
    reporting: Callable[[], int]
    """Number of reports that the next calls send, each call with a poll."""


@dataclass(frozen=True)
class CarriedPoll:
    """A poll that a Complete carries."""

    next: Next
    poll: Poll


class Polling:
    """Of one session."""

    def __init__(
        self,
        clock: Clock,
        polls: Polls,
        wants: Wants,
        send: Callable[[Poll, int], Awaitable[PollTaskResponse]],
        receive: Callable[[Sequence[TaskMessage], float, float], None],
        background: Background,
    ) -> None:
        """`send`: one PollTask. `receive`: tasks, when they were asked for, and `waited`."""
        self._clock = clock
        self._polls = polls
        self._wants = wants
        self._send = send
        self._receive = receive
        self._background = background
        self._backoff = Backoff(clock)
        self._parked: asyncio.Task[None] | None = None
        self._reserved = 0
        self._pause: Timer | None = None
        self._stopping = False

    def wake(self) -> None:
        """There may be something to poll for."""
        idle = self._parked is None and self._pause is None and not self._stopping
        if not idle:
            return
        beside = _beside_reports(self._unpromised(), self._wants.reporting())
        want = min(beside, _TASKS_MOST)
        if want <= 0:
            return
        # Spread, so that agents which started together do not poll together for ever.
        wait = round(self._wants.wait * (0.8 + 0.2 * self._clock.fraction()), 3)
        self._reserved += want
        self._parked = self._background.start(self._park(self._polls.start(wait), want))

    async def stop(self) -> None:
        """Polls no more; returns when the parked poll has ended."""
        self._stopping = True
        self._end_pause()
        if self._parked is not None:
            self._parked.cancel()
            await asyncio.wait([self._parked])

    def carry(self, reports: int) -> CarriedPoll | None:
        """The poll for a call of this many reports; None: no slot is free for it.

        Its end has to be reported with `carried_answered` or `carried_failed`.
        """
        free = self._unpromised()
        if self._parked is None and self._pause is None:
            # The long poll is about to wait again.
            free -= _beside_reports(free, reports)
        want = min(free, _TASKS_MOST)
        if self._stopping or want <= 0:
            return None
        poll = self._polls.start(0.0)
        self._reserved += want
        self.wake()
        wants = self._wants
        return CarriedPoll(
            Next(poll_seq=poll.seq, queues=wants.queues, tasks=wants.tasks, max_tasks=want), poll
        )

    def carried_answered(
        self, carried: CarriedPoll, tasks: Sequence[TaskMessage], waited: float
    ) -> None:
        """Its call was answered."""
        self._reserved -= carried.next.max_tasks
        self._receive(tasks, carried.poll.sent, waited)
        self._polls.over(carried.poll)
        self.wake()

    def carried_failed(self, carried: CarriedPoll, error: CallError) -> None:
        """Its call failed."""
        self._reserved -= carried.next.max_tasks
        # OVERLOADED may come from where the reports wait: the poll may have been served by then.
        self._end(carried.poll, error.was_not_admitted)
        self.wake()

    def _unpromised(self) -> int:
        return self._wants.free() - self._reserved

    async def _park(self, poll: Poll, want: int) -> None:
        try:
            answer = await self._send(poll, want)
            self._reserved -= want
            self._receive(answer.tasks, poll.sent, from_duration(answer.waited))
            self._polls.over(poll)
            hasty = self._clock.monotonic() - poll.sent < min(_HASTY, poll.wait)
            if not answer.tasks and hasty:
                self._rest(None)
            else:
                self._backoff.reset()
        except CallError as error:
            self._reserved -= want
            self._end(poll, error.was_not_admitted or error.reason == ErrorReason.OVERLOADED)
            level = LOG.error if error.call_outcome == "definite" else LOG.warning
            level("poll failed, will poll again: %s %s: %s", error.code, error.reason, error)
            self._rest(error)
        except asyncio.CancelledError:
            self._reserved -= want
            self._polls.lost(poll)
            raise
        finally:
            self._parked = None
            self.wake()

    def _rest(self, error: CallError | None) -> None:
        self._pause = self._clock.after(self._backoff.next(error), self._end_rest)

    def _end_rest(self) -> None:
        self._end_pause()
        self.wake()

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self._pause = None

    def _end(self, poll: Poll, is_refused: bool) -> None:
        if is_refused:
            self._polls.over(poll)
        else:
            self._polls.lost(poll)


def _beside_reports(free: int, reports: int) -> int:
    """Of the free slots, those for the long poll while so many reports wait to go out."""
    return max(free - reports, 1 if free > 1 else 0)
