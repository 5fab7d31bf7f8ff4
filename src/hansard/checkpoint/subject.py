"""Of what a checkpoint is: all changes that carry a tag, any or all of several tags, or everything in the log.

Its records carry `hansard:checkpoint` and a tag that names the subject. That one is not the tenant's own tag: whoever
follows a tenant's changes is not shown what checkpointers tell each other. But whoever may read the subject may read
what carries it (`may_see`), and nobody who is limited to tags may write it: what a record says is believed.

    hansard:checkpoint/tag/TAG            the changes that carry TAG
    hansard:checkpoint/any/["A","B"]      those that carry one of these at least
    hansard:checkpoint/all/["A","B"]      those that carry every one of them
    hansard:checkpoint/log                everything, but for records
    hansard:checkpoint/each/PREFIX        no checkpoint, but all those of tags that begin so, made together

The same name is the key of the records, so those of one subject are in one bucket, and have one order.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

RECORDS: Final = "hansard:checkpoint"
"""Every record carries it."""
RESERVED: Final = "hansard:"
"""Tags that begin so are nobody's own."""
NAME_BYTES_MAX: Final = 256
"""It is a tag, and no tag is longer."""

Match = Literal["any", "all"]


def umbrella(prefix: str) -> str:
    """What the records of a run are under that makes the checkpoints of all tags with a prefix."""
    return f"{RECORDS}/each/{prefix}"


class BadSubject(ValueError):
    """No checkpoint can be of that."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Tags are in order, each once; a single one is `any`. Made by `of`."""

    tags: tuple[str, ...]
    match: Match

    @classmethod
    def of(cls, tags: Collection[str] = (), match: Match = "any") -> "Subject":
        subject = cls(tuple(sorted(set(tags))), match if len(set(tags)) > 1 else "any")
        if any(tag.startswith(RESERVED) for tag in tags):
            raise BadSubject(f"tags that begin with {RESERVED} are for records, and have no checkpoint")
        excess = len(subject.name.encode()) - NAME_BYTES_MAX
        if excess > 0:
            raise BadSubject(f"the tags of a checkpoint are {excess} bytes too long: records carry them in one tag")
        return subject

    @classmethod
    def parse(cls, name: str) -> "Subject | None":
        """The subject of that name; None if it is no subject's."""
        start, _, rest = name.partition("/")
        kind, _, said = rest.partition("/")
        if start != RECORDS:
            return None
        if rest == "log":
            return cls((), "any")
        if kind == "tag" and said and not said.startswith(RESERVED):
            return cls((said,), "any")
        if kind not in {"any", "all"}:
            return None
        try:
            tags = msgspec.json.decode(said, type=tuple[str, ...])
            found = cls.of(tags, "all" if kind == "all" else "any")
        except (msgspec.MsgspecError, BadSubject):
            return None
        return found if found.name == name else None

    @property
    def name(self) -> str:
        if not self.tags:
            return f"{RECORDS}/log"
        if len(self.tags) == 1:
            return f"{RECORDS}/tag/{self.tags[0]}"
        return f"{RECORDS}/{self.match}/{msgspec.json.encode(self.tags).decode()}"

    @property
    def key(self) -> bytes:
        """Of its records."""
        return self.name.encode()

    @property
    def record_tags(self) -> tuple[str, str]:
        return RECORDS, self.name

    def __str__(self) -> str:
        return f" {'or' if self.match == 'any' else 'and'} ".join(self.tags) or "the whole log"


def may_see(tag: bytes, owns: Callable[[bytes], bool]) -> bool:
    """Whether who owns such tags, and is limited to them, may read the records under this tag: if it may read what they
    are about. Of any of several tags all must be its own; of those that must all be there, one."""
    subject = Subject.parse(tag.decode(errors="replace"))
    if subject is None or not subject.tags:
        return False
    owned = [owns(each.encode()) for each in subject.tags]
    return any(owned) if subject.match == "all" else all(owned)
