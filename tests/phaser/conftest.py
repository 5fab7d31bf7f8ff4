import pytest

from hansard.phaser.government import Shape


@pytest.fixture(params=list(Shape))
def shape(request: pytest.FixtureRequest) -> Shape:
    """What holds in one shape holds in the other."""
    assert isinstance(request.param, Shape)
    return request.param
