"""What a seed decides: the shape of the world, which faults it knows, and the schedule of them.

Swarm testing: each seed picks some of the faults, because a world with all of them at once is mostly a world in which
nothing gets far enough to go wrong.
"""

from random import Random
from typing import Final

from msgspec import Struct

from hansard.phaser import Settings
from hansard.phaser.government import Shape

FAULTED_US: Final = 60_000_000
"""Faults happen for this long."""
KINDS: Final = (
    "crash",
    "crash",
    "crash two",
    "pause",
    "cut",
    "cut one way",
    "isolate",
    "reset",
    "slow",
    "stall",
    "depart",
    "depart",
    "switch",
    "switch",
    "contract",
    "expand",
    "expand",
    "expand",
    "trim",
    "deaf",
    "hold",
    "burst",
    "newcomer",
    "wipe",
    "betray",
    "switch twice",
    "coup",
)
ACCLIMATION: Final = ("trim", "expand", "newcomer", "newcomer", "wipe", "betray", "contract", "switch")
"""What makes newcomers begin from nothing, and disturbs them."""


class Fault(Struct, frozen=True):
    """Something that the nemesis does, and for how long. What it does it to is drawn when it is done."""

    at_us: int
    kind: str
    length_us: int
    draw: int
    """Seeds its choices, so that leaving out one fault leaves the others as they are."""


class Plan(Struct, frozen=True):
    seed: int
    shape: Shape
    settings: Settings
    bucket: int
    places: int
    members: int
    clients: int
    strangers: int
    gap_us: int
    """Between a client's submissions, on average."""
    range_end: int
    """Of each connection's series."""
    memory_us: int
    idle: bool
    """Some clients fall silent for long enough to be forgotten."""
    ordered: bool
    loss: float
    double: float
    rates: tuple[float, ...]
    sync_us: int
    """What a disk takes to sync, at the least."""
    edict_us: int
    """What the atomic log takes to take in a report, at the most."""
    real_store: bool
    """The real storage on the simulated disk."""
    thorough: bool
    """The invariants are looked at after every turn."""
    faults: tuple[Fault, ...]


def plan(seed: int) -> Plan:
    random = Random(seed)
    chaotic = random.random() < 0.4
    idle = random.random() < 0.4
    drifting = random.random() < 0.3
    places = random.choice((4, 4, 5))
    clients = random.choice((2, 3, 4))
    return Plan(
        seed=seed,
        shape=random.choice((Shape.STAR, Shape.CHAIN)),
        settings=_settings(random),
        bucket=0,
        places=places,
        members=random.choice((2, 3, 3, 3)),
        clients=clients,
        strangers=random.choice((0, 1)),
        gap_us=clients * random.choice((210_000, 240_000, 270_000)),
        range_end=random.choice((30, 60, 1 << 40)),
        memory_us=random.choice((12_000_000, 20_000_000)) if idle else 3_600_000_000,
        idle=idle,
        ordered=not chaotic,
        loss=random.choice((0.0, 0.01, 0.05)) if chaotic else 0.0,
        double=random.choice((0.0, 0.02, 0.1)) if chaotic else 0.0,
        rates=tuple([random.uniform(0.5, 2.0) if drifting else 1.0 for _ in range(places)]),
        sync_us=random.choice((300, 300, 3_000, 20_000)),
        edict_us=random.choice((20_000, 20_000, 400_000)),
        real_store=random.random() < 0.1,
        thorough=random.random() < 0.3,
        faults=_faults(random),
    )


def _settings(random: Random) -> Settings:
    tight = random.random() < 0.3
    return Settings(
        backlog_count_max=random.choice((4, 50)),
        backlog_bytes_max=10_000 if tight else 1_000_000,
        patience_us=random.choice((500_000, 2_000_000)),
        flight_bytes_max=1_000 if tight else 100_000,
        tail_bytes_max=1_000 if tight else 20_000,
        fetch_bytes=2_000,
        merge_bytes=10_000,
        part_bytes=random.choice((20, 40, 200)),
        resend_us=500_000,
        checkpoint_batches=random.choice((5, 20)),
    )


def _faults(random: Random) -> tuple[Fault, ...]:
    kinds = [kind for kind in KINDS if random.random() < 0.5] or ["crash"]
    if random.random() < 0.25:
        kinds = [*ACCLIMATION, random.choice(KINDS)]
    busy_us = random.choice((1_500_000, 3_000_000, 6_000_000))
    faults: list[Fault] = []
    at_us = 1_000_000 + int(random.random() * busy_us)
    while at_us < FAULTED_US:
        length_us = int(random.choice((100_000, 1_000_000, 4_000_000)) * (0.5 + random.random()))
        faults.append(Fault(at_us, random.choice(kinds), length_us, random.getrandbits(32)))
        # Two faults at nearly the same time find more than two apart.
        at_us += int(random.expovariate(1) * busy_us) if random.random() < 0.7 else random.randrange(20_000)
    return tuple(faults)
