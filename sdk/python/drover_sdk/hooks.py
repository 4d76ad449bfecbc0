"""Webhooks: HTTP requests that report events of the namespace, and the state of their delivery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.v1 import operator_service_pb2 as wire

HookEvent = Literal[
    "escalation-opened",
    "escalation-reminder",
    "escalation-closed",
    "run-ended",
    "approval-requested",
]
"""Events that a hook may receive; `run-ended` is for every run."""


@dataclass(frozen=True)
class Hook:
    """A target for webhooks."""

    name: str
    url: str
    events: tuple[str, ...]
    secret_digest: str
    """SHA-256, hex; the server never returns the secret itself."""
    created_time: datetime | None
    changed_time: datetime | None


@dataclass(frozen=True)
class Delivery:
    """One webhook and the state of its delivery."""

    id: str
    """By this id a receiver detects repeats: its header Drover-Event-Id."""
    hook: str
    url: str
    """Empty: the hook's own URL."""
    kind: str
    count: int
    """Number of events of one cause that it reports; run and escalation are the first of them."""
    run_id: str
    escalation_id: str
    """Empty: the webhook is about the run."""
    state: str
    tries: int
    error: str
    """Why the last try failed; empty: no try failed."""
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
    """Webhooks: `client.hooks`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def put(
        self, name: str, url: str, *, events: Sequence[HookEvent] = (), secret: str = ""
    ) -> bool:
        """Creates a hook, or changes the hook of this name; returns whether it created one.

        `url`: http or https, without user or fragment. `events`: by default only the ends of runs
        that name the hook. `secret`: key that signs its webhooks, 16 to 256 characters; by default
        the current secret stays.
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
        """Deletes a hook; its pending webhooks are given up. Returns whether there was one."""
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
        """The webhooks of one hook or all, in these states or all."""
        request = wire.ListDeliveriesRequest(
            namespace=self._caller.namespace,
            hook=hook,
            states=states,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(DeliveryPage, rpc.LIST_DELIVERIES, request)
