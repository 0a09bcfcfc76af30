"""A log file that several processes write is rotated.

It keeps its newest lines, and loses none of them.
"""

import logging
import multiprocessing
from pathlib import Path

from config.observability.log_files import SharedRotatingFile

LINES = 400


def write(path: str, name: str, lines: int) -> None:
    handler = SharedRotatingFile(path, 1000, 100)
    for number in range(lines):
        handler.emit(logging.LogRecord(name, 20, "x", 1, f"{name} {number}", (), None))
    handler.close()


def test_processes_share_a_file_and_lose_no_line(tmp_path: Path):
    path = tmp_path / "log" / "site.log"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(str(path), name, LINES)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    files = list(path.parent.glob("site.log*"))
    assert len(files) > 2
    assert all(file.stat().st_size <= 1000 for file in files)
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{name} {number}" for name in "abc" for number in range(LINES))


def test_only_so_many_files_are_kept(tmp_path: Path):
    path = tmp_path / "site.log"
    handler = SharedRotatingFile(str(path), 100, 2)
    for number in range(200):
        handler.emit(logging.LogRecord("a", 20, "x", 1, f"line {number}", (), None))
    handler.close()
    assert sorted(file.name for file in tmp_path.glob("site*")) == ["site.log", "site.log.1", "site.log.2"]
    assert path.read_text().splitlines()[-1] == "line 199"
