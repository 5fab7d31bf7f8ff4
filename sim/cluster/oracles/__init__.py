"""What must be true of every simulated cluster, one promise in each file.

Each bucket besides has the oracles of the bucket's own world (sim/oracles), which this one tells what it wants to know.
"""

from sim.oracles.oracle import Violation

from .bounded import Bounded
from .connections import OwnNumbers
from .counted import Counted
from .direction import BackOrForward
from .halves import OwnKeys
from .leaders import OneAcknowledges
from .memory import LongMemory
from .oracle import Oracle
from .orders import OrdersOnce
from .pressure import HeldForAReason
from .readers import SeenOnce
from .receipts import TrueReceipts
from .retention import KeptWhatIsHeld
from .stamps import Stamps
from .steadfast import Steadfast
from .table import SameTable
from .thinned import SaidSo

__all__ = ["Oracle", "SameTable", "Violation", "oracles"]


def oracles(table: SameTable, *, thorough: bool = True) -> list[Oracle]:
    """One of each, for one run. The invariants cost as much as all the rest: not every run has to look at them."""
    stamps = Stamps()
    return [
        table,
        OneAcknowledges(),
        OwnKeys(),
        TrueReceipts(),
        stamps,
        LongMemory(),
        OwnNumbers(),
        OrdersOnce(),
        Steadfast(),
        BackOrForward(),
        SaidSo(),
        HeldForAReason(),
        SeenOnce(),
        KeptWhatIsHeld(stamps),
        Counted(),
        Bounded(thorough=thorough),
    ]
