"""`python -m bench`: every claim, one after the other, as one table; `python -m bench journal tags` some of them."""

import sys
from importlib import import_module

from bench.table import Row, show

CLAIMS = (
    "batch",
    "journal",
    "reading",
    "recovery",
    "memory",
    "phaser",
    "distributor",
    "replication",
    "failover",
    "http",
    "client",
    "archive",
    "checkpoint",
)


def main() -> int:
    rows: list[Row] = []
    for name in sys.argv[1:] or CLAIMS:
        sys.stderr.write(f"measuring {name} ...\n")
        rows += import_module(f"bench.{name}").measure()
    show(rows)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
