import datetime

from drover_sdk.v1 import circuit_pb2 as _circuit_pb2
from drover_sdk.v1 import queue_pb2 as _queue_pb2
from drover_sdk.v1 import run_pb2 as _run_pb2
from drover_sdk.v1 import task_pb2 as _task_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WaitKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAIT_KIND_UNSPECIFIED: _ClassVar[WaitKind]
    WAIT_KIND_AGENT_TO_POLL: _ClassVar[WaitKind]
    WAIT_KIND_AGENT_WORKING: _ClassVar[WaitKind]
    WAIT_KIND_AGENT_TO_STOP: _ClassVar[WaitKind]
    WAIT_KIND_BACKOFF: _ClassVar[WaitKind]
    WAIT_KIND_AGAIN: _ClassVar[WaitKind]
    WAIT_KIND_SETTLE: _ClassVar[WaitKind]
    WAIT_KIND_TIMER: _ClassVar[WaitKind]
    WAIT_KIND_SIGNAL: _ClassVar[WaitKind]
    WAIT_KIND_APPROVAL: _ClassVar[WaitKind]
    WAIT_KIND_CALLBACK: _ClassVar[WaitKind]
    WAIT_KIND_PERSON: _ClassVar[WaitKind]
    WAIT_KIND_RESUME: _ClassVar[WaitKind]
    WAIT_KIND_STEPS: _ClassVar[WaitKind]
    WAIT_KIND_END_OF_RUN: _ClassVar[WaitKind]
    WAIT_KIND_ENDED: _ClassVar[WaitKind]
    WAIT_KIND_START: _ClassVar[WaitKind]
    WAIT_KIND_PERMIT: _ClassVar[WaitKind]
    WAIT_KIND_ITEMS: _ClassVar[WaitKind]
    WAIT_KIND_CHILD: _ClassVar[WaitKind]
    WAIT_KIND_QUEUE_TO_RESUME: _ClassVar[WaitKind]
    WAIT_KIND_CIRCUIT_TO_CLOSE: _ClassVar[WaitKind]

class NextKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NEXT_KIND_UNSPECIFIED: _ClassVar[NextKind]
    NEXT_KIND_CHECK_AGAIN: _ClassVar[NextKind]
    NEXT_KIND_ALARM: _ClassVar[NextKind]
    NEXT_KIND_ESCALATE: _ClassVar[NextKind]
    NEXT_KIND_FALL_BACK: _ClassVar[NextKind]
    NEXT_KIND_FAIL: _ClassVar[NextKind]
    NEXT_KIND_CHECK_LEASE: _ClassVar[NextKind]
    NEXT_KIND_TELL_TO_STOP: _ClassVar[NextKind]
    NEXT_KIND_END_LEASE: _ClassVar[NextKind]
    NEXT_KIND_MAKE_READY: _ClassVar[NextKind]
    NEXT_KIND_SUCCEED: _ClassVar[NextKind]
    NEXT_KIND_SKIP: _ClassVar[NextKind]
    NEXT_KIND_COUNT_AS_UNKNOWN: _ClassVar[NextKind]
    NEXT_KIND_UNDO: _ClassVar[NextKind]
    NEXT_KIND_START: _ClassVar[NextKind]
    NEXT_KIND_GIVE_UP: _ClassVar[NextKind]
    NEXT_KIND_NEXT_WAVE: _ClassVar[NextKind]
    NEXT_KIND_STOP_CHILD: _ClassVar[NextKind]
    NEXT_KIND_TRY_ONE: _ClassVar[NextKind]

class ActionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_KIND_UNSPECIFIED: _ClassVar[ActionKind]
    ACTION_KIND_START_AGENT: _ClassVar[ActionKind]
    ACTION_KIND_ANSWER: _ClassVar[ActionKind]
    ACTION_KIND_SIGNAL: _ClassVar[ActionKind]
    ACTION_KIND_DECIDE: _ClassVar[ActionKind]
    ACTION_KIND_COMPLETE_DEFERRED: _ClassVar[ActionKind]
    ACTION_KIND_PAUSE: _ClassVar[ActionKind]
    ACTION_KIND_RESUME: _ClassVar[ActionKind]
    ACTION_KIND_CANCEL: _ClassVar[ActionKind]
    ACTION_KIND_RETRY_RUN: _ClassVar[ActionKind]
    ACTION_KIND_RERUN: _ClassVar[ActionKind]
    ACTION_KIND_RESUME_QUEUE: _ClassVar[ActionKind]
    ACTION_KIND_RESUME_NAMESPACE: _ClassVar[ActionKind]
    ACTION_KIND_RESUME_WORKFLOW: _ClassVar[ActionKind]
    ACTION_KIND_SET_CIRCUIT: _ClassVar[ActionKind]
    ACTION_KIND_UNCORDON_AGENT: _ClassVar[ActionKind]
    ACTION_KIND_START_SUPERVISOR: _ClassVar[ActionKind]

class PausedThing(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAUSED_THING_UNSPECIFIED: _ClassVar[PausedThing]
    PAUSED_THING_QUEUE: _ClassVar[PausedThing]
    PAUSED_THING_NAMESPACE: _ClassVar[PausedThing]
    PAUSED_THING_WORKFLOW: _ClassVar[PausedThing]

class StopCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STOP_CAUSE_UNSPECIFIED: _ClassVar[StopCause]
    STOP_CAUSE_RUN: _ClassVar[StopCause]
    STOP_CAUSE_TIMEOUT: _ClassVar[StopCause]
    STOP_CAUSE_STALLED: _ClassVar[StopCause]
WAIT_KIND_UNSPECIFIED: WaitKind
WAIT_KIND_AGENT_TO_POLL: WaitKind
WAIT_KIND_AGENT_WORKING: WaitKind
WAIT_KIND_AGENT_TO_STOP: WaitKind
WAIT_KIND_BACKOFF: WaitKind
WAIT_KIND_AGAIN: WaitKind
WAIT_KIND_SETTLE: WaitKind
WAIT_KIND_TIMER: WaitKind
WAIT_KIND_SIGNAL: WaitKind
WAIT_KIND_APPROVAL: WaitKind
WAIT_KIND_CALLBACK: WaitKind
WAIT_KIND_PERSON: WaitKind
WAIT_KIND_RESUME: WaitKind
WAIT_KIND_STEPS: WaitKind
WAIT_KIND_END_OF_RUN: WaitKind
WAIT_KIND_ENDED: WaitKind
WAIT_KIND_START: WaitKind
WAIT_KIND_PERMIT: WaitKind
WAIT_KIND_ITEMS: WaitKind
WAIT_KIND_CHILD: WaitKind
WAIT_KIND_QUEUE_TO_RESUME: WaitKind
WAIT_KIND_CIRCUIT_TO_CLOSE: WaitKind
NEXT_KIND_UNSPECIFIED: NextKind
NEXT_KIND_CHECK_AGAIN: NextKind
NEXT_KIND_ALARM: NextKind
NEXT_KIND_ESCALATE: NextKind
NEXT_KIND_FALL_BACK: NextKind
NEXT_KIND_FAIL: NextKind
NEXT_KIND_CHECK_LEASE: NextKind
NEXT_KIND_TELL_TO_STOP: NextKind
NEXT_KIND_END_LEASE: NextKind
NEXT_KIND_MAKE_READY: NextKind
NEXT_KIND_SUCCEED: NextKind
NEXT_KIND_SKIP: NextKind
NEXT_KIND_COUNT_AS_UNKNOWN: NextKind
NEXT_KIND_UNDO: NextKind
NEXT_KIND_START: NextKind
NEXT_KIND_GIVE_UP: NextKind
NEXT_KIND_NEXT_WAVE: NextKind
NEXT_KIND_STOP_CHILD: NextKind
NEXT_KIND_TRY_ONE: NextKind
ACTION_KIND_UNSPECIFIED: ActionKind
ACTION_KIND_START_AGENT: ActionKind
ACTION_KIND_ANSWER: ActionKind
ACTION_KIND_SIGNAL: ActionKind
ACTION_KIND_DECIDE: ActionKind
ACTION_KIND_COMPLETE_DEFERRED: ActionKind
ACTION_KIND_PAUSE: ActionKind
ACTION_KIND_RESUME: ActionKind
ACTION_KIND_CANCEL: ActionKind
ACTION_KIND_RETRY_RUN: ActionKind
ACTION_KIND_RERUN: ActionKind
ACTION_KIND_RESUME_QUEUE: ActionKind
ACTION_KIND_RESUME_NAMESPACE: ActionKind
ACTION_KIND_RESUME_WORKFLOW: ActionKind
ACTION_KIND_SET_CIRCUIT: ActionKind
ACTION_KIND_UNCORDON_AGENT: ActionKind
ACTION_KIND_START_SUPERVISOR: ActionKind
PAUSED_THING_UNSPECIFIED: PausedThing
PAUSED_THING_QUEUE: PausedThing
PAUSED_THING_NAMESPACE: PausedThing
PAUSED_THING_WORKFLOW: PausedThing
STOP_CAUSE_UNSPECIFIED: StopCause
STOP_CAUSE_RUN: StopCause
STOP_CAUSE_TIMEOUT: StopCause
STOP_CAUSE_STALLED: StopCause

class Wait(_message.Message):
    __slots__ = ("step_id", "undo", "waiting_for", "sentence", "since_time", "next", "next_time", "tried", "actions", "waits_on", "task_kind", "lane", "agent", "signal_name", "approval", "escalation", "child", "pause", "circuit")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    NEXT_TIME_FIELD_NUMBER: _ClassVar[int]
    TRIED_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    WAITS_ON_FIELD_NUMBER: _ClassVar[int]
    TASK_KIND_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_NAME_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    CIRCUIT_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    undo: bool
    waiting_for: WaitKind
    sentence: str
    since_time: _timestamp_pb2.Timestamp
    next: NextKind
    next_time: _timestamp_pb2.Timestamp
    tried: Tried
    actions: _containers.RepeatedCompositeFieldContainer[PersonAction]
    waits_on: _containers.RepeatedScalarFieldContainer[str]
    task_kind: _task_pb2.TaskKind
    lane: LaneWait
    agent: AgentWait
    signal_name: str
    approval: ApprovalWait
    escalation: EscalationWait
    child: ChildWait
    pause: PauseWait
    circuit: _circuit_pb2.Circuit
    def __init__(self, step_id: _Optional[str] = ..., undo: _Optional[bool] = ..., waiting_for: _Optional[_Union[WaitKind, str]] = ..., sentence: _Optional[str] = ..., since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next: _Optional[_Union[NextKind, str]] = ..., next_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tried: _Optional[_Union[Tried, _Mapping]] = ..., actions: _Optional[_Iterable[_Union[PersonAction, _Mapping]]] = ..., waits_on: _Optional[_Iterable[str]] = ..., task_kind: _Optional[_Union[_task_pb2.TaskKind, str]] = ..., lane: _Optional[_Union[LaneWait, _Mapping]] = ..., agent: _Optional[_Union[AgentWait, _Mapping]] = ..., signal_name: _Optional[str] = ..., approval: _Optional[_Union[ApprovalWait, _Mapping]] = ..., escalation: _Optional[_Union[EscalationWait, _Mapping]] = ..., child: _Optional[_Union[ChildWait, _Mapping]] = ..., pause: _Optional[_Union[PauseWait, _Mapping]] = ..., circuit: _Optional[_Union[_circuit_pb2.Circuit, _Mapping]] = ...) -> None: ...

class ChildWait(_message.Message):
    __slots__ = ("run_id", "stopping")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STOPPING_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    stopping: bool
    def __init__(self, run_id: _Optional[str] = ..., stopping: _Optional[bool] = ...) -> None: ...

class LaneWait(_message.Message):
    __slots__ = ("queue", "task", "polled", "last_poll_time", "alarms", "cordoned", "agent_version")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    POLLED_FIELD_NUMBER: _ClassVar[int]
    LAST_POLL_TIME_FIELD_NUMBER: _ClassVar[int]
    ALARMS_FIELD_NUMBER: _ClassVar[int]
    CORDONED_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    task: str
    polled: bool
    last_poll_time: _timestamp_pb2.Timestamp
    alarms: int
    cordoned: int
    agent_version: str
    def __init__(self, queue: _Optional[str] = ..., task: _Optional[str] = ..., polled: _Optional[bool] = ..., last_poll_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., alarms: _Optional[int] = ..., cordoned: _Optional[int] = ..., agent_version: _Optional[str] = ...) -> None: ...

class PauseWait(_message.Message):
    __slots__ = ("queue", "task", "of", "pause")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    task: str
    of: PausedThing
    pause: _queue_pb2.Pause
    def __init__(self, queue: _Optional[str] = ..., task: _Optional[str] = ..., of: _Optional[_Union[PausedThing, str]] = ..., pause: _Optional[_Union[_queue_pb2.Pause, _Mapping]] = ...) -> None: ...

class AgentWait(_message.Message):
    __slots__ = ("agent_id", "last_heartbeat_time", "progress", "progress_time", "attempt_end_time", "stop_cause", "stop_delivered", "suspect_time")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_TIME_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_TIME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_END_TIME_FIELD_NUMBER: _ClassVar[int]
    STOP_CAUSE_FIELD_NUMBER: _ClassVar[int]
    STOP_DELIVERED_FIELD_NUMBER: _ClassVar[int]
    SUSPECT_TIME_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    last_heartbeat_time: _timestamp_pb2.Timestamp
    progress: _task_pb2.Progress
    progress_time: _timestamp_pb2.Timestamp
    attempt_end_time: _timestamp_pb2.Timestamp
    stop_cause: StopCause
    stop_delivered: bool
    suspect_time: _timestamp_pb2.Timestamp
    def __init__(self, agent_id: _Optional[str] = ..., last_heartbeat_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[_task_pb2.Progress, _Mapping]] = ..., progress_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt_end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stop_cause: _Optional[_Union[StopCause, str]] = ..., stop_delivered: _Optional[bool] = ..., suspect_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ApprovalWait(_message.Message):
    __slots__ = ("approvers", "approvals", "need")
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    NEED_FIELD_NUMBER: _ClassVar[int]
    approvers: _containers.RepeatedScalarFieldContainer[str]
    approvals: int
    need: int
    def __init__(self, approvers: _Optional[_Iterable[str]] = ..., approvals: _Optional[int] = ..., need: _Optional[int] = ...) -> None: ...

class EscalationWait(_message.Message):
    __slots__ = ("id", "reason", "message")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    message: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Tried(_message.Message):
    __slots__ = ("attempts", "lost", "handed_out", "verifies", "strategy", "strategies", "last_outcome", "last_failure", "last_agent_id", "last_ended_time")
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    HANDED_OUT_FIELD_NUMBER: _ClassVar[int]
    VERIFIES_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    STRATEGIES_FIELD_NUMBER: _ClassVar[int]
    LAST_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    LAST_AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_ENDED_TIME_FIELD_NUMBER: _ClassVar[int]
    attempts: int
    lost: int
    handed_out: int
    verifies: int
    strategy: int
    strategies: int
    last_outcome: _run_pb2.OutcomeKind
    last_failure: _run_pb2.Failure
    last_agent_id: str
    last_ended_time: _timestamp_pb2.Timestamp
    def __init__(self, attempts: _Optional[int] = ..., lost: _Optional[int] = ..., handed_out: _Optional[int] = ..., verifies: _Optional[int] = ..., strategy: _Optional[int] = ..., strategies: _Optional[int] = ..., last_outcome: _Optional[_Union[_run_pb2.OutcomeKind, str]] = ..., last_failure: _Optional[_Union[_run_pb2.Failure, _Mapping]] = ..., last_agent_id: _Optional[str] = ..., last_ended_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class UntakenSignal(_message.Message):
    __slots__ = ("name", "signal_id", "received_time", "sentence")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_TIME_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    signal_id: str
    received_time: _timestamp_pb2.Timestamp
    sentence: str
    def __init__(self, name: _Optional[str] = ..., signal_id: _Optional[str] = ..., received_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sentence: _Optional[str] = ...) -> None: ...

class PersonAction(_message.Message):
    __slots__ = ("kind", "step_id", "escalation_id", "choices", "signal_name", "queue", "task", "approvers", "workflow", "agent_version", "region")
    KIND_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_ID_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    kind: ActionKind
    step_id: str
    escalation_id: str
    choices: _containers.RepeatedScalarFieldContainer[str]
    signal_name: str
    queue: str
    task: str
    approvers: _containers.RepeatedScalarFieldContainer[str]
    workflow: str
    agent_version: str
    region: str
    def __init__(self, kind: _Optional[_Union[ActionKind, str]] = ..., step_id: _Optional[str] = ..., escalation_id: _Optional[str] = ..., choices: _Optional[_Iterable[str]] = ..., signal_name: _Optional[str] = ..., queue: _Optional[str] = ..., task: _Optional[str] = ..., approvers: _Optional[_Iterable[str]] = ..., workflow: _Optional[str] = ..., agent_version: _Optional[str] = ..., region: _Optional[str] = ...) -> None: ...
