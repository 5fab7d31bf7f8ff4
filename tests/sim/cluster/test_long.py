"""From one bucket to a thousand, one doubling after the other, under clients that go on with their streams and readers
that go on from their bookmarks."""

from hansard.bookmark import Bookmark
from hansard.distributor.command import Double
from hansard.distributor.orders import Standing
from hansard.distributor.settings import Settings
from sim.cluster.oracles.readers import SeenOnce
from sim.cluster.world import World
from tests.sim.cluster.quiet import SECOND, begun, quiet
from tests.sim.cluster.test_splits import levels, settled

MOST = 1024
STEP_US = SECOND // 20


def doubled(world: World, to: int) -> None:
    order = world.operator.order(Double(to))
    acknowledged, until_us = world.traffic.acknowledged, world.clock.now_us + 10 * SECOND
    while world.operator.standing(order) is not Standing.DONE or world.traffic.acknowledged < acknowledged + 10:
        assert world.clock.now_us < until_us, f"{to} buckets are not there: {levels(world)}"
        world.clock.run_until(world.clock.now_us + STEP_US)
    assert levels(world) == [to] * to


def test_one_bucket_becomes_a_thousand_while_everybody_goes_on() -> None:
    planned = quiet(3, 1, 2, buckets_max=MOST, gap_us=12_000, table=Settings(replication=2, moves_max=64), readers=2)
    world = begun(planned, 4)
    reader, connections = world.readers[0], [client.connection for client in world.clients]
    assert reader.bookmark is not None and len(reader.seen) > 50 and all(connections)
    token, seen = str(reader.bookmark), list(reader.seen)
    buckets = 1
    while buckets < MOST:
        buckets *= 2
        doubled(world, buckets)
    settled(world)
    counts = world.coverage.counts
    assert counts["split"] == MOST - 1 and counts["doubling finished"] == 10
    assert counts["fork"] >= 2 * (MOST - 1), "each copy; and some that nobody needs any more"
    assert counts["batch cut anew"] > 50 and counts["batch cut into several"] > 0 and counts["bookmark split"] > 5
    assert [client.connection for client in world.clients] == connections, "a stream is one through all of them"
    assert counts["answer Broken"] == 0 and world.traffic.acknowledged > 400
    pauses_us = sorted([pause_us for pause_us, _ in world.pauses.split])
    assert len(pauses_us) == 2 * (MOST - 1) and pauses_us[-1] < SECOND
    # A bookmark from when there was one bucket is good for all thousand: nothing is missed, nothing comes again.
    reader.bookmark, reader.seen = Bookmark.parse(token), seen
    SeenOnce().finish(world)
    assert len(reader.bookmark.offsets) == MOST
