"""What a scenario leaves open: each number that it could be, one play after the other."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Chances:
    """Invariant: between two plays, `taken` and `most` are as long as there were choices in the last one."""

    taken: list[int] = field(default_factory=list)
    most: list[int] = field(default_factory=list)
    _met: int = 0

    def choose(self, most: int) -> int:
        """A number from 0 to this one; in the first play that meets the choice it is 0."""
        self._met += 1
        if self._met > len(self.taken):
            self.taken.append(0)
            self.most.append(most)
        assert self.most[self._met - 1] == most, "the same choices lead to the same play"
        return self.taken[self._met - 1]

    def turn(self) -> bool:
        """On to the next play; says whether there is one."""
        self._met = 0
        while self.taken and self.taken[-1] == self.most[-1]:
            self.taken.pop()
            self.most.pop()
        if self.taken:
            self.taken[-1] += 1
        return bool(self.taken)

    def __str__(self) -> str:
        return f" with {', then '.join(map(str, self.taken))}" if self.taken else ""
