"""Malformed files of every format end with findings and store nothing.

The findings have file and line.
"""

from pathlib import Path
from typing import Any

import pytest

from foundation.images import image_storage
from tests.imports.malformed import check_imports
from tests.soak import SEED, size

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_malformed_files(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"
    monkeypatch.setattr(image_storage, "get_image_folder", lambda: tmp_path / "images")
    (tmp_path / "valid").mkdir()
    count = size(150, 0.1)
    wrong, ends = check_imports(count, int(SEED), tmp_path / "valid")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:20])
    # Neither is everything refused, nor does most of it pass.
    assert 0.02 * count < ends["stored"] < 0.4 * count
