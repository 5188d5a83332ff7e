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
from negotiator.store.engine import database_url, reading_engine, writing_engine
from negotiator.store.tables import metadata


@pytest.fixture
def prepared(file_url):
    migrate(file_url)
    return database_url(file_url)


@pytest.fixture
def writing(prepared):
    engine = writing_engine(prepared)
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
        connection.execute(text("SELECT rowid FROM ledger_entries")).all()
        assert inspect(connection).get_pk_constraint("ledger_entries")["constrained_columns"] == ["project_id", "index"]


def test_migrating_again_changes_nothing(file_url, prepared, tmp_path):
    before = (tmp_path / "site.db").read_bytes()
    migrate(file_url)
    assert (tmp_path / "site.db").read_bytes() == before


def test_a_newer_schema_is_refused(file_url, writing):
    with writing.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigError) as caught:
        migrate(file_url)
    assert caught.value.code == "schema_newer"
    assert "9999" in caught.value.message


def test_a_failing_migration_leaves_nothing(file_url, monkeypatch):
    class StepError(Exception):
        pass

    def fails(*_args: object, **_options: object) -> None:
        raise StepError

    monkeypatch.setattr(Operations, "create_index", fails)
    monkeypatch.setattr("alembic.op.create_index", fails)
    with pytest.raises(StepError):
        migrate(file_url)
    engine = reading_engine(database_url(file_url))
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == []
    engine.dispose()


def test_the_first_revision_can_be_taken_back(writing):
    config = Config()
    config.set_main_option("script_location", "negotiator.store:migrations")
    script = ScriptDirectory.from_config(config).get_revision("0001")
    with writing.begin() as connection:
        with Operations.context(MigrationContext.configure(connection)):
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


def test_connections_are_set_up_as_promised(prepared):
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "wal_autocheckpoint": 4000}
    for engine in (reading_engine(prepared), writing_engine(prepared)):
        for _ in range(2):
            with engine.begin() as connection:
                found = {name: connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in wanted}
                assert connection.execute(text("PRAGMA busy_timeout")).scalar_one() > 0
                assert connection.connection.driver_connection.isolation_level is None
            assert found == wanted
        engine.dispose()
