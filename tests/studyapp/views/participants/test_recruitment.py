"""Participants who come from a platform: entering and coming twice.

The tests cover the ways back, and links with quotas.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from studyapp.actions.pages import show_stage, submit_stage
from studyapp.actions.participants import end
from studyapp.actions.recruitment import enter
from studyapp.definition.participation.recruitment import Arrival, Recruitment
from studyapp.link_tokens import read_participant, sign_participant
from studyapp.models import EntryLink, Event, ExternalIds, Outcome, Participant
from studyapp.policies import Full, NotArrived
from studyapp.queries.bots import build_study_plan
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories
from tests.studyapp.platform_standin import prolific, query

CODES = {
    "done": {"code": "CDONE"},
    "no_consent": {"code": "CNO"},
    "screened_out": {"code": "COUT"},
    "failed_comprehension": {"code": "CCHECK"},
    "full": {"code": "CFULL"},
}
PROLIFIC = {"platform": "prolific", "outcomes": CODES}
SIGNED = {**PROLIFIC, "signed_urls": True}


def came(study, client, person="p1", **ids):
    """Come by a new link of the study, consent, and give the participant."""
    token = factories.make_link_and_token(study=study)[1]
    client.get(f"/join/{token}/{query(person, **ids)}")
    client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
    return Participant.objects.get(external_ids__person_id=person)


def address(code):
    return f"https://app.prolific.com/submissions/complete?cc={code}"


@pytest.mark.django_db
class TestEntering:
    def test_it_works(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        token = factories.make_link_and_token(study=study)[1]
        response = client.get(f"/join/{token}/{query('p1', study='S9', session='sub9')}")
        assert response.headers["Location"] == f"/study/{study.slug}/consent/"
        assert not Participant.objects.exists()
        client.post(response.headers["Location"], {"consent": "yes"})
        ids = ExternalIds.objects.get()
        assert (ids.person_id, ids.study_id_there, ids.session_id) == ("p1", "S9", "sub9")
        assert (ids.platform, ids.mode, ids.study) == ("prolific", "live", study)

    def test_ids_stand_nowhere_else(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        participant = came(study, client, "5f1secret", session="sub-secret")
        rows = str(Participant.objects.filter(pk=participant.pk).values()) + str(Event.objects.values())
        assert "secret" not in rows

    def test_a_study_without_a_platform_keeps_no_ids(self, client):
        study = factories.make_study()
        token = factories.make_link_and_token(study=study)[1]
        client.get(f"/join/{token}/{query('p1')}")
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert Participant.objects.count() == 1
        assert not ExternalIds.objects.exists()

    @pytest.mark.parametrize(
        ("recruitment", "sent", "status", "sentence"),
        [
            (PROLIFIC, "", 400, "lacks PROLIFIC_PID"),
            (PROLIFIC, "?PROLIFIC_PID={{%25PROLIFIC_PID%25}}", 400, "tell the researchers"),
            (PROLIFIC, "?PROLIFIC_PID=%3Cb%3E", 400, "is not a valid ID"),
            (
                {"platform": "mturk"},
                "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3H",
                200,
                "after you accept the task",
            ),
        ],
    )
    def test_who_comes_without_an_id_creates_nothing(self, client, recruitment, sent, status, sentence):
        study = factories.make_study(recruitment=recruitment)
        token = factories.make_link_and_token(study=study)[1]
        response = client.get(f"/join/{token}/{sent}")
        assert response.status_code == status
        assert sentence in response.content.decode()
        assert not client.cookies
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert not Participant.objects.exists()

    def test_who_is_sent_away_is_told_in_their_language(self, client):
        token = factories.make_link_and_token(study=factories.make_study(recruitment=PROLIFIC))[1]
        page = client.get(f"/join/{token}/", headers={"Accept-Language": "de"}).content.decode()
        assert "In der Adresse fehlt PROLIFIC_PID" in page

    def test_the_cookie_of_ids_cannot_be_forged_or_moved(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        token, other_token = (factories.make_link_and_token(study=study)[1] for _ in "12")
        client.get(f"/join/{token}/{query('p1')}")
        stolen = client.cookies["arrival"].value
        fresh = Client()
        fresh.get(f"/join/{other_token}/{query('p2')}")
        for cookie in (stolen, stolen[:-2], "x"):
            fresh.cookies["arrival"] = cookie
            fresh.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert not ExternalIds.objects.exists()
        assert not Participant.objects.exists()

    @pytest.mark.parametrize("method", ["get", "post"])
    def test_nobody_consents_without_the_cookie_of_ids(self, client, method):
        study = factories.make_study(recruitment=PROLIFIC)
        token = factories.make_link_and_token(study=study)[1]
        client.get(f"/join/{token}/{query('p1')}")
        del client.cookies["arrival"]
        response = getattr(client, method)(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert response.status_code == 400
        assert "lacks PROLIFIC_PID" in response.content.decode()
        assert not Participant.objects.exists()

    def test_a_platform_that_need_not_tell_who_comes(self, client):
        study = factories.make_study(recruitment={"platform": "generic"})
        token = factories.make_link_and_token(study=study)[1]
        client.get(f"/join/{token}/")
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert Participant.objects.count() == 1

    def test_entering_needs_the_ids_too(self):
        link = factories.make_link(study=factories.make_study(recruitment=PROLIFIC))
        with pytest.raises(NotArrived, match="lacks PROLIFIC_PID"):
            enter(link=link)


@pytest.mark.django_db
class TestComingTwice:
    def test_the_same_id_resumes(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        participant = came(study, client)
        factories.answer_item(participant)
        other_device, token = Client(), factories.make_link_and_token(study=study)[1]
        response = other_device.get(f"/join/{token}/{query('p1')}", follow=True)
        assert response.request["PATH_INFO"] == f"/study/{study.slug}/item/2/"
        assert Participant.objects.count() == 1

    def test_two_consent_pages_of_one_person_make_one(self):
        study = factories.make_study(recruitment=PROLIFIC)
        first, second = Client(), Client()
        token = factories.make_link_and_token(study=study)[1]
        for tab in (first, second):
            tab.get(f"/join/{token}/{query('p1')}")
        for tab in (first, second):
            tab.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert Participant.objects.count() == ExternalIds.objects.count() == 1
        # Cookies are signed with the second of their making.
        values = [read_participant(tab.cookies["participant"].value) for tab in (first, second)]
        assert values[0] == values[1]

    def test_a_pilot_is_apart(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        came(study, client)
        token = factories.make_link_and_token(study=study, mode="pilot")[1]
        other = Client()
        other.get(f"/join/{token}/{query('p1')}")
        other.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert sorted(ExternalIds.objects.values_list("mode", flat=True)) == ["live", "pilot"]

    @pytest.mark.parametrize("ended", [False, True])
    def test_another_id_in_the_same_browser_is_another_person(self, client, ended):
        study = factories.make_study(recruitment=PROLIFIC)
        first = came(study, client)
        if ended:
            end(participant=first, outcome=Outcome.SCREENED_OUT)
        token = factories.make_link_and_token(study=study)[1]
        page = client.get(f"/join/{token}/{query('p2')}", follow=True)
        assert page.request["PATH_INFO"] == f"/study/{study.slug}/consent/"
        assert first.withdrawal_code not in page.content.decode()
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert sorted(ExternalIds.objects.values_list("person_id", flat=True)) == ["p1", "p2"]
        back = client.get(f"/join/{token}/{query('p1')}", follow=True)
        assert "/consent/" not in back.request["PATH_INFO"]
        assert client.get(f"/study/{study.slug}/consent/").status_code == 302
        assert Participant.objects.count() == 2

    @pytest.mark.parametrize("modes", [("pilot", "live"), ("live", "pilot")])
    def test_a_pilot_and_a_live_participant_in_the_same_browser(self, client, modes):
        study = factories.make_study()
        for mode in modes:
            token = factories.make_link_and_token(study=study, mode=mode)[1]
            for _number in range(2):  # the second time is the same participant again
                client.get(f"/join/{token}/", follow=True)
                client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert sorted(Participant.objects.values_list("mode", flat=True)) == sorted(modes)

    def test_another_link_for_one_person_is_for_another_person(self, client):
        study = factories.make_study()
        for single_use in (True, True, False):
            token = factories.make_link_and_token(study=study, single_use=single_use)[1]
            client.get(f"/join/{token}/", follow=True)
            client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        assert Participant.objects.count() == 2

    def test_a_new_submission_takes_a_returned_place_again(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        participant = came(study, client)
        Participant.objects.update(returned_at=timezone.now())
        token = factories.make_link_and_token(study=study)[1]
        client.head(f"/join/{token}/{query('p1', session='sub2')}")
        client.get(f"/join/{token}/{query('p1', session='sub2')}", headers={"Sec-Purpose": "prefetch"})
        participant.refresh_from_db()
        assert participant.returned_at is not None
        client.get(f"/join/{token}/{query('p1', session='sub2')}")
        participant.refresh_from_db()
        assert participant.returned_at is None
        assert ExternalIds.objects.get().session_id == "sub2"
        assert Event.objects.filter(kind="came_back", participant=participant).count() == 1

    def test_a_further_submission_after_the_end_leaves_the_one_to_approve(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        came(study, client)
        done = {"completed_at": timezone.now(), "completion_code": "C", "outcome": "done"}
        Participant.objects.update(status=Participant.Status.COMPLETED, **done)
        token = factories.make_link_and_token(study=study)[1]
        client.get(f"/join/{token}/{query('p1', study='S2', session='sub2')}")
        assert ExternalIds.objects.get().session_id != "sub2"
        assert not Event.objects.filter(kind="came_back").exists()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_one_person_in_many_tabs_at_once_is_one_participant():
    link = factories.make_link(study=factories.make_study(recruitment=PROLIFIC))
    barrier, participant_ids = Barrier(8), []

    def consent():
        barrier.wait()
        try:
            arrival = Arrival("prolific", "p1", "S1", "sub1")
            participant_ids.append(enter(link=EntryLink.objects.get(pk=link.pk), arrival=arrival).pk)
        finally:
            connection.close()

    tabs = [Thread(target=consent) for _ in range(8)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(participant_ids) == 8
    assert len(set(participant_ids)) == Participant.objects.count() == ExternalIds.objects.count() == 1


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_coming_back_while_another_tab_sends_its_page():
    """Both tabs lock the version and then the person.

    The tab that comes back does so, and so must the other, whose person is about to be assigned.
    """
    link = factories.make_link(study=factories.make_everything(recruitment=PROLIFIC))
    people = [enter(link=link, arrival=Arrival("prolific", f"p{n}", "S1", "sub1")) for n in range(20)]
    answers = build_study_plan(link.study).heeded["screening"]
    pages = [find_current_page(person).stage for person in people]
    for page in pages:
        show_stage(page=page)
    barrier = Barrier(40)

    def run(number):
        barrier.wait()
        try:
            if number % 2:
                sent = {"answers": answers, "changes": {}, "timing": PageTiming(9_000)}
                return submit_stage(page=pages[number // 2], **sent)
            fresh = EntryLink.objects.get(pk=link.pk)
            return enter(link=fresh, arrival=Arrival("prolific", f"p{number // 2}", "S1", "sub2")).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(40) as threads:
        outcomes = list(threads.map(run, range(40)))
    assert all(outcomes[1::2])
    assert outcomes[::2] == [person.pk for person in people]
    assert ExternalIds.objects.filter(session_id="sub2").count() == 20


@pytest.mark.django_db
class TestWaysBack:
    def test_done(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        participant = came(study, client)
        while participant.trials.filter(answers__isnull=True).exists():
            factories.answer_item(participant)
        factories.answer_survey(participant)
        pages = [client.get(f"/study/{study.slug}/done/").content.decode() for _ in "12"]
        assert pages[0] == pages[1]
        assert '<p class="code">CDONE</p>' in pages[0]
        assert f'href="{address("CDONE")}"' in pages[0]

    @pytest.mark.parametrize(
        ("outcome", "code"),
        [("screened_out", "COUT"), ("failed_comprehension", "CCHECK"), ("full", "CFULL")],
    )
    def test_those_who_are_sent_away(self, client, outcome, code):
        study = factories.make_study(recruitment=PROLIFIC)
        end(participant=came(study, client), outcome=Outcome(outcome))
        page = client.get(f"/study/{study.slug}/done/").content.decode()
        assert f'<p class="code">{code}</p>' in page
        assert f'href="{address(code)}"' in page
        assert "CDONE" not in page
        assert "Your answers are saved" not in page

    def test_no_consent(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        token = factories.make_link_and_token(study=study)[1]
        client.get(f"/join/{token}/{query('p1')}")
        page = client.post(f"/study/{study.slug}/consent/", {"consent": "no"}, follow=True).content.decode()
        assert f'href="{address("CNO")}"' in page
        assert not Participant.objects.exists()

    def test_full(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        link, token = factories.make_link_and_token(study=study, quota=1)
        factories.make_participant(link=link)
        client.get(f"/join/{token}/{query('p1')}")
        response = client.get(f"/study/{study.slug}/consent/")
        assert response.status_code == 410
        assert f'href="{address("CFULL")}"' in response.content.decode()

    def test_a_link_may_have_a_platform_of_its_own(self, client):
        study = factories.make_study(recruitment=PROLIFIC)
        recruitment = Recruitment.model_validate(
            {"platform": "sona", "outcomes": {"done": {"url": "https://s.example/?c={participant}"}}}
        )
        token = factories.make_link_and_token(study=study, recruitment=recruitment)[1]
        client.get(f"/join/{token}/?survey_code=77")
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        participant = Participant.objects.get()
        while participant.trials.filter(answers__isnull=True).exists():
            factories.answer_item(participant)
        factories.answer_survey(participant)
        participant.refresh_from_db()
        page = client.get(f"/study/{study.slug}/done/").content.decode()
        assert 'href="https://s.example/?c=77"' in page
        assert f'<p class="code">{participant.completion_code}</p>' in page

    def test_the_redirect_of_a_study_without_a_platform_stays(self, client):
        study = factories.make_study(completion={"redirect_url": "https://p.example/{code}"})
        participant = factories.make_participant(study=study, completed=True)
        client.cookies["participant"] = sign_participant(participant)
        page = client.get(f"/study/{study.slug}/done/").content.decode()
        assert f'href="https://p.example/{participant.completion_code}"' in page


@pytest.mark.django_db
class TestQuota:
    def test_it_works(self):
        link = factories.make_link(quota=2)
        for _ in "12":
            enter(link=link)
        with pytest.raises(Full, match="This link has reached its number"):
            enter(link=link)
        assert Participant.objects.count() == 2

    def test_the_same_page_sent_twice_needs_one_place(self):
        link = factories.make_link(quota=1)
        assert enter(link=link, public_id="a" * 20) == enter(link=link, public_id="a" * 20)

    @pytest.mark.parametrize("change", ["stale", "returned", "screened_out"])
    def test_who_gave_the_place_up_is_not_counted(self, change):
        link = factories.make_link(quota=1)
        participant = enter(link=link)
        if change == "stale":
            Participant.objects.update(last_seen_at=timezone.now() - timedelta(minutes=61))
        elif change == "returned":
            Participant.objects.update(returned_at=timezone.now())
        else:
            end(participant=participant, outcome=Outcome.SCREENED_OUT)
        assert enter(link=link) != participant

    def test_links_have_quotas_of_their_own(self):
        study = factories.make_study()
        full, open_ = (factories.make_link(study=study, quota=1) for _ in "12")
        enter(link=full)
        assert enter(link=open_)


@pytest.mark.django_db
class TestSignedAddresses:
    @pytest.fixture
    def platform(self, settings):
        with prolific() as platform:
            settings.PROLIFIC_JWKS_URL = platform.jwks_url
            settings.SITE_URL = "http://127.0.0.1:8000"
            yield platform

    def join(self, client, sent):
        study = factories.make_study(recruitment=SIGNED)
        token = factories.make_link_and_token(study=study)[1]
        return client.get(f"/join/{token}/{sent}")

    def test_it_works(self, client, platform):
        response = self.join(client, query("p1", prolific_token=platform.token("p1")))
        assert response.status_code == 302
        client.post(response.headers["Location"], {"consent": "yes"})
        assert ExternalIds.objects.get().person_id == "p1"

    def test_the_signed_ids_are_enough_and_keys_are_fetched_once(self, client, platform):
        for person in ("p1", "p2", "p3"):
            assert self.join(client, f"?prolific_token={platform.token(person)}").status_code == 302
        assert platform.fetched == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"exp": 1_700_000_000},
            {"exp": None},
            {"iss": "https://other.example"},
            {"aud": "https://other.example/join/x/"},
            {"aud": None},
            {"prolific": {"PROLIFIC_PID": "p1"}},
            {"prolific": "p1"},
            {"kid": "k2"},
        ],
        ids=str,
    )
    def test_a_token_that_does_not_hold(self, client, platform, changes):
        response = self.join(client, query("p1", prolific_token=platform.token("p1", **changes)))
        assert response.status_code == 400
        assert not client.cookies

    def test_another_key_another_person_no_token(self, client, platform):
        with prolific() as stranger:
            forged = platform.token("p1", key=stranger.key)
        unsigned = ".".join(platform.token("p1").split(".")[:2]) + "."
        for sent in (
            query("p1", prolific_token=forged),
            query("p2", prolific_token=platform.token("p1")),
            query("p1", prolific_token=unsigned),
            query("p1", prolific_token="nonsense"),
            query("p1"),
        ):
            assert self.join(client, sent).status_code == 400

    def test_no_unsigned_parameter_names_the_person(self, client, platform):
        study = factories.make_study(recruitment=SIGNED | {"parameter": "pid"})
        token = factories.make_link_and_token(study=study)[1]
        sent = f"{query('p1', prolific_token=platform.token('p1'))}&pid=p2"
        client.post(client.get(f"/join/{token}/{sent}").headers["Location"], {"consent": "yes"})
        assert ExternalIds.objects.get().person_id == "p1"

    def test_keys_that_cannot_be_had_are_no_refusal(self, client, platform, settings):
        settings.PROLIFIC_JWKS_URL = "http://127.0.0.1:9/jwks.json"
        response = self.join(client, query("p1", prolific_token=platform.token("p1")))
        assert response.status_code == 503
        assert "try again in a minute" in response.content.decode()
