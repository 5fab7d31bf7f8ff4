"""The phaser: the replication of one bucket under governments given by edict.

What it promises: an acknowledged change is on disk on every member of the bucket's latest government. It is formed by
edict (`Appointed`), takes over by wedging its members, making them match, and reporting (leader.py); streams batches
and counts everybody's acknowledgements (relay.py, member.py); brings newcomers up to date (feed.py); and takes each
submission once (desk.py, streams.py). What it mostly does it does the short way (short.py).

This room does no IO and reads no clock: whoever runs a `Phaser` gives it events and carries out its effects.
"""

from .phaser import Phaser
from .recovered import Recovered
from .settings import Settings

__all__ = ["Phaser", "Recovered", "Settings"]
