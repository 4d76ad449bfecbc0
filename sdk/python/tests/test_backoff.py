"""How long a client bears failures: from the first of them in a row."""

from __future__ import annotations

import asyncio
import logging

import pytest
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


async def test_the_first_failure_of_a_call_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    tries = 0

    async def call() -> str:
        nonlocal tries
        tries += 1
        if tries > 2:
            return "answer"
        raise CallError("UNAVAILABLE", "connection refused")

    with caplog.at_level(logging.WARNING, "drover"):
        repeated = asyncio.ensure_future(repeat(call, clock, 30))
        for _ in range(2):
            await clock.armed(1)
            clock.advance(1)
        assert await repeated == "answer"
    assert [record.getMessage() for record in caplog.records] == [
        "call failed, will repeat it for up to 30 s: UNAVAILABLE : connection refused"
    ]
