"""Key files: made once, and refused where anybody else could have read or planted them."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from negotiator.errors import ConfigError
from negotiator.store import FileKeys, PepperVerifiers, database_directory
from negotiator.store.keys import FileSigner


def open_signer(directory: Path, database: Path | None = None) -> FileSigner:
    """Return the host's first token key, as a start of the server has it."""
    return FileKeys(directory, database_directory=database).first("token")


def open_verifiers(directory: Path, database: Path | None = None) -> PepperVerifiers:
    return PepperVerifiers.open(directory, database_directory=database)


OPENERS = {"token.key": open_signer, "pepper.key": open_verifiers}
both = pytest.mark.parametrize("name", OPENERS)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys"


def refused(name: str, directory: Path, code: str = "key_file_unsafe", **options: object) -> str:
    with pytest.raises(ConfigError) as caught:
        OPENERS[name](directory, **options)
    assert caught.value.code == code
    assert "BEGIN" not in caught.value.message
    return caught.value.message


@both
def test_a_key_is_made_once_for_its_owner_alone(keys, name):
    OPENERS[name](keys)
    made = (keys / name).read_bytes()
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert stat.S_IMODE((keys / name).stat().st_mode) == 0o600
    assert [path.name for path in keys.iterdir()] == [name]
    OPENERS[name](keys)
    assert (keys / name).read_bytes() == made


def test_a_generous_umask_changes_nothing(keys):
    before = os.umask(0)
    try:
        open_signer(keys)
    finally:
        os.umask(before)
    assert stat.S_IMODE((keys / "token.key").stat().st_mode) == 0o600


def test_the_same_file_gives_the_same_key(keys, tmp_path):
    assert open_signer(keys).key_id == open_signer(keys).key_id
    assert open_signer(keys).key_id != open_signer(tmp_path / "other").key_id
    verifier = open_verifiers(keys).verifier("secret")
    assert open_verifiers(keys).matches("secret", verifier)
    assert not open_verifiers(keys).matches("Secret", verifier)
    assert not open_verifiers(tmp_path / "other").matches("secret", verifier)


@both
def test_starters_at_the_same_time_agree_on_one_key(keys, name):
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: OPENERS[name](keys), range(16)))
    ids = {each.key_id if isinstance(each, FileSigner) else each.verifier("x") for each in opened}
    assert len(ids) == 1


@both
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666])
def test_a_file_that_others_can_use_is_refused_not_mended(keys, name, mode):
    OPENERS[name](keys)
    (keys / name).chmod(mode)
    assert "chmod 600" in refused(name, keys)
    assert stat.S_IMODE((keys / name).stat().st_mode) == mode


@both
@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_directory_that_others_can_use_is_refused(keys, name, mode):
    keys.mkdir()
    keys.chmod(mode)
    assert "chmod 700" in refused(name, keys)
    assert list(keys.iterdir()) == []


@both
def test_a_linked_file_is_refused(keys, name, tmp_path):
    OPENERS[name](keys)
    (keys / name).rename(tmp_path / "planted")
    (keys / name).symlink_to(tmp_path / "planted")
    assert "link" in refused(name, keys)


@both
def test_a_link_to_nowhere_is_refused_and_not_written_through(keys, name, tmp_path):
    keys.mkdir(mode=0o700)
    (keys / name).symlink_to(tmp_path / "elsewhere")
    refused(name, keys)
    assert not (tmp_path / "elsewhere").exists()


@both
def test_a_linked_directory_is_refused(keys, name, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    keys.symlink_to(tmp_path / "real")
    refused(name, keys)
    assert list((tmp_path / "real").iterdir()) == []


@both
def test_a_pipe_or_a_directory_is_refused_without_waiting(keys, name):
    keys.mkdir(mode=0o700)
    os.mkfifo(keys / name, 0o600)
    refused(name, keys)
    (keys / name).unlink()
    (keys / name).mkdir(mode=0o700)
    refused(name, keys)


@both
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_file_is_refused(keys, name):
    OPENERS[name](keys)
    os.chown(keys / name, 12_345, -1)
    assert "another user" in refused(name, keys)


@both
@pytest.mark.parametrize("content", [b"", b"rubbish", b"\xff\xfe", b"00" * 31, b"-----BEGIN PRIVATE KEY-----\n"])
def test_a_spoilt_file_is_refused_and_kept(keys, name, content):
    OPENERS[name](keys)
    (keys / name).write_bytes(content)
    refused(name, keys, "key_file_unreadable")
    assert (keys / name).read_bytes() == content


def test_a_key_of_another_kind_is_refused(keys):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    open_signer(keys)
    pem = X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (keys / "token.key").write_bytes(pem)
    refused("token.key", keys, "key_file_unreadable")


@both
def test_a_missing_parent_is_named(tmp_path, name):
    refused(name, tmp_path / "a" / "b", "key_file_unreadable")


@both
@pytest.mark.parametrize("place", [".", "keys", "deep/../keys"])
def test_keys_do_not_lie_with_the_database(tmp_path, name, place):
    (tmp_path / "deep").mkdir()
    where = database_directory(f"sqlite:///{tmp_path}/site.db")
    refused(name, tmp_path / place, database=where)
    assert not (tmp_path / "keys").exists()


@both
def test_keys_beside_the_databases_directory_are_fine(tmp_path, keys, name):
    (tmp_path / "data").mkdir()
    OPENERS[name](keys, database=database_directory(f"sqlite:///{tmp_path}/data/site.db"))
    assert (keys / name).exists()


def test_a_database_in_memory_has_no_directory():
    assert database_directory("sqlite://") is None


def test_later_keys_lie_beside_the_first_one(keys):
    folder = FileKeys(keys, database_directory=None)
    first, second = folder.make("token"), folder.make("token")
    receipt = folder.make("receipt")
    assert {signer.key_id for signer in folder.signers("token")} == {first.key_id, second.key_id}
    assert [signer.key_id for signer in folder.signers("receipt")] == [receipt.key_id]
    assert {path.name for path in keys.iterdir()} == {"token.key", f"token-{second.key_id[:16]}.key", "receipt.key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in keys.iterdir()} == {0o600}


def test_looking_for_keys_makes_nothing(keys):
    assert FileKeys(keys, database_directory=None).signers("token") == []
    assert not keys.exists()
