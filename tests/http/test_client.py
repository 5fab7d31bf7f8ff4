"""`hansard.Client` over HTTP where tokens are needed: tenants, readers, writers; and places that are held by name."""

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from secrets import token_hex

import pytest

from hansard.batch import build
from hansard.checkpoint import Subject
from hansard.client import BadCheckpoint, Change, Client, InvalidSubmission, NotReachable, Refused
from hansard.client.page import UNTOLD
from tests.client.layered import recorded, written

from .town import Town

ACME = "tenant:acme"


def client(town: Town, token: str, *, names: str = "abc", name: str = "") -> Client:
    urls = ["http://{}:{}".format(*town.address(each)) for each in names]
    return Client.connect(urls, token=town.tokens[token], name=name, timeout_s=30)


def test_a_tenant_submits_reads_and_resumes_in_the_middle_of_a_page(guarded: Town) -> None:
    stem = token_hex(6)
    with client(guarded, "acme") as acme, client(guarded, "globex") as globex:
        start = acme.bookmark()
        globex.submit(f"{stem}-secret", "x", ["globex:x"])
        receipt = acme.submit(f"{stem}-0", "0", [ACME])
        assert (receipt.bucket, receipt.offset) == (UNTOLD, None) and receipt.timestamp
        assert acme.connection and not acme.log_id
        acme.submit_many([f"{stem}-{number}" for number in range(1, 700)], ["v"] * 699, [[ACME]] * 699)
        everything = list(acme.read(since=start))
        assert sorted(change.key or b"" for change in everything) == sorted(
            f"{stem}-{number}".encode() for number in range(700)
        )
        seen: list[Change] = []
        token = str(start)
        while len(seen) < 700:  # the text of the bookmark is all that is left of the time before
            follow = acme.follow(since=token)
            seen += islice(follow, 123)
            token = str(follow.bookmark) if len(seen) % 123 == 0 else token
            if len(seen) % 123:
                break
            if len(seen) + 123 > 700:
                seen += islice(acme.follow(since=token), 700 - len(seen))
        assert seen == everything
        assert not any(change.offset != UNTOLD or change.connection for change in everything)
        page = acme.page(since=start, limit=3)
        assert acme.page(since=page.bookmark, limit=4).changes == everything[3:7]
        with pytest.raises(Refused, match="bookmark of yours"):
            globex.page(since=page.bookmark, tags=["globex:x"])
        with pytest.raises(InvalidSubmission, match="tags"):
            acme.submit("k", "v", ["globex:x"])


def test_each_may_do_what_its_token_allows(guarded: Town) -> None:
    stem = token_hex(6)
    with client(guarded, "writer") as writer, client(guarded, "reader") as reader:
        start = reader.bookmark()
        writer.submit(stem, {"a": 1})
        assert [change.json() for change in reader.read(since=start, key=stem)] == [{"a": 1}]
        with pytest.raises(InvalidSubmission, match="scope 'submit'"):
            reader.submit("k", "v")
        with pytest.raises(Refused, match="scope 'read'"):
            next(writer.read())
        with pytest.raises(Refused, match="binary protocol"):
            reader.ask({"ask": "status"})
    urls = ["http://{}:{}".format(*guarded.address("a"))]
    with pytest.raises(NotReachable, match="token"):
        Client.connect(urls, timeout_s=1)


def test_a_name_is_where_it_was_committed_whoever_is_asked(guarded: Town) -> None:
    stem = token_hex(6)
    with client(guarded, "reader", names="ab") as one, client(guarded, "reader", names="ca") as other:
        start = one.bookmark()
        with client(guarded, "writer") as writer:
            writer.submit_many([stem] * 10, [str(number) for number in range(10)])
        for number in range(0, 10, 2):
            follow = (one, other)[number // 2 % 2].follow(name=stem, since=start, key=stem)
            assert [change.text for change in islice(follow, 2)] == [str(number), str(number + 1)]
            follow.commit()
        one.let_go(stem)
        assert next(other.follow(name=stem, since=start, key=stem)).text == "0"
        other.let_go(stem)
        with client(guarded, "acme") as acme, pytest.raises(Refused, match="limited to tags"):
            acme.follow(name=stem).begin()


def test_who_has_a_name_gets_its_connection_back_and_what_it_numbers_is_stored_once(guarded: Town) -> None:
    name, keys = token_hex(6), [token_hex(6) for _ in range(50)]
    for token, tags in (("writer", []), ("acme", [ACME])):
        with client(guarded, "admin") as admin:
            start = admin.bookmark()
        for _ in range(2):
            with client(guarded, token, name=name) as sink:
                stream = {"connection": sink.connection, "previous_series": -1}
                batch = build(keys, keys, [tags] * 50, first_series=500, **stream)  # type: ignore[arg-type]
                for _ in range(2):
                    assert len(sink.submit_batch(batch)) == 50
        with client(guarded, "admin") as admin:
            assert sorted(change.text or "" for change in admin.read(since=start)) == sorted(keys)


def test_what_is_asked_for_and_cannot_be_over_http_is_said_at_once(guarded: Town) -> None:
    with client(guarded, "admin") as admin:
        with pytest.raises(ValueError, match="one bucket"):
            admin.page(buckets=[0, 1])
        with pytest.raises(ValueError, match="keys that are text"):
            admin.page(key=b"\xff")
        with pytest.raises(ValueError, match="time zone"):
            admin.page(since=datetime(2026, 1, 1))  # noqa: DTZ001 (that is the mistake)
        assert admin.page(since=datetime.now(UTC), buckets=[1]).changes == []


@pytest.mark.parametrize("token", ["admin", "reader", "globex"])
def test_a_state_and_what_follows_it(guarded: Town, tmp_path: Path, token: str) -> None:
    """The same for a tenant, who does not see the records of checkpoints in the log."""
    stem = token_hex(6)
    tag = f"globex:{stem}"
    subject = Subject.of([tag])
    with client(guarded, "admin") as admin, client(guarded, token) as reader:

        def submit(**values: str | None) -> None:
            admin.submit_many([f"{stem}-{key}" for key in values], list(values.values()), [[tag]] * len(values))

        submit(a="1", b="2", c="3")
        submit(b=None, c="4")
        at = admin.bookmark()
        layer = written(tmp_path, "layer", admin.read(until=at, tags=[tag]))
        recorded(admin, subject, at, tmp_path, [layer])
        submit(a=None, d="5")
        (found,) = reader.checkpoints(tags=[tag])
        assert (found.number, found.layers, found.subject) == (1, (layer,), subject)
        boot = reader.bootstrap(tags=[tag])
        loaded = boot.state()
        assert boot.is_loaded and boot.checkpoint is not None and boot.checkpoint.time == found.time
        assert sorted((change.key, change.value) for change in loaded) == [
            (f"{stem}-a".encode(), b"1"),
            (f"{stem}-c".encode(), b"4"),
        ]
        after = list(islice(boot, 2))
        assert sorted((change.key, change.value) for change in after) == [
            (f"{stem}-a".encode(), None),
            (f"{stem}-d".encode(), b"5"),
        ]
        submit(e="6")
        assert next(reader.follow(since=str(boot.bookmark), tags=[tag])).value == next(boot).value == b"6"
        with pytest.raises(BadCheckpoint):
            reader.bootstrap(tags=[tag], location=str(tmp_path / "nowhere")).state()


def test_where_there_is_no_checkpoint_it_follows_from_the_beginning(guarded: Town) -> None:
    stem = token_hex(6)
    tag = f"globex:{stem}"
    with client(guarded, "globex") as globex, client(guarded, "reader") as reader:
        globex.submit_many(["a", "b"], ["1", "2"], [[tag]] * 2)
        for each in (globex, reader):
            boot = each.bootstrap(tags=[tag])
            assert boot.state() == [] and boot.checkpoint is None
            assert {change.key: change.value for change in islice(boot, 2)} == {b"a": b"1", b"b": b"2"}
