"""Images in a bucket of a real server of S3's protocol on loopback."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import PIL.Image
import pytest
from django.core.files.storage import storages
from django.http import FileResponse, Http404
from django.test import Client
from moto.server import ThreadedMotoServer

from foundation.images.image_bucket import BucketAway
from foundation.images.image_files import build_image_response, has_image, read_image, store_image
from foundation.images.image_storage import get_image_folder

REGION = "eu-central-1"


@pytest.fixture
def server() -> Iterator[ThreadedMotoServer]:
    s3_server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    s3_server.start()
    yield s3_server
    s3_server.stop()


@pytest.fixture
def bucket(server: ThreadedMotoServer, settings: Any, tmp_path: Path) -> Any:
    settings.VAR_DIR, settings.USER_CONTENT_URL = tmp_path / "var", ""
    url = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"aws_access_key_id": "one", "aws_secret_access_key": "two"}
    image_bucket = boto3.resource("s3", endpoint_url=url, region_name=REGION, **keys).Bucket(
        f"images-{uuid4()}"
    )
    image_bucket.create(CreateBucketConfiguration={"LocationConstraint": REGION})
    access = {"access_key": "one", "secret_key": "two", "region_name": REGION}
    options = {"bucket_name": image_bucket.name, "location": "site", "endpoint_url": url, **access}
    backend = {"BACKEND": "foundation.images.image_bucket.BucketStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "images": backend}
    return image_bucket


def png(path: Path) -> Path:
    PIL.Image.new("RGB", (30, 20), "navy").save(path)
    return path


def test_an_image_is_stored_once_and_read(bucket: Any, tmp_path: Path):
    path = store_image(png(tmp_path / "a.png"))
    assert store_image(png(tmp_path / "b.png")) == path
    assert [summary.key for summary in bucket.objects.all()] == [f"site/{path}"]
    assert has_image(path)
    with PIL.Image.open(io.BytesIO(read_image(path))) as image:
        assert image.size == (30, 20)
    assert not get_image_folder().exists()


def test_it_is_served_as_an_image(bucket: Any, tmp_path: Path):
    response = build_image_response(store_image(png(tmp_path / "a.png")))
    assert isinstance(response, FileResponse)
    assert response.headers["Content-Type"] == "image/png"
    assert b"".join(response).startswith(b"\x89PNG")  # type: ignore[arg-type]
    response.file_to_stream.close()


def test_one_that_is_not_there(bucket: Any):
    assert not has_image("ab/none.png")
    with pytest.raises(FileNotFoundError):
        read_image("ab/none.png")
    with pytest.raises(Http404):
        build_image_response("ab/none.png")


@pytest.mark.django_db
def test_a_bucket_that_does_not_answer(bucket: Any, server: ThreadedMotoServer, tmp_path: Path):
    client = Client(raise_request_exception=False)
    assert client.get("/health/ready").json()["checks"]["storage"] == "ok"
    server.stop()
    with pytest.raises(BucketAway, match="The storage of images cannot be used now"):
        store_image(png(tmp_path / "a.png"))
    assert client.get("/health/ready").json()["checks"]["storage"] == "failed"


def test_a_foreign_key_is_refused_in_a_sentence(bucket: Any):
    bucket.delete()
    with pytest.raises(BucketAway, match="NoSuchBucket"):
        storages["images"].save("ab/x.png", io.BytesIO(b"x"))
