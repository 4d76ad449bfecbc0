import datetime

from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import queue_pb2 as _queue_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StepLogs(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_LOGS_UNSPECIFIED: _ClassVar[StepLogs]
    STEP_LOGS_ON: _ClassVar[StepLogs]
    STEP_LOGS_OFF: _ClassVar[StepLogs]

class DeadlineAnswer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEADLINE_ANSWER_UNSPECIFIED: _ClassVar[DeadlineAnswer]
    DEADLINE_ANSWER_RETRY: _ClassVar[DeadlineAnswer]
    DEADLINE_ANSWER_SKIP: _ClassVar[DeadlineAnswer]
    DEADLINE_ANSWER_COMPENSATE: _ClassVar[DeadlineAnswer]
    DEADLINE_ANSWER_FAIL: _ClassVar[DeadlineAnswer]

class SignalExpiry(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_EXPIRY_UNSPECIFIED: _ClassVar[SignalExpiry]
    SIGNAL_EXPIRY_ESCALATE: _ClassVar[SignalExpiry]
    SIGNAL_EXPIRY_FAIL: _ClassVar[SignalExpiry]
    SIGNAL_EXPIRY_SKIP: _ClassVar[SignalExpiry]

class ApprovalExpiry(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPROVAL_EXPIRY_UNSPECIFIED: _ClassVar[ApprovalExpiry]
    APPROVAL_EXPIRY_ESCALATE: _ClassVar[ApprovalExpiry]
    APPROVAL_EXPIRY_REJECT: _ClassVar[ApprovalExpiry]
    APPROVAL_EXPIRY_APPROVE: _ClassVar[ApprovalExpiry]

class RunIf(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_IF_UNSPECIFIED: _ClassVar[RunIf]
    RUN_IF_ENDED: _ClassVar[RunIf]
    RUN_IF_ALL_OK: _ClassVar[RunIf]
    RUN_IF_ANY_OK: _ClassVar[RunIf]

class OnPickup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_PICKUP_UNSPECIFIED: _ClassVar[OnPickup]
    ON_PICKUP_ALARM: _ClassVar[OnPickup]
    ON_PICKUP_ESCALATE: _ClassVar[OnPickup]
    ON_PICKUP_FALLBACK: _ClassVar[OnPickup]

class Effects(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECTS_UNSPECIFIED: _ClassVar[Effects]
    EFFECTS_IDEMPOTENT: _ClassVar[Effects]
    EFFECTS_VERIFIABLE: _ClassVar[Effects]
    EFFECTS_ONCE: _ClassVar[Effects]

class CompensateWhen(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPENSATE_WHEN_UNSPECIFIED: _ClassVar[CompensateWhen]
    COMPENSATE_WHEN_FINISHED: _ClassVar[CompensateWhen]
    COMPENSATE_WHEN_ATTEMPTED: _ClassVar[CompensateWhen]

class OnFailure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_FAILURE_UNSPECIFIED: _ClassVar[OnFailure]
    ON_FAILURE_COMPENSATE: _ClassVar[OnFailure]
    ON_FAILURE_FAIL: _ClassVar[OnFailure]
    ON_FAILURE_CONTINUE: _ClassVar[OnFailure]
    ON_FAILURE_ESCALATE: _ClassVar[OnFailure]
STEP_LOGS_UNSPECIFIED: StepLogs
STEP_LOGS_ON: StepLogs
STEP_LOGS_OFF: StepLogs
DEADLINE_ANSWER_UNSPECIFIED: DeadlineAnswer
DEADLINE_ANSWER_RETRY: DeadlineAnswer
DEADLINE_ANSWER_SKIP: DeadlineAnswer
DEADLINE_ANSWER_COMPENSATE: DeadlineAnswer
DEADLINE_ANSWER_FAIL: DeadlineAnswer
SIGNAL_EXPIRY_UNSPECIFIED: SignalExpiry
SIGNAL_EXPIRY_ESCALATE: SignalExpiry
SIGNAL_EXPIRY_FAIL: SignalExpiry
SIGNAL_EXPIRY_SKIP: SignalExpiry
APPROVAL_EXPIRY_UNSPECIFIED: ApprovalExpiry
APPROVAL_EXPIRY_ESCALATE: ApprovalExpiry
APPROVAL_EXPIRY_REJECT: ApprovalExpiry
APPROVAL_EXPIRY_APPROVE: ApprovalExpiry
RUN_IF_UNSPECIFIED: RunIf
RUN_IF_ENDED: RunIf
RUN_IF_ALL_OK: RunIf
RUN_IF_ANY_OK: RunIf
ON_PICKUP_UNSPECIFIED: OnPickup
ON_PICKUP_ALARM: OnPickup
ON_PICKUP_ESCALATE: OnPickup
ON_PICKUP_FALLBACK: OnPickup
EFFECTS_UNSPECIFIED: Effects
EFFECTS_IDEMPOTENT: Effects
EFFECTS_VERIFIABLE: Effects
EFFECTS_ONCE: Effects
COMPENSATE_WHEN_UNSPECIFIED: CompensateWhen
COMPENSATE_WHEN_FINISHED: CompensateWhen
COMPENSATE_WHEN_ATTEMPTED: CompensateWhen
ON_FAILURE_UNSPECIFIED: OnFailure
ON_FAILURE_COMPENSATE: OnFailure
ON_FAILURE_FAIL: OnFailure
ON_FAILURE_CONTINUE: OnFailure
ON_FAILURE_ESCALATE: OnFailure

class WorkflowDefinition(_message.Message):
    __slots__ = ("workflow", "timeout", "steps", "input_schema")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    timeout: _duration_pb2.Duration
    steps: _containers.RepeatedCompositeFieldContainer[StepDefinition]
    input_schema: _payload_pb2.Payload
    def __init__(self, workflow: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[StepDefinition, _Mapping]]] = ..., input_schema: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class StepDefinition(_message.Message):
    __slots__ = ("id", "needs", "task", "wait", "signal", "approval", "run", "map", "input", "retry", "timeouts", "effects", "verify", "compensate", "fallback", "on_failure", "when", "run_if", "always", "pivot", "on_pickup", "output_schema", "escalation", "logs")
    ID_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    MAP_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    VERIFY_FIELD_NUMBER: _ClassVar[int]
    COMPENSATE_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    ON_FAILURE_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    RUN_IF_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_FIELD_NUMBER: _ClassVar[int]
    PIVOT_FIELD_NUMBER: _ClassVar[int]
    ON_PICKUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    needs: _containers.RepeatedScalarFieldContainer[str]
    task: TaskStep
    wait: WaitStep
    signal: SignalStep
    approval: ApprovalStep
    run: RunStep
    map: MapStep
    input: _payload_pb2.Payload
    retry: _containers.RepeatedCompositeFieldContainer[RetryPolicy]
    timeouts: Timeouts
    effects: Effects
    verify: Verify
    compensate: Compensate
    fallback: _containers.RepeatedCompositeFieldContainer[Fallback]
    on_failure: OnFailure
    when: str
    run_if: RunIf
    always: bool
    pivot: bool
    on_pickup: OnPickup
    output_schema: _payload_pb2.Payload
    escalation: Escalate
    logs: StepLogs
    def __init__(self, id: _Optional[str] = ..., needs: _Optional[_Iterable[str]] = ..., task: _Optional[_Union[TaskStep, _Mapping]] = ..., wait: _Optional[_Union[WaitStep, _Mapping]] = ..., signal: _Optional[_Union[SignalStep, _Mapping]] = ..., approval: _Optional[_Union[ApprovalStep, _Mapping]] = ..., run: _Optional[_Union[RunStep, _Mapping]] = ..., map: _Optional[_Union[MapStep, _Mapping]] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., retry: _Optional[_Iterable[_Union[RetryPolicy, _Mapping]]] = ..., timeouts: _Optional[_Union[Timeouts, _Mapping]] = ..., effects: _Optional[_Union[Effects, str]] = ..., verify: _Optional[_Union[Verify, _Mapping]] = ..., compensate: _Optional[_Union[Compensate, _Mapping]] = ..., fallback: _Optional[_Iterable[_Union[Fallback, _Mapping]]] = ..., on_failure: _Optional[_Union[OnFailure, str]] = ..., when: _Optional[str] = ..., run_if: _Optional[_Union[RunIf, str]] = ..., always: _Optional[bool] = ..., pivot: _Optional[bool] = ..., on_pickup: _Optional[_Union[OnPickup, str]] = ..., output_schema: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., escalation: _Optional[_Union[Escalate, _Mapping]] = ..., logs: _Optional[_Union[StepLogs, str]] = ...) -> None: ...

class Escalate(_message.Message):
    __slots__ = ("remind", "deadline", "then")
    REMIND_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    remind: _duration_pb2.Duration
    deadline: _duration_pb2.Duration
    then: DeadlineAnswer
    def __init__(self, remind: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., then: _Optional[_Union[DeadlineAnswer, str]] = ...) -> None: ...

class TaskStep(_message.Message):
    __slots__ = ("name", "queue")
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    queue: str
    def __init__(self, name: _Optional[str] = ..., queue: _Optional[str] = ...) -> None: ...

class MapStep(_message.Message):
    __slots__ = ("over", "task", "queue", "concurrency", "tolerate", "tolerate_percent", "waves")
    OVER_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    TOLERATE_FIELD_NUMBER: _ClassVar[int]
    TOLERATE_PERCENT_FIELD_NUMBER: _ClassVar[int]
    WAVES_FIELD_NUMBER: _ClassVar[int]
    over: str
    task: str
    queue: str
    concurrency: int
    tolerate: int
    tolerate_percent: float
    waves: Waves
    def __init__(self, over: _Optional[str] = ..., task: _Optional[str] = ..., queue: _Optional[str] = ..., concurrency: _Optional[int] = ..., tolerate: _Optional[int] = ..., tolerate_percent: _Optional[float] = ..., waves: _Optional[_Union[Waves, _Mapping]] = ...) -> None: ...

class Waves(_message.Message):
    __slots__ = ("size", "percent", "pause", "gate")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    PERCENT_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    size: int
    percent: float
    pause: _duration_pb2.Duration
    gate: Gate
    def __init__(self, size: _Optional[int] = ..., percent: _Optional[float] = ..., pause: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., gate: _Optional[_Union[Gate, _Mapping]] = ...) -> None: ...

class Gate(_message.Message):
    __slots__ = ("task", "queue", "input", "retry", "timeouts")
    TASK_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    task: str
    queue: str
    input: _payload_pb2.Payload
    retry: _containers.RepeatedCompositeFieldContainer[RetryPolicy]
    timeouts: Timeouts
    def __init__(self, task: _Optional[str] = ..., queue: _Optional[str] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., retry: _Optional[_Iterable[_Union[RetryPolicy, _Mapping]]] = ..., timeouts: _Optional[_Union[Timeouts, _Mapping]] = ...) -> None: ...

class WaitStep(_message.Message):
    __slots__ = ("until",)
    FOR_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    until: str
    def __init__(self, until: _Optional[str] = ..., **kwargs) -> None: ...

class RunStep(_message.Message):
    __slots__ = ("workflow", "version")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    version: int
    def __init__(self, workflow: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SignalStep(_message.Message):
    __slots__ = ("name", "within", "on_expiry")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    ON_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    name: str
    within: _duration_pb2.Duration
    on_expiry: SignalExpiry
    def __init__(self, name: _Optional[str] = ..., within: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., on_expiry: _Optional[_Union[SignalExpiry, str]] = ...) -> None: ...

class ApprovalStep(_message.Message):
    __slots__ = ("approvers", "need", "not_requester", "form", "within", "on_expiry")
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    NEED_FIELD_NUMBER: _ClassVar[int]
    NOT_REQUESTER_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    ON_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    approvers: _containers.RepeatedScalarFieldContainer[str]
    need: int
    not_requester: bool
    form: _payload_pb2.Payload
    within: _duration_pb2.Duration
    on_expiry: ApprovalExpiry
    def __init__(self, approvers: _Optional[_Iterable[str]] = ..., need: _Optional[int] = ..., not_requester: _Optional[bool] = ..., form: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., within: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., on_expiry: _Optional[_Union[ApprovalExpiry, str]] = ...) -> None: ...

class RetryPolicy(_message.Message):
    __slots__ = ("on", "attempts", "initial", "factor", "max", "jitter")
    ON_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    INITIAL_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    on: _containers.RepeatedScalarFieldContainer[str]
    attempts: int
    initial: _duration_pb2.Duration
    factor: float
    max: _duration_pb2.Duration
    jitter: float
    def __init__(self, on: _Optional[_Iterable[str]] = ..., attempts: _Optional[int] = ..., initial: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., factor: _Optional[float] = ..., max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., jitter: _Optional[float] = ...) -> None: ...

class Timeouts(_message.Message):
    __slots__ = ("pickup", "attempt", "heartbeat", "stall", "total", "cancel", "settle", "callback")
    PICKUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    STALL_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    SETTLE_FIELD_NUMBER: _ClassVar[int]
    CALLBACK_FIELD_NUMBER: _ClassVar[int]
    pickup: _duration_pb2.Duration
    attempt: _duration_pb2.Duration
    heartbeat: _duration_pb2.Duration
    stall: _duration_pb2.Duration
    total: _duration_pb2.Duration
    cancel: _duration_pb2.Duration
    settle: _duration_pb2.Duration
    callback: _duration_pb2.Duration
    def __init__(self, pickup: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., attempt: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heartbeat: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stall: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., total: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., cancel: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., settle: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., callback: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Verify(_message.Message):
    __slots__ = ("task", "queue", "retry", "timeouts")
    TASK_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    task: str
    queue: str
    retry: _containers.RepeatedCompositeFieldContainer[RetryPolicy]
    timeouts: Timeouts
    def __init__(self, task: _Optional[str] = ..., queue: _Optional[str] = ..., retry: _Optional[_Iterable[_Union[RetryPolicy, _Mapping]]] = ..., timeouts: _Optional[_Union[Timeouts, _Mapping]] = ...) -> None: ...

class Compensate(_message.Message):
    __slots__ = ("task", "queue", "retry", "timeouts", "when")
    TASK_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    task: str
    queue: str
    retry: _containers.RepeatedCompositeFieldContainer[RetryPolicy]
    timeouts: Timeouts
    when: CompensateWhen
    def __init__(self, task: _Optional[str] = ..., queue: _Optional[str] = ..., retry: _Optional[_Iterable[_Union[RetryPolicy, _Mapping]]] = ..., timeouts: _Optional[_Union[Timeouts, _Mapping]] = ..., when: _Optional[_Union[CompensateWhen, str]] = ...) -> None: ...

class Fallback(_message.Message):
    __slots__ = ("queue", "task", "input", "run")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    queue: str
    task: str
    input: _payload_pb2.Payload
    run: RunStep
    def __init__(self, queue: _Optional[str] = ..., task: _Optional[str] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., run: _Optional[_Union[RunStep, _Mapping]] = ...) -> None: ...

class Workflow(_message.Message):
    __slots__ = ("namespace", "name", "version", "default_version", "created_time", "definition", "pause")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    version: int
    default_version: int
    created_time: _timestamp_pb2.Timestamp
    definition: WorkflowDefinition
    pause: _queue_pb2.Pause
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., default_version: _Optional[int] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., definition: _Optional[_Union[WorkflowDefinition, _Mapping]] = ..., pause: _Optional[_Union[_queue_pb2.Pause, _Mapping]] = ...) -> None: ...

class WorkflowSummary(_message.Message):
    __slots__ = ("name", "default_version", "newest_version", "created_time", "versions", "statistics")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VERSION_FIELD_NUMBER: _ClassVar[int]
    NEWEST_VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    name: str
    default_version: int
    newest_version: int
    created_time: _timestamp_pb2.Timestamp
    versions: _containers.RepeatedCompositeFieldContainer[WorkflowVersion]
    statistics: WorkflowStatistics
    def __init__(self, name: _Optional[str] = ..., default_version: _Optional[int] = ..., newest_version: _Optional[int] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., versions: _Optional[_Iterable[_Union[WorkflowVersion, _Mapping]]] = ..., statistics: _Optional[_Union[WorkflowStatistics, _Mapping]] = ...) -> None: ...

class WorkflowStatistics(_message.Message):
    __slots__ = ("since_time", "completed", "failed", "compensated", "cancelled", "p50", "p95", "last_failure_time")
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    COMPENSATED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    P50_FIELD_NUMBER: _ClassVar[int]
    P95_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_TIME_FIELD_NUMBER: _ClassVar[int]
    since_time: _timestamp_pb2.Timestamp
    completed: int
    failed: int
    compensated: int
    cancelled: int
    p50: _duration_pb2.Duration
    p95: _duration_pb2.Duration
    last_failure_time: _timestamp_pb2.Timestamp
    def __init__(self, since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., completed: _Optional[int] = ..., failed: _Optional[int] = ..., compensated: _Optional[int] = ..., cancelled: _Optional[int] = ..., p50: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., p95: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., last_failure_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WorkflowVersion(_message.Message):
    __slots__ = ("version", "created_time", "open_runs")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    OPEN_RUNS_FIELD_NUMBER: _ClassVar[int]
    version: int
    created_time: _timestamp_pb2.Timestamp
    open_runs: int
    def __init__(self, version: _Optional[int] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., open_runs: _Optional[int] = ...) -> None: ...

class StepDurations(_message.Message):
    __slots__ = ("step_id", "of_items", "samples", "p50", "p90", "p99", "slow_after")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    OF_ITEMS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    P50_FIELD_NUMBER: _ClassVar[int]
    P90_FIELD_NUMBER: _ClassVar[int]
    P99_FIELD_NUMBER: _ClassVar[int]
    SLOW_AFTER_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    of_items: bool
    samples: int
    p50: _duration_pb2.Duration
    p90: _duration_pb2.Duration
    p99: _duration_pb2.Duration
    slow_after: _duration_pb2.Duration
    def __init__(self, step_id: _Optional[str] = ..., of_items: _Optional[bool] = ..., samples: _Optional[int] = ..., p50: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., p90: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., p99: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., slow_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
