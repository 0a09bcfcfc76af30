"""Secrets that the site reads again, encrypted with its key."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

__all__ = ["InvalidToken", "decrypt", "encrypt"]


def encrypt(text: str) -> str:
    """Encrypt a text with the key SECRET_KEY."""
    return _build_cipher().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Decrypt a text of `encrypt`, also one of an earlier key.

    Raises:
        InvalidToken: Neither SECRET_KEY nor one of SECRET_KEY_FALLBACKS has encrypted it.
    """
    return _build_cipher().decrypt(encrypted).decode()


def _build_cipher() -> MultiFernet:
    """Return a cipher that encrypts with the first key and tries all."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [hashlib.sha256(f"touchstone.encryption:{key}".encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
