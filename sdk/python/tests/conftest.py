"""Fixtures: a server that the test plays, agents that end with it, and a real server."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from agent_script import Agents
from fake_server import FakeServer

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS_MOST = 60


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
async def agents(server: FakeServer) -> AsyncIterator[Agents]:
    made = Agents()
    yield made
    await made.stop()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Of a real server: that of DROVER_TEST_ADDRESS, or one that is started for the tests."""
    given = os.environ.get("DROVER_TEST_ADDRESS")
    if given is not None:
        yield given
        return
    with socket.socket() as free, tempfile.TemporaryDirectory() as data:
        Path(data).chmod(0o711)
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        node = ROOT / "node_modules/.bin/node"
        command = [str(node), "cli/bin/drover.js", "dev", "--address", where, "--data-dir", data]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            timer = threading.Timer(START_SECONDS_MOST, process.kill)
            timer.start()
            for line in process.stdout:
                if where in line:
                    break
            timer.cancel()
            assert process.poll() is None, "The server did not start."
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield where
            process.terminate()
