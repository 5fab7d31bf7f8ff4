"""What operators ask, and are told: JSON over the binary protocol; the command line and the HTTP API use the same.

{"ask": "status"}                         this participant, the atomic log, who takes part, what is wrong
{"ask": "table"}                          every bucket's government
{"ask": "buckets"}                        the copies here: how far each is
{"ask": "order", "id": ..., "wish": ...}  drain, undrain, move, release, double, pause, resume, configure, finish
{"ask": "follow", "id": ...}              what has become of an order
{"ask": "leave", "node": ...}             give a participant up: it departs
{"ask": "mark", "down": true}             not healthy any more by order, or again
{"ask": "scrub"}                          look for damage on this disk now; the status says what was found
{"ask": "digest", "bucket": ..., "first": ...}  checksums of the copy here, by ranges of offsets (digest.py)
{"ask": "holds"}                          what is held, by whom and until when; from where on each bucket is retained;
                                          with "settled": true, all that was answered to anybody before
{"ask": "hold", "name": ..., "lasts_s": ..., "bookmark": ...}  hold on to all from a place on; or "offsets": {"0": 17}
{"ask": "let go", "name": ...}            a hold is not needed any more
{"ask": "tokens"}                         whether one is needed, and what each allows
{"ask": "grant", "name": ..., "scopes": ["read"], "tags": [...], "prefixes": [...], "expires_s": ..., "rates": ...}
{"ask": "revoke", "name": ...}            a token is of no use any more

A hold is in the atomic log when it is answered: from then on nothing at or after its place is dropped by any
participant, until it is over, moved or let go of (distributor/holds.py). The same name again moves and renews it.

Whoever may do anything may ask for the table, because clients find their way by it. Who reads everything may hold. All
else takes the scope admin.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from hansard.distributor.command import Order, Wish
from hansard.distributor.entitlement import Scope
from hansard.distributor.orders import Status as OrderStatus
from hansard.participant.effect import AnswerCommand, AnswerHold
from hansard.participant.event import Command, Event, Leave
from hansard.participant.participant import Participant
from hansard.phaser.government import epoch_of

from . import tokens
from .digest import Digest, Digests
from .grant import EVERYTHING, NOT_ALLOWED, NOTHING_YET, Grant
from .holding import DropHold, Holding, ListHolds, SetHold
from .journal import Errand
from .tokens import DropToken, Granting, ListTokens, NewToken, Settled


class Status(Struct, frozen=True, tag_field="ask", tag="status"):
    pass


class Table(Struct, frozen=True, tag_field="ask", tag="table"):
    pass


class Buckets(Struct, frozen=True, tag_field="ask", tag="buckets"):
    pass


class Give(Struct, frozen=True, tag_field="ask", tag="order"):
    id: str
    wish: Wish


class Follow(Struct, frozen=True, tag_field="ask", tag="follow"):
    id: str


class GiveUp(Struct, frozen=True, tag_field="ask", tag="leave"):
    node: str


class Mark(Struct, frozen=True, tag_field="ask", tag="mark"):
    down: bool


class Scrub(Struct, frozen=True, tag_field="ask", tag="scrub"):
    pass


AboutHolds = ListHolds | SetHold | DropHold
AboutTokens = ListTokens | NewToken | DropToken
Question = Status | Table | Buckets | Give | Follow | GiveUp | Mark | Scrub | Digest | AboutHolds | AboutTokens

Told = Callable[[bytes], None]
Refused = Callable[[str], None]


class Admin:
    """`core` gives the participant, `happen` takes what is to happen to it, `run` has an errand done with its store."""

    def __init__(
        self,
        core: Callable[[], Participant],
        happen: Callable[[Event], None],
        extra: Callable[[], dict[str, Any]],
        scrub: Callable[[], None],
        run: Callable[[Errand], None],
    ) -> None:
        self._core = core
        self._happen = happen
        self._extra = extra
        """What the shell knows and the core does not."""
        self._scrub = scrub
        self._digests = Digests(run)
        self._number = 0
        self._asked: dict[int, Settled] = {}
        self.marked_down = False
        self._holding = Holding(happen)
        self._granting = Granting(self._give)

    def ask(self, question: bytes, told: Told, refused: Refused, grant: Grant = EVERYTHING) -> None:
        """Whoever has not looked itself at who asks hands over what that one may do."""
        try:
            asked = understood(question)
        except ValueError as error:
            refused(f"this is no question: {error}")
            return
        if not may_ask(grant, asked):
            refused(NOT_ALLOWED)
            return
        self._answer(asked, told, refused)

    @staticmethod
    def is_for_all(question: bytes) -> bool:
        """Whether everybody may ask it, even if nobody knows yet who may do what."""
        try:
            return may_ask(NOTHING_YET, understood(question))
        except ValueError:
            return True  # and is told what is wrong with it

    def _give(self, order: Order, settled: Settled) -> None:
        self._number += 1
        self._asked[self._number] = settled
        self._happen(Command(self._number, order))

    def _answer(self, asked: Question, told: Told, refused: Refused) -> None:
        core = self._core()
        match asked:
            case Status():
                told(msgspec.json.encode(self.status()))
            case Table():
                told(msgspec.json.encode(table(core)))
            case Buckets():
                told(msgspec.json.encode(copies(core)))
            case Give():
                self._give(Order(asked.id, asked.wish), lambda status: told(_given(status)))
            case Follow():
                status, remaining = core.proposing.status(asked.id)
                if status is None:
                    refused(f"there is no order {asked.id!r} here, or it was forgotten long ago")
                else:
                    told(msgspec.json.encode(_order(status, remaining)))
            case GiveUp():
                if asked.node not in core.consensus.roster.participants:
                    refused(f"there is no participant {asked.node!r}")
                else:
                    self._happen(Leave(asked.node))
                    told(b"{}")
            case Mark():
                self.marked_down = asked.down
                told(msgspec.json.encode({"down": asked.down}))
            case ListHolds() | SetHold() | DropHold():
                self._holding.ask(asked, core, told, refused)
            case ListTokens():
                told(msgspec.json.encode(tokens.listed(core)))
            case NewToken() | DropToken():
                self._granting.ask(asked, core, told, refused)
            case Scrub():
                self._scrub()
                told(b"{}")
            case Digest():
                self._digests.ask(asked, core, told, refused)

    def answered(self, answer: AnswerCommand) -> None:
        """An order is in the log. That of the founding nobody has asked for."""
        settled = self._asked.pop(answer.id, None)
        if settled is not None:
            settled(answer.status)

    def held(self, answer: AnswerHold) -> None:
        self._holding.answered(answer)

    def status(self) -> dict[str, Any]:
        core = self._core()
        consensus, distributor = core.consensus, core.distributor
        states: dict[str, int] = {}
        for bucket in distributor.buckets:
            states[bucket.state] = states.get(bucket.state, 0) + 1
        return {
            "node": core.here.node,
            "incarnation": core.here.member.incarnation if core.here.member is not None else None,
            "cluster": consensus.cluster.id,
            "log": distributor.log,
            "open": not distributor.tokens.guarded if distributor.buckets or distributor.founding else None,
            "version": distributor.version,
            "atomic": {
                "role": consensus.role,
                "leader": consensus.leader,
                "term": consensus.term,
                "committed": consensus.committed,
                "synced": consensus.synced,
                "end": consensus.log.end,
                "voters": core.time.voters,
            },
            "participants": [
                {"node": node, "address": known.address, "incarnation": known.incarnation, "zone": known.zone}
                for node, known in sorted(consensus.roster.participants.items())
            ],
            "buckets": len(distributor.buckets),
            "states": states,
            "paused": distributor.paused,
            "drained": sorted(distributor.slots.drained),
            "thinned": [msgspec.to_builtins(thinned) for thinned in distributor.thinned()],
            "lost": [msgspec.to_builtins(lost) for lost in distributor.lost()],
            "marked_down": self.marked_down,
            **self._extra(),
        }


def understood(question: bytes) -> Question:
    """Raises ValueError where it is none."""
    try:
        asked: Question = msgspec.json.decode(question, type=Question)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return asked


def may_ask(grant: Grant, asked: Question) -> bool:
    match asked:
        case Table():
            return True
        case Status() if grant is NOTHING_YET:  # what keeps a participant from taking part is told by nobody else
            return True
        case ListHolds() | SetHold() | DropHold():
            return grant.may(Scope.ADMIN) or (grant.may(Scope.READ) and not grant.is_limited)
        case _:
            return grant.may(Scope.ADMIN)


def table(core: Participant) -> dict[str, Any]:
    return {
        "version": core.distributor.version,
        "log": core.distributor.log,
        "settings": msgspec.to_builtins(core.distributor.settings),
        "buckets": [
            {
                "bucket": number,
                "state": bucket.state,
                "level": bucket.level,
                "epoch": bucket.epoch,
                "opened": bucket.opened,
                "leader": bucket.leader.node if bucket.leader is not None else None,
                "address": core.here.address(bucket.leader.node) if bucket.leader is not None else None,
                "members": [member.node for member in bucket.members],
                "newcomers": [member.node for member in bucket.newcomers],
                "full": [member.node for member in bucket.full],
            }
            for number, bucket in enumerate(core.distributor.buckets)
        ],
    }


def copies(core: Participant) -> list[dict[str, Any]]:
    found = []
    for number, copy in sorted(core.copies.running.items()):
        phaser = copy.phaser
        if phaser is None:
            found.append({"bucket": number, "loading": True})
            continue
        ledger = phaser.ledger
        found.append(
            {
                "bucket": number,
                "epoch": epoch_of(phaser.term),
                "leads": phaser.leading is not None,
                "start": ledger.start,
                "committed": ledger.committed,
                "synced": ledger.synced,
                "end": ledger.end,
                "backlog": len(phaser.desk.backlog),
            }
        )
    return found


def _given(status: OrderStatus | None) -> bytes:
    if status is None:
        return msgspec.json.encode({"standing": "refused", "remark": "such an order is too long", "remaining": 0})
    return msgspec.json.encode(_order(status, 0))


def _order(status: OrderStatus, remaining: int) -> dict[str, Any]:
    return {
        "wish": msgspec.to_builtins(status.wish),
        "standing": status.standing,
        "remark": status.remark,
        "remaining": remaining,
    }
