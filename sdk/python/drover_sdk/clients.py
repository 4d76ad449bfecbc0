"""The client for services that start runs and need to know how they ended.

The client repeats every call, with growing and jittered waits, as long as it is unknown whether the
call took effect, or the server asks for a later repeat. That is safe because each call is
idempotent: `schedule` by its key and `signal` by its id, which the client makes if the caller gives
none, and the other calls by their effect. Any other error is raised at once as CallError.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, overload

from drover_sdk import rpc
from drover_sdk.backoff import Backoff
from drover_sdk.calls import TRY, Caller
from drover_sdk.channel import Connection
from drover_sdk.circuits import Circuits
from drover_sdk.clocks import SYSTEM_CLOCK, sleep
from drover_sdk.commands import Commands
from drover_sdk.conversion import convert
from drover_sdk.definition import to_definition
from drover_sdk.durations import Duration, seconds_of, to_duration
from drover_sdk.errors import CallError
from drover_sdk.escalations import Escalations
from drover_sdk.explanation import RunExplanation
from drover_sdk.gathering import Gathering
from drover_sdk.history import ItemPage, RunDetails, RunPage, RunSnapshot
from drover_sdk.hooks import Hooks
from drover_sdk.namespaces import Namespaces
from drover_sdk.new_runs import NewRun, to_schedule
from drover_sdk.operations import Operations
from drover_sdk.payloads import PLAIN, Codec
from drover_sdk.queues import Queues
from drover_sdk.run_filters import ALL_RUNS, RunFilter, to_filter
from drover_sdk.runs import Run, RunName, RunNotCompletedError, StepState, to_ref
from drover_sdk.schedules import Schedules
from drover_sdk.statuses import error_of_status
from drover_sdk.task_types import WorkflowType
from drover_sdk.tls_files import Tls
from drover_sdk.triggers import Triggers
from drover_sdk.v1 import run_pb2
from drover_sdk.v1 import scheduler_service_pb2 as wire
from drover_sdk.workflow import Workflow
from drover_sdk.workflow_calls import WorkflowCalls
from drover_sdk.writing import number_of

if TYPE_CHECKING:
    from typing_extensions import Self

In = TypeVar("In")
Out = TypeVar("Out")

_WAIT = 30.0
# After this time, in seconds, a start that is sent alone counts as a call under way no more. It may
# be repeated for long, as its shard does not answer, and would keep back the starts of others.
_YIELDS_AFTER = 1.0
# Minimum time from one call to the next, in seconds.
_SPACING = 0.1


@dataclass(frozen=True)
class Scheduled:
    """A run that was started."""

    run_id: str
    key: str
    created: bool
    """False: an earlier call with this key created it."""


@dataclass(frozen=True)
class Refused:
    """A run of a batch that was refused; the others were not."""

    key: str
    error: CallError


@dataclass(frozen=True)
class RegisteredWorkflow:
    """A registered version of a workflow."""

    name: str
    version: int
    created: bool
    """False: this content was registered before."""


class Client(Commands, WorkflowCalls):
    """Starts runs and reads their state. To be used in one event loop; drover_sdk.sync has the same
    client for programs without asyncio."""

    def __init__(
        self,
        address: str | Sequence[str],
        *,
        namespace: str = "",
        patience: Duration = "30s",
        tls: Tls | None = None,
        token: str | None = None,
        plaintext_token: bool = False,
        codec: Codec | None = None,
    ) -> None:
        """Raises ValueError for wrong settings.

        `address`: host:port, or several, as in Connection. `namespace`: by default "default".
        `patience`: how long a call is repeated while the server cannot be reached.
        `tls`, `token`, `plaintext_token`: as in Connection. `codec`: encodes every payload of runs.
        """
        connection = Connection(address, tls, token, plaintext_token)
        self._caller = Caller(connection, namespace, seconds_of(patience), codec or PLAIN)
        self._gathering = Gathering(SYSTEM_CLOCK, self._schedule_some)
        self.escalations = Escalations(self._caller)
        """Questions that wait for a person."""
        self.hooks = Hooks(self._caller)
        """Webhooks, which report events."""
        self.schedules = Schedules(self._caller)
        """Schedules, which start runs by a calendar."""
        self.triggers = Triggers(self._caller)
        """Triggers, which start or continue runs on calls over HTTP and at the ends of other
        runs."""
        self.queues = Queues(self._caller)
        """Queues: waiting tasks, tasks that agents hold, pauses and limits."""
        self.circuits = Circuits(self._caller)
        """Circuit breakers, and cordons of agents."""
        self.namespaces = Namespaces(self._caller)
        """This namespace and others: regions, pauses, retention, limits."""
        self.operations = Operations(self._caller)
        """State for operators: agents, supervisors, interventions, and what needs a person."""

    async def register_workflow(
        self, definition: Union[Workflow, str], *, keep_default: bool = False
    ) -> RegisteredWorkflow:
        """Registers a definition, or its text in YAML or JSON."""
        request = wire.RegisterWorkflowRequest(
            namespace=self._caller.namespace, keep_default=keep_default
        )
        if isinstance(definition, str):
            request.text = definition
        else:
            request.definition.CopyFrom(to_definition(definition))
        answer = await self._caller.call(rpc.REGISTER_WORKFLOW, request)
        return RegisteredWorkflow(answer.name, answer.version, answer.created)

    @overload
    async def schedule(
        self, workflow: WorkflowType[In, Any], *, input: In, **given: Any
    ) -> Scheduled: ...
    @overload
    async def schedule(self, workflow: Union[str, Workflow, NewRun], **given: Any) -> Scheduled: ...
    async def schedule(
        self, workflow: Union[str, WorkflowType, Workflow, NewRun], **given: Any
    ) -> Scheduled:
        """Starts a run: a workflow with the other fields of NewRun; or a NewRun.

        Concurrent calls share a request.
        """
        run = workflow if isinstance(workflow, NewRun) else NewRun(workflow, **given)
        request = to_schedule(run, self._caller.namespace, self._caller.codec)
        return await self._gathering.add(request)

    async def schedule_batch(self, runs: Sequence[NewRun]) -> tuple[Union[Scheduled, Refused], ...]:
        """Starts up to 500 runs in one call, with one result for each, in the same order. A run
        that was refused with the code UNAVAILABLE may have started: start it again under its
        key."""
        caller = self._caller
        requests = [to_schedule(run, caller.namespace, caller.codec) for run in runs]
        results = await self._schedule_batch(requests)
        return tuple(
            Refused(run.key, result) if isinstance(result, CallError) else result
            for run, result in zip(runs, results)
        )

    async def get_run(
        self,
        run: RunName,
        *,
        attempts: bool = False,
        interventions: bool = False,
        escalations: bool = False,
        signals: bool = False,
        decisions: bool = False,
        settings: bool = False,
    ) -> RunDetails:
        """The run and its steps, and the requested parts of its history."""
        request = wire.GetRunRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            include_attempts=attempts,
            include_interventions=interventions,
            include_escalations=escalations,
            include_signals=signals,
            include_decisions=decisions,
            include_settings=settings,
        )
        return await self._caller.ask(RunDetails, rpc.GET_RUN, request)

    async def list_runs(
        self,
        *,
        filter: RunFilter = ALL_RUNS,
        order: Literal["newest-first", "oldest-first"] = "newest-first",
        page_size: int = 0,
        page_token: str = "",
    ) -> RunPage:
        """One page; `page_size`: 0 means 50, at most 1,000."""
        newest = order == "newest-first"
        request = wire.ListRunsRequest(
            namespace=self._caller.namespace,
            filter=to_filter(filter),
            order=wire.RUN_ORDER_CREATED_DESC if newest else wire.RUN_ORDER_CREATED_ASC,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(RunPage, rpc.LIST_RUNS, request)

    async def list_items(
        self,
        run: RunName,
        step_id: str,
        *,
        states: Sequence[StepState] = (),
        page_size: int = 0,
        page_token: str = "",
    ) -> ItemPage:
        """The items of a map that have started, in the order of its list, each as a step.

        `states`: items in one of the states; empty: all. A page may then have fewer items than
        its size.
        """
        request = wire.ListItemsRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            step_id=step_id,
            states=[number_of(run_pb2.StepState.DESCRIPTOR, state) for state in states],
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(ItemPage, rpc.LIST_ITEMS, request)

    async def explain_run(self, run: RunName) -> RunExplanation:
        """Why the run is not moving, what happens next, and what a person can do."""
        request = wire.ExplainRunRequest(namespace=self._caller.namespace, run=to_ref(run))
        return await self._caller.ask(RunExplanation, rpc.EXPLAIN_RUN, request)

    async def watch_run(
        self, run: RunName, *, after_version: int = 0
    ) -> AsyncIterator[RunSnapshot]:
        """The current state and each change, until the end of the run; continues after a broken
        stream."""
        caller, seen = self._caller, after_version
        backoff = Backoff(SYSTEM_CLOCK)
        failing_since: float | None = None
        while True:
            opened = SYSTEM_CLOCK.monotonic()
            failure: CallError | None = None
            try:
                request = wire.WatchRunRequest(
                    namespace=caller.namespace, run=to_ref(run), after_version=seen
                )
                async for answer in caller.stream(rpc.WATCH_RUN, request):
                    snapshot = caller.read(RunSnapshot, answer)
                    seen, failing_since = snapshot.run.version, None
                    backoff.reset()
                    yield snapshot
                    if snapshot.run.ended:
                        return
            except CallError as error:
                now = SYSTEM_CLOCK.monotonic()
                # A stream that was open for long without a change had reached the server.
                if failing_since is None or now - opened > TRY:
                    failing_since = now
                if error.call_outcome == "definite" or now - failing_since > caller.patience:
                    raise
                failure = error
            await sleep(SYSTEM_CLOCK, backoff.next(failure))

    async def wait_run(self, run: RunName) -> Run:
        """Waits without a limit until the run has ended, and returns the run."""
        request = wire.WaitRunRequest(
            namespace=self._caller.namespace, run=to_ref(run), wait=to_duration(_WAIT)
        )
        while True:
            asked = SYSTEM_CLOCK.monotonic()
            answer = await self._caller.call(rpc.WAIT_RUN, request, _WAIT + TRY)
            if answer.ended:
                return self._caller.read(Run, answer.run)
            # A draining server answers at once: do not call it again too fast.
            left = asked + _SPACING - SYSTEM_CLOCK.monotonic()
            if left > 0:
                await sleep(SYSTEM_CLOCK, left)

    async def wait_outputs(self, workflow: WorkflowType[Any, Out], run: RunName) -> Out:
        """Waits without a limit until the run has ended, and returns the outputs of its steps by
        their ids, as the type of the workflow: a step that was skipped or has no output is left
        out. Raises RunNotCompletedError, and ValueError for outputs that are not of this type."""
        ended = await self.wait_run(run)
        if ended.state != "COMPLETED":
            raise RunNotCompletedError(ended)
        steps = (await self.get_run(ended.run_id)).steps
        outputs: Any = {step.id: step.output for step in steps if step.output is not None}
        if workflow.output is None:
            return outputs  # type: ignore[no-any-return]
        try:
            return convert(workflow.output, outputs)  # type: ignore[no-any-return]
        except ValueError as error:
            raise ValueError(
                f"The outputs of run {ended.run_id} are not of the type of {workflow.name}: {error}"
            ) from None

    async def close(self) -> None:
        """Closes the connection; may be called twice."""
        await self._gathering.stop()
        await self._caller.close()

    async def __aenter__(self) -> Self:
        """The client connects when it is first used."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the client."""
        await self.close()

    async def _schedule_some(
        self, requests: list[wire.ScheduleRequest]
    ) -> list[Union[Scheduled, CallError, asyncio.Task[Scheduled]]]:
        if len(requests) == 1:
            alone = self._alone(requests[0])
            try:
                await asyncio.wait({alone}, timeout=_YIELDS_AFTER)
            except asyncio.CancelledError:
                alone.cancel()
                raise
            return [alone]
        try:
            results = await self._schedule_batch(requests)
        except CallError as error:
            if error.call_outcome != "definite":
                raise
            # One of the runs caused the error; each is sent alone to find out which.
            return [self._alone(request) for request in requests]
        # What may pass is repeated as any call is.
        return [
            self._alone(request)
            if isinstance(result, CallError) and result.call_outcome != "definite"
            else result
            for request, result in zip(requests, results)
        ]

    def _alone(self, request: wire.ScheduleRequest) -> asyncio.Task[Scheduled]:
        async def schedule() -> Scheduled:
            answer = await self._caller.call(rpc.SCHEDULE, request)
            return Scheduled(answer.run_id, request.key, answer.created)

        return asyncio.get_running_loop().create_task(schedule())

    async def _schedule_batch(
        self, requests: Sequence[wire.ScheduleRequest]
    ) -> list[Union[Scheduled, CallError]]:
        request = wire.ScheduleBatchRequest(namespace=self._caller.namespace, runs=requests)
        answer = await self._caller.call(rpc.SCHEDULE_BATCH, request)
        return [
            error_of_status(result.status)
            if result.status.code != 0
            else Scheduled(result.run_id, one.key, result.created)
            for one, result in zip(requests, answer.results)
        ]
