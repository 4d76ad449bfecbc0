"""Where the SDK and its handlers log what they do: the logger "drover" of the standard library.

Every line about a task names its run, step and attempt: in its text, and as attributes `run`,
`step`, `item`, `attempt` and `agent` of the record, for programs that format it as JSON. A line
that is written within a span of OpenTelemetry, as those of a handler whose run is traced, has its
`trace` and `span` too. No line holds a payload or a token.

The server stores the lines of `task.log` with the attempt, whatever the level of the logger is
(task_logs.py). A TaskHandler adds what other loggers log while a handler runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from drover_sdk.tidy_text import well_formed
from drover_sdk.tracing import active_ids
from drover_sdk.v1.agent_service_pb2 import LogText
from drover_sdk.v1.task_pb2 import LOG_LEVEL_DEBUG, LOG_LEVEL_ERROR, LOG_LEVEL_INFO, LOG_LEVEL_WARN
from drover_sdk.v1.task_pb2 import Task as TaskMessage

LOG = logging.getLogger("drover")

# The server cuts a line at 8 KiB and says so; a longer one is not worth its way.
_TEXT_MOST = 16_384
_FIELDS_MOST = 16
_KEY_BYTES_MOST = 64
_VALUE_BYTES_MOST = 256


@dataclass(frozen=True)
class Line:
    """A line for the server, which fits into its limits."""

    at: float
    """Seconds since 1970."""
    level: int
    """As in the standard library."""
    text: str
    fields: Mapping[str, str]

    def message(self) -> LogText:
        """In the form of the contract."""
        made = LogText(level=_level_of(self.level), message=self.text, fields=self.fields)
        made.time.FromNanoseconds(round(self.at * 1e6) * 1_000)
        return made


Store: TypeAlias = Callable[[Line], None]

_CURRENT: ContextVar[Store | None] = ContextVar("drover_task_log", default=None)


def line_of(level: int, text: str, fields: Mapping[str, Any]) -> Line:
    """A line of now."""
    tidy = {
        _cut(str(key), _KEY_BYTES_MOST) or "-": _cut(str(value), _VALUE_BYTES_MOST)
        for key, value in list(fields.items())[:_FIELDS_MOST]
    }
    return Line(time.time(), level, well_formed(text.replace("\0", " ")[:_TEXT_MOST]), tidy)


def _text_of(msg: object, args: tuple[object, ...]) -> str:
    # As in the standard library, a wrong argument costs the program nothing.
    try:
        return str(msg) % args if args else str(msg)
    except (TypeError, ValueError):
        return f"{msg} {args}"


def _cut(text: str, most: int) -> str:
    data = well_formed(text.replace("\0", " ")).encode("utf-8")
    return data[:most].decode("utf-8", "ignore")


def _level_of(level: int) -> Any:
    if level >= logging.ERROR:
        return LOG_LEVEL_ERROR
    if level >= logging.WARNING:
        return LOG_LEVEL_WARN
    return LOG_LEVEL_INFO if level >= logging.INFO else LOG_LEVEL_DEBUG


class TaskHandler(logging.Handler):
    """Stores what other loggers log while a handler runs, with its attempt:
    `logging.getLogger("shop").addHandler(TaskHandler())`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing outside of a handler. Lines of the logger "drover" are stored without it."""
        store = _CURRENT.get()
        if store is None or record.name == LOG.name:
            return
        fields = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            fields["err"] = repr(record.exc_info[1])
        store(line_of(record.levelno, record.getMessage(), fields))


if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter


class TaskLog(_Adapter):
    """The log of one attempt."""

    def __init__(self, task: TaskMessage, agent_id: str = "", store: Store | None = None) -> None:
        """Of this task, which this agent holds. `store`: where the lines go too."""
        self._store = store
        item = task.item if task.HasField("item") else None
        names = {"run": task.run_id, "step": task.step_id, "item": item, "attempt": task.attempt}
        super().__init__(LOG, {**names, "agent": agent_id})
        step = task.step_id if item is None else f"{task.step_id}[{item}]"
        # Names have no per cent sign, which would be read as an argument of the message.
        self._where = f"run={task.run_id} step={step} attempt={task.attempt}"

    def bind(self) -> None:
        """From now on, lines of a TaskHandler in this context are of this task."""
        _CURRENT.set(self._store)

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Stores the line, whatever the level of the logger is, and logs it."""
        if self._store is not None:
            text = _text_of(msg, args)
            fields = dict(kwargs.get("extra") or {})
            error = kwargs.get("exc_info")
            if isinstance(error, BaseException):
                fields["err"] = repr(error)
            self._store(line_of(level, text, fields))
        # The caller of this method is where the line comes from.
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        super().log(level, msg, *args, **kwargs)

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Names the attempt in the text, and adds the attributes to those of the caller."""
        ids = active_ids()
        where = " ".join([self._where, *(f"{name}={one}" for name, one in ids.items())])
        given = kwargs.get("extra") or {}
        return f"{msg} ({where})", {**kwargs, "extra": {**given, **(self.extra or {}), **ids}}
