"""Webhooks: who is told of what happens in the namespace, and how that went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from drover import rpc
from drover.calls import Caller
from drover.v1 import operator_service_pb2 as wire

HookEvent = Literal["escalation-opened", "escalation-reminder", "escalation-closed", "run-ended"]
"""What a hook may hear of; `run-ended`: of every run."""


@dataclass(frozen=True)
class Hook:
    """One who is told."""

    name: str
    url: str
    events: tuple[str, ...]
    secret_digest: str
    """SHA-256, hex: the secret itself is never told."""
    created_time: datetime | None
    changed_time: datetime | None


@dataclass(frozen=True)
class Delivery:
    """One webhook, and how its tries went."""

    id: str
    """What a receiver tells a repeat by: its header Drover-Event-Id."""
    hook: str
    url: str
    """Empty: the hook's own."""
    kind: str
    count: int
    """How many things of one cause it tells of; run and escalation are the first of them."""
    run_id: str
    escalation_id: str
    """Empty: it is about the run."""
    state: str
    tries: int
    error: str
    """Why the last try failed; empty: none did."""
    created_time: datetime | None
    ended_time: datetime | None
    next_try_time: datetime | None


@dataclass(frozen=True)
class DeliveryPage:
    """Newest first."""

    deliveries: tuple[Delivery, ...]
    next_page_token: str
    """Empty: this is the last page."""


class Hooks:
    """Who is told: `client.hooks`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def put(
        self, name: str, url: str, *, events: Sequence[HookEvent] = (), secret: str = ""
    ) -> bool:
        """Makes a hook, or changes the one of this name; whether it made one.

        `url`: http or https, without user or fragment. `events`: by default nothing but the runs
        that name it. `secret`: what signs its webhooks, 16 to 256 characters; by default the one
        that it has.
        """
        request = wire.PutHookRequest(
            namespace=self._caller.namespace, name=name, url=url, events=events, secret=secret
        )
        return (await self._caller.call(rpc.PUT_HOOK, request)).created

    async def list(self) -> tuple[Hook, ...]:
        """All of them."""
        request = wire.ListHooksRequest(namespace=self._caller.namespace)
        answer = await self._caller.call(rpc.LIST_HOOKS, request)
        return tuple(self._caller.read(Hook, hook) for hook in answer.hooks)

    async def delete(self, name: str) -> bool:
        """What was still to be told to it is given up; whether there was one."""
        request = wire.DeleteHookRequest(namespace=self._caller.namespace, name=name)
        return (await self._caller.call(rpc.DELETE_HOOK, request)).deleted

    async def deliveries(
        self,
        *,
        hook: str = "",
        states: Sequence[Literal["pending", "delivered", "given-up"]] = (),
        page_size: int = 0,
        page_token: str = "",
    ) -> DeliveryPage:
        """What was told and what could not be: of one hook or all, in these states or all."""
        request = wire.ListDeliveriesRequest(
            namespace=self._caller.namespace,
            hook=hook,
            states=states,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(DeliveryPage, rpc.LIST_DELIVERIES, request)
