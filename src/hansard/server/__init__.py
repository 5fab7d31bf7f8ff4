"""The shell around the cores: sockets, disks, threads and clocks. It does what a core wants, and decides nothing.

    start.py       one participant as a process, from its start to its end
    shell.py       one task owns the core; what happens in one turn of the loop is handled together; lag.py: how late
    hearing.py     words from which nothing can follow yet wait for each other
    vault.py       the two stores of a participant; disk.py: what a phaser finds there
    shortcut.py    what is small is written at once, and synced by the kernel (syncs.py)
    journal.py     the thread that writes and syncs all else, with one sync for all that waits
    damage.py      what is damaged, and how it is mended; scrubber.py looks for it
    port.py        who comes in: connection.py has frames over a socket
    peers.py       the ways to other participants; link.py: one of them, dialled again whenever it is lost; outbox.py:
                   what waits there, each bucket in its lane
    reception.py   clients: asker.py has one connection, pages.py what they read, lounge.py reads that wait for more,
                   admin.py what operators ask, tables.py who keeps up with the table; porch.py, usher.py and access.py:
                   who may ask what
    web.py         the HTTP API beside it, on the same core (inside.py is its way in)
    story.py       what the log of the process says of the cluster
    skeleton.py    a participant whose government comes from its command line, in node.py's smaller shell

The way of a submission: connection -> asker -> reception -> shell, which hands the events of this turn to the core ->
its effects: one group for the journal, one frame for each link. What comes back, from the disk and from the links,
takes the same way in, until the core answers: then the asker sends the receipt.
"""
