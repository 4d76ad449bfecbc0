"""Workflows: their versions, the runs that use them, the default version; pauses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.schedules import Pause
from drover_sdk.v1 import queue_pb2
from drover_sdk.v1 import scheduler_service_pb2 as wire


@dataclass(frozen=True)
class WorkflowVersion:
    """One content of a workflow."""

    version: int
    created_time: datetime | None
    open_runs: int
    """Number of open runs that started with this content; 10,000 means that many or more."""


@dataclass(frozen=True)
class WorkflowDetails:
    """A workflow with its versions."""

    name: str
    default_version: int
    versions: tuple[WorkflowVersion, ...]
    """The newest 1,000, newest first."""


@dataclass(frozen=True)
class MovedDefault:
    """The default version, before and now."""

    previous_version: int
    """Set it again to go back."""
    version: int


class WorkflowCalls:
    """Calls of Client."""

    _caller: Caller

    async def get_workflow(self, name: str) -> WorkflowDetails:
        """A workflow with its versions."""
        request = wire.GetWorkflowRequest(
            namespace=self._caller.namespace, name=name, include_versions=True
        )
        answer = await self._caller.call(rpc.GET_WORKFLOW, request)
        versions = (self._caller.read(WorkflowVersion, one) for one in answer.versions)
        return WorkflowDetails(name, answer.workflow.default_version, tuple(versions))

    async def set_default_version(self, name: str, version: int) -> MovedDefault:
        """Runs that name no version start with this one from then on; open runs do not
        change their version."""
        request = wire.SetDefaultVersionRequest(
            namespace=self._caller.namespace, name=name, version=version
        )
        return await self._caller.ask(MovedDefault, rpc.SET_DEFAULT_VERSION, request)

    async def pause_workflow(self, workflow: str, *, reason: str = "") -> Pause:
        """Once this returns, no task of its runs is handed out, in any version."""
        request = queue_pb2.PauseWorkflowRequest(
            namespace=self._caller.namespace, workflow=workflow, reason=reason
        )
        return self._caller.read(
            Pause, (await self._caller.call(rpc.PAUSE_WORKFLOW, request)).pause
        )

    async def resume_workflow(self, workflow: str) -> None:
        """Resumes the workflow."""
        request = queue_pb2.ResumeWorkflowRequest(
            namespace=self._caller.namespace, workflow=workflow
        )
        await self._caller.call(rpc.RESUME_WORKFLOW, request)
