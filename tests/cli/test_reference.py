"""The reference has every command, with the help text that it has today."""

from tests.cli import reference


def test_every_command_is_in_the_reference() -> None:
    assert sorted(reference.places(reference.PAGE.read_text())) == sorted(reference.commands())


def test_help_texts_are_those_of_today() -> None:
    page = reference.PAGE.read_text()
    assert page == reference.renewed(page), "run: python -m tests.cli.reference"
