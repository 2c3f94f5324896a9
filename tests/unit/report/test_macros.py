from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from trialwise.report.macros import MacroNames, macro_name


def test_a_name_spells_out_digits_and_points() -> None:
    assert (
        macro_name("speed", "algorithm=xz level=6", "p99.9") == "twSpeedAlgorithmXzLevelSixPNineNinePointNine"
    )


def test_texts_that_give_one_name_become_variants() -> None:
    names = MacroNames()
    assert [names.name("a-b"), names.name("a b"), names.name("a_b")] == [
        "twAB",
        "twABVariantB",
        "twABVariantC",
    ]


@given(st.lists(st.text(), max_size=40))
def test_names_are_letters_only_and_never_the_same_twice(texts: list[str]) -> None:
    names = MacroNames()
    found = [names.name(text) for text in texts]
    assert len(set(found)) == len(found)
    assert all(re.fullmatch("[A-Za-z]+", name) for name in found)
