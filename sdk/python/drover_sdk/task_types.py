"""Tasks and workflows as the programs that share them know them: a name, and the types of input and
output. They stand where a name may, so a type checker sees where step, handler and caller differ.

    book_flight = TaskType("book-flight", Trip, Booking)
    holiday = WorkflowType("holiday", Trip, Booked)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

if TYPE_CHECKING:
    # Defaults are of Python 3.13; type checkers know them without a package.
    from typing_extensions import TypeVar

    In = TypeVar("In", default=Any)
    Out = TypeVar("Out", default=Any)
else:
    from typing import TypeVar

    In = TypeVar("In")
    Out = TypeVar("Out")


@dataclass(frozen=True)
class TaskType(Generic[In, Out]):
    """A task: a dataclass, a TypedDict, a pydantic model or any type of them for each value."""

    name: str
    """Name of the task, as in the definition of a workflow."""
    input: type[In] | None = None
    """What handlers get. Default: as they annotate it."""
    output: type[Out] | None = None
    """What handlers return. For type checkers alone: it is sent as it is."""


@dataclass(frozen=True)
class WorkflowType(Generic[In, Out]):
    """A workflow: what its runs are started with, and what the caller reads of a run that ended."""

    name: str
    """Name of the registered workflow."""
    input: type[In] | None = None
    """For type checkers alone; the server checks the input by the definition's `input_schema`."""
    output: type[Out] | None = None
    """An object with the outputs of steps by their ids, such as a TypedDict; `wait_outputs` reads
    it."""


def name_of_type(given: Any) -> Any:
    """The name of a task or workflow; anything else stays as it is."""
    return given.name if isinstance(given, (TaskType, WorkflowType)) else given
