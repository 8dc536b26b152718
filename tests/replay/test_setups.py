"""The other setup of a comparison: what it says, over what this one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from attend.errors import ConfigError
from attend.replay.setups import other, this
from attend.settings import Settings

FLAGS = {"kinds": ['{"x":"flush"}'], "settle": ["closing_grace_ms=100,max_waits=1"]}


def test_keys_of_the_settle_table_go_over_all_else_that_this_setup_says() -> None:
    base = this({**FLAGS, "act_threshold": ["0.5"]}, {})
    found = other(["closing_grace_ms=900", "max_events=5,seen_count=9"], FLAGS, {}, base)
    assert found.kinds == {"x": "flush"}
    assert found.act_threshold == 0.5
    assert found.settle == {"closing_grace_ms": 900, "max_waits": 1, "max_events": 5, "seen_count": 9}


def test_a_file_of_settings_takes_the_place_of_this_setups_file(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine.toml", tmp_path / "theirs.toml"
    mine.write_text('[judge]\nguidance = "mine"\n[settle]\nstream_gap_ms = 7\n')
    theirs.write_text('[settle]\nclosing_grace_ms = 900\n[kinds]\n"y" = "closing"\n')
    flags = {**FLAGS, "config": [str(mine)]}
    base = this(flags, {})
    assert (base.guidance, base.settle["stream_gap_ms"]) == ("mine", 7)
    found = other([str(theirs)], flags, {"ATTEND_CONFIG": str(mine)}, base)
    assert (found.guidance, found.kinds) == (None, {"y": "closing"})
    assert found.settle == {"closing_grace_ms": 900, "max_waits": 1}


def test_a_file_of_variables(tmp_path: Path) -> None:
    file = tmp_path / "other.env"
    file.write_text(
        "# another day\n\nexport ATTEND_ACT_THRESHOLD='0.7'\nATTEND_SETTLE=\"closing_grace_ms=1\"\n"
    )
    found = other([str(file)], FLAGS, {"ATTEND_GUIDANCE": "be calm"}, this(FLAGS, {}))
    assert (found.act_threshold, found.guidance, found.kinds) == (0.7, "be calm", {"x": "flush"})
    assert found.settle == {"closing_grace_ms": 1, "max_waits": 1}


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (["closing_grace=5"], "no settle key"),
        (["max_events=600"], "--against: seen_count"),
        (["nowhere.env"], "nowhere.env: No such file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["a.toml", "b.toml"], "give one file"),
        (["a.toml", "max_waits=5"], "give one file"),
    ],
)
def test_another_setup_that_is_wrong_is_refused(what: list[str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        other(what, {}, {}, Settings())


def test_a_variable_that_decides_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.env"
    file.write_text("ATTEND_PORT=80\nnonsense\n")
    with pytest.raises(ConfigError) as caught:
        other([str(file)], {}, {}, Settings())
    assert len(caught.value.problems) == 2
