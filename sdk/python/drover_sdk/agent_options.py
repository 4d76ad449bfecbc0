"""The settings of an agent, their defaults, and their checks: a mistake is found at the start, not
by a refused poll."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from drover_sdk.channel import Connection
from drover_sdk.clocks import Clock
from drover_sdk.durations import Duration, seconds_of
from drover_sdk.payloads import Codec
from drover_sdk.tasks import Handler

_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_HANDLERS_MOST = 100
_QUEUES_MOST = 100
_SLOTS_MOST = 10_000

Queue = Union[str, tuple[str, int]]
"""A queue by its name, or with its weight, 1 to 1,000: how often the server takes from it first."""


@dataclass(frozen=True)
class Registered:
    """What performs a task."""

    handler: Handler
    isolated: bool
    """In a process of its own."""


@dataclass(frozen=True)
class AgentSettings:
    """Checked. Times in seconds."""

    connection: Connection
    namespace: str
    id: str
    version: str
    labels: Mapping[str, str]
    queues: Sequence[tuple[str, int]]
    slots: int
    grace: float
    cancel_grace: float
    poll_wait: float
    codec: Codec
    clock: Clock


def check_settings(settings: AgentSettings) -> AgentSettings:
    """Raises ValueError, with the value."""
    settings.connection.check()
    if settings.namespace:
        check_name("namespace", settings.namespace)
    check_name("id", settings.id)
    for name, weight in settings.queues:
        check_name("name of a queue", name)
        _check_number(f"weight of queue {name}", weight, 1, 1_000)
    _check_number("number of queues", len(settings.queues), 1, _QUEUES_MOST)
    _check_number("slots", settings.slots, 1, _SLOTS_MOST)
    _check_number("poll_wait", settings.poll_wait, 1, 60)
    _check_number("grace", settings.grace, 0, 86_400)
    _check_number("cancel_grace", settings.cancel_grace, 0, 86_400)
    return settings


def check_handlers(handlers: Mapping[str, Registered]) -> None:
    """Raises ValueError, with the value."""
    _check_number("number of handlers", len(handlers), 1, _HANDLERS_MOST)


def check_name(what: str, name: str) -> None:
    """Raises ValueError, with the name."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f'The {what} is "{name}"; it must be 1 to 128 characters of letters, digits, '
            '".", "_", "-".'
        )


def with_weight(queue: Queue) -> tuple[str, int]:
    """By default 1."""
    return (queue, 1) if isinstance(queue, str) else queue


def in_seconds(what: str, duration: Duration) -> float:
    """Raises ValueError, with what it is."""
    try:
        return seconds_of(duration)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The {what} is none: {error}") from None


def _check_number(what: str, value: float, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"The {what} is {value:g}; it must be {least} to {most}.")
