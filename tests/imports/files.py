"""A valid file of each format, and ways to spoil it."""

from __future__ import annotations

import gzip
import json
import random
import re
import stat
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from annotation.formats import registry
from tests.annotation.formats.drop.test_drop import COMPARED, LONGEST, passage
from tests.annotation.formats.nlvr.test_nlvr import example as drawing
from tests.annotation.formats.records import box_item
from tests.annotation.formats.test_counterfactuals import OLDER, instance
from tests.annotation.pairs import example, lines, pairs, pictures, zipped
from tests.studyapp.questions import entries

LINES = {"jsonl", "nlvr", "nlvr2", "reasons", "outputs", "claims", "musique", "esnli", "changed"}
ODD: list[Any] = [
    None, [], {}, "", "\0", "x" * 600, "é", "5", 5, -1, 0, True, 10**400, 1e308, float("nan"), float("inf"),
    [None], [[None]], {"": None}, [[[[[[]]]]]], "\ud800", "a\nb", 2**63, [None] * 200,
]  # fmt: skip


def valid_files(folder: Path) -> dict[str, bytes]:
    """Return the content of one file of each format."""
    questions = [{"id": f"q{at}", "question": "Who?", "answers": [{"text": "Ann"}]} for at in range(3)]
    squad = {"data": [{"title": "T", "paragraphs": [{"context": "Ann sang.", "qas": questions}]}]}
    ids = ["q0", "q1", "q2"]
    predictions = {"answer": dict.fromkeys(ids, "Ann"), "sp": {key: [["Night Ferry 0", 0]] for key in ids}}
    predictions["answer_location"] = {"q0": ["Oslo", 0, 0, 4]}
    files = {
        "hotpot": json.dumps(entries(3), indent=1).encode(),
        "squad": json.dumps(squad, indent=1).encode(),
        "quoref": json.dumps(squad).encode(),
        **evidence_files(),
        "predictions": json.dumps(predictions, indent=1).encode(),
        "nlvr": lines(drawing(identifier=f"{at}-0") for at in range(3)),
        "nlvr2": lines(example(at) for at in range(3)),
        "drop": json.dumps({"p1": passage(LONGEST, COMPARED)}, indent=1).encode(),
        "reasons": lines([instance(OLDER, "comparison").model_dump(mode="json")]),
        "images": zipped(pictures(2)),
    }
    items = [box_item("a"), box_item("b")]
    for name in ("jsonl", "coco", "labelstudio", "faithful-nmn"):
        registry.write(name, items, folder / name)
    for name in ("jsonl", "coco", "labelstudio"):
        files[name] = (folder / name).read_bytes()
    files["faithful-nmn"] = zipped(
        {file.name: file.read_bytes() for file in (folder / "faithful-nmn").iterdir()}
    )
    return files


def evidence_files() -> dict[str, bytes]:
    """Return a file of each format of claims, paragraphs and rationales."""
    claim = {"claim": "Ada sang.", "label": "SUPPORTED", "context": [["Ada", ["Ada sang."]]]}
    paragraph = {"title": "Ada", "paragraph_text": "Ada sang.", "is_supporting": True}
    question = {"question": "Who?", "answer": "Ada", "paragraphs": [paragraph, paragraph]}
    pair = {"premise": "Ada sang.", "hypothesis": "She sang.", "label": "entailment"}
    named = {"claim": "Ada sang.", "label": "SUPPORTS", "evidence": [[[1, 2, "Ada", 0]], [[1, 3, "Ada", 1]]]}
    verdict = {"sentences": [0], "label": "SUPPORT"}
    changed = {"question": "Who danced?", "context": [["Ada", ["Ada sang."]]], "answer": "Ada"}
    drafted = instance(OLDER, "comparison").model_dump(mode="json")
    cited = {"claim": "Ada sang.", "cited_doc_ids": [4], "evidence": {"4": [verdict]}}
    span = {"docid": "film", "start_token": 1, "end_token": 2, "start_sentence": -1}
    judged = {"query": "Is it good?", "classification": "POS", "evidences": [[span]]}
    return {
        "claims": lines(claim | {"uid": f"c{at}"} for at in range(3)),
        "musique": lines(question | {"id": f"2hop__{at}"} for at in range(3)),
        "changed": lines(
            [drafted, *({"id": f"q{at}:1", "source_item_id": "q", **changed} for at in range(2))]
        ),
        "esnli": lines(pair | {"id": f"p{at}"} for at in range(3)),
        "fever": zipped(
            {
                "train.jsonl": lines(named | {"id": at} for at in range(3)),
                "wiki-pages/1.jsonl": lines([{"id": "Ada", "lines": "0\tAda sang.\n1\tOften.\tSong"}]),
            }
        ),
        "scifact": zipped(
            {
                "claims.jsonl": lines(cited | {"id": at} for at in range(3)),
                "corpus.jsonl": lines([{"doc_id": 4, "title": "Ada", "abstract": ["Ada sang."]}]),
            }
        ),
        "eraser-tasks": zipped(
            {
                "val.jsonl": lines(judged | {"annotation_id": f"a{at}"} for at in range(3)),
                "docs/film": b"It is good .\n",
            }
        ),
    }


def spoiled(name: str, valid: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return the name and content of an upload with one to three mistakes."""
    if valid.startswith(b"PK"):
        return f"{name}.zip", _spoiled_zip(valid, rng)
    content = valid
    for _ in range(rng.randint(1, 3)):
        content = _spoiled_json(name, content, rng) if rng.random() < 0.6 else rng.choice(BYTES)(content, rng)
    if rng.random() < 0.1:
        return f"{name}.zip", rng.choice(ARCHIVES)(f"{name}.json", content)
    if name == "nlvr2" and rng.random() < 0.3:
        return "pairs.zip", zipped({**pairs(3), "items.jsonl": content})
    return f"{name}.json", content


def _spoiled_zip(valid: bytes, rng: random.Random) -> bytes:
    files = _members(valid)
    name = rng.choice(sorted(files))
    choice = rng.random()
    if choice < 0.1:
        return rng.choice(BYTES)(valid, rng)
    if choice < 0.2:
        return rng.choice(ARCHIVES)(name, files[name])
    if choice < 0.25:
        del files[name]
    elif name.endswith((".csv", ".tsv")) and choice < 0.8:
        files[name] = _spoiled_cell(files[name], rng)
    elif name.endswith(".jsonl") and choice < 0.8:
        files[name] = _spoiled_json("jsonl", files[name], rng)
    else:
        files[name] = rng.choice(BYTES)(files[name], rng)
    return zipped(files)


def _members(content: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _spoiled_json(name: str, content: bytes, rng: random.Random) -> bytes:
    """Change, remove or repeat a value of a document, or of a line."""
    rows = content.split(b"\n") if name in LINES else [content]
    at = rng.randrange(len(rows))
    try:
        value = json.loads(rows[at])
    except (ValueError, RecursionError):
        return content  # spoiled before
    holder = [value]
    _spoil(holder, rng)
    rows[at] = json.dumps(holder[0], indent=None if name in LINES else 1).encode()
    return b"\n".join(rows)


def _spoil(holder: Any, rng: random.Random) -> None:
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    key = rng.choice(keys)
    if isinstance(holder[key], (dict, list)) and holder[key] and rng.random() < 0.85:
        _spoil(holder[key], rng)
    elif rng.random() < 0.15:
        del holder[key]
    elif rng.random() < 0.15 and isinstance(holder, list):
        holder.append(holder[key])
    elif rng.random() < 0.1 and isinstance(holder, dict):
        holder[rng.choice(["x" * 600, "", "unknown", "\0"])] = holder[key]
    else:
        holder[key] = rng.choice(ODD)
    if not holder:
        holder.append(None) if isinstance(holder, list) else holder.update(unknown=None)


def _spoiled_cell(content: bytes, rng: random.Random) -> bytes:
    """Change a cell of a table, or its quotes."""
    comma = b"," if b"," in content.split(b"\n")[0] else b"\t"
    cells = content.split(comma)
    odd = [
        b"",
        b'"',
        b'"a\nb"',
        b'a"b',
        b"x" * 600,
        b"-1",
        b"99999",
        b"null",
        b"[[]]",
        b"\0",
        b"\xe9",
        b"q1-m9-7",
    ]
    cells[rng.randrange(len(cells))] = rng.choice(odd)
    return comma.join(cells)


def _deep(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"null", b"[" * 3000 + b"]" * 3000, 1) + b"[" * rng.choice([0, 100_000])


def _repeated_key(content: bytes, rng: random.Random) -> bytes:
    keys = list(re.finditer(rb'("[^"]{1,40}"): ?', content))
    if not keys:
        return content
    match = rng.choice(keys)
    return content[: match.start()] + match[1] + b": 1, " + content[match.start() :]


def _replaced(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return (
        content[:at]
        + rng.choice([b"", b"\0", b"\xff", b"}", b",", b'"', rng.randbytes(4)])
        + content[at + 1 :]
    )


BYTES: list[Callable[[bytes, random.Random], bytes]] = [
    lambda content, rng: content[: rng.randrange(len(content) + 1)],
    lambda content, _rng: content.decode(errors="replace").encode("utf-16", errors="replace"),
    lambda content, _rng: b"\xef\xbb\xbf" + content,
    lambda content, _rng: content.replace(b"A", "\u00c9".encode("latin-1")),
    lambda content, _rng: content.replace(b"\n", b"\r\n"),
    lambda content, _rng: content.replace(b"n", b"\0", 1),
    lambda content, _rng: content * 2,
    lambda content, _rng: re.sub(rb"(?<=[ \[])(\d+)(?=[,\]\n])", rb'"\1"', content),
    lambda content, _rng: re.sub(rb"\d+", b"9" * 5000, content, count=1),
    lambda content, _rng: re.sub(rb"\d+", b"NaN", content, count=1),
    lambda _content, _rng: b"",
    _deep,
    _repeated_key,
    _replaced,
]


def _archive(*entries: tuple[str | ZipInfo, bytes]) -> bytes:
    file = BytesIO()
    with warnings.catch_warnings(), ZipFile(file, "w", ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of two files of one name
        for name, content in entries:
            archive.writestr(name, content)
    return file.getvalue()


def _link(name: str, _content: bytes) -> bytes:
    link = ZipInfo(name)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return _archive((link, b"/etc/passwd"))


def _encrypted(name: str, content: bytes) -> bytes:
    packed = bytearray(_archive((name, content)))
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(start) + flags] |= 1
    return bytes(packed)


BOMB = _archive(("bomb.json", bytes(70 << 20)))
ARCHIVES: list[Callable[[str, bytes], bytes]] = [
    lambda _name, _content: _archive(),
    lambda name, content: _archive((f"../{name}", content)),
    lambda name, content: _archive((name, content), (name, content)),
    lambda name, content: _archive((f"{'x' * 600}/{name}", content)),
    lambda name, content: _archive(("inner.zip", _archive((name, content)))),
    lambda name, content: _archive((name, content))[:-30],
    lambda name, content: _archive((name, content)),
    lambda _name, content: gzip.compress(content),
    lambda _name, content: gzip.compress(content)[:-20],
    lambda _name, _content: BOMB,
    _link,
    _encrypted,
]
