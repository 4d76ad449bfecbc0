"""Selects runs: all conditions that are set must match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from drover_sdk.reading import to_time
from drover_sdk.runs import RunState, RunSubstate
from drover_sdk.v1 import run_pb2
from drover_sdk.v1 import scheduler_service_pb2 as wire
from drover_sdk.writing import number_of


@dataclass(frozen=True)
class RunFilter:
    """Without any condition: all runs."""

    states: Sequence[RunState] = ()
    """Runs in one of the states."""
    substates: Sequence[RunSubstate] = ()
    """Open runs with a step that does or waits for one of these."""
    workflow: str = ""
    parent_run_id: str = ""
    """Runs that a step of this run started."""
    labels: Mapping[str, str] = field(default_factory=dict)
    created_after: datetime | None = None
    created_before: datetime | None = None
    query: str = ""
    """Conditions as text, such as ``state:failed``; RunFilter.query in the contract."""


ALL_RUNS = RunFilter()


def to_filter(given: RunFilter) -> wire.RunFilter:
    """The message."""
    after, before = given.created_after, given.created_before
    return wire.RunFilter(
        states=[number_of(run_pb2.RunState.DESCRIPTOR, state) for state in given.states],
        substates=[
            number_of(run_pb2.RunSubstate.DESCRIPTOR, substate) for substate in given.substates
        ],
        workflow=given.workflow,
        parent_run_id=given.parent_run_id,
        labels=dict(given.labels),
        query=given.query,
        created_after=None if after is None else to_time(after),
        created_before=None if before is None else to_time(before),
    )
