"""From JSON values to the types of a program, and back: dataclasses, TypedDict, pydantic models,
and what is made of them, such as `list[Leg]`.

msgspec converts, strictly: "1" is no int. Keys that a type does not have are ignored, so that a
sender may be newer. Pydantic converts its own models, and is imported only when there is one.
"""

from __future__ import annotations

import dataclasses
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_PROBLEMS_MOST = 5


class _ModelError(ValueError):
    """What pydantic found, by path."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("not as the model expects")
        self.problems = problems


def convert(kind: Any, value: Any) -> Any:
    """The JSON value as this type. Raises ValueError: `legs[0].to: Expected `str`, got `int``."""
    try:
        if _is_model(kind):
            return _to_model(kind, value)
        return msgspec.convert(value, kind, dec_hook=_to_model)
    except (msgspec.ValidationError, _ModelError) as error:
        raise ValueError(_text_of(error)) from None


def check_type(kind: Any) -> None:
    """Raises TypeError for a type to which no JSON value can be converted."""
    if _is_model(kind):
        return
    info = msgspec.inspect.type_info(kind)
    if isinstance(info, msgspec.inspect.CustomType) and kind is not object:
        raise TypeError(
            f"{kind!r} is no dataclass, TypedDict, pydantic model or type that JSON has."
        )


def to_plain(value: Any) -> Any:
    """What has no JSON form of its own as what has, for `json.dumps`. Raises TypeError."""
    if _is_model(type(value)):
        return _of_model(value)
    if dataclasses.is_dataclass(value):
        # Not by msgspec, which leaves out fields that have the default of their class.
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return msgspec.to_builtins(value, enc_hook=_of_model)


def _is_model(kind: Any) -> bool:
    """A model of pydantic, or a dataclass of its."""
    return isinstance(kind, type) and hasattr(kind, "__pydantic_validator__")


def _to_model(kind: Any, value: Any) -> Any:
    if kind is object:
        return value
    if not _is_model(kind):
        raise NotImplementedError(f"{kind!r} cannot be made of JSON.")
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        # As JSON, which has texts for times, also in a strict model.
        return _adapter(kind).validate_json(json.dumps(value))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise _ModelError([(_path(one["loc"]), one["msg"]) for one in found]) from None


def _of_model(value: Any) -> Any:
    kind: Any = type(value)
    if not _is_model(kind):
        raise TypeError(f"Object of type {kind.__name__} is not JSON serializable")
    return _adapter(kind).dump_python(value, mode="json", by_alias=True)


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(kind)


def _path(location: tuple[int | str, ...]) -> str:
    path = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in location)
    return path.removeprefix(".")


def _text_of(error: msgspec.ValidationError | _ModelError) -> str:
    """`path: problem`, and the path is left out for the value itself."""
    inner = error if isinstance(error, _ModelError) else error.__cause__
    # msgspec says where at the end of its text.
    found = re.fullmatch(r"(.*?)(?: - at `\$\.?(.*)`)?", str(error), re.DOTALL)
    text, outer = (found[1], found[2] or "") if found is not None else (str(error), "")
    problems = inner.problems if isinstance(inner, _ModelError) else [("", text)]
    lines: list[str] = []
    for path, problem in problems[:_PROBLEMS_MOST]:
        between = "." if outer and path and not path.startswith("[") else ""
        where = f"{outer}{between}{path}"
        lines.append(f"{where}: {problem}" if where else problem)
    more = len(problems) - _PROBLEMS_MOST
    return "; ".join([*lines, *([f"and {more} more"] if more > 0 else [])])
