"""What happens to a participant's part in the atomic log."""

from msgspec import Struct

from .cluster import NodeId
from .message import Envelope


class Received(Struct, frozen=True, gc=False):
    envelope: Envelope


class Persisted(Struct, frozen=True, gc=False):
    ticket: int


class Propose(Struct, frozen=True, gc=False):
    """To be in the log once; `Settled` with the same id says that it is. It is offered until then, for as long as this
    process lives: a proposer that has crashed looks at what is there, and proposes again what is not."""

    id: int
    content: bytes


class Read(Struct, frozen=True, gc=False):
    """`AnswerRead` with the same id says that the machine here has everything that was committed before this came."""

    id: int


class Leave(Struct, frozen=True, gc=False):
    """Propose the departure of a participant: myself, if I go, or one that an operator has given up."""

    node: NodeId
    again: bool = False
    """Of myself: not to go, but to come again at once as another member, because this one's disk is damaged."""


class Raise(Struct, frozen=True, gc=False):
    """Propose newer rules. Nothing comes of it unless everybody in the roster knows them."""

    rules: int


class Transfer(Struct, frozen=True, gc=False):
    """If I lead, somebody else shall: this one, or whoever is closest."""

    to: NodeId = ""


class Tick(Struct, frozen=True, gc=False):
    """Time has passed."""


Event = Received | Persisted | Propose | Read | Leave | Raise | Transfer | Tick
