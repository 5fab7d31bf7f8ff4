"""The places of a cluster, in the order of arrival, and who waits for one.

A participant that departs leaves its slot vacant if any bucket misses it there; a spare takes it at once, or the
participant itself when it comes back, or the next one that arrives. Nothing shrinks by itself: as long as nobody
comes, the slot stays vacant, and what was there is thinned out.

A participant that is being drained has its slot until nothing is left in it, and then none.
"""

from collections.abc import Callable, Container, Iterator, Mapping

from msgspec import Struct

from .member import Member, Node


class Slot(Struct, frozen=True, array_like=True, gc=False):
    number: int
    node: Node
    """Who has it, or had it last."""
    holder: Member | None


class Present(Struct, frozen=True, array_like=True, gc=False):
    """A participant that is there."""

    member: Member
    zone: str


class Image(Struct, frozen=True, array_like=True):
    present: tuple[Present, ...] = ()
    slots: tuple[Slot, ...] = ()
    drained: tuple[Node, ...] = ()
    next_number: int = 1


class Slots:
    def __init__(self, image: Image | None = None) -> None:
        image = image or Image()
        self._present = {present.member: present for present in image.present}
        self._slots = {slot.number: slot for slot in image.slots}
        self._of = {slot.holder: slot.number for slot in image.slots if slot.holder is not None}
        self.drained: dict[Node, None] = dict.fromkeys(image.drained)
        """By order of an operator, in the order in which that came."""
        self._next_number = image.next_number

    def image(self) -> Image:
        return Image(tuple(self._present.values()), tuple(self._slots.values()), tuple(self.drained), self._next_number)

    # Looking.

    @property
    def present(self) -> Mapping[Member, Present]:
        """In the order of their arrival."""
        return self._present

    def __iter__(self) -> Iterator[Slot]:
        """In their order."""
        return iter(self._slots.values())

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, number: int) -> Slot:
        return self._slots[number]

    def __contains__(self, number: int) -> bool:
        return number in self._slots

    def of(self, member: Member) -> int | None:
        return self._of.get(member)

    def zone(self, member: Member) -> str:
        return self._present[member].zone

    def member(self, node: Node) -> Member | None:
        """A participant that is there, by its name."""
        return next((member for member in self._present if member.node == node), None)

    @property
    def eligible(self) -> list[Slot]:
        """Those that may be given buckets: somebody has them, who is not being drained."""
        return [slot for slot in self if slot.holder is not None and slot.node not in self.drained]

    @property
    def standing(self) -> int:
        """How many are meant to have buckets: those that wait for somebody, too."""
        return sum([slot.node not in self.drained for slot in self])

    @property
    def waiting(self) -> frozenset[int]:
        """Those that nobody has."""
        return frozenset([slot.number for slot in self if slot.holder is None])

    @property
    def spares(self) -> list[Member]:
        """Who is there without a slot, and may get one, in the order of arrival."""
        return [member for member in self._present if member not in self._of and member.node not in self.drained]

    def leaving(self, number: int) -> bool:
        """Nothing is to stay there."""
        return self._slots[number].node in self.drained

    # Changing.

    def drain(self, node: Node) -> None:
        """A slot that waits for this one does not wait any longer."""
        self.drained[node] = None
        for slot in list(self):
            if slot.node == node and slot.holder is None:
                del self._slots[slot.number]

    def arrive(self, member: Member, zone: str) -> None:
        self._present[member] = Present(member, zone)

    def move(self, member: Member, zone: str) -> None:
        self._present[member] = Present(member, zone)

    def depart(self, member: Member) -> int | None:
        """The slot that waits for somebody now; None if it had none, or nobody is wanted there."""
        del self._present[member]
        number = self._of.pop(member, None)
        if number is None:
            return None
        if member.node in self.drained:
            del self._slots[number]
            return None
        self._slots[number] = Slot(number, member.node, None)
        return number

    def fill(self) -> None:
        """Vacant slots go to whoever had them last, and then to the spares in order."""
        for own in (True, False):
            for slot in list(self):
                if slot.holder is None:
                    chosen = next((spare for spare in self.spares if not own or spare.node == slot.node), None)
                    if chosen is not None:
                        self._give(slot.number, chosen)

    def _give(self, number: int, member: Member) -> None:
        self._slots[number] = Slot(number, member.node, member)
        self._of[member] = number

    def grow(self, member: Member) -> int:
        """A slot more, behind all others."""
        assert member not in self._of
        number = self._next_number
        self._next_number += 1
        self._give(number, member)
        return number

    def clear(self, missed: Container[int], used: Callable[[Member], bool]) -> None:
        """Slots go in which nothing is missed, or of which nothing is left and nothing is wanted."""
        for slot in list(self):
            if slot.holder is None:
                if slot.number not in missed:
                    del self._slots[slot.number]
            elif slot.node in self.drained and not used(slot.holder):
                del self._slots[slot.number]
                del self._of[slot.holder]
