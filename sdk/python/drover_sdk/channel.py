"""Calls to the servers of one address or of several: by method, errors as CallError.

A channel connects by itself, and again after a break. A call made meanwhile fails with UNAVAILABLE,
and the caller repeats it, because only the caller knows what a repeat means. Of several addresses,
the repeat goes to one that can be reached.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

from drover_sdk.clocks import SYSTEM_CLOCK
from drover_sdk.errors import CallError
from drover_sdk.rpc import Method, Req, Res
from drover_sdk.servers import Link, Servers
from drover_sdk.statuses import error_of_grpc
from drover_sdk.tls_files import Tls, TlsFiles

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):\d{1,5}", re.ASCII)
_LOOPBACK = re.compile(r"(localhost|127\.[\d.]+|\[::1\]):\d+")

_OPTIONS: list[tuple[str, int | str]] = [
    # A poll may bring many tasks at once; the server sends far less.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    # A peer that is gone, although the connection is open, is noticed within 30 s, also while a
    # poll is parked; with several addresses sooner, by checks. Servers allow a ping each 10 s.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # After a restart of the server its agents shall be back within seconds, not minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # Despite its name no wait, but the least time that a connection may take to be made.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    # A connection of its own, so that closing one channel leaves no half-dead one to the next.
    ("grpc.use_local_subchannel_pool", 1),
    # Repeats are ours: a repeated poll needs a new number.
    ("grpc.enable_retries", 0),
    # Of a name with several records: calls go to all of them in turn, and to no broken one.
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
]


@dataclass(frozen=True)
class Connection:
    """Address of the servers, and how the caller identifies itself."""

    address: str | Sequence[str]
    """host:port, or several: a list, or a text with commas. A call goes to the next one that can be
    reached. Of a DNS name with several records, all are used."""
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

    @property
    def addresses(self) -> list[str]:
        """Each once."""
        given = self.address.split(",") if isinstance(self.address, str) else self.address
        return list(dict.fromkeys(one.strip() for one in given))

    def check(self) -> None:
        """Raises ValueError for wrong settings."""
        if not self.addresses:
            raise ValueError('The list of addresses is empty; write it as ["127.0.0.1:7420"].')
        for address in self.addresses:
            self._check(address)
        if self.tls is not None and (self.tls.cert is None) != (self.tls.key is None):
            raise ValueError("A certificate and its key belong together; give `cert` and `key`.")

    def _check(self, address: str) -> None:
        if not _ADDRESS.fullmatch(address):
            raise ValueError(
                f'The address "{address}" is not host:port; write it as 127.0.0.1:7420.'
            )
        is_safe = self.tls is not None or _LOOPBACK.fullmatch(address)
        if self.shown != "" and not is_safe and not self.plaintext_token:
            raise ValueError(
                f"The token would be sent to {address} in plain text, for all to read: give "
                "`tls`, or `plaintext_token=True` if the network between is trusted."
            )


class Channel:
    """To be made and used in one event loop."""

    def __init__(self, connection: Connection) -> None:
        """Connects with the first call. Raises ValueError, and OSError for unreadable files."""
        connection.check()
        self._metadata: tuple[tuple[str, str], ...] = ()
        if connection.shown != "":
            self._metadata = (("authorization", f"Bearer {connection.shown}"),)
        self._servers = _servers_of(connection)

    async def unary(self, method: Method[Req, Res], request: Req, timeout: float) -> Res:
        """Raises CallError only; `timeout` in seconds."""
        server = self._servers.begin()
        call: Any = server.channel.unary_unary(
            method.path,
            request_serializer=_serialize,
            response_deserializer=method.response.FromString,
        )
        error: CallError | None = None
        answered = False
        try:
            answer: Res = await server.answer(
                call(request, timeout=timeout, metadata=self._metadata)
            )
            answered = True
        except grpc.aio.AioRpcError as failure:
            error = error_of_grpc(failure)
            raise error from None
        finally:
            server.end(error, answered=answered)
        return answer

    async def stream(self, method: Method[Req, Res], request: Req) -> AsyncIterator[Res]:
        """Ends quietly when the server ends it; leaving the loop cancels the call."""
        server = self._servers.begin()
        open_stream: Any = server.channel.unary_stream(
            method.path,
            request_serializer=_serialize,
            response_deserializer=method.response.FromString,
        )
        call = open_stream(request, metadata=self._metadata)
        messages = call.__aiter__()
        error: CallError | None = None
        answered = False
        try:
            while True:
                message: Res = await server.answer(messages.__anext__())
                server.received()
                yield message
        except StopAsyncIteration:
            answered = True
        except grpc.aio.AioRpcError as failure:
            error = error_of_grpc(failure)
            raise error from None
        finally:
            call.cancel()
            server.end(error, answered=answered)

    async def close(self) -> None:
        """Ends the connections, and every call under way."""
        await self._servers.close()


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _servers_of(connection: Connection) -> Servers:
    tls = connection.tls
    files = None if tls is None else TlsFiles(tls, SYSTEM_CLOCK)
    options: list[tuple[str, Any]] = [*_OPTIONS]
    if tls is not None and tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))

    def open_link(address: str, known: Link | None) -> Link:
        credentials = None if files is None else files.current()
        if known is not None and known.made_with is credentials:
            return known
        if credentials is None:
            return Link(grpc.aio.insecure_channel(address, options=options), None)
        channel = grpc.aio.secure_channel(address, credentials, options=options)
        return Link(channel, credentials)

    return Servers(SYSTEM_CLOCK, connection.addresses, open_link)
