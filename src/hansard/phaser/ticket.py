"""Writes under way to the disk, and what will be true once they are there."""

from msgspec import Struct

from .government import Term


class Ticket(Struct):
    number: int
    end: int
    promised: Term
    saved: int
    counted: int
