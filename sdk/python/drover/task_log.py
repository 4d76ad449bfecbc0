"""Where the SDK and its handlers log what they do: the logger "drover" of the standard library.

Every line about a task names its run, step and attempt: in its text, and as attributes `run`,
`step`, `item`, `attempt` and `agent` of the record, for programs that format it as JSON. A line
that is written within a span of OpenTelemetry, as those of a handler whose run is traced, has its
`trace` and `span` too. No line holds a payload or a token.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from drover.tracing import active_ids
from drover.v1.task_pb2 import Task as TaskMessage

LOG = logging.getLogger("drover")


if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter


class TaskLog(_Adapter):
    """The log of one attempt."""

    def __init__(self, task: TaskMessage, agent_id: str = "") -> None:
        """Of this task, which this agent holds."""
        item = task.item if task.HasField("item") else None
        names = {"run": task.run_id, "step": task.step_id, "item": item, "attempt": task.attempt}
        super().__init__(LOG, {**names, "agent": agent_id})
        step = task.step_id if item is None else f"{task.step_id}[{item}]"
        # Names have no per cent sign, which would be read as an argument of the message.
        self._where = f"run={task.run_id} step={step} attempt={task.attempt}"

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Names the attempt in the text, and adds the attributes to those of the caller."""
        ids = active_ids()
        where = " ".join([self._where, *(f"{name}={id}" for name, id in ids.items())])
        given = kwargs.get("extra") or {}
        return f"{msg} ({where})", {**kwargs, "extra": {**given, **(self.extra or {}), **ids}}
