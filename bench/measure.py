"""Interleaved timing: a subject against a baseline, call by call, in one process.

Rules:

- A, B, A, B: both sides meet the same machine, the same cache and the same neighbours. The collector is off.
- The control is the baseline against itself, measured in the same loop.
- A stride is a fixed number of calls; what counts is the median over strides.
- A bound fails only beyond the control's interquartile range: noise is no verdict.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median, quantiles
from time import perf_counter_ns
from typing import Literal, TypedDict

__all__ = ["Better", "Measurement", "Row", "ratio"]

Better = Literal["lower", "higher"]
Work = Callable[[], object]


class Row(TypedDict):
    """One line of `bench/results.json`."""

    name: str
    ratio: float
    bound: float
    better: Better
    ok: bool
    control: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A ratio of times, subject to baseline.

    Attributes:
        ratio: median over the strides.
        control: the baseline against itself; 1.0 on a quiet machine.
        noise: the control's interquartile range.
        subject_seconds, baseline_seconds: median time of one call.
    """

    ratio: float
    control: float
    noise: float
    subject_seconds: float
    baseline_seconds: float

    def row(self, name: str, *, bound: float, better: Better = "lower") -> Row:
        """Return the result line, judged against `bound`."""
        slack = bound * self.noise
        ok = self.ratio <= bound + slack if better == "lower" else self.ratio >= bound - slack
        return Row(
            name=name, ratio=round(self.ratio, 4), bound=bound, better=better, ok=ok, control=round(self.control, 4)
        )

    def rate_row(self, name: str, *, bound: float) -> Row:
        """Return the result line of the rates: how much the subject does in the baseline's time; more is better."""
        return replace(self, ratio=1 / self.ratio).row(name, bound=bound, better="higher")


def ratio(subject: Work, baseline: Work, *, strides: int = 15, calls: int = 40, warm_up: int = 10) -> Measurement:
    """Measure `subject` against `baseline`.

    Args:
        subject: ours, called without arguments.
        baseline: what it is held against, called likewise.
        strides: at least 9.
        calls: calls of each side in one stride.
        warm_up: untimed calls before.
    """
    if strides < 9:
        message = "fewer than 9 strides say nothing"
        raise ValueError(message)
    with _undisturbed():
        for _ in range(warm_up):
            subject(), baseline()
        times = [_stride(subject, baseline, calls) for _ in range(strides)]
    controls = [again / once for _, once, again in times]
    low, _, high = quantiles(controls, n=4)
    return Measurement(
        ratio=median(ours / (once + again) * 2 for ours, once, again in times),
        control=median(controls),
        noise=high - low,
        subject_seconds=median(ours for ours, _, _ in times) / calls / 1e9,
        baseline_seconds=median(once for _, once, _ in times) / calls / 1e9,
    )


def _stride(subject: Work, baseline: Work, calls: int) -> tuple[int, int, int]:
    """Return the nanoseconds of `calls` calls of the subject, the baseline, and the baseline again."""
    ours = once = again = 0
    for _ in range(calls):
        start = perf_counter_ns()
        subject()
        first = perf_counter_ns()
        baseline()
        second = perf_counter_ns()
        baseline()
        ours += first - start
        once += second - first
        again += perf_counter_ns() - second
    return ours, once, again


@contextmanager
def _undisturbed() -> Iterator[None]:
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
