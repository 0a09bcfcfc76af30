"""Any program dies at any moment under load.

Nothing acknowledged is lost, and nothing is there twice.
"""

from __future__ import annotations

import json
import random
import sys
import time

import pytest

from scripts.sites.example import load_example, make_link
from tests.fault.test_annotation_survives_kills import STORED as ANNOTATED
from tests.fault.test_study_survives_kills import STORED as ANSWERED
from tests.fault.test_study_survives_kills import written
from tests.site import DATABASES
from tests.soak import SEED, size
from tests.soak.killing import WEB_PROCESS, Killable, Load, kill_at_random, killable_site, shell
from tests.waiting import eventually

RUNS = """
import json
from django.db.models import Count
from predictions.models import Dataset
rows = Dataset.objects.filter(name__startswith="questions-").annotate(
    answered=Count("runs__predictions"), apart=Count("runs__predictions__question", distinct=True),
)
print(json.dumps({row.name: [row.runs.first().status if row.runs.exists() else "", row.answered, row.apart]
                  for row in rows}))
"""
ITEMS = 5


def check_participants(killable: Killable, load: Load) -> None:
    stored, tally = shell(killable.site, ANSWERED), load.tally
    sent = {key.partition(".")[0].removeprefix("item-"): form for key, form in tally.answers.items()}
    assert sent.keys() == stored["answers"].keys()
    for trial, answers in stored["answers"].items():
        assert {key: written(value) for key, value in answers.items()}.items() <= sent[trial].items()
    assert stored["people"] == [["completed", ITEMS]] * tally.consents
    assert tally.completed == tally.consents


def check_annotators(killable: Killable, load: Load) -> None:
    assert [bot.error for bot in load.bots if bot.error] == []
    stored = shell(killable.site, ANNOTATED)
    acknowledged = [list(operation) for bot in load.bots for operation in bot.saved]
    assert sorted(stored["operations"]) == sorted(acknowledged)
    assert stored["wrong"] == []
    assert sorted(stored["submitted"]) == sorted(work for bot in load.bots for work in bot.submitted)


def check_runs(killable: Killable, load: Load) -> None:
    def all_done() -> bool:
        time.sleep(1)
        rows = shell(killable.site, RUNS)
        return all(rows[name][0] == "done" for name in load.datasets)

    eventually(all_done, 600.0)
    rows = shell(killable.site, RUNS)
    assert {name: rows[name] for name in load.datasets} == {name: ["done", 24, 24] for name in load.datasets}


@pytest.mark.parametrize("database", DATABASES)
def test_nothing_is_lost_or_doubled(database: str):
    with killable_site(postgres=database == "postgres") as killable:
        load_example(killable.site, items=ITEMS)
        load = Load(killable.site, make_link(killable.site), SEED)
        rng, names = random.Random(f"{SEED}/kills/{database}"), [*killable.parts, WEB_PROCESS]
        load.start()
        killed = kill_at_random(killable, rng, size(3, 0.5), names)
        load.finish()
        assert load.errors == []
        check_participants(killable, load)
        check_annotators(killable, load)
        check_runs(killable, load)
        counts = {
            "killed": killed, "consents": load.tally.consents, "answers": load.tally.items,
            "edits": sum(len(bot.saved) for bot in load.bots),
            "handed in": sum(len(bot.submitted) for bot in load.bots), "runs": len(load.datasets),
        }  # fmt: skip
        sys.stderr.write(f"{database}: {json.dumps(counts)}\n")  # for the page of figures
