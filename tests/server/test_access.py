"""Who needs a token may do what it allows and nothing else, whatever it tries; and no longer than it allows it."""

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from hansard.batch import Batch, build
from hansard.batch.numbering import NO_SERIES
from hansard.bookmark import Bookmark
from hansard.server.founding import FOUNDING, Founding
from hansard.server.grant import NOT_ALLOWED
from hansard.server.start import Plan, Process
from hansard.wire import request as wire
from hansard.wire import submission
from tests.cluster.visitor import Visitor

from .guarded import Guarded, is_refused
from .trio import free_addresses, run

LONG_US = 25_000_000
QUESTIONS: dict[str, dict[str, Any]] = {
    "status": {},
    "buckets": {},
    "order": {"id": "x", "wish": {"type": "guard", "open": True}},
    "follow": {"id": "founding"},
    "leave": {"node": "a"},
    "mark": {"down": True},
    "scrub": {},
    "holds": {},
    "hold": {"name": "h", "lasts_s": 60, "offsets": {"0": 0}},
    "let go": {"name": "h"},
    "tokens": {},
    "grant": {"name": "me", "scopes": ["admin"]},
    "revoke": {"name": "admin"},
}
"""All but the table, which tells where to go and nothing of what is there."""


def change(*tags: str, connection: int = 0, first_series: int = 0, previous_series: int = NO_SERIES) -> Batch:
    stream = {"connection": connection, "first_series": first_series, "previous_series": previous_series}
    return build(["k"], ["v"], tags=[list(tags)], **cast(Any, stream))


def tags_of(page: Any) -> list[list[str]]:
    assert isinstance(page, wire.Page), page
    return [list(change.tags) for batch in page.batches for change in batch.changes()]


async def two_tenants(guarded: Guarded) -> tuple[str, str]:
    acme = await guarded.grant("acme", "read", "submit", tags=["tenant:acme"])
    other = await guarded.grant("other", "read", "submit", tags=["tenant:other"], prefixes=["other:"])
    async with await guarded.dial(acme) as one, await guarded.dial(other) as two:
        for _ in range(3):
            assert isinstance(await one.submit(0, change("tenant:acme"), 1), submission.Stored)
            assert isinstance(await two.submit(0, change("tenant:other", "other:eu"), 1), submission.Stored)
    return acme, other


# Without a token, and with one for something else.


@pytest.mark.parametrize("token", ["", "hsd_", "hsd_" + "0" * 55, "Bearer x", "hsd_é", "x" * 3000])
def test_nobody_does_anything_without_a_token_that_there_is(tmp_path: Path, token: str) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded, await guarded.dial(token) as stranger:
            assert is_refused(await stranger.submit(0, change("x"), 1))
            assert is_refused(await stranger.read(0, 0)) and is_refused(await stranger.read(0, 0, linear=True))
            assert is_refused(await stranger.ask_number()) and is_refused(await stranger.ask_number("name"))
            for ask, more in (QUESTIONS | {"table": {}, "nonsense": {}}).items():
                assert is_refused(await stranger.exchange({"ask": ask, **more})), ask

    run(test())


def test_a_token_with_another_secret_is_none(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            other = await guarded.grant("other", "read")
            forged = guarded.admin[:16] + other[16:]
            for text in (forged, guarded.admin[:-1], guarded.admin + "A", guarded.admin.swapcase()):
                async with await guarded.dial(text) as forger:
                    assert is_refused(await forger.exchange({"ask": "status"})), text

    run(test())


def test_each_scope_is_for_itself(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            for scope in ("submit", "read", "admin"):
                async with await guarded.dial(await guarded.grant(scope, scope)) as visitor:
                    stored = await visitor.submit(0, change("x"), 1)
                    assert isinstance(stored, submission.Stored) if scope == "submit" else is_refused(stored)
                    assert is_refused(await visitor.read(0, 0)) is (scope != "read")
                    assert is_refused(await visitor.ask_number("n")) is (scope != "submit")
                    assert is_refused(await visitor.exchange({"ask": "tokens"})) is (scope != "admin")
                    assert is_refused(await visitor.exchange({"ask": "holds"})) is (scope == "submit")
                    assert (await visitor.ask(ask="table"))["buckets"]
                    imported = await visitor.bring(0, change("x"), 1)
                    assert (imported.reason == NOT_ALLOWED) is (scope != "admin")

    run(test())


# One tenant and the other.


def test_a_tenant_reads_what_carries_its_tags_and_nothing_else(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            acme, other = await two_tenants(guarded)
            async with await guarded.dial(acme) as one, await guarded.dial(other) as two:
                assert tags_of(await one.read(0, 0)) == [["tenant:acme"]] * 3
                assert tags_of(await one.read(0, 0, linear=True)) == [["tenant:acme"]] * 3
                assert tags_of(await one.read(0, 0, tags=(b"tenant:acme",))) == [["tenant:acme"]] * 3
                assert tags_of(await one.read(0, 0, tags=(b"tenant:acme", b"tenant:other"), every=True)) == []
                for tags in ((b"tenant:other",), (b"tenant:acme", b"tenant:other"), (b"nothing",), (b"",)):
                    assert is_refused(await one.read(0, 0, tags=tags)), tags
                assert is_refused(await one.read(0, 0, tags=(b"tenant:other",), every=True))
                assert is_refused(await two.read(0, 0)), "it has a prefix, and says which tags it wants"
                assert len(tags_of(await two.read(0, 0, tags=(b"other:eu",)))) == 3
                assert is_refused(await two.read(0, 0, tags=(b"other:eu", b"tenant:acme")))
            async with await guarded.dial(acme) as one:
                page = await one.read(0, 0)
                whole = b"".join([batch.decompressed().to_bytes() for batch in page.batches])
                assert b"tenant:acme" in whole and b"other" not in whole, "nor is anything left in what it is sent"

    run(test())


def test_a_tenant_submits_what_carries_its_tags_and_nobody_elses(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            acme, _ = await two_tenants(guarded)
            async with await guarded.dial(acme) as one, await guarded.dial(guarded.admin) as admin:
                before = len(tags_of(await admin.read(0, 0)))
                tries = [
                    change(),
                    change("tenant:other"),
                    change("tenant:acme", "tenant:other"),
                    change("tenant:acme", "public"),
                    change("tenant:acme2"),
                    build(["k", "l"], ["v", "v"], tags=[["tenant:acme"], []]),
                    build(["k", "l"], ["v", "v"], tags=[["tenant:acme"], ["other:eu"]]).compressed(),
                ]
                for batch in tries:
                    assert is_refused(await one.submit(0, batch, 1)), list(batch.changes())
                assert len(tags_of(await admin.read(0, 0, linear=True))) == before

    run(test())


def test_a_tenant_asks_and_holds_nothing_but_the_table(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            acme, _ = await two_tenants(guarded)
            somebodys = str(Bookmark("a-log", {0: 1}))
            await guarded.ask(ask="hold", name="theirs", lasts_s=60, bookmark=somebodys)
            before = await guarded.ask(ask="holds"), await guarded.ask(ask="tokens")
            async with await guarded.dial(acme) as one:
                for ask, more in QUESTIONS.items():
                    assert is_refused(await one.exchange({"ask": ask, **more})), ask
                for place in (somebodys, "rubbish", str(Bookmark("another", {0: 1}))):
                    hold = {"ask": "hold", "name": "theirs", "lasts_s": 60, "bookmark": place}
                    assert is_refused(await one.exchange(hold)), "and it is not told what is wrong with it"
                assert is_refused(await one.exchange({"ask": "let go", "name": "theirs"}))
                assert "committed" not in str(await one.ask(ask="table"))
            assert before == (await guarded.ask(ask="holds"), await guarded.ask(ask="tokens"))

    run(test())


def test_a_tenant_cannot_go_on_with_anothers_stream(tmp_path: Path) -> None:
    """Whoever could would make the other's next changes look as if they were there already."""

    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            acme, other = await two_tenants(guarded)
            async with await guarded.dial(acme) as one, await guarded.dial(other) as thief:
                sink, nameless = await one.connect("sink"), await one.connect()
                assert sink == await one.connect("sink") != nameless
                for stolen in (await thief.ask_number("sink"), await thief.ask_number("acme/sink", broken=sink)):
                    assert stolen.connection not in (0, sink, nameless)
                own = await thief.connect()
                for number in (sink, nameless, 1):
                    theirs = change("tenant:other", connection=number, first_series=1000)
                    assert isinstance(await thief.submit(0, theirs, 1), submission.Broken)
                    onward = change("tenant:other", connection=own, first_series=1)
                    goes_on = submission.Continues(number, 0)
                    assert isinstance(await thief.submit(0, onward, 1, continues=goes_on), submission.Broken)
                assert isinstance(await thief.submit(0, change("tenant:other", connection=1 << 40), 1), submission.Busy)
                for series in (1, 2):
                    mine = change("tenant:acme", connection=sink, first_series=series, previous_series=series - 2)
                    assert isinstance(await one.submit(0, mine, 1), submission.Stored)
                assert isinstance(
                    await thief.submit(0, change("tenant:other", connection=own, first_series=1), 1), submission.Stored
                )
                assert await one.connect("sink") == sink

    run(test())


# No longer than it is allowed.


def test_who_waits_for_something_is_told_when_its_token_is_revoked(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            token = await guarded.grant("acme", "read", "submit", tags=["tenant:acme"])
            async with await guarded.dial(token) as waiting, await guarded.dial(token) as one:
                assert isinstance(await one.submit(0, change("tenant:acme"), 1), submission.Stored)
                end = (await one.read(0, 0)).end
                reading = asyncio.create_task(waiting.read(0, end, LONG_US))
                await guarded.until(lambda status: status["waiting_reads"] == 1)
                assert await guarded.ask(ask="revoke", name="acme") == {"name": "acme"}
                assert is_refused(await reading)
                assert is_refused(await one.submit(0, change("tenant:acme"), 1))
                assert is_refused(await one.read(0, 0)) and is_refused(await one.exchange({"ask": "table"}))
            again = await guarded.grant("acme", "read", tags=["tenant:acme"])
            async with await guarded.dial(again) as new, await guarded.dial(token) as old:
                assert tags_of(await new.read(0, 0)) == [["tenant:acme"]]
                assert is_refused(await old.read(0, 0)), "the same name, and another secret"

    run(test())


def test_a_token_that_expires_takes_live_connections_with_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            token = await guarded.grant("brief", "read", expires_s=1.5)
            (told,) = [each for each in (await guarded.ask(ask="tokens"))["tokens"] if each["name"] == "brief"]
            assert told["expires_us"] > told["granted_us"]
            async with await guarded.dial(token) as reader, await guarded.dial(guarded.admin) as admin:
                assert isinstance(await admin.submit(0, change("x"), 1), submission.Stored)
                page = await reader.read(0, 0, linear=True)
                assert tags_of(page) == [["x"]]
                waiting = asyncio.create_task(reader.read(0, page.end, LONG_US))
                async with await guarded.dial(token) as other:
                    while not is_refused(await other.read(0, 0)):  # noqa: ASYNC110 (time has to pass)
                        await asyncio.sleep(0.02)
                assert isinstance(await admin.submit(0, change("x"), 1), submission.Stored)
                assert is_refused(await waiting), "what came after it was over is not for it"
            assert "brief" not in str(await guarded.ask(ask="tokens"))

    run(test())


def test_a_cluster_is_opened_and_closed_while_somebody_waits(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            assert (await guarded.ask(ask="status"))["open"] is False
            async with await guarded.dial() as stranger, await guarded.dial(guarded.admin) as admin:
                assert is_refused(await stranger.read(0, 0))
                await admin.ask(ask="order", id="o", wish={"type": "guard", "open": True})
                assert (await stranger.ask(ask="status"))["open"] is True
                assert isinstance(await stranger.submit(0, change("x"), 1), submission.Stored)
                end = (await stranger.read(0, 0)).end
                waiting = asyncio.create_task(stranger.read(0, end, LONG_US))
                await guarded.until(lambda status: status["waiting_reads"] == 1)
                await admin.ask(ask="order", id="c", wish={"type": "guard", "open": False})
                assert is_refused(await waiting) and is_refused(await stranger.submit(0, change("x"), 1))

    run(test())


def test_who_is_faster_than_its_rates_is_held_up(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            slow = await guarded.grant("slow", "submit", "read", rates={"changes_per_s": 5})
            large = await guarded.grant("large", "submit", rates={"bytes_per_s": 1000})
            async with await guarded.dial(slow) as one, await guarded.dial(slow) as two:
                many = build([f"{n}" for n in range(500)], ["v"] * 500)
                assert isinstance(await one.submit(0, many, 1), submission.Stored)
                assert isinstance(await two.submit(0, change("x"), 1), submission.Busy), "the token counts, not who"
                assert isinstance(await two.read(0, 0), submission.Busy)
            async with await guarded.dial(large) as one, await guarded.dial(guarded.admin) as admin:
                assert isinstance(await one.submit(0, build(["k"], [bytes(100_000)]), 1), submission.Stored)
                assert isinstance(await one.submit(0, change("x"), 1), submission.Busy)
                assert isinstance(await admin.submit(0, change("x"), 1), submission.Stored)

    run(test())


def test_a_founder_that_died_before_it_said_the_first_token_says_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = Founding._order

    async def test() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Founding, "_order", lambda self, id, wish: id == FOUNDING or order(self, id, wish))
            interrupted = Guarded(tmp_path)
            task = asyncio.create_task(interrupted._process.serve())
            while interrupted._process.access is None or not interrupted.tokens.granted:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            (unsaid,) = interrupted.tokens.granted.values()
            interrupted._process._ended(None)
            await task
        async with Guarded(tmp_path) as guarded:
            assert (await guarded.ask(ask="status"))["open"] is False
            assert guarded.tokens.find(unsaid.id) is None and list(guarded.tokens.granted) == ["admin"]

    run(test())


# What is told, and what is not.


def test_tokens_are_granted_listed_and_refused_with_a_reason(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            await guarded.grant("acme", "read", tags=["tenant:acme"], prefixes=["a:"], rates={"bytes_per_s": 9})
            (admin, acme) = sorted((await guarded.ask(ask="tokens"))["tokens"], key=lambda each: each["name"] == "acme")
            assert admin["name"] == "admin" and admin["scopes"] == ["submit", "read", "admin"]
            assert (acme["tags"], acme["prefixes"], acme["scopes"]) == (["tenant:acme"], ["a:"], ["read"])
            assert acme["rates"] == {"changes_per_s": 0, "bytes_per_s": 9} and acme["expires_us"] is None
            async with await guarded.dial(guarded.admin) as operator:
                for more, reason in (
                    ({"name": "a/b", "scopes": ["read"]}, "the name of a token"),
                    ({"name": "x", "scopes": []}, "one or more of"),
                    ({"name": "x", "scopes": ["root"]}, "this is no question"),
                    ({"name": "x", "scopes": ["admin"], "tags": ["t"]}, "not limited to tags"),
                    ({"name": "x", "scopes": ["read"], "expires_s": 0}, "expires after a time"),
                    ({"name": "x", "scopes": ["read"], "tags": ["y" * 250] * 40}, ""),
                    ({"name": "x", "scopes": ["read"], "tags": [f"{n:0250}" for n in range(40)]}, "too many tags"),
                ):
                    answer = await operator.exchange({"ask": "grant", **more})
                    assert isinstance(answer, wire.Refused) is bool(reason) and reason in getattr(answer, "reason", "")
                assert "last token for admin" in (await operator.exchange({"ask": "revoke", "name": "admin"})).reason
                assert "no token" in (await operator.exchange({"ask": "revoke", "name": "nobody"})).reason
                wish = {"type": "grant token", "name": "x", "id": "0" * 12, "digest": "", "allows": [["admin"]]}
                crafted = await operator.exchange({"ask": "order", "id": "y", "wish": wish | {"wall_us": 1 << 60}})
                assert "this is no question" in crafted.reason, "no operator says a token's digest, or the time"

    run(test())


def test_nothing_secret_is_logged_stored_or_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            token, admin = await guarded.grant("acme", "read"), guarded.admin
            async with await guarded.dial(token) as visitor:
                refused = await visitor.exchange({"ask": "status"})
            async with await guarded.dial(token[:-1]) as forger:
                refused_too = await forger.read(0, 0)
            told = [await guarded.ask(ask=ask) for ask in ("status", "table", "tokens", "buckets", "holds")]
            told.append(await guarded.ask(ask="follow", id="founding"))
            key = guarded.access.key
            assert len(key) == 32
            said = f"{told}{refused}{refused_too}{caplog.text}"
            for secret in (token[16:], admin[16:], key.hex(), str(key)[2:-1]):
                assert secret not in said
            assert guarded.out.getvalue().count("hsd_") == 1 == guarded.out.getvalue().count(admin)

    run(test())


def test_secrets_are_on_nobodys_disk(tmp_path: Path) -> None:
    texts: list[str] = []

    async def test() -> None:
        async with Guarded(tmp_path) as guarded:
            texts.extend([guarded.admin, await guarded.grant("acme", "read")])

    run(test())
    contents = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(text[4:16].encode() in content for text in texts for content in contents), "its id is"
    assert not any(text[16:].encode() in content for text in texts for content in contents)


def test_as_long_as_nobody_knows_who_may_come_in_everybody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins a cluster that is not there: it may be open or not."""

    async def test() -> None:
        monkeypatch.setattr("hansard.server.reception.QUESTION_US_MAX", 500_000)
        here, nowhere = free_addresses(2)
        process = Process(Plan(directory=tmp_path / "b", node="b", listen=here, join=(f"{nowhere[0]}:{nowhere[1]}",)))
        task = asyncio.create_task(process.serve())
        while process.access is None:  # noqa: ASYNC110 (its port is open in the same moment)
            await asyncio.sleep(0.01)
        async with await Visitor.dial(here) as visitor, await Visitor.dial(here) as other:
            status = await visitor.ask(ask="status")
            assert (status["node"], status["open"]) == ("b", None), "what is the matter with it may be asked"
            assert (await visitor.ask(ask="table"))["buckets"] == []
            assert "this is no question" in (await visitor.exchange({"ask": "nonsense"})).reason
            asked = asyncio.create_task(other.exchange({"ask": "tokens"}))
            assert isinstance(await visitor.submit(0, change("x"), 1, wait_us=50_000), submission.Expired)
            assert (await visitor.ask_number(wait_us=50_000)).connection == 0
            assert "does not know who may ask that" in (await asked).reason
        process._ended(None)
        await task

    run(test())
