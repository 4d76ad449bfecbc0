"""The client for programs without asyncio, with the same calls as drover_sdk.clients.

    with drover_sdk.sync.Client("127.0.0.1:7420") as client:
        run = client.wait_run(client.schedule("trip", input={"to": "Lisbon"}).run_id)

It may be used from several threads. Made by scripts/make_sync.py; change drover_sdk/clients.py and
its parts instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Union, overload

from drover_sdk import (
    circuits,
    clients,
    escalations,
    hooks,
    namespaces,
    operations,
    queues,
    schedules,
    triggers,
)
from drover_sdk.circuits import Circuit, CircuitPage, Cordon
from drover_sdk.clients import In, Out, Refused, RegisteredWorkflow, Scheduled
from drover_sdk.commands import (
    BulkAction,
    BulkResult,
    Completed,
    Decided,
    Rerun,
    Signalled,
    Undo,
    Version,
)
from drover_sdk.durations import Duration
from drover_sdk.errors import PermanentError, TransientError
from drover_sdk.escalations import Answer, EscalationDetails, EscalationPage, Resolved
from drover_sdk.explanation import RunExplanation
from drover_sdk.history import Escalation, ItemPage, RunDetails, RunPage, RunSnapshot
from drover_sdk.hooks import DeliveryPage, Hook, HookEvent
from drover_sdk.loop_thread import LoopThread
from drover_sdk.namespaces import CreatedNamespace, Namespace, NamespacePage
from drover_sdk.new_runs import NewRun
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
from drover_sdk.payloads import Codec
from drover_sdk.queues import Queue, QueueDetails, QueuePage, VersionPin
from drover_sdk.run_filters import ALL_RUNS, RunFilter
from drover_sdk.runs import Run, RunName, StepState
from drover_sdk.schedules import (
    BackfillOccurrence,
    CreatedSchedule,
    Pause,
    Recurring,
    Schedule,
    SchedulePage,
    TriggeredRun,
)
from drover_sdk.task_types import WorkflowType
from drover_sdk.tls_files import Tls
from drover_sdk.triggers import PutTrigger, Refusal, TriedTrigger, Trigger, TriggerSpec
from drover_sdk.workflow import Workflow
from drover_sdk.workflow_calls import MovedDefault, WorkflowDetails

if TYPE_CHECKING:
    from typing_extensions import Self


class Escalations:
    """Questions that wait for a person: `client.escalations`."""

    def __init__(self, inner: escalations.Escalations, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def list(
        self, *, include_closed: bool = False, page_size: int = 0, page_token: str = ""
    ) -> EscalationPage:
        """The open escalations, with `include_closed` also closed ones. `page_size`: 0 means 50."""
        return self._loop.call(
            self._inner.list(
                include_closed=include_closed, page_size=page_size, page_token=page_token
            )
        )

    def get(self, run: RunName, id: str) -> EscalationDetails:
        """One escalation, with its history."""
        return self._loop.call(self._inner.get(run, id))

    def resolve(
        self, run: RunName, id: str, answer: Answer, *, by: str, why: str = "", payload: Any = None
    ) -> Resolved:
        """Answers an escalation. `by`: the person who answers, as the caller states it; the server
        does not verify it. `why`: for later readers. `payload`: with `retry-changed` the whole
        input, with `succeed` the output."""
        return self._loop.call(
            self._inner.resolve(run, id, answer, by=by, why=why, payload=payload)
        )

    def claim(self, run: RunName, id: str, *, by: str, anyway: bool = False) -> Escalation:
        """Records that a person works on it; other people may still answer it.

        `anyway`: although another person has claimed it; else it is refused as
        ESCALATION_CLAIMED."""
        return self._loop.call(self._inner.claim(run, id, by=by, anyway=anyway))

    def release(self, run: RunName, id: str, *, by: str, anyway: bool = False) -> Escalation:
        """Takes the claim back."""
        return self._loop.call(self._inner.release(run, id, by=by, anyway=anyway))


class Hooks:
    """Webhooks: `client.hooks`."""

    def __init__(self, inner: hooks.Hooks, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def put(
        self, name: str, url: str, *, events: Sequence[HookEvent] = (), secret: str = ""
    ) -> bool:
        """Creates a hook, or changes the hook of this name; returns whether it created one.

        `url`: http or https, without user or fragment. `events`: by default only the ends of runs
        that name the hook. `secret`: key that signs its webhooks, 16 to 256 characters; by default
        the current secret stays."""
        return self._loop.call(self._inner.put(name, url, events=events, secret=secret))

    def list(self) -> tuple[Hook, ...]:
        """All of them."""
        return self._loop.call(self._inner.list())

    def delete(self, name: str) -> bool:
        """Deletes a hook; its pending webhooks are given up. Returns whether there was one."""
        return self._loop.call(self._inner.delete(name))

    def deliveries(
        self,
        *,
        hook: str = "",
        states: Sequence[Literal["pending", "delivered", "given-up"]] = (),
        page_size: int = 0,
        page_token: str = "",
    ) -> DeliveryPage:
        """The webhooks of one hook or all, in these states or all."""
        return self._loop.call(
            self._inner.deliveries(
                hook=hook, states=states, page_size=page_size, page_token=page_token
            )
        )


class Schedules:
    """Schedules, which start runs by a calendar: `client.schedules`."""

    def __init__(self, inner: schedules.Schedules, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def create(self, name: str, spec: Recurring, *, paused: bool = False) -> CreatedSchedule:
        """Creates the schedule, and returns its state."""
        return self._loop.call(self._inner.create(name, spec, paused=paused))

    def get(self, name: str) -> Schedule:
        """The schedule of this name."""
        return self._loop.call(self._inner.get(name))

    def list(self, *, page_size: int = 0, page_token: str = "") -> SchedulePage:
        """One page."""
        return self._loop.call(self._inner.list(page_size=page_size, page_token=page_token))

    def update(self, name: str, spec: Recurring) -> Schedule:
        """Replaces its whole content."""
        return self._loop.call(self._inner.update(name, spec))

    def pause(self, name: str, *, reason: str = "") -> Schedule:
        """The schedule starts no run until it is resumed."""
        return self._loop.call(self._inner.pause(name, reason=reason))

    def resume(self, name: str) -> Schedule:
        """Times that passed during the pause get a run only by a backfill."""
        return self._loop.call(self._inner.resume(name))

    def delete(self, name: str) -> bool:
        """Deletes it; its runs continue. Returns whether there was one."""
        return self._loop.call(self._inner.delete(name))

    def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int = 0,
        dry_run: bool = False,
    ) -> Iterator[BackfillOccurrence]:
        """Starts the runs of past times that have no run; each time gets one, however often this is
        called.

        The times from `start` on and before `end`. `concurrency`: maximum number of its runs in
        progress at a time; 0 means 1. `dry_run`: returns what the call would do, and
        starts nothing."""
        return self._loop.iterate(
            self._inner.backfill(name, start, end, concurrency=concurrency, dry_run=dry_run)
        )

    def trigger(self, name: str, *, request_id: str | None = None) -> TriggeredRun:
        """Starts a run now, as if a time had come. The same `request_id` starts one run only."""
        return self._loop.call(self._inner.trigger(name, request_id=request_id))


class Triggers:
    """Triggers, which start or continue runs: `client.triggers`."""

    def __init__(self, inner: triggers.Triggers, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def put(self, trigger: Union[TriggerSpec, str], *, secret: str = "") -> PutTrigger:
        """Creates a trigger, or changes the trigger of its name: a definition, or its text in YAML
        or JSON. Without a secret its current one is retained."""
        return self._loop.call(self._inner.put(trigger, secret=secret))

    def get(self, name: str) -> Trigger:
        """The trigger of this name."""
        return self._loop.call(self._inner.get(name))

    def list(self) -> tuple[Trigger, ...]:
        """All of them."""
        return self._loop.call(self._inner.list())

    def delete(self, name: str) -> bool:
        """Deletes it; returns whether there was one."""
        return self._loop.call(self._inner.delete(name))

    def refusals(self, *, trigger: str = "", limit: int = 0) -> tuple[Refusal, ...]:
        """What was refused, by reason, the newest first. Of all triggers unless one is named."""
        return self._loop.call(self._inner.refusals(trigger=trigger, limit=limit))

    def try_out(
        self,
        trigger: Union[TriggerSpec, str],
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        run: RunName | None = None,
    ) -> TriedTrigger:
        """What the trigger would do, without doing it: a stored one, by its name, or a definition.

        `body`, `headers`, `query`: the call over HTTP. `run`: for a trigger at the end of a run, a
        run that has ended."""
        return self._loop.call(
            self._inner.try_out(trigger, body=body, headers=headers, query=query, run=run)
        )


class Queues:
    """Queues: `client.queues`.

    To drain a queue, pause it and wait until `get` returns no leased tasks."""

    def __init__(self, inner: queues.Queues, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def list(self, *, page_size: int = 0, page_token: str = "") -> QueuePage:
        """One page; `page_size`: 0 means 50, at most 1,000."""
        return self._loop.call(self._inner.list(page_size=page_size, page_token=page_token))

    def get(self, queue: str) -> QueueDetails:
        """A queue that was never used is returned as an empty one."""
        return self._loop.call(self._inner.get(queue))

    def pause(self, queue: str, *, reason: str = "") -> Queue:
        """Once this returns, no task of the queue is handed out; tasks that agents hold
        continue."""
        return self._loop.call(self._inner.pause(queue, reason=reason))

    def resume(self, queue: str) -> Queue:
        """Resumes the queue."""
        return self._loop.call(self._inner.resume(queue))

    def set_limits(
        self, queue: str, *, leased: int = 0, per_second: float = 0, burst: int = 0
    ) -> Queue:
        """Sets all limits, see QueueLimits: a limit that is left out is removed."""
        return self._loop.call(
            self._inner.set_limits(queue, leased=leased, per_second=per_second, burst=burst)
        )

    def pin(
        self, queue: str, *, workflow: str, agent_version: str, version: int = 0
    ) -> tuple[VersionPin, ...]:
        """Restricts these tasks to agents of that version; returns all pins of the queue.

        Without `version`: tasks of each version of the workflow that has no pin of its own."""
        return self._loop.call(
            self._inner.pin(queue, workflow=workflow, agent_version=agent_version, version=version)
        )

    def unpin(self, queue: str, *, workflow: str, version: int = 0) -> tuple[VersionPin, ...]:
        """Tasks that no other pin restricts go to any agent; returns all pins of the queue."""
        return self._loop.call(self._inner.unpin(queue, workflow=workflow, version=version))


class Circuits:
    """Circuits and cordons: `client.circuits`.

    `by` is the person who makes a setting, as the caller states it; the server does not verify it.
    `why` is for later readers."""

    def __init__(self, inner: circuits.Circuits, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def list(self, *, page_size: int = 0, page_token: str = "") -> CircuitPage:
        """One page; `page_size`: 0 means 50, at most 1,000."""
        return self._loop.call(self._inner.list(page_size=page_size, page_token=page_token))

    def open(self, queue: str, task: str, *, by: str, why: str = "", agent_id: str = "") -> Circuit:
        """No task is handed out until the circuit is released, on every server within a second.

        `agent_id`: only the circuit of this agent; by default that of the task, for all agents."""
        return self._loop.call(self._inner.open(queue, task, by=by, why=why, agent_id=agent_id))

    def close(
        self, queue: str, task: str, *, by: str, why: str = "", agent_id: str = ""
    ) -> Circuit:
        """All tasks are handed out until the circuit is released, whatever fails.

        `agent_id`: as in `open`."""
        return self._loop.call(self._inner.close(queue, task, by=by, why=why, agent_id=agent_id))

    def release(
        self, queue: str, task: str, *, by: str, why: str = "", agent_id: str = ""
    ) -> Circuit:
        """Removes the setting: the circuit is closed then, and the supervisor evaluates new
        results.

        `agent_id`: as in `open`."""
        return self._loop.call(self._inner.release(queue, task, by=by, why=why, agent_id=agent_id))

    def cordon(
        self, *, agent_id: str = "", session: bytes = b"", version: str = "", by: str, why: str = ""
    ) -> Cordon:
        """The agents get no new tasks, on every server within a second; they may finish those they
        hold.

        Exactly one of `agent_id`, an agent, `session`, one start of its process, and `version`, all
        agents of it; else ValueError. A session that no server knows is AGENT_NOT_FOUND."""
        return self._loop.call(
            self._inner.cordon(agent_id=agent_id, session=session, version=version, by=by, why=why)
        )

    def uncordon(self, *, agent_id: str = "", session: bytes = b"", version: str = "") -> bool:
        """Lets the agents get tasks again; returns whether they were cordoned. Named as in
        `cordon`."""
        return self._loop.call(
            self._inner.uncordon(agent_id=agent_id, session=session, version=version)
        )

    def cordons(self) -> tuple[Cordon, ...]:
        """The cordons of agents by id, then those of versions, then those of sessions."""
        return self._loop.call(self._inner.cordons())


class Namespaces:
    """Namespaces: `client.namespaces`. All calls except `list` and `create` are about the namespace
    of the client."""

    def __init__(self, inner: namespaces.Namespaces, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def list(self, *, page_size: int = 0, page_token: str = "") -> NamespacePage:
        """All namespaces, one page; `page_size`: 0 means 50, at most 1,000."""
        return self._loop.call(self._inner.list(page_size=page_size, page_token=page_token))

    def create(self, name: str, *, region: str = "") -> CreatedNamespace:
        """Creates another namespace. Its region is by default "default"; a new region is created
        with it, and the region cannot be changed later."""
        return self._loop.call(self._inner.create(name, region=region))

    def get(self) -> Namespace:
        """The current state of the namespace."""
        return self._loop.call(self._inner.get())

    def set_retention(self, retention: Duration | None) -> Namespace:
        """Runs are deleted this long after their end, at least 1 h; None: they are
        retained for ever."""
        return self._loop.call(self._inner.set_retention(retention))

    def set_limits(
        self,
        *,
        open_runs: int = 0,
        runs_per_second: float = 0,
        burst: int = 0,
        payload_bytes: int = 0,
        calls_per_second: float = 0,
        calls_burst: int = 0,
        storage_bytes: int = 0,
        weight: int = 0,
    ) -> Namespace:
        """Sets all limits, see NamespaceLimits: a limit that is left out is removed."""
        return self._loop.call(
            self._inner.set_limits(
                open_runs=open_runs,
                runs_per_second=runs_per_second,
                burst=burst,
                payload_bytes=payload_bytes,
                calls_per_second=calls_per_second,
                calls_burst=calls_burst,
                storage_bytes=storage_bytes,
                weight=weight,
            )
        )

    def set_logs(self, *, stored: bool) -> Namespace:
        """Sets whether the lines that handlers log are stored; at first they are."""
        return self._loop.call(self._inner.set_logs(stored=stored))

    def pause(self, *, reason: str = "") -> Pause:
        """Once this returns, no task of any of its queues is handed out."""
        return self._loop.call(self._inner.pause(reason=reason))

    def resume(self) -> None:
        """Resumes the namespace."""
        self._loop.call(self._inner.resume())


class Operations:
    """State for operators: `client.operations`."""

    def __init__(self, inner: operations.Operations, loop: LoopThread) -> None:
        """Made by Client."""
        self._inner = inner
        self._loop = loop

    def agents(self, *, agent_id: str = "", page_size: int = 0, page_token: str = "") -> AgentPage:
        """The agents that were seen lately; of one id, or all. `page_size`: 0 means 50."""
        return self._loop.call(
            self._inner.agents(agent_id=agent_id, page_size=page_size, page_token=page_token)
        )

    def agent(self, session: bytes) -> AgentDetails:
        """One session of an agent, by `AgentInfo.session`, with the tasks that it holds."""
        return self._loop.call(self._inner.agent(session))

    def partitions(self, *, page_size: int = 0, page_token: str = "") -> PartitionPage:
        """The partitions, and the supervisors that watch them."""
        return self._loop.call(self._inner.partitions(page_size=page_size, page_token=page_token))

    def hand_overs(
        self, *, partition: int | None = None, page_size: int = 0, page_token: str = ""
    ) -> HandOverPage:
        """Which supervisor owned which partition and when: of one partition, or all."""
        return self._loop.call(
            self._inner.hand_overs(partition=partition, page_size=page_size, page_token=page_token)
        )

    def supervisors(self) -> tuple[Supervisor, ...]:
        """The supervisors that were seen in the last minute, the longest running first."""
        return self._loop.call(self._inner.supervisors())

    def interventions(
        self,
        *,
        rules: Sequence[str] = (),
        run_id: str = "",
        acted_after: datetime | None = None,
        acted_before: datetime | None = None,
        page_size: int = 0,
        page_token: str = "",
    ) -> InterventionPage:
        """The actions of supervisors: by these rules, such as "lease", and in this run, or all."""
        return self._loop.call(
            self._inner.interventions(
                rules=rules,
                run_id=run_id,
                acted_after=acted_after,
                acted_before=acted_before,
                page_size=page_size,
                page_token=page_token,
            )
        )

    def cluster_info(self) -> ClusterInfo:
        """Versions, migrations, clocks, and the number of open runs."""
        return self._loop.call(self._inner.cluster_info())

    def overview(self) -> Overview:
        """What needs a person."""
        return self._loop.call(self._inner.overview())


class Client:
    """Starts runs and reads their state."""

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
        self._inner = clients.Client(
            address,
            namespace=namespace,
            patience=patience,
            tls=tls,
            token=token,
            plaintext_token=plaintext_token,
            codec=codec,
        )
        self._loop = LoopThread()
        self.escalations = Escalations(self._inner.escalations, self._loop)
        self.hooks = Hooks(self._inner.hooks, self._loop)
        self.schedules = Schedules(self._inner.schedules, self._loop)
        self.triggers = Triggers(self._inner.triggers, self._loop)
        self.queues = Queues(self._inner.queues, self._loop)
        self.circuits = Circuits(self._inner.circuits, self._loop)
        self.namespaces = Namespaces(self._inner.namespaces, self._loop)
        self.operations = Operations(self._inner.operations, self._loop)

    def close(self) -> None:
        """Closes the connection; may be called twice."""
        if self._loop.alive:
            self._loop.call(self._inner.close())
            self._loop.stop()

    def __enter__(self) -> Self:
        """The client connects when it is first used."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the client."""
        self.close()

    def register_workflow(
        self, definition: Union[Workflow, str], *, keep_default: bool = False
    ) -> RegisteredWorkflow:
        """Registers a definition, or its text in YAML or JSON."""
        return self._loop.call(self._inner.register_workflow(definition, keep_default=keep_default))

    @overload
    def schedule(
        self, workflow: WorkflowType[In, Any], *, input: In, **given: Any
    ) -> Scheduled: ...

    @overload
    def schedule(self, workflow: Union[str, Workflow, NewRun], **given: Any) -> Scheduled: ...

    def schedule(
        self, workflow: Union[str, WorkflowType, Workflow, NewRun], **given: Any
    ) -> Scheduled:
        """Starts a run: a workflow with the other fields of NewRun; or a NewRun.

        Concurrent calls share a request."""
        return self._loop.call(self._inner.schedule(workflow, **given))

    def schedule_batch(self, runs: Sequence[NewRun]) -> tuple[Union[Scheduled, Refused], ...]:
        """Starts up to 500 runs in one call, with one result for each, in the same order. A run
        that was refused with the code UNAVAILABLE may have started: start it again under its
        key."""
        return self._loop.call(self._inner.schedule_batch(runs))

    def get_run(
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
        return self._loop.call(
            self._inner.get_run(
                run,
                attempts=attempts,
                interventions=interventions,
                escalations=escalations,
                signals=signals,
                decisions=decisions,
                settings=settings,
            )
        )

    def list_runs(
        self,
        *,
        filter: RunFilter = ALL_RUNS,
        order: Literal["newest-first", "oldest-first"] = "newest-first",
        page_size: int = 0,
        page_token: str = "",
    ) -> RunPage:
        """One page; `page_size`: 0 means 50, at most 1,000."""
        return self._loop.call(
            self._inner.list_runs(
                filter=filter, order=order, page_size=page_size, page_token=page_token
            )
        )

    def list_items(
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
        its size."""
        return self._loop.call(
            self._inner.list_items(
                run, step_id, states=states, page_size=page_size, page_token=page_token
            )
        )

    def explain_run(self, run: RunName) -> RunExplanation:
        """Why the run is not moving, what happens next, and what a person can do."""
        return self._loop.call(self._inner.explain_run(run))

    def watch_run(self, run: RunName, *, after_version: int = 0) -> Iterator[RunSnapshot]:
        """The current state and each change, until the end of the run; continues after a broken
        stream."""
        return self._loop.iterate(self._inner.watch_run(run, after_version=after_version))

    def wait_run(self, run: RunName) -> Run:
        """Waits without a limit until the run has ended, and returns the run."""
        return self._loop.call(self._inner.wait_run(run))

    def wait_outputs(self, workflow: WorkflowType[Any, Out], run: RunName) -> Out:
        """Waits without a limit until the run has ended, and returns the outputs of its steps by
        their ids, as the type of the workflow: a step that was skipped or has no output is left
        out. Raises RunNotCompletedError, and ValueError for outputs that are not of this type."""
        return self._loop.call(self._inner.wait_outputs(workflow, run))

    def cancel_run(self, run: RunName, *, undo: Undo = "compensate", reason: str = "") -> Run:
        """Stops the run. `undo`: what happens to work that was done."""
        return self._loop.call(self._inner.cancel_run(run, undo=undo, reason=reason))

    def pause_run(self, run: RunName, *, reason: str = "") -> Run:
        """No new task is handed out; tasks that agents hold continue."""
        return self._loop.call(self._inner.pause_run(run, reason=reason))

    def resume_run(self, run: RunName, *, reason: str = "") -> Run:
        """Resumes the run."""
        return self._loop.call(self._inner.resume_run(run, reason=reason))

    def retry_run(
        self, run: RunName, *, version: Version = "same", request_id: str | None = None
    ) -> Rerun:
        """Starts a new run, which reuses the steps that succeeded and performs the others.

        `request_id`: the caller's own name for the request: one id makes one new run only. Default:
        random."""
        return self._loop.call(self._inner.retry_run(run, version=version, request_id=request_id))

    def rerun_from(
        self,
        run: RunName,
        step_id: str,
        *,
        version: Version = "same",
        input: Any = None,
        request_id: str | None = None,
    ) -> Rerun:
        """Starts a new run, which performs this step and all steps after it again; "": all steps.

        `input`: by default that of the run. `request_id`: as in `retry_run`."""
        return self._loop.call(
            self._inner.rerun_from(
                run, step_id, version=version, input=input, request_id=request_id
            )
        )

    def count_for_bulk(
        self,
        action: BulkAction,
        *,
        filter: RunFilter = ALL_RUNS,
        version: Version = "same",
        step_id: str = "",
        input: Any = None,
    ) -> int:
        """Number of runs to which a bulk action would apply, at most 10,001.

        `version`, `step_id`, `input`: for a re-run, as in `bulk`; wrong values are refused here."""
        return self._loop.call(
            self._inner.count_for_bulk(
                action, filter=filter, version=version, step_id=step_id, input=input
            )
        )

    def bulk(
        self,
        action: BulkAction,
        *,
        filter: RunFilter = ALL_RUNS,
        undo: Undo = "compensate",
        version: Version = "same",
        signal_name: str = "",
        payload: Any = None,
        step_id: str = "",
        input: Any = None,
        reason: str = "",
        expected_count: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[BulkResult]:
        """Applies the action to all runs that match the filter, oldest first, with a result for
        each.

        `undo`: for a cancel. `version`: for a retry and a re-run. `signal_name`, `payload`: for a
        signal; the name is required. `step_id`, `input`: for a re-run, as in `rerun_from`; one
        input for all, by default that of each run. `expected_count`: the result of
        `count_for_bulk`; if the number of runs differs now, nothing is done."""
        return self._loop.iterate(
            self._inner.bulk(
                action,
                filter=filter,
                undo=undo,
                version=version,
                signal_name=signal_name,
                payload=payload,
                step_id=step_id,
                input=input,
                reason=reason,
                expected_count=expected_count,
                request_id=request_id,
            )
        )

    def signal(
        self, run: RunName, name: str, *, payload: Any = None, id: str | None = None
    ) -> Signalled:
        """Sends an event for a step of the kind `signal`; it is stored until a step takes it.

        `payload`: the output of that step. `id`: the caller's own name for the signal: one id makes
        one signal only. Default: random."""
        return self._loop.call(self._inner.signal(run, name, payload=payload, id=id))

    def decide(
        self,
        run: RunName,
        step_id: str,
        decision: Literal["approve", "reject"],
        *,
        approver: str,
        roles: Sequence[str] = (),
        comment: str = "",
        form: Any = None,
    ) -> Decided:
        """Records the decision of a person on an approval.

        `approver`, `roles`: the person who decides, as the caller states it; the server does not
        verify it. `form`: the form of the step, filled in."""
        return self._loop.call(
            self._inner.decide(
                run, step_id, decision, approver=approver, roles=roles, comment=comment, form=form
            )
        )

    def complete_deferred(
        self,
        callback_token: str,
        *,
        output: Any = None,
        error: Union[TransientError, PermanentError, None] = None,
    ) -> Completed:
        """Reports how an attempt ended, by `task.callback_token`: success with the output of the
        step, or the error that a handler would raise."""
        return self._loop.call(
            self._inner.complete_deferred(callback_token, output=output, error=error)
        )

    def get_workflow(self, name: str) -> WorkflowDetails:
        """A workflow with its versions."""
        return self._loop.call(self._inner.get_workflow(name))

    def set_default_version(self, name: str, version: int) -> MovedDefault:
        """Runs that name no version start with this one from then on; open runs do not
        change their version."""
        return self._loop.call(self._inner.set_default_version(name, version))

    def pause_workflow(self, workflow: str, *, reason: str = "") -> Pause:
        """Once this returns, no task of its runs is handed out, in any version."""
        return self._loop.call(self._inner.pause_workflow(workflow, reason=reason))

    def resume_workflow(self, workflow: str) -> None:
        """Resumes the workflow."""
        self._loop.call(self._inner.resume_workflow(workflow))
