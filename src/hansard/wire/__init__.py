"""The binary protocol as bytes: frames, messages in them, and how two sides agree on a version. It does no IO.

    frame.py      length-prefixed frames, and the reader that finds them in what comes
    codec.py      messages of a union of types to frames and back, with batches as raw bytes
    handshake.py  who speaks to whom, and in which version

What clients and participants say to each other comes with those who say it. The format is written down in
docs/reference/wire-protocol.md.
"""
