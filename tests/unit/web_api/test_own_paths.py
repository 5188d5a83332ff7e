"""Which paths are ours."""

import pytest

from negotiator.model.routes import UnmatchedRules
from negotiator.web.api import own_paths
from negotiator.web.discovery.endpoints import ENDPOINTS, LLMS_PATH
from negotiator.web.routing import Own, RouteTable
from tests.support.web_api import PREFIX, ScriptedSite


def is_ours(path: str, *, root_aliases: bool = False) -> bool:
    own = own_paths(ScriptedSite(root_aliases=root_aliases))
    table = RouteTable((), UnmatchedRules(), prefix=PREFIX, own_paths=own)
    return isinstance(table.find({"method": "GET", "path": path, "raw_path": None, "root_path": ""}), Own)


def test_every_row_of_the_table_is_ours_but_llms_txt_which_may_be_the_sites():
    theirs = {endpoint.name for endpoint in ENDPOINTS if not is_ours(endpoint.full_path(PREFIX))}
    assert theirs == {"llms"}
    assert own_paths(ScriptedSite()) == {e.path for e in ENDPOINTS if e.rooted} - {LLMS_PATH}


def test_root_aliases_are_ours_where_they_are_on():
    aliases = {e.path for e in ENDPOINTS if e.root_alias}
    assert {"/healthz", "/readyz"} <= aliases
    assert {path for path in aliases if is_ours(path, root_aliases=True)} == aliases
    assert {path for path in aliases if is_ours(path)} == set()


@pytest.mark.parametrize(
    "path",
    ["/", "/uaix", "/uaix/v10", "/uaix/v1x/ladder", "/.well-known/", "/.well-known/uaix.json/", "/UAIX/V1/me", ""],
)
def test_a_path_that_only_looks_like_ours_is_the_sites(path):
    assert not is_ours(path)
