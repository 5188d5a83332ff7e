"""The route table is one consistent whole."""

from negotiator.web.discovery.documents import DOCUMENTS
from negotiator.web.discovery.endpoints import ENDPOINTS, LLMS_PATH, WELL_KNOWN_PATHS
from negotiator.web.problems import PROBLEMS


def test_names_and_routes_are_unique():
    assert len({e.name for e in ENDPOINTS}) == len({(e.method, e.path) for e in ENDPOINTS}) == len(ENDPOINTS)


def test_every_document_has_a_builder_and_every_builder_a_row():
    assert {e.name for e in ENDPOINTS if e.kind in {"document", "text"}} == set(DOCUMENTS)


def test_every_document_has_a_page_and_json_as_its_default():
    documents = [e for e in ENDPOINTS if e.kind == "document"]
    assert all(e.media[0] == "application/json" and "text/html" in e.media for e in documents)


def test_only_commands_read_bodies_and_credentials():
    assert all(e.kind == "command" for e in ENDPOINTS if e.accepts or e.auth != "none")
    assert all(bool(e.accepts) == bool(e.request) for e in ENDPOINTS)
    assert all(e.method == "POST" for e in ENDPOINTS if e.accepts)


def test_rooted_rows_are_the_well_known_paths_and_llms_txt():
    assert {e.path for e in ENDPOINTS if e.rooted} == WELL_KNOWN_PATHS | {LLMS_PATH}


def test_every_problem_status_is_one_that_a_code_has():
    known = {kind.status for kind in PROBLEMS.values()}
    assert {status for e in ENDPOINTS for status in e.problems} <= known
