"""The servers of a channel, which one gets the next call, and which ones cannot be reached.

    up -> down (a call could not reach it, or it answered no check) -> up (it answered a check)

Calls go to the servers in turn, so that the polls of many agents spread over them. A server that is
down gets no call unless all are; meanwhile it is checked, with growing waits. A server where an
outcome remained unknown is passed over for a moment: the repeat goes to another one.

A server that freezes, or a network that swallows packets, gives no sign, and a poll may wait for
long. So while calls wait for a silent server, it is sent checks. If it does not answer one, its
calls end with UNAVAILABLE, as if the connection had broken. That is not done to the last server
that is up: a busy one is better than none.

With one address there is no other server to go to: gRPC alone connects, and again after a break.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc

from drover_sdk.background import Background
from drover_sdk.backoff import Backoff
from drover_sdk.clocks import Clock, Timer, sleep
from drover_sdk.errors import CallError

T = TypeVar("T")

# A check is sent when a server has been silent for so long, and then at growing intervals.
_SILENT = 0.5
_SILENT_MOST = 2.0
# For the answer to a check.
_CHECK = 1.0
# For the answer to a check of a server that is down, over a new connection.
_CONNECT = 5.0
# A check that ended so much later than its deadline says that this process was held up.
_HELD_UP = 0.25
# For how long a server where an outcome remained unknown is passed over.
_PASSED_OVER = 1.0


class _Checked(enum.Enum):
    ANSWERED = 1
    REFUSED = 2
    """No connection, or it broke; calls under way end by themselves, or go on at a server that
    drains."""
    SILENT = 3
    UNCLEAR = 4
    """The answer may have come while this process was held up."""


@dataclass
class Link:
    """A connection. Calls that were sent go on after it was replaced; it closes with the last."""

    channel: grpc.aio.Channel
    made_with: object
    """Another object stands for other credentials."""
    calls: int = 0
    replaced: bool = False


@dataclass(eq=False)
class _Server:
    address: str
    link: Link
    calls: dict[ServerCall, None] = field(default_factory=dict)
    is_up: bool = True
    passed_over_until: float = 0.0
    answered: float = 0.0
    interval: float = _SILENT
    """From the last sign to the next check."""
    due: float = 0.0
    """When the next check is sent, unless the server answers before."""
    checking: bool = False
    timer: Timer | None = None

    def end_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


class ServerCall:
    """A call under way at one server."""

    def __init__(self, servers: Servers, server: _Server) -> None:
        """It has begun."""
        self._servers = servers
        self._server = server
        self._link = server.link
        self._gone: asyncio.Future[None] | None = None

    @property
    def channel(self) -> grpc.aio.Channel:
        """The connection to use."""
        return self._link.channel

    async def answer(self, waiting: Awaitable[T]) -> T:
        """What the server answers. Raises CallError if it is found to be gone meanwhile."""
        if self._servers.is_one:
            return await waiting
        self._gone = self._gone or asyncio.get_running_loop().create_future()
        answering = asyncio.ensure_future(waiting)
        try:
            both: list[asyncio.Future[Any]] = [answering, self._gone]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answering.cancel()
            raise
        if answering.done():
            return answering.result()
        answering.cancel()
        address = self._server.address
        text = f"The server at {address} does not answer; repeat the call at another one."
        raise CallError("UNAVAILABLE", text)

    def received(self) -> None:
        """The server has sent a part of the answer."""
        self._servers.note_answer(self._server)

    def end(self, error: CallError | None, *, answered: bool) -> None:
        """It has ended; neither answered nor with an error: its caller gave it up."""
        self._servers.note_end(self._server, self._link, self, error, answered)

    def abandon(self) -> None:
        """The server is gone."""
        if self._gone is None:
            self._gone = asyncio.get_running_loop().create_future()
        if not self._gone.done():
            self._gone.set_result(None)


class Servers:
    """Of one event loop."""

    def __init__(
        self, clock: Clock, addresses: Sequence[str], open_link: Callable[[str, Link | None], Link]
    ) -> None:
        """`open_link`: the connection to an address; the given one, if its credentials are those
        of now."""
        self._clock = clock
        self._open = open_link
        self._all = [_Server(address, open_link(address, None)) for address in addresses]
        self.is_one = len(addresses) == 1
        # Spread, so that agents which started together do not begin at the same server.
        self._turn = int(clock.fraction() * len(addresses))
        self._closed = False
        self._background = Background()

    def begin(self) -> ServerCall:
        """A call begins, at the next server."""
        server = self._next()
        self._use(server, self._open(server.address, server.link))
        call = ServerCall(self, server)
        server.link.calls += 1
        if self.is_one:
            return call
        due = self._clock.monotonic() + _SILENT
        # Many calls in a row do not delay the check of those before them.
        server.due = min(server.due, due) if server.calls else due
        server.interval = _SILENT
        server.calls[call] = None
        self._plan_check(server)
        return call

    async def close(self) -> None:
        """Ends the connections, and every call under way."""
        self._closed = True
        for server in self._all:
            server.end_timer()
        await self._background.stop()
        for server in self._all:
            await server.link.channel.close()

    def note_answer(self, server: _Server) -> None:
        """It has sent something."""
        was_up, server.is_up = server.is_up, True
        server.answered = self._clock.monotonic()
        server.due = server.answered + server.interval
        if not was_up:
            self._plan_check(server)

    def note_end(
        self,
        server: _Server,
        link: Link,
        call: ServerCall,
        error: CallError | None,
        answered: bool,
    ) -> None:
        """A call has ended."""
        link.calls -= 1
        self._close_unused(link)
        # One that was abandoned says nothing about the server as it is now.
        if call not in server.calls:
            return
        del server.calls[call]
        # A Drover server, or a proxy before it, has made the error.
        is_made = error is not None and (error.reason != "" or error.call_outcome != "unknown")
        if answered or is_made:
            self.note_answer(server)
        if error is None or error.call_outcome != "unknown":
            return
        server.passed_over_until = self._clock.monotonic() + _PASSED_OVER
        if error.code == "UNAVAILABLE" and not is_made:
            self._take_down(server)

    def _next(self) -> _Server:
        in_turn = self._all[self._turn :] + self._all[: self._turn]
        now = self._clock.monotonic()
        up = [server for server in in_turn if server.is_up]
        good = [server for server in up if server.passed_over_until <= now]
        following = (good or up or in_turn)[0]
        self._turn = (self._all.index(following) + 1) % len(self._all)
        return following

    def _use(self, server: _Server, link: Link) -> None:
        old = server.link
        if link is old:
            return
        server.link = link
        old.replaced = True
        self._close_unused(old)

    def _close_unused(self, link: Link) -> None:
        if link.replaced and link.calls == 0 and not self._closed:
            self._background.start(link.channel.close())

    def _plan_check(self, server: _Server) -> None:
        if not server.is_up:
            return
        server.end_timer()
        if self._closed or server.checking or not server.calls:
            return
        wait = server.due - self._clock.monotonic()
        server.timer = self._clock.after(wait, lambda: self._check_due(server))

    def _check_due(self, server: _Server) -> None:
        if server.due > self._clock.monotonic():
            # The server has answered since then.
            self._plan_check(server)
        elif server.calls:
            server.checking = True
            self._background.start(self._check_silent(server))

    async def _check_silent(self, server: _Server) -> None:
        started = self._clock.monotonic()
        result = await self._check(server, _CHECK)
        server.checking = False
        if result is _Checked.ANSWERED or server.answered > started:
            server.interval = min(server.interval * 2, _SILENT_MOST)
            self.note_answer(server)
        elif server.is_up and result is not _Checked.UNCLEAR and self._has_other(server):
            self._take_down(server)
            if result is _Checked.SILENT:
                self._abandon_calls(server)
        else:
            server.due = self._clock.monotonic() + server.interval
        self._plan_check(server)

    def _has_other(self, server: _Server) -> bool:
        return any(other.is_up for other in self._all if other is not server)

    def _abandon_calls(self, server: _Server) -> None:
        calls = list(server.calls)
        server.calls.clear()
        for call in calls:
            call.abandon()

    def _take_down(self, server: _Server) -> None:
        if server.is_up:
            server.is_up = False
            server.end_timer()
            self._background.start(self._check_again(server))

    async def _check_again(self, server: _Server) -> None:
        backoff = Backoff(self._clock)
        while True:
            # Each check makes a connection of its own, so that these waits are the only ones.
            self._use(server, self._open(server.address, None))
            await sleep(self._clock, backoff.next())
            if server.is_up:
                return
            result = await self._check(server, _CONNECT)
            if server.is_up:
                return
            if result is _Checked.ANSWERED:
                self.note_answer(server)
                return
            if result is _Checked.SILENT and self._has_other(server):
                self._abandon_calls(server)

    async def _check(self, server: _Server, timeout: float) -> _Checked:
        """A health check of gRPC: whatever comes back, a refusal too, shows that something
        answers."""
        started = self._clock.monotonic()
        link = server.link
        link.calls += 1
        try:
            call: Any = link.channel.unary_unary("/grpc.health.v1.Health/Check")
            await call(b"", timeout=timeout)
        except grpc.aio.AioRpcError as failure:
            if failure.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                return _Checked.REFUSED
            if failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                late = self._clock.monotonic() - started - timeout
                return _Checked.UNCLEAR if late > _HELD_UP else _Checked.SILENT
        finally:
            link.calls -= 1
            self._close_unused(link)
        return _Checked.ANSWERED
