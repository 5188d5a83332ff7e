"""The only place that names every part: `Negotiator` puts services, store, policies and routes together.

- Making a `Negotiator` touches nothing. Its parts are made when they are first asked for: policies are loaded and
  keys and database opened (and made, where missing) when the middleware is built around a site.
- No thread and no lasting connection exists before the first request or command, so it may be built before a fork.
- `stop` writes what is queued and lets go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from negotiator.config import Settings
from negotiator.errors import ConfigError, quoted
from negotiator.messages import Catalog
from negotiator.model.levels import Level
from negotiator.model.routes import Mode, RouteRule, UnmatchedRules
from negotiator.policy import Engine, load_bundle, surface_of
from negotiator.ports import Clock, Ids
from negotiator.services.accounts import Accounts
from negotiator.services.administration import Administration
from negotiator.services.answers import SUPPORT_BOUNDARY
from negotiator.services.approvals import Approvals
from negotiator.services.asking import ConsentTerms
from negotiator.services.audit import Audit
from negotiator.services.brought import EvidenceUse
from negotiator.services.budgets import Budgets
from negotiator.services.callers import Callers
from negotiator.services.consent_decisions import ConsentDecisions, expiry_chore
from negotiator.services.consent_desk import ConsentDesk
from negotiator.services.consents import Consents
from negotiator.services.delays import Delays
from negotiator.services.effect_list import EffectList
from negotiator.services.enforcement import Enforcement
from negotiator.services.evidence import Evidences, EvidenceTerms
from negotiator.services.evidence_administration import EvidenceAdministration
from negotiator.services.gate import Gate
from negotiator.services.governance import Governance
from negotiator.services.key_administration import KeyAdministration
from negotiator.services.leases import Leases
from negotiator.services.negotiations import Negotiations, NegotiationTerms
from negotiator.services.policies import Policies
from negotiator.services.proposals import Proposals
from negotiator.services.readiness import Readiness
from negotiator.services.receipts import Receipts
from negotiator.services.replays import Replays, forgetting
from negotiator.services.retention import Retention
from negotiator.services.room import Claimant, Room
from negotiator.services.sessions import Sessions, sweeping
from negotiator.services.settlements import Settlements
from negotiator.services.signing import Signing
from negotiator.services.site_credentials import SiteCredentials
from negotiator.services.standing import Standings
from negotiator.services.step_up import StepUp
from negotiator.services.suppressed import Suppressed
from negotiator.services.task_list import TaskList
from negotiator.services.task_moves import task_sweep
from negotiator.services.tasks import Tasks, TaskTerms
from negotiator.services.watch import Watch
from negotiator.shipped import load_catalog, shipped_folder
from negotiator.store import (
    AesSealer,
    Argon2Hashes,
    FileKeys,
    FileSwitch,
    FolderDisk,
    JwsAttestations,
    OperatorToken,
    PepperVerifiers,
    PolicyFolder,
    RandomIds,
    SqlStore,
    SystemClock,
    database_directory,
    open_store,
)
from negotiator.web.api import Condition, create_api, own_paths
from negotiator.web.enforcement_port import HumanAuthenticator
from negotiator.web.metrics import Metrics

__all__ = ["Negotiator", "load_engine"]


_PASSWORDS_WAITING: Final = 16
"""Passwords that are looked at or wait for it in one process; each takes 64 MiB for a moment, one at a time."""


def load_engine(policies_dir: Path | None, *, project: str = "default") -> Engine:
    """Load the policies of a folder, or the shipped ones, into an engine that has passed its self-test.

    Raises:
        PolicyError: with the findings that keep the bundle from becoming active.
    """
    return _engine(PolicyFolder(policies_dir or shipped_folder("policies")).read(), project=project)


def _engine(files: Mapping[str, bytes], *, project: str) -> Engine:
    return Engine(load_bundle(files), name=f"cedarpy {version('cedarpy')}", project=project)


class Negotiator:
    """One site's negotiator; what the middleware and the API's routes read is here, by their names.

    Args:
        settings: what the operator configured.
        human_authenticator: the site's hook: given an ASGI scope, the id of the person who is signed in, or None.
        clock, ids: for tests; the machine's by default.
    """

    standing_check_seconds = 1.0
    support_boundary = SUPPORT_BOUNDARY

    def __init__(
        self,
        settings: Settings,
        *,
        human_authenticator: HumanAuthenticator | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        self.settings = settings
        self.human_authenticator = human_authenticator
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = ids or RandomIds()
        self._bundle_since = self.clock.monotonic()

    async def startup(self) -> None:
        """Make every part, so that a server that cannot work does not start.

        Raises:
            ConfigError: keys, database or routes cannot be used.
            PolicyError: the policies cannot become active.
        """
        _ = self.policies, self.enforcement, self.negotiations, self.operator_token, self.api
        self.store.start()

    async def shutdown(self) -> None:
        """Write what is queued and let go."""
        self.stop()

    def stop(self) -> None:
        """Write what is queued and let go; a part that was never made stays unmade."""
        if "store" in self.__dict__:
            self.store.stop()

    @cached_property
    def routes(self) -> Sequence[RouteRule]:
        """The route rules, in the order of the configuration."""
        return self.settings.rules

    @property
    def unmatched(self) -> UnmatchedRules:
        """What happens to requests that no rule matches."""
        return self.settings.unmatched_rules

    @property
    def mode(self) -> Mode:
        """Whether decisions bind, where a route does not say otherwise."""
        return self.settings.mode

    @property
    def prefix(self) -> str:
        """Where our own routes live."""
        return self.settings.prefix

    @property
    def public_url(self) -> str | None:
        """The site's origin; None means loopback only."""
        return self.settings.public_url or None

    @property
    def allowed_hosts(self) -> Sequence[str]:
        """The authorities that requests may name; empty means loopback names."""
        return self.settings.hosts

    @property
    def max_message_bytes(self) -> int:
        """The largest message that the API reads."""
        return self.settings.max_message_bytes

    @property
    def root_aliases(self) -> bool:
        """Whether routes such as `/healthz` are answered at the site's root, too."""
        return self.settings.root_aliases

    @property
    def trusted_proxies(self) -> Sequence[str]:
        """Networks of the proxies whose `X-Forwarded-For` is believed."""
        return self.settings.trusted_proxies

    def admit_stranger(self, source: str) -> None:
        """Take a stranger's declaration or validation into the budget of its source.

        Raises:
            UnavailableError: `over_budget` or `room_low`.
        """
        self.room.require(Claimant.STRANGER)
        self.budgets.spend_declaration(source)

    @property
    def own_paths(self) -> Collection[str]:
        """Exact paths outside the prefix that are ours."""
        return own_paths(self)

    @property
    def bundle_digest(self) -> str:
        """The digest of the active policies."""
        return self.engine.bundle.digest

    @property
    def policy_count(self) -> int:
        """How many policies are active; with none, everything is denied."""
        return len(self.engine.bundle.policies)

    @property
    def access(self) -> Mapping[Level, Mapping[str, Any]]:
        """What each level may do here, as the active policies say."""
        return self.policies.access

    @property
    def public_keys(self) -> Mapping[str, Any]:
        """The JWKS document of the token keys."""
        return self.signing.public_keys()

    async def refresh(self) -> None:
        """Look again at what discovery shows and other processes may have changed."""
        await self.signing.refresh()

    async def conditions(self) -> Sequence[Condition]:
        """Return what is wrong now with what the answers stand on."""
        notices = [Condition(code=code, state="degraded", detail=detail) for code, detail in self.governance.notices]
        return [*await self.readiness.conditions(), *self.room.conditions(), *notices]

    @cached_property
    def catalog(self) -> Catalog:
        """The shipped schemas, profiles and examples."""
        return load_catalog()

    @property
    def engine(self) -> Engine:
        """What decides now."""
        return self.policies.engine

    @cached_property
    def policies(self) -> Policies:
        """The active policies."""
        engine = load_engine(self.settings.policies_dir, project=self.settings.project)
        _check_routes(self.routes, engine)
        return Policies(engine, surface=surface_of(self.routes))

    def use_bundle(self, files: Mapping[str, bytes], *, actor: str) -> bool:
        """Let other policies decide: checked and self-tested, then recorded, then put in force in one step.

        Requests under way are answered; what was decided under the old policies and is not recorded yet is decided
        again. Blocks, so call it in a thread.

        Args:
            files: relative path to content, as `PolicyFolder.read` gives them.
            actor: the user of this host who makes the change, for the ledger.

        Returns:
            Whether the policies changed.

        Raises:
            PolicyError: the files make no bundle that can become active; the old policies stay.
            ConfigError: `route_unfit`, with these policies; the old ones stay.
            UnavailableError: the change could not be recorded; the old policies stay.
        """
        engine = _engine(files, project=self.settings.project)
        _check_routes(self.routes, engine)
        changed = self.policies.replace(engine, store=self.store, actor=actor)
        if changed:
            self._bundle_since = self.clock.monotonic()
        return changed

    @cached_property
    def store(self) -> SqlStore:
        """The project's durable state."""
        if folder := database_directory(self.settings.database):
            _make_folder(folder)
        store = open_store(self.settings.database, project=self.settings.project, clock=self.clock, meter=self.meter)
        store.attend(self.leases.chore)
        store.attend(self.governance.chore)
        store.attend(self.suppressed.chore)
        store.attend(Retention(negotiations_days=self.settings.limits.negotiations_kept_days).chore)
        lifetime = timedelta(hours=self.settings.key_lifetime_hours)
        store.attend(forgetting(lifetime))
        store.attend(expiry_chore())
        store.attend(sweeping())
        store.attend(task_sweep())
        return store

    @cached_property
    def suppressed(self) -> Suppressed:
        """Refusals that are counted instead of recorded one by one."""
        return Suppressed()

    @cached_property
    def budgets(self) -> Budgets:
        """What strangers and agents may spend in this process."""
        return Budgets(self.clock, self.settings.limits, self.suppressed)

    @cached_property
    def gate(self) -> Gate:
        """Where declarations wait for their answer to be worked out."""
        return Gate(most=self.settings.limits.waiting_declarations, suppressed=self.suppressed)

    @cached_property
    def room(self) -> Room:
        """What is refused first when the disk fills."""
        disk = FolderDisk(database_directory(self.settings.database), self.clock)
        return Room(disk, reserve_mebibytes=self.settings.limits.free_mebibytes)

    @cached_property
    def leases(self) -> Leases:
        """Effects under way in this process, and stalled ones of others."""
        return Leases(self.clock, lease_seconds=self.settings.effect_lease_seconds)

    @cached_property
    def replays(self) -> Replays:
        """Idempotency keys that were used."""
        return Replays(self.store, max_answer_bytes=self.settings.max_stored_answer_bytes)

    @cached_property
    def governance(self) -> Governance:
        """Whether decisions bind, and whether agents are let in at all."""
        return Governance(mode=self.mode, rules=self.routes, switch=FileSwitch(self.settings.kill_switch, self.clock))

    def turn_kill_switch(self, *, on: bool) -> None:
        """Stop agents, or let them in again: in effect first, then recorded. Blocks, so call it in a thread.

        Raises:
            ConfigError: `kill_switch_unwritable`; turned on it is on in this process alone, turned off it stays on.
            UnavailableError: it is in effect, and is recorded when the ledger can be written again.
        """
        try:
            self.governance.turn(on=on)
        finally:
            self.store.transact_sync(self.governance.record)

    @cached_property
    def effects(self) -> EffectList:
        """Effects that have no outcome, or none that anybody knows."""
        return EffectList(self.store)

    @cached_property
    def key_folder(self) -> FileKeys:
        """The key files of this host; the first token key is made if there is none."""
        folder = FileKeys(self.settings.keys_dir, database_directory=database_directory(self.settings.database))
        folder.first("token")
        return folder

    @cached_property
    def signing(self) -> Signing:
        """Which key signs tokens, and whose signatures hold."""
        return Signing(store=self.store, folder=self.key_folder, clock=self.clock)

    @cached_property
    def key_administration(self) -> KeyAdministration:
        """Keys of every purpose."""
        folder = FileKeys(self.settings.keys_dir, database_directory=database_directory(self.settings.database))
        return KeyAdministration(store=self.store, folder=folder)

    @cached_property
    def verifiers(self) -> PepperVerifiers:
        """The pepper of credential hashes."""
        return PepperVerifiers.open(
            self.settings.keys_dir, database_directory=database_directory(self.settings.database)
        )

    @cached_property
    def callers(self) -> Callers:
        """Who is calling."""
        return Callers(
            store=self.store,
            signing=self.signing,
            verifiers=self.verifiers,
            clock=self.clock,
            audience=self.settings.audience,
        )

    @cached_property
    def enforcement(self) -> Enforcement:
        """Governed requests."""
        return Enforcement(
            store=self.store,
            callers=self.callers,
            policies=self.policies,
            leases=self.leases,
            replays=self.replays,
            governance=self.governance,
            budgets=self.budgets,
            room=self.room,
            approvals=self.approvals,
            evidence=self.evidence_use,
            clock=self.clock,
            ids=self.ids,
            prefix=self.prefix,
            meter=self.meter,
        )

    @cached_property
    def negotiations(self) -> Negotiations:
        """Declarations and their answers."""
        settings = self.settings
        return Negotiations(
            store=self.store,
            signing=self.signing,
            callers=self.callers,
            policies=self.policies,
            catalog=self.catalog,
            clock=self.clock,
            ids=self.ids,
            budgets=self.budgets,
            gate=self.gate,
            room=self.room,
            terms=NegotiationTerms(
                project=settings.project,
                audience=settings.audience,
                lifetime=timedelta(seconds=settings.token_lifetime_seconds),
                max_message_bytes=settings.max_message_bytes,
                mode=settings.mode,
                surface=surface_of(self.routes),
                most_live=settings.limits.negotiations_per_agent,
                consent_url=f"{self.public_url or ''}{self.prefix}/consents",
                evidence_url=f"{self.public_url or ''}{self.prefix}/evidence",
            ),
            meter=self.meter,
        )

    @cached_property
    def proposals(self) -> Proposals:
        """Memory proposals, as their authors see them."""
        return Proposals(store=self.store, callers=self.callers)

    @cached_property
    def evidence_use(self) -> EvidenceUse:
        """What evidence that a request names is worth."""
        return EvidenceUse(self.store)

    @cached_property
    def evidence_terms(self) -> EvidenceTerms:
        """What the configuration fixes for evidence."""
        limits = self.settings.limits
        return EvidenceTerms(
            max_bytes=self.settings.max_evidence_bytes,
            max_items=limits.evidence_per_agent,
            max_total_bytes=limits.evidence_mebibytes_per_agent << 20,
        )

    @cached_property
    def evidence(self) -> Evidences:
        """Evidence, as agents hand it in."""
        return Evidences(
            store=self.store,
            callers=self.callers,
            policies=self.policies,
            catalog=self.catalog,
            attestations=JwsAttestations(),
            clock=self.clock,
            ids=self.ids,
            terms=self.evidence_terms,
            max_message_bytes=self.settings.max_message_bytes,
        )

    @cached_property
    def evidence_administration(self) -> EvidenceAdministration:
        """Evidence and its issuers, for operators."""
        return EvidenceAdministration(
            store=self.store,
            attestations=JwsAttestations(),
            clock=self.clock,
            project=self.settings.project,
            terms=self.evidence_terms,
        )

    @property
    def max_evidence_bytes(self) -> int:
        """The largest evidence that the API reads."""
        return self.settings.max_evidence_bytes

    @cached_property
    def tasks(self) -> Tasks:
        """Long tasks."""
        return Tasks(
            store=self.store,
            callers=self.callers,
            policies=self.policies,
            evidence=self.evidence_use,
            catalog=self.catalog,
            clock=self.clock,
            ids=self.ids,
            budgets=self.budgets,
            room=self.room,
            governance=self.governance,
            terms=TaskTerms(
                prefix=self.prefix,
                max_open=self.settings.limits.open_tasks_per_agent,
                lifetime=timedelta(days=self.settings.task_lifetime_days),
                max_message_bytes=self.settings.max_message_bytes,
            ),
            meter=self.meter,
        )

    @cached_property
    def task_list(self) -> TaskList:
        """Long tasks, for operators."""
        return TaskList(self.store)

    @cached_property
    def site_credentials(self) -> SiteCredentials:
        """Credentials of the site itself."""
        return SiteCredentials(store=self.store, verifiers=self.verifiers, ids=self.ids)

    @cached_property
    def settlements(self) -> Settlements:
        """Effects, one by one, and what is said of them afterwards."""
        return Settlements(
            store=self.store,
            callers=self.callers,
            credentials=self.site_credentials,
            policies=self.policies,
            project=self.settings.project,
        )

    @cached_property
    def consent_terms(self) -> ConsentTerms:
        """What the configuration fixes for consents."""
        settings = self.settings
        return ConsentTerms(
            lifetime=timedelta(seconds=settings.consent_lifetime_seconds),
            approval_lifetime=timedelta(seconds=settings.approval_lifetime_seconds),
            cooldown=timedelta(seconds=settings.consent_cooldown_seconds),
            pending_per_agent=settings.consents_pending_per_agent,
            pending=settings.consents_pending,
        )

    @cached_property
    def approvals(self) -> Approvals:
        """Approvals, as requests meet them."""
        return Approvals(store=self.store, clock=self.clock, ids=self.ids, terms=self.consent_terms)

    @cached_property
    def watch(self) -> Watch:
        """Who waits for a consent to be decided."""
        return Watch(self.store)

    @cached_property
    def consents(self) -> Consents:
        """Consents, as their agents see them."""
        return Consents(
            store=self.store,
            callers=self.callers,
            policies=self.policies,
            rules=self.routes,
            receipts=Receipts(store=self.store, folder=self.key_folder, issuer=self.settings.audience),
            watch=self.watch,
            clock=self.clock,
            ids=self.ids,
            terms=self.consent_terms,
            route=f"POST {self.prefix}/consents",
        )

    @cached_property
    def consent_decisions(self) -> ConsentDecisions:
        """Consents, as people decide them."""
        return ConsentDecisions(
            store=self.store,
            policies=self.policies,
            rules=self.routes,
            watch=self.watch,
            clock=self.clock,
            ids=self.ids,
            terms=self.consent_terms,
        )

    @cached_property
    def consent_desk(self) -> ConsentDesk:
        """Consents, for the command line."""
        return ConsentDesk(store=self.store)

    def ticket_url(self, request_id: str) -> str:
        """Return where a person finds a consent request; the address gives no authority."""
        return f"{self.public_url or ''}/consents/{request_id}"

    @cached_property
    def sealer(self) -> AesSealer:
        """Seals secrets of second factors."""
        return AesSealer(self.verifiers.derived("second factors"))

    @cached_property
    def password_hashes(self) -> Argon2Hashes:
        """Hashes passwords."""
        return Argon2Hashes()

    @cached_property
    def delays(self) -> Delays:
        """What failures to sign in cost."""
        return Delays(self.clock, self.suppressed)

    @cached_property
    def accounts(self) -> Accounts:
        """Accounts of people, as admins see them."""
        return Accounts(
            store=self.store,
            hashes=self.password_hashes,
            sealer=self.sealer,
            ids=self.ids,
            project=self.settings.project,
            issuer=self._issuer,
        )

    @cached_property
    def sessions(self) -> Sessions:
        """People who sign in."""
        return Sessions(
            store=self.store,
            hashes=self.password_hashes,
            slow=Gate(most=_PASSWORDS_WAITING, suppressed=self.suppressed),
            delays=self.delays,
            suppressed=self.suppressed,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def step_up(self) -> StepUp:
        """Second factors of people who are signed in."""
        return StepUp(
            store=self.store,
            sessions=self.sessions,
            sealer=self.sealer,
            delays=self.delays,
            suppressed=self.suppressed,
            clock=self.clock,
            ids=self.ids,
            project=self.settings.project,
            issuer=self._issuer,
        )

    @property
    def _issuer(self) -> str:
        """What authenticator apps show beside a name."""
        return f"{self.settings.project} at {urlsplit(self.settings.audience).hostname}"

    @cached_property
    def standings(self) -> Standings:
        """Whether what open sockets and streams stand on still holds."""
        return Standings(store=self.store, clock=self.clock)

    @cached_property
    def readiness(self) -> Readiness:
        """Whether requests can be decided and recorded now."""
        return Readiness(store=self.store, verifiers=self.verifiers, clock=self.clock)

    @cached_property
    def meter(self) -> Metrics:
        """What is counted in this process."""
        return Metrics(
            waiting=lambda: self.store.waiting(),  # noqa: PLW0108 - the store is made with this meter
            open_effects=lambda: self.store.read_sync(lambda reader: reader.intents.open_count()),
            bundle_digest=lambda: self.bundle_digest,
            sizes=lambda: {
                "budget_spenders": self.budgets.spenders(),
                "declarations_waiting": self.gate.inside,
                "refusals_unwritten": self.suppressed.waiting(),
                "kill_switch_on": int(self.governance.stopped),
                "routes_in_shadow": sum(not rule.binds for rule in self.routes),
            },
            bundle_age_seconds=lambda: self.clock.monotonic() - self._bundle_since,
            mode=self.mode,
        )

    @cached_property
    def operator_token(self) -> OperatorToken | None:
        """What knows the operator's token, if there is one."""
        path, beside = self.settings.operator_token_file, database_directory(self.settings.database)
        return OperatorToken.open(path, database_directory=beside) if path else None

    def is_operator_token(self, token: str) -> bool:
        """Whether `token` is the operator's; where there is none, nothing is."""
        return self.operator_token is not None and self.operator_token.matches(token)

    async def metrics(self) -> bytes:
        """Return the numbers of this process, in Prometheus's text format."""
        return await asyncio.to_thread(self.meter.exposition)

    @cached_property
    def administration(self) -> Administration:
        """Agents and their credentials."""
        return Administration(store=self.store, verifiers=self.verifiers, ids=self.ids)

    @cached_property
    def audit(self) -> Audit:
        """The ledger, for reading."""
        return Audit(store=self.store, project=self.settings.project)

    @cached_property
    def api(self) -> ASGIApp:
        """The application that answers our own paths."""
        return create_api(self)


def _make_folder(folder: Path) -> None:
    """Make the database's folder where it is missing.

    Raises:
        ConfigError: `database_directory_missing`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the directory {quoted(folder)} of the database cannot be made: {error.strerror or error}"
        raise ConfigError(message, code="database_directory_missing") from None


def _check_routes(rules: Sequence[RouteRule], engine: Engine) -> None:
    """Refuse rules that Cedar could not be asked about: such a route would deny everything, for no visible reason.

    Raises:
        ConfigError: `route_unfit`.
    """
    for rule in rules:
        if not engine.applies(rule.action, rule.resource.type):
            message = f"route {rule.label}: the schema has no action {rule.action} upon a {rule.resource.type}"
            raise ConfigError(message, code="route_unfit")
