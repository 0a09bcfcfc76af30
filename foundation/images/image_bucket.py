"""The storage of images in a bucket, which several machines share.

Any server that speaks S3's protocol will do. Only sites that set IMAGE_BUCKET import this module.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from storages.backends.s3 import S3Storage

from foundation.errors import RunFailed

# A page waits for an image; the client's own limits are a minute and four repeats.
CLIENT = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 2, "mode": "standard"})


class BucketAway(RunFailed):
    """The bucket does not answer, or refuses the site's key."""

    status = 503


@contextmanager
def _convert_bucket_errors() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise BucketAway(f"The storage of images cannot be used now: {error}") from error


class BucketStorage(S3Storage):
    """Images in a bucket, read and written by the site alone."""

    def get_default_settings(self) -> dict[str, Any]:
        """Return the settings of all buckets of the site."""
        own = {"client_config": CLIENT, "default_acl": None, "file_overwrite": True}
        return {**super().get_default_settings(), **own}

    def _open(self, name: str, mode: str = "rb") -> File:
        with _convert_bucket_errors():
            return super()._open(name, mode)

    def _save(self, name: str, content: Any) -> str:
        with _convert_bucket_errors():
            return str(super()._save(name, content))

    def exists(self, name: str) -> bool:
        """Return True if the bucket holds the image."""
        with _convert_bucket_errors():
            return bool(super().exists(name))

    def is_available(self) -> bool:
        """Return True if the bucket answers."""
        try:
            self.exists("health")
        except BucketAway:
            return False
        return True
