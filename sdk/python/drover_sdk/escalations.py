"""Escalations: questions that only a person can answer, and their answers.

An escalation is named by its run and its number within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.history import Attempt, Escalation
from drover_sdk.runs import Run, RunName, Step, to_ref
from drover_sdk.v1 import operator_service_pb2 as wire

Answer = Literal["retry", "retry-changed", "succeed", "skip", "compensate", "fail", "acknowledge"]
"""The answers of a person; each escalation accepts some of them.

- retry: try the step again
- retry-changed: try the step again, with `payload` as its input
- succeed: the step is done, with `payload` as its output
- skip: skip the step and continue
- compensate: undo the run
- fail: the run fails, and what was done stays
- acknowledge: the person knows, and nothing is to be done
"""


@dataclass(frozen=True)
class EscalationPage:
    """Escalations of the newest runs first; without `answers`, which `get` returns."""

    escalations: tuple[Escalation, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class EscalationDetails:
    """An escalation with its history."""

    escalation: Escalation
    """With the answers that it accepts now."""
    run: Run
    step: Step | None
    """None: the escalation concerns the run as a whole."""
    attempts: tuple[Attempt, ...]
    """Every hand-out of a task of that step, oldest first."""
    effect_key: str
    """The key by which the remote service knows the effect; empty: no task was handed out."""


@dataclass(frozen=True)
class Resolved:
    """An answer that was accepted."""

    escalation: Escalation
    run: Run
    repeated: bool
    """The same answer was given before."""


class Escalations:
    """Questions that wait for a person: `client.escalations`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def list(
        self, *, include_closed: bool = False, page_size: int = 0, page_token: str = ""
    ) -> EscalationPage:
        """The open escalations, with `include_closed` also closed ones. `page_size`: 0 means 50."""
        request = wire.ListEscalationsRequest(
            namespace=self._caller.namespace,
            include_closed=include_closed,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(EscalationPage, rpc.LIST_ESCALATIONS, request)

    async def get(self, run: RunName, id: str) -> EscalationDetails:
        """One escalation, with its history."""
        request = wire.GetEscalationRequest(
            namespace=self._caller.namespace, run=to_ref(run), escalation_id=id
        )
        return await self._caller.ask(EscalationDetails, rpc.GET_ESCALATION, request)

    async def resolve(
        self,
        run: RunName,
        id: str,
        answer: Answer,
        *,
        by: str,
        why: str = "",
        payload: Any = None,
    ) -> Resolved:
        """Answers an escalation. `by`: the person who answers, as the caller states it; the server
        does not verify it. `why`: for later readers. `payload`: with `retry-changed` the whole
        input, with `succeed` the output."""
        request = wire.ResolveEscalationRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            escalation_id=id,
            answer=answer,
            by=by,
            why=why,
            payload=self._caller.payload(payload),
        )
        return await self._caller.ask(Resolved, rpc.RESOLVE_ESCALATION, request)

    async def claim(self, run: RunName, id: str, *, by: str, anyway: bool = False) -> Escalation:
        """Records that a person works on it; other people may still answer it.

        `anyway`: although another person has claimed it; else it is refused as
        ESCALATION_CLAIMED.
        """
        request = wire.ClaimEscalationRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            escalation_id=id,
            by=by,
            anyway=anyway,
        )
        answer = await self._caller.call(rpc.CLAIM_ESCALATION, request)
        return self._caller.read(Escalation, answer.escalation)

    async def release(self, run: RunName, id: str, *, by: str, anyway: bool = False) -> Escalation:
        """Takes the claim back."""
        request = wire.ReleaseEscalationRequest(
            namespace=self._caller.namespace,
            run=to_ref(run),
            escalation_id=id,
            by=by,
            anyway=anyway,
        )
        answer = await self._caller.call(rpc.RELEASE_ESCALATION, request)
        return self._caller.read(Escalation, answer.escalation)
