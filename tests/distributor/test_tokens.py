"""Tokens are granted and revoked by the log, expire by its time, and are found by their id alone."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from hansard.distributor import command
from hansard.distributor.command import Configure, Entitling, Found, GrantToken, Guard, Order, RevokeToken, Seal, Wish
from hansard.distributor.distributor import Distributor
from hansard.distributor.entitlement import LIMIT_BYTES_MAX, LIMITS_MAX, Entitlement, Rates, Scope
from hansard.distributor.fact import Fact
from hansard.distributor.invariants import check_state, check_step, moment
from hansard.distributor.orders import Standing
from hansard.distributor.records import FullImage, Image
from hansard.distributor.settings import Settings
from hansard.distributor.tokens import LAST_ADMIN, LASTS_US_MAX, LIMITED_BYTES_MAX, NO_ADMIN, TOKENS_MAX, Tokens
from hansard.distributor.tokens import Image as TokensImage
from tests.distributor.company import Company
from tests.distributor.storm import Storm

SECOND = 1_000_000
NOW_US = 1_700_000_000 * SECOND
READER = Entitlement((Scope.READ,), (b"tenant:acme",))
ADMIN = Entitlement(tuple(Scope))
KEY = bytes(range(32))


@pytest.fixture
def cluster() -> Company:
    found = Company()
    found.arrive("a", "b", "c")
    found.found(2, Settings())
    found.settle()
    return found


def token(name: str = "acme", number: int = 1, allows: Entitlement = READER, **more: int) -> GrantToken:
    what = {"lasts_us": 0, "wall_us": NOW_US} | more
    return GrantToken(name, f"{number:012x}", bytes([number % 256]) * 32, allows, **what)


def why(cluster: Company, wish: Wish | Entitling) -> str:
    """Why not; empty if it is done."""
    cluster.orders += 1
    cluster.propose(Order(f"{cluster.orders}", wish))
    status = cluster.distributor.orders.get(f"{cluster.orders}")
    assert status is not None
    assert bool(status.remark) is (status.standing is Standing.REFUSED)
    return status.remark


def names(cluster: Company) -> list[str]:
    return sorted(cluster.distributor.tokens.granted)


# Granting and revoking.


def test_a_token_is_found_by_its_id_until_it_is_revoked(cluster: Company) -> None:
    version = cluster.distributor.version
    assert not why(cluster, token())
    found = cluster.distributor.tokens.find(f"{1:012x}")
    assert found is not None and found[0] == "acme" and found[1].allows == READER and found[1].expires_us == 0
    assert cluster.distributor.tokens.find(f"{2:012x}") is None
    assert not why(cluster, RevokeToken("acme", NOW_US + 1))
    assert cluster.distributor.tokens.find(f"{1:012x}") is None
    assert why(cluster, RevokeToken("acme", NOW_US + 2)) == "there is no token 'acme'"
    assert cluster.distributor.version == version, "the table is the same"


def test_the_same_name_again_takes_the_place_of_the_one_before(cluster: Company) -> None:
    why(cluster, token(number=1))
    assert not why(cluster, token(number=2, wall_us=NOW_US + 1))
    assert cluster.distributor.tokens.find(f"{1:012x}") is None and names(cluster) == ["acme"]
    assert why(cluster, token("other", number=2)) == "this is another token's id"


def test_an_order_that_is_in_the_log_twice_is_carried_out_once(cluster: Company) -> None:
    granted = Order("one", token())
    cluster.propose(granted)
    assert not why(cluster, RevokeToken("acme", NOW_US + 1))
    cluster.propose(granted)
    assert names(cluster) == []


def test_a_late_request_does_not_undo_a_newer_one(cluster: Company) -> None:
    why(cluster, token(number=2, wall_us=NOW_US + 5))
    assert why(cluster, token(number=1, wall_us=NOW_US)) == "'acme' was granted by a later request"
    assert why(cluster, RevokeToken("acme", NOW_US)) == "'acme' was granted by a later request"
    assert names(cluster) == ["acme"]


def test_a_token_is_over_by_the_clusters_time_and_goes_with_the_next_command(cluster: Company) -> None:
    why(cluster, token(lasts_us=60 * SECOND))
    known = cluster.distributor.tokens.granted["acme"]
    assert known.expires_us == NOW_US + 60 * SECOND
    assert not known.is_over(known.expires_us - 1) and known.is_over(known.expires_us)
    why(cluster, token("other", 2, wall_us=NOW_US + 59 * SECOND))
    assert names(cluster) == ["acme", "other"]
    why(cluster, token("third", 3, wall_us=NOW_US + 60 * SECOND))
    assert names(cluster) == ["other", "third"]


def test_a_clock_that_is_behind_lets_nothing_expire_too_early(cluster: Company) -> None:
    why(cluster, token("other", 2, wall_us=NOW_US))
    why(cluster, token(lasts_us=10 * SECOND, wall_us=NOW_US - 3600 * SECOND))
    assert cluster.distributor.tokens.granted["acme"].expires_us == NOW_US + 10 * SECOND


@pytest.mark.parametrize(
    ("wrong", "because"),
    [
        (token(""), "the name of a token"),
        (token("a/b"), "the name of a token"),
        (token("a" * 64), "the name of a token"),
        (GrantToken("a", "short", bytes(32), READER, 0, NOW_US), "this is no token"),
        (GrantToken("a", f"{1:012x}", b"", READER, 0, NOW_US), "this is no token"),
        (token(lasts_us=-1), "a token lasts up to"),
        (token(lasts_us=LASTS_US_MAX + 1), "a token lasts up to"),
        (token(allows=Entitlement(())), "a token is for one or more of submit, read, admin"),
        (token(allows=Entitlement((Scope.READ, Scope.READ))), "each named once"),
        (token(allows=Entitlement((Scope.READ,), (b"",))), "a tag or prefix has 1 to"),
        (token(allows=Entitlement((Scope.READ,), (), (b"x" * (LIMIT_BYTES_MAX + 1),))), "a tag or prefix has 1 to"),
        (token(allows=Entitlement((Scope.READ,), (b"x",) * (LIMITS_MAX + 1))), "a token has up to 64 tags"),
        (token(allows=Entitlement((Scope.ADMIN,), (b"x",))), "a token for admin is not limited to tags"),
        (token(allows=Entitlement((Scope.READ,), rates=Rates(-1))), "a rate is from 1 to"),
    ],
)
def test_what_can_be_no_token_is_refused(cluster: Company, wrong: GrantToken, because: str) -> None:
    assert because in why(cluster, wrong)
    assert names(cluster) == []


def test_there_is_a_bound_on_tokens_and_on_their_tags() -> None:
    tokens = Tokens()
    long = Entitlement((Scope.READ,), tuple([bytes([97 + n]) * LIMIT_BYTES_MAX for n in range(16)]))
    most = LIMITED_BYTES_MAX // (16 * LIMIT_BYTES_MAX)
    for number in range(most):
        assert not tokens.grant(token(f"t{number}", number, long))
    assert "the tags of all tokens" in tokens.grant(token("more", most, long))
    plain = Entitlement((Scope.READ,))
    for number in range(most, TOKENS_MAX):
        assert not tokens.grant(token(f"t{number}", number, plain))
    assert f"there are {TOKENS_MAX} tokens already" in tokens.grant(token("more", TOKENS_MAX, plain))
    assert not tokens.grant(token("t0", TOKENS_MAX, plain))


# Whether one is needed.


def test_a_cluster_is_open_unless_it_is_founded_otherwise(cluster: Company) -> None:
    assert not cluster.distributor.tokens.guarded
    guarded = Company()
    guarded.arrive("a")
    assert why(guarded, Found(2, open=False)) == NO_ADMIN and not guarded.distributor.buckets
    assert not why(guarded, token("admin", allows=ADMIN))
    assert not why(guarded, Found(2, open=False))
    assert guarded.distributor.tokens.guarded and guarded.distributor.buckets


def test_it_is_closed_and_opened_by_an_order(cluster: Company) -> None:
    assert why(cluster, Guard(open=False)) == NO_ADMIN
    why(cluster, token("admin", allows=ADMIN))
    assert not why(cluster, Guard(open=False)) and cluster.distributor.tokens.guarded
    assert not why(cluster, Configure(replication=2)) and cluster.distributor.tokens.guarded
    assert not why(cluster, Guard(open=True)) and not cluster.distributor.tokens.guarded


def test_the_last_token_for_admin_stays_as_long_as_tokens_are_needed(cluster: Company) -> None:
    why(cluster, token("admin", allows=ADMIN))
    why(cluster, Guard(open=False))
    assert why(cluster, RevokeToken("admin", NOW_US)) == LAST_ADMIN
    assert why(cluster, token("admin", 2, READER)) == LAST_ADMIN
    assert not why(cluster, token("admin", 2, ADMIN)), "another secret for it"
    why(cluster, token("second", 3, Entitlement((Scope.ADMIN,))))
    assert not why(cluster, RevokeToken("admin", NOW_US))
    assert why(cluster, RevokeToken("second", NOW_US)) == LAST_ADMIN
    why(cluster, Guard(open=True))
    assert not why(cluster, RevokeToken("second", NOW_US))


# The key.


def test_the_first_key_stays(cluster: Company) -> None:
    assert why(cluster, Seal(b"short")) == "a key has 32 bytes"
    assert not why(cluster, Seal(KEY))
    assert why(cluster, Seal(bytes(32))) == "this cluster has its key already"
    assert cluster.distributor.tokens.key == KEY


# What is kept of it, and what is said.


def test_nothing_secret_is_remembered_with_an_order_or_shown(cluster: Company) -> None:
    why(cluster, token())
    why(cluster, Seal(KEY))
    digest = token().digest
    kept = msgspec.msgpack.encode(cluster.distributor.orders.image())
    assert digest not in kept and KEY not in kept
    tokens = cluster.distributor.tokens
    for shown in (token(), Seal(KEY), Order("x", Seal(KEY)), tokens.granted["acme"], tokens.image()):
        for secret in (digest, KEY):
            assert repr(secret)[2:-1] not in repr(shown) and secret.hex() not in repr(shown), shown


def test_without_tokens_the_image_is_what_it_was_before_there_were_any(cluster: Company) -> None:
    image = cluster.distributor.image()
    assert len(msgspec.msgpack.decode(image)) == len(Image.__struct_fields__)
    assert msgspec.msgpack.encode(msgspec.msgpack.decode(image, type=Image)) == image
    plain = msgspec.msgpack.decode(command.encode(Order("f", Found(4))))
    assert sorted(plain["wish"]) == ["buckets", "importing", "log", "participants", "settings", "type"]
    why(cluster, token())
    whole = msgspec.msgpack.decode(cluster.distributor.image(), type=FullImage)
    assert isinstance(whole.tokens, TokensImage) and [name for name, _ in whole.tokens.tokens] == ["acme"]


def _history(seed: int) -> list[Fact]:
    """A storm in which tokens are granted, revoked and needed in between."""
    storm = Storm(seed)
    for number in range(60):
        storm.rage(2)
        if not storm.company.here:
            continue
        at_us, name = NOW_US + (number - storm.random.choice([0, 0, 5])) * SECOND, f"t{storm.random.randrange(4)}"
        allows = storm.random.choice([READER, ADMIN, Entitlement((Scope.SUBMIT,), (), (b"x",), Rates(5, 5))])
        lasts_us = storm.random.choice([0, 20 * SECOND])
        wishes: list[Wish | Entitling] = [
            token(name, number, allows, wall_us=at_us, lasts_us=lasts_us),
            token(name, number, allows, wall_us=at_us, lasts_us=lasts_us),
            RevokeToken(name, at_us),
            Guard(open=storm.random.random() < 0.4),
            Seal(bytes([number]) * 32),
        ]
        why(storm.company, storm.random.choice(wishes))
    return storm.company.facts


def test_a_log_with_tokens_gives_the_same_from_every_image() -> None:
    seen: set[TokensImage] = set()
    for seed in range(8):
        whole, restored = Distributor(), Distributor()
        for fact in _history(seed):
            restored.restore(whole.image())
            assert restored.image() == whole.image()
            whole.apply(fact)
            restored.apply(fact)
            assert restored.hash == whole.hash
            assert restored.tokens.image() == whole.tokens.image()
            seen.add(whole.tokens.image())
    assert len(seen) > 80 and any(image.guarded for image in seen) and any(image.key for image in seen)


# The invariants bite.


WRONG: dict[str, Callable[[Tokens], object]] = {
    "over": lambda tokens: tokens.granted.update(acme=replace(tokens.granted["acme"], expires_us=1)),
    "not to be found": lambda tokens: tokens.granted.update(acme=replace(tokens.granted["acme"], id=f"{9:012x}")),
    "of another length": lambda tokens: tokens.granted.update(acme=replace(tokens.granted["acme"], digest=b"")),
    "for nothing": lambda tokens: tokens.granted.update(acme=replace(tokens.granted["acme"], allows=Entitlement(()))),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_token_that_cannot_be_is_noticed(cluster: Company, wrong: str) -> None:
    why(cluster, token())
    check_state(cluster.distributor)
    WRONG[wrong](cluster.distributor.tokens)
    with pytest.raises(AssertionError):
        check_state(cluster.distributor)


def test_another_key_and_an_earlier_time_are_noticed(cluster: Company) -> None:
    why(cluster, token())
    why(cluster, Seal(KEY))
    before, tokens = moment(cluster.distributor), cluster.distributor.tokens
    check_step(before, cluster.distributor)
    tokens.key = bytes(32)
    with pytest.raises(AssertionError, match="cannot be opened any more"):
        check_step(before, cluster.distributor)
    tokens.key, tokens.wall_us = KEY, NOW_US - 1
    with pytest.raises(AssertionError, match="time goes backwards"):
        check_step(before, cluster.distributor)
