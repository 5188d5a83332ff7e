"""Which paths are ours."""

import pytest

from negotiator.model.routes import UnmatchedRules
from negotiator.web.api import own_paths
from negotiator.web.discovery.endpoints import ENDPOINTS
from negotiator.web.routing import Own, RouteTable
from tests.support.web_api import PREFIX, ScriptedSite


def is_ours(path: str) -> bool:
    table = RouteTable((), UnmatchedRules(), prefix=PREFIX, own_paths=own_paths(ScriptedSite()))
    return isinstance(table.find({"method": "GET", "path": path, "raw_path": None, "root_path": ""}), Own)


def test_every_row_of_the_table_is_ours():
    assert all(is_ours(endpoint.full_path(PREFIX)) for endpoint in ENDPOINTS)
    assert own_paths(ScriptedSite()) == {e.path for e in ENDPOINTS if e.rooted}


@pytest.mark.parametrize(
    "path",
    ["/", "/uaix", "/uaix/v10", "/uaix/v1x/ladder", "/.well-known/", "/.well-known/uaix.json/", "/UAIX/V1/me", ""],
)
def test_a_path_that_only_looks_like_ours_is_the_sites(path):
    assert not is_ours(path)
