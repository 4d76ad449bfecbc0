"""The namespace of the client, and others: regions, pauses, how long runs are kept, limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from drover import rpc
from drover.calls import Caller
from drover.durations import Duration, to_duration
from drover.schedules import Pause
from drover.v1 import namespace_pb2 as wire
from drover.v1 import queue_pb2


@dataclass(frozen=True)
class NamespaceLimits:
    """What a namespace may take; 0: any number."""

    open_runs: int
    """Most runs that have not ended."""
    runs_per_second: float
    """Most runs begun per second, on average."""
    burst: int
    """Most of them at once; 0: those of one second."""
    payload_bytes: int
    """Most bytes of one payload; 0: what the server allows."""


@dataclass(frozen=True)
class Namespace:
    """A tenant of the control plane."""

    name: str
    region: str
    create_time: datetime | None
    retention: float | None
    """Seconds that runs are kept after their end; None: for ever."""
    limits: NamespaceLimits | None
    """None: it has none."""


@dataclass(frozen=True)
class Region:
    """Where namespaces are watched."""

    name: str
    watched_partitions: int
    partitions: int


@dataclass(frozen=True)
class NamespacePage:
    """By name."""

    namespaces: tuple[Namespace, ...]
    next_page_token: str
    """Empty: this is the last page."""
    regions: tuple[Region, ...]
    """All of them, on every page."""


@dataclass(frozen=True)
class CreatedNamespace:
    """A namespace that is there now."""

    namespace: Namespace
    existed: bool
    """It was there before."""


class Namespaces:
    """But for `list` and `create`: of the namespace of the client: `client.namespaces`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def list(self, *, page_size: int = 0, page_token: str = "") -> NamespacePage:
        """Of all there are, one page; `page_size`: 0 means 50, at most 1,000."""
        request = wire.ListNamespacesRequest(page_size=page_size, page_token=page_token)
        return await self._caller.ask(NamespacePage, rpc.LIST_NAMESPACES, request)

    async def create(self, name: str, *, region: str = "") -> CreatedNamespace:
        """Another one. Its region, by default "default", comes with it if that is new, and is
        fixed."""
        request = wire.CreateNamespaceRequest(name=name, region=region)
        return await self._caller.ask(CreatedNamespace, rpc.CREATE_NAMESPACE, request)

    async def get(self) -> Namespace:
        """As it is now."""
        request = wire.GetNamespaceRequest(namespace=self._caller.namespace)
        return self._read((await self._caller.call(rpc.GET_NAMESPACE, request)).namespace)

    async def set_retention(self, retention: Duration | None) -> Namespace:
        """Runs go so long after their end, 1 h at least; None: they are kept."""
        request = wire.SetNamespaceRetentionRequest(
            namespace=self._caller.namespace,
            retention=None if retention is None else to_duration(retention),
        )
        return self._read((await self._caller.call(rpc.SET_NAMESPACE_RETENTION, request)).namespace)

    async def set_limits(
        self,
        *,
        open_runs: int = 0,
        runs_per_second: float = 0,
        burst: int = 0,
        payload_bytes: int = 0,
    ) -> Namespace:
        """All of them, see NamespaceLimits: what is left out has no limit any more."""
        limits = wire.NamespaceLimits(
            open_runs=open_runs,
            runs_per_second=runs_per_second,
            burst=burst,
            payload_bytes=payload_bytes,
        )
        request = wire.SetNamespaceLimitsRequest(namespace=self._caller.namespace, limits=limits)
        return self._read((await self._caller.call(rpc.SET_NAMESPACE_LIMITS, request)).namespace)

    async def pause(self, *, reason: str = "") -> Pause:
        """Nothing of any of its queues is handed out once this returns."""
        request = queue_pb2.PauseNamespaceRequest(namespace=self._caller.namespace, reason=reason)
        return self._caller.read(
            Pause, (await self._caller.call(rpc.PAUSE_NAMESPACE, request)).pause
        )

    async def resume(self) -> None:
        """It goes on."""
        request = queue_pb2.ResumeNamespaceRequest(namespace=self._caller.namespace)
        await self._caller.call(rpc.RESUME_NAMESPACE, request)

    def _read(self, namespace: wire.Namespace) -> Namespace:
        return self._caller.read(Namespace, namespace)
