"""A small world: who there is, who governs one after the other, what clients do, and what fails."""

from msgspec import Struct
from msgspec.structs import replace

from hansard.batch import Batch, build
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.lineage import Run
from hansard.phaser.recovered import STATE, NoteContent, State, encode
from hansard.phaser.streams import Image, Streams

from .drive import Drive, Platter

OLD_TERM = 1
"""In which everything was written that is there before a world begins."""


class Submission(Struct, frozen=True):
    """A client's change. Two with the same numbers are one change submitted twice."""

    connection: int
    series: int
    previous: int

    def __str__(self) -> str:
        return f"series {self.series} of connection {self.connection}"

    def batch(self) -> Batch:
        return build(
            [b"k"],
            [b"v"],
            connection=self.connection,
            first_series=self.series,
            previous_series=self.previous,
        )


class World(Struct, frozen=True, kw_only=True):
    name: str
    story: str
    participants: tuple[NodeId, ...] = ("a", "b", "c")
    governments: tuple[Government, ...]
    """In the order in which they are appointed, the first one from the beginning. Each is appointed as soon or as late
    as one likes after the atomic log permits it."""
    submissions: tuple[Submission, ...] = ()
    submissions_max: int = 0
    """How many of them are made, at most."""
    crashes_max: int = 0
    crashing: tuple[NodeId, ...] = ("a", "b", "c")
    """Who may crash."""
    reads_max: int = 0
    """How many linearizable reads are asked, of anybody, at any time, at most."""
    slow: bool = False
    """What is fetched from a disk comes later, as the disk was when it was asked for or as it is then."""
    opened: bool = False
    """It begins with the first government open and at rest, with what was said until then forgotten,
    apart from its Wedges."""
    early: bool = False
    """Submissions may come before there is an open leader, and wait."""
    lean: bool = False
    """What is told in lean.py is left out."""
    before: tuple[Submission, ...] = ()
    """What was stored before the world began. The first government's members have it as a state, and no log of it."""
    remnant: NodeId = ""
    """Who has, instead, the first of it as a log, and an old state."""
    sometimes: tuple[str, ...] = ()
    """What must have happened somewhere."""

    def drives(self) -> dict[NodeId, Drive]:
        """Everybody's disk in the beginning."""
        drives = dict.fromkeys(self.participants, Drive())
        batches = [
            each.batch().stamped(epoch=OLD_TERM, base_offset=offset, timestamp=1)
            for offset, each in enumerate(self.before)
        ]
        if batches:
            full = _kept(batches, with_log=False)
            drives |= dict.fromkeys(self.governments[0].members, full)
        if self.remnant:
            drives[self.remnant] = _kept(batches[:1], with_log=True)
        return drives


def _kept(batches: list[Batch], *, with_log: bool) -> Drive:
    """A disk with a state after these batches, and perhaps with them as a log."""
    end = len(batches)
    streams = Streams(Government(0, "", ("",)).memory_us)
    for batch in batches:
        streams.append(batch)
    streams.commit(end)
    image: Image = streams.image()
    documents = ((STATE, encode(State(end, 1, None, image))),)
    note = encode(NoteContent(OLD_TERM, (Run(OLD_TERM, 0),)))
    log = tuple(batches) if with_log else ()
    return Drive(Platter(0 if with_log else end, log, note, documents))


def shaped(world: World, shape: Shape) -> World:
    return replace(world, governments=tuple([replace(each, shape=shape) for each in world.governments]))
