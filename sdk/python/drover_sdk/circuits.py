"""Circuits and cordons: which tasks are stopped because they fail, and which agents get no new
tasks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.v1 import circuit_pb2 as wire


@dataclass(frozen=True)
class Circuit:
    """The circuit of a task of a queue, or of one agent that performs the task."""

    queue: str
    task: str
    agent_id: str
    """Empty: the circuit of the task itself, for all agents."""
    agent_version: str
    """Set for tasks that a pin restricts to agents of this version; a setting by a person applies
    to all versions. Empty: tasks for all agents."""
    state: str
    """CLOSED, OPEN or TRYING, as the supervisor has set it; `setting` takes precedence over it."""
    since_time: datetime | None
    """Since when it has not been closed."""
    try_time: datetime | None
    """From this time on one probe task is handed out."""
    cooldowns: int
    """Number of cool-downs of this outage so far."""
    saw: str
    """What the supervisor found, for people."""
    setting: str
    """The setting by a person: OPEN or CLOSED; UNSPECIFIED: none, and the supervisor decides."""
    set_by: str
    """The person who set it, as the caller stated it."""
    why: str
    set_time: datetime | None


@dataclass(frozen=True)
class CircuitPage:
    """The circuits that are not closed, or that a person has set."""

    circuits: tuple[Circuit, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class Cordon:
    """A cordon: an agent, one session of it, or all agents of a version, get no new tasks."""

    agent_id: str | None
    """None: the cordon is of a session or of a version."""
    session: bytes | None
    """16 bytes. None: the cordon is of an agent or of a version."""
    version: str | None
    """None: the cordon is of an agent or of a session."""
    cordoned_by: str
    """As the caller stated it."""
    why: str
    cordoned_time: datetime | None


class Circuits:
    """Circuits and cordons: `client.circuits`.

    `by` is the person who makes a setting, as the caller states it; the server does not verify it.
    `why` is for later readers.
    """

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def list(self, *, page_size: int = 0, page_token: str = "") -> CircuitPage:
        """One page; `page_size`: 0 means 50, at most 1,000."""
        request = wire.ListCircuitsRequest(
            namespace=self._caller.namespace, page_size=page_size, page_token=page_token
        )
        return await self._caller.ask(CircuitPage, rpc.LIST_CIRCUITS, request)

    async def open(
        self, queue: str, task: str, *, by: str, why: str = "", agent_id: str = ""
    ) -> Circuit:
        """No task is handed out until the circuit is released, on every server within a second.

        `agent_id`: only the circuit of this agent; by default that of the task, for all agents.
        """
        return await self._set(wire.CIRCUIT_SETTING_OPEN, queue, task, agent_id, by, why)

    async def close(
        self, queue: str, task: str, *, by: str, why: str = "", agent_id: str = ""
    ) -> Circuit:
        """All tasks are handed out until the circuit is released, whatever fails.

        `agent_id`: as in `open`.
        """
        return await self._set(wire.CIRCUIT_SETTING_CLOSED, queue, task, agent_id, by, why)

    async def release(
        self, queue: str, task: str, *, by: str, why: str = "", agent_id: str = ""
    ) -> Circuit:
        """Removes the setting: the circuit is closed then, and the supervisor evaluates new
        results.

        `agent_id`: as in `open`.
        """
        return await self._set(wire.CIRCUIT_SETTING_UNSPECIFIED, queue, task, agent_id, by, why)

    async def cordon(
        self,
        *,
        agent_id: str = "",
        session: bytes = b"",
        version: str = "",
        by: str,
        why: str = "",
    ) -> Cordon:
        """The agents get no new tasks, on every server within a second; they may finish those they
        hold.

        Exactly one of `agent_id`, an agent, `session`, one start of its process, and `version`, all
        agents of it; else ValueError. A session that no server knows is AGENT_NOT_FOUND.
        """
        request = wire.CordonAgentRequest(namespace=self._caller.namespace, by=by, why=why)
        _name(request, agent_id, session, version)
        answer = await self._caller.call(rpc.CORDON_AGENT, request)
        return self._caller.read(Cordon, answer.cordon)

    async def uncordon(
        self, *, agent_id: str = "", session: bytes = b"", version: str = ""
    ) -> bool:
        """Lets the agents get tasks again; returns whether they were cordoned. Named as in
        `cordon`."""
        request = wire.UncordonAgentRequest(namespace=self._caller.namespace)
        _name(request, agent_id, session, version)
        return (await self._caller.call(rpc.UNCORDON_AGENT, request)).uncordoned

    async def cordons(self) -> tuple[Cordon, ...]:
        """The cordons of agents by id, then those of versions, then those of sessions."""
        request = wire.ListCordonsRequest(namespace=self._caller.namespace)
        answer = await self._caller.call(rpc.LIST_CORDONS, request)
        return tuple(self._caller.read(Cordon, cordon) for cordon in answer.cordons)

    async def _set(
        self,
        setting: wire.CircuitSetting,
        queue: str,
        task: str,
        agent_id: str,
        by: str,
        why: str,
    ) -> Circuit:
        request = wire.SetCircuitRequest(
            namespace=self._caller.namespace,
            queue=queue,
            task=task,
            agent_id=agent_id,
            setting=setting,
            by=by,
            why=why,
        )
        answer = await self._caller.call(rpc.SET_CIRCUIT, request)
        return self._caller.read(Circuit, answer.circuit)


def _name(
    request: wire.CordonAgentRequest | wire.UncordonAgentRequest,
    agent_id: str,
    session: bytes,
    version: str,
) -> None:
    if [bool(agent_id), bool(session), bool(version)].count(True) != 1:
        given = f"agent_id={agent_id!r}, session={session!r}, version={version!r}"
        raise ValueError(
            f"A cordon is of one agent, one session or one version, not of {given}: name one."
        )
    if agent_id:
        request.agent_id = agent_id
    elif session:
        request.session = session
    else:
        request.version = version
