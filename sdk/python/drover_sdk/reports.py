"""Reports: the outcomes of tasks are sent with Complete, and repeated until they are answered.

    queued -> under way -> answered
       ^----------'  (it is unknown whether the call took effect)

While no call is under way, a report is sent at once, with all that are added in the same turn of
the loop. Reports that are added while a call is under way are sent together as soon as it is
answered: so calls grow with the time that they take, and no timer delays a report. A full call
waits for no other, and neither does the next one when a call is slow; four are under way at most.

A repeat carries the very same outcome, so the server recognizes it. The call carries a poll for the
freed slots.

Only a Drover server can judge a result. A call that was refused for any other reason (a token that
has expired, a proxy without a route) leaves all its reports as they are: they are sent again, each
alone, until the lease of their task has ended.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from drover_sdk.background import Background
from drover_sdk.backoff import Backoff
from drover_sdk.clocks import Clock, Timer
from drover_sdk.error_reason import ErrorReason
from drover_sdk.errors import CallError
from drover_sdk.held_task import HeldTask
from drover_sdk.outcomes import outcome_of_refusal
from drover_sdk.statuses import error_of_status
from drover_sdk.task_log import LOG, TaskLog
from drover_sdk.v1.agent_service_pb2 import CompleteAnswer, CompleteResponse, TaskResult
from drover_sdk.v1.task_pb2 import Outcome

# The next call waits no longer than this for one under way.
_SLOW = 0.25
# Of one call: 1,000 is the limit of the contract, and what an answer loses is repeated.
_RESULTS_MOST = 250
# The message limit is 4 MiB.
_RESULTS_BYTES_MOST = 3 * 1024 * 1024
_IN_FLIGHT_MOST = 4
# What a result takes beside its outcome: the token, and what frames them.
_FRAME_BYTES = 600


@dataclass(frozen=True)
class _Report:
    held: HeldTask
    outcome: Outcome
    substitute: bool
    """Whether it already replaces one that the server refused."""


class Reports:
    """Of one session."""

    def __init__(
        self,
        clock: Clock,
        send: Callable[[list[TaskResult]], Awaitable[CompleteResponse]],
        on_answered: Callable[[HeldTask], None],
        background: Background,
    ) -> None:
        """`send`: one Complete, which may carry a poll.

        `on_answered`: the report was answered for good; the agent no longer holds the task.
        """
        self._clock = clock
        self._send = send
        self._on_answered = on_answered
        self._background = background
        self._backoff = Backoff(clock)
        self._queue: list[_Report] = []
        self._in_flight = 0
        self._last_sent = -math.inf
        self._not_before = -math.inf
        self._batch_most = _RESULTS_MOST
        self._timer: tuple[float, Timer] | None = None
        self._pumps_soon = False
        self._flushed: list[asyncio.Future[None]] = []
        self._stopped = False

    def add(self, held: HeldTask, outcome: Outcome) -> None:
        """How it ended."""
        self._queue.append(_Report(held, outcome, False))
        if not self._pumps_soon:
            # What ends in one turn shares a call.
            self._pumps_soon = True
            asyncio.get_running_loop().call_soon(self._pump_now)

    @property
    def pending(self) -> int:
        """Number of reports that the next calls send; 0 during the wait after a failed call."""
        return len(self._queue) if self._not_before <= self._clock.monotonic() else 0

    def flushed(self) -> asyncio.Future[None]:
        """Done as soon as nothing is left to report."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flushed.append(done)
        self._pump()
        return done

    def stop(self) -> None:
        """Drops what is left."""
        self._stopped = True
        self._disarm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer[1].cancel()
        self._timer = None

    def _pump_at(self, due: float, now: float) -> None:
        if self._timer is None or self._timer[0] != due:
            self._disarm()
            self._timer = (due, self._clock.after(due - now, self._wake))

    def _wake(self) -> None:
        self._timer = None
        self._pump()

    def _pump_now(self) -> None:
        self._pumps_soon = False
        self._pump()

    def _pump(self) -> None:
        while not self._stopped and self._queue and self._in_flight < _IN_FLIGHT_MOST:
            now = self._clock.monotonic()
            due = self._not_before
            if self._in_flight > 0 and len(self._queue) < self._batch_most:
                due = max(due, self._last_sent + _SLOW)
            if due > now:
                self._pump_at(due, now)
                return
            self._last_sent = now
            self._in_flight += 1
            batch = self._take_batch()
            # Now, so that a poll takes its slots before another one can.
            sending = self._send([_result(report) for report in batch])
            self._background.start(self._send_batch(batch, sending))
        if not self._queue and self._in_flight == 0:
            for done in self._flushed:
                if not done.done():
                    done.set_result(None)
            self._flushed.clear()

    def _take_batch(self) -> list[_Report]:
        size = count = 0
        for report in self._queue[: self._batch_most]:
            size += report.outcome.ByteSize() + _FRAME_BYTES
            if count > 0 and size > _RESULTS_BYTES_MOST:
                break
            count += 1
        batch, self._queue = self._queue[:count], self._queue[count:]
        return batch

    async def _send_batch(self, batch: list[_Report], sending: Awaitable[CompleteResponse]) -> None:
        try:
            answer = await sending
            self._backoff.reset()
            self._batch_most = _RESULTS_MOST
            answers = list(answer.answers)
            unsettled = batch[len(answers) :]
            for report, given in zip(batch, answers):
                if not self._settle(report, given):
                    unsettled.append(report)
            if unsettled:
                self._repeat(unsettled, None)
        except CallError as error:
            self._on_failed_call(batch, error)
        finally:
            self._in_flight -= 1
            self._pump()

    def _repeat(self, batch: list[_Report], error: CallError | None) -> None:
        self._queue = [*batch, *self._queue]
        now = self._clock.monotonic()
        # Calls that fail together are one failure.
        if now >= self._not_before:
            self._not_before = now + self._backoff.next(error)

    def _on_failed_call(self, batch: list[_Report], error: CallError) -> None:
        if error.call_outcome != "definite":
            text = "report not answered, will be repeated: %s %s: %s"
            LOG.warning(text, error.code, error.reason, error)
            self._repeat(batch, error)
            return
        if not error.is_about_results:
            text = "reports refused as a call, will be repeated: %s %s: %s"
            LOG.error(text, error.code, error.reason, error)
            self._batch_most = 1
            self._repeat([report for report in batch if self._is_leased(report)], error)
            return
        LOG.error("report refused: %s %s: %s", error.code, error.reason, error)
        if len(batch) > 1:
            # One of the reports is the cause; each is sent alone, to find out which.
            self._batch_most = 1
            self._queue = [*batch, *self._queue]
            return
        for report in batch:
            self._substitute(report, error)

    def _is_leased(self, report: _Report) -> bool:
        """A report of a call that was refused is given up with the lease of its task."""
        if report.held.left() > 0:
            return True
        text = "report given up: the lease has ended, and no call is taken"
        TaskLog(report.held.task).error(text)
        self._on_answered(report.held)
        return False

    def _settle(self, report: _Report, answer: CompleteAnswer) -> bool:
        """Returns False if the report has to be repeated."""
        if answer.status.code == 0:
            self._on_answered(report.held)
            return True
        error = error_of_status(answer.status)
        log = TaskLog(report.held.task)
        kind = _answer_kind(error)
        if kind == "answered":
            log.warning("report came to nothing: %s: %s", error.reason, error)
            self._on_answered(report.held)
        elif kind == "substitute":
            log.error("report refused: %s: %s", error.reason, error)
            self._substitute(report, error)
        return kind != "repeat"

    def _substitute(self, report: _Report, error: CallError) -> None:
        """The agent still holds the task, and has to report something that the server accepts."""
        if report.substitute:
            self._on_answered(report.held)
            return
        outcome = outcome_of_refusal(report.outcome, error)
        self._queue.append(_Report(report.held, outcome, True))


def _result(report: _Report) -> TaskResult:
    return TaskResult(task_token=report.held.task.task_token, outcome=report.outcome)


def _answer_kind(error: CallError) -> Literal["answered", "repeat", "substitute"]:
    if error.call_outcome != "definite":
        return "repeat"
    if error.code == "INVALID_ARGUMENT" and error.reason != ErrorReason.MALFORMED_TOKEN:
        return "substitute"
    return "answered"
