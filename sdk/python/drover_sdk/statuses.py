"""From the error of gRPC for a failed call to a CallError."""

from __future__ import annotations

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from drover_sdk.durations import from_duration
from drover_sdk.errors import CallError, CallField

_CODES: dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}


def error_of_status(status: Status) -> CallError:
    """The error of a status, with the details that the server attached; its code is not OK."""
    error = CallError(_CODES.get(status.code, "UNKNOWN"), status.message)
    for detail in status.details:
        info, bad, retry = ErrorInfo(), BadRequest(), RetryInfo()
        if detail.Unpack(info):
            error.reason, error.metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            wrong = [CallField(one.field, one.description) for one in bad.field_violations]
            error.fields = tuple(wrong)
        elif detail.Unpack(retry) and retry.HasField("retry_delay"):
            error.retry_after = from_duration(retry.retry_delay)
    return error


def error_of_grpc(failure: grpc.aio.AioRpcError) -> CallError:
    """A code, a text, and as a rule the whole status in the trailers."""
    code = failure.code()
    for key, packed in failure.trailing_metadata():
        if key == "grpc-status-details-bin" and isinstance(packed, bytes):
            try:
                status = Status.FromString(packed)
            except DecodeError:
                break  # Details that cannot be read do not change the code.
            if status.code == code.value[0]:
                return error_of_status(status)
    return CallError(code.name, failure.details() or "")
