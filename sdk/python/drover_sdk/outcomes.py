"""From what a handler returned or raised to the outcome that is reported."""

from __future__ import annotations

import asyncio
from typing import Any, Union

from drover_sdk.answers import Again, CannotTell, Deferred, DidNotHappen, Happened
from drover_sdk.durations import to_duration
from drover_sdk.errors import (
    CallError,
    PermanentError,
    StopKind,
    TaskCancelledError,
    TaskStoppedError,
    TransientError,
    UnknownError,
)
from drover_sdk.payloads import Codec, encoded
from drover_sdk.tidy_text import tidy_code, tidy_message
from drover_sdk.v1.task_pb2 import (
    FAILURE_CLASS_PERMANENT,
    FAILURE_CLASS_TRANSIENT,
    TASK_KIND_VERIFY,
    Outcome,
    TaskKind,
)

# Of the body of a payload, by the contract; a namespace may allow less.
_PAYLOAD_BYTES_MOST = 2 * 1024 * 1024

RELEASED = Outcome(released=Outcome.Released())

_NO_ANSWER = "A handler that verifies returns happened(output), did_not_happen() or cannot_tell()."


def outcome_of_result(value: Any, kind: TaskKind, codec: Codec) -> Outcome:
    """An Answer is reported as it is; all else is the output of a success, None one without.

    What has no JSON form is a success whose output is lost: it was done. A verify has to answer: a
    lookup that found nothing and returns must not pass for "it happened".
    """
    if isinstance(value, Again):
        return Outcome(again=Outcome.Again(after=to_duration(value.after)))
    if isinstance(value, Deferred):
        return Outcome(deferred=Outcome.Deferred())
    if isinstance(value, DidNotHappen):
        error = TransientError("did-not-happen", "It did not happen.", no_effect=True)
        return Outcome(failed=failed(error))
    if isinstance(value, CannotTell):
        return unknown("cannot-tell", value.message)
    if kind == TASK_KIND_VERIFY and not isinstance(value, Happened):
        return unknown("no-answer", _NO_ANSWER)
    output = value.output if isinstance(value, Happened) else value
    try:
        return within_limit(Outcome(success=Outcome.Success(output=encoded(output, codec))))
    except Exception as error:
        return output_lost(f"The handler's result cannot be sent: {text_of(error)}")


def outcome_of_error(error: BaseException, stopped: StopKind | None) -> Outcome:
    """`stopped`: why the task had to stop by then, if it had to."""
    if isinstance(error, (TransientError, PermanentError)):
        return Outcome(failed=failed(error))
    if isinstance(error, UnknownError):
        return unknown(error.code, str(error))
    if isinstance(error, TaskCancelledError):
        return Outcome(cancelled=Outcome.Cancelled(no_effect=error.no_effect))
    if stopped is not None and is_stop(error):
        if stopped == "cancelled":
            return Outcome(cancelled=Outcome.Cancelled())
        return unknown(stopped, str(TaskStoppedError(stopped)))
    return unknown("unexpected-error", text_of(error))


def outcome_of_refusal(refused: Outcome, error: CallError) -> Outcome:
    """Instead of a report that the server refused for what is in it. The work of a success was
    done, and doing it again would give the same output again."""
    if refused.HasField("success"):
        why = f"it {error.fields[0].message}" if error.fields else str(error)
        return output_lost(f"The output was refused: {why}")
    reason = error.reason or error.code
    return unknown("report-refused", f"The agent's report was refused ({reason}): {error}")


def within_limit(outcome: Outcome) -> Outcome:
    """A success with an output that no server takes is one whose output is lost."""
    output = outcome.success.output
    size = len(output.json.encode()) + len(output.data)
    if size <= _PAYLOAD_BYTES_MOST:
        return outcome
    problem = f"has {size} bytes, and none may have more than {_PAYLOAD_BYTES_MOST}"
    return output_lost(f"The output {problem}: keep it in object storage and return its address")


def output_lost(problem: str) -> Outcome:
    """It was done, and its output cannot be sent: the permanent failure drover.output."""
    return Outcome(success=Outcome.Success(output_problem=tidy_message(problem)))


def is_unexpected(error: BaseException, stopped: StopKind | None) -> bool:
    """Whether the handler did not name it."""
    if isinstance(error, (TransientError, PermanentError, UnknownError, TaskCancelledError)):
        return False
    return stopped is None or not is_stop(error)


def is_stop(error: BaseException) -> bool:
    """What a handler that has to stop lets propagate."""
    return isinstance(error, (TaskStoppedError, asyncio.CancelledError))


def failed(error: Union[TransientError, PermanentError]) -> Outcome.Failed:
    """The message of a failure."""
    transient = isinstance(error, TransientError)
    after = error.retry_after if isinstance(error, TransientError) else None
    return Outcome.Failed(
        code=tidy_code(error.code),
        message=tidy_message(str(error)),
        failure_class=FAILURE_CLASS_TRANSIENT if transient else FAILURE_CLASS_PERMANENT,
        no_effect=error.no_effect,
        retry_after=None if after is None else to_duration(after),
    )


def unknown(code: str, message: str) -> Outcome:
    """It is unknown whether it took effect."""
    return Outcome(unknown=Outcome.Unknown(code=tidy_code(code), message=tidy_message(message)))


def text_of(error: BaseException) -> str:
    """The class and the message."""
    return f"{type(error).__name__}: {error}"
