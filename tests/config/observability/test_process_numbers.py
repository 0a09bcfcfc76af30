"""Living processes have different numbers.

The numbers of dead ones are given out again.
"""

import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

from config.observability.process_numbers import ProcessNumber


def hold(folder: str, numbers: "multiprocessing.Queue[str]", ended: Event) -> None:
    numbers.put(ProcessNumber(Path(folder))())
    ended.wait(30)


def test_numbers_are_of_living_processes(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    numbers, ended = context.Queue(), context.Event()
    processes = [context.Process(target=hold, args=(str(tmp_path), numbers, ended)) for _ in "ab"]
    for process in processes:
        process.start()
    assert {numbers.get(timeout=30) for _ in processes} == {"0", "1"}
    process_number = ProcessNumber(tmp_path)
    assert (process_number(), process_number()) == ("2", "2")
    ended.set()
    for process in processes:
        process.join()
    assert ProcessNumber(tmp_path)() == "0"


def test_a_fork_has_another_number(tmp_path: Path):
    context = multiprocessing.get_context("fork")
    process_number, numbers = ProcessNumber(tmp_path), context.Queue()
    assert process_number() == "0"
    child = context.Process(target=lambda: numbers.put(process_number()))
    child.start()
    assert numbers.get(timeout=30) == "1"
    child.join()
    assert process_number() == "0"
