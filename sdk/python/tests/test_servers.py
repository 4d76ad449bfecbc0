"""Several addresses: calls go to the servers in turn, and past those that are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agent_script import until
from fake_server import FakeServer

import drover_sdk as drover
from drover_sdk import rpc
from drover_sdk.channel import Connection
from drover_sdk.workflow import Step, Workflow

# Far less than a try, of 10 s, which a call at a frozen server would take.
WITHIN = 8.0


class Gate:
    """A proxy before a server. While it is shut no byte passes, and no side notices."""

    def __init__(self, server: FakeServer, delay: float = 0.0) -> None:
        self._server = server
        self._delay = delay
        self._open = asyncio.Event()
        self._open.set()
        self._pipes: list[asyncio.Task[None]] = []
        self.connections = 0
        self.address = ""

    async def start(self) -> None:
        self._listening = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def stop(self) -> None:
        self._listening.close()
        for pipe in self._pipes:
            pipe.cancel()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there = await asyncio.open_connection("127.0.0.1", self._server.port)
        for source, target in ((reader, there[1]), (there[0], writer)):
            self._pipes.append(asyncio.ensure_future(self._pass(source, target)))

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await asyncio.sleep(self._delay)
                await self._open.wait()
                target.write(data)
        except ConnectionError:
            pass
        finally:
            target.close()


class Counted:
    """A server that answers calls, and counts them."""

    def __init__(self) -> None:
        self.fake = FakeServer()
        self.calls = 0

    async def start(self, port: int = 0) -> Counted:
        await self.fake.start(port)
        self.fake.inbox(rpc.GET_RUN).always(self._answer)
        return self

    def _answer(self, call: Any) -> None:
        self.calls += 1
        call.answer()


@pytest.fixture
async def both() -> AsyncIterator[tuple[Counted, Counted]]:
    one, other = await Counted().start(), await Counted().start()
    yield one, other
    await one.fake.stop()
    await other.fake.stop()


async def ask(client: drover.Client) -> bool:
    await asyncio.wait_for(client.get_run("run-1"), WITHIN)
    return True


async def test_calls_go_to_the_servers_in_turn(both: tuple[Counted, Counted]) -> None:
    one, other = both
    async with drover.Client([one.fake.address, other.fake.address]) as client:
        for _ in range(10):
            await ask(client)
    assert (one.calls, other.calls) == (5, 5)


async def test_a_dead_server_is_passed_over_until_it_is_back(both: tuple[Counted, Counted]) -> None:
    one, other = both
    async with drover.Client(f"{one.fake.address}, {other.fake.address}") as client:
        for _ in range(2):
            await ask(client)
        await one.fake.stop()
        for _ in range(4):
            await ask(client)
        back = await Counted().start(one.fake.port)

        async def called() -> bool:
            return await ask(client) and back.calls > 0

        await until(called)
        await other.fake.stop()
        await ask(client)
    await back.fake.stop()


async def test_a_call_at_a_server_that_freezes_is_repeated_at_another(
    both: tuple[Counted, Counted],
) -> None:
    one, other = both
    gate = Gate(one.fake)
    await gate.start()
    async with drover.Client([gate.address, other.fake.address]) as client:
        for _ in range(2):
            await ask(client)
        gate.shut()
        for _ in range(4):
            await ask(client)
        gate.open()
        before = one.calls

        async def called() -> bool:
            return await ask(client) and one.calls > before

        await until(called)
    gate.stop()


async def test_a_watch_at_a_server_that_freezes_goes_on_at_another(
    both: tuple[Counted, Counted],
) -> None:
    one, other = both
    gates = [Gate(one.fake), Gate(other.fake)]
    for gate in gates:
        await gate.start()
    async with drover.Client([gate.address for gate in gates]) as client:

        async def first() -> int:
            async for snapshot in client.watch_run("run-1"):
                return snapshot.run.version
            return 0

        following = asyncio.ensure_future(first())
        inboxes = [server.fake.inbox(rpc.WATCH_RUN) for server in both]
        asked = [asyncio.ensure_future(inbox.next()) for inbox in inboxes]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        at = 0 if asked[0].done() else 1
        gates[at].shut()
        (await asyncio.wait_for(asked[1 - at], WITHIN)).answer(
            run={"run_id": "run-1", "version": 7}
        )
        assert await asyncio.wait_for(following, WITHIN) == 7
        gates[at].open()
    for gate in gates:
        gate.stop()


async def test_a_call_that_is_given_up_is_cancelled_at_its_server(
    both: tuple[Counted, Counted],
) -> None:
    one, other = both
    async with drover.Client([one.fake.address, other.fake.address]) as client:
        asked = asyncio.ensure_future(client.register_workflow(Workflow("w", [Step("a", "t")])))
        inboxes = [server.fake.inbox(rpc.REGISTER_WORKFLOW) for server in both]
        waiting = [asyncio.ensure_future(inbox.next()) for inbox in inboxes]
        done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.wait_for(done.pop().result().cancelled.wait(), WITHIN)
        left.pop().cancel()


async def test_a_connection_that_is_slow_to_be_made_is_waited_for() -> None:
    server = await Counted().start()
    # Half a second until the settings of the server arrive, as on a busy machine.
    gate = Gate(server.fake, delay=0.25)
    await gate.start()
    async with drover.Client(gate.address, patience=0) as client:
        await ask(client)
    assert gate.connections == 1
    gate.stop()
    await server.fake.stop()


@pytest.mark.parametrize(
    "address", ["", "a:7420,", "a", "http://a:7420", "dns:///a:7420", ["a:7420", "b"], []]
)
def test_addresses_that_are_none_are_refused(address: str | list[str]) -> None:
    with pytest.raises(ValueError, match="write it as"):
        drover.Client(address)


def test_addresses_are_a_list_or_one_text_with_commas_and_each_counts_once() -> None:
    assert Connection("a:7420, [::1]:7420,a:7420").addresses == ["a:7420", "[::1]:7420"]
    assert Connection(["a:7420", "[::1]:7420"]).addresses == ["a:7420", "[::1]:7420"]


def test_a_token_in_plain_text_is_refused_if_one_address_is_another_machine() -> None:
    with pytest.raises(ValueError, match=r"drover\.example:7420 in plain text"):
        drover.Client("127.0.0.1:7420,drover.example:7420", token="abc")
