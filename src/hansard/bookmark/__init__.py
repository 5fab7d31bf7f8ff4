"""Bookmarks: a place in a log as one token, which can be kept anywhere and handed in later.

A bookmark outlives moves, splits and restores: it names the log and has an offset for each bucket, and a bucket that
was split off since goes on where its parent was. All readers speak of places by it, so it imports nothing of ours.
"""

from .bookmark import PREFIX, Bookmark, parent
from .errors import BadPlace, LogError, TableBehind, WrongLog

__all__ = ["PREFIX", "BadPlace", "Bookmark", "LogError", "TableBehind", "WrongLog", "parent"]
