"""A Drover server without an engine: real gRPC on a real port, every answer given by the test.

Each method has an inbox. A test takes a call out of it with `next` and answers it, or sets with
`always` the answer to each. A call without an answer stays parked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic

import grpc
from google.protobuf import any_pb2
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from drover_sdk import rpc
from drover_sdk.durations import to_duration
from drover_sdk.rpc import Method, Req, Res

SECONDS_MOST = 20


class Incoming(Generic[Req, Res]):
    def __init__(self, method: Method[Req, Res], request: Req) -> None:
        self.request = request
        self.metadata: dict[str, str] = {}
        self.cancelled = asyncio.Event()
        self._method = method
        self.reply: asyncio.Future[Res | tuple[int, str, float | None, str | None]] = (
            asyncio.get_running_loop().create_future()
        )

    def answer(self, **fields: Any) -> None:
        if not self.reply.done():
            self.reply.set_result(self._method.response(**fields))

    def fail(
        self,
        code: int,
        reason: str = "",
        retry_after: float | None = None,
        field: str | None = None,
    ) -> None:
        if not self.reply.done():
            self.reply.set_result((code, reason, retry_after, field))


class Inbox(Generic[Req, Res]):
    def __init__(self) -> None:
        self._calls: asyncio.Queue[Incoming[Req, Res]] = asyncio.Queue()
        self._always: Callable[[Incoming[Req, Res]], None] | None = None

    async def next(self) -> Incoming[Req, Res]:
        return await asyncio.wait_for(self._calls.get(), SECONDS_MOST)

    def always(self, reply: Callable[[Incoming[Req, Res]], None]) -> None:
        self._always = reply
        while not self._calls.empty():
            reply(self._calls.get_nowait())

    def put(self, call: Incoming[Req, Res]) -> None:
        if self._always is not None:
            self._always(call)
        else:
            self._calls.put_nowait(call)


def status(
    code: int, reason: str, retry_after: float | None = None, field: str | None = None
) -> Status:
    """A google.rpc.Status as the server makes it; `field`: the path of what is wrong."""
    details: list[Any] = [ErrorInfo(reason=reason, domain="drover")]
    if retry_after is not None:
        details.append(RetryInfo(retry_delay=to_duration(retry_after)))
    if field is not None:
        violation = BadRequest.FieldViolation(field=field, description="is what the script refuses")
        details.append(BadRequest(field_violations=[violation]))
    packed = []
    for detail in details:
        one = any_pb2.Any()
        one.Pack(detail)
        packed.append(one)
    return Status(code=code, message=f"{reason} by the script", details=packed)


_CODES = {code.value[0]: code for code in grpc.StatusCode}


class FakeServer:
    def __init__(self) -> None:
        self._server = grpc.aio.server()
        self._taken: list[Incoming[Any, Any]] = []
        self._handlers: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
        self.poll = self._unary(rpc.POLL_TASK)
        self.heartbeat = self._unary(rpc.HEARTBEAT)
        self.complete = self._unary(rpc.COMPLETE)
        self._others: dict[str, Inbox[Any, Any]] = {}
        self.port = 0

    def inbox(self, method: Method[Req, Res]) -> Inbox[Req, Res]:
        """Of a call of the client."""
        return self._others[method.path]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self, port: int = 0, credentials: grpc.ServerCredentials | None = None) -> None:
        mine = {rpc.POLL_TASK.path, rpc.HEARTBEAT.path, rpc.COMPLETE.path, rpc.WATCH_RUN.path}
        for method in vars(rpc).values():
            if isinstance(method, Method) and method.path not in mine:
                self._others[method.path] = self._unary(method)
        self._others[rpc.WATCH_RUN.path] = self._stream(rpc.WATCH_RUN)
        for service, handlers in self._handlers.items():
            generic = grpc.method_handlers_generic_handler(service, handlers)
            self._server.add_generic_rpc_handlers((generic,))
        where = f"127.0.0.1:{port}"
        if credentials is None:
            self.port = self._server.add_insecure_port(where)
        else:
            self.port = self._server.add_secure_port(where, credentials)
        await self._server.start()

    async def stop(self) -> None:
        """Breaks every connection."""
        await self._server.stop(None)

    def release(self) -> None:
        """Fails the calls that were taken and never answered."""
        for call in self._taken:
            call.fail(14)

    def _unary(self, method: Method[Req, Res]) -> Inbox[Req, Res]:
        inbox: Inbox[Req, Res] = Inbox()

        async def take(request: Req, context: Any) -> Res:
            call = self._incoming(method, request, context)
            inbox.put(call)
            try:
                reply = await call.reply
            except asyncio.CancelledError:
                call.cancelled.set()
                raise
            if isinstance(reply, tuple):
                await _abort(context, *reply)
            return reply  # type: ignore[return-value]

        self._add(method, grpc.unary_unary_rpc_method_handler, take)
        return inbox

    def _stream(self, method: Method[Req, Res]) -> Inbox[Req, Res]:
        """Each answer is the next message; `fail(0)` is the end of the stream."""
        inbox: Inbox[Req, Res] = Inbox()

        async def take(request: Req, context: Any) -> AsyncIterator[Res]:
            first = request
            while True:
                call = self._incoming(method, first, context)
                inbox.put(call)
                reply = await call.reply
                if not isinstance(reply, tuple):
                    yield reply
                elif reply[0] == 0:
                    return
                else:
                    await _abort(context, *reply)

        self._add(method, grpc.unary_stream_rpc_method_handler, take)
        return inbox

    def _incoming(self, method: Method[Req, Res], request: Req, context: Any) -> Incoming[Req, Res]:
        call = Incoming(method, request)
        call.metadata = {str(key): str(value) for key, value in context.invocation_metadata()}
        self._taken.append(call)
        return call

    def _add(self, method: Method[Any, Any], kind: Any, take: Any) -> None:
        _, service, name = method.path.split("/")
        handler = kind(
            take,
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )
        self._handlers.setdefault(service, {})[name] = handler


async def _abort(
    context: Any, code: int, reason: str, retry_after: float | None, field: str | None
) -> None:
    trailers: tuple[tuple[str, bytes], ...] = ()
    if reason:
        packed = status(code, reason, retry_after, field).SerializeToString()
        trailers = (("grpc-status-details-bin", packed),)
    await context.abort(_CODES[code], f"failed by the script: {reason or code}", trailers)
