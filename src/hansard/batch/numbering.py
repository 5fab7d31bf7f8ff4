"""What makes sense as connections, series and times: one rule for those who build batches and those who check them.

Each rule returns what is wrong, or None. Whose fault it is, and so which error it becomes, the caller knows.
"""

import numpy as np
from numpy.typing import NDArray

from .limits import INT64_MAX, TIMESTAMP_MAX

NO_SERIES = -1
"""The previous series of a client that has sent nothing to this bucket yet."""


def client_problem(
    connection: int,
    first_series: int,
    previous_series: int,
    change_count: int,
    *,
    series_column: bool,
    connections_column: bool,
) -> tuple[str, str] | None:
    """A header's field and what is wrong with it. Nobody's changes have no numbers; several clients' are in columns."""
    if not 0 <= connection <= INT64_MAX:
        return "connection", f"{connection} is out of range"
    if not 0 <= first_series <= INT64_MAX:
        return "first_series", f"{first_series} is out of range"
    if not NO_SERIES <= previous_series <= INT64_MAX:
        return "previous_series", f"{previous_series} is out of range"
    if connections_column and not series_column:
        return "series", "is needed for each change where connections are given for each"
    if connections_column and connection:
        return "connection", "is given though the batch is several clients'"
    if not connection:
        if series_column and not connections_column:
            return "series", "is given without the connection that it belongs to"
        if first_series or previous_series != NO_SERIES:
            return "first_series", "is given without the connection that it belongs to"
        return None
    if previous_series >= first_series:
        return "previous_series", f"is {previous_series}, not below the first, {first_series}"
    if not series_column and first_series > INT64_MAX - change_count:
        return "first_series", f"{first_series} leaves no room for {change_count} changes"
    return None


def series_problem(series: NDArray[np.int64], connections: NDArray[np.int64] | None, first_series: int) -> str | None:
    """Series rise for each connection, so that the last one stored says which are duplicates.

    Where one client has sent all, connections are None, and the first series is the one that the header has.
    """
    if not len(series):
        return None
    if series.min() < 0:
        return "is negative"
    if connections is None:
        if series[0] != first_series:
            return f"begins with {series[0]}, and the header's first is {first_series}"
        return "does not rise" if (series[1:] <= series[:-1]).any() else None
    if series[connections == 0].any():
        return "is given for a change without a connection"
    order = np.argsort(connections, kind="stable")
    whose, sorted_series = connections[order], series[order]
    same = (whose[1:] == whose[:-1]) & (whose[1:] != 0)
    return "does not rise" if (same & (sorted_series[1:] <= sorted_series[:-1])).any() else None


def timestamps_problem(timestamps: NDArray[np.int64]) -> str | None:
    """The order of a log is the order of its times."""
    if not len(timestamps):
        return None
    if timestamps[0] < 0 or timestamps.max() > TIMESTAMP_MAX:
        return "is out of range"
    return "goes back in time" if (timestamps[1:] < timestamps[:-1]).any() else None
