"""Names that were replaced when an artifact was packed are no difference to the names here: nobody can tell whether they differ."""

from __future__ import annotations

import pytest

from trialwise.exchange.artifact.privacy import are_same_but_names


@pytest.mark.parametrize(
    ("packed", "here"),
    [
        ("/home/user-1", "/home/stranger"),
        ("/home/user-1/venv/bin:/usr/bin", "/home/ada/venv/bin:/usr/bin"),
        ("host-1", "vm"),
        ("host-1.example.org", "vm.example.org"),
        ("/usr/bin", "/usr/bin"),
    ],
)
def test_texts_with_stand_ins_may_be_the_same(packed: str, here: str) -> None:
    assert are_same_but_names(packed, here)
    assert are_same_but_names(here, packed)


@pytest.mark.parametrize(
    ("packed", "here"),
    [
        ("/home/user-1/venv/bin:/usr/bin", "/home/ada/venv/bin:/usr/bin:/sbin"),
        ("/home/user-1/a", "/home/ada/b"),
        ("/home/user-1", "/root/ada"),
        ("performance", "powersave"),
        ("user-1" * 20, "x" * 120),
    ],
)
def test_other_texts_differ(packed: str, here: str) -> None:
    assert not are_same_but_names(packed, here)
