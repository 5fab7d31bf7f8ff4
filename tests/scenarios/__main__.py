"""`python -m tests.scenarios [name ...]` prints traces; with --regenerate it writes them into their files."""

import argparse
from pathlib import Path

from sim.scenario.transcript import ScenarioFailed, parse, renewed

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios")
    parser.add_argument("names", nargs="*", help="all of them unless some are named")
    parser.add_argument("--regenerate", action="store_true", help="write the traces that are out of date")
    arguments = parser.parse_args()
    failures = 0
    for path in sorted(FOLDER.glob("*/*.txt")):
        if arguments.names and path.stem not in arguments.names:
            continue
        text = path.read_text()
        if parse(text).broken and not arguments.names:
            continue
        try:
            after = renewed(text)
        except ScenarioFailed as failure:
            print(f"{path.name} fails, and stays as it is. {failure}")
            failures += 1
            continue
        if not arguments.regenerate:
            print(after)
        elif after != text:
            path.write_text(after)
            print(f"{path.name} is written anew")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
