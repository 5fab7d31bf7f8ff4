"""A bucket that is split pauses for as long as its members take to agree on that, however much is in it: its history is
shared, and neither read again nor written or sent while it pauses."""

from msgspec import Struct

from hansard.distributor.command import Double
from hansard.participant.effect import Fetch, Fork, Load, Persist, Send
from hansard.participant.message import Bucketed
from hansard.participant.settings import Settings
from hansard.phaser.effect import Put
from hansard.phaser.message import Append, Part
from hansard.phaser.outcome import Stored
from hansard.phaser.settings import Settings as BucketSettings
from tests.participant.cluster import SECOND, Cluster

CHECKPOINT = 10
SHORT, LONG = 3 * CHECKPOINT, 60 * CHECKPOINT


class Pause(Struct, frozen=True):
    """Of a bucket that was split when it had so much."""

    length_us: int
    """From when it is in the log until both halves are open by it."""
    written: int
    """Batches that were written meanwhile, on all disks."""
    sent: int
    """Batches and parts of snapshots that were sent."""
    fetched: int
    """Times that something was read from a log."""
    replayed: int
    """Batches that the halves' new copies were derived from."""
    forks: int


def split(history: int) -> Pause:
    cluster = Cluster(Settings(phaser=BucketSettings(checkpoint_batches=CHECKPOINT)))
    cluster.add(*"abc")
    cluster.found(1, participants=3)
    cluster.steady()
    for number in range(history):
        assert isinstance(cluster.answer(cluster.submit("a", b"key %d" % number)), Stored)
    cluster.run(3 - (cluster.now_us % SECOND) / SECOND)  # at a full second: what goes on beside it is the same
    assert len(cluster.nodes["c"].vaults[0].synced_batches()) > history
    told = len(cluster.told)
    cluster.order(Double(2))
    cluster.until(lambda: cluster.table.buckets[0].level == 2)
    begun_us = cluster.now_us
    cluster.until(lambda: not any(record.splitting for record in cluster.table.buckets))
    effects = [effect for _, effect in cluster.told[told:]]
    messages = [effect.message for effect in effects if isinstance(effect, Send)]
    writes = [write for effect in effects if isinstance(effect, Persist) for write in effect.writes]
    loads = [effect for effect in effects if isinstance(effect, Load)]
    assert [load.bucket for load in loads] == [1, 1, 1]
    recovered = [cluster.nodes[name].vaults[1].recover() for name in "abc"]
    return Pause(
        cluster.now_us - begun_us,
        sum([isinstance(write, Put) for write in writes]),
        sum([isinstance(one, Bucketed) and isinstance(one.message, Append | Part) for one in messages]),
        sum([isinstance(effect, Fetch) for effect in effects]),
        sum([len(list(one.batches)) for one in recovered]),
        sum([isinstance(effect, Fork) for effect in effects]),
    )


def test_a_split_takes_as_long_with_a_long_history_as_with_a_short_one() -> None:
    short, long = split(SHORT), split(LONG)
    assert long == short
    assert short.length_us < SECOND // 50, "a few messages and a few syncs"
    decree = 1  # of the half that opens first
    assert (short.written, short.sent) == (3 * decree, 2 * decree)
    assert (short.fetched, short.forks) == (0, 3)
    assert 0 < short.replayed <= 3 * 2 * CHECKPOINT, "what came after the last state, on each of three disks"
