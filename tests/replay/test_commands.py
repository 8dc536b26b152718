"""`attend replay` and `attend tune`, as they are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from attend.cli.main import main
from tests.replay.streams import KINDS, STORY, body, line

JUDGE = "tests.replay.streams:shares"


@pytest.fixture
def story(tmp_path: Path) -> str:
    """A recording in a file."""
    file = tmp_path / "story.ndjson"
    file.write_bytes(body(*STORY))
    return str(file)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in ("ATTEND_CONFIG", "ATTEND_KINDS", "ATTEND_JUDGE", "ATTEND_SETTLE"):
        monkeypatch.delenv(name, raising=False)


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """A command's exit code, output and complaints."""
    code = main([*arguments, "--kinds", json.dumps(KINDS)])
    told = capsys.readouterr()
    return code, told.out, told.err


def parsed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command says as JSON."""
    code, out, err = called(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_replay_shows_what_an_agent_would_have_heard(
    story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labels").write_text("a2\na5\nb1\nzz\n")
    picture = tmp_path / "story.svg"
    code, out, err = called(
        capsys, "replay", story, "--labels", str(tmp_path / "labels"), "--svg", str(picture), "--show", "3"
    )
    assert (code, err) == (0, "")
    assert "7 events in 2 scopes, 2025-10-09 08:53:20.000 to 2025-10-09 09:53:20.000 UTC (1 h 0 min)" in out
    assert "4 (3 queue, 1 interrupt)" in out
    assert "wakes      4 an hour" in out
    assert "recall     1.000: 3 of 3 labelled events" in out
    assert "precision  0.750: 3 of 4 wakes" in out
    assert "1 label of no event here" in out
    assert "08:53:22.000  ci     interrupt  flush    1       what happened?" in out
    assert "... 1 more" in out
    ElementTree.parse(picture)


def test_two_setups_side_by_side(story: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(capsys, "replay", story, "--against", "closing_grace_ms=5000")
    assert [len(each["decisions"]) for each in found["setups"]] == [4, 3]
    assert found["setups"][0]["decisions"][0]["eventIds"] == ["a1", "a2", "a3"]
    assert [len(found["changes"][name]) for name in ("appeared", "vanished", "rerouted")] == [1, 2, 0]
    appeared = found["changes"]["appeared"]
    assert list(found["changes"]["moved"].values()) == [appeared, appeared]
    code, out, _ = called(capsys, "replay", story, "--against", "closing_grace_ms=5000")
    assert code == 0
    assert "with closing_grace_ms=5000: 1 appear, 2 vanish, 0 change route" in out
    _, out, _ = called(capsys, "replay", story, "--against", "wait_horizon_ms=5000")
    assert "with wait_horizon_ms=5000 an agent hears the same" in out


def test_what_was_recorded_is_not_asked_again(
    story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "judgments")
    first = parsed(capsys, "replay", story, "--judge", JUDGE, "--record", file)["setups"][0]
    second = parsed(capsys, "replay", story, "--judge", JUDGE, "--judgments", file)["setups"][0]
    assert (first["asked"], first["replayed"], second["asked"], second["replayed"]) == (4, 0, 0, 4)
    assert first["decisions"] == second["decisions"]
    third = parsed(capsys, "replay", story, "--judge", JUDGE, "--record", file)["setups"][0]
    assert (third["asked"], third["replayed"]) == (0, 4)


def test_nothing_settles_without_an_act(story: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", story]) == 0
    assert "no event is an act" in capsys.readouterr().out


def test_all_that_is_wrong_with_a_command_is_said(story: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "replay", "nowhere")[::2] == (
        2,
        "attend: nowhere: No such file or directory; give a file that can be read\n",
    )
    code, _, err = called(capsys, "replay", story, "--wakes", "skip", "--show", "x")
    assert (code, err.count("attend: --")) == (2, 2)
    code, _, err = called(capsys, "tune", story, "--budget", "many")
    assert (code, "--budget: 'many' is not a number" in err) == (2, True)
    code, _, err = called(capsys, "replay", story, "--judgments", "nowhere")
    assert (code, "nowhere: No such file" in err) == (2, True)
    code, _, err = called(capsys, "replay", story, "--svg", "/nowhere/x.svg")
    assert (code, "--svg: /nowhere/x.svg" in err) == (2, True)


@pytest.fixture
def hour(tmp_path: Path) -> str:
    """An hour with ten windows, whose judge acts with 0.05, 0.15, ... 0.95."""
    file = tmp_path / "hour.ndjson"
    lines = [line("a", str(n), n * 400_000, "user.said", f"sure: {n / 10 + 0.05:.2f}") for n in range(10)]
    file.write_bytes(body(*lines))
    return str(file)


def test_tuning_suggests_the_threshold_within_a_budget(
    hour: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "tune.svg"
    code, out, err = called(
        capsys,
        "tune",
        hour,
        "--judge",
        JUDGE,
        "--budget",
        "3",
        "--svg",
        str(picture),
        "--act-threshold",
        "0.1",
    )
    assert (code, err) == (0, "")
    assert "10 judgments, 10 with probabilities; 10 asked" in out
    assert "act_threshold 0.75: 3 acts, 3 an hour (budget 3)" in out
    assert "replayed with it: 3 acts, 3 an hour" in out
    assert out.count("█") > 20
    ElementTree.parse(picture)
    found = parsed(capsys, "tune", hour, "--judge", JUDGE, "--budget", "3")
    assert (round(found["threshold"], 6), found["actsReplayed"], len(found["candidates"])) == (0.75, 3, 11)


def test_tuning_says_when_no_threshold_would_help(
    story: str, hour: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = called(capsys, "tune", story)
    assert (code, "no judgment has probabilities" in err) == (1, True)


def test_the_example_of_the_docs_says_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parents[2]
    docs = (root / "docs" / "replay.md").read_text(encoding="utf-8")
    expected = docs.partition("```text\n")[2].partition("```")[0]
    files = {name: str(root / "examples" / f"night.{name}") for name in ("ndjson", "kinds.json", "labels")}
    night = ["replay", files["ndjson"], "--kinds", files["kinds.json"], "--labels", files["labels"]]
    assert main(night) == 0
    assert capsys.readouterr().out.startswith(expected)
    assert main([*night, "--against", "closing_grace_ms=20000"]) == 0
    out = capsys.readouterr().out
    assert "with closing_grace_ms=20000: 3 appear, 9 vanish, 0 change route" in out
    assert "precision  0.500" in out
