"""Damage to copies on this disk: what is asked of whom to make it good, and which copies are given up.

An entry of a log is known by its term and its place: within a term there is one leader and one sequence, so whoever has
an entry of that term at that offset has the very same bytes (lineage.py). So any other full member of the bucket may be
asked, and any newcomer, for any offset that it has on disk, committed or not; what it sends is taken if it is of the
terms that our own log has there, follows without a gap, and takes as many bytes as are damaged. Nobody has to be
trusted, and no commit point has to be known: a bucket whose leader cannot load its copy is mended by members who wait
for that leader.

The cases, for a copy that we have a part in:

    known exactly   first, end and length: mended in place, whoever we are. Meanwhile the phaser goes on: a leader
                    leads, a member acknowledges what is new; what is damaged is neither served nor passed on.
    in the way of   the phaser cannot start without it. It is mended first and loaded then; nothing is acknowledged,
    loading         promised or opened meanwhile. If we lead, the bucket waits.
    not known       an end in doubt, a lost note, a state that cannot be made anew, a length that does not fit: the
    exactly         copy may lack what it has acknowledged or promised, so it is given up as a whole. We depart, come
                    again as another member, which has promised nothing, and get the bucket as a newcomer. A leader
                    does the same: another full member takes over, and has everything that was acknowledged.
    not there       by the log we are one of those who have everything of the bucket, and our disk does not show it:
                    somebody has emptied it, or put back an older one. As above: as a leader we would make an empty
                    log everybody's.
    nobody else     there is no other full member, or none of them has it: it stays damaged, and is asked for again
                    and again. A copy that nobody else has is never given up.

Two members that give up their copies at once leave a bucket lost if they were the last. Both keep what they had: a
damaged copy goes from the disk only once a government without it leads the bucket.
"""

from collections.abc import Callable, Sequence
from typing import Final, assert_never

from msgspec import Struct

from hansard.batch import Batch
from hansard.distributor.member import Member
from hansard.phaser.government import NO_TERM
from hansard.phaser.lineage import Lineage, Run

from .copies import Copies
from .effect import Excerpt, GivenUp, Mend
from .event import Ailment, Damaged, Excerpted, Mended
from .here import Here
from .message import MendAsk, MendTold

EXCERPT_BYTES: Final = 1 << 20
"""Asked for at a time."""
MENDED_BYTES_MAX: Final = 128 << 20
"""Of one damage, which is held in memory until it is whole: more than a segment."""
PATIENCE_US: Final = 2_000_000
"""Who has not answered by then is not waited for."""
LOADING_US: Final = 100_000
AGAIN_US: Final = 5_000_000
"""When nobody could help, everybody is asked again after this."""


class Wound(Struct):
    """Damage that is known exactly, and what has come of it so far."""

    bucket: int
    number: int
    first: int
    end: int
    runs: tuple[Run, ...]
    batches: list[Batch]
    tried: list[str]
    asked: str = ""
    """Who is asked now."""
    due_us: int = 0
    """When somebody else is, or everybody again."""
    mending: bool = False
    """It is under way to the disk."""

    @property
    def next(self) -> int:
        return self.batches[-1].header.end_offset if self.batches else self.first


class Mending:
    """`renew` proposes that we depart and come again."""

    def __init__(self, here: Here, copies: Copies, renew: Callable[[], None]) -> None:
        self._here = here
        self._copies = copies
        self._renew = renew
        self._renewing: Member | None = None
        """Who we were when that was proposed."""
        self.wounds: dict[int, Wound] = {}
        self._said = GivenUp((), ())

    # What happens.

    def happen(self, event: Ailment) -> None:
        match event:
            case Damaged():
                self._damaged(event)
            case Mended():
                self._mended(event)
            case Excerpted():
                told = MendTold(event.bucket, event.number, event.first, list(event.batches))
                self._here.send(event.to, told)
            case _:
                assert_never(event)

    def received(self, sender: str, message: MendAsk | MendTold) -> None:
        match message:
            case MendAsk():
                self._asked(sender, message)
            case MendTold():
                self._told(sender, message)
            case _:
                assert_never(message)

    def tick(self) -> None:
        now_us = self._here.now_us
        for wound in [wound for wound in self.wounds.values() if not wound.mending and wound.due_us <= now_us]:
            if wound.asked:
                wound.tried.append(wound.asked)
            self._ask(wound)

    def follow(self) -> None:
        """The table may have changed, or we have found out what is not there."""
        for number in [n for n, wound in self.wounds.items() if not self._copies.has(wound.bucket)]:
            del self.wounds[number]
        member = self._here.member
        if member is None:
            return
        given_up = sorted(self._copies.given_up)
        alone = [number for number in given_up if not self._others(number)]
        if GivenUp(tuple(given_up), tuple(alone)) != self._said:
            self._said = GivenUp(tuple(given_up), tuple(alone))
            self._here.effects.append(self._said)
        if member != self._renewing and any(self._counts(n) for n in given_up if n not in alone):
            self._renewing = member
            self._renew()

    def _counts(self, number: int) -> bool:
        """Whether we are one of those without whom nothing is acknowledged in a bucket."""
        record = self._here.distributor.buckets[number]
        return self._here.member in (*record.full, *record.members)

    def _others(self, number: int) -> list[str]:
        """Who else has everything of a bucket, and is there."""
        here = self._here
        if number >= len(here.distributor.buckets):
            return []
        return self._present(here.distributor.buckets[number].full)

    def _present(self, members: tuple[Member, ...]) -> list[str]:
        present, me = self._here.distributor.slots.present, self._here.member
        return [member.node for member in members if member in present and member != me]

    # Asking.

    def _damaged(self, event: Damaged) -> None:
        copies = self._copies
        if event.generation:
            copies.halt(event.bucket, event.generation)
        if event.first is None or event.end is None or event.length is None or event.length > MENDED_BYTES_MAX:
            self._give_up(event.bucket)
        elif event.number not in self.wounds and copies.has(event.bucket):
            wound = Wound(event.bucket, event.number, event.first, event.end, event.runs, [], [])
            self.wounds[event.number] = wound
            self._ask(wound)
        elif event.runs and event.number in self.wounds:
            self.wounds[event.number].runs = event.runs

    def _give_up(self, bucket: int) -> None:
        self._copies.give_up(bucket)
        if bucket < len(self._here.distributor.buckets):
            self._copies.follow(bucket)
        self.follow()

    def _ask(self, wound: Wound) -> None:
        """The next one who has not been asked; when all of them have been, everybody again after a while."""
        lineage = self._lineage(wound)
        if lineage is None or wound.bucket >= len(self._here.distributor.buckets):
            wound.due_us = self._here.now_us + LOADING_US
            return
        if lineage.term_before(wound.first + 1) == NO_TERM:  # so long ago that nobody remembers who wrote it
            del self.wounds[wound.number]
            self._give_up(wound.bucket)
            return
        record = self._here.distributor.buckets[wound.bucket]
        others = [node for node in self._present(record.full + record.newcomers) if node not in wound.tried]
        wound.batches = []
        if not others:
            wound.asked, wound.tried, wound.due_us = "", [], self._here.now_us + AGAIN_US
            return
        wound.asked = others[wound.number % len(others)]
        self._ask_on(wound)

    def _ask_on(self, wound: Wound) -> None:
        wound.due_us = self._here.now_us + PATIENCE_US
        self._here.send(wound.asked, MendAsk(wound.bucket, wound.number, wound.next, wound.end))

    def _told(self, sender: str, told: MendTold) -> None:
        wound = self.wounds.get(told.number)
        if wound is None or wound.mending or (sender, told.bucket) != (wound.asked, wound.bucket):
            return
        if told.first != wound.next:
            return  # of an earlier attempt
        if not self._take(wound, told.batches):
            wound.tried.append(sender)
            self._ask(wound)
        elif wound.next < wound.end:
            self._ask_on(wound)
        else:
            wound.mending = True
            self._here.effects.append(Mend(wound.bucket, wound.number, tuple(wound.batches), sender))

    def _take(self, wound: Wound, batches: Sequence[Batch]) -> bool:
        """Whether these are, one after the other, the entries that our log has there."""
        lineage = self._lineage(wound)
        for batch in batches:
            header = batch.header
            written = lineage.term_before(header.base_offset + 1) if lineage is not None else NO_TERM
            if header.base_offset != wound.next or header.end_offset > wound.end or header.epoch != written:
                return False
            wound.batches.append(batch)
        return bool(batches)

    def _lineage(self, wound: Wound) -> Lineage | None:
        """Which term wrote what; None while that is not known, because the copy is loading or nobody needs it now."""
        copy = self._copies.running.get(wound.bucket)
        if copy is not None and copy.phaser is not None:
            return copy.phaser.ledger.lineage
        return Lineage(0, wound.end, wound.runs) if wound.runs else None

    def _mended(self, event: Mended) -> None:
        wound = self.wounds.pop(event.number, None)
        if not event.fits:
            self._give_up(event.bucket)
        elif wound is not None and not any(other.bucket == event.bucket for other in self.wounds.values()):
            self._copies.load_again(event.bucket)

    # Being asked.

    def _asked(self, sender: str, ask: MendAsk) -> None:
        """Whatever is on our disk of a log that we look after. Its end may be cut at any time, but whoever asks looks
        at the terms."""
        copy = self._copies.running.get(ask.bucket)
        if copy is None or copy.phaser is None or copy.phaser.ledger.collection is not None:
            self._here.send(sender, MendTold(ask.bucket, ask.number, ask.first, []))
            return
        end = min(ask.end, copy.phaser.ledger.synced)
        self._here.effects.append(Excerpt(sender, ask.bucket, ask.number, ask.first, end, EXCERPT_BYTES))
