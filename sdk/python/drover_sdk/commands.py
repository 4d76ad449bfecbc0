"""Calls that change a run: cancel, pause, resume, repeat, a signal, a decision, the outcome
of a deferred attempt.

Repeating each of them is safe: cancel, pause and resume by the state of the run, a signal by its
id, a decision by its approver, an outcome by its token.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.errors import CallError, PermanentError, TransientError
from drover_sdk.outcomes import failed
from drover_sdk.payloads import to_payload
from drover_sdk.run_filters import ALL_RUNS, RunFilter, to_filter
from drover_sdk.runs import Run, RunName, to_ref
from drover_sdk.statuses import error_of_status
from drover_sdk.v1 import scheduler_service_pb2 as wire
from drover_sdk.v1.task_pb2 import Outcome
from drover_sdk.writing import number_of

Undo = Literal["compensate", "leave"]
Version = Literal["same", "newest"]
BulkAction = Literal["cancel", "pause", "resume", "retry", "signal", "rerun", "erase"]


@dataclass(frozen=True)
class Rerun:
    """The new run."""

    run_id: str
    created: bool
    """False: an earlier call with this request id made it."""


@dataclass(frozen=True)
class BulkResult:
    """The result of one run."""

    run_id: str
    error: CallError | None
    """Why the run was left unchanged; None: the action was applied."""
    new_run_id: str | None
    """For a retry and a re-run."""


@dataclass(frozen=True)
class Signalled:
    """A signal that was stored."""

    id: str
    repeated: bool
    """A signal of this id was stored before; this one was not needed."""


@dataclass(frozen=True)
class Decided:
    """A decision that was stored."""

    run: Run
    repeated: bool
    """This approver made the same decision before."""


@dataclass(frozen=True)
class Completed:
    """A deferred outcome that was stored."""

    repeated: bool
    """The same outcome was reported before."""


class Commands:
    """Calls of Client."""

    _caller: Caller

    async def cancel_run(self, run: RunName, *, undo: Undo = "compensate", reason: str = "") -> Run:
        """Stops the run. `undo`: what happens to work that was done."""
        request = wire.CancelRunRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            undo=number_of(wire.Undo.DESCRIPTOR, undo),
            reason=reason,
        )
        return self._caller.read(Run, (await self._caller.call(rpc.CANCEL_RUN, request)).run)

    async def pause_run(self, run: RunName, *, reason: str = "") -> Run:
        """No new task is handed out; tasks that agents hold continue."""
        request = wire.PauseRunRequest(
            namespace=self._caller.namespace, run=to_ref(run), reason=reason
        )
        return self._caller.read(Run, (await self._caller.call(rpc.PAUSE_RUN, request)).run)

    async def resume_run(self, run: RunName, *, reason: str = "") -> Run:
        """Resumes the run."""
        request = wire.ResumeRunRequest(
            namespace=self._caller.namespace, run=to_ref(run), reason=reason
        )
        return self._caller.read(Run, (await self._caller.call(rpc.RESUME_RUN, request)).run)

    async def retry_run(
        self, run: RunName, *, version: Version = "same", request_id: str | None = None
    ) -> Rerun:
        """Starts a new run, which reuses the steps that succeeded and performs the others.

        `request_id`: the caller's own name for the request: one id makes one new run only. Default:
        random.
        """
        request = wire.RetryRunRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            request_id=request_id or str(uuid.uuid4()),
            version=number_of(wire.RerunVersion.DESCRIPTOR, version),
        )
        return await self._caller.ask(Rerun, rpc.RETRY_RUN, request)

    async def rerun_from(
        self,
        run: RunName,
        step_id: str,
        *,
        version: Version = "same",
        input: Any = None,
        request_id: str | None = None,
    ) -> Rerun:
        """Starts a new run, which performs this step and all steps after it again; "": all steps.

        `input`: by default that of the run. `request_id`: as in `retry_run`.
        """
        request = wire.RerunFromRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            step_id=step_id,
            request_id=request_id or str(uuid.uuid4()),
            version=number_of(wire.RerunVersion.DESCRIPTOR, version),
            input=self._caller.payload(input),
        )
        return await self._caller.ask(Rerun, rpc.RERUN_FROM, request)

    async def count_for_bulk(
        self,
        action: BulkAction,
        *,
        filter: RunFilter = ALL_RUNS,
        version: Version = "same",
        step_id: str = "",
        input: Any = None,
    ) -> int:
        """Number of runs to which a bulk action would apply, at most 10,001.

        `version`, `step_id`, `input`: for a re-run, as in `bulk`; wrong values are refused here.
        """
        request = wire.BulkActionRequest(
            namespace=self._caller.namespace,
            filter=to_filter(filter),
            kind=number_of(wire.BulkKind.DESCRIPTOR, action),
            version=number_of(wire.RerunVersion.DESCRIPTOR, version),
            step_id=step_id,
            input=self._caller.payload(input),
            dry_run=True,
        )
        return (await self._caller.call(rpc.BULK_ACTION, request)).count

    async def bulk(
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
    ) -> AsyncIterator[BulkResult]:
        """Applies the action to all runs that match the filter, oldest first, with a result for
        each.

        `undo`: for a cancel. `version`: for a retry and a re-run. `signal_name`, `payload`: for a
        signal; the name is required. `step_id`, `input`: for a re-run, as in `rerun_from`; one
        input for all, by default that of each run. `expected_count`: the result of
        `count_for_bulk`; if the number of runs differs now, nothing is done.
        """
        request = wire.BulkActionRequest(
            namespace=self._caller.namespace,
            filter=to_filter(filter),
            kind=number_of(wire.BulkKind.DESCRIPTOR, action),
            undo=number_of(wire.Undo.DESCRIPTOR, undo),
            version=number_of(wire.RerunVersion.DESCRIPTOR, version),
            signal_name=signal_name,
            payload=self._caller.payload(payload),
            step_id=step_id,
            input=self._caller.payload(input),
            reason=reason,
            expected_count=expected_count,
            request_id=request_id or str(uuid.uuid4()),
        )
        while True:
            page = await self._caller.call(rpc.BULK_ACTION, request)
            for one in page.results:
                error = error_of_status(one.status) if one.status.code != 0 else None
                yield BulkResult(one.run_id, error, one.new_run_id or None)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def signal(
        self, run: RunName, name: str, *, payload: Any = None, id: str | None = None
    ) -> Signalled:
        """Sends an event for a step of the kind `signal`; it is stored until a step takes it.

        `payload`: the output of that step. `id`: the caller's own name for the signal: one id makes
        one signal only. Default: random.
        """
        request = wire.SignalRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            name=name,
            signal_id=id or str(uuid.uuid4()),
            payload=self._caller.payload(payload),
        )
        answer = await self._caller.call(rpc.SIGNAL, request)
        return Signalled(request.signal_id, answer.repeated)

    async def decide(
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
        verify it. `form`: the form of the step, filled in.
        """
        request = wire.DecideRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            step_id=step_id,
            approver=approver,
            roles=list(roles),
            decision=number_of(wire.DecisionKind.DESCRIPTOR, decision),
            comment=comment,
            # Not encoded, whatever the codec: the server checks it against the schema of the step.
            form=None if form is None else to_payload(form),
        )
        return await self._caller.ask(Decided, rpc.DECIDE, request)

    async def complete_deferred(
        self,
        callback_token: str,
        *,
        output: Any = None,
        error: Union[TransientError, PermanentError, None] = None,
    ) -> Completed:
        """Reports how an attempt ended, by `task.callback_token`: success with the output of the
        step, or the error that a handler would raise."""
        request = wire.CompleteDeferredRequest(callback_token=callback_token)
        if error is None:
            request.success.CopyFrom(Outcome.Success(output=self._caller.payload(output)))
        else:
            request.failed.CopyFrom(failed(error))
        return await self._caller.ask(Completed, rpc.COMPLETE_DEFERRED, request)
