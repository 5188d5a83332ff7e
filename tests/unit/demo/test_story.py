"""A step that saw something else is never told as a success, whatever it met."""

from __future__ import annotations

import httpx
import pytest

from negotiator.demo import story


@pytest.mark.parametrize(
    "problem",
    [story.NotSeenError("the ladder answered 500"), KeyError("body"), ValueError("no JSON"), httpx.ReadError("")],
)
def test_a_step_that_fails_says_what_it_met(problem: Exception):
    def step(_stage):
        raise problem

    told = story._run("discovered", step, None)
    assert (told.name, told.ok) == ("discovered", False)
    assert told.detail.startswith(type(problem).__name__)


@pytest.mark.parametrize("fact", [0, "", None, [], False])
def test_what_does_not_hold_is_not_seen(fact):
    with pytest.raises(story.NotSeenError, match="nothing there"):
        story.holds(fact, "nothing there")


def test_each_step_has_a_line_in_the_story():
    assert all(step.__doc__.endswith(".") and "\n" not in step.__doc__ for step in story.STEPS.values())
