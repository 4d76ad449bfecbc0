"""Schedules, which start runs by a cron expression or at an interval."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.durations import Duration
from drover_sdk.reading import to_time
from drover_sdk.v1 import schedule_pb2 as wire
from drover_sdk.writing import write


@dataclass(frozen=True)
class Cron:
    """By a cron expression."""

    expression: str
    """Such as `30 2 * * MON-FRI`."""
    time_zone: str = ""
    """A name of the IANA database. Empty: UTC."""


@dataclass(frozen=True)
class Interval:
    """At an interval."""

    every: Duration
    """At least 10 s."""
    offset: Duration | None = None
    """Offset of the times from the multiples of `every` since 1970, UTC. Default: 0."""


@dataclass(frozen=True)
class Recurring:
    """What a schedule starts and when: exactly one of cron and interval."""

    workflow: str
    cron: Cron | None = None
    interval: Interval | None = None
    version: int = 0
    """0: the workflow's default version at the time at which a run starts."""
    input: Any = None
    """JSON, or a Payload: the input of each run. Default: none."""
    priority: int = 0
    """1 (first) to 9 (last). 0 means 5."""
    labels: Mapping[str, str] = field(default_factory=dict)
    notify_hook: str = ""
    """The hook that is notified of the end of each run."""
    overlap: str | None = None
    """What happens when a time comes while a run of the schedule is in progress: skip, buffer-one,
    buffer-all, cancel-other or allow-all. Default: the time is skipped."""
    catch_up: Duration | None = None
    """How late a time may still start its run. Default 1 h."""
    jitter: Duration | None = None
    """Maximum delay after each time. Default 0."""


@dataclass(frozen=True)
class ScheduleTime:
    """A time of a schedule."""

    time: datetime | None
    nominal_time: str
    """The time as text, as in the label `drover.nominal_time` of its run."""


@dataclass(frozen=True)
class Occurrence:
    """An occurrence: a time of a schedule that was handled, and its result."""

    time: datetime | None
    nominal_time: str
    handled_time: datetime | None
    cause: str
    outcome: str
    run_id: str
    """Empty: it has no run."""
    run_state: str
    message: str
    """Why it has no run; empty: the outcome is the reason."""
    missed: int
    """For MISSED and PAUSED: number of times, this one first."""


@dataclass(frozen=True)
class Pause:
    """A pause: since when, and why."""

    since_time: datetime | None
    reason: str


@dataclass(frozen=True)
class Schedule:
    """A schedule, its next times, and its last occurrences, the newest first."""

    name: str
    spec: Recurring
    pause: Pause | None
    """None: it is not paused."""
    next: tuple[ScheduleTime, ...]
    last: tuple[Occurrence, ...]


@dataclass(frozen=True)
class SchedulePage:
    """By name."""

    schedules: tuple[Schedule, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class CreatedSchedule:
    """A schedule after `create`."""

    created: bool
    """False: a schedule of this name with the same content existed."""
    schedule: Schedule


@dataclass(frozen=True)
class BackfillOccurrence:
    """The result of a backfill for one time."""

    time: datetime | None
    nominal_time: str
    run_id: str
    """Empty: it has no run."""
    created: bool
    """Whether this call started the run."""
    message: str
    """Why it has no run."""


@dataclass(frozen=True)
class TriggeredRun:
    """A run that was started by `trigger`."""

    run_id: str
    created: bool
    """False: an earlier call with this request id started it."""


class Schedules:
    """Schedules, which start runs by a calendar: `client.schedules`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def create(self, name: str, spec: Recurring, *, paused: bool = False) -> CreatedSchedule:
        """Creates the schedule, and returns its state."""
        request = wire.CreateScheduleRequest(
            namespace=self._caller.namespace, name=name, spec=self._spec(spec), paused=paused
        )
        return await self._caller.ask(CreatedSchedule, rpc.CREATE_SCHEDULE, request)

    async def get(self, name: str) -> Schedule:
        """The schedule of this name."""
        request = wire.GetScheduleRequest(namespace=self._caller.namespace, name=name)
        return self._read((await self._caller.call(rpc.GET_SCHEDULE, request)).schedule)

    async def list(self, *, page_size: int = 0, page_token: str = "") -> SchedulePage:
        """One page."""
        request = wire.ListSchedulesRequest(
            namespace=self._caller.namespace, page_size=page_size, page_token=page_token
        )
        return await self._caller.ask(SchedulePage, rpc.LIST_SCHEDULES, request)

    async def update(self, name: str, spec: Recurring) -> Schedule:
        """Replaces its whole content."""
        request = wire.UpdateScheduleRequest(
            namespace=self._caller.namespace, name=name, spec=self._spec(spec)
        )
        return self._read((await self._caller.call(rpc.UPDATE_SCHEDULE, request)).schedule)

    async def pause(self, name: str, *, reason: str = "") -> Schedule:
        """The schedule starts no run until it is resumed."""
        request = wire.PauseScheduleRequest(
            namespace=self._caller.namespace, name=name, reason=reason
        )
        return self._read((await self._caller.call(rpc.PAUSE_SCHEDULE, request)).schedule)

    async def resume(self, name: str) -> Schedule:
        """Times that passed during the pause get a run only by a backfill."""
        request = wire.ResumeScheduleRequest(namespace=self._caller.namespace, name=name)
        return self._read((await self._caller.call(rpc.RESUME_SCHEDULE, request)).schedule)

    async def delete(self, name: str) -> bool:
        """Deletes it; its runs continue. Returns whether there was one."""
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
    ) -> AsyncIterator[BackfillOccurrence]:
        """Starts the runs of past times that have no run; each time gets one, however often this is
        called.

        The times from `start` on and before `end`. `concurrency`: maximum number of its runs in
        progress at a time; 0 means 1. `dry_run`: returns what the call would do, and
        starts nothing.
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
            for one in page.occurrences:
                yield self._caller.read(BackfillOccurrence, one)
            if not page.HasField("next_start_time"):
                return
            request.start_time.CopyFrom(page.next_start_time)

    async def trigger(self, name: str, *, request_id: str | None = None) -> TriggeredRun:
        """Starts a run now, as if a time had come. The same `request_id` starts one run only."""
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
