"""What a disk says of its copy, without a phaser."""

import msgspec
import pytest

from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.government import first_term
from hansard.phaser.lineage import Run
from hansard.phaser.message import Collection
from hansard.phaser.recovered import STATE, Expansion, NoteContent, Standing, State, decode_note, encode, standing
from hansard.phaser.streams import Image

T1 = first_term(1)
KEPT = {STATE: encode(State(6, 1, None, Image(0, ())))}


@pytest.mark.parametrize(
    ("documents", "start", "end", "collection", "counted"),
    [
        (KEPT, 5, 9, None, 3),
        (KEPT, 6, 6, None, 3),
        (KEPT, 0, 9, None, 3),
        ({}, 0, 9, None, 3),
        ({}, 5, 9, None, 0),
        (KEPT, 0, 5, None, 0),
        (KEPT, 7, 9, None, 0),
        (KEPT, 6, 6, Collection(8, 6, T1, 2, 0), 0),
        ({}, 0, 0, Collection(8, 0, T1, 2, 0), 0),
        (KEPT, 5, 9, Collection(8, 6, T1, 2, 0), 3),
    ],
)
def test_a_copy_without_its_state_claims_nothing(
    documents: dict[str, bytes], start: int, end: int, collection: Collection | None, counted: int
) -> None:
    note = encode(NoteContent(first_term(4), (Run(T1, 0),), collection, 3))
    recovered = Recovered(note=note, documents=documents, start=start, end=end)
    assert standing(recovered) == Standing(counted, 0, end, promised=4)
    phaser = Phaser("b", 0, Settings(), recovered)
    assert phaser.standing == Standing(counted, 0, end, promised=4)
    assert phaser.ledger.stated is (counted > 0)


def test_a_note_from_before_there_were_claims_claims_nothing() -> None:
    old = msgspec.msgpack.encode([T1, [[T1, 0]], None])
    assert decode_note(old) == NoteContent(T1, (Run(T1, 0),))
    assert standing(Recovered(note=old, end=3)) == Standing(0, 0, 3, promised=1)
    assert standing(Recovered()) == Standing(0, 0, 0)


@pytest.mark.parametrize(("end", "expanded"), [(6, 0), (7, 4), (8, 4)])
def test_an_expansion_counts_where_the_log_has_it(end: int, expanded: int) -> None:
    """It is noted before the entry is written."""
    note = encode(NoteContent(first_term(4), (Run(first_term(4), 0),), None, 3, Expansion(4, 7)))
    assert standing(Recovered(note=note, end=end)) == Standing(3, expanded, end, promised=4)


@pytest.mark.parametrize(
    ("found", "epoch", "expanded", "suffices"),
    [
        (Standing(3, 0, 9), 3, False, True),
        (Standing(4, 0, 9), 3, False, True),
        (Standing(2, 0, 9), 3, True, False),
        (Standing(2, 3, 9), 3, True, True),
        (Standing(2, 3, 9), 3, False, False),
        (Standing(3, 2, 9), 3, False, True),
    ],
)
def test_who_may_revive_a_bucket(found: Standing, epoch: int, expanded: bool, suffices: bool) -> None:
    assert found.suffices(epoch, expanded=expanded) is suffices
