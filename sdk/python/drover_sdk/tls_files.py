"""Files of TLS, read again when they have changed."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from drover_sdk.clocks import Clock

# How often files are looked at, in seconds, while calls are made.
_LOOK = 1.0


@dataclass(frozen=True)
class Tls:
    """How a connection is secured. Files are read again when they have changed. Without them: with
    the root certificates of the system."""

    ca: str | Path | None = None
    """File of the certificates to trust, PEM."""
    cert: str | Path | None = None
    """File of the client's certificate, PEM, for servers that require one; with `key`."""
    key: str | Path | None = None
    """File of the key of `cert`, PEM."""
    server_name: str | None = None
    """Name in the server's certificate, if it differs from the address."""


class TlsFiles:
    """The credentials for the next connection: the same object until a file has changed."""

    def __init__(self, tls: Tls, clock: Clock) -> None:
        """Raises OSError for files that cannot be read, or have no certificates."""
        self._tls = tls
        self._clock = clock
        self._looked = clock.monotonic()
        self._versions = self._versions_now()
        self._last = self._read()

    def current(self) -> grpc.ChannelCredentials:
        """A pair of which only one file is written yet does not replace the one before."""
        now = self._clock.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            try:
                versions = self._versions_now()
                if versions != self._versions:
                    self._last = self._read()
                    self._versions = versions
            except OSError:
                pass  # They are being written: the next look reads them.
        return self._last

    def _files(self) -> list[Path | None]:
        files = (self._tls.ca, self._tls.key, self._tls.cert)
        return [None if file is None else Path(file) for file in files]

    def _versions_now(self) -> list[tuple[int, int, int]]:
        """Differs after each change of a file, also by a rename or another target of a link."""
        stats = [file.stat() for file in self._files() if file is not None]
        return [(one.st_ino, one.st_size, one.st_mtime_ns) for one in stats]

    def _read(self) -> grpc.ChannelCredentials:
        ca, key, cert = self._files()
        # gRPC would take anything, and fail with each connection.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if ca is not None:
            context.load_verify_locations(ca)
        if cert is not None:
            context.load_cert_chain(cert, key, password="")
        read = [None if file is None else file.read_bytes() for file in (ca, key, cert)]
        return grpc.ssl_channel_credentials(*read)
