"""Tests that need ns-3."""

from __future__ import annotations

import pytest

from trialwise.errors import PlanError
from trialwise.trials.ns3.installation import ns3_installation


def _missing() -> str:
    try:
        ns3_installation()
    except PlanError as error:
        return f"{error} (make setup FEATURES=ns3)"
    return ""


MISSING = _missing()
needs_ns3 = pytest.mark.skipif(bool(MISSING), reason=MISSING or "it is there")
