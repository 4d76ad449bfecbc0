"""A codec that encrypts every payload, so that the server never sees the clear text.

Needs the package cryptography: `pip install 'drover[aes]'`.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from drover_sdk.v1.payload_pb2 import Payload

_CONTENT_TYPE = "application/x-drover-aes-gcm"
_NONCE_BYTES = 12


class AesGcmCodec:
    """AES-256-GCM with one key.

    On the wire: the content type `application/x-drover-aes-gcm`, and as data a nonce of 12 bytes,
    the encrypted serialised Payload, and a tag of 16 bytes. A payload of another content type is
    passed through.

    The nonce is derived from key and payload, so the same input under the same key of a run is the
    same request, also from a restarted caller. An observer of two payloads learns whether they
    are equal, and nothing else.
    """

    def __init__(self, key: bytes) -> None:
        """`key`: 32 bytes."""
        if len(key) != 32:
            raise ValueError(f"The key has {len(key)} bytes; AES-256 wants 32.")
        self._cipher = AESGCM(key)
        self._nonce_key = hmac.digest(key, b"drover nonce", hashlib.sha256)

    def encode(self, payload: Payload) -> Payload:
        """As in Codec."""
        clear = payload.SerializeToString(deterministic=True)
        nonce = hmac.digest(self._nonce_key, clear, hashlib.sha256)[:_NONCE_BYTES]
        sealed = self._cipher.encrypt(nonce, clear, None)
        return Payload(content_type=_CONTENT_TYPE, data=nonce + sealed)

    def decode(self, payload: Payload) -> Payload:
        """As in Codec. Raises ValueError if it was made with another key, or changed."""
        if payload.content_type != _CONTENT_TYPE:
            return payload
        nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            return Payload.FromString(self._cipher.decrypt(nonce, sealed, None))
        except Exception as error:
            raise ValueError("A payload cannot be decrypted with the key that is given.") from error
