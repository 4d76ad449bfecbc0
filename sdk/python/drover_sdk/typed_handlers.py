"""Handlers that take the input as their second argument: `def book(task, trip: Trip) -> Booking`.

The input is converted to the type of its annotation, or of the TaskType for which the handler is
registered. One that is not of this type fails the attempt for good, and the handler is not called.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, Union, overload

from drover_sdk.answers import Answer
from drover_sdk.attempts import is_async
from drover_sdk.conversion import check_type, convert
from drover_sdk.tasks import Handler, Task

In = TypeVar("In")
Out = TypeVar("Out")

AnyHandler = Union[Handler, Callable[[Task, Any], Any]]
"""A handler that takes the task, or the task and its input."""


class Register(Protocol[In, Out]):
    """The decorator for handlers of a TaskType."""

    @overload
    def __call__(
        self, handler: Callable[[Task, In], Awaitable[Union[Out, Answer]]], /
    ) -> Callable[[Task, In], Awaitable[Union[Out, Answer]]]: ...
    @overload
    def __call__(
        self, handler: Callable[[Task, In], Union[Out, Answer]], /
    ) -> Callable[[Task, In], Union[Out, Answer]]: ...


@dataclass(frozen=True)
class _Typed:
    """A dataclass, so that a process of its own gets it by pickle."""

    handler: Callable[[Task, Any], Any]
    kind: Any

    def __call__(self, task: Task) -> Any:
        return self.handler(task, _input(task, self.kind))


class _TypedAsync(_Typed):
    async def __call__(self, task: Task) -> Any:
        return await self.handler(task, _input(task, self.kind))


def typed(handler: AnyHandler, kind: Any = None) -> Handler:
    """The handler as one that takes the task alone.

    `kind`: the type of the input; None: by the annotation. Raises TypeError for a type to which no
    JSON value can be converted, and for an annotation that cannot be read.
    """
    given: Any = handler
    annotation = _second_annotation(given)
    if annotation is None:
        return given  # type: ignore[no-any-return]
    kind = annotation[0] if kind is None else kind
    if kind is not Any:
        check_type(kind)
    return (_TypedAsync if is_async(given) else _Typed)(given, kind)


def _input(task: Task, kind: Any) -> Any:
    return task.input if kind is Any else task.parse_input(lambda value: convert(kind, value))


def _second_annotation(handler: Callable[..., Any]) -> tuple[Any] | None:
    """None: it takes no second argument."""
    try:
        signature = inspect.signature(handler)
    except ValueError:  # Of code without one, as builtins.
        return None
    second = _second(signature)
    if second is None:
        return None
    if isinstance(second.annotation, str):
        try:
            second = _second(inspect.signature(handler, eval_str=True)) or second
        except NameError as error:
            raise TypeError(
                f"The annotations of {handler!r} cannot be read, because {error}: import what they "
                "name, also outside of `if TYPE_CHECKING:`."
            ) from None
    empty = second.annotation is inspect.Parameter.empty
    return (Any if empty else second.annotation,)


def _second(signature: inspect.Signature) -> inspect.Parameter | None:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = [
        one
        for one in signature.parameters.values()
        if one.kind in kinds and one.default is inspect.Parameter.empty
    ]
    return taken[1] if len(taken) > 1 else None
