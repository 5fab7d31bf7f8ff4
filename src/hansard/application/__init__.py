"""Applications: deterministic state machines on top of a bucket's log.

An `Application` is written once, and runs in one process on `hansard.open` or on every member of every bucket of a
cluster. Whoever has the log runs it in a `Host`, which applies what is committed, in order, and knows up to where; it
hands out an `Image` to be stored, sent, and shared by the halves of a split. `testing` checks that an application keeps
to the rules. Imports: batch.
"""

from .application import Application, Entries
from .errors import ApplicationError, BadName, BadQuestion, HistoryGone, NewerImage
from .host import Host
from .image import Image

__all__ = [
    "Application",
    "ApplicationError",
    "BadName",
    "BadQuestion",
    "Entries",
    "HistoryGone",
    "Host",
    "Image",
    "NewerImage",
]
