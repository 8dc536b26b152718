"""The file of principals, and `attend token new` that fills it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from attend.cli.token import run_token
from attend.config_file import read_file as read_config
from attend.errors import ConfigError
from attend.principal import Principal, Right, block, hash_of, new_token, read_file
from attend.settings import Settings

HASH = hash_of(b"t0ken")
GOOD = f"""
[[principal]]
name = "pager"
hash = "{HASH}"
rights = ["read", "ingest"]
scopes = ["ops/", ""]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the principals go."""
    return tmp_path / "principals.toml"


def problems(file: Path, text: str) -> list[str]:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r".") as caught:
        read_file(str(file))
    return str(caught.value).splitlines()


def test_a_file_holds_principals(file: Path) -> None:
    file.write_text("\ufeff" + GOOD, encoding="utf-8")
    [found] = read_file(str(file))
    assert found == Principal("pager", frozenset({Right.READ, Right.INGEST}), ("ops/", ""), hash=HASH)
    assert found.visible is None
    file.write_text("# nobody\n", encoding="utf-8")
    assert read_file(str(file)) == ()


def test_a_block_is_read_back_as_it_was(file: Path) -> None:
    odd = Principal(
        "a.b@c-d_1", frozenset({Right.ADMIN}), ('qu"ote\\', "nl\n\x7f", "\u00e9/\U0001f600"), hash=HASH
    )
    file.write_text(block(odd), encoding="utf-8")
    assert read_file(str(file)) == (odd,)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"pager"', '"two words"', "[[principal]] two words: name: it must be 1 to 64 letters"),
        ('name = "pager"', "", "[[principal]] number 1: name: it must be a text"),
        ('"pager"', '"token"', "token is a name that attend gives itself"),
        ('"pager"', f'"{"x" * 65}"', "1 to 64"),
        ('"pager"', '"caf\u00e9"', "letters, digits"),
        (f'"{HASH}"', '"t0ken"', "hash: it must be sha256:"),
        (f'"{HASH}"', f'"{HASH.upper()}"', "hash: it must be sha256:"),
        ('["read", "ingest"]', '["write"]', "rights: it must be a list of some of ingest, read, admin"),
        ('["read", "ingest"]', "[]", "rights"),
        ('["ops/", ""]', '"ops/"', "scopes: it must be a list"),
        ('["ops/", ""]', "[]", "scopes: it must be a list"),
        ('["ops/", ""]', f'["{"x" * 513}"]', "longer than"),
        ("scopes =", "scope =", "scope: there is no such key; did you mean scopes?"),
        ("[[principal]]", "[[principals]]", "did you mean [[principal]]?"),
        ("[[principal]]", "[principal]", "write [[principal]] above its keys"),
        ("[[principal]]", "[[principal", "it is not TOML"),
    ],
)
def test_what_is_wrong_is_said_and_no_token_is_shown(file: Path, old: str, new: str, words: str) -> None:
    found = problems(file, GOOD.replace(old, new))
    assert any(words in line for line in found), found
    assert "t0ken" not in "".join(found)


def test_two_of_a_name_or_of_a_token_are_refused(file: Path) -> None:
    found = problems(file, GOOD + GOOD)
    assert found == [
        "[[principal]] pager: name: pager is another one's already",
        "[[principal]] pager: hash: it is pager's already; each has a token of its own",
    ]


def test_a_configuration_may_hold_them_and_is_then_the_file_that_is_read_again(tmp_path: Path) -> None:
    config = tmp_path / "attend.toml"
    config.write_text(f"[serve]\nhost = '0.0.0.0'\n{GOOD}", encoding="utf-8")
    assert read_config(str(config)).problems == ()
    settings = Settings.from_file(str(config))
    assert settings.principals == str(config)
    assert Settings.from_env(settings.to_env()) == settings
    config.write_text(f"[serve]\nprincipals = '{config}'\n{GOOD}", encoding="utf-8")
    with pytest.raises(ConfigError, match="says it already"):
        Settings.from_file(str(config))


def test_a_flag_names_another_file_and_that_is_checked_too(file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    assert Settings.read({"principals": [str(file)]}, {}).principals == str(file)
    file.write_text(GOOD.replace("pager", "two words"), encoding="utf-8")
    with pytest.raises(ConfigError, match="--principals: "):
        Settings.read({"principals": [str(file)]}, {})


def test_no_two_tokens_are_the_same() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert all(len(new_token()) > 40 for _ in range(10))


def test_a_token_is_shown_once_with_the_block_to_paste(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_token("pager", {"rights": ["read,ingest"], "scopes": ["ops/", "infra/"]}) == 0
    token, _, pasted = capsys.readouterr().out.partition("\n")
    file.write_text(pasted, encoding="utf-8")
    assert token not in pasted
    [found] = read_file(str(file))
    rights = frozenset({Right.READ, Right.INGEST})
    assert found == Principal("pager", rights, ("ops/", "infra/"), hash=hash_of(token.encode()))


def test_tokens_are_added_to_a_file_for_the_user_alone(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens: list[str] = []
    for name in ("a", "b"):
        assert run_token(name, {"file": [str(file)]}) == 0
        tokens.append(capsys.readouterr().out.strip())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.hash for each in read_file(str(file))] == [hash_of(token.encode()) for token in tokens]
    assert [(each.rights, each.scopes) for each in read_file(str(file))] == [
        (frozenset({Right.READ}), ("",))
    ] * 2
    before = file.read_bytes()
    with pytest.raises(ConfigError, match="another one's already"):
        run_token("a", {"file": [str(file)]})
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("two words", {}, "NAME: "),
        ("anyone", {}, "gives itself"),
        ("pager", {"rights": ["raed"]}, "'raed' is no right"),
        ("pager", {"scopes": [","]}, "give prefixes"),
        ("pager", {"file": ["/nowhere/at/all.toml"]}, "--file"),
    ],
)
def test_what_cannot_be_made_is_refused(name: str, given: dict[str, list[str]], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_token(name, given)
    assert words in "\n".join(caught.value.problems)
