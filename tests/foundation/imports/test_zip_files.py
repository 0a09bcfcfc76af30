"""Zip files from strangers: paths, links, passwords, sizes and bombs."""

import stat
import zipfile
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from foundation.errors import BadFile
from foundation.imports import zip_files
from foundation.imports.zip_files import is_zip, unpack


def zip_of(folder: Path, **files: bytes) -> Path:
    """A zip file; a name has __ for a slash."""
    path = folder / "pairs.zip"
    with ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return path


def refusal(path: Path, folder: Path) -> str:
    with pytest.raises(BadFile) as refused:
        unpack(path, folder / "out")
    return str(refused.value)


def test_files_come_out_with_progress(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    path = zip_of(tmp_path, items=b"1234", pictures__left=b"56")
    files = unpack(path, tmp_path / "out", on_progress=lambda done, total: steps.append((done, total)))
    assert [file.relative_to(tmp_path / "out").as_posix() for file in files] == ["items", "pictures/left"]
    assert files[1].read_bytes() == b"56"
    assert steps[-1] == (6, 6)


def test_a_zip_file_is_known_by_its_content(tmp_path: Path) -> None:
    assert is_zip(zip_of(tmp_path, items=b"1"))
    (tmp_path / "no.zip").write_bytes(b"[]")
    assert not is_zip(tmp_path / "no.zip")


@pytest.mark.parametrize("name", ["../out.txt", "a/../../out.txt", "/etc/passwd", "C:/x.txt", "..\\out.txt"])
def test_a_path_outside_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    assert "lies outside" in refusal(zip_of(tmp_path, **{name: b"x"}), tmp_path)
    assert not (tmp_path / "out").exists()


def test_hidden_files_and_those_of_macos_are_left_out(tmp_path: Path) -> None:
    path = zip_of(tmp_path, **{"__MACOSX__/._a.png": b"x", ".DS_Store": b"x", "a.png": b"x"})
    with ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/._a.png", b"x")
    assert [file.name for file in unpack(path, tmp_path / "out")] == ["a.png"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.zip"
    link = ZipInfo("left.png")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "'left.png': is a link" in refusal(path, tmp_path)


def test_a_name_too_long_is_one_sentence(tmp_path: Path) -> None:
    message = refusal(zip_of(tmp_path, **{"x" * 600 + ".png": b"x"}), tmp_path)
    assert "the name has 604 characters; at most 500 fit" in message
    assert "\n" not in message


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path, **{"a/b": b"1"})
    with ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a/b", b"2")
    assert "'a/b': the name comes twice" in refusal(path, tmp_path)


def test_a_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    path = zip_of(tmp_path, bomb=bytes(zip_files.ANY_RATIO_BYTES + 1))
    assert "more than 200 times its size" in refusal(path, tmp_path)
    assert not (tmp_path / "out").exists()


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zip_of(tmp_path, a=b"1", b=b"2")
    monkeypatch.setattr(zip_files, "MOST_FILES", 1)
    assert "holds 2 files; at most 1" in refusal(path, tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(zip_files, "MOST_BYTES", 1)
    assert "GiB unpacked" in refusal(path, tmp_path)


def test_a_false_size_unpacks_no_more_than_it_declares(tmp_path: Path) -> None:
    path = zip_of(tmp_path, items=b"x" * 1000)
    content = path.read_bytes()
    path.write_bytes(content.replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert "'items': cannot be unpacked" in refusal(path, tmp_path)
    assert (tmp_path / "out" / "items").stat().st_size <= 10


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path, items=b"1234")
    path.write_bytes(path.read_bytes()[:-8])
    assert "broken zip file" in refusal(path, tmp_path)
