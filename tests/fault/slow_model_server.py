"""Fake systems that take their time, and wait at a given item.

A test can therefore end programs in mid-run.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from modelserver.serving.fake_modular_system import FakeModularSystem
from modelserver.serving.fake_server import FakeSystem
from modelserver.serving.http import Service
from modelserver.serving.lifecycle import bind, run
from modelserver.serving.logs import log_to_stderr
from modelserver.wire.schema import (
    Execution,
    Explanation,
    ModuleItem,
    QAItem,
    QAPrediction,
    SaliencyOptions,
    SaliencyScore,
)


class Pace:
    """The pace of work: seconds per item, and perhaps a last item for now.

    While the file ``stop`` is there, no more items are begun than the number in it; each new text in it
    starts the count again.
    """

    def __init__(self, seconds: float, stop: Path) -> None:
        self.seconds, self.stop = seconds, stop
        self._text, self._begun = "", 0

    def work(self, items: int) -> None:
        """Take the time of some items, and wait as long as they may not be begun."""
        while not self._may_begin():
            time.sleep(0.01)
        self._begun += items
        time.sleep(self.seconds * items)

    def _may_begin(self) -> bool:
        try:
            text = self.stop.read_text(encoding="utf-8")
        except FileNotFoundError:
            return True
        if text != self._text:
            self._text, self._begun = text, 0
        return self._begun < int(text.split()[0])


class SlowSystem(FakeSystem):
    """The fake system at a pace.

    Its saliency is on the question's first letter.
    """

    def __init__(self, pace: Pace) -> None:
        super().__init__("slow")
        self.pace = pace

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        self.pace.work(len(items))
        return super().predict(items)

    def explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        self.pace.work(len(items))
        score = SaliencyScore(article=None, title=None, index=None, start=0, end=1, score=1.0)
        return [
            Explanation(
                id=item.id,
                revision=self.revision,
                options=options,
                scores=[score],
                first=0,
                last=0,
                value=1.0,
            )
            for item in items
        ]


class SlowModularSystem(FakeModularSystem):
    """The fake modular network at a pace."""

    def __init__(self, pace: Pace) -> None:
        super().__init__("slow-modular")
        self.pace = pace

    def execute(self, items: Sequence[ModuleItem]) -> list[Execution]:
        self.pace.work(len(items))
        return super().execute(items)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--stop", type=Path, required=True)
    options = parser.parse_args()
    pace = Pace(options.seconds, options.stop)
    log_to_stderr("info")
    service = Service({"slow": lambda: SlowSystem(pace), "slow-modular": lambda: SlowModularSystem(pace)})
    return run(service, bind("127.0.0.1", options.port), drain_seconds=5.0)


if __name__ == "__main__":
    sys.exit(main())
