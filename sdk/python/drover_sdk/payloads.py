"""Payloads: JSON values and bytes with their media type, in the form that programs use.

A codec converts between them and the wire, so that a user can encrypt or compress end to end.
"""

from __future__ import annotations

import json as _json
from typing import Any, Protocol

from drover_sdk.conversion import to_plain
from drover_sdk.v1.payload_pb2 import Payload


class Codec(Protocol):
    """Encodes every payload that is sent, and decodes every payload that is received.

    Both methods are called from several threads. A payload that cannot be decoded raises; a payload
    that this codec did not make should be returned unchanged.
    """

    def encode(self, payload: Payload) -> Payload:
        """The payload to send instead of `payload`."""
        ...

    def decode(self, payload: Payload) -> Payload:
        """The payload that `encode` was given."""
        ...


class PlainCodec:
    """Changes nothing."""

    def encode(self, payload: Payload) -> Payload:
        """Returns it."""
        return payload

    def decode(self, payload: Payload) -> Payload:
        """Returns it."""
        return payload


PLAIN = PlainCodec()


def json_payload(value: Any) -> Payload:
    """A payload of JSON, also of dataclasses, pydantic models, times, UUIDs and enums. Raises
    TypeError or ValueError for a value without a JSON form."""
    text = _dumps(value, ensure_ascii=False)
    try:
        return Payload(json=text)
    except UnicodeEncodeError:
        # A lone surrogate is a legal string in Python, and in JSON only if it is escaped.
        return Payload(json=_dumps(value, ensure_ascii=True))


def _dumps(value: Any, *, ensure_ascii: bool) -> str:
    return _json.dumps(
        value,
        allow_nan=False,
        ensure_ascii=ensure_ascii,
        separators=(",", ":"),
        default=to_plain,
    )


def bytes_payload(data: bytes, content_type: str = "application/octet-stream") -> Payload:
    """A payload of bytes, which the server passes on unchanged."""
    return Payload(content_type=content_type, data=data)


def to_payload(value: Any) -> Payload:
    """A Payload stays unchanged, everything else becomes JSON."""
    return value if isinstance(value, Payload) else json_payload(value)


def encoded(value: Any, codec: Codec) -> Payload | None:
    """The payload to send for a value; None is no payload."""
    return None if value is None else codec.encode(to_payload(value))


def read_payload(payload: Payload | None) -> Any:
    """The JSON value, the bytes, or None when there is no payload."""
    if payload is None:
        return None
    body = payload.WhichOneof("body")
    if body == "json":
        return _json.loads(payload.json)
    return payload.data if body == "data" else None


def size_of(payload: Payload | None) -> int:
    """Size in a message in bytes, or a little less."""
    return 0 if payload is None else payload.ByteSize()
