"""The client over HTTP, for places where nothing else goes out: the same calls, errors and promises.

    door.py      Web: joining a cluster by its HTTP API; connection numbers
    exchange.py  asks one participant, or anybody until somebody answers
    line.py      one connection; HTTP/1.1 by httptools
    address.py   where to: origins, proxies
    form.py      bodies: changes and pages as Arrow, receipts and problems as JSON
    courier.py   carries a stream by POST /changes
    library.py   pages, bookmarks, names that hold a place
    cursor.py    reading on from page to page

What decides anything is shared with the binary flavour: numbers, order, retries and outcomes are the stream's
(stream.py), following and producing are the same code. Two things are different. A client knows no table here: it has a
few lanes, by the hash of the key, and any participant passes on what it is sent. And a lane has one request under way
at a time, so that nothing has to name what was sent before it, and the participants may cut anew at a split what they
are sent.
"""

from .address import is_web
from .door import Web
from .library import WebLibrary

__all__ = ["Web", "WebLibrary", "is_web"]
