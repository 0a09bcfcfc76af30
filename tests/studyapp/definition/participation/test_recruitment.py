"""Tests of the table of platforms: ids in, ways back out. No database."""

import pytest
from pydantic import ValidationError

from studyapp.definition.participation.recruitment import (
    OUTCOMES,
    PLATFORMS,
    Arrival,
    BadArrival,
    Recruitment,
    WayBack,
    read_arrival,
)
from studyapp.models import Outcome

SONA = "https://school.sona-systems.com/webstudy_credit.aspx?experiment_id=1&credit_token=ab&survey_code="


def recruitment(platform: str, **options) -> Recruitment:
    outcomes = options.pop("outcomes", {"done": {"code": "C1"}})
    return Recruitment.model_validate({"platform": platform, "outcomes": outcomes, **options})


def test_the_outcomes_are_those_that_are_stored():
    assert set(OUTCOMES) == set(Outcome.values)


class TestArrival:
    @pytest.mark.parametrize(
        ("platform", "sent", "expected"),
        [
            (
                "prolific",
                {"PROLIFIC_PID": "5f1", "STUDY_ID": "s2", "SESSION_ID": "x3", "utm": "1"},
                Arrival("prolific", "5f1", "s2", "x3"),
            ),
            ("prolific", {"PROLIFIC_PID": "5f1"}, Arrival("prolific", "5f1")),
            (
                "connect",
                {"participantId": "A1", "assignmentId": "B2", "projectId": "C3"},
                Arrival("connect", "A1", "C3", "B2"),
            ),
            ("sona", {"survey_code": "10293"}, Arrival("sona", "10293")),
            (
                "mturk",
                {"workerId": "A2W", "assignmentId": "3XX", "hitId": "3H"},
                Arrival("mturk", "A2W", "3H", "3XX"),
            ),
            ("generic", {"participant": "a@b.example"}, Arrival("generic", "a@b.example")),
            ("generic", {}, None),
        ],
    )
    def test_it_works(self, platform, sent, expected):
        assert read_arrival(recruitment(platform), sent) == expected

    def test_the_parameter_can_have_another_name(self):
        sona = recruitment("sona", parameter="id")
        assert read_arrival(sona, {"id": "7"}) == Arrival("sona", "7")

    @pytest.mark.parametrize(
        ("platform", "sent", "why"),
        [
            ("prolific", {}, "missing"),
            ("prolific", {"PROLIFIC_PID": " "}, "missing"),
            ("prolific", {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "unfilled"),
            ("prolific", {"PROLIFIC_PID": "p", "SESSION_ID": "{{%SESSION_ID%}}"}, "unfilled"),
            ("sona", {"survey_code": "%SURVEY_CODE%"}, "unfilled"),
            ("sona", {"survey_code": "XXXX"}, "unfilled"),
            ("prolific", {"PROLIFIC_PID": "<script>"}, "malformed"),
            ("prolific", {"PROLIFIC_PID": "x" * 101}, "malformed"),
            (
                "mturk",
                {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "3H"},
                "preview",
            ),
        ],
    )
    def test_malformed(self, platform, sent, why):
        with pytest.raises(BadArrival) as caught:
            read_arrival(recruitment(platform), sent)
        assert caught.value.why == why


class TestWayBack:
    ARRIVAL = Arrival("prolific", "pid", "st", "se")

    @pytest.mark.parametrize("outcome", OUTCOMES)
    def test_prolific_has_one_code_per_outcome(self, outcome):
        codes = {name: {"code": f"C{number}"} for number, name in enumerate(OUTCOMES)}
        code = codes[outcome]["code"]
        back = recruitment("prolific", outcomes=codes).way_back(outcome, self.ARRIVAL)
        assert back == WayBack(code, f"https://app.prolific.com/submissions/complete?cc={code}", "prolific")

    def test_an_outcome_without_a_code_leads_nowhere(self):
        assert recruitment("prolific").way_back("full", self.ARRIVAL) == WayBack(platform="prolific")

    def test_sona_gets_the_code_of_the_person(self):
        sona = recruitment("sona", outcomes={"done": {"url": SONA + "{participant}"}})
        back = sona.way_back("done", Arrival("sona", "10293"), "OWN")
        assert back == WayBack("OWN", SONA + "10293", "sona")

    def test_mturk_shows_the_participants_own_code(self):
        back = recruitment("mturk", outcomes={}).way_back("done", self.ARRIVAL, "OWN")
        assert (back.code, back.url, back.platform_label) == ("OWN", "", "Amazon Mechanical Turk")

    def test_ids_are_quoted(self):
        generic = recruitment("generic", outcomes={"done": {"url": "https://p.example/?u={participant}"}})
        back = generic.way_back("done", Arrival("generic", "a@b.example"), "OWN")
        assert back.url == "https://p.example/?u=a%40b.example"

    def test_an_address_that_needs_an_unknown_id_is_left_out(self):
        generic = recruitment("generic", outcomes={"done": {"url": "https://p.example/?u={session}"}})
        for arrival in (Arrival("generic", "a"), None):
            back = generic.way_back("done", arrival, "OWN")
            assert (back.code, back.url, back.platform_label) == ("OWN", "", "")


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ({"platform": "crowd"}, "prolific"),
        ({"platform": "prolific"}, "Prolific needs a code or a url for done"),
        ({"platform": "sona", "signed_urls": True}, "only Prolific signs"),
        ({"platform": "generic", "outcomes": {"late": {"code": "C"}}}, "done"),
        ({"platform": "generic", "outcomes": {"full": {"code": "C 1"}}}, "pattern"),
        ({"platform": "generic", "outcomes": {"full": {"url": "http://p.example"}}}, "https://"),
        ({"platform": "generic", "outcomes": {"full": {"url": "https://{study}.example"}}}, "host name"),
        (
            {"platform": "generic", "outcomes": {"full": {"url": "https://p.example/{name}"}}},
            "allowed placeholders",
        ),
        ({"platform": "generic", "outcomes": {"full": {"url": "https://p.example/{code}"}}}, "but no code"),
    ],
)
def test_a_wrong_definition_says_what_is_wrong(written, sentence):
    with pytest.raises(ValidationError, match=sentence):
        Recruitment.model_validate(written)


def test_every_platform_has_a_how_to(settings):
    page = (settings.BASE_DIR / "docs" / "how-to" / "recruit.md").read_text(encoding="utf-8")
    for name, platform in PLATFORMS.items():
        assert f"platform: {name}" in page
        for parameter in (platform.person, platform.study, platform.session):
            assert parameter in page, parameter
