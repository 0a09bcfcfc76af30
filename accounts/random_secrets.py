"""Secrets of tokens and links. The database stores their hashes alone."""

import hashlib
import secrets


def make_secret() -> str:
    """Return 192 random bits as 32 characters that fit into an address."""
    return secrets.token_urlsafe(24)


def hash_of(secret: str) -> str:
    """Return the SHA-256 of a secret; it is too random to need a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
