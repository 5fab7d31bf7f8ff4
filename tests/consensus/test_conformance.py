"""Every implementation of the atomic log passes the same suite."""

from hansard.consensus.atomic import AtomicLog
from hansard.consensus.consensus import Consensus
from hansard.consensus.settings import Settings
from sim.atomic.trivial import TrivialMember
from tests.consensus.conformance import Conformance
from tests.consensus.harness import Cluster
from tests.consensus.joined import Joined
from tests.consensus.sequenced import Sequenced

IMPLEMENTATIONS: tuple[type[AtomicLog], ...] = (Consensus, TrivialMember)


class TestEmbedded(Conformance):
    def cluster(self, settings: Settings) -> Cluster:
        return Joined(settings)


class TestTrivial(Conformance):
    def cluster(self, settings: Settings) -> Cluster:
        return Sequenced(settings)
