import datetime

from drover_sdk.v1 import explain_pb2 as _explain_pb2
from drover_sdk.v1 import overview_pb2 as _overview_pb2
from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import run_pb2 as _run_pb2
from drover_sdk.v1 import schedule_pb2 as _schedule_pb2
from drover_sdk.v1 import task_pb2 as _task_pb2
from drover_sdk.v1 import workflow_pb2 as _workflow_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_ORDER_UNSPECIFIED: _ClassVar[RunOrder]
    RUN_ORDER_CREATED_DESC: _ClassVar[RunOrder]
    RUN_ORDER_CREATED_ASC: _ClassVar[RunOrder]

class Undo(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNDO_UNSPECIFIED: _ClassVar[Undo]
    UNDO_COMPENSATE: _ClassVar[Undo]
    UNDO_LEAVE: _ClassVar[Undo]

class RerunVersion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RERUN_VERSION_UNSPECIFIED: _ClassVar[RerunVersion]
    RERUN_VERSION_SAME: _ClassVar[RerunVersion]
    RERUN_VERSION_NEWEST: _ClassVar[RerunVersion]

class BulkKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BULK_KIND_UNSPECIFIED: _ClassVar[BulkKind]
    BULK_KIND_CANCEL: _ClassVar[BulkKind]
    BULK_KIND_PAUSE: _ClassVar[BulkKind]
    BULK_KIND_RESUME: _ClassVar[BulkKind]
    BULK_KIND_RETRY: _ClassVar[BulkKind]
    BULK_KIND_SIGNAL: _ClassVar[BulkKind]
    BULK_KIND_RERUN: _ClassVar[BulkKind]
    BULK_KIND_ERASE: _ClassVar[BulkKind]

class DecisionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_KIND_UNSPECIFIED: _ClassVar[DecisionKind]
    DECISION_KIND_APPROVE: _ClassVar[DecisionKind]
    DECISION_KIND_REJECT: _ClassVar[DecisionKind]
RUN_ORDER_UNSPECIFIED: RunOrder
RUN_ORDER_CREATED_DESC: RunOrder
RUN_ORDER_CREATED_ASC: RunOrder
UNDO_UNSPECIFIED: Undo
UNDO_COMPENSATE: Undo
UNDO_LEAVE: Undo
RERUN_VERSION_UNSPECIFIED: RerunVersion
RERUN_VERSION_SAME: RerunVersion
RERUN_VERSION_NEWEST: RerunVersion
BULK_KIND_UNSPECIFIED: BulkKind
BULK_KIND_CANCEL: BulkKind
BULK_KIND_PAUSE: BulkKind
BULK_KIND_RESUME: BulkKind
BULK_KIND_RETRY: BulkKind
BULK_KIND_SIGNAL: BulkKind
BULK_KIND_RERUN: BulkKind
BULK_KIND_ERASE: BulkKind
DECISION_KIND_UNSPECIFIED: DecisionKind
DECISION_KIND_APPROVE: DecisionKind
DECISION_KIND_REJECT: DecisionKind

class RegisterWorkflowRequest(_message.Message):
    __slots__ = ("namespace", "definition", "text", "keep_default")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KEEP_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    definition: _workflow_pb2.WorkflowDefinition
    text: str
    keep_default: bool
    def __init__(self, namespace: _Optional[str] = ..., definition: _Optional[_Union[_workflow_pb2.WorkflowDefinition, _Mapping]] = ..., text: _Optional[str] = ..., keep_default: _Optional[bool] = ...) -> None: ...

class RegisterWorkflowResponse(_message.Message):
    __slots__ = ("name", "version", "created")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    created: bool
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., created: _Optional[bool] = ...) -> None: ...

class SetDefaultVersionRequest(_message.Message):
    __slots__ = ("namespace", "name", "version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    version: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SetDefaultVersionResponse(_message.Message):
    __slots__ = ("previous_version", "version")
    PREVIOUS_VERSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    previous_version: int
    version: int
    def __init__(self, previous_version: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class GetWorkflowRequest(_message.Message):
    __slots__ = ("namespace", "name", "version", "include_versions", "include_durations", "include_statistics", "include_text")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DURATIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_STATISTICS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_TEXT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    version: int
    include_versions: bool
    include_durations: bool
    include_statistics: bool
    include_text: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., include_versions: _Optional[bool] = ..., include_durations: _Optional[bool] = ..., include_statistics: _Optional[bool] = ..., include_text: _Optional[bool] = ...) -> None: ...

class GetWorkflowResponse(_message.Message):
    __slots__ = ("workflow", "versions", "durations", "statistics", "failing_steps", "more_failing_steps", "definition_text")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    DURATIONS_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    FAILING_STEPS_FIELD_NUMBER: _ClassVar[int]
    MORE_FAILING_STEPS_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_TEXT_FIELD_NUMBER: _ClassVar[int]
    workflow: _workflow_pb2.Workflow
    versions: _containers.RepeatedCompositeFieldContainer[_workflow_pb2.WorkflowVersion]
    durations: _containers.RepeatedCompositeFieldContainer[_workflow_pb2.StepDurations]
    statistics: _workflow_pb2.WorkflowStatistics
    failing_steps: _containers.RepeatedCompositeFieldContainer[_overview_pb2.FailingStep]
    more_failing_steps: bool
    definition_text: str
    def __init__(self, workflow: _Optional[_Union[_workflow_pb2.Workflow, _Mapping]] = ..., versions: _Optional[_Iterable[_Union[_workflow_pb2.WorkflowVersion, _Mapping]]] = ..., durations: _Optional[_Iterable[_Union[_workflow_pb2.StepDurations, _Mapping]]] = ..., statistics: _Optional[_Union[_workflow_pb2.WorkflowStatistics, _Mapping]] = ..., failing_steps: _Optional[_Iterable[_Union[_overview_pb2.FailingStep, _Mapping]]] = ..., more_failing_steps: _Optional[bool] = ..., definition_text: _Optional[str] = ...) -> None: ...

class ListWorkflowsRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token", "include_versions", "include_statistics")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_STATISTICS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    include_versions: bool
    include_statistics: bool
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_versions: _Optional[bool] = ..., include_statistics: _Optional[bool] = ...) -> None: ...

class ListWorkflowsResponse(_message.Message):
    __slots__ = ("workflows", "next_page_token")
    WORKFLOWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    workflows: _containers.RepeatedCompositeFieldContainer[_workflow_pb2.WorkflowSummary]
    next_page_token: str
    def __init__(self, workflows: _Optional[_Iterable[_Union[_workflow_pb2.WorkflowSummary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WorkflowRef(_message.Message):
    __slots__ = ("name", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ScheduleRequest(_message.Message):
    __slots__ = ("namespace", "workflow", "definition", "input", "key", "priority", "labels", "start_time", "concurrency", "traceparent", "tracestate", "notify")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    TRACESTATE_FIELD_NUMBER: _ClassVar[int]
    NOTIFY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: WorkflowRef
    definition: _workflow_pb2.WorkflowDefinition
    input: _payload_pb2.Payload
    key: str
    priority: int
    labels: _containers.ScalarMap[str, str]
    start_time: _timestamp_pb2.Timestamp
    concurrency: _run_pb2.Concurrency
    traceparent: str
    tracestate: str
    notify: Notify
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[_Union[WorkflowRef, _Mapping]] = ..., definition: _Optional[_Union[_workflow_pb2.WorkflowDefinition, _Mapping]] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., key: _Optional[str] = ..., priority: _Optional[int] = ..., labels: _Optional[_Mapping[str, str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., concurrency: _Optional[_Union[_run_pb2.Concurrency, _Mapping]] = ..., traceparent: _Optional[str] = ..., tracestate: _Optional[str] = ..., notify: _Optional[_Union[Notify, _Mapping]] = ...) -> None: ...

class Notify(_message.Message):
    __slots__ = ("hook", "url")
    HOOK_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    hook: str
    url: str
    def __init__(self, hook: _Optional[str] = ..., url: _Optional[str] = ...) -> None: ...

class ScheduleResponse(_message.Message):
    __slots__ = ("run_id", "created")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    created: bool
    def __init__(self, run_id: _Optional[str] = ..., created: _Optional[bool] = ...) -> None: ...

class ScheduleBatchRequest(_message.Message):
    __slots__ = ("namespace", "runs")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    runs: _containers.RepeatedCompositeFieldContainer[ScheduleRequest]
    def __init__(self, namespace: _Optional[str] = ..., runs: _Optional[_Iterable[_Union[ScheduleRequest, _Mapping]]] = ...) -> None: ...

class ScheduleBatchResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ScheduleResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ScheduleResult, _Mapping]]] = ...) -> None: ...

class ScheduleResult(_message.Message):
    __slots__ = ("status", "run_id", "created")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    run_id: str
    created: bool
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., run_id: _Optional[str] = ..., created: _Optional[bool] = ...) -> None: ...

class RunRef(_message.Message):
    __slots__ = ("run_id", "key")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    key: str
    def __init__(self, run_id: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "include_attempts", "include_interventions", "include_escalations", "include_signals", "include_decisions", "include_settings", "include_definition")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_INTERVENTIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ESCALATIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DECISIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DEFINITION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    include_attempts: bool
    include_interventions: bool
    include_escalations: bool
    include_signals: bool
    include_decisions: bool
    include_settings: bool
    include_definition: bool
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., include_attempts: _Optional[bool] = ..., include_interventions: _Optional[bool] = ..., include_escalations: _Optional[bool] = ..., include_signals: _Optional[bool] = ..., include_decisions: _Optional[bool] = ..., include_settings: _Optional[bool] = ..., include_definition: _Optional[bool] = ...) -> None: ...

class GetRunResponse(_message.Message):
    __slots__ = ("run", "steps", "attempts", "interventions", "escalations", "signals", "decisions", "settings", "definition", "warnings", "attempts_total", "interventions_total", "trace_id", "trace_url")
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    INTERVENTIONS_FIELD_NUMBER: _ClassVar[int]
    ESCALATIONS_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    INTERVENTIONS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_URL_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    steps: _containers.RepeatedCompositeFieldContainer[_run_pb2.Step]
    attempts: _containers.RepeatedCompositeFieldContainer[_run_pb2.Attempt]
    interventions: _containers.RepeatedCompositeFieldContainer[_run_pb2.Intervention]
    escalations: _containers.RepeatedCompositeFieldContainer[_run_pb2.Escalation]
    signals: _containers.RepeatedCompositeFieldContainer[_run_pb2.ReceivedSignal]
    decisions: _containers.RepeatedCompositeFieldContainer[_run_pb2.Decision]
    settings: _containers.RepeatedCompositeFieldContainer[_run_pb2.EffectiveSetting]
    definition: _workflow_pb2.WorkflowDefinition
    warnings: _containers.RepeatedCompositeFieldContainer[_run_pb2.RunWarning]
    attempts_total: int
    interventions_total: int
    trace_id: str
    trace_url: str
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[_run_pb2.Step, _Mapping]]] = ..., attempts: _Optional[_Iterable[_Union[_run_pb2.Attempt, _Mapping]]] = ..., interventions: _Optional[_Iterable[_Union[_run_pb2.Intervention, _Mapping]]] = ..., escalations: _Optional[_Iterable[_Union[_run_pb2.Escalation, _Mapping]]] = ..., signals: _Optional[_Iterable[_Union[_run_pb2.ReceivedSignal, _Mapping]]] = ..., decisions: _Optional[_Iterable[_Union[_run_pb2.Decision, _Mapping]]] = ..., settings: _Optional[_Iterable[_Union[_run_pb2.EffectiveSetting, _Mapping]]] = ..., definition: _Optional[_Union[_workflow_pb2.WorkflowDefinition, _Mapping]] = ..., warnings: _Optional[_Iterable[_Union[_run_pb2.RunWarning, _Mapping]]] = ..., attempts_total: _Optional[int] = ..., interventions_total: _Optional[int] = ..., trace_id: _Optional[str] = ..., trace_url: _Optional[str] = ...) -> None: ...

class GetStepInputRequest(_message.Message):
    __slots__ = ("namespace", "run", "step_id", "item")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    step_id: str
    item: int
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., step_id: _Optional[str] = ..., item: _Optional[int] = ...) -> None: ...

class GetStepInputResponse(_message.Message):
    __slots__ = ("has_input", "payload", "problem")
    HAS_INPUT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    has_input: bool
    payload: _payload_pb2.Payload
    problem: str
    def __init__(self, has_input: _Optional[bool] = ..., payload: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., problem: _Optional[str] = ...) -> None: ...

class ListItemsRequest(_message.Message):
    __slots__ = ("namespace", "run", "step_id", "page_size", "page_token", "states", "item")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    step_id: str
    page_size: int
    page_token: str
    states: _containers.RepeatedScalarFieldContainer[_run_pb2.StepState]
    item: int
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., step_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_run_pb2.StepState, str]]] = ..., item: _Optional[int] = ...) -> None: ...

class ListItemsResponse(_message.Message):
    __slots__ = ("items", "next_page_token", "attempts")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[_run_pb2.Step]
    next_page_token: str
    attempts: _containers.RepeatedCompositeFieldContainer[_run_pb2.Attempt]
    def __init__(self, items: _Optional[_Iterable[_Union[_run_pb2.Step, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., attempts: _Optional[_Iterable[_Union[_run_pb2.Attempt, _Mapping]]] = ...) -> None: ...

class ListLogsRequest(_message.Message):
    __slots__ = ("namespace", "run", "step_id", "item", "attempt", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    step_id: str
    item: int
    attempt: AttemptRef
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., step_id: _Optional[str] = ..., item: _Optional[int] = ..., attempt: _Optional[_Union[AttemptRef, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class AttemptRef(_message.Message):
    __slots__ = ("kind", "fence", "n")
    KIND_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    kind: _task_pb2.TaskKind
    fence: int
    n: int
    def __init__(self, kind: _Optional[_Union[_task_pb2.TaskKind, str]] = ..., fence: _Optional[int] = ..., n: _Optional[int] = ...) -> None: ...

class ListLogsResponse(_message.Message):
    __slots__ = ("lines", "next_page_token", "tail_token", "run_ended")
    LINES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TAIL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ENDED_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedCompositeFieldContainer[LogLine]
    next_page_token: str
    tail_token: str
    run_ended: bool
    def __init__(self, lines: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., tail_token: _Optional[str] = ..., run_ended: _Optional[bool] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("step_id", "attempt", "attempt_number", "line", "time", "level", "message", "fields")
    class FieldsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    attempt: AttemptRef
    attempt_number: int
    line: int
    time: _timestamp_pb2.Timestamp
    level: _task_pb2.LogLevel
    message: str
    fields: _containers.ScalarMap[str, str]
    def __init__(self, step_id: _Optional[str] = ..., attempt: _Optional[_Union[AttemptRef, _Mapping]] = ..., attempt_number: _Optional[int] = ..., line: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., level: _Optional[_Union[_task_pb2.LogLevel, str]] = ..., message: _Optional[str] = ..., fields: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RunFilter(_message.Message):
    __slots__ = ("states", "workflow", "labels", "created_after", "created_before", "parent_run_id", "substates", "query")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STATES_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AFTER_FIELD_NUMBER: _ClassVar[int]
    CREATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    PARENT_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SUBSTATES_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_run_pb2.RunState]
    workflow: str
    labels: _containers.ScalarMap[str, str]
    created_after: _timestamp_pb2.Timestamp
    created_before: _timestamp_pb2.Timestamp
    parent_run_id: str
    substates: _containers.RepeatedScalarFieldContainer[_run_pb2.RunSubstate]
    query: str
    def __init__(self, states: _Optional[_Iterable[_Union[_run_pb2.RunState, str]]] = ..., workflow: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., created_after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., parent_run_id: _Optional[str] = ..., substates: _Optional[_Iterable[_Union[_run_pb2.RunSubstate, str]]] = ..., query: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("namespace", "filter", "order", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    filter: RunFilter
    order: RunOrder
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., filter: _Optional[_Union[RunFilter, _Mapping]] = ..., order: _Optional[_Union[RunOrder, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next_page_token", "searched_to_time")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEARCHED_TO_TIME_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_run_pb2.Run]
    next_page_token: str
    searched_to_time: _timestamp_pb2.Timestamp
    def __init__(self, runs: _Optional[_Iterable[_Union[_run_pb2.Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., searched_to_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WatchRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "after_version", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    AFTER_VERSION_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    after_version: int
    after: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., after_version: _Optional[int] = ..., after: _Optional[str] = ...) -> None: ...

class WatchRunResponse(_message.Message):
    __slots__ = ("run", "steps", "cursor")
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    steps: _containers.RepeatedCompositeFieldContainer[_run_pb2.Step]
    cursor: str
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[_run_pb2.Step, _Mapping]]] = ..., cursor: _Optional[str] = ...) -> None: ...

class WaitRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "wait")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    wait: _duration_pb2.Duration
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitRunResponse(_message.Message):
    __slots__ = ("run", "ended")
    RUN_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    ended: bool
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., ended: _Optional[bool] = ...) -> None: ...

class CancelRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "undo", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    undo: Undo
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., undo: _Optional[_Union[Undo, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ...) -> None: ...

class PauseRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class PauseRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ...) -> None: ...

class ResumeRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ResumeRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ...) -> None: ...

class RetryRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "request_id", "version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    request_id: str
    version: RerunVersion
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., request_id: _Optional[str] = ..., version: _Optional[_Union[RerunVersion, str]] = ...) -> None: ...

class RetryRunResponse(_message.Message):
    __slots__ = ("run_id", "created")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    created: bool
    def __init__(self, run_id: _Optional[str] = ..., created: _Optional[bool] = ...) -> None: ...

class RerunFromRequest(_message.Message):
    __slots__ = ("namespace", "run", "step_id", "request_id", "version", "input")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    step_id: str
    request_id: str
    version: RerunVersion
    input: _payload_pb2.Payload
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., step_id: _Optional[str] = ..., request_id: _Optional[str] = ..., version: _Optional[_Union[RerunVersion, str]] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class RerunFromResponse(_message.Message):
    __slots__ = ("run_id", "created")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    created: bool
    def __init__(self, run_id: _Optional[str] = ..., created: _Optional[bool] = ...) -> None: ...

class BulkActionRequest(_message.Message):
    __slots__ = ("namespace", "filter", "kind", "undo", "version", "reason", "dry_run", "expected_count", "request_id", "page_token", "signal_name", "payload", "step_id", "input")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    filter: RunFilter
    kind: BulkKind
    undo: Undo
    version: RerunVersion
    reason: str
    dry_run: bool
    expected_count: int
    request_id: str
    page_token: str
    signal_name: str
    payload: _payload_pb2.Payload
    step_id: str
    input: _payload_pb2.Payload
    def __init__(self, namespace: _Optional[str] = ..., filter: _Optional[_Union[RunFilter, _Mapping]] = ..., kind: _Optional[_Union[BulkKind, str]] = ..., undo: _Optional[_Union[Undo, str]] = ..., version: _Optional[_Union[RerunVersion, str]] = ..., reason: _Optional[str] = ..., dry_run: _Optional[bool] = ..., expected_count: _Optional[int] = ..., request_id: _Optional[str] = ..., page_token: _Optional[str] = ..., signal_name: _Optional[str] = ..., payload: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., step_id: _Optional[str] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class BulkActionResponse(_message.Message):
    __slots__ = ("count", "results", "next_page_token")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[BulkResult]
    next_page_token: str
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[BulkResult, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class BulkResult(_message.Message):
    __slots__ = ("run_id", "status", "new_run_id")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NEW_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    status: _status_pb2.Status
    new_run_id: str
    def __init__(self, run_id: _Optional[str] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., new_run_id: _Optional[str] = ...) -> None: ...

class SignalRequest(_message.Message):
    __slots__ = ("namespace", "run", "name", "signal_id", "payload")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    name: str
    signal_id: str
    payload: _payload_pb2.Payload
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., name: _Optional[str] = ..., signal_id: _Optional[str] = ..., payload: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class SignalResponse(_message.Message):
    __slots__ = ("repeated",)
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    repeated: bool
    def __init__(self, repeated: _Optional[bool] = ...) -> None: ...

class DecideRequest(_message.Message):
    __slots__ = ("namespace", "run", "step_id", "approver", "roles", "decision", "comment", "form")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    APPROVER_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    step_id: str
    approver: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    decision: DecisionKind
    comment: str
    form: _payload_pb2.Payload
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ..., step_id: _Optional[str] = ..., approver: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., decision: _Optional[_Union[DecisionKind, str]] = ..., comment: _Optional[str] = ..., form: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class DecideResponse(_message.Message):
    __slots__ = ("run", "repeated")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    repeated: bool
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class CompleteDeferredRequest(_message.Message):
    __slots__ = ("callback_token", "success", "failed")
    CALLBACK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    callback_token: str
    success: _task_pb2.Outcome.Success
    failed: _task_pb2.Outcome.Failed
    def __init__(self, callback_token: _Optional[str] = ..., success: _Optional[_Union[_task_pb2.Outcome.Success, _Mapping]] = ..., failed: _Optional[_Union[_task_pb2.Outcome.Failed, _Mapping]] = ...) -> None: ...

class CompleteDeferredResponse(_message.Message):
    __slots__ = ("repeated",)
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    repeated: bool
    def __init__(self, repeated: _Optional[bool] = ...) -> None: ...

class ExplainRunRequest(_message.Message):
    __slots__ = ("namespace", "run")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: RunRef
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[RunRef, _Mapping]] = ...) -> None: ...

class ExplainRunResponse(_message.Message):
    __slots__ = ("run", "wait", "steps", "now", "untaken_signals")
    RUN_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    UNTAKEN_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    wait: _explain_pb2.Wait
    steps: _containers.RepeatedCompositeFieldContainer[_explain_pb2.Wait]
    now: _timestamp_pb2.Timestamp
    untaken_signals: _containers.RepeatedCompositeFieldContainer[_explain_pb2.UntakenSignal]
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., wait: _Optional[_Union[_explain_pb2.Wait, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[_explain_pb2.Wait, _Mapping]]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., untaken_signals: _Optional[_Iterable[_Union[_explain_pb2.UntakenSignal, _Mapping]]] = ...) -> None: ...
