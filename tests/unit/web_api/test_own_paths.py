"""Which paths are ours."""

import pytest

from negotiator.web.api import is_own_path, own_paths
from negotiator.web.discovery.endpoints import ENDPOINTS
from tests.support.web_api import PREFIX, ScriptedSite


def test_every_row_of_the_table_is_ours():
    assert all(is_own_path(endpoint.full_path(PREFIX), PREFIX) for endpoint in ENDPOINTS)
    assert own_paths(ScriptedSite()) == {e.path for e in ENDPOINTS if e.rooted}


@pytest.mark.parametrize(
    "path",
    ["/", "/uaix", "/uaix/v10", "/uaix/v1x/ladder", "/.well-known/", "/.well-known/uaix.json/", "/UAIX/V1/me", ""],
)
def test_a_path_that_only_looks_like_ours_is_the_sites(path):
    assert not is_own_path(path, PREFIX)
