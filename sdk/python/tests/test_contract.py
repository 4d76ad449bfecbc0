"""The hand-written parts name what the contract has, and nothing of it twice."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, get_args

import pytest

from drover_sdk import rpc
from drover_sdk.circuits import CircuitPage, Cordon
from drover_sdk.commands import Completed, Rerun
from drover_sdk.durations import from_duration, seconds_of, to_duration
from drover_sdk.escalations import EscalationDetails, EscalationPage, Resolved
from drover_sdk.explanation import RunExplanation, RunWait
from drover_sdk.history import ItemPage, RunDetails, RunPage, RunSnapshot
from drover_sdk.hooks import DeliveryPage, Hook
from drover_sdk.namespaces import CreatedNamespace, NamespacePage
from drover_sdk.operations import (
    AgentDetails,
    AgentPage,
    ClusterInfo,
    HandOverPage,
    InterventionPage,
    Overview,
    PartitionPage,
    Supervisor,
)
from drover_sdk.queues import QueueDetails, QueuePage
from drover_sdk.reading import plan_of
from drover_sdk.rpc import Method
from drover_sdk.runs import RunState, StepState
from drover_sdk.schedules import BackfillOccurrence, CreatedSchedule, SchedulePage, TriggeredRun
from drover_sdk.triggers import PutTrigger, Refusal, TriedTrigger
from drover_sdk.v1 import (
    agent_info_pb2,
    agent_service_pb2,
    circuit_pb2,
    explain_pb2,
    hook_pb2,
    namespace_pb2,
    operator_service_pb2,
    overview_pb2,
    partition_pb2,
    queue_pb2,
    run_pb2,
    schedule_pb2,
    scheduler_service_pb2,
    trigger_pb2,
    workflow_pb2,
)
from drover_sdk.v1 import intervention_pb2 as interventions
from drover_sdk.workflow_calls import MovedDefault, WorkflowVersion

READ: list[tuple[type, Any]] = [
    (RunDetails, scheduler_service_pb2.GetRunResponse),
    (RunSnapshot, scheduler_service_pb2.WatchRunResponse),
    (RunPage, scheduler_service_pb2.ListRunsResponse),
    (ItemPage, scheduler_service_pb2.ListItemsResponse),
    (RunExplanation, scheduler_service_pb2.ExplainRunResponse),
    (Rerun, scheduler_service_pb2.RetryRunResponse),
    (Rerun, scheduler_service_pb2.RerunFromResponse),
    (Completed, scheduler_service_pb2.CompleteDeferredResponse),
    (MovedDefault, scheduler_service_pb2.SetDefaultVersionResponse),
    (WorkflowVersion, workflow_pb2.WorkflowVersion),
    (EscalationPage, operator_service_pb2.ListEscalationsResponse),
    (EscalationDetails, operator_service_pb2.GetEscalationResponse),
    (Resolved, operator_service_pb2.ResolveEscalationResponse),
    (Hook, hook_pb2.Hook),
    (DeliveryPage, operator_service_pb2.ListDeliveriesResponse),
    (SchedulePage, schedule_pb2.ListSchedulesResponse),
    (CreatedSchedule, schedule_pb2.CreateScheduleResponse),
    (BackfillOccurrence, schedule_pb2.BackfillOccurrence),
    (TriggeredRun, schedule_pb2.TriggerScheduleResponse),
    (PutTrigger, trigger_pb2.PutTriggerResponse),
    (Refusal, trigger_pb2.Refusal),
    (TriedTrigger, trigger_pb2.TryTriggerResponse),
    (AgentPage, agent_info_pb2.ListAgentsResponse),
    (AgentDetails, agent_info_pb2.GetAgentResponse),
    (PartitionPage, partition_pb2.ListPartitionsResponse),
    (HandOverPage, partition_pb2.ListHandOversResponse),
    (Supervisor, partition_pb2.Supervisor),
    (InterventionPage, interventions.ListInterventionsResponse),
    (Overview, overview_pb2.GetOverviewResponse),
    (ClusterInfo, overview_pb2.GetClusterInfoResponse),
    (QueuePage, queue_pb2.ListQueuesResponse),
    (QueueDetails, queue_pb2.GetQueueResponse),
    (CircuitPage, circuit_pb2.ListCircuitsResponse),
    (Cordon, circuit_pb2.Cordon),
    (NamespacePage, namespace_pb2.ListNamespacesResponse),
    (CreatedNamespace, namespace_pb2.CreateNamespaceResponse),
]


@pytest.mark.parametrize(("kind", "message"), READ, ids=lambda one: one.__name__)
def test_every_field_that_programs_read_is_one_of_the_message(kind: type, message: Any) -> None:
    for field in dataclasses.fields(kind):
        inner = message.DESCRIPTOR.fields_by_name[field.name].message_type
        found = data_class_in(typing.get_type_hints(kind)[field.name])
        if inner is not None and found is not None:
            test_every_field_that_programs_read_is_one_of_the_message(found, inner._concrete_class)
    plan_of(kind, message)


def data_class_in(hint: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return hint
    return next(filter(None, map(data_class_in, get_args(hint))), None)


def test_the_states_are_those_of_the_contract() -> None:
    for kind, described in ((RunState, run_pb2.RunState), (StepState, run_pb2.StepState)):
        prefix = described.Name(0).removesuffix("UNSPECIFIED")
        assert set(get_args(kind)) == {name.removeprefix(prefix) for name, _ in described.items()}


def test_every_call_of_the_contract_has_its_path_and_messages() -> None:
    ours = {
        method.path: (method.request.DESCRIPTOR.full_name, method.response.DESCRIPTOR.full_name)
        for method in vars(rpc).values()
        if isinstance(method, Method)
    }
    theirs = {
        f"/{service.full_name}/{method.name}": (
            method.input_type.full_name,
            method.output_type.full_name,
        )
        for file in (agent_service_pb2, scheduler_service_pb2, operator_service_pb2)
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert ours == theirs


def test_the_explanation_has_a_place_for_every_detail_but_those_of_operators() -> None:
    details = {field.name for field in explain_pb2.Wait.DESCRIPTOR.oneofs_by_name["detail"].fields}
    ours = {field.name for field in dataclasses.fields(RunWait)}
    assert details - ours == {"pause", "circuit"}


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("250ms", 0.25), ("30s", 30), ("1.5s", 1.5), ("1h30m", 5_400), ("7d", 604_800), (2, 2)],
)
def test_a_duration_is_read_as_people_write_it(given: Any, seconds: float) -> None:
    assert seconds_of(given) == pytest.approx(seconds)
    assert from_duration(to_duration(given)) == pytest.approx(seconds)


@pytest.mark.parametrize("given", ["", "30", "m", "1m1h", "-3s", -1, float("nan"), float("inf")])
def test_a_duration_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds_of(given)
