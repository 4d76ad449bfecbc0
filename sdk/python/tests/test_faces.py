"""The agent in programs with asyncio and without, the client without it, codecs, and TLS."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import grpc
import pytest
from agent_script import ANSWERED, a_task, accept_all, carry_on_all
from fake_server import SECONDS_MOST, FakeServer

import drover_sdk as drover
from drover_sdk import rpc, sync
from drover_sdk.aes import AesGcmCodec
from drover_sdk.durations import to_duration
from drover_sdk.payloads import json_payload
from drover_sdk.tasks import Task
from drover_sdk.v1.payload_pb2 import Payload
from drover_sdk.workflow import Step, Workflow

KEY = bytes(range(32))


def agent_of(server: FakeServer, **given: Any) -> drover.Agent:
    usual: dict[str, Any] = {"id": "face", "grace": 0, "slots": 1, **given}
    return drover.Agent(server.address, **usual)


async def test_async_handlers_run_in_the_loop_of_the_author(server: FakeServer) -> None:
    agent = agent_of(server)
    loops: list[Any] = []

    @agent.task("book-flight")
    async def perform(task: Task) -> Any:
        loops.append(asyncio.get_running_loop())

    async with agent:
        (await server.poll.next()).answer(tasks=[a_task("t1")])
        await server.complete.next()
        server.heartbeat.always(carry_on_all)
        server.complete.always(accept_all)
        server.release()
    assert loops == [asyncio.get_running_loop()]


async def test_a_handler_that_blocks_its_loop_costs_no_heartbeat(server: FakeServer) -> None:
    agent = agent_of(server)
    started, over = threading.Event(), threading.Event()

    @agent.task("book-flight")
    async def perform(task: Task) -> Any:
        started.set()
        over.wait(SECONDS_MOST)

    poll = asyncio.ensure_future(server.poll.next())
    await asyncio.to_thread(agent.start)
    (await poll).answer(tasks=[a_task("t1", heartbeat_interval=to_duration("0.1s"))])
    server.complete.always(accept_all)
    assert await asyncio.to_thread(started.wait, SECONDS_MOST)
    for _ in range(2):
        carry_on_all(await server.heartbeat.next())
    over.set()
    server.heartbeat.always(carry_on_all)
    agent.stop()
    await asyncio.to_thread(agent.join, SECONDS_MOST)


async def test_an_agent_refuses_what_does_not_fit_its_state(server: FakeServer) -> None:
    agent = agent_of(server)
    agent.task("a")(lambda task: None)
    with pytest.raises(ValueError, match='"a" has a handler already'):
        agent.task("a")(lambda task: None)
    server.heartbeat.always(carry_on_all)
    agent.start()
    agent.start()
    with pytest.raises(RuntimeError, match="comes after the start"):
        agent.task("b")(lambda task: None)
    agent.stop()
    agent.stop()
    await asyncio.wait_for(agent.stopped(), SECONDS_MOST)
    agent.join()
    with pytest.raises(RuntimeError, match="create another one"):
        agent.start()


def test_a_handler_that_no_other_process_can_find_is_not_isolated() -> None:
    agent = drover.Agent("127.0.0.1:1", id="a")
    agent.task("a", isolated=True)(lambda task: None)
    with pytest.raises(ValueError, match="define it at the top of a module"):
        agent.start()


async def test_a_codec_changes_every_payload_of_an_agent(server: FakeServer) -> None:
    codec = AesGcmCodec(KEY)
    agent = agent_of(server, codec=codec)
    seen: list[Any] = []

    @agent.task("book-flight")
    def perform(task: Task) -> Any:
        seen.append((task.input, task.last_details))
        task.details({"page": 4})
        return drover.again(1) if task.attempt == 1 else {"seat": "12A"}

    server.heartbeat.always(carry_on_all)
    async with agent:
        sealed = codec.encode(json_payload({"to": "Lisbon"}))
        (await server.poll.next()).answer(tasks=[a_task("t1", input=sealed)])
        (await server.complete.next()).answer(
            **ANSWERED, tasks=[a_task("t2", input=sealed, last_details=sealed, attempt=2)]
        )
        output = (await server.complete.next()).request.results[0].outcome.success.output
        server.complete.always(accept_all)
        server.release()
    assert seen == [({"to": "Lisbon"}, None), ({"to": "Lisbon"}, {"to": "Lisbon"})]
    assert output.content_type == "application/x-drover-aes-gcm"
    assert codec.decode(output) == json_payload({"seat": "12A"})


async def test_what_a_codec_cannot_decode_is_a_failure_that_may_pass(server: FakeServer) -> None:
    agent = agent_of(server, codec=AesGcmCodec(KEY))
    agent.task("book-flight")(lambda task: None)
    server.heartbeat.always(carry_on_all)
    async with agent:
        foreign = AesGcmCodec(bytes(32)).encode(json_payload(1))
        (await server.poll.next()).answer(tasks=[a_task("t1", input=foreign)])
        outcome = (await server.complete.next()).request.results[0].outcome
        server.complete.always(accept_all)
        server.release()
    assert (outcome.failed.code, outcome.failed.failure_class) == ("not-started", 1)


def test_a_codec_returns_what_it_has_not_made_and_reports_what_is_wrong() -> None:
    codec = AesGcmCodec(KEY)
    plain = json_payload({"a": 1})
    assert codec.decode(plain) == plain
    sealed = codec.encode(plain)
    assert b'"a"' not in sealed.data
    assert codec.decode(sealed) == plain
    # To the server it is the same request, though another process made it.
    assert AesGcmCodec(KEY).encode(plain) == sealed
    assert codec.encode(json_payload({"a": 2})).data[:12] != sealed.data[:12]
    with pytest.raises(ValueError, match="cannot be decrypted"):
        codec.decode(Payload(content_type=sealed.content_type, data=sealed.data[:-1]))
    with pytest.raises(ValueError, match="16 bytes"):
        AesGcmCodec(bytes(16))


async def test_the_client_without_asyncio_waits_for_each_answer(server: FakeServer) -> None:
    codec = AesGcmCodec(KEY)

    def work() -> tuple[drover.Scheduled, Any, list[Any]]:
        with sync.Client(server.address, codec=codec) as client:
            scheduled = client.schedule("w", input={"to": "Lisbon"}, key="order-7")
            run = client.get_run(scheduled.run_id).run
            states = [one.run.state for one in client.watch_run(scheduled.run_id)]
            assert client.hooks.list() == ()
        return scheduled, run.input, states

    working = asyncio.ensure_future(asyncio.to_thread(work))
    call = await server.inbox(rpc.SCHEDULE).next()
    assert call.request.input.content_type == "application/x-drover-aes-gcm"
    call.answer(run_id="run-1", created=True)
    (await server.inbox(rpc.GET_RUN).next()).answer(run={"input": call.request.input})
    (await server.inbox(rpc.WATCH_RUN).next()).answer(run={"state": "RUN_STATE_COMPLETED"})
    (await server.inbox(rpc.LIST_HOOKS).next()).answer()
    scheduled, given, states = await asyncio.wait_for(working, SECONDS_MOST)
    assert scheduled == drover.Scheduled("run-1", "order-7", True)
    assert (given, states) == ({"to": "Lisbon"}, ["COMPLETED"])


def test_both_faces_have_the_same_calls() -> None:
    def calls(of: Any) -> dict[str, Any]:
        """Those of its parts too."""
        names = {name for name in dir(of) if not name.startswith("_")}
        parts = {name for name in names if not callable(getattr(of, name))}
        return {name: calls(getattr(of, name)) if name in parts else None for name in names}

    with sync.Client("127.0.0.1:1") as other:
        assert calls(drover.Client("127.0.0.1:1")) == calls(other)


async def test_a_token_of_the_environment_is_shown_unless_another_is_given(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DROVER_TOKEN", "of the environment")
    for given, shown in ((None, "of the environment"), ("given", "given"), ("", None)):
        async with drover.Client(server.address, token=given) as client:
            asked = asyncio.ensure_future(client.register_workflow(Workflow("w", [Step("a", "t")])))
            call = await server.inbox(rpc.REGISTER_WORKFLOW).next()
            bearer = None if shown is None else f"Bearer {shown}"
            assert call.metadata.get("authorization") == bearer
            call.answer(name="w", version=1, created=True)
            await asked
    with pytest.raises(ValueError, match="in plain text, for all to read"):
        drover.Client("drover.example.com:7420")
    async with drover.Client("drover.example.com:7420", plaintext_token=True):
        pass


async def test_a_connection_is_secured_and_shows_a_certificate_and_a_token(
    tmp_path: Path,
) -> None:
    certificate(tmp_path)
    server = FakeServer()
    key, cert = (tmp_path / "key.pem").read_bytes(), (tmp_path / "cert.pem").read_bytes()
    credentials = grpc.ssl_server_credentials([(key, cert)], cert, require_client_auth=True)
    await server.start(credentials=credentials)
    tls = drover.Tls(
        ca=tmp_path / "cert.pem",
        cert=tmp_path / "cert.pem",
        key=tmp_path / "key.pem",
        server_name="drover.test",
    )
    async with drover.Client(server.address, tls=tls, token="s3cret") as client:
        asked = asyncio.ensure_future(client.register_workflow(Workflow("w", [Step("a", "t")])))
        call = await server.inbox(rpc.REGISTER_WORKFLOW).next()
        assert call.metadata["authorization"] == "Bearer s3cret"
        call.answer(name="w", version=1, created=True)
        assert await asked == drover.RegisteredWorkflow("w", 1, True)
    async with drover.Client(server.address, patience=0) as plain:
        with pytest.raises(drover.CallError) as caught:
            await plain.get_run("run-1")
        assert caught.value.code == "UNAVAILABLE"
    await server.stop()


def certificate(folder: Path) -> None:
    """Of its own, for drover.test, as server and as client."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "drover.test")])
    now = datetime.now(timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("drover.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
