"""Region features of files: each form, memory, malformed files.

Reading keeps to a bound of memory, and messages name what is malformed.
"""

import io
import os
import pickle
import tracemalloc

import numpy as np
import pytest

from modelserver.modular.visual.region_files import find_name, find_regions, read_regions, stores, tables
from modelserver.modular.visual.region_files.arrays import ArrayFolder
from modelserver.wire.errors import UnreadableData
from tests.modelserver.modular.visual.region_rows import array, regions_row

BOXES = np.array([[20, 10, 60, 50], [100, 50, 200, 100]], np.float32)  # in an image of 200 by 100
SHARES = BOXES / [200, 100, 200, 100]
FEATURES = np.random.default_rng(1).random((2, 6), np.float32)
MIB = 1 << 20


def six(name="a", n=2, boxes=BOXES, features=FEATURES):
    return "\t".join([name, "200", "100", str(n), array(boxes), array(features)]) + "\n"


def four(name="a", boxes=SHARES):
    return "\t".join([name, "2", array(boxes), array(FEATURES)]) + "\n"


HEADER = "features\timage_id\timage_w\timage_h\tnum_boxes\tboxes\n"
NAMED = HEADER + "\t".join([array(FEATURES), "a", "200", "100", "2", array(BOXES)]) + "\r\n"


@pytest.mark.parametrize("text", [regions_row("a", BOXES, FEATURES), six(), four(), NAMED])
def test_each_form_of_tsv_gives_the_same_regions(tmp_path, text):
    (tmp_path / "f.tsv").write_text(text, newline="")
    regions = read_regions(tmp_path / "f.tsv")
    assert list(regions) == ["a"]
    image_regions = find_regions(regions, "images/a.png")
    assert image_regions.boxes == pytest.approx(SHARES)
    assert np.array_equal(image_regions.features, FEATURES)
    assert (find_name(regions, "b.png"), find_regions(regions, "b.png"), len(regions)) == (None, None, 1)


def test_a_tsv_far_larger_than_its_memory_bound_is_read(tmp_path):
    """LXMERT's columns are read in any order within 8 MiB.

    Each row has 36 regions of 2,048 features.
    """
    path, images = tmp_path / "large.tsv", 400
    boxes = np.tile(np.array([[0, 0, 10, 10]], np.float32), (36, 1))
    features = np.random.default_rng(1).random((36, 2048), np.float32)
    row = regions_row("NAME", boxes, features)
    with path.open("w") as file:
        for number in range(images):
            file.write(row.replace("NAME", f"dev-{number}-0-img1", 1))
    assert path.stat().st_size > 128 * MIB
    tracemalloc.start()
    try:
        regions = read_regions(path)
        for number in range(images - 1, 0, -37):
            image_regions = find_regions(regions, f"dev-{number}-0-img1.png")
            assert image_regions.features.shape == (36, 2048)
            assert np.array_equal(image_regions.features[35, :8], features[35, :8])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(regions) == images
    assert peak < 8 * MIB


@pytest.mark.parametrize(
    "text, message",
    [
        (
            regions_row("a", [[0, 0, 9, 9], [0, 0, 300, 50]], [[1], [1]]),
            "line 1: boxes: [0, 0, 300, 50] lies outside its image of 200 × 100",
        ),
        (
            four(boxes=BOXES),
            "line 1: boxes: [20, 10, 60, 50] lies outside its image; "
            "without img_w and img_h boxes are fractions of the image",
        ),
        (four(boxes=SHARES[:, [2, 1, 0, 3]]), "line 1: boxes: [0.3, 0.1, 0.1, 0.5] ends before it starts"),
        (regions_row("a", [[0, 0, np.nan, 50]], [[1]]), "line 1: boxes: a number is not finite"),
        (regions_row("a", [[0, 0, 9, 9]], [[np.inf]]), "line 1: features: a number is not finite"),
        (regions_row("a", [[0, 0, 9, 9]], [[1]], (0, 9)), "line 1: the image is 0 by 9"),
        ("a\tb\tc\n", "line 1: 3 columns separated by tabs; 4, 6 or 10 are read"),
        (six() + four("b"), "line 2: 4 columns, not 6 as in the lines before"),
        (six() + "\n" + six(), "line 3: img_id: 'a' is in line 1 already"),
        (six(name=""), "line 1: img_id: empty"),
        (six(n="two"), "line 1: num_boxes: 'two' is not a whole number"),
        (six(n=3), "line 1: boxes: 32 bytes, which are not 4 float32 for each of 3 regions"),
        (six(n=0), "line 1: boxes: 32 bytes"),
        (six()[:-4] + "\n", "line 1: features: not base64"),
        (six().replace("200", "wide"), "line 1: img_w: 'wide' is not a number"),
        ("boxes\tfeatures\n", "line 1: its columns lack img_id, num_boxes"),
        ("features\t" + NAMED, "line 1: its first line names 'features' more than once"),
        ("", "holds no image with regions"),
        (six("a", 0, [], []), "holds no image with regions"),
    ],
)  # fmt: skip
def test_a_malformed_tsv_is_rejected_by_line_and_field(tmp_path, text, message):
    (tmp_path / "f.tsv").write_text(text)
    with pytest.raises(UnreadableData) as caught:
        read_regions(tmp_path / "f.tsv")
    assert f"f.tsv{':' if message.startswith('holds') else ','} {message}" in str(caught.value)


def test_a_later_row_is_rejected_when_it_is_read(tmp_path):
    (tmp_path / "f.tsv").write_text(six("a", 0, [], []) + six("b") + six("c", features=[[1], [2]]))
    regions = read_regions(tmp_path / "f.tsv")
    assert find_regions(regions, "a").features.shape == (0, 6)
    with pytest.raises(UnreadableData, match=r"line 3: features: 1 a region; images before it have 6"):
        find_regions(regions, "c")
    (tmp_path / "f.tsv").write_text(six("other") * 2)
    with pytest.raises(UnreadableData, match=r"line 2: the file has changed"):
        find_regions(regions, "b")


def test_a_file_without_lines_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", MIB)
    (tmp_path / "f.tsv").write_bytes(b"x" * (MIB + 1))
    with pytest.raises(UnreadableData, match="line 1: longer than 1 MiB"):
        read_regions(tmp_path / "f.tsv")


def test_a_folder_of_tsvs_gives_the_regions_of_all(tmp_path):
    (tmp_path / "train.tsv").write_text(regions_row("a", BOXES, FEATURES))
    (tmp_path / "valid.tsv").write_text(six("b"))
    regions = read_regions(tmp_path)
    assert list(regions) == ["a", "b"]
    assert (len(regions), "c" in regions) == (2, False)
    assert regions["a"].boxes == pytest.approx(regions["b"].boxes)
    assert isinstance(regions, tables.TableFolder)
    assert regions.describe_source("b").endswith("valid.tsv, line 1")
    (tmp_path / "valid.tsv").write_text(six("b") + six("a"))
    with pytest.raises(UnreadableData, match=r"valid\.tsv, line 2: img_id: 'a' is in .*train\.tsv, line 1"):
        read_regions(tmp_path)


def test_a_folder_of_npz_files_gives_regions(tmp_path):
    np.savez(tmp_path / "a.npz", boxes=SHARES, features=FEATURES)
    np.savez(tmp_path / "b.npz", bbox=BOXES, x=FEATURES, image_w=200, image_h=100)
    regions = read_regions(tmp_path)
    assert set(regions) == {"a", "b"}
    for name in regions:
        assert find_regions(regions, f"some/{name}.jpg").boxes == pytest.approx(SHARES)
    np.savez(tmp_path / "b.npz", bbox=BOXES)
    with pytest.raises(UnreadableData, match=r"b\.npz: there is no features or x in it"):
        find_regions(regions, "b")
    np.savez(tmp_path / "b.npz", bbox=BOXES, x=np.array([{}], dtype=object))
    with pytest.raises(UnreadableData, match=r"b\.npz: x: Object arrays cannot be loaded"):
        find_regions(regions, "b")
    np.savez(tmp_path / "b.npz", bbox=BOXES, x=np.full(FEATURES.shape, "many"))
    with pytest.raises(UnreadableData, match=r"b\.npz: features: expected numbers, not <U4"):
        find_regions(regions, "b")
    np.savez(tmp_path / "b.npz", bbox=SHARES, x=np.full(FEATURES.shape, 1e39))
    with pytest.raises(UnreadableData, match=r"b\.npz: features: a number is not finite as float32"):
        find_regions(regions, "b")
    (tmp_path / "b.npz").write_text("boxes")
    with pytest.raises(
        UnreadableData, match=r"b\.npz: it is not a valid \.npz file; write one with numpy\.savez"
    ):
        find_regions(regions, "b")


def test_a_damaged_npz_is_rejected_by_field(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", boxes=SHARES, features=FEATURES)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    start = 30 + int.from_bytes(content[26:28], "little") + int.from_bytes(content[28:30], "little")
    content[start] = 0b111  # a block of a kind that does not exist
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(UnreadableData, match=r"a\.npz: boxes: it cannot be read: .*invalid block type"):
        read_regions(tmp_path)


def arrays(folder, **others):
    folder.mkdir(exist_ok=True)
    columns = {"features": np.stack([FEATURES, FEATURES + 1]), "boxes": np.stack([BOXES, BOXES])} | others
    for name, numbers in columns.items():
        np.save(folder / f"{name}.npy", numbers)
    (folder / "names.txt").write_text("a\nb\n")
    return folder


def test_npy_arrays_of_all_images_are_mapped(tmp_path):
    folder = arrays(tmp_path / "all", sizes=[[200, 100]] * 2, num_boxes=[2, 1])
    for path in (folder, folder / "features.npy"):
        regions = read_regions(path)
        assert find_regions(regions, "a.png").boxes == pytest.approx(SHARES)
        assert np.array_equal(regions["b"].features, FEATURES[:1] + 1)
    assert isinstance(ArrayFolder(folder).arrays["features"], np.memmap)


@pytest.mark.parametrize(
    "others, message",
    [
        ({"boxes": BOXES}, r"boxes: shape \(2, 4\), for 2 names"),
        ({"num_boxes": [2, 3], "sizes": [[200, 100]] * 2}, r"'b' \(row 1\): num_boxes: 3, but"),
        ({"num_boxes": [np.inf, 1]}, r"'a' \(row 0\): num_boxes: inf, but"),
        ({"sizes": [[200, 100, 3]] * 2}, r"sizes: shape \(2, 3\)"),
        ({}, r"'a' \(row 0\): boxes: .* outside its image; without sizes\.npy boxes are fractions"),
        ({"sizes": [["a", "b"]] * 2}, "sizes: holds <U1, not numbers"),
    ],
)
def test_malformed_arrays_are_rejected_by_field(tmp_path, others, message):
    with pytest.raises(UnreadableData, match=message):
        read_regions(arrays(tmp_path / "all", **others))["b"]


def test_names_that_do_not_fit_the_arrays_are_rejected(tmp_path):
    folder = arrays(tmp_path / "all")
    (folder / "names.txt").write_text("a\na\n")
    with pytest.raises(UnreadableData, match="names: 'a' is in it twice"):
        read_regions(folder)
    whole = (folder / "boxes.npy").read_bytes()
    (folder / "names.txt").write_text("a\nb\n")
    for content, message in (
        (whole[:-8], "it was cut off"),
        (b"boxes", r"it is not a valid \.npy file"),
        (whole[:10] + b"'''" + whole[13:], "it cannot be read: EOF in multi-line string"),
    ):
        (folder / "boxes.npy").write_bytes(content)
        with pytest.raises(UnreadableData, match=rf"boxes\.npy: .*{message}"):
            read_regions(folder)
    (folder / "names.txt").unlink()
    with pytest.raises(UnreadableData, match=r"names\.txt: there is no such file"):
        read_regions(folder)


def test_h5_files_of_both_forms_give_regions(tmp_path):
    h5py = pytest.importorskip("h5py", reason="reads no .h5 file without h5py")
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        file["a/features"], file["a/boxes"] = FEATURES, BOXES
        file["a/img_w"], file["a/img_h"] = 200, 100
        file["b/features"] = FEATURES
        file["c/features"], file["c/boxes/x"] = FEATURES, BOXES
        file["image_features"] = FEATURES
    regions = read_regions(tmp_path / "groups.h5")
    assert find_regions(regions, "a.png").boxes == pytest.approx(SHARES)
    assert find_name(regions, "/") is None
    with pytest.raises(UnreadableData, match=r"groups\.h5, image 'b': there is no boxes in it"):
        find_regions(regions, "b")
    with pytest.raises(UnreadableData, match=r"image 'c': boxes: expected an array, not a group"):
        find_regions(regions, "c")
    with pytest.raises(UnreadableData, match=r"image 'image_features': it is an array, not a group"):
        find_regions(regions, "image_features")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["features"], file["boxes"], file["names"] = FEATURES[None], SHARES[None], ["a"]
    assert np.array_equal(read_regions(tmp_path / "rows.h5")["a"].features, FEATURES)
    (tmp_path / "none.h5").write_text("text")
    with pytest.raises(UnreadableData, match=r"none\.h5: "):
        read_regions(tmp_path / "none.h5")


def test_an_lmdb_gives_regions_and_runs_no_pickle(tmp_path):
    lmdb = pytest.importorskip("lmdb", reason="reads no LMDB without lmdb")
    archive = io.BytesIO()
    np.savez(archive, boxes=SHARES, features=FEATURES)
    with lmdb.open(str(tmp_path / "store"), map_size=MIB) as store, store.begin(write=True) as writing:
        writing.put(b"a", archive.getvalue())
        writing.put(b"b", pickle.dumps({}))
    regions = read_regions(tmp_path / "store")
    assert len(regions) == 2
    assert np.array_equal(find_regions(regions, "a.png").features, FEATURES)
    assert find_regions(regions, "x" * 1000) is None
    with pytest.raises(
        UnreadableData, match=r"image 'b': it is not a valid \.npz file, but a pickle, which can run"
    ):
        find_regions(regions, "b")


@pytest.mark.parametrize(
    "share, message", [(0.5, r"it is cut off: \d+ bytes of \d+"), (0.001, "MDB_INVALID")]
)
def test_a_cut_off_lmdb_is_rejected_before_it_is_read(tmp_path, share, message):
    lmdb = pytest.importorskip("lmdb", reason="reads no LMDB without lmdb")
    with lmdb.open(str(tmp_path / "store"), map_size=MIB) as store, store.begin(write=True) as writing:
        for number in range(20):
            writing.put(str(number).encode(), b"x" * 9000)
    data = tmp_path / "store" / "data.mdb"
    os.truncate(data, int(share * data.stat().st_size))
    with pytest.raises(UnreadableData, match=rf"store: {message}"):
        read_regions(tmp_path / "store")


@pytest.mark.parametrize("name, library", [("f.h5", "h5py"), ("f.lmdb", "lmdb")])
def test_a_missing_library_is_named(tmp_path, monkeypatch, name, library):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(stores.importlib, "import_module", missing)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UnreadableData, match=f"needs the library {library}; run `pip install {library}`"):
        read_regions(tmp_path / name)


def test_other_files_are_rejected_with_the_forms(tmp_path):
    (tmp_path / "f.pkl").write_bytes(b"")
    with pytest.raises(
        UnreadableData, match=r"f\.pkl: not a form of region features that is read; name a .tsv"
    ):
        read_regions(tmp_path / "f.pkl")
    with pytest.raises(UnreadableData, match="there is no such file or folder"):
        read_regions(tmp_path / "nothing")
    with pytest.raises(UnreadableData, match="holds no image with regions"):
        read_regions(tmp_path)
