"""The stage of a scenario of the atomic log: carrying out what the participants want done."""

from collections.abc import Sequence
from typing import assert_never

from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.effect import (
    AnswerRead,
    Applied,
    Cut,
    Departing,
    Effect,
    Keep,
    Led,
    Left,
    Outdated,
    Persist,
    Refused,
    Reset,
    Restored,
    Send,
    Settled,
    Strange,
    Superseded,
    Write,
)
from hansard.consensus.event import Event, Persisted, Received, Tick
from hansard.consensus.invariants import check_state, check_step, moment
from hansard.consensus.message import Append
from hansard.consensus.recovered import STATE, decode_state
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from sim.scenario.chances import Chances
from sim.scenario.links import DELAY_US, Way
from sim.scenario.scene import Scene

from . import wording
from .actor import Actor
from .promise import Promises

TICK_US = 20_000
LATER = 0.12
"""So much longer each participant waits for a leader than the one that came before it."""


def is_of(send: Send, kinds: Sequence[str]) -> bool:
    """Whether a message is of one of these kinds: append, vote, part. Any, if none are given; `entries` are what is
    appended with some."""
    message = send.envelope.message
    if isinstance(message, Append) and message.entries and "entries" in kinds:
        return True
    return not kinds or type(message).__name__.lower() in kinds


class Stage(Scene[Send]):
    def __init__(self, settings: Settings, chances: Chances) -> None:
        super().__init__(chances, TICK_US)
        self.settings = settings
        self.actors: dict[NodeId, Actor] = {}
        self.proposed: dict[int, str] = {}
        """By number, what was proposed."""
        self.settled: set[int] = set()
        self.reads: dict[int, int] = {}
        """By number, how far the machine had come."""
        self.read_count = 0
        self.kinds: dict[Way, list[str]] = {}
        """Of the ways on which messages wait: which kinds of them do; all, if there are none."""
        self.kept_promises = Promises()
        self._idle: dict[tuple[str, str, bool], str] = {}
        """Of what is said all the time, what was told of last: by way, kind, and whether there was a remark."""

    # Participants.

    def actor(self, name: NodeId) -> Actor:
        assert name in self.actors, f"there is no {name}"
        return self.actors[name]

    def new_actor(self, name: NodeId) -> Actor:
        assert name not in self.actors, f"there is a {name}"
        number = len(self.actors)
        actor = Actor(name, number, self.settings, f"{name}:1", node=name, jitter=number * LATER % 1)
        self.actors = dict(sorted([*self.actors.items(), (name, actor)]))
        return actor

    def start(self, actor: Actor) -> None:
        actor.start(self.now_us)
        self.kept_promises.started(actor)
        self.turn(actor, [])

    def tick(self) -> None:
        for actor in self.actors.values():
            if not actor.paused:
                self.happen(actor, Tick())

    def happen(self, actor: Actor, *events: Event) -> None:
        """Something happens to a participant, all at once, if it is there."""
        if not actor.alive:
            return
        if actor.paused:
            actor.inbox += events
            return
        self.turn(actor, events)

    def turn(self, actor: Actor, events: Sequence[Event]) -> None:
        """One turn; then all that it wants done is done."""
        core, part = actor.core, actor.part()
        before, synced = moment(core), core.synced
        effects = core.turn(events, self.now_us)
        check_state(core)
        check_step(before, core)
        self.kept_promises.turned(actor)
        for event in events:
            if isinstance(event, Persisted):
                self._tell_synced(actor, synced)
        if actor.part() != part:
            (self.tell if core.role is Role.LEADER else self.tell_detail)(f"{self._name(actor)}  {actor.part()}")
        for effect in effects:
            self._carry_out(actor, effect)
        self._tell_applied(actor, effects)
        self._tell_settled(actor, effects)

    def _name(self, actor: Actor) -> str:
        return wording.peer(actor.core.peer)

    def _carry_out(self, actor: Actor, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(actor, effect)
            case Persist():
                for write in effect.writes:
                    self._tell_write(actor, write)
                actor.drive.write(effect)
                self._sync_later(actor)
            case Applied():
                self.kept_promises.applied(self, actor, effect)
            case Restored():
                self.kept_promises.restored(actor, effect)
                self.tell(f"{self._name(actor)}  has the state at {effect.end}")
            case Settled():
                self.kept_promises.settled(self, actor, effect.id)
                self.settled.add(effect.id)
            case AnswerRead():
                assert effect.id not in self.reads, "a read has one answer"
                self.reads[effect.id] = effect.end
                self.kept_promises.read(actor, effect)
                self.tell(f"{self._name(actor)}  answers read {effect.id}: {effect.end}")
            case Led():
                pass  # its part says so
            case Departing() | Left() | Strange() | Refused() | Outdated() | Superseded():
                self._tell_loudly(actor, effect)
            case _:
                assert_never(effect)

    def _tell_loudly(self, actor: Actor, effect: Departing | Left | Strange | Refused | Outdated | Superseded) -> None:
        name = self._name(actor)
        match effect:
            case Departing():
                name = wording.peer(Peer(actor.node, effect.life))
                phrase, text = "departing", "has departed by the log"
            case Left():
                phrase, text = "left", "has left, and may end"
            case Strange():
                phrase = f"strange {effect.sender}"
                text = f"does not listen to {effect.sender} at {effect.address}, of {wording.cluster(effect.cluster)}"
            case Refused():
                phrase, text = "refused", f"is refused: {effect.reason}"
            case Superseded():
                phrase, text = "superseded", f"stops for good: there is {wording.cluster(effect.cluster)}"
            case Outdated():
                phrase, text = "outdated", f"is outdated: the cluster follows rules {effect.rules}"
            case _:
                assert_never(effect)
        actor.said += [phrase] if phrase not in actor.said else []
        self.tell_loudly(f"{name}  {text}")

    def tell_loudly(self, text: str) -> None:
        """Told even where the scenario is quiet; counted where it is only said again."""
        quiet, self.quiet = self.quiet, False
        self.tell_message(text)
        self.quiet = quiet

    def _tell_applied(self, actor: Actor, effects: list[Effect]) -> None:
        """What a process finds again that an earlier one has told of is left out."""
        applied = [effect for effect in effects if isinstance(effect, Applied)]
        if applied:
            new = [effect for effect in applied if effect.index >= actor.told_end]
            actor.told_end = max(actor.told_end, applied[-1].index + 1)
            words = [f"{effect.index} {wording.fact(effect.entry, effect.fact)}" for effect in new]
            if len(new) < len(applied):
                words.insert(0, f"again {applied[0].index}..{applied[len(applied) - len(new) - 1].index}")
            self.tell_detail(f"{self._name(actor)}  commits {', '.join(words)}")

    def _tell_settled(self, actor: Actor, effects: list[Effect]) -> None:
        ids = [effect.id for effect in effects if isinstance(effect, Settled)]
        if ids:
            words = ", ".join([f"{id} ({self.proposed[id]})" for id in ids])
            self.tell(f"{self._name(actor)}  settled: {words}")

    # The disk.

    def _tell_write(self, actor: Actor, write: Write) -> None:
        name = self._name(actor)
        match write:
            case Cut():
                lost = actor.drive.end - write.end
                actor.lost += lost
                self.tell(f"{name}  cuts off {lost}: log to {write.end}")
            case Reset():
                self.tell_detail(f"{name}  log begins anew at {write.start}")
            case Keep() if write.name == STATE:
                self.tell_detail(f"{name}  keeps the state at {decode_state(write.content).end}")
            case _:
                pass

    def _tell_synced(self, actor: Actor, end: int) -> None:
        name, note = self._name(actor), actor.drive.note
        if (note.term, note.vote) != actor.promise_told:
            actor.promise_told = (note.term, note.vote)
            vote = f", vote for {wording.peer(note.vote)}" if note.vote is not None else ""
            self.tell_detail(f"{name}  on disk: term {note.term}{vote}")
        if actor.core.synced != end:
            self.tell_detail(f"{name}  on disk: log to {actor.core.synced}")

    def _sync_later(self, actor: Actor) -> None:
        drive, process, stalls = actor.drive, actor.process, actor.drive.stalls
        drive.busy_until_us = max(drive.busy_until_us, self.now_us) + drive.sync_us

        def synced() -> None:
            if actor.process == process and actor.alive and drive.stalls == stalls and not drive.stalled:
                self._persisted(actor)

        self.after(drive.busy_until_us - self.now_us, synced)

    def _persisted(self, actor: Actor) -> None:
        if actor.drive.unsynced:
            self.happen(actor, Persisted(actor.drive.sync().ticket))

    def go_on_syncing(self, actor: Actor) -> None:
        """The disk was stalled: what it was asked for meanwhile takes its time from now."""
        actor.drive.stalled, actor.drive.busy_until_us = False, 0
        for _ in actor.drive.unsynced:
            self._sync_later(actor)

    # The network.

    def _send(self, actor: Actor, send: Send) -> None:
        self.kept_promises.sent(actor, send)
        there = [other for other in self.actors.values() if other.address == send.address]
        receiver = max(there, key=lambda other: other.alive, default=None)
        if receiver is None:
            self._tell_message(f"{actor.name} -> {send.address}", send, " [nobody there]")
            return
        way = (actor.name, receiver.name)
        if way in self.links.held and is_of(send, self.kinds.get(way, ())):
            self._tell_message(f"{way[0]} -> {way[1]}", send, " [held back]")
            self.links.held[way].append(send)
            return
        self.after(DELAY_US, lambda: self.deliver(*way, send))
        if way in self.links.doubling:
            self.after(DELAY_US, lambda: self.deliver(*way, send))

    def deliver(self, sender: NodeId, to: NodeId, message: Send) -> None:
        receiver, envelope = self.actor(to), message.envelope
        way = f"{wording.peer(envelope.sender)} -> {to}"
        if (sender, to) in self.links.cut or not receiver.alive:
            self._tell_message(way, message, " [lost]")
            return
        if receiver.address != message.address:
            self._tell_message(way, message, " [nobody there]")
            return
        remarks = " [waits]" if receiver.paused else ""
        if envelope.to_life not in (0, receiver.core.peer.life):
            remarks += " [to another life]"
        if envelope.cluster != receiver.core.cluster:
            remarks += f" [of {wording.cluster(envelope.cluster)}]"
        way = f"{wording.peer(envelope.sender)} -> {wording.peer(receiver.core.peer)}"
        self._tell_message(way, message, remarks)
        self.happen(receiver, Received(envelope))

    def _tell_message(self, way: str, send: Send, remarks: str) -> None:
        said = send.envelope.message
        text = f"{way}  {wording.message(said)}{remarks}"
        if wording.idle(said):
            key = (way, type(said).__name__, bool(remarks))
            if self._idle.get(key) == text:
                return
            self._idle[key] = text
        self.tell_message(text)
