"""JSON in one document, on lines or cut: what the fast parser returns is what `json` returns, and equal keys are noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.readers.json_documents import Lines, Repeated, documents_of

TEXTS = st.text(st.sampled_from('ab":\\ ,{}é\n'), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.lists(VALUES, max_size=3) | st.dictionaries(TEXTS, VALUES, max_size=3)


def read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return documents_of(data, lambda: data.decode(errors="replace"))


@given(
    DOCUMENTS, st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), (",\n", "\t:\r\n")]), st.booleans()
)
def test_one_document_is_what_json_reads(document, separators, ascii_only):
    text = json.dumps(document, separators=separators, ensure_ascii=ascii_only)
    assert list(read(text).whole) == [json.loads(text)]


@given(st.lists(DOCUMENTS, min_size=2, max_size=5), st.sampled_from(["\n", ",\n", "\r\n", "\n\n", " "]))
def test_documents_after_one_another_are_what_json_reads(documents, between):
    found = read(between.join(map(json.dumps, documents)))
    assert list(found.whole) == documents == list(found.whole)
    assert len(found.whole) == len(documents)
    assert [found.whole[place] for place in range(len(documents))] == documents
    assert not found.is_cut


@given(st.lists(DOCUMENTS, min_size=2, max_size=4), st.data())
def test_lines_that_are_cut_keep_what_is_whole(documents, data):
    text = "\n".join(map(json.dumps, documents))
    last = json.dumps(documents[-1])
    left = data.draw(st.integers(1, len(last) - 1))
    found = read(text[:-left])
    assert list(found.whole) == documents[:-1]
    assert found.is_cut
    assert found.rest == last[:-left]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 2, "a": 3}',
        '{"a":1,"b":{},"a":[]}',
        '{"a" :1,"a" :2}',
        '{"a"\n:1,"a":2}',
        '{"a":":","a":1}',
        '[{"x":{"a":1,"a":2}}]',
        '{"\\u0061":1,"a":2}',
    ],
)
@pytest.mark.parametrize("after", ["", '\n{"b":1}\n'])
def test_a_key_with_two_values_has_none_of_them(text, after):
    assert repr(Repeated()) in repr(list(read(text + after).whole))


def test_a_key_that_stands_twice_with_one_value_has_it():
    assert list(read('{"a":1,"a":1}').whole) == [{"a": 1}]


def test_lines_are_not_kept():
    found = read('{"a": 1}\n' * 1000)
    assert isinstance(found.whole, Lines)
    assert len(found.whole) == 1000


def test_text_around_documents_is_told():
    found = read('warning\n{"a": 1}\nbye')
    assert (list(found.whole), found.before, found.rest) == ([{"a": 1}], "warning\n", "bye")
    found = read('{"a": 1}\n{"a": 2}\nbye {"a": 3}')
    assert (list(found.whole), found.rest) == ([{"a": 1}, {"a": 2}], 'bye {"a": 3}')


def test_numbers_beyond_doubles_and_what_json_alone_reads():
    assert list(read('[1e400, NaN, -Infinity, 123456789012345678901234567890, "\\ud800"]').whole[0][3:]) == [
        123456789012345678901234567890,
        "\ud800",
    ]
    assert not read("[" * 5000 + "]" * 5000).whole
    assert not read("[" + "9" * 5000 + "]").whole


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"s": {"t": 1}, "parts": [{"a": 1}, {"a": 2}], "e": {"b": {"c": 3}, "d": 4', {"s": {"t": 1}, "parts": [{"a": 1}, {"a": 2}]}),
        ('{"context": {}, "parts": [{"a": 1}, {"a": 2}]', {"context": {}, "parts": [{"a": 1}, {"a": 2}]}),
        ('{"context": {}, "parts": [{"a": 1}, {"a": 2}', {"context": {}, "parts": [{"a": 1}, {"a": 2}]}),
        ('{"context": {}, "parts": [{"a": 1}, {"a": 2, "b": {"c": 3}', {"context": {}, "parts": [{"a": 1}]}),
        ('{"context": {"x": 1}, "parts": [{"a": 1, "b": [1, 2', {"context": {"x": 1}, "parts": [{"a": 1, "b": [1]}]}),
        ('{"n": 12, "rate": 123', {"n": 12}),
        ('[{"a": 1}, {"a": 2}', [{"a": 1}, {"a": 2}]),
    ],
)  # fmt: skip
def test_of_a_document_that_is_cut_stays_what_is_whole(text, whole):
    found = read(text)
    assert list(found.whole) == [whole]
    assert found.is_cut


@pytest.mark.parametrize("text", ['{"a": 12', '{"a": {"b": 1', "[12", '{"a": [1, 2}', "{"])
def test_of_a_document_that_is_cut_before_its_first_whole_part_nothing_stays(text):
    assert list(read(text).whole) == []


@pytest.mark.parametrize("banner", ["[sudo] password for me: ", "[info] load 1\n[warn] hot", "{cc} is cubic"])
def test_a_banner_that_begins_with_a_bracket_hides_no_document(banner):
    found = read(f'{banner}\n{{"a": 1}}\n')
    assert (list(found.whole), found.before) == ([{"a": 1}], f"{banner}\n")
