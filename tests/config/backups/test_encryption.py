"""Encrypted content is read again with the same key, and only whole.

No part may be changed, moved or missing.
"""

import io
from pathlib import Path

import pytest

from config.backups import encryption
from config.backups.encryption import MAGIC, SALT, TAG, DecryptingReader, EncryptingWriter, read_key
from foundation.errors import BadFile

KEY = bytes(range(32))
PATH = Path("a.backup")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "CHUNK", 8)


def encrypted(content: bytes, step: int = 5) -> bytes:
    out = io.BytesIO()
    with EncryptingWriter(out, KEY) as writer:
        for start in range(0, len(content), step):
            writer.write(content[start : start + step])
    return out.getvalue()


def decrypted(text: bytes, key: bytes = KEY) -> bytes:
    source = io.BytesIO(text)
    assert source.read(len(MAGIC)) == MAGIC
    return DecryptingReader(source, key, PATH).read()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17, 100])
def test_it_works(size: int):
    content = bytes(range(size))
    text = encrypted(content)
    assert decrypted(text) == content
    assert len(text) == len(MAGIC) + SALT + size + TAG * max(1, -(-size // 8))


def test_equal_contents_do_not_look_equal():
    assert encrypted(b"a" * 20) != encrypted(b"a" * 20)


def test_another_key_is_named():
    with pytest.raises(BadFile, match=r"a\.backup: cannot be decrypted: it was encrypted with another key"):
        decrypted(encrypted(b"abc"), KEY[::-1])


HEAD, PIECE = len(MAGIC) + SALT, 8 + TAG


def spoilt() -> dict[str, bytes]:
    text = encrypted(bytes(range(24)))  # three full chunks
    pieces = [text[HEAD + n * PIECE : HEAD + (n + 1) * PIECE] for n in range(3)]
    return {
        "changed": text[:-1] + bytes([text[-1] ^ 1]),
        "cut in a chunk": text[:-3],
        "cut after a chunk": text[:-PIECE],
        "moved": text[:HEAD] + pieces[0] + pieces[2] + pieces[1],
        "longer": text + pieces[2],
    }


@pytest.mark.parametrize("how", list(spoilt()))
def test_every_change_is_found(how: str):
    with pytest.raises(BadFile, match="cannot be decrypted: it is damaged"):
        decrypted(spoilt()[how])


def test_a_short_key_is_refused(tmp_path: Path):
    path = tmp_path / "key"
    with pytest.raises(BadFile, match="there is no such file"):
        read_key(path)
    path.write_bytes(b"secret\n")
    with pytest.raises(BadFile, match="has 6 bytes; a key has at least 32 random ones"):
        read_key(path)
    path.write_bytes(KEY + b"\n")
    assert read_key(path) == KEY
