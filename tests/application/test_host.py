import pytest

from hansard.application import Application, BadName, Entries, Host, Image, NewerImage
from hansard.application.image import decode, encode
from hansard.application.testing import batches, key_of
from hansard.batch import Batch, Change, build
from sim.counter import Counter

MINE, OTHERS = key_of(0, 2), key_of(1, 2)


def fed(host: Host, *rows: tuple[bytes | None, bytes | None]) -> dict[int, bytes]:
    """These rows follow what it has."""
    results: dict[int, bytes] = {}
    for batch in batches([(None, None)] * host.offset + list(rows), first=host.offset):
        results |= host.apply(batch)
    return results


def test_results_are_known_by_the_offsets_of_their_changes() -> None:
    host = Host(Counter())
    batch = build([b"a", None, b"a"], [b"2", b"v", b"3"]).stamped(epoch=1, base_offset=0, timestamp=1)
    assert host.apply(batch) == {0: b"2", 2: b"5"}
    assert (host.offset, host.image().offset) == (3, 3)


def test_what_is_internal_is_never_applied() -> None:
    host = Host(Counter())
    batch = build([b"a"], [b"2"]).marked_internal().stamped(epoch=1, base_offset=0, timestamp=1)
    assert host.apply(batch) == {}
    assert (host.offset, host.image().entries) == (1, ())


def test_what_does_not_follow_is_not_applied() -> None:
    host = Host(Counter())
    batch = build([b"a"], [b"2"]).stamped(epoch=1, base_offset=7, timestamp=1)
    with pytest.raises(AssertionError, match="is to follow 0"):
        host.apply(batch)


def test_an_image_has_name_version_offset_and_level() -> None:
    host = Host(Counter())
    fed(host, (b"a", b"2"))
    host.rise(4)
    assert host.image() == Image("counter", 2, 1, 4, ((None, b"1"), *([(b"a", b"2")] if host.belongs(b"a") else [])))


def test_halves_share_what_has_no_key_and_divide_the_rest() -> None:
    whole = Host(Counter())
    fed(whole, (MINE, b"2"), (OTHERS, b"3"))
    halves = [Host(Counter(), bucket) for bucket in (0, 1)]
    for half in halves:
        half.restore(decode(encode(whole.image())))
        half.rise(2)
    assert [half.image().entries for half in halves] == [
        ((None, b"2"), (MINE, b"2")),
        ((None, b"2"), (OTHERS, b"3")),
    ]


def test_a_half_before_its_split_is_what_its_parent_was() -> None:
    """Bucket 1 of 2 has the log of bucket 0 of 1 up to there, under its own number."""
    half = Host(Counter(), 1)
    assert fed(half, (MINE, b"2"), (OTHERS, b"3")) == {0: b"2", 1: b"3"}


def test_a_host_applies_what_belongs_to_its_bucket_only() -> None:
    host = Host(Counter(), 1)
    host.rise(2)
    mixed = build([MINE, OTHERS], [b"2", b"3"]).stamped(epoch=1, base_offset=0, timestamp=1)
    assert host.apply(mixed) == {1: b"3"}
    assert host.image().entries == ((None, b"1"), (OTHERS, b"3"))


def test_what_is_others_in_a_log_that_was_imported_is_not_applied() -> None:
    host = Host(Counter(), 1, 2)
    mixed = build([MINE, OTHERS], [None, b"3"]).stamped(epoch=1, base_offset=0, timestamp=1)
    assert host.apply(mixed) == {1: b"3"}
    assert host.image().entries == ((None, b"1"), (OTHERS, b"3"))
    host.clear()
    assert host.level == 2
    quarter = Host(Counter(), 3, 2)  # which was split off since
    assert quarter.apply(mixed) == {1: b"3"}


def test_a_level_that_does_not_rise_purges_nothing() -> None:
    host = Host(Counter(), 1)
    fed(host, (OTHERS, b"2"))
    host.rise(1)
    host.rise(2)
    host.rise(2)
    assert (host.level, host.image().entries) == (2, ((None, b"1"), (OTHERS, b"2")))


def test_an_older_image_is_translated_by_the_application() -> None:
    host = Host(Counter())
    host.restore(Image("counter", 1, 5, 1, ((b"a", b"3"), (b"b", b"2"))))
    assert (host.offset, host.application.query(b"")) == (5, b"5")


def test_a_newer_image_is_refused_by_name_and_version() -> None:
    host = Host(Counter())
    with pytest.raises(NewerImage, match="'counter' was stored by its version 3, and this is 2"):
        host.restore(Image("counter", 3, 5, 1, ()))


@pytest.mark.parametrize("name", ["", "Counter", "a/b", "x" * 29, None])
def test_a_name_that_no_document_can_have_is_refused(name: str | None) -> None:
    with pytest.raises(BadName):
        Host(type("Misnamed", (Counter,), {"name": name})())


def test_a_nameless_application_is_refused() -> None:
    class Nameless(Application):
        def apply(self, change: Change) -> None: ...
        def image(self) -> Entries:
            return ()

        def join(self, version: int, image: Entries) -> None: ...
        def purge(self, belongs: object) -> None: ...
        def query(self, question: bytes) -> bytes:
            return question

    with pytest.raises(BadName):
        Host(Nameless())


def test_an_application_that_gives_a_result_for_each_batch_is_found_out() -> None:
    class Short(Counter):
        def apply_batch(self, batch: Batch) -> list[bytes | None]:
            return [b"done"]

    with pytest.raises(AssertionError, match="1 results for 2 changes"):
        Host(Short()).apply(build([b"a", b"b"], [b"1", b"1"]).stamped(epoch=1, base_offset=0, timestamp=1))
