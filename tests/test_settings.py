"""Settings: what names a result, and what came later."""

from dataclasses import dataclass

from rlassay.settings import added_later, flatten, identifying


@dataclass(frozen=True)
class Some:
    width: int = 3
    rounds: int = added_later(1)
    limit: float | None = added_later(None)


def test_a_later_setting_is_left_out_while_it_changes_nothing():
    assert flatten(Some()) == {"width": 3, "rounds": 1, "limit": None}
    assert identifying(Some()) == {"width": 3}
    assert identifying(Some(rounds=2)) == {"width": 3, "rounds": 2}
    assert identifying(Some(limit=0.5)) == {"width": 3, "limit": 0.5}
