"""The worlds that are explored.

The exact ones deliver everything at any time, and so they have two participants and few choices. The lean ones (see
lean.py) have three, and more happens in them.
"""

from typing import Final

from hansard.phaser.government import Government

from .world import Submission, World

FIRST: Final = Submission(1, 1, -1)
SECOND: Final = Submission(1, 2, 1)
AB: Final = Government(1, "a", ("a", "b"))
ABC: Final = Government(1, "a", ("a", "b", "c"))
GROWING: Final = Government(1, "a", ("a", "b"), ("c",))

_EXACT: Final = (
    World(
        name="pair-once",
        story="Two members, one of which crashes while a change is stored.",
        participants=("a", "b"),
        governments=(AB,),
        submissions=(FIRST,),
        submissions_max=1,
        crashes_max=1,
        sometimes=("opened in epoch 1", "stored in epoch 1", "crashed", "unrolled"),
    ),
    World(
        name="pair-usurp",
        story="Two members; the other one is appointed, and the client submits again.",
        participants=("a", "b"),
        governments=(AB, Government(2, "b", ("b", "a"))),
        submissions=(FIRST, FIRST),
        submissions_max=2,
        sometimes=("stored in epoch 1", "stored in epoch 2", "repeated in epoch 2", "unrolled", "deposed", "unknown"),
    ),
)

_USURPED: Final = ("stored in epoch 1", "stored in epoch 2", "repeated in epoch 2", "deposed", "unknown")

_LEAN: Final = (
    World(
        name="usurp-calm",
        story="Three members; the second one is appointed without the first. Nothing crashes.",
        governments=(ABC, Government(2, "b", ("b", "c"))),
        submissions=(FIRST, SECOND, FIRST),
        submissions_max=2,
        lean=True,
        sometimes=_USURPED,
    ),
    World(
        name="usurp-once",
        story="The same from the very beginning, with one change, and somebody crashes.",
        governments=(ABC, Government(2, "b", ("b", "c"))),
        submissions=(FIRST,),
        submissions_max=1,
        crashes_max=1,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "deposed", "unknown", "crashed", "unrolled"),
    ),
    World(
        name="usurp",
        story="Three members, two submissions, a crash, and an appointment: the second one leads without the first.",
        governments=(ABC, Government(2, "b", ("b", "c"))),
        submissions=(FIRST, SECOND, FIRST),
        submissions_max=2,
        crashes_max=1,
        opened=True,
        lean=True,
        sometimes=(*_USURPED, "crashed", "unrolled"),
    ),
    World(
        name="fewer",
        story="The leader stays and loses a member; somebody crashes.",
        governments=(ABC, Government(2, "a", ("a", "c"))),
        submissions=(FIRST, FIRST),
        submissions_max=2,
        crashes_max=1,
        opened=True,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "repeated in epoch 2", "crashed", "unrolled"),
    ),
    World(
        name="alone",
        story="Only the last member is left; somebody crashes.",
        governments=(ABC, Government(2, "c", ("c",))),
        submissions=(FIRST, FIRST),
        submissions_max=2,
        crashes_max=1,
        opened=True,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "repeated in epoch 2", "unknown", "crashed"),
    ),
    World(
        name="alone-once",
        story="The same with one change, and it is the leader that crashes.",
        governments=(ABC, Government(2, "c", ("c",))),
        submissions=(FIRST,),
        submissions_max=1,
        crashes_max=1,
        crashing=("a",),
        opened=True,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "unknown", "crashed"),
    ),
    World(
        name="there-and-back",
        story="The lead goes to the second and back to the first, whether or not the second has opened.",
        governments=(ABC, Government(2, "b", ("b", "c")), Government(3, "c", ("c", "b"))),
        submissions=(FIRST, FIRST),
        submissions_max=2,
        opened=True,
        lean=True,
        sometimes=(*_USURPED, "stored in epoch 3", "repeated in epoch 3", "unrolled"),
    ),
    World(
        name="restarts",
        story="The leader and a member restart, in either order, on slow disks.",
        governments=(ABC,),
        submissions=(FIRST, SECOND),
        submissions_max=2,
        crashes_max=2,
        crashing=("a", "b"),
        opened=True,
        lean=True,
        slow=True,
        sometimes=("stored in epoch 1", "crashed", "unrolled"),
    ),
    World(
        name="read-twice",
        story="Two linearizable reads of one member while the other one takes the lead alone.",
        participants=("a", "b"),
        governments=(AB, Government(2, "b", ("b",))),
        submissions=(FIRST,),
        submissions_max=1,
        reads_max=2,
        opened=True,
        lean=True,
        sometimes=("stored in epoch 2", "read in epoch 1", "read in epoch 2", "read refused"),
    ),
    World(
        name="expand",
        story="A newcomer becomes a member, and then leads one of the old ones. Somebody crashes.",
        governments=(GROWING, Government(2, "c", ("c", "b"))),
        submissions=(FIRST,),
        submissions_max=1,
        crashes_max=1,
        opened=True,
        lean=True,
        sometimes=("expanded in epoch 1", "stored in epoch 1", "stored in epoch 2", "deposed", "crashed"),
    ),
    World(
        name="expand-alone",
        story="The newcomer is all that is left.",
        governments=(GROWING, Government(2, "c", ("c",))),
        submissions=(FIRST,),
        submissions_max=1,
        crashes_max=1,
        opened=True,
        lean=True,
        sometimes=("expanded in epoch 1", "stored in epoch 1", "stored in epoch 2", "deposed", "crashed"),
    ),
    World(
        name="fall-back",
        story="While a newcomer is acclimated, the other old member is appointed alone. One of the others crashes.",
        governments=(GROWING, Government(2, "b", ("b",))),
        submissions=(FIRST,),
        submissions_max=1,
        crashes_max=1,
        crashing=("a", "c"),
        opened=True,
        lean=True,
        sometimes=("expanded in epoch 1", "stored in epoch 1", "stored in epoch 2", "deposed", "crashed"),
    ),
    World(
        name="read",
        story="A linearizable read while the lead changes hands.",
        governments=(ABC, Government(2, "b", ("b", "c"))),
        submissions=(FIRST,),
        submissions_max=1,
        reads_max=1,
        opened=True,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "read in epoch 1", "read in epoch 2", "read refused"),
    ),
    World(
        name="read-newcomer",
        story="A linearizable read while a newcomer becomes a member, and then all that is left.",
        governments=(GROWING, Government(2, "c", ("c",))),
        submissions=(FIRST,),
        submissions_max=1,
        reads_max=1,
        opened=True,
        lean=True,
        sometimes=("stored in epoch 1", "stored in epoch 2", "read in epoch 1", "read in epoch 2"),
    ),
    World(
        name="snapshot",
        story="A newcomer needs the state, crashes over it, and leads alone; the client submits what is in the state.",
        governments=(GROWING, Government(2, "c", ("c",))),
        submissions=(FIRST, SECOND),
        submissions_max=1,
        crashes_max=1,
        crashing=("c",),
        opened=True,
        lean=True,
        before=(FIRST, SECOND),
        sometimes=("begun anew", "expanded in epoch 1", "repeated in epoch 2", "crashed"),
    ),
    World(
        name="remnant",
        story="The same with a newcomer that has an old state and too short a log.",
        governments=(GROWING, Government(2, "c", ("c",))),
        submissions=(FIRST, SECOND),
        submissions_max=1,
        crashes_max=1,
        crashing=("c",),
        opened=True,
        lean=True,
        before=(FIRST, SECOND),
        remnant="c",
        sometimes=("begun anew", "expanded in epoch 1", "repeated in epoch 2", "crashed"),
    ),
)

WORLDS: Final = {world.name: world for world in (*_EXACT, *_LEAN)}
