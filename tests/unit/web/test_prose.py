"""Our HTML as Markdown and as plain text."""

import pytest

from negotiator.web.discovery.prose import markdown_of, text_of


def _main(content: str) -> str:
    return f"<html><body><nav><ul><li>not this</li></ul></nav><main>{content}</main></body></html>"


@pytest.mark.parametrize(
    ("html", "markdown", "text"),
    [
        ("<h1>One <b>two</b></h1>", "# One **two**", "One two\n======="),
        ("<h2>Two</h2>", "## Two", "Two\n---"),
        ("<p>a\n  b</p>", "a b", "a b"),
        ('<p><a href="/x(1)">go</a></p>', "[go](/x%281%29)", "go [/x(1)]"),
        ('<p><a href="/x"><code>/x</code></a></p>', "[`/x`](/x)", "/x"),
        ("<p><code>a`b</code></p>", "``a`b``", "a`b"),
        ("<p><code>`</code></p>", "`` ` ``", "`"),
        ("<blockquote>said</blockquote>", "> said", "said"),
        ("<ul><li>a<p>b</p></li><li>c</li></ul>", "- a\n  b\n- c", "- a\n  b\n- c"),
        ("<dl><dt>t</dt><dd>m</dd></dl>", "- **t**: m", "- t: m"),
        ("<dl><dt>t</dt><dd><ul><li>m</li><li>n</li></ul></dd></dl>", "- **t**: m; n", "- t: m; n"),
        ("<pre><code>a\n  ```b</code></pre>", "````\na\n  ```b\n````", "    a\n      ```b"),
        (
            "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><th>a</th><td>b|c</td></tr></tbody></table>",
            "| A | B |\n| --- | --- |\n| a | b\\|c |",
            "a\n  B: b|c",
        ),
    ],
)
def test_every_element_has_its_form(html, markdown, text):
    assert markdown_of(_main(html)).decode() == markdown + "\n"
    assert text_of(_main(html)).decode() == text + "\n"


@pytest.mark.parametrize(
    ("hostile", "markdown"),
    [
        ("# no heading", r"\# no heading"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("=====", r"\====="),
        ("[x](https://evil.test)", r"\[x\](https://evil.test)"),
        ("*_`~", r"\*\_\`\~"),
        ("&lt;script&gt;", r"\<script\>"),
        ("&amp;lt;", r"\&lt;"),
        ("a\n\n# b", "a # b"),
        ("&gt; no quote", r"\> no quote"),
        ("\\", r"\\"),
    ],
)
def test_what_would_mean_something_in_markdown_is_escaped(hostile, markdown):
    assert markdown_of(_main(f"<p>{hostile}</p>")).decode() == markdown + "\n"


def test_an_unknown_element_is_a_fault():
    with pytest.raises(KeyError):
        markdown_of(_main("<form></form>"))
