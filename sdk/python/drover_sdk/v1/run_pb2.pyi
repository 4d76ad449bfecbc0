import datetime

from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import task_pb2 as _task_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_PENDING: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_PAUSED: _ClassVar[RunState]
    RUN_STATE_STOPPING: _ClassVar[RunState]
    RUN_STATE_COMPENSATING: _ClassVar[RunState]
    RUN_STATE_ESCALATED: _ClassVar[RunState]
    RUN_STATE_COMPLETED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_COMPENSATED: _ClassVar[RunState]
    RUN_STATE_CANCELLED: _ClassVar[RunState]
    RUN_STATE_FINISHING: _ClassVar[RunState]

class RunReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_REASON_UNSPECIFIED: _ClassVar[RunReason]
    RUN_REASON_DONE: _ClassVar[RunReason]
    RUN_REASON_STEP_FAILED: _ClassVar[RunReason]
    RUN_REASON_TIMED_OUT: _ClassVar[RunReason]
    RUN_REASON_CANCELLED_BY_USER: _ClassVar[RunReason]
    RUN_REASON_NEVER_STARTED: _ClassVar[RunReason]
    RUN_REASON_REFUSED: _ClassVar[RunReason]
    RUN_REASON_CANCELLED_BY_NEWER: _ClassVar[RunReason]

class RunSubstate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_SUBSTATE_UNSPECIFIED: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WORKING: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WAITING_FOR_AGENT: _ClassVar[RunSubstate]
    RUN_SUBSTATE_RETRYING: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WAITING_FOR_SIGNAL: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WAITING_FOR_APPROVAL: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WAITING_FOR_CALLBACK: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WAITING_FOR_TIMER: _ClassVar[RunSubstate]
    RUN_SUBSTATE_WAITING_FOR_CHILD: _ClassVar[RunSubstate]
    RUN_SUBSTATE_HELD: _ClassVar[RunSubstate]

class StepState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_STATE_UNSPECIFIED: _ClassVar[StepState]
    STEP_STATE_BLOCKED: _ClassVar[StepState]
    STEP_STATE_READY: _ClassVar[StepState]
    STEP_STATE_LEASED: _ClassVar[StepState]
    STEP_STATE_BACKOFF: _ClassVar[StepState]
    STEP_STATE_WAITING: _ClassVar[StepState]
    STEP_STATE_VERIFYING: _ClassVar[StepState]
    STEP_STATE_ESCALATED: _ClassVar[StepState]
    STEP_STATE_SUCCEEDED: _ClassVar[StepState]
    STEP_STATE_FAILED: _ClassVar[StepState]
    STEP_STATE_SKIPPED: _ClassVar[StepState]
    STEP_STATE_CANCELLED: _ClassVar[StepState]

class UndoState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNDO_STATE_UNSPECIFIED: _ClassVar[UndoState]
    UNDO_STATE_NONE: _ClassVar[UndoState]
    UNDO_STATE_PENDING: _ClassVar[UndoState]
    UNDO_STATE_ACTIVE: _ClassVar[UndoState]
    UNDO_STATE_DONE: _ClassVar[UndoState]
    UNDO_STATE_FAILED: _ClassVar[UndoState]

class WaitingOn(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAITING_ON_UNSPECIFIED: _ClassVar[WaitingOn]
    WAITING_ON_TIMER: _ClassVar[WaitingOn]
    WAITING_ON_SIGNAL: _ClassVar[WaitingOn]
    WAITING_ON_APPROVAL: _ClassVar[WaitingOn]
    WAITING_ON_CALLBACK: _ClassVar[WaitingOn]
    WAITING_ON_CHILD: _ClassVar[WaitingOn]
    WAITING_ON_CHILD_END: _ClassVar[WaitingOn]
    WAITING_ON_ITEMS: _ClassVar[WaitingOn]

class StepKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_KIND_UNSPECIFIED: _ClassVar[StepKind]
    STEP_KIND_TASK: _ClassVar[StepKind]
    STEP_KIND_WAIT: _ClassVar[StepKind]
    STEP_KIND_SIGNAL: _ClassVar[StepKind]
    STEP_KIND_APPROVAL: _ClassVar[StepKind]
    STEP_KIND_RUN: _ClassVar[StepKind]
    STEP_KIND_MAP: _ClassVar[StepKind]

class ConcurrencyPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONCURRENCY_POLICY_UNSPECIFIED: _ClassVar[ConcurrencyPolicy]
    CONCURRENCY_POLICY_QUEUE: _ClassVar[ConcurrencyPolicy]
    CONCURRENCY_POLICY_REFUSE: _ClassVar[ConcurrencyPolicy]
    CONCURRENCY_POLICY_CANCEL_OLDEST: _ClassVar[ConcurrencyPolicy]
    CONCURRENCY_POLICY_QUEUE_ONE: _ClassVar[ConcurrencyPolicy]

class AttemptSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATTEMPT_SOURCE_UNSPECIFIED: _ClassVar[AttemptSource]
    ATTEMPT_SOURCE_TASK: _ClassVar[AttemptSource]
    ATTEMPT_SOURCE_ENGINE: _ClassVar[AttemptSource]
    ATTEMPT_SOURCE_ANSWER: _ClassVar[AttemptSource]

class OutcomeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_KIND_UNSPECIFIED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_SUCCESS: _ClassVar[OutcomeKind]
    OUTCOME_KIND_FAILURE: _ClassVar[OutcomeKind]
    OUTCOME_KIND_UNKNOWN: _ClassVar[OutcomeKind]
    OUTCOME_KIND_AGAIN: _ClassVar[OutcomeKind]
    OUTCOME_KIND_DEFERRED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_RELEASED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_CANCELLED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_GIVEN_BACK: _ClassVar[OutcomeKind]
    OUTCOME_KIND_SUPERSEDED: _ClassVar[OutcomeKind]

class SettingSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SETTING_SOURCE_UNSPECIFIED: _ClassVar[SettingSource]
    SETTING_SOURCE_DEFAULT: _ClassVar[SettingSource]
    SETTING_SOURCE_DEFINITION: _ClassVar[SettingSource]
    SETTING_SOURCE_NAMESPACE: _ClassVar[SettingSource]
    SETTING_SOURCE_SERVER: _ClassVar[SettingSource]
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_PENDING: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_PAUSED: RunState
RUN_STATE_STOPPING: RunState
RUN_STATE_COMPENSATING: RunState
RUN_STATE_ESCALATED: RunState
RUN_STATE_COMPLETED: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_COMPENSATED: RunState
RUN_STATE_CANCELLED: RunState
RUN_STATE_FINISHING: RunState
RUN_REASON_UNSPECIFIED: RunReason
RUN_REASON_DONE: RunReason
RUN_REASON_STEP_FAILED: RunReason
RUN_REASON_TIMED_OUT: RunReason
RUN_REASON_CANCELLED_BY_USER: RunReason
RUN_REASON_NEVER_STARTED: RunReason
RUN_REASON_REFUSED: RunReason
RUN_REASON_CANCELLED_BY_NEWER: RunReason
RUN_SUBSTATE_UNSPECIFIED: RunSubstate
RUN_SUBSTATE_WORKING: RunSubstate
RUN_SUBSTATE_WAITING_FOR_AGENT: RunSubstate
RUN_SUBSTATE_RETRYING: RunSubstate
RUN_SUBSTATE_WAITING_FOR_SIGNAL: RunSubstate
RUN_SUBSTATE_WAITING_FOR_APPROVAL: RunSubstate
RUN_SUBSTATE_WAITING_FOR_CALLBACK: RunSubstate
RUN_SUBSTATE_WAITING_FOR_TIMER: RunSubstate
RUN_SUBSTATE_WAITING_FOR_CHILD: RunSubstate
RUN_SUBSTATE_HELD: RunSubstate
STEP_STATE_UNSPECIFIED: StepState
STEP_STATE_BLOCKED: StepState
STEP_STATE_READY: StepState
STEP_STATE_LEASED: StepState
STEP_STATE_BACKOFF: StepState
STEP_STATE_WAITING: StepState
STEP_STATE_VERIFYING: StepState
STEP_STATE_ESCALATED: StepState
STEP_STATE_SUCCEEDED: StepState
STEP_STATE_FAILED: StepState
STEP_STATE_SKIPPED: StepState
STEP_STATE_CANCELLED: StepState
UNDO_STATE_UNSPECIFIED: UndoState
UNDO_STATE_NONE: UndoState
UNDO_STATE_PENDING: UndoState
UNDO_STATE_ACTIVE: UndoState
UNDO_STATE_DONE: UndoState
UNDO_STATE_FAILED: UndoState
WAITING_ON_UNSPECIFIED: WaitingOn
WAITING_ON_TIMER: WaitingOn
WAITING_ON_SIGNAL: WaitingOn
WAITING_ON_APPROVAL: WaitingOn
WAITING_ON_CALLBACK: WaitingOn
WAITING_ON_CHILD: WaitingOn
WAITING_ON_CHILD_END: WaitingOn
WAITING_ON_ITEMS: WaitingOn
STEP_KIND_UNSPECIFIED: StepKind
STEP_KIND_TASK: StepKind
STEP_KIND_WAIT: StepKind
STEP_KIND_SIGNAL: StepKind
STEP_KIND_APPROVAL: StepKind
STEP_KIND_RUN: StepKind
STEP_KIND_MAP: StepKind
CONCURRENCY_POLICY_UNSPECIFIED: ConcurrencyPolicy
CONCURRENCY_POLICY_QUEUE: ConcurrencyPolicy
CONCURRENCY_POLICY_REFUSE: ConcurrencyPolicy
CONCURRENCY_POLICY_CANCEL_OLDEST: ConcurrencyPolicy
CONCURRENCY_POLICY_QUEUE_ONE: ConcurrencyPolicy
ATTEMPT_SOURCE_UNSPECIFIED: AttemptSource
ATTEMPT_SOURCE_TASK: AttemptSource
ATTEMPT_SOURCE_ENGINE: AttemptSource
ATTEMPT_SOURCE_ANSWER: AttemptSource
OUTCOME_KIND_UNSPECIFIED: OutcomeKind
OUTCOME_KIND_SUCCESS: OutcomeKind
OUTCOME_KIND_FAILURE: OutcomeKind
OUTCOME_KIND_UNKNOWN: OutcomeKind
OUTCOME_KIND_AGAIN: OutcomeKind
OUTCOME_KIND_DEFERRED: OutcomeKind
OUTCOME_KIND_RELEASED: OutcomeKind
OUTCOME_KIND_CANCELLED: OutcomeKind
OUTCOME_KIND_GIVEN_BACK: OutcomeKind
OUTCOME_KIND_SUPERSEDED: OutcomeKind
SETTING_SOURCE_UNSPECIFIED: SettingSource
SETTING_SOURCE_DEFAULT: SettingSource
SETTING_SOURCE_DEFINITION: SettingSource
SETTING_SOURCE_NAMESPACE: SettingSource
SETTING_SOURCE_SERVER: SettingSource

class RunSubstateCount(_message.Message):
    __slots__ = ("substate", "steps")
    SUBSTATE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    substate: RunSubstate
    steps: int
    def __init__(self, substate: _Optional[_Union[RunSubstate, str]] = ..., steps: _Optional[int] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("run_id", "namespace", "key", "workflow", "workflow_version", "state", "reason", "labels", "priority", "input", "created_time", "ended_time", "deadline_time", "version", "cancel_reason", "warnings", "start_time", "concurrency", "rerun_of", "parent", "substates", "summary")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    ENDED_TIME_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_TIME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REASON_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    RERUN_OF_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SUBSTATES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    namespace: str
    key: str
    workflow: str
    workflow_version: int
    state: RunState
    reason: RunReason
    labels: _containers.ScalarMap[str, str]
    priority: int
    input: _payload_pb2.Payload
    created_time: _timestamp_pb2.Timestamp
    ended_time: _timestamp_pb2.Timestamp
    deadline_time: _timestamp_pb2.Timestamp
    version: int
    cancel_reason: str
    warnings: int
    start_time: _timestamp_pb2.Timestamp
    concurrency: Concurrency
    rerun_of: RerunOf
    parent: ParentRun
    substates: _containers.RepeatedCompositeFieldContainer[RunSubstateCount]
    summary: str
    def __init__(self, run_id: _Optional[str] = ..., namespace: _Optional[str] = ..., key: _Optional[str] = ..., workflow: _Optional[str] = ..., workflow_version: _Optional[int] = ..., state: _Optional[_Union[RunState, str]] = ..., reason: _Optional[_Union[RunReason, str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., priority: _Optional[int] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deadline_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., cancel_reason: _Optional[str] = ..., warnings: _Optional[int] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., concurrency: _Optional[_Union[Concurrency, _Mapping]] = ..., rerun_of: _Optional[_Union[RerunOf, _Mapping]] = ..., parent: _Optional[_Union[ParentRun, _Mapping]] = ..., substates: _Optional[_Iterable[_Union[RunSubstateCount, _Mapping]]] = ..., summary: _Optional[str] = ...) -> None: ...

class ParentRun(_message.Message):
    __slots__ = ("run_id", "step_id")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    step_id: str
    def __init__(self, run_id: _Optional[str] = ..., step_id: _Optional[str] = ...) -> None: ...

class RerunOf(_message.Message):
    __slots__ = ("run_id", "failed", "step_id")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    failed: bool
    step_id: str
    def __init__(self, run_id: _Optional[str] = ..., failed: _Optional[bool] = ..., step_id: _Optional[str] = ...) -> None: ...

class Concurrency(_message.Message):
    __slots__ = ("key", "limit", "policy")
    KEY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    key: str
    limit: int
    policy: ConcurrencyPolicy
    def __init__(self, key: _Optional[str] = ..., limit: _Optional[int] = ..., policy: _Optional[_Union[ConcurrencyPolicy, str]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("id", "state", "undo_state", "task", "queue", "attempt", "fence", "agent_id", "next_time", "output", "error", "needs", "kind", "strategy", "waiting_on", "verifies", "approvals", "reused_from", "child_run_id", "signal_name", "items", "suspect_time")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UNDO_STATE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NEXT_TIME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    WAITING_ON_FIELD_NUMBER: _ClassVar[int]
    VERIFIES_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    REUSED_FROM_FIELD_NUMBER: _ClassVar[int]
    CHILD_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_NAME_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    SUSPECT_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: StepState
    undo_state: UndoState
    task: str
    queue: str
    attempt: int
    fence: int
    agent_id: str
    next_time: _timestamp_pb2.Timestamp
    output: _payload_pb2.Payload
    error: Failure
    needs: _containers.RepeatedScalarFieldContainer[str]
    kind: StepKind
    strategy: int
    waiting_on: WaitingOn
    verifies: int
    approvals: int
    reused_from: str
    child_run_id: str
    signal_name: str
    items: ItemCounts
    suspect_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[StepState, str]] = ..., undo_state: _Optional[_Union[UndoState, str]] = ..., task: _Optional[str] = ..., queue: _Optional[str] = ..., attempt: _Optional[int] = ..., fence: _Optional[int] = ..., agent_id: _Optional[str] = ..., next_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., output: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., error: _Optional[_Union[Failure, _Mapping]] = ..., needs: _Optional[_Iterable[str]] = ..., kind: _Optional[_Union[StepKind, str]] = ..., strategy: _Optional[int] = ..., waiting_on: _Optional[_Union[WaitingOn, str]] = ..., verifies: _Optional[int] = ..., approvals: _Optional[int] = ..., reused_from: _Optional[str] = ..., child_run_id: _Optional[str] = ..., signal_name: _Optional[str] = ..., items: _Optional[_Union[ItemCounts, _Mapping]] = ..., suspect_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ItemCounts(_message.Message):
    __slots__ = ("total", "started", "open", "succeeded", "failed", "skipped", "undos_left")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    UNDOS_LEFT_FIELD_NUMBER: _ClassVar[int]
    total: int
    started: int
    open: int
    succeeded: int
    failed: int
    skipped: int
    undos_left: int
    def __init__(self, total: _Optional[int] = ..., started: _Optional[int] = ..., open: _Optional[int] = ..., succeeded: _Optional[int] = ..., failed: _Optional[int] = ..., skipped: _Optional[int] = ..., undos_left: _Optional[int] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("code", "message", "failure_class")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    failure_class: _task_pb2.FailureClass
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., failure_class: _Optional[_Union[_task_pb2.FailureClass, str]] = ...) -> None: ...

class RunWarning(_message.Message):
    __slots__ = ("step_id", "code", "message")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    code: str
    message: str
    def __init__(self, step_id: _Optional[str] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("step_id", "kind", "fence", "attempt", "agent_id", "session", "started_time", "ended_time", "outcome", "failure", "output", "late", "source", "n", "progress", "host")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    STARTED_TIME_FIELD_NUMBER: _ClassVar[int]
    ENDED_TIME_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    kind: _task_pb2.TaskKind
    fence: int
    attempt: int
    agent_id: str
    session: bytes
    started_time: _timestamp_pb2.Timestamp
    ended_time: _timestamp_pb2.Timestamp
    outcome: OutcomeKind
    failure: Failure
    output: _payload_pb2.Payload
    late: bool
    source: AttemptSource
    n: int
    progress: _task_pb2.Progress
    host: str
    def __init__(self, step_id: _Optional[str] = ..., kind: _Optional[_Union[_task_pb2.TaskKind, str]] = ..., fence: _Optional[int] = ..., attempt: _Optional[int] = ..., agent_id: _Optional[str] = ..., session: _Optional[bytes] = ..., started_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., outcome: _Optional[_Union[OutcomeKind, str]] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., output: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., late: _Optional[bool] = ..., source: _Optional[_Union[AttemptSource, str]] = ..., n: _Optional[int] = ..., progress: _Optional[_Union[_task_pb2.Progress, _Mapping]] = ..., host: _Optional[str] = ...) -> None: ...

class Intervention(_message.Message):
    __slots__ = ("run_id", "step_id", "rule", "saw", "did", "due_time", "acted_time", "supervisor", "partition", "epoch", "fence", "attempt", "workflow")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SAW_FIELD_NUMBER: _ClassVar[int]
    DID_FIELD_NUMBER: _ClassVar[int]
    DUE_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTED_TIME_FIELD_NUMBER: _ClassVar[int]
    SUPERVISOR_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    step_id: str
    rule: str
    saw: str
    did: str
    due_time: _timestamp_pb2.Timestamp
    acted_time: _timestamp_pb2.Timestamp
    supervisor: str
    partition: int
    epoch: int
    fence: int
    attempt: int
    workflow: str
    def __init__(self, run_id: _Optional[str] = ..., step_id: _Optional[str] = ..., rule: _Optional[str] = ..., saw: _Optional[str] = ..., did: _Optional[str] = ..., due_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., acted_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., supervisor: _Optional[str] = ..., partition: _Optional[int] = ..., epoch: _Optional[int] = ..., fence: _Optional[int] = ..., attempt: _Optional[int] = ..., workflow: _Optional[str] = ...) -> None: ...

class Escalation(_message.Message):
    __slots__ = ("id", "step_id", "reason", "message", "opened_time", "closed_time", "closed_by", "answers", "run_id", "workflow", "answer", "claimed_by", "claimed_time", "deadline_time", "code")
    ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OPENED_TIME_FIELD_NUMBER: _ClassVar[int]
    CLOSED_TIME_FIELD_NUMBER: _ClassVar[int]
    CLOSED_BY_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_BY_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_TIME_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_TIME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    id: str
    step_id: str
    reason: str
    message: str
    opened_time: _timestamp_pb2.Timestamp
    closed_time: _timestamp_pb2.Timestamp
    closed_by: str
    answers: _containers.RepeatedScalarFieldContainer[str]
    run_id: str
    workflow: str
    answer: EscalationAnswer
    claimed_by: str
    claimed_time: _timestamp_pb2.Timestamp
    deadline_time: _timestamp_pb2.Timestamp
    code: str
    def __init__(self, id: _Optional[str] = ..., step_id: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., opened_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., closed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., closed_by: _Optional[str] = ..., answers: _Optional[_Iterable[str]] = ..., run_id: _Optional[str] = ..., workflow: _Optional[str] = ..., answer: _Optional[_Union[EscalationAnswer, _Mapping]] = ..., claimed_by: _Optional[str] = ..., claimed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deadline_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., code: _Optional[str] = ...) -> None: ...

class EscalationAnswer(_message.Message):
    __slots__ = ("answer", "by", "by_verified", "why")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    BY_VERIFIED_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    answer: str
    by: str
    by_verified: bool
    why: str
    def __init__(self, answer: _Optional[str] = ..., by: _Optional[str] = ..., by_verified: _Optional[bool] = ..., why: _Optional[str] = ...) -> None: ...

class ReceivedSignal(_message.Message):
    __slots__ = ("seq", "signal_id", "name", "payload", "received_time", "taken_by")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_TIME_FIELD_NUMBER: _ClassVar[int]
    TAKEN_BY_FIELD_NUMBER: _ClassVar[int]
    seq: int
    signal_id: str
    name: str
    payload: _payload_pb2.Payload
    received_time: _timestamp_pb2.Timestamp
    taken_by: str
    def __init__(self, seq: _Optional[int] = ..., signal_id: _Optional[str] = ..., name: _Optional[str] = ..., payload: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., received_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., taken_by: _Optional[str] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("step_id", "approver", "approver_verified", "approved", "comment", "form", "decided_time")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    APPROVER_FIELD_NUMBER: _ClassVar[int]
    APPROVER_VERIFIED_FIELD_NUMBER: _ClassVar[int]
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    DECIDED_TIME_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    approver: str
    approver_verified: bool
    approved: bool
    comment: str
    form: _payload_pb2.Payload
    decided_time: _timestamp_pb2.Timestamp
    def __init__(self, step_id: _Optional[str] = ..., approver: _Optional[str] = ..., approver_verified: _Optional[bool] = ..., approved: _Optional[bool] = ..., comment: _Optional[str] = ..., form: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., decided_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class EffectiveSetting(_message.Message):
    __slots__ = ("step_id", "field", "value", "source")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    field: str
    value: str
    source: SettingSource
    def __init__(self, step_id: _Optional[str] = ..., field: _Optional[str] = ..., value: _Optional[str] = ..., source: _Optional[_Union[SettingSource, str]] = ...) -> None: ...
