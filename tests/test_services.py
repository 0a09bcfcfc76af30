"""The services that other tests rely on are what they claim to be."""

from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from playwright.sync_api import Page

from tests.services import require

pytestmark = pytest.mark.service


def test_a_postgres_database_is_empty_and_of_its_own(postgres_url: str):
    with psycopg.connect(postgres_url) as connection:
        version = connection.execute("SHOW server_version").fetchone()
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        name = connection.execute("SELECT current_database()").fetchone()
    assert version is not None
    assert int(version[0].split(".")[0]) >= 13
    assert tables == (0,)
    assert name == (urlsplit(postgres_url).path[1:],)


def test_both_servers_of_the_redis_protocol_answer(redis_url: str, request: pytest.FixtureRequest):
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("key", "value")
        assert client.get("key") == b"value"
        is_valkey = "valkey_version" in client.info("server")
        assert is_valkey == ("valkey" in request.node.name)


def test_the_browser_runs_scripts(page: Page):
    page.set_content("<p id=text></p><script>document.querySelector('#text').textContent = 6 * 7</script>")
    assert page.text_content("#text") == "42"


def test_axe_gives_violations_and_nothing_else(page: Page, axe_script: str):
    page.set_content("<html lang=en><title>Page</title><main><h1>Heading</h1><img src=''></main></html>")
    page.evaluate(axe_script)
    result = page.evaluate("axe.run()")
    assert list(result) == ["violations"]
    assert [(rule["id"], len(rule["nodes"])) for rule in result["violations"]] == [("image-alt", 1)]


def test_a_missing_service_skips_with_its_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TOUCHSTONE_REQUIRE_SERVICES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="there is no such thing"):
        require("there is no such thing")


def test_a_missing_service_fails_where_services_are_required(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOUCHSTONE_REQUIRE_SERVICES", "1")
    with pytest.raises(pytest.fail.Exception, match="there is no such thing"):
        require("there is no such thing")
