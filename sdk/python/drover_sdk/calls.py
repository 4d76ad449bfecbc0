"""What the parts of a client share: one call, repeated as the contract allows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar

from google.protobuf.message import Message

from drover_sdk.backoff import repeat
from drover_sdk.channel import Channel, Connection
from drover_sdk.clocks import SYSTEM_CLOCK
from drover_sdk.payloads import Codec, encoded
from drover_sdk.reading import read
from drover_sdk.rpc import Method, Req, Res
from drover_sdk.v1.payload_pb2 import Payload

D = TypeVar("D")

TRY = 10.0
"""Seconds for one try."""


class Caller:
    """To be used in one event loop."""

    def __init__(
        self, connection: Connection, namespace: str, patience: float, codec: Codec
    ) -> None:
        """`patience`: for how many seconds a call is repeated."""
        connection.check()
        self.namespace = namespace
        self.patience = patience
        self.codec = codec
        self._connection = connection
        self._channel: Channel | None = None

    @property
    def channel(self) -> Channel:
        """It belongs to the loop that used it first."""
        if self._channel is None:
            self._channel = Channel(self._connection)
        return self._channel

    async def call(self, method: Method[Req, Res], request: Req, timeout: float = TRY) -> Res:
        """Of a method that may be repeated with the same request, as all of ours may."""
        channel = self.channel

        async def once() -> Res:
            return await channel.unary(method, request, timeout)

        return await repeat(once, SYSTEM_CLOCK, self.patience)

    async def ask(
        self, kind: type[D], method: Method[Req, Res], request: Req, timeout: float = TRY
    ) -> D:
        """As `call`, with the answer as a data class."""
        answer = await self.call(method, request, timeout)
        return self.read(kind, answer)

    def stream(self, method: Method[Req, Res], request: Req) -> AsyncIterator[Res]:
        """One try."""
        return self.channel.stream(method, request)

    def read(self, kind: type[D], message: Message) -> D:
        """The message as a data class."""
        return read(kind, message, self.codec)

    def payload(self, value: Any) -> Payload | None:
        """What goes over the wire for a value; None is no payload."""
        return encoded(value, self.codec)

    async def close(self) -> None:
        """May be called twice."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()
