"""The small worlds that are explored: who there is, who governs one after the other, what clients do, what fails."""

from msgspec import Struct
from msgspec.structs import replace

from hansard.phaser.government import Government, Shape

from .drive import Drive


class Submission(Struct, frozen=True):
    """A client's change. Two with the same numbers are one change submitted twice."""

    connection: int
    series: int
    previous: int


class World(Struct, frozen=True, kw_only=True):
    name: str
    story: str
    participants: tuple[str, ...] = ("a", "b", "c")
    governments: tuple[Government, ...]
    """In the order in which they are appointed, the first one from the beginning. Each is appointed as soon or as late
    as one likes after the atomic log permits it."""
    submissions: tuple[Submission, ...] = ()
    submissions_max: int = 0
    """How many of them are made, at most."""
    crashes_max: int = 0
    crashing: tuple[str, ...] = ("a", "b", "c")
    """Who may crash."""
    read: bool = False
    """One linearizable read is asked, of anybody, at any time."""
    opened: bool = False
    """It begins with the first government open and at rest, with what was said until then forgotten."""
    early: bool = True
    """Submissions may come before there is an open leader, and wait."""
    lean: bool = False
    """What is told in lean.py is left out."""
    before: tuple[Submission, ...] = ()
    """What was stored before the world began, and is not in anybody's log any more."""
    sometimes: tuple[str, ...] = ()
    """What must have happened somewhere."""

    def drives(self) -> dict[str, Drive]:
        """Everybody's disk in the beginning."""
        return {name: Drive() for name in self.participants}


def shaped(world: World, shape: Shape) -> World:
    return replace(world, governments=tuple([replace(each, shape=shape) for each in world.governments]))


FIRST = Submission(1, 1, -1)
SECOND = Submission(1, 2, 1)
ABC = Government(1, "a", ("a", "b", "c"))

_ALL = (
    World(
        name="calm",
        story="One government of three, one change, nothing fails.",
        governments=(ABC,),
        submissions=(FIRST,),
        submissions_max=1,
        sometimes=("opened", "stored in epoch 1"),
    ),
    World(
        name="pair-usurp",
        story="Two members; the other one is appointed, and the client submits again.",
        participants=("a", "b"),
        governments=(Government(1, "a", ("a", "b")), Government(2, "b", ("b", "a"))),
        submissions=(FIRST, FIRST),
        submissions_max=2,
        sometimes=("opened", "stored in epoch 1", "stored in epoch 2", "repeated", "unrolled", "refused"),
    ),
    World(
        name="pair-crash",
        story="Two members, of which one crashes and comes back with what its disk had.",
        participants=("a", "b"),
        governments=(Government(1, "a", ("a", "b")),),
        submissions=(FIRST, SECOND),
        submissions_max=2,
        crashes_max=1,
        sometimes=("opened", "stored in epoch 1", "crashed", "unrolled"),
    ),
    World(
        name="pair",
        story="Two members, two submissions, a crash and a new appointment.",
        participants=("a", "b"),
        governments=(Government(1, "a", ("a", "b")), Government(2, "b", ("b", "a"))),
        submissions=(FIRST, SECOND, FIRST),
        submissions_max=2,
        crashes_max=1,
        sometimes=("opened", "stored in epoch 1", "stored in epoch 2", "repeated", "unrolled", "refused", "crashed"),
    ),
    World(
        name="usurp",
        story="Three members, of which the second leads after the first, without it.",
        governments=(ABC, Government(2, "b", ("b", "c"))),
        submissions=(FIRST, SECOND, FIRST),
        submissions_max=2,
        crashes_max=1,
        opened=True,
        early=False,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "repeated", "unrolled", "refused", "crashed"),
    ),
)

WORLDS = {world.name: world for world in _ALL}
