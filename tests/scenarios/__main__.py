"""`python -m tests.scenarios [name ...]` prints traces; with --regenerate it writes them into their files."""

import argparse

from sim.scenario.transcript import ScenarioFailed, renewed

from .folders import FILES, LANGUAGES, scenario_in


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios")
    parser.add_argument("names", nargs="*", help="all of them unless some are named")
    parser.add_argument("--regenerate", action="store_true", help="write the traces that are out of date")
    arguments = parser.parse_args()
    failures = 0
    for path in FILES:
        if arguments.names and path.stem not in arguments.names:
            continue
        text = path.read_text()
        if scenario_in(path).broken and not arguments.names:
            continue
        try:
            after = renewed(text, LANGUAGES[path.parent.name])
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
