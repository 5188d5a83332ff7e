"""The operator's token: what it opens from elsewhere, what opens nothing, and files that refuse to start."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from negotiator.errors import ConfigError
from tests.support.house import PREFIX, House, house

TOKEN = "0123456789abcdef" * 4


def written(folder: Path, content: str = f"{TOKEN}\n", mode: int = 0o600) -> Path:
    path = folder / "operator.token"
    path.write_text(content)
    path.chmod(mode)
    return path


async def asked(built: House, path: str, *headers: tuple[str, str], client: str = "192.0.2.7") -> httpx.Response:
    transport = httpx.ASGITransport(app=built.app, client=(client, 50_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        return await http.get(path, headers=list(headers))


RIGHT = ("authorization", f"Bearer {TOKEN}")


@pytest.mark.parametrize("via_proxy", [(), (("x-forwarded-for", "192.0.2.7"),)])
async def test_it_opens_numbers_and_details_from_elsewhere(tmp_path: Path, via_proxy):
    with house(tmp_path, operator_token_file=written(tmp_path), root_aliases=True) as built:
        for prefix in (PREFIX, ""):
            assert "negotiator_commits_total" in (await asked(built, f"{prefix}/metrics", RIGHT, *via_proxy)).text
            assert "conditions" in (await asked(built, f"{prefix}/readyz", RIGHT, *via_proxy)).json()


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("authorization", f"Bearer {TOKEN[:-1]}"),),
        (("authorization", f"Bearer {TOKEN}0"),),
        (("authorization", "Bearer"),),
        (("authorization", f"Basic {TOKEN}"),),
        (("authorization", TOKEN),),
        (RIGHT, RIGHT),
        (("uaix-credential", TOKEN),),
        (("authorization", f"Bearer {TOKEN}\t"),),
    ],
)
async def test_nothing_else_does(tmp_path: Path, headers):
    with house(tmp_path, operator_token_file=written(tmp_path)) as built:
        answer = await asked(built, f"{PREFIX}/metrics", *headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert (await asked(built, f"{PREFIX}/readyz", *headers)).json() == {"status": "ok"}


async def test_without_a_file_no_token_opens_anything(tmp_path: Path):
    with house(tmp_path) as built:
        for token in ("", "None", TOKEN):
            answer = await asked(built, f"{PREFIX}/metrics", ("authorization", f"Bearer {token}"))
            assert answer.status_code == 404


async def test_it_opens_nothing_but_that(tmp_path: Path):
    with house(tmp_path, operator_token_file=written(tmp_path)) as built:
        answer = await asked(built, f"{PREFIX}/me", RIGHT)
        assert answer.status_code == 401


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (TOKEN, 0o640, "key_file_unsafe"),
        (TOKEN, 0o604, "key_file_unsafe"),
        (TOKEN[:31], 0o600, "operator_token_unfit"),
        ("", 0o600, "operator_token_unfit"),
        (f"{TOKEN} {TOKEN}", 0o600, "operator_token_unfit"),
        (f"{TOKEN}\n{TOKEN}\n", 0o600, "operator_token_unfit"),
        ("a" * 513, 0o600, "operator_token_unfit"),
    ],
)
async def test_an_unfit_file_keeps_the_server_from_starting(tmp_path: Path, content: str, mode: int, code: str):
    with house(tmp_path, operator_token_file=written(tmp_path, content, mode)) as built:
        with pytest.raises(ConfigError) as caught:
            await built.negotiator.startup()
        assert caught.value.code == code
        assert TOKEN[:31] not in caught.value.message


async def test_a_file_that_is_not_there_a_link_or_beside_the_database_refuses(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(written(tmp_path))
    for path, code in [
        (tmp_path / "none", "key_file_unreadable"),
        (tmp_path / "link", "key_file_unsafe"),
        (written(tmp_path / "data"), "key_file_unsafe"),
    ]:
        with house(tmp_path, operator_token_file=path) as built, pytest.raises(ConfigError) as caught:
            await built.negotiator.startup()
        assert caught.value.code == code
