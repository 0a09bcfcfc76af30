"""Tests of create_study, launch_study and study_link.

The tests call them as a researcher does.
"""

import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry, Role, User
from predictions.models import Prediction
from studyapp.actions.shares import share_study
from studyapp.link_tokens import find_link
from studyapp.models import EntryLink, Event, Study
from tests.paths import DATA
from tests.studyapp import factories
from tests.studyapp.factories import ACCEPT


def run(*arguments):
    """Call a command and return what it printed, and what it warned of."""
    out, err = StringIO(), StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def write(tmp_path):
    """A function that writes a definition over made data.

    The keyword texts take the place of the lines they name.
    """

    def write(**lines):
        dataset = factories.make_dataset(name="world")
        factories.make_run(dataset=dataset, system="qi2019")
        fields = {
            "study": "small",
            "title": "A small study",
            "dataset": "world",
            "conditions": "[{system: qi2019}, {ground_truth: true}]",
            "items": "{count: 3, seed: 7}",
            "consent": "You take part.",
            **lines,
        }
        path = tmp_path / "study.yaml"
        path.write_text("".join(f"{key}: {value}\n" for key, value in fields.items()), encoding="utf-8")
        return path

    return write


@pytest.mark.django_db
def test_it_works(write):
    path = write()
    printed, _ = run("create_study", path)
    study = Study.objects.get(slug="small")
    assert "condition qi2019: qi2019, revision r1" in printed
    assert "condition ground truth: gold answers and facts" in printed
    drawn = re.search(r"3 items of world, drawn with seed 7: (.+)", printed)
    assert drawn is not None
    printed, _ = run("launch_study", "small", *ACCEPT)
    version = study.versions.get()
    assert f"small is open: version 1, hash {version.hash}" in printed
    assert "2 conditions, 3 items" in printed
    assert drawn[1].split() == list(version.items.order_by("position").values_list("external_id", flat=True))
    printed, warned = run("study_link", "small", "--label", "mail")
    address = re.fullmatch(r"http://127\.0\.0\.1:8000/join/([\w-]+)/\n", printed)
    assert address is not None
    link = find_link(address[1])
    assert link is not None
    assert (link.study, link.label, link.mode, link.single_use) == (study, "mail", "live", False)
    assert warned == ""


@pytest.mark.django_db
def test_a_single_use_link_with_a_quota_is_refused(write):
    run("create_study", write())
    with pytest.raises(CommandError, match="a single-use link admits one participant"):
        run("study_link", "small", "--single-use", "--quota", "2")


@pytest.mark.django_db
class TestCreate:
    def test_twice_is_fine(self, write):
        path = write()
        assert run("create_study", path) == run("create_study", path)
        assert Study.objects.count() == 1
        assert Event.objects.filter(kind="study_created").count() == 1

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            ({"dataset": "moon"}, ":3: dataset: there is no dataset 'moon'; there are: world"),
            (
                {"conditions": "\n  - system: qi2019\n  - system: bert"},
                ":6: conditions[2].system: unknown system 'bert'; known systems: qi2019",
            ),
            (
                {"items": "{count: 7}"},
                ":5: items.count: 7 questions requested, but every condition can show only 6 of",
            ),
            (
                {"items": "\n  ids:\n    - q1\n    - q7"},
                ":8: items.ids[2]: world has no question with the id 'q7'",
            ),
            ({"questionnaire": "xqa"}, ":7: questionnaire: unknown template 'xqa'"),
            ({"items": "[1, 2"}, ":6: is not valid YAML"),
            (
                {"exclusions": "[{name: bad, kind: item, item_id: q9}]"},
                ":7: exclusions[1].item_id: rule 'bad': 'q9' is not an item of this study",
            ),
        ],
    )
    def test_an_error_names_file_line_and_field_and_stores_nothing(self, write, lines, expected):
        path = write(**lines)
        with pytest.raises(CommandError) as caught:
            run("create_study", path)
        assert str(caught.value).startswith(f"{path}{expected}")
        assert caught.value.returncode == 1
        assert not Study.objects.exists()
        assert not Event.objects.exists()

    def test_too_few_by_default(self, write):
        path = write()
        path.write_text(path.read_text("utf-8").replace("items: {count: 3, seed: 7}\n", ""), "utf-8")
        with pytest.raises(CommandError, match=r"yaml:1: items\.count: 25 questions requested"):
            run("create_study", path)

    def test_no_file(self, tmp_path):
        with pytest.raises(CommandError, match="there is no such file"):
            run("create_study", tmp_path / "none.yaml")

    def test_missing_explanations_are_told(self, write):
        path = write()
        Prediction.objects.update(facts=[])
        assert "qi2019, revision r1 (3 of 3 items without an explanation)" in run("create_study", path)[0]


@pytest.mark.django_db
class TestLaunch:
    def test_unknown_study(self, write):
        run("create_study", write())
        with pytest.raises(CommandError, match="unknown study 'other'; known studies: small") as caught:
            run("launch_study", "other", *ACCEPT)
        assert caught.value.returncode == 1

    def test_predictions_gone_since(self, write):
        run("create_study", write())
        Prediction.objects.all().delete()
        with pytest.raises(CommandError, match="3 questions requested, but every condition can show only 0"):
            run("launch_study", "small", *ACCEPT)
        assert Study.objects.get().status == "draft"

    def test_json(self, write):
        run("create_study", write())
        row = json.loads(run("launch_study", "small", "--json", *ACCEPT)[0])
        version = Study.objects.get().versions.get()
        assert row == {"slug": "small", "number": 1, "hash": version.hash, "conditions": 2, "items": 3}

    def test_twice_keeps_the_version(self, write):
        run("create_study", write())
        assert run("launch_study", "small", *ACCEPT) == run("launch_study", "small", *ACCEPT)


@pytest.mark.django_db
class TestLink:
    def test_many(self, write):
        run("create_study", write())
        run("launch_study", "small", *ACCEPT)
        printed, _ = run("study_link", "small", "--single-use", "--mode", "pilot", "--count", "3")
        assert len(set(printed.split())) == 3
        links = EntryLink.objects.all()
        assert {(link.mode, link.single_use) for link in links} == {("pilot", True)}
        assert len(links) == 3

    def test_as_json(self, write):
        run("create_study", write())
        printed, _ = run("study_link", "small", "--label", "mail", "--quota", "5", "--count", "2", "--json")
        links = json.loads(printed)
        assert len({link.pop("address") for link in links}) == 2
        ids = [link.pop("id") for link in links]
        assert sorted(ids) == sorted(str(link.pk) for link in EntryLink.objects.all())
        assert links == [{"label": "mail", "mode": "live", "single_use": False, "quota": 5}] * 2

    def test_before_the_launch_it_warns(self, write):
        run("create_study", write())
        printed, warned = run("study_link", "small")
        assert printed.startswith("http")
        assert "small is draft" in warned

    @pytest.mark.parametrize("wrong", [["--mode", "preview"], ["--count", "0"], ["--label", "x" * 101], []])
    def test_usage(self, wrong):
        with pytest.raises(CommandError):
            call_command("study_link", *(["small", *wrong] if wrong else []))
        assert not EntryLink.objects.exists()


@pytest.mark.django_db
class TestAs:
    """Commands with the rights of a user."""

    @pytest.fixture
    def study(self):
        return factories.make_study(launched=False, items=2)

    @pytest.mark.parametrize("is_shared", [False, True])
    def test_a_user_with_the_right_acts(self, study, is_shared):
        user = factories.make_user(None if is_shared else Role.RESEARCHER)
        if is_shared:
            share_study(study=study, user=user, role=Role.RESEARCHER, by=None)
        run("launch_study", study.slug, *ACCEPT, "--as", user.username)
        assert Event.objects.get(kind="study_launched").actor == user
        run("study_link", study.slug, "--as", user.username)
        assert EntryLink.objects.get().created_by == user

    @pytest.mark.parametrize("role", [Role.ANALYST, Role.VIEWER, Role.ANNOTATOR])
    def test_a_role_without_the_right_is_refused(self, study, role):
        user = factories.make_user(role)
        for command in ("launch_study", "study_link"):
            with pytest.raises(
                CommandError, match=f"With the role {role.label} you may not create"
            ) as caught:
                run(command, study.slug, "--as", user.username)
            assert caught.value.returncode == 1
        self.nothing_was_done(study)

    def test_no_user_makes_bots_without_the_right_or_ends_retention(self, study):
        factories.launch(study)
        user = factories.make_user(Role.ANALYST)
        with pytest.raises(CommandError, match="With the role Analyst you may not create"):
            run("simulate_participants", study.slug, "-n", "1", "--as", user.username)
        assert not EntryLink.objects.exists()
        owner = factories.make_user()
        with pytest.raises(CommandError, match="every study of the site"):
            run("apply_retention", "--as", owner.username)

    def test_a_user_of_another_workspace_is_refused(self, study):
        other = factories.make_user(workspace=factories.make_workspace())
        superuser = User.objects.create_superuser("root")
        for user in (other, superuser):
            for command in ("launch_study", "study_link"):
                with pytest.raises(CommandError, match="You have no role here"):
                    run(command, study.slug, "--as", user.username)
        self.nothing_was_done(study)

    def test_an_unknown_or_inactive_user_is_refused(self, study):
        gone = factories.make_user()
        User.objects.filter(pk=gone.pk).update(is_active=False)
        for name in ("nobody", gone.username):
            for command in ("launch_study", "study_link"):
                with pytest.raises(CommandError, match=f"there is no active user '{name}'"):
                    run(command, study.slug, "--as", name)
        self.nothing_was_done(study)

    def nothing_was_done(self, study):
        study.refresh_from_db()
        assert study.status == "draft"
        assert not study.versions.exists()
        assert not EntryLink.objects.exists()

    def test_exports_and_external_ids_leave_an_entry(self, study, tmp_path):
        factories.launch(study)
        user = factories.make_user()
        run("export_results", study.slug, "--out", tmp_path / "out", "--public", "--as", user.username)
        run("external_ids", study.slug)
        assert [(row.kind, row.actor, row.data) for row in AuditEntry.objects.order_by("pk")] == [
            ("export_downloaded", user, {"kind": "public"}),
            ("personal_data_read", None, {"page": "external_ids"}),
        ]


@pytest.mark.django_db
def test_real_predictions(tmp_path):
    if not DATA.is_dir():
        pytest.skip("The real data are not on this machine; TOUCHSTONE_DATA names their folder.")
    run("import_dataset", "hotpot", DATA / "hotpot" / "hotpot_sample.json", "--name", "hotpot")
    for system in ("srlgrn", "hp_model_9"):
        path = DATA / "hotpot" / "predictions" / f"{system}.json"
        run("import_predictions", path, "--dataset", "hotpot", "--system", system)
    path = tmp_path / "real.yaml"
    path.write_text(
        "study: real\ntitle: Real systems\ndataset: hotpot\n"
        "conditions: [{system: srlgrn}, {system: hp_model_9}, {ground_truth: true}]\n"
        "items: {count: 25, seed: 2020}\nconsent: You take part.\n",
        encoding="utf-8",
    )
    run("create_study", path)
    printed, _ = run("launch_study", "real", *ACCEPT)
    assert "3 conditions, 25 items" in printed
    version = Study.objects.get().versions.get()
    gold = version.conditions.get(name="ground truth")
    assert gold.stimuli.filter(system_correct=True).count() == 25
    for name in ("srlgrn", "hp_model_9"):
        stimuli = version.conditions.get(name=name).stimuli
        right = stimuli.filter(system_correct=True).count()
        assert 5 <= right < 25, "a real reader is right often and not always"
        assert stimuli.filter(answer_f1__gt=0).count() >= right
    assert len(version.items.values("external_id").distinct()) == 25
