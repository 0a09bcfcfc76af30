"""The fake model server with a pause per item, so that a test can end programs in mid-run."""

import argparse
import sys
import time
from collections.abc import Sequence

from modelserver.fake import FakeSystem
from modelserver.schema import QAItem, QAPrediction
from modelserver.server import Service
from modelserver.serving import bind, log_to_stderr, run


class SlowSystem(FakeSystem):
    """The fake system, ``seconds`` slower for each item."""

    def __init__(self, seconds: float) -> None:
        super().__init__("slow")
        self.seconds = seconds

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        time.sleep(self.seconds * len(items))
        return super().predict(items)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    log_to_stderr("info")
    service = Service({"slow": lambda: SlowSystem(options.seconds)})
    return run(service, bind("127.0.0.1", options.port), drain_seconds=5.0)


if __name__ == "__main__":
    sys.exit(main())
