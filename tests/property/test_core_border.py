"""Every function and class of `trialwise._core` with hostile arguments of the right types, in a process with little memory.

Whatever it is given, it returns or raises an ordinary exception, soon and in bounded memory. What there is to call comes from the
module itself, the types of arguments from its stub: a new function is tried as soon as it is there.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core_arguments import LONG_RUNS, argument, workload
from core_calls import MEMORY, Answer, Call, Calls, Lost, Made
from trialwise import _core

STUB = ast.parse(Path(_core.__file__ or "").with_name("_core.pyi").read_text())


def call_of(owner: str, method: str | None, made: Made | None) -> SearchStrategy[Call]:
    """Calls of a function, of a class, or of a method of an object."""
    function = stub_of(owner, method)
    shown = owner if method in (None, "__new__") else method or ""
    given = function.args
    positional = [one for one in given.posonlyargs + given.args if one.arg not in ("self", "cls")]
    arguments = st.tuples(
        *(argument(shown, one.arg, one.annotation or ast.Constant(None)) for one in positional)
    )
    needed: dict[str, SearchStrategy[Any]] = {}
    optional: dict[str, SearchStrategy[Any]] = {}
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        strategy = argument(shown, one.arg, one.annotation or ast.Constant(None))
        wanted = default is None or (one.arg in ("progress", "cancelled") and shown in LONG_RUNS)
        (needed if wanted else optional)[one.arg] = strategy
    keywords: SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(needed, optional=optional)
    if given.kwarg is not None:
        keywords = st.tuples(keywords, workload()).map(lambda given: given[0] | given[1])
    closed = st.sampled_from((False, False, True)) if made else st.just(False)
    method = None if method == "__new__" else method
    return st.builds(Call, st.just(owner), arguments, keywords, st.just(method), st.just(made), closed)


def stub_of(owner: str, method: str | None) -> ast.FunctionDef:
    body = STUB.body
    if method is not None:
        (group,) = [one for one in body if isinstance(one, ast.ClassDef) and one.name == owner]
        body = group.body
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == (method or owner)]
    assert found, f"the stub has no {owner}.{method}" if method else f"the stub has no {owner}"
    return found[0]


PUBLIC = [(name, getattr(_core, name)) for name in dir(_core) if not name.startswith("_")]
FUNCTIONS = [name for name, thing in PUBLIC if isinstance(thing, BuiltinFunctionType)]
CLASSES = [name for name, thing in PUBLIC if inspect.isclass(thing) and not issubclass(thing, BaseException)]
INSTANCES: dict[str, Made] = {
    "Fabric": Made("Fabric", ("dumbbell:2x2,10Gbit/s,1us",)),
    "FlowGraph": Made("FlowGraph", ("ring-all-reduce:8kB",)),
    "StreamPoint": Made("StreamPoint", (("int32", "string", "double"),)),
    **{
        name: Made(name)
        for name in (
            "StreamClient",
            "Collector",
            "PacketCapture",
            "PacketSightings",
            "Path",
            "OuterPath",
            "ProgramCounters",
            "SimulationResult",
            "AttachedCongestion",
        )
    },
}
"""An object of each class that has methods."""


def methods_of(name: str) -> list[str]:
    """The methods that a class of the module has of its own, its constructor among them."""
    owned: dict[str, Any] = {**vars(getattr(_core, name))}
    wanted = [
        each for each in owned if not each.startswith("_") or each in ("__enter__", "__exit__", "__new__")
    ]
    return [each for each in wanted if callable(owned[each])]


METHODS = [(name, method) for name in CLASSES for method in methods_of(name)]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    asked = Calls(tmp_path_factory.mktemp("calls"))
    yield asked
    asked.end()


def returns_or_raises(calls: Calls, call: Call) -> None:
    note(repr(call))
    answer = calls.ask(call)
    assert not isinstance(answer, Lost), answer.how
    assert isinstance(answer, Answer)
    if answer.raised:
        assert "Exception" in answer.raised, answer
        assert "CoreError" not in answer.raised, answer.text
        assert "MemoryError" not in answer.raised, answer.text
    assert answer.memory < MEMORY, answer


_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)
SLOW = ("Path", "OuterPath", "Collector")
"""What takes long to be made."""


def tried(strategy: SearchStrategy[Call], calls: Calls, count: int) -> None:
    """So many calls return or raise an ordinary exception."""

    @settings(max_examples=count, deadline=None, suppress_health_check=[*_UNHURRIED])
    @given(call=strategy)
    def try_it(call: Call) -> None:
        returns_or_raises(calls, call)

    try_it()


def of_method(name: str, method: str) -> SearchStrategy[Call]:
    static = isinstance(vars(getattr(_core, name))[method], staticmethod) and method != "__new__"
    assert static or method == "__new__" or name in INSTANCES, f"say in this file how a {name} is made"
    made = None if static or method == "__new__" else INSTANCES[name]
    return call_of(name, method, made)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_returns_or_raises_an_ordinary_exception(name: str, calls: Calls):
    tried(call_of(name, None, None), calls, 25)


@pytest.mark.parametrize(("name", "method"), METHODS, ids=str)
def test_a_method_returns_or_raises_an_ordinary_exception(name: str, method: str, calls: Calls):
    tried(of_method(name, method), calls, 10 if name in SLOW else 25)


@pytest.mark.soak
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_thousand_calls_of_a_function(name: str, calls: Calls):
    tried(call_of(name, None, None), calls, 1000)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "method"), METHODS, ids=str)
def test_many_calls_of_a_method(name: str, method: str, calls: Calls):
    tried(of_method(name, method), calls, 100 if name in SLOW else 1000)
