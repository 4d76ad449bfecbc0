import datetime

from drover_sdk.v1 import agent_info_pb2 as _agent_info_pb2
from drover_sdk.v1 import circuit_pb2 as _circuit_pb2
from drover_sdk.v1 import partition_pb2 as _partition_pb2
from drover_sdk.v1 import queue_pb2 as _queue_pb2
from drover_sdk.v1 import run_pb2 as _run_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetOverviewRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetOverviewResponse(_message.Message):
    __slots__ = ("open_escalations", "unserved_tasks", "late_partitions", "namespace_pause", "paused_queues", "paused_workflows", "open_circuits", "cordons", "activity", "late_regions", "failing_agents")
    OPEN_ESCALATIONS_FIELD_NUMBER: _ClassVar[int]
    UNSERVED_TASKS_FIELD_NUMBER: _ClassVar[int]
    LATE_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PAUSE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_QUEUES_FIELD_NUMBER: _ClassVar[int]
    PAUSED_WORKFLOWS_FIELD_NUMBER: _ClassVar[int]
    OPEN_CIRCUITS_FIELD_NUMBER: _ClassVar[int]
    CORDONS_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    LATE_REGIONS_FIELD_NUMBER: _ClassVar[int]
    FAILING_AGENTS_FIELD_NUMBER: _ClassVar[int]
    open_escalations: int
    unserved_tasks: _containers.RepeatedCompositeFieldContainer[UnservedTask]
    late_partitions: _containers.RepeatedCompositeFieldContainer[_partition_pb2.Partition]
    namespace_pause: _queue_pb2.Pause
    paused_queues: _containers.RepeatedCompositeFieldContainer[NamedPause]
    paused_workflows: _containers.RepeatedCompositeFieldContainer[NamedPause]
    open_circuits: _containers.RepeatedCompositeFieldContainer[_circuit_pb2.Circuit]
    cordons: _containers.RepeatedCompositeFieldContainer[_circuit_pb2.Cordon]
    activity: Activity
    late_regions: _containers.RepeatedCompositeFieldContainer[LateRegion]
    failing_agents: _containers.RepeatedCompositeFieldContainer[_agent_info_pb2.FailingAgent]
    def __init__(self, open_escalations: _Optional[int] = ..., unserved_tasks: _Optional[_Iterable[_Union[UnservedTask, _Mapping]]] = ..., late_partitions: _Optional[_Iterable[_Union[_partition_pb2.Partition, _Mapping]]] = ..., namespace_pause: _Optional[_Union[_queue_pb2.Pause, _Mapping]] = ..., paused_queues: _Optional[_Iterable[_Union[NamedPause, _Mapping]]] = ..., paused_workflows: _Optional[_Iterable[_Union[NamedPause, _Mapping]]] = ..., open_circuits: _Optional[_Iterable[_Union[_circuit_pb2.Circuit, _Mapping]]] = ..., cordons: _Optional[_Iterable[_Union[_circuit_pb2.Cordon, _Mapping]]] = ..., activity: _Optional[_Union[Activity, _Mapping]] = ..., late_regions: _Optional[_Iterable[_Union[LateRegion, _Mapping]]] = ..., failing_agents: _Optional[_Iterable[_Union[_agent_info_pb2.FailingAgent, _Mapping]]] = ...) -> None: ...

class LateRegion(_message.Message):
    __slots__ = ("region", "partitions", "unwatched", "overdue", "lag")
    REGION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    UNWATCHED_FIELD_NUMBER: _ClassVar[int]
    OVERDUE_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    region: str
    partitions: int
    unwatched: int
    overdue: int
    lag: _duration_pb2.Duration
    def __init__(self, region: _Optional[str] = ..., partitions: _Optional[int] = ..., unwatched: _Optional[int] = ..., overdue: _Optional[int] = ..., lag: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WatchOverviewRequest(_message.Message):
    __slots__ = ("namespace", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    after: str
    def __init__(self, namespace: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class WatchOverviewResponse(_message.Message):
    __slots__ = ("overview", "activity", "cursor")
    OVERVIEW_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    overview: GetOverviewResponse
    activity: Activity
    cursor: str
    def __init__(self, overview: _Optional[_Union[GetOverviewResponse, _Mapping]] = ..., activity: _Optional[_Union[Activity, _Mapping]] = ..., cursor: _Optional[str] = ...) -> None: ...

class Activity(_message.Message):
    __slots__ = ("minutes", "states", "more_runs", "detect_typical", "detect_slow", "interventions", "retries", "more_retries", "detect_sampled", "more_interventions", "unsuccessful_workflows", "substates", "failing_steps", "more_failing_steps")
    MINUTES_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    MORE_RUNS_FIELD_NUMBER: _ClassVar[int]
    DETECT_TYPICAL_FIELD_NUMBER: _ClassVar[int]
    DETECT_SLOW_FIELD_NUMBER: _ClassVar[int]
    INTERVENTIONS_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    MORE_RETRIES_FIELD_NUMBER: _ClassVar[int]
    DETECT_SAMPLED_FIELD_NUMBER: _ClassVar[int]
    MORE_INTERVENTIONS_FIELD_NUMBER: _ClassVar[int]
    UNSUCCESSFUL_WORKFLOWS_FIELD_NUMBER: _ClassVar[int]
    SUBSTATES_FIELD_NUMBER: _ClassVar[int]
    FAILING_STEPS_FIELD_NUMBER: _ClassVar[int]
    MORE_FAILING_STEPS_FIELD_NUMBER: _ClassVar[int]
    minutes: _containers.RepeatedCompositeFieldContainer[ActivityMinute]
    states: _containers.RepeatedCompositeFieldContainer[OpenRuns]
    more_runs: bool
    detect_typical: _duration_pb2.Duration
    detect_slow: _duration_pb2.Duration
    interventions: int
    retries: int
    more_retries: bool
    detect_sampled: int
    more_interventions: bool
    unsuccessful_workflows: _containers.RepeatedCompositeFieldContainer[WorkflowActivity]
    substates: _containers.RepeatedCompositeFieldContainer[SubstateRuns]
    failing_steps: _containers.RepeatedCompositeFieldContainer[FailingStep]
    more_failing_steps: bool
    def __init__(self, minutes: _Optional[_Iterable[_Union[ActivityMinute, _Mapping]]] = ..., states: _Optional[_Iterable[_Union[OpenRuns, _Mapping]]] = ..., more_runs: _Optional[bool] = ..., detect_typical: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., detect_slow: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., interventions: _Optional[int] = ..., retries: _Optional[int] = ..., more_retries: _Optional[bool] = ..., detect_sampled: _Optional[int] = ..., more_interventions: _Optional[bool] = ..., unsuccessful_workflows: _Optional[_Iterable[_Union[WorkflowActivity, _Mapping]]] = ..., substates: _Optional[_Iterable[_Union[SubstateRuns, _Mapping]]] = ..., failing_steps: _Optional[_Iterable[_Union[FailingStep, _Mapping]]] = ..., more_failing_steps: _Optional[bool] = ...) -> None: ...

class FailingStep(_message.Message):
    __slots__ = ("workflow", "step_id", "undo", "code", "failed_attempts", "failed_steps", "first_time", "last_time", "last_run_id", "last_message")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FAILED_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    FAILED_STEPS_FIELD_NUMBER: _ClassVar[int]
    FIRST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    step_id: str
    undo: bool
    code: str
    failed_attempts: int
    failed_steps: int
    first_time: _timestamp_pb2.Timestamp
    last_time: _timestamp_pb2.Timestamp
    last_run_id: str
    last_message: str
    def __init__(self, workflow: _Optional[str] = ..., step_id: _Optional[str] = ..., undo: _Optional[bool] = ..., code: _Optional[str] = ..., failed_attempts: _Optional[int] = ..., failed_steps: _Optional[int] = ..., first_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_run_id: _Optional[str] = ..., last_message: _Optional[str] = ...) -> None: ...

class SubstateRuns(_message.Message):
    __slots__ = ("substate", "runs", "more_runs")
    SUBSTATE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    MORE_RUNS_FIELD_NUMBER: _ClassVar[int]
    substate: _run_pb2.RunSubstate
    runs: int
    more_runs: bool
    def __init__(self, substate: _Optional[_Union[_run_pb2.RunSubstate, str]] = ..., runs: _Optional[int] = ..., more_runs: _Optional[bool] = ...) -> None: ...

class WorkflowActivity(_message.Message):
    __slots__ = ("workflow", "completed", "failed", "compensated", "cancelled")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    COMPENSATED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    completed: int
    failed: int
    compensated: int
    cancelled: int
    def __init__(self, workflow: _Optional[str] = ..., completed: _Optional[int] = ..., failed: _Optional[int] = ..., compensated: _Optional[int] = ..., cancelled: _Optional[int] = ...) -> None: ...

class ActivityMinute(_message.Message):
    __slots__ = ("start_time", "accepted", "completed", "not_completed", "failed", "compensated", "cancelled")
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    NOT_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    COMPENSATED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    start_time: _timestamp_pb2.Timestamp
    accepted: int
    completed: int
    not_completed: int
    failed: int
    compensated: int
    cancelled: int
    def __init__(self, start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., accepted: _Optional[int] = ..., completed: _Optional[int] = ..., not_completed: _Optional[int] = ..., failed: _Optional[int] = ..., compensated: _Optional[int] = ..., cancelled: _Optional[int] = ...) -> None: ...

class UnservedTask(_message.Message):
    __slots__ = ("queue", "task", "oldest_time", "polled_time", "agent_version")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    OLDEST_TIME_FIELD_NUMBER: _ClassVar[int]
    POLLED_TIME_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    task: str
    oldest_time: _timestamp_pb2.Timestamp
    polled_time: _timestamp_pb2.Timestamp
    agent_version: str
    def __init__(self, queue: _Optional[str] = ..., task: _Optional[str] = ..., oldest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., polled_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent_version: _Optional[str] = ...) -> None: ...

class NamedPause(_message.Message):
    __slots__ = ("name", "pause", "schedules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    pause: _queue_pb2.Pause
    schedules: int
    def __init__(self, name: _Optional[str] = ..., pause: _Optional[_Union[_queue_pb2.Pause, _Mapping]] = ..., schedules: _Optional[int] = ...) -> None: ...

class GetClusterInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetClusterInfoResponse(_message.Message):
    __slots__ = ("server_version", "database_version", "clock_difference", "migrations", "open_runs", "more_open_runs", "durability")
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    DATABASE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CLOCK_DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    MIGRATIONS_FIELD_NUMBER: _ClassVar[int]
    OPEN_RUNS_FIELD_NUMBER: _ClassVar[int]
    MORE_OPEN_RUNS_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    server_version: str
    database_version: str
    clock_difference: _duration_pb2.Duration
    migrations: _containers.RepeatedCompositeFieldContainer[AppliedMigration]
    open_runs: _containers.RepeatedCompositeFieldContainer[OpenRuns]
    more_open_runs: bool
    durability: DatabaseDurability
    def __init__(self, server_version: _Optional[str] = ..., database_version: _Optional[str] = ..., clock_difference: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., migrations: _Optional[_Iterable[_Union[AppliedMigration, _Mapping]]] = ..., open_runs: _Optional[_Iterable[_Union[OpenRuns, _Mapping]]] = ..., more_open_runs: _Optional[bool] = ..., durability: _Optional[_Union[DatabaseDurability, _Mapping]] = ...) -> None: ...

class DatabaseDurability(_message.Message):
    __slots__ = ("crash_safe", "synchronous_commit", "synchronous_standby_names", "archives_log", "last_archived_time", "archive_failing_time")
    CRASH_SAFE_FIELD_NUMBER: _ClassVar[int]
    SYNCHRONOUS_COMMIT_FIELD_NUMBER: _ClassVar[int]
    SYNCHRONOUS_STANDBY_NAMES_FIELD_NUMBER: _ClassVar[int]
    ARCHIVES_LOG_FIELD_NUMBER: _ClassVar[int]
    LAST_ARCHIVED_TIME_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_FAILING_TIME_FIELD_NUMBER: _ClassVar[int]
    crash_safe: bool
    synchronous_commit: str
    synchronous_standby_names: str
    archives_log: bool
    last_archived_time: _timestamp_pb2.Timestamp
    archive_failing_time: _timestamp_pb2.Timestamp
    def __init__(self, crash_safe: _Optional[bool] = ..., synchronous_commit: _Optional[str] = ..., synchronous_standby_names: _Optional[str] = ..., archives_log: _Optional[bool] = ..., last_archived_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., archive_failing_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AppliedMigration(_message.Message):
    __slots__ = ("number", "name", "applied_time")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    APPLIED_TIME_FIELD_NUMBER: _ClassVar[int]
    number: int
    name: str
    applied_time: _timestamp_pb2.Timestamp
    def __init__(self, number: _Optional[int] = ..., name: _Optional[str] = ..., applied_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class OpenRuns(_message.Message):
    __slots__ = ("state", "count")
    STATE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    state: _run_pb2.RunState
    count: int
    def __init__(self, state: _Optional[_Union[_run_pb2.RunState, str]] = ..., count: _Optional[int] = ...) -> None: ...
