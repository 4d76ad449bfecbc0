"""Files of TLS that change while a client lives."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import grpc
import pytest
from agent_script import until
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fake_server import FakeServer
from manual_clock import ManualClock

import drover_sdk as drover
from drover_sdk import rpc
from drover_sdk.tls_files import TlsFiles


class Issued:
    """A certificate for 127.0.0.1 and its key, signed by an authority, or that of one."""

    def __init__(self, name: str, by: Issued | None = None) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        signer = by or self
        now = datetime.now(timezone.utc)
        where = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(signer._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([where]), critical=False)
            .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
            .sign(signer._key, hashes.SHA256())
        )
        self.cert = made.public_bytes(serialization.Encoding.PEM)
        self.key = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


async def test_files_that_were_replaced_are_read_for_the_next_connection(tmp_path: Path) -> None:
    ours, others = Issued("ours"), Issued("others")
    own, ada, eve = Issued("server", ours), Issued("ada", ours), Issued("eve", others)
    server = FakeServer()
    await server.start(
        credentials=grpc.ssl_server_credentials(
            [(own.key, own.cert)], ours.cert, require_client_auth=True
        )
    )
    server.inbox(rpc.GET_RUN).always(lambda call: call.answer())
    ca, cert, key = (tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem"))

    def write(pair: Issued, authority: Issued) -> None:
        ca.write_bytes(authority.cert)
        cert.write_bytes(pair.cert)
        key.write_bytes(pair.key)

    write(eve, ours)
    tls = drover.Tls(ca=ca, cert=cert, key=key)
    async with drover.Client(server.address, tls=tls, patience=0) as client:

        async def is_taken() -> bool:
            try:
                await client.get_run("run-1")
            except drover.CallError:
                return False
            return True

        async def is_refused() -> bool:
            return not await is_taken()

        assert await is_refused()
        write(ada, ours)
        await until(is_taken)
        write(ada, others)
        await until(is_refused)
        write(ada, ours)
        await until(is_taken)
    await server.stop()


async def test_a_certificate_without_its_key_does_not_replace_the_pair_before(
    tmp_path: Path,
) -> None:

    first, second = Issued("first"), Issued("second")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(first.cert)
    key.write_bytes(first.key)
    clock = ManualClock()
    files = TlsFiles(drover.Tls(cert=cert, key=key), clock)
    before = files.current()
    cert.write_bytes(second.cert)
    clock.advance(1)
    assert files.current() is before
    key.write_bytes(second.key)
    clock.advance(1)
    after = files.current()
    assert after is not before
    clock.advance(1)
    assert files.current() is after


@pytest.mark.parametrize("content", [None, b"no certificate"])
async def test_files_that_are_none_are_an_error_at_once(
    tmp_path: Path, content: bytes | None
) -> None:
    ca = tmp_path / "ca.pem"
    if content is not None:
        ca.write_bytes(content)
    client: Any = drover.Client("127.0.0.1:1", tls=drover.Tls(ca=ca))
    with pytest.raises(OSError):
        await client.get_run("run-1")
