"""What every scenario checks without saying so: the promises of the atomic log, after every event.

In each term one leader, and it has all that was ever committed; everybody applies the same entries, in order and
without gaps; what is committed is on the disks of a majority; a proposal counts once; what is said to be promised or
stored is on disk; a read misses nothing that was committed before it was asked for.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hansard.consensus.cluster import ClusterId, NodeId, Peer
from hansard.consensus.content import Entry, Proposal
from hansard.consensus.effect import AnswerRead, Applied, Restored, Send
from hansard.consensus.message import Append, Appended, Ask, PartKept, Vote
from hansard.consensus.recovered import STATE, decode_state, part_name
from hansard.consensus.role import majority

from . import wording
from .actor import Actor
from .drive import Drive

if TYPE_CHECKING:
    from .stage import Stage


@dataclass(slots=True)
class Promises:
    leaders: dict[tuple[ClusterId, int], Peer] = field(default_factory=dict)
    """By cluster and term."""
    committed: dict[ClusterId, dict[int, tuple[Entry, int]]] = field(default_factory=dict)
    """By index, and the term in which somebody first said so."""
    counted: dict[tuple[Peer, int, int], int] = field(default_factory=dict)
    """Where each proposal counted: by proposer, session and number."""
    asked: dict[int, tuple[ClusterId, int]] = field(default_factory=dict)
    """For every read, how far anybody had come when it was asked for."""
    next_index: dict[NodeId, int] = field(default_factory=dict)
    """What each participant's machine is told next."""

    def started(self, actor: Actor) -> None:
        self.next_index[actor.name] = actor.core.committed

    def turned(self, actor: Actor) -> None:
        """A leader is the only one of its term, and has everything that was committed."""
        if not actor.leads:
            return
        core = actor.core
        known = self.leaders.setdefault((core.cluster, core.term), core.peer)
        assert known == core.peer, f"{wording.peer(known)} and {wording.peer(core.peer)} lead term {core.term}"
        for index, (entry, term) in self.committed.get(core.cluster, {}).items():
            there = index < core.log.start or core.log.entries[index - core.log.start : index - core.log.start + 1] == [
                entry
            ]
            assert there or core.term < term, (
                f"{actor.name} leads term {core.term} without {index} {wording.content(entry.content)}, "
                f"which was committed in term {term}"
            )

    def applied(self, stage: "Stage", actor: Actor, applied: Applied) -> None:
        core, index, entry = actor.core, applied.index, applied.entry
        assert index == self.next_index[actor.name], (
            f"{actor.name} applies {index} after {self.next_index[actor.name] - 1}"
        )
        self.next_index[actor.name] = index + 1
        committed = self.committed.setdefault(core.cluster, {})
        if index not in committed:
            holders = [voter for voter in core.voters if self._is_on_disk(stage, voter, index, entry)]
            assert len(holders) >= majority(len(core.voters)), (
                f"{actor.name} commits {index}, which is on disk at {wording.peers(tuple(holders))} only"
            )
        known, _ = committed.setdefault(index, (entry, core.term))
        assert known == entry, f"{actor.name} applies {index} as {entry}, and it was {known}"
        if isinstance(entry.content, Proposal) and applied.fact is not None:
            key = (entry.content.proposer, entry.content.session, entry.content.number)
            first = self.counted.setdefault(key, index)
            assert first == index, f"{entry.content} counts at {first} and at {index}"

    def _is_on_disk(self, stage: "Stage", voter: Peer, index: int, entry: Entry) -> bool:
        drives = [actor.drive for actor in stage.actors.values() if actor.node == voter.node]
        return any(drive.note.life == voter.life and _has(drive, index, entry) for drive in drives)

    def restored(self, actor: Actor, restored: Restored) -> None:
        assert restored.end > self.next_index[actor.name], f"{actor.name} goes back to {restored.end}"
        self.next_index[actor.name] = restored.end

    def settled(self, stage: "Stage", actor: Actor, id: int) -> None:
        word = stage.proposed[id].encode()
        held = [entry.content for entry, _ in self.committed.get(actor.core.cluster, {}).values()]
        there = [content for content in held if isinstance(content, Proposal) and content.content == word]
        assert there, f"{actor.name} says that {stage.proposed[id]} is in the log, and it is not"
        assert id not in stage.settled, f"{actor.name} says twice that proposal {id} is in the log"

    def reads(self, actor: Actor, id: int) -> None:
        """It is asked for now."""
        cluster = actor.core.cluster
        self.asked[id] = (cluster, max(self.committed.get(cluster, {}), default=-1) + 1)

    def read(self, actor: Actor, answer: AnswerRead) -> None:
        cluster, end = self.asked[answer.id]
        assert actor.core.cluster != cluster or answer.end >= end, (
            f"read {answer.id} is answered with {answer.end}, and {end} was committed before it"
        )

    def sent(self, actor: Actor, send: Send) -> None:
        """Whatever is promised, or said to be stored, is on disk."""
        said, name, drive = send.envelope.message, actor.name, actor.drive
        assert send.envelope.sender.life == drive.note.life, f"{name} speaks in a life that is not on disk"
        match said:
            case Vote() if said.granted:
                vote = drive.note.vote
                assert drive.note.term == said.term and vote is not None and vote.node == send.to, (
                    f"{name} says that it votes for {send.to} in term {said.term}, and that is not on disk"
                )
            case Ask():
                vote = drive.note.vote
                assert drive.note.term == said.term and vote == send.envelope.sender, (
                    f"{name} asks for votes in term {said.term} before its own is on disk"
                )
                assert said.end <= drive.synced.end, f"{name} is to be elected for what it has not on disk"
            case Append():
                assert drive.note.term >= said.term, f"{name} leads term {said.term} before that is on disk"
            case Appended():
                assert drive.note.term >= said.term, f"{name} follows term {said.term} before that is on disk"
                assert said.through <= drive.synced.end or said.through <= _state_end(drive), (
                    f"{name} says that it has {said.through}, and it has {drive.synced.end} on disk"
                )
            case PartKept():
                assert drive.note.term >= said.term, f"{name} follows term {said.term} before that is on disk"
                names = [part_name(said.collection, number) for number in range(said.parts)]
                assert _state_end(drive) >= said.collection.end or set(names) <= set(drive.synced.documents), (
                    f"{name} says that it has {said.parts} parts, and they are not on disk"
                )
            case _:
                pass


def _has(drive: Drive, index: int, entry: Entry) -> bool:
    image = drive.synced
    if index < _state_end(drive):
        return True
    return image.start <= index < image.end and image.entries[index - image.start] == entry


def _state_end(drive: Drive) -> int:
    return decode_state(drive.synced.documents.get(STATE, b"")).end
