"""What a seed decides: the shape of the cluster, which faults it knows, and the schedule of them.

Swarm testing, as in the other worlds: each seed picks some of the faults, and its own times and bounds. Most clusters
are small and slow, because that is cheap; some are large.
"""

from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hansard.consensus.settings import Settings as LogSettings
from hansard.distributor.settings import Settings as TableSettings
from hansard.distributor.settings import Shape
from hansard.participant.settings import Settings
from hansard.phaser.settings import Settings as BucketSettings
from sim.atomic.plan import Fault

FAULTED_US: Final = 25_000_000
"""Faults happen for this long."""
DAY_US: Final = 24 * 3600 * 1_000_000
HOUR_US: Final = 3600 * 1_000_000
RETAINING: Final = 70_000_210
"""Chosen so that the seeds that failed once are still without retention."""
KINDS: Final = (
    "crash",
    "crash",
    "crash leader",
    "crash several",
    "power cut",
    "pause",
    "cut",
    "cut one way",
    "isolate",
    "isolate leader",
    "partition",
    "slow link",
    "reset",
    "burst",
    "slow disk",
    "stall disk",
    "move",
    "swap",
    "leave",
    "give up",
    "wipe",
    "replace",
    "absence",
    "absence",
    "two absences",
    "absence during absence",
    "lose bucket",
    "crash opening leader",
    "give up while opening",
    "depart expanding",
    "depart expanded",
    "drain",
    "undrain",
    "move bucket",
    "release",
    "pause moves",
    "configure",
    "trim",
    "rename",
    "double",
    "double",
    "crash splitting",
    "depart splitting",
    "power cut splitting",
    "reboot",
    "reboot without a disk",
    "reboot with an empty disk",
    "retire",
    "retire all",
)
DEPARTING: Final = (
    "absence",
    "two absences",
    "absence during absence",
    "give up while opening",
    "isolate",
    "leave",
    "pause",
    "crash",
    "retire",
)
MOVING: Final = (
    "move bucket",
    "drain",
    "undrain",
    "depart expanding",
    "depart expanded",
    "crash opening leader",
    "give up while opening",
)
SPLITTING: Final = (
    "double",
    "crash splitting",
    "depart splitting",
    "depart splitting",
    "power cut splitting",
    "absence",
    "move bucket",
    "drain",
    "undrain",
    "reboot",
    "reboot without a disk",
    "reboot with an empty disk",
)
LOSING: Final = ("lose bucket", "lose bucket", "wipe", "absence", "power cut", "crash several", "give up while opening")


class WrongClock(Struct, frozen=True):
    """One machine's clock is wrong, from some time on."""

    place: int
    by_us: int
    at_us: int


class Plan(Struct, frozen=True):
    seed: int
    settings: Settings
    table: TableSettings
    buckets: int
    """When it is founded."""
    buckets_max: int
    """They are not doubled beyond."""
    places: int
    founders: int
    """So many participants have to be there before the buckets are placed."""
    arrivals_us: tuple[int, ...]
    """When each is started first."""
    zones: tuple[str, ...]
    rates: tuple[float, ...]
    """How fast each one's steady clock is."""
    skews_us: tuple[int, ...]
    """How far each one's wall clock is off."""
    wrong_clock: WrongClock | None
    clients: int
    named: int
    """So many of them have names."""
    strangers: int
    readers: int
    gap_us: int
    """Between a client's submissions, on average."""
    range_end: int
    """Of each connection's series."""
    ordered: bool
    delay_us: int
    loss: float
    double: float
    echo: float
    """How much comes again, much later."""
    told: bool
    """Whoever has a way to one that restarts is told of it, as by a connection that breaks."""
    sync_us: int
    prompt: bool
    """Each event is a turn of its own; otherwise those that come together are handled together."""
    lazy: bool
    """Disks drop what they may of the atomic log only now and then."""
    left_down: int
    """So many stay down for ever in the end, if what is left has everything."""
    thorough: bool
    """The invariants are looked at after every turn."""
    faults: tuple[Fault, ...]
    holders: int = 0
    """Who hold on to what they read. Without any, everything is kept."""


def plan(seed: int) -> Plan:
    return _with_retention(_plan(seed))


def _with_retention(plan: Plan) -> Plan:
    """In some clusters not everything is kept. Drawn by itself, so that all others are what they were without it."""
    random = Random(plan.seed + RETAINING)
    if random.random() > 0.25:
        return plan
    kind, table = random.choice(("changes", "changes", "bytes", "age")), plan.table
    changes = random.choice((5, 20, 60)) if kind == "changes" else 0
    byte_count = random.choice((1_000, 5_000)) if kind == "bytes" else 0
    age_us = HOUR_US if kind == "age" else 0  # nothing ever gets that old
    table = replace(table, retain_changes=changes, retain_bytes=byte_count, retain_age_us=age_us)
    return replace(plan, table=table, holders=random.choice((1, 2, 3)))


def _plan(seed: int) -> Plan:
    random = Random(seed)
    large = random.random() < 0.05
    places = random.choice((9, 10, 12)) if large else random.choice((1, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7))
    buckets = random.choice((8, 16, 32)) if large else random.choice((1, 1, 1, 2, 2, 2, 4, 4, 8))
    doublings = random.choice((1, 2, 4)) if large else random.choice((1, 2, 2, 4, 4, 8))
    chaotic = random.random() < 0.3
    zoned = random.random() < 0.2
    drifting = random.random() < 0.5
    clients = random.choice((2, 3, 3, 4))
    replication = random.choice((1, 2, 2, 3, 3, 3, 5))
    settings = _settings(random, chaotic=chaotic)
    return Plan(
        seed=seed,
        settings=settings,
        table=TableSettings(
            replication=replication,
            shape=random.choice((Shape.STAR, Shape.CHAIN)),
            moves_max=random.choice((1, 1, 2, 4)),
            spares=random.choice((0, 0, 1, 2)) if places > replication else 0,
            memory_us=random.choice((HOUR_US, 7 * DAY_US)),
        ),
        buckets=buckets,
        buckets_max=min(buckets * doublings, 32 if large else 16),
        places=places,
        founders=random.randint(1, min(places, 3)),
        arrivals_us=_arrivals(random, places),
        zones=tuple([random.choice(("north", "south", "east")) if zoned else "" for _ in range(places)]),
        rates=tuple([random.uniform(0.98, 1.02) if drifting else 1.0 for _ in range(places)]),
        skews_us=tuple([random.randint(-100_000, 100_000) for _ in range(places)]),
        wrong_clock=_wrong_clock(random, places),
        clients=clients,
        named=random.randint(0, 2),
        strangers=random.choice((0, 1)),
        readers=random.choice((1, 1, 2)),
        gap_us=clients * random.choice((40_000, 55_000, 70_000)),
        range_end=random.choice((40, 1 << 40, 1 << 40)),
        ordered=not chaotic,
        delay_us=random.choice((200, 200, 200, 2_000, 10_000)),
        loss=random.choice((0.0, 0.01, 0.03)) if chaotic else 0.0,
        double=random.choice((0.0, 0.02, 0.1)) if chaotic else 0.0,
        echo=random.choice((0.01, 0.05)) if random.random() < 0.3 else 0.0,
        told=random.random() < 0.7,
        sync_us=random.choice((300, 1_000, 5_000, 15_000)),
        prompt=random.random() < 0.3,
        lazy=random.random() < 0.4,
        left_down=random.choice((0, 0, 0, 1, 1, 2)),
        thorough=random.random() < 0.15,
        faults=_faults(random, settings.consensus.lease_us),
    )


def _arrivals(random: Random, places: int) -> tuple[int, ...]:
    """The founder at once, most of the others soon after it, some in the middle of everything."""
    times = [0]
    for _ in range(places - 1):
        late = random.random() < 0.2
        times.append(random.randrange(4_000_000, 20_000_000) if late else random.randrange(300_000, 1_500_000))
    return tuple(times)


def _wrong_clock(random: Random, places: int) -> WrongClock | None:
    """Never the founder's: as long as that one is alone, its clock is the cluster's."""
    if places < 3 or random.random() > 0.25:
        return None
    by_us = random.choice((-9, -2, 2, 9)) * DAY_US
    return WrongClock(random.randrange(1, places), by_us, random.choice((0, random.randrange(3_000_000, FAULTED_US))))


def _settings(random: Random, *, chaotic: bool) -> Settings:
    # Where messages overtake each other, whatever is in flight behind one that is late is sent again for each of them.
    heartbeat_us = random.choice((100_000, 150_000, 200_000, 240_000))
    election_us = heartbeat_us * random.choice((3, 4))
    compact_entries = random.choice((8, 30, 100, 2048))
    tight = random.random() < 0.3 or chaotic
    log = LogSettings(
        heartbeat_us=heartbeat_us,
        election_us=election_us,
        lease_us=int(election_us * random.choice((1.5, 2, 3))),
        resend_us=random.choice((200_000, 400_000)),
        compact_entries=compact_entries,
        keep_entries=random.choice((1, 4, compact_entries - 1)),
        part_bytes=random.choice((400, 4000)),
    )
    bucket = BucketSettings(
        backlog_count_max=random.choice((4, 50)),
        backlog_bytes_max=10_000 if tight else 1_000_000,
        patience_us=random.choice((500_000, 2_000_000)),
        flight_bytes_max=1_000 if tight else 100_000,
        tail_bytes_max=1_000 if tight else 20_000,
        fetch_bytes=2_000,
        merge_bytes=10_000,
        part_bytes=random.choice((40, 200)),
        resend_us=500_000,
        checkpoint_batches=random.choice((5, 20)),
    )
    return Settings(
        consensus=log,
        phaser=bucket,
        held_count_max=random.choice((6, 1000)),
        patience_us=random.choice((500_000, 2_000_000)),
        connections=random.choice((1, 4, 64)),
        unused_us=random.choice((3_000_000, 60_000_000)),
    )


def _faults(random: Random, lease_us: int) -> tuple[Fault, ...]:
    kinds = [kind for kind in KINDS if random.random() < 0.35] or ["crash leader"]
    draw = random.random()
    if draw < 0.15:
        kinds = [*DEPARTING, random.choice(KINDS)]
    elif draw < 0.3:
        kinds = [*MOVING, random.choice(KINDS)]
    elif draw < 0.4:
        kinds = [*LOSING, random.choice(KINDS)]
    elif draw < 0.8:
        kinds = [*SPLITTING, random.choice(KINDS)]
    busy_us = random.choice((1_000_000, 2_000_000, 3_000_000))
    faults: list[Fault] = []
    at_us = 2_500_000 + int(random.random() * busy_us)
    while at_us < FAULTED_US:
        length_us = int(random.choice((100_000, 600_000, 2 * lease_us)) * (0.5 + random.random()))
        faults.append(Fault(at_us, random.choice(kinds), length_us, random.getrandbits(32)))
        # Two faults at nearly the same time find more than two apart.
        at_us += int(random.expovariate(1) * busy_us) if random.random() < 0.75 else random.randrange(20_000)
    return tuple(faults)
