"""How long a client bears failures: from the first of them in a row."""

from __future__ import annotations

import asyncio

from manual_clock import ManualClock

from drover_sdk.backoff import repeat
from drover_sdk.errors import CallError


async def test_a_call_that_fails_after_a_long_wait_is_repeated_all_the_same() -> None:
    clock = ManualClock()
    tries = 0

    async def call() -> str:
        nonlocal tries
        tries += 1
        if tries > 1:
            return "answer"
        clock.advance(30)
        raise CallError("UNAVAILABLE", "the server is about to go")

    repeated = asyncio.ensure_future(repeat(call, clock, 30))
    await clock.armed(1)
    clock.advance(1)
    assert await repeated == "answer"
    assert tries == 2
