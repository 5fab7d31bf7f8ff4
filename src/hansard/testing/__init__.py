"""A real cluster inside a test: real participants, sockets and files, in the test's own process, up in a moment.

    from hansard.testing import cluster

    def test_my_code_survives_a_departure():
        with cluster() as three:
            mine = MyService(three.addresses)
            three.kill(0)
            mine.go_on()

    house.py      the cluster, as a test sees it: a thread of its own runs it
    resident.py   one participant among others in that thread's loop, which can be killed and cut off
    plugin.py     the fixture `hansard_cluster`, for whoever has pytest

What is loaded with this package is next to nothing, because pytest loads the plugin whenever it starts.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .house import Cluster as Cluster
    from .house import cluster as cluster

__all__ = ["Cluster", "cluster"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'hansard.testing' has no attribute {name!r}")
        from . import house  # noqa: PLC0415

        return getattr(house, name)
