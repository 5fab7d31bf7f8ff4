"""What can be wrong with a participant's directory, or with the copies of a lost cluster; each says what to do next.

    ConsensusError
    ├── NoHome            nothing was founded or joined here: do that first
    ├── NotEmpty          the directory is somebody else's: give an empty one
    ├── AnotherNode       the directory is another participant's: start that one, or give another directory
    ├── DeedDamaged       whose directory it is cannot be read: put participant.json back
    ├── AlreadyThere      there is an atomic log here, and founding would be a second one: start it instead
    ├── Founded           this one has founded its cluster and cannot join one: start it instead
    ├── Damaged           this copy of the atomic log cannot be trusted: put it aside and join anew
    ├── NothingToRecover  no copy has anything: found or join
    ├── SeveralClusters   the copies are of different clusters: leave out what is not of the one meant
    ├── SameNode          two copies are of one participant: leave out the older one
    ├── MajorityThere     nothing is lost: start them
    └── OnlyVoter         its cluster has nobody else: start it

Arguments are kept as given, so that an error survives pickling on its way between processes.
"""

from .cluster import ClusterId, NodeId


class ConsensusError(Exception):
    """Any refusal of the consensus room."""


class NoHome(ConsensusError):
    def __str__(self) -> str:
        return "this is no participant's directory: found a cluster in it, or join one"


class NotEmpty(ConsensusError):
    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names

    def __str__(self) -> str:
        return (
            f"the directory holds {', '.join(self.names)} and does not say which participant's it is: "
            "give an empty one, or put its participant.json back"
        )


class AnotherNode(ConsensusError):
    def __init__(self, found: NodeId, expected: NodeId) -> None:
        super().__init__(found, expected)
        self.found, self.expected = found, expected

    def __str__(self) -> str:
        return (
            f"this is the directory of {self.found}, not of {self.expected}: "
            f"start it as {self.found}, or give {self.expected} a directory of its own"
        )


class DeedDamaged(ConsensusError):
    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"participant.json is damaged ({self.problem}): put a copy of it back, "
            "or join under the same name from an empty directory"
        )


class AlreadyThere(ConsensusError):
    """A second founding would be a second cluster in the place of the first."""

    def __init__(self, node: NodeId, folder: str) -> None:
        super().__init__(node, folder)
        self.node, self.folder = node, folder

    def __str__(self) -> str:
        return f"{self.node} has an atomic log already ({self.folder}): start it, or found in an empty directory"


class Founded(ConsensusError):
    def __init__(self, node: NodeId) -> None:
        super().__init__(node)
        self.node = node

    def __str__(self) -> str:
        return (
            f"{self.node} has founded a cluster here, and joins no other: start it without joining, "
            "or join from an empty directory"
        )


class Damaged(ConsensusError):
    """It may have promised what it no longer knows of, so it must not go on as the one that it was."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"this copy of the atomic log cannot be trusted: {self.problem}; if the others have a majority, "
            "put it aside with `hansard recover --rejoin` and start again; if not, recover from another copy"
        )


class NothingToRecover(ConsensusError):
    def __str__(self) -> str:
        return "none of these copies belongs to a cluster: there is nothing to go on from; found one, or join one"


class SeveralClusters(ConsensusError):
    """`place` is where the copy lies that is of another cluster, or of another incarnation of it."""

    def __init__(self, place: str, cluster: ClusterId, other: ClusterId) -> None:
        super().__init__(place, cluster, other)
        self.place, self.cluster, self.other = place, cluster, other

    def __str__(self) -> str:
        return (
            f"{self.place} is of cluster {self.cluster.id}, incarnation {self.cluster.incarnation}, and not of "
            f"{self.other.id}, incarnation {self.other.incarnation}: leave it out; one of an incarnation that is over "
            "joins anew with `hansard recover --rejoin`"
        )


class SameNode(ConsensusError):
    def __init__(self, node: NodeId, place: str, other: str) -> None:
        super().__init__(node, place, other)
        self.node, self.place, self.other = node, place, other

    def __str__(self) -> str:
        return f"{self.place} and {self.other} are both {self.node}'s: leave out the older one"


class MajorityThere(ConsensusError):
    def __init__(self, present: tuple[NodeId, ...], voters: int) -> None:
        super().__init__(present, voters)
        self.present, self.voters = present, voters

    def __str__(self) -> str:
        those = ", ".join(self.present)
        return (
            f"{len(self.present)} of {self.voters} voters are here ({those}), which is a majority: nothing is lost; "
            "start them, and they go on. A new cluster is made of them with --force only"
        )


class OnlyVoter(ConsensusError):
    def __init__(self, node: NodeId) -> None:
        super().__init__(node)
        self.node = node

    def __str__(self) -> str:
        return (
            f"{self.node} is the only voter of its cluster, which is lost if it forgets: start it. "
            "It is put aside with --force only"
        )
