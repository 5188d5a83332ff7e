import pytest

from negotiator.web.media import negotiate_media

JSON, TEXT, HTML = "application/json", "text/plain", "text/html"
OFFERS = (JSON, TEXT, HTML)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", JSON),
        ("  ", JSON),
        ("*/*", JSON),
        ("text/html", HTML),
        ("TEXT/HTML", HTML),
        ("text/*", TEXT),
        ("text/*;q=0.5, text/html", HTML),
        ("text/html;q=0.5, text/plain;q=0.6", TEXT),
        ("text/html;q=0.5, application/json;q=0.5", JSON),
        ("application/json;q=0, */*;q=0.1", TEXT),
        ("text/*;q=0, text/html;q=0.1", HTML),
        ("application/json;charset=utf-8;q=0.2, text/html;level=1", HTML),
        ("image/png, */*;q=0.001", JSON),
        ("text/html;q=1.001, text/plain", TEXT),
        ("text/html;q=high, text/plain;q=0.1", TEXT),
        ("text/html;Q=0.9, text/plain; q = 1.0", TEXT),
        ("image/png", None),
        ("application/json;q=0", None),
        ("*/*;q=0", None),
        ("nonsense", None),
        ("text", None),
        ("*", None),
        ("text/ html", None),
        (",,,", None),
        (", text/html ,", HTML),
    ],
)
def test_the_heaviest_offer_wins(accept, chosen):
    assert negotiate_media(accept, OFFERS) == chosen


def test_what_stands_beyond_the_bound_is_not_looked_at():
    assert negotiate_media("image/png," * 64 + "text/html", OFFERS) is None
    assert negotiate_media("image/png," * 63 + "text/html", OFFERS) == HTML


def test_without_offers_nothing_is_chosen():
    assert negotiate_media("*/*", ()) is None
    assert negotiate_media("", ()) is None
