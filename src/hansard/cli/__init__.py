"""The command line: parse, call, print. `main` has the command itself, one module each has a group of subcommands.

What a command needs beyond parsing is imported when it runs: `hansard --help` should not wait for Arrow. Results go to
stdout, in lines for people or, with --json, in JSON; errors and progress go to stderr. Imports: every room.
"""
