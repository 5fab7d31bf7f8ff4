"""What a seed decides: the shape of the world, which faults it knows, and the schedule of them.

Swarm testing, as in the bucket's world: each seed picks some of the faults, and its own times and bounds.
"""

from random import Random
from typing import Final

from msgspec import Struct

from hansard.consensus.settings import Settings

FAULTED_US: Final = 20_000_000
"""Faults happen for this long."""
KINDS: Final = (
    "crash",
    "crash",
    "crash leader",
    "crash several",
    "crash majority",
    "power cut",
    "pause",
    "pause leader",
    "cut",
    "cut one way",
    "isolate",
    "isolate leader",
    "mute leader",
    "deafen leader",
    "partition",
    "minority leader",
    "slow link",
    "reset",
    "burst",
    "slow disk",
    "stall disk",
    "stall leader",
    "move",
    "move leader",
    "swap",
    "upgrade",
    "raise",
    "leave",
    "leader leaves",
    "give up",
    "wipe",
    "wipe",
    "transfer",
    "transfer",
    "stray",
    "ambush",
    "turncoat",
)
COLLECTING: Final = ("wipe", "ambush", "ambush", "ambush", "crash", "isolate", "pause")
"""What makes participants begin from nothing, and disturbs them while they get the state."""
ELECTING: Final = (
    "crash leader",
    "isolate leader",
    "pause leader",
    "mute leader",
    "deafen leader",
    "transfer",
    "turncoat",
)
COUNCILS: Final = ("wipe", "leave", "leader leaves", "give up", "crash", "crash leader", "isolate", "minority leader")


class Fault(Struct, frozen=True):
    """Something that the nemesis does, and for how long. What it does it to is drawn when it is done."""

    at_us: int
    kind: str
    length_us: int
    draw: int
    """Seeds its choices, so that leaving out one fault leaves the others as they are."""


class Plan(Struct, frozen=True):
    seed: int
    settings: Settings
    places: int
    zones: tuple[str, ...]
    """Of each place."""
    burst: bool
    """All but the founder arrive at the same moment."""
    gap_us: int
    """Between proposals, on average."""
    read_us: int
    """Between reads, on average."""
    length: int
    """Of what is proposed, in bytes, at the most."""
    ordered: bool
    delay_us: int
    loss: float
    double: float
    echo: float
    """How much comes again, much later."""
    close: bool
    """Voters wait for nearly the same time before they ask to be elected."""
    rates: tuple[float, ...]
    """How fast each participant's clock is."""
    sync_us: int
    """What a disk takes to sync, at the least."""
    prompt: bool
    """Each event is a turn of its own; otherwise those that come together are handled together."""
    lazy: bool
    """Disks drop what they may only now and then."""
    encoded: bool
    """Messages travel as bytes."""
    rules: int
    """The newest that the participants know when they are started first."""
    left_down: int
    """So many stay down for ever in the end, if the voters allow it."""
    real_store: bool
    """The real storage on the simulated disk."""
    thorough: bool
    """The invariants are looked at after every turn."""
    faults: tuple[Fault, ...]


def plan(seed: int) -> Plan:
    random = Random(seed)
    chaotic = random.random() < 0.35
    drifting = random.random() < 0.3
    burst = random.random() < 0.06
    places = 9 if burst else random.choice((1, 2, 3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 5, 5, 5, 6, 7))
    zoned = random.random() < 0.3
    settings = _settings(random)
    # Who begins from nothing gets one message after the other, if only one may be under way: then each must be quick.
    sync_max_us = 5_000 if settings.flight_max == 1 else 15_000
    return Plan(
        seed=seed,
        settings=settings,
        places=places,
        zones=tuple([random.choice(("north", "south", "south", "")) if zoned else "" for _ in range(places)]),
        burst=burst,
        gap_us=random.choice((60_000, 100_000, 150_000)),
        read_us=random.choice((150_000, 400_000)),
        length=random.choice((0, 0, 40, 400)),
        ordered=not chaotic,
        delay_us=random.choice((200, 200, 200, 2_000, 10_000)),
        loss=random.choice((0.0, 0.01, 0.05)) if chaotic else 0.0,
        double=random.choice((0.0, 0.02, 0.1)) if chaotic else 0.0,
        echo=random.choice((0.01, 0.05)) if random.random() < 0.3 else 0.0,
        close=random.random() < 0.25,
        rates=tuple([random.uniform(0.93, 1.07) if drifting else 1.0 for _ in range(places)]),
        sync_us=min(random.choice((300, 300, 1_000, 5_000, 15_000)), sync_max_us),
        prompt=random.random() < 0.5,
        lazy=random.random() < 0.4,
        encoded=random.random() < 0.05,
        rules=random.choice((1, 1, 2)),
        left_down=random.choice((0, 0, 0, 1, 1, 2)),
        real_store=random.random() < 0.03,
        thorough=random.random() < 0.2,
        faults=_faults(random),
    )


def _settings(random: Random) -> Settings:
    heartbeat_us = random.choice((60_000, 80_000, 100_000))
    election_us = int(heartbeat_us * random.choice((3, 4, 5)))
    compact_entries = random.choice((6, 12, 30, 100, 2048))
    return Settings(
        heartbeat_us=heartbeat_us,
        election_us=election_us,
        lease_us=int(election_us * random.choice((1.5, 2, 2, 4))),
        resend_us=random.choice((100_000, 200_000)),
        append_entries_max=random.choice((2, 8, 512)),
        append_bytes_max=random.choice((2_000, 1 << 20)),
        flight_max=random.choice((1, 2, 8)),
        compact_entries=compact_entries,
        keep_entries=random.choice((1, 4, compact_entries - 1)),
        part_bytes=random.choice((60, 150, 1000)),
        promote_entries=random.choice((2, 10, 64)),
    )


def _faults(random: Random) -> tuple[Fault, ...]:
    kinds = [kind for kind in KINDS if random.random() < 0.4] or ["crash leader"]
    draw = random.random()
    if draw < 0.15:
        kinds = [*COLLECTING, random.choice(KINDS)]
    elif draw < 0.3:
        kinds = [*ELECTING, random.choice(KINDS)]
    elif draw < 0.45:
        kinds = [*COUNCILS, random.choice(KINDS)]
    busy_us = random.choice((500_000, 1_000_000, 1_500_000))
    faults: list[Fault] = []
    at_us = 1_000_000 + int(random.random() * busy_us)
    while at_us < FAULTED_US:
        length_us = int(random.choice((50_000, 400_000, 1_500_000)) * (0.5 + random.random()))
        faults.append(Fault(at_us, random.choice(kinds), length_us, random.getrandbits(32)))
        # Two faults at nearly the same time find more than two apart.
        at_us += int(random.expovariate(1) * busy_us) if random.random() < 0.75 else random.randrange(20_000)
    return tuple(faults)
