"""`make demo`: what Hansard promises, tried out in front of your eyes, on a cluster of real processes.

__main__.py   the command
tour.py       what is shown, scene by scene
tenants.py    those who submit: believable changes, and what was acknowledged of them
audit.py      the check: nothing lost, nothing doubled, nothing reordered (the soak test has the same)
"""
