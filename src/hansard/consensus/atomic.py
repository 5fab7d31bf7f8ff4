"""What an atomic log is to whoever uses it, whichever implementation it has.

There are two: the embedded one (`consensus.py`), and a sequencer in one place for the simulator
(`sim/atomic/trivial.py`); an etcd would be a third. All of them pass `tests/consensus/conformance.py`. What an
implementation needs besides, such as messages and disks, is its own affair: further events and effects that it alone
has.

Each participant has one `AtomicLog`, with a `Machine` on top. What holds for all of them:

**One sequence.** Every machine is told the same facts with the same indexes in the same order. What was told is never
taken back or changed. A machine that starts, or has missed too much, is restored to the state before some index
instead (`Restored`), and goes on from there. What a process that restarts is told begins again at some state, perhaps
an empty one, and may for a while be less than what the process before had been told.

**Once, in order.** What one process proposes is told once (`Proposed`), in the order in which it was proposed,
through departures and new lives of its participant as well. If the process ends first, each of its proposals that was
not settled may or may not be told, but no later than the first one of the next process of the same participant:
whoever wants to know what became of them settles something, looks, and proposes again what is missing.

**Liveness is in the log.** A participant that starts arrives by itself (`Arrived`; in a cluster that follows rules
which it does not know, it does not, and says so: `Outdated`). One that comes back under another address or in another
zone has `Moved`. One that is not heard for longer than its lease has `Departed`, nobody else has, and whoever lives
and has departed arrives again by itself as the next incarnation. So the facts about a node are those of incarnation
1, 2, 3 ..., and of each: Arrived, any number of Moved, Departed. That somebody has departed does not mean that it has
stopped, or knows it.

**No promise about time.** While a participant is cut off from the others, or the others are too few, it is told
nothing new and nothing is answered; it all happens afterwards. Nothing here is untrue because a clock was wrong or a
process was slow, except that it may have departed.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from .cluster import NodeId
from .effect import AnswerRead, Applied, Departing, Effect, Led, Left, Outdated, Refused, Restored, Settled
from .event import Leave, Propose, Raise, Read, Tick

Asked = Propose | Read | Leave | Raise | Tick
"""The events that every implementation takes.

    Propose   a proposal, under an id that is not used twice in this process. Never given up while the process lives.
    Read      answered when this machine has all that anybody was told of, or had settled, before it was asked.
    Leave     one participant, in the incarnation that it has now, has departed. Oneself does not arrive again then,
              and is told when it may stop (`Left`). What was proposed before and is not settled yet may be lost.
    Raise     newer rules (`Upgraded`), if everybody who takes part knows them when the log comes to it. Nothing comes
              of it otherwise, and nobody is told.
    Tick      comes again and again, whatever else does: a third of a heartbeat apart.
"""

Told = Applied | Restored | Settled | AnswerRead | Led | Departing | Left | Refused | Outdated
"""The effects that every implementation has.

    Applied     the machine here was told this fact, or nothing if the entry says nothing new. Indexes have no gaps.
    Restored    the machine here has the state before this index. It only ever goes ahead.
    Settled     the proposal with this id has been told to the machine here, or is in the state that it was restored to.
                Once for each id.
    AnswerRead  the machine has come to `end`, which is far enough. At most once for each id.
    Led         somebody leads, where somebody does: a hint for people, on which nothing depends.
    Departing   this participant has departed, in its life until now. Comes some time after the fact, or never if the
                process ends before it hears of it.
    Left        this participant wanted to go, and nobody needs it any more. Nothing comes of further events.
    Refused     this participant cannot arrive at present, and goes on trying: another life of it is there.
    Outdated    the cluster follows newer rules than this participant knows. Its machine is told nothing that these
                rules are for.
"""


class AtomicLog(Protocol):
    @property
    def me(self) -> NodeId: ...

    def turn(self, events: Iterable[Asked], now_us: int) -> Sequence[Effect]:
        """Some things have happened, by this time, which never goes back. What is to be done now, in this order: the
        common effects (`Told`), and those that the implementation has besides."""
        ...
