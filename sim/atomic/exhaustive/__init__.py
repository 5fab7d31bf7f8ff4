"""Every interleaving of a small world of the atomic log: the same core that runs in production, in all states that it
can get into. `worlds.py` has the worlds, `python -m sim.atomic.exhaustive` explores them, `properties.py` says what
must be true in all states.

*What is explored*: elections, replication and commits of a settled council of two or three voters, within a number of
terms, of timeouts for each, of crashes and of proposals. Messages are lost, doubled, delayed and reordered in every
way: whatever was ever said may be heard at any time, any number of times, or never. A crash may come at every write,
between any two steps and within one, and leaves any prefix of what was under way to the disk.

*What is not*: changes of the council, arrivals and departures, leases, learners, reads, handing over, compaction and
transferred states, and other clusters; the seeded simulator has those. Whoever restarts would arrive with another
session; here it does not. Disks are not damaged and do not lose what they have synced. In most worlds what is written
is on disk, or lost in a crash, before anything else happens to that participant; the slow ones are smaller. Nothing is
said about progress.

*What is taken together*, and why nothing is lost by it: time in participant.py, what is only said or known in lean.py
and stances.py, names in views.py and renaming.py, numbers of timeouts and crashes in tolls.py, fields that make no
difference in described.py. The tests compare small worlds with and without names, tolls and what lean.py leaves out;
exact worlds are tiny, so claims.py tries more of that out on the core. It is an argument with tests, and no proof.
"""
