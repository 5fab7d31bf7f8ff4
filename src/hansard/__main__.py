"""`python -m hansard` is the command `hansard`."""

from hansard.cli.main import main

if __name__ == "__main__":
    main()
