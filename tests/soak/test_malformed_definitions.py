"""A malformed study definition gives a definition or a sentence.

It never gives another error.
"""

from __future__ import annotations

from pathlib import Path

from foundation.errors import TouchstoneError
from studyapp.definition.definition_file import load_definition
from tests.paths import EXAMPLES
from tests.soak import malformed, rng_of, size


def test_study_definitions(tmp_path: Path):
    text = (EXAMPLES / "everything.yaml").read_bytes()
    path, wrong = tmp_path / "study.yaml", []
    for number in range(size(100, 0.02)):
        path.write_bytes(malformed.cut(text, rng_of("definitions", number)))
        try:
            load_definition(path)
        except TouchstoneError:
            continue
        except Exception as error:
            wrong.append(f"{number}: {error!r}"[:300])
    assert not wrong, "\n".join(wrong[:20])
