"""The namespace of the client, and others: regions, pauses, retention, limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.durations import Duration, to_duration
from drover_sdk.schedules import Pause
from drover_sdk.v1 import namespace_pb2 as wire
from drover_sdk.v1 import queue_pb2


@dataclass(frozen=True)
class NamespaceLimits:
    """Limits of a namespace; 0: no limit."""

    open_runs: int
    """Maximum number of runs that have not ended."""
    runs_per_second: float
    """Maximum number of runs started per second, on average."""
    burst: int
    """Maximum number of runs started at once; 0: the number of one second."""
    payload_bytes: int
    """Maximum size of one payload in bytes; 0: the limit of the server."""
    calls_per_second: float = 0
    """Maximum number of calls per second that read, register or start, on average."""
    calls_burst: int = 0
    """Maximum number of these calls at once; 0: the number of one second."""
    storage_bytes: int = 0
    """Maximum number of bytes that its runs may take, compared with an estimate."""
    weight: int = 0
    """Its part where namespaces compete for a server, 1 to 1,000; 0: 100."""


@dataclass(frozen=True)
class Namespace:
    """A tenant of the installation."""

    name: str
    region: str
    create_time: datetime | None
    retention: float | None
    """How many seconds runs are retained after their end; None: for ever."""
    limits: NamespaceLimits | None
    """None: it has none."""
    no_logs: bool = False
    """The lines that handlers log in this namespace are not stored."""


@dataclass(frozen=True)
class Region:
    """A region: it determines which supervisors watch the runs of its namespaces."""

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
    """All regions, on every page."""


@dataclass(frozen=True)
class CreatedNamespace:
    """A namespace after `create`."""

    namespace: Namespace
    existed: bool
    """The namespace existed before."""


class Namespaces:
    """Namespaces: `client.namespaces`. All calls except `list` and `create` are about the namespace
    of the client."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def list(self, *, page_size: int = 0, page_token: str = "") -> NamespacePage:
        """All namespaces, one page; `page_size`: 0 means 50, at most 1,000."""
        request = wire.ListNamespacesRequest(page_size=page_size, page_token=page_token)
        return await self._caller.ask(NamespacePage, rpc.LIST_NAMESPACES, request)

    async def create(self, name: str, *, region: str = "") -> CreatedNamespace:
        """Creates another namespace. Its region is by default "default"; a new region is created
        with it, and the region cannot be changed later."""
        request = wire.CreateNamespaceRequest(name=name, region=region)
        return await self._caller.ask(CreatedNamespace, rpc.CREATE_NAMESPACE, request)

    async def get(self) -> Namespace:
        """The current state of the namespace."""
        request = wire.GetNamespaceRequest(namespace=self._caller.namespace)
        return self._read((await self._caller.call(rpc.GET_NAMESPACE, request)).namespace)

    async def set_retention(self, retention: Duration | None) -> Namespace:
        """Runs are deleted this long after their end, at least 1 h; None: they are
        retained for ever."""
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
        calls_per_second: float = 0,
        calls_burst: int = 0,
        storage_bytes: int = 0,
        weight: int = 0,
    ) -> Namespace:
        """Sets all limits, see NamespaceLimits: a limit that is left out is removed."""
        limits = wire.NamespaceLimits(
            open_runs=open_runs,
            runs_per_second=runs_per_second,
            burst=burst,
            payload_bytes=payload_bytes,
            calls_per_second=calls_per_second,
            calls_burst=calls_burst,
            storage_bytes=storage_bytes,
            weight=weight,
        )
        request = wire.SetNamespaceLimitsRequest(namespace=self._caller.namespace, limits=limits)
        return self._read((await self._caller.call(rpc.SET_NAMESPACE_LIMITS, request)).namespace)

    async def set_logs(self, *, stored: bool) -> Namespace:
        """Sets whether the lines that handlers log are stored; at first they are."""
        request = wire.SetNamespaceLogsRequest(namespace=self._caller.namespace, no_logs=not stored)
        return self._read((await self._caller.call(rpc.SET_NAMESPACE_LOGS, request)).namespace)

    async def pause(self, *, reason: str = "") -> Pause:
        """Once this returns, no task of any of its queues is handed out."""
        request = queue_pb2.PauseNamespaceRequest(namespace=self._caller.namespace, reason=reason)
        return self._caller.read(
            Pause, (await self._caller.call(rpc.PAUSE_NAMESPACE, request)).pause
        )

    async def resume(self) -> None:
        """Resumes the namespace."""
        request = queue_pb2.ResumeNamespaceRequest(namespace=self._caller.namespace)
        await self._caller.call(rpc.RESUME_NAMESPACE, request)

    def _read(self, namespace: wire.Namespace) -> Namespace:
        return self._caller.read(Namespace, namespace)
