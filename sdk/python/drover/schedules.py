"""Schedules: runs that begin by a cron expression or at an interval."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from drover import rpc
from drover.calls import Caller
from drover.durations import Duration
from drover.reading import to_time
from drover.v1 import schedule_pb2 as wire
from drover.writing import write


@dataclass(frozen=True)
class Cron:
    """By a cron expression."""

    expression: str
    """As `30 2 * * MON-FRI`."""
    time_zone: str = ""
    """A name of the IANA database. Empty: UTC."""


@dataclass(frozen=True)
class Interval:
    """At an interval."""

    every: Duration
    """At least 10 s."""
    offset: Duration | None = None
    """Distance of the moments from multiples of `every` since 1970, UTC. Default: 0."""


@dataclass(frozen=True)
class Recurring:
    """What begins when: exactly one of cron and interval."""

    workflow: str
    cron: Cron | None = None
    interval: Interval | None = None
    version: int = 0
    """0: the one that is the workflow's default when a run begins."""
    input: Any = None
    """JSON, or a Payload: the input of each run. Default: none."""
    priority: int = 0
    """1 first to 9 last. 0: 5."""
    labels: Mapping[str, str] = field(default_factory=dict)
    notify_hook: str = ""
    """The hook that is told of the end of each run."""
    overlap: str | None = None
    """What becomes of a moment while a run of the schedule is under way: skip, buffer-one,
    buffer-all, cancel-other or allow-all. Default: it is skipped."""
    catch_up: Duration | None = None
    """How late a moment may still begin its run. Default 1 h."""
    jitter: Duration | None = None
    """Moments are acted on up to so much later. Default 0."""


@dataclass(frozen=True)
class Moment:
    """A moment of a schedule."""

    time: datetime | None
    moment: str
    """Its name, as in the label `drover.moment` of its run."""


@dataclass(frozen=True)
class Fire:
    """What became of a moment."""

    time: datetime | None
    moment: str
    fired_time: datetime | None
    cause: str
    outcome: str
    run_id: str
    """Empty: it has none."""
    run_state: str
    message: str
    """Why it has no run; empty: the outcome says all."""
    missed: int
    """Of MISSED and PAUSED: how many moments, this one first."""


@dataclass(frozen=True)
class Pause:
    """That something is paused."""

    since_time: datetime | None
    reason: str


@dataclass(frozen=True)
class Schedule:
    """A schedule, its moments to come, and what became of the last, the newest first."""

    name: str
    spec: Recurring
    pause: Pause | None
    """None: it is not paused."""
    next: tuple[Moment, ...]
    last: tuple[Fire, ...]


@dataclass(frozen=True)
class SchedulePage:
    """By name."""

    schedules: tuple[Schedule, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class CreatedSchedule:
    """A schedule that is there now."""

    created: bool
    """False: there was one of this name that says the same."""
    schedule: Schedule


@dataclass(frozen=True)
class BackfillMoment:
    """What became of a moment that has passed."""

    time: datetime | None
    moment: str
    run_id: str
    """Empty: it has none."""
    created: bool
    """This call began it."""
    message: str
    """Why it has none."""


@dataclass(frozen=True)
class TriggeredRun:
    """A run that began out of turn."""

    run_id: str
    created: bool
    """False: an earlier call with this request id began it."""


class Schedules:
    """Runs that begin by the calendar: `client.schedules`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def create(self, name: str, spec: Recurring, *, paused: bool = False) -> CreatedSchedule:
        """Makes it, and says what there is."""
        request = wire.CreateScheduleRequest(
            namespace=self._caller.namespace, name=name, spec=self._spec(spec), paused=paused
        )
        return await self._caller.ask(CreatedSchedule, rpc.CREATE_SCHEDULE, request)

    async def get(self, name: str) -> Schedule:
        """The one of this name."""
        request = wire.GetScheduleRequest(namespace=self._caller.namespace, name=name)
        return self._read((await self._caller.call(rpc.GET_SCHEDULE, request)).schedule)

    async def list(self, *, page_size: int = 0, page_token: str = "") -> SchedulePage:
        """One page."""
        request = wire.ListSchedulesRequest(
            namespace=self._caller.namespace, page_size=page_size, page_token=page_token
        )
        return await self._caller.ask(SchedulePage, rpc.LIST_SCHEDULES, request)

    async def update(self, name: str, spec: Recurring) -> Schedule:
        """Says all of it anew."""
        request = wire.UpdateScheduleRequest(
            namespace=self._caller.namespace, name=name, spec=self._spec(spec)
        )
        return self._read((await self._caller.call(rpc.UPDATE_SCHEDULE, request)).schedule)

    async def pause(self, name: str, *, reason: str = "") -> Schedule:
        """No run begins by it until it is resumed."""
        request = wire.PauseScheduleRequest(
            namespace=self._caller.namespace, name=name, reason=reason
        )
        return self._read((await self._caller.call(rpc.PAUSE_SCHEDULE, request)).schedule)

    async def resume(self, name: str) -> Schedule:
        """Moments that passed meanwhile get no run, but by a backfill."""
        request = wire.ResumeScheduleRequest(namespace=self._caller.namespace, name=name)
        return self._read((await self._caller.call(rpc.RESUME_SCHEDULE, request)).schedule)

    async def delete(self, name: str) -> bool:
        """Its runs go on; whether there was one."""
        request = wire.DeleteScheduleRequest(namespace=self._caller.namespace, name=name)
        return (await self._caller.call(rpc.DELETE_SCHEDULE, request)).deleted

    async def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int = 0,
        dry_run: bool = False,
    ) -> AsyncIterator[BackfillMoment]:
        """Begins the runs of moments that have passed and have none; each has one, however often.

        Of moments from `start` on and before `end`. `concurrency`: so many runs of it are under
        way at a time; 0: 1. `dry_run`: says what it would do, and begins nothing.
        """
        request = wire.BackfillScheduleRequest(
            namespace=self._caller.namespace,
            name=name,
            start_time=to_time(start),
            end_time=to_time(end),
            concurrency=concurrency,
            dry_run=dry_run,
        )
        while True:
            page = await self._caller.call(rpc.BACKFILL_SCHEDULE, request)
            for one in page.moments:
                yield self._caller.read(BackfillMoment, one)
            if not page.HasField("next_start_time"):
                return
            request.start_time.CopyFrom(page.next_start_time)

    async def trigger(self, name: str, *, request_id: str | None = None) -> TriggeredRun:
        """A run now, as a moment would begin it. The same `request_id` begins one run only."""
        request = wire.TriggerScheduleRequest(
            namespace=self._caller.namespace,
            name=name,
            request_id=request_id or str(uuid.uuid4()),
        )
        return await self._caller.ask(TriggeredRun, rpc.TRIGGER_SCHEDULE, request)

    def _read(self, schedule: wire.Schedule) -> Schedule:
        return self._caller.read(Schedule, schedule)

    def _spec(self, spec: Recurring) -> wire.ScheduleSpec:
        message = wire.ScheduleSpec()
        write(message, replace(spec, input=self._caller.payload(spec.input)))
        return message
