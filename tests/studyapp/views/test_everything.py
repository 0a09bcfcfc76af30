"""A study that uses everything that a definition can hold.

It has stages, practice, attention, several conditions each, and all kinds of scales.
"""

import csv
import json
import random
from collections import Counter
from itertools import count, pairwise

import numpy as np
import pytest

from analysis.participants.bundle import load_bundle
from analysis.stats.results import TARGETS
from analysis.study.analysis import Options, analyse
from analysis.study.comparisons import compare
from foundation.simulated_people import BotError
from studyapp.actions.participants import consent
from studyapp.exports.bundle import write_bundle
from studyapp.models import Condition, Outcome, Participant, StageResponse, Trial
from studyapp.queries.bots import build_study_plan, count_stored_rows
from studyapp.queries.running.results import list_verified_versions
from studyapp.queries.studies import load_frozen_study
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.simulation.bots import Bot
from tests.studyapp import factories
from tests.studyapp.simulation.test_walk import drive

pytestmark = pytest.mark.django_db


@pytest.fixture
def everything():
    """The study, a link for bots, and its address."""
    study = factories.make_everything()
    link, token = factories.make_link_and_token(study=study, mode="bot")
    return study, link, f"http://testserver/join/{token}/"


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_works(everything):
    study, link, address = everything
    bot = Bot(0, "honest", random.Random(1))
    paths = [path.rstrip("/").rpartition("/")[2] for path in drive(bot, address, build_study_plan(study))]
    assert bot.error == ""
    positions = [str(position) for position in range(1, 2 + 12 + 1 + 1)]
    expected = ["consent", "screening", "instructions", "comprehension", "pre_survey", *positions]
    assert paths == [*expected, "survey", "done"]
    assert count_stored_rows(link) == {
        "participants": 1, "stages": 4, "items": 15, "surveys": 1, "completed": 1, "ended": 0,
    }  # fmt: skip
    participant = Participant.objects.get()
    assert (participant.outcome, participant.items_submitted) == (Outcome.DONE, 12)
    assert participant.completion_code == bot.code
    kinds = list(participant.trials.order_by("position").values_list("item__kind", flat=True))
    assert kinds == ["practice"] * 2 + ["item"] * 4 + ["attention"] + ["item"] * 8
    assert participant.trials.get(item__kind="attention").passed is True
    assert participant.stages.get(stage="comprehension").passed is True
    assert isinstance(participant.stages.get(stage="pre_survey").answers["tools"], list)
    assert list_verified_versions(study)


@pytest.mark.parametrize("kind", BEHAVIOURS)
def test_every_behaviour_walks_as_far_as_it_gets(everything, kind):
    study, link, address = everything
    bots = [Bot(number, kind, random.Random(f"{kind}/{number}")) for number in range(3)]
    for bot in bots:
        drive(bot, address, build_study_plan(study))
        assert bool(bot.code) + bot.left + bot.ended == 1
    counted = count_stored_rows(link)
    assert counted["stages"] == sum(bot.stages for bot in bots)
    assert counted["items"] == sum(bot.items for bot in bots)
    assert counted["ended"] == sum(bot.ended for bot in bots)
    if BEHAVIOURS[kind].heeds == 1:
        assert counted["ended"] == 0


def test_a_bot_fails_where_a_page_lacks_a_question(everything):
    study, _link, address = everything
    plan = build_study_plan(study)
    version = study.versions.get()
    frozen_later = load_frozen_study(version).screening[0].model_copy(update={"key": "unasked"})
    plan.stages["screening"] = [*plan.stages["screening"], frozen_later]  # type: ignore[index]
    with pytest.raises(BotError, match=r"lacks the choice '(yes|no)' of the question 'unasked'"):
        drive(Bot(0, "honest", random.Random(1)), address, plan)


class TestDesign:
    """The design is mixed.

    A group is assigned, and its conditions are seen with other items each.
    """

    def people(self, study, n):
        link = factories.make_link(study=study)
        people = [consent(link=link) for _ in range(n)]
        for person in people:
            factories.go_through_stages(person)
        return people

    def test_groups_orders_and_rotations_are_balanced(self):
        people = self.people(factories.make_everything(), 24)
        assert Counter(person.group for person in people) == {"qi2019": 12, "gold": 12}
        three = [person for person in people if person.group == "qi2019"]
        assert Counter(person.order_row for person in three) == dict.fromkeys(range(6), 2)
        assert Counter(person.rotation for person in three) == dict.fromkeys(range(3), 4)
        assert all(person.condition is None for person in people)

    def test_within_everybody_sees_every_condition_and_every_item_once(self):
        two = [{"system": "qi2019"}, {"ground_truth": True}]
        study = factories.make_everything(design="within", conditions=two)
        people = self.people(study, 8)
        counts: Counter[tuple[int, int | None]] = Counter()
        for person in people:
            trials = list(person.trials.filter(item__kind="item").order_by("position"))
            assert len({trial.item_id for trial in trials}) == 12
            conditions = [trial.condition_id for trial in trials]
            assert set(Counter(conditions).values()) == {6}
            assert sum(condition != following for condition, following in pairwise(conditions)) == 1, (
                "blocked"
            )
            counts.update((trial.item_id, trial.condition_id) for trial in trials)
        assert set(counts.values()) == {4}, "each item as often in one condition as in the other"
        assert {person.group for person in people} == {"all conditions"}

    def test_shuffled_conditions_come_mixed(self):
        two = [{"system": "qi2019"}, {"ground_truth": True}]
        study = factories.make_everything(design="within", conditions=two, condition_order="shuffled")
        changes = [
            sum(condition != following for condition, following in pairwise(row))
            for person in self.people(study, 4)
            for row in [list(person.trials.filter(item__kind="item").values_list("condition", flat=True))]
        ]
        assert max(changes) > 1  # blocks change once; by chance one shuffled order may, too

    def test_a_closed_condition_closes_its_group(self):
        study = factories.make_everything()
        Condition.objects.filter(version__study=study, name="qi2019 (tokens)").update(is_open=False)
        assert {person.group for person in self.people(study, 3)} == {"gold"}

    def test_full_where_the_last_group_closes_on_the_way(self):
        study = factories.make_everything()
        person = consent(link=factories.make_link(study=study))
        Condition.objects.filter(version__study=study).update(is_open=False)
        factories.go_through_stages(person)
        assert (person.status, person.outcome) == ("ended", Outcome.FULL)
        assert person.group == ""
        assert not person.trials.exists()


class TestExport:
    @pytest.fixture
    def bundle(self, everything, tmp_path):
        study, _link, address = everything
        for number, kind in enumerate(["honest", "honest", "straight-liner", "honest", "drop-out"]):
            drive(Bot(number, kind, random.Random(number)), address, build_study_plan(study))
        write_bundle(study, tmp_path / "out")
        return tmp_path / "out"

    def test_tables(self, bundle):
        """Trials hold items only, with their own condition.

        All other answers have tables of their own.
        """
        trials = table(bundle, "trials")
        assert len(trials) == 4 * 12
        done = [row for row in trials if row["submitted_at"]]
        assert {row["position"] for row in done} == {str(n) for n in range(1, 14) if n != 5}
        judged = {(row["condition"], row["item_id"]): row["system_correct"] for row in table(bundle, "items")}
        for row in trials:
            assert row["system_correct"] == judged[row["condition"], row["item_id"]]
        assert len({row["condition"] for row in trials}) == 5

        checks = table(bundle, "checks")
        assert Counter(row["check_kind"] for row in checks) == {"practice": 8, "attention": 4}
        for row in checks:
            assert (row["condition"] == "") == (row["check_kind"] == "attention")
        assert {row["check_passed"] for row in checks if row["check_kind"] == "practice"} == {""}
        assert "true" in {row["check_passed"] for row in checks}
        assert {row["position"] for row in checks if row["check_kind"] == "practice"} == {"1", "2"}

        stages = table(bundle, "stages")
        assert {row["stage"] for row in stages} == {"screening", "instructions", "comprehension"}
        tries = [row for row in stages if row["stage"] == "comprehension"]
        assert {row["attempt"] for row in tries} <= {"1", "2"}
        assert all(row["look_up"] in ("true", "false") for row in tries if row["submitted_at"])
        assert {row["judged"] for row in tries} <= {"answer", "style", ""}
        screening = next(row for row in stages if row["stage"] == "screening")
        assert (screening["adult"], screening["passed"], screening["look_up"]) == ("true", "true", "")

        survey = table(bundle, "pre_survey")
        assert len(survey) == 4
        for row in survey:
            assert {row[f"tools_{choice}"] for choice in ("search", "chatbot", "none")} <= {"true", "false"}
            assert row["english"] in ("native", "fluent", "well", "some", "not_said")
            assert 0 <= int(row["age"]) <= 130
        assert table(bundle, "post_survey")[0]["remarks"] == "Nothing to add."

    def test_participants_tell_group_order_and_outcome(self, bundle):
        people = table(bundle, "participants")
        assert {row["condition"] for row in people} == {""}
        out = [row for row in people if row["status"] == "ended"]
        assert [row["outcome"] for row in out] == ["failed_comprehension"]
        assert (out[0]["group"], out[0]["stage"], out[0]["assigned_at"]) == ("", "comprehension", "")
        assert {row["group"] for row in people} == {"", "qi2019", "gold"}
        flow = json.loads((bundle / "flow.json").read_text())["modes"]["bot"]
        assert flow["consented"] == 5
        assert flow["not_assigned"]["failed_comprehension"] == 1
        assert {name: arm["assigned"] for name, arm in flow["conditions"].items()} == {"qi2019": 2, "gold": 2}

        loaded = load_bundle(bundle)
        assert set(loaded.trials["condition"]) <= {arm.name for arm in loaded.version(1).conditions}
        assert "tools" not in {question.key for question in loaded.version(1).post_survey}

    def test_the_public_variant_withholds_what_people_wrote(self, everything, bundle, tmp_path):
        write_bundle(everything[0], tmp_path / "public", public=True)
        assert {row["remarks"] for row in table(tmp_path / "public", "post_survey")} == {""}
        book = json.loads((tmp_path / "public" / "codebook.json").read_text())
        remarks = next(c for c in book["tables"]["post_survey"]["columns"] if c["name"] == "remarks")
        assert remarks["public"] == "withheld"

        write_bundle(everything[0], tmp_path / "again")
        for path in bundle.iterdir():
            assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_nothing_is_stored_of_a_stage_that_was_never_shown():
    person = consent(link=factories.make_link(study=factories.make_everything()))
    page = StageResponse.objects.get(participant=person)
    assert (page.stage, page.shown_at, page.answers) == ("screening", None, None)
    assert not Trial.objects.filter(participant=person).exists()


def test_an_effect_planted_within_people_is_found_by_the_report(tmp_path, monkeypatch):
    """The report says which condition bots rate less often correct.

    The bots see both conditions.
    """
    numbers = count(1)  # participants' IDs decide what each sees: with random ones, one run in 20 would fail
    monkeypatch.setattr("secrets.token_hex", lambda nbytes: f"{next(numbers):0{2 * nbytes}x}")
    study = factories.make_study(design="within", conditions=2, items=12)
    _, token = factories.make_link_and_token(study=study, mode="bot")
    [first, second] = Condition.objects.order_by("position").values_list("name", flat=True)
    for number in range(12):
        bot = Bot(number, "random", random.Random(number))
        planted = {second: {"correctness_rating": -0.45}}
        drive(bot, f"http://testserver/join/{token}/", build_study_plan(study), planted)
        assert bot.error == ""
    write_bundle(study, tmp_path / "out")
    analysed = analyse(load_bundle(tmp_path / "out"), Options(resamples=200))
    assert (analysed.mode, analysed.allocation.design, len(analysed.people)) == ("bot", "within", 12)
    comparison = compare(
        analysed.everything.estimates, "agreement", first, second, rng=np.random.default_rng(1)
    )
    assert comparison.paired
    for target in TARGETS:
        difference = comparison.about(target)
        assert difference.interval
        assert difference.interval[0] < -0.45 < difference.interval[1] < 0
        assert difference.p
        assert difference.p < 0.01
    assert comparison.hedges_g.interval
    assert comparison.hedges_g.interval[1] < 0
    alike = compare(analysed.everything.estimates, "certainty", first, second, rng=np.random.default_rng(1))
    assert alike.items_like_these.interval
    assert alike.items_like_these.interval[0] < 0 < alike.items_like_these.interval[1]
