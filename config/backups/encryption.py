"""Encryption of a stream in chunks, each authenticated with its place.

AES-256-GCM under a key that HKDF derives from the key file and a random salt of the archive. The nonce of a
chunk is its number, and a mark of the last one, so that chunks can be neither moved nor cut off (Hoang,
Reyhanitabar, Rogaway and Vizár 2015, STREAM).
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from analysis.io.errors import describe_os_error
from foundation.errors import BadFile

MAGIC = b"touchstone-encrypted-1\n"
SALT, TAG = 16, 16  # bytes
CHUNK = 1 << 20
LEAST_KEY = 32  # bytes


def read_key(path: Path) -> bytes:
    """Read a key file.

    Raises:
        BadFile: It cannot be read, or is too short to be a random key.
    """
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise BadFile(path, describe_os_error(error)) from error
    if len(key) < LEAST_KEY:
        raise BadFile(path, f"has {len(key)} bytes; a key has at least {LEAST_KEY} random ones")
    return key


class EncryptingWriter(io.RawIOBase):
    """A file that encrypts what is written into another one."""

    def __init__(self, out: IO[bytes], key: bytes) -> None:
        salt = os.urandom(SALT)
        self._out, self._cipher = out, _build_cipher(key, salt)
        self._held, self._number = bytearray(), 0
        out.write(MAGIC + salt)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Encrypt all full chunks but the last, which may end the file."""
        self._held += data
        while len(self._held) > CHUNK:
            self._seal(bytes(self._held[:CHUNK]), last=False)
            del self._held[:CHUNK]
        return len(data)

    def close(self) -> None:
        """Write the last chunk; the other file stays open."""
        if not self.closed:
            self._seal(bytes(self._held), last=True)
        super().close()

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        self._out.write(self._cipher.encrypt(_build_nonce(self._number, last=last), chunk, MAGIC))
        self._number += 1


class DecryptingReader(io.RawIOBase):
    """A file that decrypts another one, which stands behind its magic."""

    def __init__(self, source: IO[bytes], key: bytes, path: Path) -> None:
        self._source, self._path = source, path
        self._cipher = _build_cipher(key, source.read(SALT))
        self._next = source.read(CHUNK + TAG)
        self._plain, self._number = b"", 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Decrypt as much as fits. Raises BadFile."""
        while not self._plain and self._next:
            chunk, self._next = self._next, self._source.read(CHUNK + TAG)
            try:
                nonce = _build_nonce(self._number, last=not self._next)
                self._plain = self._cipher.decrypt(nonce, chunk, MAGIC)
            except InvalidTag as error:
                reason = "it was encrypted with another key" if self._number == 0 else "it is damaged"
                raise BadFile(self._path, f"cannot be decrypted: {reason}") from error
            self._number += 1
        size = min(len(buffer), len(self._plain))
        buffer[:size], self._plain = self._plain[:size], self._plain[size:]
        return size


def _build_cipher(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"touchstone backup").derive(key))


def _build_nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
