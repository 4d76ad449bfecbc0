"""Texts of agents and of what they speak to, made such that the server takes them."""

from __future__ import annotations

import re

_MESSAGE_MOST = 4_096
_CODE_MOST = 128


def tidy_code(code: str) -> str:
    """A code made from an error of a remote service must not cost the report."""
    tidy = re.sub(r"[^A-Za-z0-9._-]", "-", str(code))
    tidy = re.sub(r"^drover\.", "drover-", tidy)
    return tidy[:_CODE_MOST] or "error"


def tidy_message(message: str) -> str:
    """Without NUL and halves of characters, and not too long."""
    return well_formed(message.replace("\0", " ")[:_MESSAGE_MOST])


def well_formed(text: str) -> str:
    """Lone surrogates have no UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
