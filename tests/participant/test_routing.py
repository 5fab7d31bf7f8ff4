"""Submissions find their leader from anywhere; each gets one answer, and what it says is true."""

import pytest

from hansard.batch import build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.distributor.command import Move
from hansard.participant.event import Connected, Leave, Received, Submit
from hansard.participant.held import held_of
from hansard.participant.message import Bucketed, Hop, HopAnswer, Process
from hansard.participant.settings import Settings
from hansard.phaser.effect import Answer as Answered
from hansard.phaser.message import Append
from hansard.phaser.outcome import Busy, Expired, Gap, Invalid, Misplaced, NotLeader, Receipt, Repeated, Stored, Unknown
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_government import KEYS, formed, stored

IN_ZERO = next(key for key in KEYS if bucket_of(key_hash(key), 4) == 0)
"""A key that lives in the first of four buckets."""


def hops(cluster: Cluster) -> list[Hop]:
    return [send.message for _, send in cluster.sent if isinstance(send.message, Hop)]


def test_submitting_anywhere_takes_one_hop_at_the_most() -> None:
    cluster = formed(3)
    cluster.sent.clear()
    for at in "abc":
        for key in KEYS:
            assert stored(cluster, at, key)
    assert {hop.hops for hop in hops(cluster)} == {1}
    assert len(hops(cluster)) == 2 * len(KEYS)


def test_before_there_are_buckets_it_waits_and_is_refused_in_the_end() -> None:
    cluster = Cluster()
    cluster.add("a")
    id = cluster.submit("a", b"k", seconds=2)
    cluster.run(1)
    assert id not in cluster.answers
    assert cluster.answer(id) == Expired()
    assert cluster.answers[id][1] > 0  # and is told when to come again
    early = cluster.submit("a", b"k", seconds=5)
    cluster.found(1)
    assert isinstance(cluster.answer(early), Stored)


def test_while_a_bucket_changes_hands_submissions_wait() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    others = [node for node in "abc" if node != leader]
    cluster.crash(leader)
    ids = []
    for _ in range(20):
        ids.append(cluster.submit(others[0], IN_ZERO))
        cluster.run(0.05)
    outcomes = [cluster.answer(id) for id in ids]
    assert {type(outcome) for outcome in outcomes} <= {Stored, Unknown}
    assert isinstance(outcomes[-1], Stored)


def test_what_hopped_to_a_node_that_dies_is_unknown_as_soon_as_that_is_known() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    other = next(node for node in "abc" if node != leader)
    id = cluster.next_id()
    cluster.crash(leader)
    cluster.happen(other, Submit(id, 0, build([IN_ZERO], [b"v"]), cluster.now_us + 60 * SECOND, 4))
    began_us = cluster.now_us
    assert cluster.answer(id) == Unknown()
    assert cluster.now_us - began_us < SECOND


def test_what_was_under_way_when_a_connection_broke_is_unknown_at_once() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    other = next(node for node in "abc" if node != leader)
    cluster.lose = lambda sender, send: isinstance(send.message, Hop)
    id = cluster.next_id()
    cluster.happen(other, Submit(id, 0, build([IN_ZERO], [b"v"]), cluster.now_us + 60 * SECOND, 4))
    cluster.happen(other, Connected(leader))
    assert cluster.answers[id][0] == Unknown()


def test_a_hop_that_comes_twice_is_submitted_once() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    other = next(node for node in "abc" if node != leader)
    hop = Hop(other, Process(1, 1), 1, 1, cluster.table.version, 0, build([IN_ZERO], [b"v"]), SECOND, 4, None)
    cluster.sent.clear()
    cluster.happen(leader, Received(other, hop), Received(other, hop))
    cluster.run(1)
    cluster.happen(leader, Received(other, hop))
    cluster.run(1)
    assert len([send for _, send in cluster.sent if isinstance(send.message, HopAnswer)]) == 1


def test_what_comes_together_goes_where_each_would_by_itself() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    elsewhere = next(number for number in range(4) if cluster.leader(number) != leader)
    other = next(key for key in KEYS if bucket_of(key_hash(key), 4) == elsewhere)
    deadline_us = cluster.now_us + 3 * SECOND
    wanted: list[tuple[type[object], bytes, int, int, int]] = [
        (Stored, IN_ZERO, 0, 4, deadline_us),
        (Stored, other, elsewhere, 4, deadline_us),
        (Stored, IN_ZERO, 0, 4, deadline_us),
        (Invalid, other, 0, 4, deadline_us),
        (Expired, IN_ZERO, 0, 4, cluster.now_us),
        (Stored, IN_ZERO, 0, 2, deadline_us),  # cut coarser, without a stream
        (Stored, IN_ZERO, 0, 4, deadline_us),
        (Stored, other, elsewhere, 4, deadline_us),
    ]
    ids = [cluster.next_id() for _ in wanted]
    submits = [
        Submit(id, bucket, build([key], [b"v"]), until_us, level)
        for id, (_, key, bucket, level, until_us) in zip(ids, wanted, strict=True)
    ]
    cluster.happen(leader, *submits)
    outcomes = [cluster.answer(id) for id in ids]
    assert [type(outcome) for outcome in outcomes] == [kind for kind, *_ in wanted]
    offsets = [outcomes[place].receipt.offset for place in (0, 2, 5, 6)]  # type: ignore[union-attr]
    assert offsets == sorted(offsets)


def test_what_comes_together_overtakes_nothing_that_has_to_wait() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    key = next(key for key in KEYS if bucket_of(key_hash(key), 8) == 0)
    ids = [cluster.next_id() for _ in range(4)]
    cuts = zip(ids, (4, 8, 4, 4), strict=True)  # the second by a table that is not here yet
    until_us = cluster.now_us + 60 * SECOND
    cluster.happen(leader, *[Submit(id, 0, build([key], [b"v"]), until_us, level) for id, level in cuts])
    assert [held.source for held in cluster.core(leader).router.parked.queues[0]] == ids[1:]


@pytest.mark.parametrize("series", [None, 0], ids=["without a stream", "streams"])
def test_what_came_together_when_another_one_begins_to_lead_is_stored_there_or_unknown(series: int | None) -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    heir, third = (node for node in "abc" if node != leader)
    cluster.lose = lambda sender, send: isinstance(send.message, Bucketed) and isinstance(send.message.message, Append)
    ids = [cluster.next_id() for _ in range(5)]
    batches = [
        build([IN_ZERO], [b"v"])
        if series is None
        else build([IN_ZERO], [b"v"], connection=100 + id, first_series=series, previous_series=-1)
        for id in ids
    ]
    until_us = cluster.now_us + 20 * SECOND
    cluster.happen(leader, *[Submit(id, 0, batch, until_us, 4) for id, batch in zip(ids, batches, strict=True)])
    assert len(cluster.core(leader).router.local) == len(ids)
    cluster.order(Move(0, (heir, leader, third)), at=heir)
    cluster.until(lambda: cluster.leader(0) == heir)
    cluster.lose = lambda sender, send: False
    outcomes = [cluster.answer(id) for id in ids]
    assert {type(outcome) for outcome in outcomes} <= ({Unknown} if series is None else {Stored, Repeated})
    cluster.run(1)
    router = cluster.core(leader).router
    assert not router.local and not router.away and router.count == router.bytes == router.ways.total == 0


def test_what_came_together_is_unknown_where_its_node_departs() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    cluster.lose = lambda sender, send: isinstance(send.message, Bucketed) and isinstance(send.message.message, Append)
    ids, until_us = [cluster.next_id() for _ in range(5)], cluster.now_us + 20 * SECOND
    cluster.happen(leader, *[Submit(id, 0, build([IN_ZERO], [b"v"]), until_us, 4) for id in ids])
    assert len(cluster.core(leader).router.local) == len(ids)
    cluster.happen(next(node for node in "abc" if node != leader), Leave(leader))
    assert {type(cluster.answer(id)) for id in ids} == {Unknown}
    router = cluster.core(leader).router
    assert not router.local and router.count == router.bytes == router.ways.total == 0


def test_what_is_for_us_to_lead_does_not_overtake_what_is_under_way_to_who_led_before() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    heir, third = (node for node in "abc" if node != leader)
    cluster.lose = lambda sender, send: isinstance(send.message, HopAnswer)
    first = cluster.submit(heir, IN_ZERO, seconds=60)
    cluster.run(1)
    router = cluster.core(heir).router
    assert [held.source for held in router.away.values()] == [first]
    cluster.order(Move(0, (heir, leader, third)), at=heir)
    cluster.until(lambda: str(cluster.core(heir).distributor.buckets[0].leader).startswith(heir))
    second = cluster.submit(heir, IN_ZERO, seconds=60)
    assert [held.source for held in router.parked.queues[0]] == [second] and not router.local
    assert isinstance(cluster.answer(second), Stored)  # after a while: who does not answer may never do


def test_what_waits_for_others_on_their_way_goes_when_the_last_of_them_is_answered() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    cluster.lose = lambda sender, send: isinstance(send.message, Bucketed) and isinstance(send.message.message, Append)
    ids, until_us = [cluster.next_id() for _ in range(4)], cluster.now_us + 20 * SECOND
    submits = [Submit(id, 0, build([IN_ZERO], [b"v"]), until_us, 4) for id in ids]
    cluster.happen(leader, *submits[:3])
    router = cluster.core(leader).router
    numbers = list(router.local)
    router.parked.put(held_of(1 << 20, submits[3]))
    router.count, router.bytes = router.count + 1, router.bytes + submits[3].batch.length
    stored = [Answered(number, Stored(Receipt(0, 0))) for number in numbers]
    router.answered(stored[:2])
    assert router.parked.queues and router.ways.total == 1
    router.answered(stored[2:])
    assert not router.parked.queues and router.ways.total == len(router.local) == router.count == 1


def test_what_comes_in_the_turn_in_which_its_node_departs_is_unknown_and_nonsense_is_refused() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    cluster.pause(leader)
    cluster.happen(next(node for node in "abc" if node != leader), Leave(leader))
    cluster.run(3)
    places = {0: (0, 4), 1: (-1, 4), 2: (4, 4), 3: (10**6, 4), 4: (0, 0), 5: (0, 3), 6: (1, 4), 7: (0, 4)}
    ids, until_us = {place: cluster.next_id() for place in places}, cluster.now_us + 20 * SECOND
    for place, (bucket, level) in places.items():
        cluster.happen(leader, Submit(ids[place], bucket, build([IN_ZERO], [b"v"]), until_us, level))
    cluster.resume(leader)  # all that came meanwhile, its departure too, is one turn
    outcomes = {place: type(cluster.answer(id)) for place, id in ids.items()}
    assert outcomes == {place: Unknown if where == (0, 4) else Invalid for place, where in places.items()}
    router = cluster.core(leader).router
    assert not router.local and not router.away and router.count == router.bytes == router.ways.total == 0


def test_a_member_that_comes_back_at_another_address_is_fed_there() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    member = next(node for node in "abc" if node != leader)
    assert stored(cluster, leader, IN_ZERO)
    roster = cluster.core(leader).consensus.roster
    before = roster.participants[member]
    cluster.crash(member)
    cluster.nodes[member].address = "moved"
    cluster.start(member)
    assert stored(cluster, leader, IN_ZERO)
    after = roster.participants[member]
    assert after.address == "moved" != before.address and after.incarnation == before.incarnation


def test_one_with_an_older_table_waits_for_the_newer_one() -> None:
    cluster = formed(3)
    follower = next(node for node in "abc" if node != cluster.leader(0))
    other = next(node for node in "abc" if node not in (follower, cluster.leader(0)))
    version = cluster.table.version
    hop = Hop(other, Process(1, 1), 1, 1, version + 1, 0, build([IN_ZERO], [b"v"]), 3 * SECOND, 4, None)
    cluster.sent.clear()
    cluster.happen(follower, Received(other, hop))
    cluster.run(0.05)
    assert not hops(cluster)
    assert cluster.core(follower).router.met_newer == 1
    cluster.order(Move(0, (follower, *[node for node in "abc" if node != follower])))
    cluster.run(2)
    answers = [send.message for _, send in cluster.sent if isinstance(send.message, HopAnswer)]
    assert [answer.process for answer in answers] == [Process(1, 1)]
    assert isinstance(answers[0].outcome, Stored)


def test_nothing_goes_round_in_circles() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    hop = Hop("a", Process(1, 1), 1, Settings().hops_max, 0, 0, build([IN_ZERO], [b"v"]), SECOND, 4, None)
    wrong = next(node for node in "abc" if node != leader)
    cluster.sent.clear()
    cluster.happen(wrong, Received("a", hop))
    answers = [send.message for _, send in cluster.sent if isinstance(send.message, HopAnswer)]
    assert [type(answer.outcome) for answer in answers] == [NotLeader]
    assert not hops(cluster)


def test_a_stream_keeps_its_order_through_moves() -> None:
    cluster = formed(4, 1)
    previous, ids = -1, []
    for series in range(120):
        if series % 30 == 10:
            leader = cluster.leader(0)
            order = [*[node for node in "abcd" if node != leader], leader]
            cluster.order(Move(0, tuple(order[:3])), at="a")
        ids.append(cluster.submit("d", b"k", b"%d" % series, connection=7, series=series, previous=previous, seconds=5))
        previous = series
        cluster.run(0.005)
    outcomes = [cluster.answer(id) for id in ids]
    unknown = [n for n, outcome in enumerate(outcomes) if not isinstance(outcome, Stored | Repeated)]
    assert {type(outcomes[n]) for n in unknown} <= {Unknown, Gap}
    cluster.run(2)
    leader = cluster.leader(0)
    values = [
        int(value)
        for batch in cluster.nodes[leader].vaults[0].synced_batches()
        if batch.header.connection == 7 or batch.header.flags
        for value in batch.values()
        if value and value.isdigit()
    ]
    assert values == sorted(set(values))
    assert set(values) >= {n for n, outcome in enumerate(outcomes) if isinstance(outcome, Stored)}


def test_a_stampede_is_refused_with_times_to_come_again_that_differ() -> None:
    cluster = Cluster(Settings(held_count_max=400))
    cluster.add("a")
    ids = [cluster.submit("a", b"k", seconds=20) for _ in range(200)]
    cluster.run(0.1)
    refused = [cluster.answers[id] for id in ids if id in cluster.answers]
    assert len(refused) == 150
    assert {type(outcome) for outcome, _ in refused} == {Busy}
    assert len({retry_us for _, retry_us in refused}) > 100
    base = Settings().retry_us
    assert all(base <= retry_us <= 2 * base for _, retry_us in refused)


@pytest.mark.parametrize("late", [False, True])
def test_an_answer_of_an_earlier_process_is_not_taken_for_one_of_this(late: bool) -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    other = next(node for node in "abc" if node != leader)
    cluster.sent.clear()
    cluster.lose = lambda sender, send: isinstance(send.message, HopAnswer)
    first = cluster.next_id()
    cluster.happen(other, Submit(first, 0, build([IN_ZERO], [b"v"]), cluster.now_us + 60 * SECOND, 4))
    cluster.run(0.1)
    (answer,) = [send.message for _, send in cluster.sent if isinstance(send.message, HopAnswer)]
    if late:
        cluster.crash(other)
        cluster.start(other)
        cluster.until(lambda: cluster.core(other).here.member is not None)
        cluster.lose = lambda sender, send: isinstance(send.message, Hop)
        second = cluster.next_id()
        cluster.happen(other, Submit(second, 0, build([IN_ZERO], [b"w"]), cluster.now_us + 60 * SECOND, 4))
        cluster.happen(other, Received(leader, answer))
        assert second not in cluster.answers
    else:
        cluster.happen(other, Received(leader, answer))
        assert isinstance(cluster.answers[first][0], Stored)


@pytest.mark.parametrize(("bucket", "buckets"), [(-1, 1), (7, 1), (1, 3), (0, 8192), (1, 4)])
def test_who_cuts_a_batch_for_a_bucket_that_its_keys_do_not_live_in_is_told_so(bucket: int, buckets: int) -> None:
    cluster = formed(1, 4)
    id = cluster.next_id()
    cluster.happen("a", Submit(id, bucket, build([IN_ZERO], [b"v"]), cluster.now_us + 5 * SECOND, buckets))
    answer = cluster.answer(id)
    assert isinstance(answer, Invalid) and f"bucket {bucket} of {buckets}" in answer.reason


def test_who_has_cut_it_finer_than_the_buckets_are_is_told_how_they_are_in_the_end() -> None:
    """Not at once: it may know more than we do."""
    cluster = formed(1, 4)
    id = cluster.next_id()
    bucket = bucket_of(key_hash(IN_ZERO), 8)
    cluster.happen("a", Submit(id, bucket, build([IN_ZERO], [b"v"]), cluster.now_us + 8 * SECOND, 8))
    cluster.run(4)
    assert id not in cluster.answers
    assert cluster.answer(id) == Misplaced(4)


def test_the_leader_and_the_node_that_took_a_stream_die_together_and_nothing_is_stored_twice() -> None:
    cluster = formed(5, 4)
    leader = cluster.leader(0)
    others = [node for node in "abcde" if node != leader]
    first = cluster.submit(others[0], IN_ZERO, b"once", connection=7, series=0, seconds=20)
    cluster.run(0.0008)  # it is on its way, or stored, and not answered
    cluster.crash(leader, others[0])
    assert first not in cluster.answers
    again = cluster.submit(others[1], IN_ZERO, b"once", connection=7, series=0, seconds=20)
    assert isinstance(cluster.answer(again, 20), Stored | Repeated)
    for member in cluster.table.buckets[0].full:
        batches = cluster.nodes[member.node].vaults[0].synced_batches()
        assert [value for batch in batches for value in batch.values()].count(b"once") == 1
