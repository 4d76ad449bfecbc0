import datetime

from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import queue_pb2 as _queue_pb2
from drover_sdk.v1 import run_pb2 as _run_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OverlapPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OVERLAP_POLICY_UNSPECIFIED: _ClassVar[OverlapPolicy]
    OVERLAP_POLICY_SKIP: _ClassVar[OverlapPolicy]
    OVERLAP_POLICY_BUFFER_ONE: _ClassVar[OverlapPolicy]
    OVERLAP_POLICY_BUFFER_ALL: _ClassVar[OverlapPolicy]
    OVERLAP_POLICY_CANCEL_OTHER: _ClassVar[OverlapPolicy]
    OVERLAP_POLICY_ALLOW_ALL: _ClassVar[OverlapPolicy]

class OccurrenceCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OCCURRENCE_CAUSE_UNSPECIFIED: _ClassVar[OccurrenceCause]
    OCCURRENCE_CAUSE_CALENDAR: _ClassVar[OccurrenceCause]
    OCCURRENCE_CAUSE_BACKFILL: _ClassVar[OccurrenceCause]
    OCCURRENCE_CAUSE_TRIGGER: _ClassVar[OccurrenceCause]

class OccurrenceOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OCCURRENCE_OUTCOME_UNSPECIFIED: _ClassVar[OccurrenceOutcome]
    OCCURRENCE_OUTCOME_STARTED: _ClassVar[OccurrenceOutcome]
    OCCURRENCE_OUTCOME_OVERLAPPED: _ClassVar[OccurrenceOutcome]
    OCCURRENCE_OUTCOME_MISSED: _ClassVar[OccurrenceOutcome]
    OCCURRENCE_OUTCOME_PAUSED: _ClassVar[OccurrenceOutcome]
    OCCURRENCE_OUTCOME_REFUSED: _ClassVar[OccurrenceOutcome]
OVERLAP_POLICY_UNSPECIFIED: OverlapPolicy
OVERLAP_POLICY_SKIP: OverlapPolicy
OVERLAP_POLICY_BUFFER_ONE: OverlapPolicy
OVERLAP_POLICY_BUFFER_ALL: OverlapPolicy
OVERLAP_POLICY_CANCEL_OTHER: OverlapPolicy
OVERLAP_POLICY_ALLOW_ALL: OverlapPolicy
OCCURRENCE_CAUSE_UNSPECIFIED: OccurrenceCause
OCCURRENCE_CAUSE_CALENDAR: OccurrenceCause
OCCURRENCE_CAUSE_BACKFILL: OccurrenceCause
OCCURRENCE_CAUSE_TRIGGER: OccurrenceCause
OCCURRENCE_OUTCOME_UNSPECIFIED: OccurrenceOutcome
OCCURRENCE_OUTCOME_STARTED: OccurrenceOutcome
OCCURRENCE_OUTCOME_OVERLAPPED: OccurrenceOutcome
OCCURRENCE_OUTCOME_MISSED: OccurrenceOutcome
OCCURRENCE_OUTCOME_PAUSED: OccurrenceOutcome
OCCURRENCE_OUTCOME_REFUSED: OccurrenceOutcome

class ScheduleSpec(_message.Message):
    __slots__ = ("cron", "interval", "workflow", "version", "input", "priority", "labels", "notify_hook", "overlap", "concurrency", "catch_up", "jitter")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CRON_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NOTIFY_HOOK_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    cron: CronCalendar
    interval: IntervalCalendar
    workflow: str
    version: int
    input: _payload_pb2.Payload
    priority: int
    labels: _containers.ScalarMap[str, str]
    notify_hook: str
    overlap: OverlapPolicy
    concurrency: _run_pb2.Concurrency
    catch_up: _duration_pb2.Duration
    jitter: _duration_pb2.Duration
    def __init__(self, cron: _Optional[_Union[CronCalendar, _Mapping]] = ..., interval: _Optional[_Union[IntervalCalendar, _Mapping]] = ..., workflow: _Optional[str] = ..., version: _Optional[int] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., priority: _Optional[int] = ..., labels: _Optional[_Mapping[str, str]] = ..., notify_hook: _Optional[str] = ..., overlap: _Optional[_Union[OverlapPolicy, str]] = ..., concurrency: _Optional[_Union[_run_pb2.Concurrency, _Mapping]] = ..., catch_up: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., jitter: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class CronCalendar(_message.Message):
    __slots__ = ("expression", "time_zone")
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    expression: str
    time_zone: str
    def __init__(self, expression: _Optional[str] = ..., time_zone: _Optional[str] = ...) -> None: ...

class IntervalCalendar(_message.Message):
    __slots__ = ("every", "offset")
    EVERY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    every: _duration_pb2.Duration
    offset: _duration_pb2.Duration
    def __init__(self, every: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., offset: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("name", "spec", "pause", "created_time", "changed_time", "next", "last", "workflow_pause")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    CHANGED_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_PAUSE_FIELD_NUMBER: _ClassVar[int]
    name: str
    spec: ScheduleSpec
    pause: _queue_pb2.Pause
    created_time: _timestamp_pb2.Timestamp
    changed_time: _timestamp_pb2.Timestamp
    next: _containers.RepeatedCompositeFieldContainer[ScheduleTime]
    last: _containers.RepeatedCompositeFieldContainer[Occurrence]
    workflow_pause: _queue_pb2.Pause
    def __init__(self, name: _Optional[str] = ..., spec: _Optional[_Union[ScheduleSpec, _Mapping]] = ..., pause: _Optional[_Union[_queue_pb2.Pause, _Mapping]] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next: _Optional[_Iterable[_Union[ScheduleTime, _Mapping]]] = ..., last: _Optional[_Iterable[_Union[Occurrence, _Mapping]]] = ..., workflow_pause: _Optional[_Union[_queue_pb2.Pause, _Mapping]] = ...) -> None: ...

class ScheduleTime(_message.Message):
    __slots__ = ("time", "nominal_time")
    TIME_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_TIME_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    nominal_time: str
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., nominal_time: _Optional[str] = ...) -> None: ...

class Occurrence(_message.Message):
    __slots__ = ("time", "nominal_time", "handled_time", "cause", "outcome", "run_id", "run_state", "message", "missed", "missed_before_time")
    TIME_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_TIME_FIELD_NUMBER: _ClassVar[int]
    HANDLED_TIME_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    MISSED_BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    nominal_time: str
    handled_time: _timestamp_pb2.Timestamp
    cause: OccurrenceCause
    outcome: OccurrenceOutcome
    run_id: str
    run_state: _run_pb2.RunState
    message: str
    missed: int
    missed_before_time: _timestamp_pb2.Timestamp
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., nominal_time: _Optional[str] = ..., handled_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cause: _Optional[_Union[OccurrenceCause, str]] = ..., outcome: _Optional[_Union[OccurrenceOutcome, str]] = ..., run_id: _Optional[str] = ..., run_state: _Optional[_Union[_run_pb2.RunState, str]] = ..., message: _Optional[str] = ..., missed: _Optional[int] = ..., missed_before_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreateScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "spec", "paused")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    spec: ScheduleSpec
    paused: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., spec: _Optional[_Union[ScheduleSpec, _Mapping]] = ..., paused: _Optional[bool] = ...) -> None: ...

class CreateScheduleResponse(_message.Message):
    __slots__ = ("created", "schedule")
    CREATED_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    created: bool
    schedule: Schedule
    def __init__(self, created: _Optional[bool] = ..., schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class GetScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GetScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class ListSchedulesRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token", "workflow")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    workflow: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., workflow: _Optional[str] = ...) -> None: ...

class ListSchedulesResponse(_message.Message):
    __slots__ = ("schedules", "next_page_token")
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[Schedule]
    next_page_token: str
    def __init__(self, schedules: _Optional[_Iterable[_Union[Schedule, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "spec")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    spec: ScheduleSpec
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., spec: _Optional[_Union[ScheduleSpec, _Mapping]] = ...) -> None: ...

class UpdateScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class PauseScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class PauseScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class ResumeScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ResumeScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class DeleteScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteScheduleResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: _Optional[bool] = ...) -> None: ...

class BackfillScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "start_time", "end_time", "concurrency", "dry_run")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    concurrency: int
    dry_run: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., concurrency: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class BackfillScheduleResponse(_message.Message):
    __slots__ = ("occurrences", "next_start_time", "count")
    OCCURRENCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_START_TIME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    occurrences: _containers.RepeatedCompositeFieldContainer[BackfillOccurrence]
    next_start_time: _timestamp_pb2.Timestamp
    count: int
    def __init__(self, occurrences: _Optional[_Iterable[_Union[BackfillOccurrence, _Mapping]]] = ..., next_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class BackfillOccurrence(_message.Message):
    __slots__ = ("time", "nominal_time", "run_id", "created", "message")
    TIME_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_TIME_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    nominal_time: str
    run_id: str
    created: bool
    message: str
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., nominal_time: _Optional[str] = ..., run_id: _Optional[str] = ..., created: _Optional[bool] = ..., message: _Optional[str] = ...) -> None: ...

class TriggerScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class TriggerScheduleResponse(_message.Message):
    __slots__ = ("run_id", "created")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    created: bool
    def __init__(self, run_id: _Optional[str] = ..., created: _Optional[bool] = ...) -> None: ...
