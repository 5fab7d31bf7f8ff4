"""What a grant allows: whose tags are whose, what a read is limited to, and what a certificate says."""

import pytest

from hansard.batch import build
from hansard.distributor.entitlement import Entitlement, Rates, Scope
from hansard.server.grant import EVERYTHING, Grant, Limited, certified
from hansard.server.meter import Meter

ACME = Grant("acme", Entitlement((Scope.READ, Scope.SUBMIT), (b"tenant:acme",), (b"acme:",)))
TAGGED = Grant("tagged", Entitlement((Scope.READ,), (b"a", b"b")))
SECOND = 1_000_000


def test_a_grant_is_for_what_it_names_and_nothing_else() -> None:
    assert ACME.may("read") and ACME.may("submit") and not ACME.may("admin") and not ACME.may("")
    assert all(EVERYTHING.may(scope) for scope in Scope)


def test_a_tag_is_its_own_if_it_is_named_or_begins_with_a_prefix() -> None:
    assert ACME.owns(b"tenant:acme") and ACME.owns(b"acme:") and ACME.owns(b"acme:eu")
    for foreign in (b"tenant:acme2", b"tenant:", b"acme", b"", b"xacme:", b"ACME:eu"):
        assert not ACME.owns(foreign), foreign
    assert EVERYTHING.owns(b"anything")


@pytest.mark.parametrize(
    ("tags", "allowed"),
    [
        ([["tenant:acme"]], True),
        ([["tenant:acme", "acme:eu"], ["acme:us"]], True),
        ([["tenant:acme"], []], False),  # a change that carries none is nobody's
        ([["tenant:acme", "tenant:other"]], False),  # nor may it be slipped to another tenant
        ([["tenant:acme"], ["tenant:other"]], False),
        ([[]], False),
    ],
)
def test_every_change_carries_a_tag_of_its_own_and_none_of_anybody_else(tags: list[list[str]], allowed: bool) -> None:
    batch = build(["k"] * len(tags), ["v"] * len(tags), tags=tags)
    assert ACME.may_submit(batch) is allowed and ACME.may_submit(batch.compressed()) is allowed
    assert ACME.may_write([[tag.encode() for tag in each] for each in tags]) is allowed
    assert EVERYTHING.may_submit(batch) and EVERYTHING.may_write([[b"x"], []])


def test_a_read_is_limited_to_tags_that_are_its_own() -> None:
    assert TAGGED.limit([], every=False) == Limited((b"a", b"b"), every=False)
    assert TAGGED.limit([], every=True) == Limited((b"a", b"b"), every=False), "all of its own, not only what has both"
    assert TAGGED.limit([b"b"], every=False) == Limited((b"b",), every=False)
    assert TAGGED.limit([b"a", b"x"], every=False) is None, "what carries x may be anybody's"
    assert TAGGED.limit([b"a", b"x"], every=True) == Limited((b"a", b"x"), every=True), "what carries both is its own"
    assert TAGGED.limit([b"x", b"y"], every=True) is None
    assert EVERYTHING.limit([b"x"], every=True) == Limited((b"x",), every=True)
    assert EVERYTHING.limit([], every=False) == Limited((), every=False)


def test_who_has_prefixes_says_which_tags_it_wants() -> None:
    assert ACME.limit([], every=False) is None
    assert ACME.limit([b"acme:eu", b"tenant:acme"], every=False) == Limited((b"acme:eu", b"tenant:acme"), every=False)
    assert ACME.limit([b"acme"], every=False) is None


def test_records_of_checkpoints_are_read_by_those_who_may_read_what_they_are_about_and_written_by_none() -> None:
    greedy = Grant("greedy", Entitlement((Scope.SUBMIT, Scope.READ), (b"hansard:checkpoint",), (b"hansard:", b"acme:")))
    own, foreign = b"hansard:checkpoint/tag/acme:eu", b"hansard:checkpoint/tag/tenant:other"
    for grant in (ACME, greedy):
        assert grant.limit([own], every=False) == Limited((own,), every=False)
        for forbidden in (foreign, b"hansard:checkpoint", b"hansard:checkpoint/log", b"hansard:else"):
            assert grant.limit([forbidden], every=False) is None
            assert grant.limit([own, forbidden], every=False) is None
        for tags in (["hansard:checkpoint", own.decode()], [own.decode()], ["acme:eu", own.decode()]):
            assert not grant.may_submit(build(["k"], ["v"], tags=[tags])) and not grant.owns(own)
    assert EVERYTHING.may_submit(build(["k"], ["v"], tags=[[own.decode()]]))


def test_a_limited_read_stays_the_same_when_it_is_limited_again() -> None:
    """It is judged when it comes and when it is answered."""
    for tags, every in (((), False), ((b"a",), False), ((b"a", b"x"), True), ((b"a", b"b"), True)):
        once = TAGGED.limit(tags, every)
        assert once is not None and TAGGED.limit(once.tags, once.every) == once


def shown(name: str, *more: str) -> dict[str, object]:
    subject = tuple([(("commonName", each),) for each in (name, *more)])
    return {"subject": subject, "notAfter": "Nov 17 00:00:00 2030 GMT", "subjectAltName": (("DNS", "admin:x"),)}


def test_a_certificates_common_name_says_what_it_is_for() -> None:
    found = certified(shown("read+submit:etl"))
    assert found is not None and found.allows.scopes == (Scope.SUBMIT, Scope.READ) and not found.is_limited
    assert found.expires_us == 1_921_104_000 * SECOND and found.is_over(found.expires_us)
    admin = certified(shown("admin:ops"))
    assert admin is not None and admin.may("admin") and not admin.may("read")


@pytest.mark.parametrize("name", ["a", "", "admin", "admin:", ":x", "root:x", "read+root:x", "read,admin:x", "READ:x"])
def test_a_certificate_that_names_no_scope_gives_none(name: str) -> None:
    assert certified(shown(name)) is None
    assert certified({}) is None
    assert certified(shown("admin:x", "read:y")) is None, "which of the two?"


# Rates.


def test_a_seconds_worth_may_be_used_at_once_and_the_rest_is_waited_for() -> None:
    meter = Meter(Rates(changes_per_s=10), 0)
    assert meter.wait_s(0) == 0
    meter.use(10, 1 << 30, 0)
    assert 0 < meter.wait_s(0) <= 0.11
    assert meter.wait_s(SECOND) == 0
    meter.use(35, 0, SECOND)
    assert 2.5 <= meter.wait_s(SECOND) <= 2.7 and meter.wait_s(4 * SECOND) == 0


def test_both_rates_count_and_what_is_not_limited_does_not() -> None:
    meter = Meter(Rates(changes_per_s=10, bytes_per_s=1000), 0)
    meter.use(1, 3000, 0)
    assert 2 <= meter.wait_s(0) <= 2.1
    meter.use(10_000, 0, SECOND)
    assert meter.wait_s(SECOND) > 900
    free = Meter(Rates(), 0)
    free.use(1 << 40, 1 << 40, 0)
    assert free.wait_s(0) == 0


def test_a_clock_that_stands_still_or_goes_back_gives_nothing_away() -> None:
    meter = Meter(Rates(changes_per_s=10), 5 * SECOND)
    meter.use(10, 0, 5 * SECOND)
    assert meter.wait_s(0) > 0 and meter.wait_s(5 * SECOND) > 0
