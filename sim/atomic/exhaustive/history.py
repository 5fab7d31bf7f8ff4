"""What was ever known to be committed, by anybody, whoever has crashed since."""

from typing import Final, NamedTuple

from hansard.consensus.content import Begin, Entry, Proposal

from .world import number_of


class Tag(NamedTuple):
    """An entry, as far as it matters here."""

    term: int
    proposal: int
    """Its number; 0 for what a leader begins with."""


class Committed(NamedTuple):
    tag: Tag
    term: int
    """In which it became known."""


History = tuple[Committed, ...]
Tags = tuple[Tag, ...]

NOTHING_COMMITTED: Final[History] = ()


def tag_of(entry: Entry) -> Tag:
    match entry.content:
        case Begin():
            return Tag(entry.term, 0)
        case Proposal():
            return Tag(entry.term, number_of(entry.content))
        case _:
            raise AssertionError(f"not expected here: {entry}")


def extended(history: History, committed: Tags, term: int) -> History:
    """With what somebody has come to know. That it agrees with what was known is checked elsewhere."""
    return (*history, *[Committed(tag, term) for tag in committed[len(history) :]])
