"""Runs a handler to its end, however long that takes: what it returns or raises is an outcome."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from drover_sdk.outcomes import is_unexpected, outcome_of_error, outcome_of_result
from drover_sdk.payloads import Codec
from drover_sdk.tasks import Handler, Task
from drover_sdk.tracing import within_task
from drover_sdk.v1.task_pb2 import Outcome
from drover_sdk.v1.task_pb2 import Task as TaskMessage


def is_async(handler: Handler) -> bool:
    """Whether a call of it has to be awaited."""
    call: Any = type(handler).__call__ if not inspect.isroutine(handler) else None
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


def attempt(handler: Handler, message: TaskMessage, task: Task, codec: Codec) -> Outcome:
    """Of a handler that is `def`; never raises."""
    with within_task(message) as ended:
        task.log.bind()
        try:
            outcome = _logged(outcome_of_result(handler(task), message.kind, codec), task)
        except BaseException as error:
            outcome = _failed(error, task)
        ended(outcome)
        return outcome


async def attempt_async(
    handler: Handler, message: TaskMessage, task: Task, codec: Codec
) -> Outcome:
    """Of a handler that is `async def`; never raises, not even when it is cancelled."""
    with within_task(message) as ended:
        task.log.bind()
        try:
            outcome = _logged(outcome_of_result(await handler(task), message.kind, codec), task)
        except BaseException as error:
            outcome = _failed(error, task)
        ended(outcome)
        return outcome


def _logged(outcome: Outcome, task: Task) -> Outcome:
    if outcome.success.output_problem:
        task.log.error("the output of a handler is lost: %s", outcome.success.output_problem)
    return outcome


def _failed(error: BaseException, task: Task) -> Outcome:
    stopped = task.stopped
    if is_unexpected(error, stopped):
        task.log.error("handler raised an error that it did not name", exc_info=error)
    return outcome_of_error(error, stopped)


Done = Callable[[Outcome], None]
"""Called once, in the loop of the runtime."""
