"""One gRPC connection to a Drover server: calls by method, errors as CallError.

It connects by itself, and again after a break. A call made meanwhile fails with UNAVAILABLE, and
the caller repeats it, because only the caller knows what a repeat means.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message

from drover.rpc import Method, Req, Res
from drover.statuses import error_of_grpc

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):\d{1,5}", re.ASCII)
_LOOPBACK = re.compile(r"(localhost|127\.[\d.]+|\[::1\]):\d+")

_OPTIONS: list[tuple[str, int]] = [
    # A poll may bring many tasks at once; the server sends far less.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    # A peer that is gone, although the connection is open, is noticed within 30 s, also while a
    # poll is parked.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # After a restart of the server its agents shall be back within seconds, not minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # A connection of its own, so that closing one channel leaves no half-dead one to the next.
    ("grpc.use_local_subchannel_pool", 1),
    # Repeats are ours: a repeated poll needs a new number.
    ("grpc.enable_retries", 0),
]


@dataclass(frozen=True)
class Tls:
    """How a connection is secured. Without them: with the root certificates of the
    system."""

    ca: str | Path | None = None
    """File of the certificates to trust, PEM."""
    cert: str | Path | None = None
    """File of the client's certificate, PEM, for servers that require one; with `key`."""
    key: str | Path | None = None
    """File of the key of `cert`, PEM."""
    server_name: str | None = None
    """Name in the server's certificate, if it differs from the address."""


@dataclass(frozen=True)
class Connection:
    """Address of the server, and how the caller identifies itself."""

    address: str
    """host:port."""
    tls: Tls | None = None
    """None: plain text."""
    token: str | None = None
    """Sent as `authorization: Bearer`; without TLS only to this machine. None: the variable
    DROVER_TOKEN, if it is set; "": no token."""
    plaintext_token: bool = False
    """Sends the token without TLS to another machine, too."""

    @property
    def shown(self) -> str:
        """The token that calls show; empty: none."""
        return os.environ.get("DROVER_TOKEN", "") if self.token is None else self.token

    def check(self) -> None:
        """Raises ValueError for wrong settings."""
        if not _ADDRESS.fullmatch(self.address):
            raise ValueError(
                f'The address "{self.address}" is not host:port; write it as 127.0.0.1:7420.'
            )
        is_safe = self.tls is not None or _LOOPBACK.fullmatch(self.address)
        if self.shown != "" and not is_safe and not self.plaintext_token:
            raise ValueError(
                f"The token would be sent to {self.address} in plain text, for all to read: give "
                "`tls`, or `plaintext_token=True` if the network between is trusted."
            )
        if self.tls is not None and (self.tls.cert is None) != (self.tls.key is None):
            raise ValueError("A certificate and its key belong together; give `cert` and `key`.")


class Channel:
    """To be made and used in one event loop."""

    def __init__(self, connection: Connection) -> None:
        """Connects with the first call. Raises ValueError, and OSError for unreadable files."""
        connection.check()
        self._metadata: tuple[tuple[str, str], ...] = ()
        if connection.shown != "":
            self._metadata = (("authorization", f"Bearer {connection.shown}"),)
        self._channel = _open(connection)

    async def unary(self, method: Method[Req, Res], request: Req, timeout: float) -> Res:
        """Raises CallError only; `timeout` in seconds."""
        call: Any = self._channel.unary_unary(
            method.path,
            request_serializer=_serialize,
            response_deserializer=method.response.FromString,
        )
        try:
            answer: Res = await call(request, timeout=timeout, metadata=self._metadata)
        except grpc.aio.AioRpcError as failure:
            raise error_of_grpc(failure) from None
        return answer

    async def stream(self, method: Method[Req, Res], request: Req) -> AsyncIterator[Res]:
        """Ends quietly when the server ends it; leaving the loop cancels the call."""
        open_stream: Any = self._channel.unary_stream(
            method.path,
            request_serializer=_serialize,
            response_deserializer=method.response.FromString,
        )
        call = open_stream(request, metadata=self._metadata)
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as failure:
            raise error_of_grpc(failure) from None
        finally:
            call.cancel()

    async def close(self) -> None:
        """Ends the connection, and every call under way."""
        await self._channel.close()


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _open(connection: Connection) -> grpc.aio.Channel:
    tls = connection.tls
    if tls is None:
        return grpc.aio.insecure_channel(connection.address, options=_OPTIONS)
    read = [
        None if file is None else Path(file).read_bytes() for file in (tls.ca, tls.key, tls.cert)
    ]
    credentials = grpc.ssl_channel_credentials(*read)
    options: list[tuple[str, Any]] = [*_OPTIONS]
    if tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return grpc.aio.secure_channel(connection.address, credentials, options=options)
