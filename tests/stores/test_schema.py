"""The schema: made once, compared with the tables, refused when it is newer, untouched when a step fails."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from negotiator.errors import ConfigError
from negotiator.store import migrate
from negotiator.store.engine import database_at
from negotiator.store.tables import metadata
from tests.support.databases import new_database


@pytest.fixture
def prepared(shared_url):
    migrate(shared_url)
    return database_at(shared_url)


@pytest.fixture
def writing(prepared):
    engine = prepared.writing_engine()
    yield engine
    engine.dispose()


def test_the_migrations_lead_to_the_tables(writing):
    with writing.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_every_table_belongs_to_a_project():
    for table in metadata.sorted_tables:
        assert next(iter(table.primary_key)).name == "project_id"
        assert all(column.type.length for column in table.primary_key if hasattr(column.type, "length"))


def test_the_ledger_has_rowids_and_one_entry_for_each_index(writing):
    with writing.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.execute(text("SELECT rowid FROM ledger_entries")).all()
        assert inspect(connection).get_pk_constraint("ledger_entries")["constrained_columns"] == ["project_id", "index"]


def test_migrating_again_changes_nothing(file_url, tmp_path):
    migrate(file_url)
    before = (tmp_path / "site.db").read_bytes()
    migrate(file_url)
    assert (tmp_path / "site.db").read_bytes() == before


def test_a_newer_schema_is_refused(shared_url, writing):
    with writing.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigError) as caught:
        migrate(shared_url)
    assert caught.value.code == "schema_newer"
    assert "9999" in caught.value.message


def test_a_failing_migration_leaves_nothing(shared_url, monkeypatch):
    class StepError(Exception):
        pass

    def fails(*_args: object, **_options: object) -> None:
        raise StepError

    monkeypatch.setattr(Operations, "create_index", fails)
    monkeypatch.setattr("alembic.op.create_index", fails)
    with pytest.raises(StepError):
        migrate(shared_url)
    engine = database_at(shared_url).reading_engine()
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == []
    engine.dispose()


def test_every_revision_can_be_taken_back(writing):
    config = Config()
    config.set_main_option("script_location", "negotiator.store:migrations")
    newest_first = ScriptDirectory.from_config(config).walk_revisions()
    with writing.begin() as connection:
        with Operations.context(MigrationContext.configure(connection)):
            for script in newest_first:
                script.module.downgrade()
        assert inspect(connection).get_table_names() == ["alembic_version"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("nonsense", "database_url_invalid"),
        ("sqlite:///x.db:port/@", "database_directory_missing"),
        ("mysql://localhost/x", "database_unsupported"),
        ("sqlite:////nowhere/at/all/site.db", "database_directory_missing"),
    ],
)
def test_urls_that_cannot_be_used(url, code):
    with pytest.raises(ConfigError) as caught:
        migrate(url)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb"])
def test_project_names_that_cannot_be_used(file_url, open_site, name):
    with pytest.raises(ConfigError) as caught:
        open_site(file_url, project=name)
    assert caught.value.code == "project_invalid"


def test_connections_are_set_up_as_promised(file_url):
    migrate(file_url)
    prepared = database_at(file_url)
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "wal_autocheckpoint": 4000}
    for engine in (prepared.reading_engine(), prepared.writing_engine()):
        for _ in range(2):
            with engine.begin() as connection:
                found = {name: connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in wanted}
                assert connection.execute(text("PRAGMA busy_timeout")).scalar_one() > 0
                assert connection.connection.driver_connection.isolation_level is None
            assert found == wanted
        engine.dispose()


def test_postgresql_sessions_never_wait_long_and_readers_cannot_write(tmp_path):
    with new_database("postgresql", tmp_path) as url:
        migrate(url)
        wanted = {
            "lock_timeout": "2s",
            "statement_timeout": "5s",
            "idle_in_transaction_session_timeout": "5s",
            "fsync": "on",
            "synchronous_commit": "on",
            "transaction_read_only": "off",
        }
        assert settings_of(database_at(url).writing_engine(), wanted) == wanted
        wanted = {"transaction_isolation": "repeatable read", "transaction_read_only": "on"}
        assert settings_of(database_at(url).reading_engine(), wanted) == wanted


def settings_of(engine, names):
    with engine.begin() as connection:
        found = {name: connection.execute(text(f"SHOW {name}")).scalar_one() for name in names}
    engine.dispose()
    return found


def test_a_database_that_is_not_in_utf_8_is_refused(tmp_path):
    options = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
    with new_database("postgresql", tmp_path, options=options) as url, pytest.raises(ConfigError) as caught:
        migrate(url)
    assert caught.value.code == "database_encoding"
