"""Durations as people write them, and in the form of protobuf."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Union

from google.protobuf.duration_pb2 import Duration as DurationMessage

Duration = Union[float, timedelta, str]
"""Seconds, a timedelta, or numbers with units from d, h, m, s and ms, largest first: "1h30m"."""

_SHAPE = re.compile(r"(?=\d)(\d+d)?(\d+h)?(\d+m(?!s))?(\d+(?:\.\d+)?s)?(\d+ms)?", re.ASCII)
_PART = re.compile(r"([\d.]+)([a-z]+)", re.ASCII)
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def seconds_of(duration: Duration) -> float:
    """The duration in seconds. Raises ValueError if it is not a duration, or less than 0."""
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, str):
        seconds = _parse(duration)
    else:
        seconds = float(duration)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"The duration {duration!r} is not a number of seconds from 0 up.")
    return seconds


def _parse(text: str) -> float:
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ValueError(
            f'The duration "{text}" cannot be read. Write it as 250ms, 30s, 1.5s, 1h30m or 7d.'
        )
    parts = [_PART.fullmatch(part) for part in shape.groups() if part is not None]
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts if part is not None)


def to_duration(duration: Duration) -> DurationMessage:
    """The message, rounded to a microsecond."""
    micros = round(seconds_of(duration) * 1_000_000)
    return DurationMessage(seconds=micros // 1_000_000, nanos=micros % 1_000_000 * 1_000)


def from_duration(message: DurationMessage) -> float:
    """Seconds; an absent duration counts as 0."""
    return message.seconds + message.nanos / 1e9
