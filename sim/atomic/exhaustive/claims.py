"""What lean.py claims of an `Append`, tried out on the core wherever one is heard.

Lean worlds take every `Append` apart. A core that made something else of the whole than of its parts would be wrong
there, and nobody would see it. So a world that is `tried` compares, for each participant that may hear an entry or a
commit point: the same with any commit point, with the entries before it that are there already, and with the next one.
It takes time, so only small worlds are.
"""

from collections.abc import Callable

from msgspec.structs import replace

from hansard.consensus.event import Received
from hansard.consensus.message import Append, Message

from .participant import Participant

AHEAD = 2
"""How far a commit point may be beyond all that is known."""

Posted = Callable[[Append], Received]
Content = Callable[[Participant], object]


def check_commit_points(before: Participant, append: Append, posted: Posted, content: Content) -> None:
    """With a commit point it is what it is without, and then that point, as far as the log is known to match; or, where
    it does not fit, it is nothing more than without."""
    bare, _ = before.taking([posted(append)])
    core, following = bare.core, bare.core.seat.following
    if following is None or append.term != core.term:
        return
    for point in range(core.log.start, core.log.end + AHEAD):
        whole, _ = before.taking([posted(replace(append, committed=max(point, append.committed)))])
        possible = [content(bare)]
        end = min(point, following.matched)
        previous = core.log.term_before(end)
        if end > core.committed and previous is not None:
            apart, _ = bare.taking([posted(Append(append.term, end, previous, (), end, 0))])
            possible.append(content(apart))
        assert content(whole) in possible, f"{append} up to {point} is not what its parts are"


def check_repeated(before: Participant, append: Append, posted: Posted, content: Content) -> None:
    """With entries before it that are there already as the leader has them it is what it is without."""
    core, following = before.core, before.core.seat.following
    if following is None or append.term != core.term or not core.log.start < append.start <= following.matched:
        return
    bare, _ = before.taking([posted(append)])
    for start in range(core.log.start, append.start):
        previous = core.log.term_before(start)
        assert previous is not None
        there = core.log.entries[start - core.log.start : append.start - core.log.start]
        longer = replace(append, start=start, previous_term=previous, entries=(*there, *append.entries))
        whole, _ = before.taking([posted(longer)])
        assert content(whole) == content(bare), f"{append} with {there} before it is not what it is without"


def check_joined(before: Participant, one: Append, other: Append, posted: Posted, content: Content) -> None:
    """Both at once are what they are one after the other; or, where the first does not fit, nothing."""
    whole, _ = before.taking([posted(replace(one, entries=(*one.entries, *other.entries)))])
    first, _ = before.taking([posted(one)])
    apart, _ = first.taking([posted(other)])
    possible = [content(apart)] if first.core.log.end > one.start else [content(first)]
    assert content(whole) in possible, f"{one} and {other} at once are not what they are one after the other"


def joinable(one: Message, other: Message) -> bool:
    """Whether they may come in one message, of one leader."""
    if not (isinstance(one, Append) and isinstance(other, Append) and one.entries and other.entries):
        return False
    end = (one.term, one.start + len(one.entries), one.entries[-1].term)
    return end == (other.term, other.start, other.previous_term)
