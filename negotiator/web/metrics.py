"""Numbers for Prometheus: what the `Meter` was told, and what is so when somebody asks.

Rules:

- One registry for each `Negotiator`: nothing is registered for the whole process, and two of them never mix.
- Labels come from closed sets; a word outside its set is `other`. No caller makes a series.
- Each process counts its own, and `negotiator_process_info` says which one answered: with several workers on one
  address a scrape is of whichever took it, so give each an address for scraping, or read the ledger, which counts for
  all. Effects and the kill switch are the same in all.
- Where the database cannot be read, `negotiator_effects_open` is left out rather than guessed.

It does not decide who may read them: `api.status` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from negotiator.errors import UnavailableError
from negotiator.model.actions import AGENT_ACTIONS
from negotiator.model.routes import Mode
from negotiator.ports import Lane
from negotiator.web.problems import PROBLEMS

__all__ = ["Metrics"]

_OTHER: Final = "other"
_ACTIONS: Final = frozenset({*AGENT_ACTIONS, "declare"})
_CODES: Final = frozenset({*PROBLEMS, "allowed"})
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ENTRIES: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_SIZES: Final = {
    "budget_spenders": "Sources and agents whose spending is remembered.",
    "declarations_waiting": "Declarations whose answer is being worked out or waits for that.",
    "refusals_unwritten": "Refusals that are counted and not in the ledger yet.",
    "kill_switch_on": "Whether agents are stopped: 1 or 0.",
    "routes_in_shadow": "Routes whose denials do not bind.",
}


class Metrics:
    """The numbers of one `Negotiator` (`Meter`).

    Args:
        waiting: how many units wait in each lane of this process.
        open_effects: how many effects have no outcome yet; may raise `UnavailableError`.
        bundle_digest: of the policies in force.
        sizes: present numbers, by the names in `_SIZES`.
        bundle_age_seconds: for how long those policies have been in force in this process.
        mode: of the site.
    """

    def __init__(
        self,
        *,
        waiting: Callable[[], Mapping[Lane, int]],
        open_effects: Callable[[], int],
        bundle_digest: Callable[[], str],
        sizes: Callable[[], Mapping[str, int]],
        bundle_age_seconds: Callable[[], float],
        mode: Mode,
    ) -> None:
        self._registry = CollectorRegistry()
        self._decisions = Counter(
            "negotiator_decisions",
            "Recorded decisions, by answer, problem code and action.",
            ("decision", "code", "action"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "negotiator_decision_seconds",
            "From the question to the committed answer.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._abandoned = Counter(
            "negotiator_requests_abandoned",
            "Requests whose client left before anything was decided.",
            registry=self._registry,
        )
        self._commits = Counter("negotiator_commits", "Commits of the store.", registry=self._registry)
        self._entries = Histogram(
            "negotiator_commit_entries",
            "Ledger entries of a commit.",
            buckets=_ENTRIES,
            registry=self._registry,
        )
        self._commit_seconds = Histogram(
            "negotiator_commit_seconds",
            "From asking for the ledger's lock to the durable commit.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._registry.register(_Present(waiting, open_effects, bundle_digest, sizes))
        self._registry.register(_Governing(bundle_age_seconds, mode))

    def decided(self, *, decision: Literal["allow", "deny"], code: str, action: str, seconds: float) -> None:
        """Count one recorded decision."""
        self._decisions.labels(decision, _within(_CODES, code), _within(_ACTIONS, action)).inc()
        self._seconds.observe(seconds)

    def abandoned(self) -> None:
        """Count one request whose client left."""
        self._abandoned.inc()

    def batch(self, *, entries: int, seconds: float) -> None:
        """Count one commit."""
        self._commits.inc()
        self._entries.observe(entries)
        self._commit_seconds.observe(seconds)

    def exposition(self) -> bytes:
        """Return the numbers in Prometheus's text format 0.0.4. Reads the database: not for an event loop's thread."""
        return generate_latest(self._registry)


class _Present(Collector):
    """What is so at the moment of asking."""

    def __init__(
        self,
        waiting: Callable[[], Mapping[Lane, int]],
        open_effects: Callable[[], int],
        bundle_digest: Callable[[], str],
        sizes: Callable[[], Mapping[str, int]],
    ) -> None:
        self._sizes = sizes
        self._waiting = waiting
        self._open_effects = open_effects
        self._bundle_digest = bundle_digest

    def describe(self) -> Iterable[Metric]:
        """Say nothing: being registered must not open the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield the present numbers."""
        queue = GaugeMetricFamily("negotiator_queue_units", "Units that wait to be written.", labels=("lane",))
        for lane, units in self._waiting().items():
            queue.add_metric((lane.name.lower(),), units)
        yield queue
        for name, size in self._sizes().items():
            yield GaugeMetricFamily(f"negotiator_{name}", _SIZES[name], value=size)
        bundle = InfoMetricFamily("negotiator_bundle", "The policies in force.")
        bundle.add_metric((), {"digest": self._bundle_digest()})
        yield bundle
        try:
            yield GaugeMetricFamily(
                "negotiator_effects_open", "Effects without an outcome yet.", value=self._open_effects()
            )
        except UnavailableError:
            return


class _Governing(Collector):
    """What is in force, and in which process."""

    def __init__(
        self,
        bundle_age_seconds: Callable[[], float],
        mode: Mode,
    ) -> None:
        self._bundle_age_seconds = bundle_age_seconds
        self._mode = mode

    def describe(self) -> Iterable[Metric]:
        """Say nothing: being registered must load no policies."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield the present numbers."""
        process = InfoMetricFamily("negotiator_process", "The process that these numbers are of.")
        process.add_metric((), {"pid": str(os.getpid())})
        yield process
        mode = InfoMetricFamily("negotiator_mode", "Whether decisions bind, where a route does not say otherwise.")
        mode.add_metric((), {"mode": self._mode})
        yield mode
        yield GaugeMetricFamily(
            "negotiator_bundle_age_seconds",
            "Since the policies came into force in this process.",
            value=self._bundle_age_seconds(),
        )


def _within(known: frozenset[str], word: str) -> str:
    return word if word in known else _OTHER
