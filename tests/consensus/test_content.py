"""Everything that is stored or sent comes back as it was, through one decoder for each."""

from typing import Any, get_args

import msgspec
import pytest

from hansard.consensus import message
from hansard.consensus.cluster import NO_CLUSTER, ClusterId, Peer
from hansard.consensus.content import (
    Arrive,
    Arrived,
    Begin,
    Content,
    Council,
    Depart,
    Departed,
    Entry,
    Fact,
    Moved,
    Proposal,
    Proposed,
    Upgrade,
    Upgraded,
)
from hansard.consensus.effect import Keep, Note, Put
from hansard.consensus.message import Envelope, Message
from hansard.consensus.recovered import (
    STATE,
    NoteContent,
    State,
    decode_note,
    decode_state,
    encode,
    founding,
    part_name,
    refounding,
)
from hansard.consensus.roster import Former, Image, Participant

A, B = Peer("a", 1 << 63), Peer("b", 2)

CONTENTS: tuple[Content, ...] = (
    Begin(),
    Council(()),
    Council((A, B)),
    Arrive(A, "host:1", 1, A.life),
    Arrive(A, "host:1", 2, 99, 7, "west", 3, b"\x00\xff"),
    Depart(A),
    Upgrade(2),
    Proposal(B, 1, 2, b"bytes"),
    Proposal(B, 1, 2, b""),
)
FACTS: tuple[Fact, ...] = (
    Arrived("a", 1, "host:1", "west", b"things"),
    Moved("a", 1, "host:2", ""),
    Departed("a", 1),
    Upgraded(2),
    Proposed("a", 1, b"bytes"),
)
ENTRIES = tuple(Entry(7, content) for content in CONTENTS)
STATE_SENT = message.Collection(end=10, term=3, total=4, crc=0xDEADBEEF)
MESSAGES: tuple[Message, ...] = (
    message.PreAsk(1, 2, 3),
    message.PreVote(1, True),
    message.Ask(1, 2, 3, False),
    message.Vote(1, False),
    message.Append(1, 2, 3, (), 4, 5),
    message.Append(1, 2, 3, ENTRIES, 4, 5),
    message.Appended(1, 2, 3, 4, 5, True),
    message.Part(1, 2, STATE_SENT, 3, b"part"),
    message.PartKept(1, 2, STATE_SENT, 4),
    message.Abdicate(1),
    message.Offer(CONTENTS, False),
    message.Directions("a", (("a", "host:1"), ("b", "host:2")), "not now", 3),
    message.ReadAsk(1),
    message.ReadAt(1, 2),
    message.Gone(1 << 63, 2),
)
CLUSTER = ClusterId("c", 2)


@pytest.mark.parametrize(("examples", "union"), [(CONTENTS, Content), (FACTS, Fact), (MESSAGES, Message)])
def test_there_is_an_example_of_every_kind_and_its_tag_is_its_own(examples: tuple[object, ...], union: object) -> None:
    kinds: list[Any] = list(get_args(union))
    assert {type(example) for example in examples} == set(kinds)
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert sorted(tags) == list(range(1, len(kinds) + 1))


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: type(content).__name__)
def test_an_entry_comes_back_as_it_was(content: Content) -> None:
    entry = Entry(7, content)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(entry), type=Entry) == entry


def test_facts_come_back_as_they_were() -> None:
    decoder = msgspec.msgpack.Decoder(tuple[Fact, ...])
    assert decoder.decode(msgspec.msgpack.encode(FACTS)) == FACTS


@pytest.mark.parametrize("said", MESSAGES, ids=lambda said: type(said).__name__)
@pytest.mark.parametrize("cluster", [CLUSTER, NO_CLUSTER], ids=["member", "stranger"])
def test_an_envelope_comes_back_as_it_was(said: Message, cluster: ClusterId) -> None:
    envelope = Envelope(cluster, A, "host:1", B.life, said)
    decoder = msgspec.msgpack.Decoder(Envelope)
    assert decoder.decode(msgspec.msgpack.encode(envelope)) == envelope


def test_a_message_that_is_not_known_is_an_error() -> None:
    strange = msgspec.msgpack.encode((CLUSTER, A, "host:1", 0, (99, 1)))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(strange, type=Envelope)


# On disk.

NOTES = (NoteContent(), NoteContent(CLUSTER, A.life, 3, 4, B, STATE_SENT))
STATES = (
    State(),
    State(
        7,
        3,
        (A, B),
        Image((Participant(A, 2, "host:1", "west", 1, 3, 4, 5),), (("b", Former(7, 1, 2, 6, 3)),), 2),
        b"machine",
    ),
)


def test_notes_and_states_come_back_as_they_were() -> None:
    assert [decode_note(encode(note)) for note in NOTES] == list(NOTES)
    assert [decode_state(encode(state)) for state in STATES] == list(STATES)


def test_an_empty_disk_has_the_defaults() -> None:
    assert decode_note(b"") == NoteContent()
    assert decode_state(b"") == State()
    assert NoteContent().cluster == NO_CLUSTER


def test_parts_of_different_states_have_different_names() -> None:
    other = message.Collection(end=10, term=3, total=4, crc=1)
    assert len({part_name(whole, number) for whole in (STATE_SENT, other) for number in (0, 1, 10)}) == 6


def test_a_founder_writes_who_it_is_and_that_it_alone_votes() -> None:
    note, put = founding(CLUSTER, A)
    assert isinstance(note, Note) and decode_note(note.content) == NoteContent(CLUSTER, A.life)
    assert put == Put(0, (Entry(0, Council((A,))),))


def test_a_cluster_that_goes_on_keeps_everything_but_its_voters() -> None:
    note, keep = refounding(ClusterId("c", 3), B, STATES[1])
    assert isinstance(note, Note) and isinstance(keep, Keep)
    assert decode_note(note.content) == NoteContent(ClusterId("c", 3), B.life, term=3)
    assert keep.name == STATE
    assert decode_state(keep.content) == msgspec.structs.replace(STATES[1], voters=(B,))
