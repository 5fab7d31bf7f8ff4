"""What the log says of checkpoints: which there are, who makes the next one, and where readers find them.

A checkpoint is the latest change of each key among those that carry some tags, at a bookmark. Who makes one says so in
the log, before (`start`) and after (`end`): these records are changes like all others, under tags of their own.

    subject.py   of what a checkpoint is, and the tag and the key of its records
    records.py   what a record says
    docket.py    what follows from the records of one subject, in their order: who may work, and which end counts

It does no IO and reads no clock: whoever reads the same records comes to the same conclusions.
"""

from .docket import Docket, Filed
from .records import BadRecord, End, Layer, Left, Record, Start, decoded, encoded
from .subject import RECORDS, RESERVED, BadSubject, Subject, may_see, umbrella

__all__ = [
    "RECORDS",
    "RESERVED",
    "BadRecord",
    "BadSubject",
    "Docket",
    "End",
    "Filed",
    "Layer",
    "Left",
    "Record",
    "Start",
    "Subject",
    "decoded",
    "encoded",
    "may_see",
    "umbrella",
]
