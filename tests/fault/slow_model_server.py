"""Fake systems that pause for each item, so that a test can end programs in mid-run."""

import argparse
import sys
import time
from collections.abc import Sequence

from modelserver.fake import FakeSystem
from modelserver.fake_modular import FakeModularSystem
from modelserver.logs import log_to_stderr
from modelserver.schema import (
    Execution,
    Explanation,
    ModuleItem,
    QAItem,
    QAPrediction,
    SaliencyOptions,
    SaliencyScore,
)
from modelserver.server import Service
from modelserver.serving import bind, run


class SlowSystem(FakeSystem):
    """The fake system, ``seconds`` slower for each item; its saliency is on the question's first letter."""

    def __init__(self, seconds: float) -> None:
        super().__init__("slow")
        self.seconds = seconds

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        time.sleep(self.seconds * len(items))
        return super().predict(items)

    def explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        time.sleep(self.seconds * len(items))
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
    """The fake modular network, ``seconds`` slower for each item."""

    def __init__(self, seconds: float) -> None:
        super().__init__("slow-modular")
        self.seconds = seconds

    def execute(self, items: Sequence[ModuleItem]) -> list[Execution]:
        time.sleep(self.seconds * len(items))
        return super().execute(items)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    log_to_stderr("info")
    service = Service(
        {
            "slow": lambda: SlowSystem(options.seconds),
            "slow-modular": lambda: SlowModularSystem(options.seconds),
        }
    )
    return run(service, bind("127.0.0.1", options.port), drain_seconds=5.0)


if __name__ == "__main__":
    sys.exit(main())
