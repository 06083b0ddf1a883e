"""The check of the site's links finds what it is there for."""

from links import problems

PAGE = """<html><head><link href="style.css" rel="stylesheet">{head}</head>
<body><h1 id="top">A</h1>{body}</body></html>"""


def found(tmp_path, head="", body=""):
    (tmp_path / "style.css").write_text("")
    (tmp_path / "b.html").write_text(PAGE.format(head="", body='<a href="a.html#top">back</a>'))
    (tmp_path / "a.html").write_text(PAGE.format(head=head, body=body))
    return list(problems(tmp_path))


def test_good_links_are_no_problem(tmp_path):
    body = '<a href="b.html#top">b</a><a href="#top">up</a><a href="https://jax.dev">JAX</a>'
    assert found(tmp_path, body=body) == []


def test_pages_places_and_files_that_are_missing(tmp_path):
    body = '<a href="c.html">c</a><a href="b.html#bottom">b</a><img src="picture.png">'
    assert found(tmp_path, body=body) == [
        "a.html: c.html is not there",
        "a.html: b.html#bottom has no such place",
        "a.html: picture.png is not there",
    ]


def test_what_is_loaded_from_a_network(tmp_path):
    head = '<script src="https://cdn.example/x.js"></script>'
    assert found(tmp_path, head=head) == ["a.html: https://cdn.example/x.js is loaded from a network"]


def test_references_that_find_nothing(tmp_path):
    body = '<a><code class="xref py py-func">f</code></a><code class="xref py py-func"><span>g</span></code>'
    body += '<code class="xref py py-class">ValueError</code>'
    assert found(tmp_path, body=body) == ["a.html: the reference to g by py-func finds nothing"]


def test_an_empty_site_is_a_problem(tmp_path):
    assert len(list(problems(tmp_path))) == 1
