"""Alembic's environment: every migration that is missing runs in the one transaction that `migrate` opened."""

from alembic import context

from negotiator.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    transaction_per_migration=False,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
