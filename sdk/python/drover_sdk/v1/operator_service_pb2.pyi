import datetime

from drover_sdk.v1 import agent_info_pb2 as _agent_info_pb2
from drover_sdk.v1 import audit_pb2 as _audit_pb2
from drover_sdk.v1 import circuit_pb2 as _circuit_pb2
from drover_sdk.v1 import hook_pb2 as _hook_pb2
from drover_sdk.v1 import intervention_pb2 as _intervention_pb2
from drover_sdk.v1 import namespace_pb2 as _namespace_pb2
from drover_sdk.v1 import overview_pb2 as _overview_pb2
from drover_sdk.v1 import partition_pb2 as _partition_pb2
from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import queue_pb2 as _queue_pb2
from drover_sdk.v1 import run_pb2 as _run_pb2
from drover_sdk.v1 import scheduler_service_pb2 as _scheduler_service_pb2
from drover_sdk.v1 import task_pb2 as _task_pb2
from drover_sdk.v1 import token_pb2 as _token_pb2
from drover_sdk.v1 import trigger_pb2 as _trigger_pb2
from drover_sdk.v1 import workflow_pb2 as _workflow_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListEscalationsRequest(_message.Message):
    __slots__ = ("namespace", "include_closed", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CLOSED_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    include_closed: bool
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., include_closed: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEscalationsResponse(_message.Message):
    __slots__ = ("escalations", "next_page_token")
    ESCALATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    escalations: _containers.RepeatedCompositeFieldContainer[_run_pb2.Escalation]
    next_page_token: str
    def __init__(self, escalations: _Optional[_Iterable[_Union[_run_pb2.Escalation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CompleteStepRequest(_message.Message):
    __slots__ = ("namespace", "run", "step_id", "item", "success", "failed", "by", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    step_id: str
    item: int
    success: _task_pb2.Outcome.Success
    failed: _task_pb2.Outcome.Failed
    by: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., step_id: _Optional[str] = ..., item: _Optional[int] = ..., success: _Optional[_Union[_task_pb2.Outcome.Success, _Mapping]] = ..., failed: _Optional[_Union[_task_pb2.Outcome.Failed, _Mapping]] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CompleteStepResponse(_message.Message):
    __slots__ = ("run", "repeated")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    repeated: bool
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class EraseRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class EraseRunResponse(_message.Message):
    __slots__ = ("run_id", "workflow")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    workflow: str
    def __init__(self, run_id: _Optional[str] = ..., workflow: _Optional[str] = ...) -> None: ...

class ListApprovalsRequest(_message.Message):
    __slots__ = ("namespace", "run", "approver", "roles", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    APPROVER_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    approver: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., approver: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListApprovalsResponse(_message.Message):
    __slots__ = ("approvals", "next_page_token")
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[Approval]
    next_page_token: str
    def __init__(self, approvals: _Optional[_Iterable[_Union[Approval, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ("run_id", "run_key", "workflow", "version", "labels", "step_id", "approvers", "not_requester", "need", "approved_by", "form", "since_time", "deadline_time", "on_expiry")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    NOT_REQUESTER_FIELD_NUMBER: _ClassVar[int]
    NEED_FIELD_NUMBER: _ClassVar[int]
    APPROVED_BY_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_TIME_FIELD_NUMBER: _ClassVar[int]
    ON_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    run_key: str
    workflow: str
    version: int
    labels: _containers.ScalarMap[str, str]
    step_id: str
    approvers: _containers.RepeatedScalarFieldContainer[str]
    not_requester: bool
    need: int
    approved_by: _containers.RepeatedScalarFieldContainer[str]
    form: _payload_pb2.Payload
    since_time: _timestamp_pb2.Timestamp
    deadline_time: _timestamp_pb2.Timestamp
    on_expiry: _workflow_pb2.ApprovalExpiry
    def __init__(self, run_id: _Optional[str] = ..., run_key: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[int] = ..., labels: _Optional[_Mapping[str, str]] = ..., step_id: _Optional[str] = ..., approvers: _Optional[_Iterable[str]] = ..., not_requester: _Optional[bool] = ..., need: _Optional[int] = ..., approved_by: _Optional[_Iterable[str]] = ..., form: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deadline_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., on_expiry: _Optional[_Union[_workflow_pb2.ApprovalExpiry, str]] = ...) -> None: ...

class GetEscalationRequest(_message.Message):
    __slots__ = ("namespace", "run", "escalation_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    escalation_id: str
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., escalation_id: _Optional[str] = ...) -> None: ...

class GetEscalationResponse(_message.Message):
    __slots__ = ("escalation", "run", "step", "attempts", "effect_key")
    ESCALATION_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    escalation: _run_pb2.Escalation
    run: _run_pb2.Run
    step: _run_pb2.Step
    attempts: _containers.RepeatedCompositeFieldContainer[_run_pb2.Attempt]
    effect_key: str
    def __init__(self, escalation: _Optional[_Union[_run_pb2.Escalation, _Mapping]] = ..., run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., step: _Optional[_Union[_run_pb2.Step, _Mapping]] = ..., attempts: _Optional[_Iterable[_Union[_run_pb2.Attempt, _Mapping]]] = ..., effect_key: _Optional[str] = ...) -> None: ...

class ResolveEscalationRequest(_message.Message):
    __slots__ = ("namespace", "run", "escalation_id", "answer", "by", "why", "payload")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    escalation_id: str
    answer: str
    by: str
    why: str
    payload: _payload_pb2.Payload
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., escalation_id: _Optional[str] = ..., answer: _Optional[str] = ..., by: _Optional[str] = ..., why: _Optional[str] = ..., payload: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class ResolveEscalationResponse(_message.Message):
    __slots__ = ("escalation", "run", "repeated")
    ESCALATION_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    escalation: _run_pb2.Escalation
    run: _run_pb2.Run
    repeated: bool
    def __init__(self, escalation: _Optional[_Union[_run_pb2.Escalation, _Mapping]] = ..., run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class PutHookRequest(_message.Message):
    __slots__ = ("namespace", "name", "url", "events", "secret")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    url: str
    events: _containers.RepeatedScalarFieldContainer[str]
    secret: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., url: _Optional[str] = ..., events: _Optional[_Iterable[str]] = ..., secret: _Optional[str] = ...) -> None: ...

class PutHookResponse(_message.Message):
    __slots__ = ("created",)
    CREATED_FIELD_NUMBER: _ClassVar[int]
    created: bool
    def __init__(self, created: _Optional[bool] = ...) -> None: ...

class ListHooksRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class ListHooksResponse(_message.Message):
    __slots__ = ("hooks",)
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    hooks: _containers.RepeatedCompositeFieldContainer[_hook_pb2.Hook]
    def __init__(self, hooks: _Optional[_Iterable[_Union[_hook_pb2.Hook, _Mapping]]] = ...) -> None: ...

class DeleteHookRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteHookResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: _Optional[bool] = ...) -> None: ...

class ListDeliveriesRequest(_message.Message):
    __slots__ = ("namespace", "hook", "states", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    hook: str
    states: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., hook: _Optional[str] = ..., states: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDeliveriesResponse(_message.Message):
    __slots__ = ("deliveries", "next_page_token")
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[_hook_pb2.Delivery]
    next_page_token: str
    def __init__(self, deliveries: _Optional[_Iterable[_Union[_hook_pb2.Delivery, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ClaimEscalationRequest(_message.Message):
    __slots__ = ("namespace", "run", "escalation_id", "by", "anyway")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    ANYWAY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    escalation_id: str
    by: str
    anyway: bool
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., escalation_id: _Optional[str] = ..., by: _Optional[str] = ..., anyway: _Optional[bool] = ...) -> None: ...

class ClaimEscalationResponse(_message.Message):
    __slots__ = ("escalation",)
    ESCALATION_FIELD_NUMBER: _ClassVar[int]
    escalation: _run_pb2.Escalation
    def __init__(self, escalation: _Optional[_Union[_run_pb2.Escalation, _Mapping]] = ...) -> None: ...

class ReleaseEscalationRequest(_message.Message):
    __slots__ = ("namespace", "run", "escalation_id", "by", "anyway")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    ANYWAY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: _scheduler_service_pb2.RunRef
    escalation_id: str
    by: str
    anyway: bool
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ..., escalation_id: _Optional[str] = ..., by: _Optional[str] = ..., anyway: _Optional[bool] = ...) -> None: ...

class ReleaseEscalationResponse(_message.Message):
    __slots__ = ("escalation",)
    ESCALATION_FIELD_NUMBER: _ClassVar[int]
    escalation: _run_pb2.Escalation
    def __init__(self, escalation: _Optional[_Union[_run_pb2.Escalation, _Mapping]] = ...) -> None: ...
