"""`trialwise schema`."""

from __future__ import annotations

import importlib
from typing import Any, Literal

from pydantic import TypeAdapter

from trialwise.cli.output import print_json

Format = Literal[
    "experiment",
    "scheme",
    "plan",
    "analysis",
    "order",
    "calibration",
    "effects",
    "observe",
    "certificate",
    "comparison",
    "ab",
    "history",
    "import",
    "claims-file",
    "claims",
    "diff",
    "pack",
    "verify",
    "ab-suite",
    "profile",
    "path-profile",
    "runtime",
    "run",
    "status",
    "trial",
    "workers",
    "pause",
    "skip",
    "exclude",
    "doctor",
    "path-ceiling",
    "path",
    "paths",
    "trace",
    "recording",
    "recording-comparison",
    "packets",
    "simulate",
    "tilt",
    "schemes",
    "scheme-checks",
]
FORMATS: dict[Format, str] = {
    "experiment": "trialwise.experiment.file.document:experiment_schema",
    "scheme": "trialwise.schemes.reading:scheme_schema",
    "plan": "trialwise.design.summary:PlanSummary",
    "analysis": "trialwise.exchange.analysis_json:analysis_schema",
    "order": "trialwise.exchange.order_json:order_schema",
    "calibration": "trialwise.exchange.calibration_json:calibration_schema",
    "effects": "trialwise.exchange.effects_json:effects_schema",
    "observe": "trialwise.exchange.observe_json:observe_schema",
    "certificate": "trialwise.exchange.certificate_json:certificate_schema",
    "comparison": "trialwise.exchange.comparison_json:comparison_schema",
    "ab": "trialwise.exchange.versions_json:versions_schema",
    "history": "trialwise.exchange.history_json:history_schema",
    "import": "trialwise.exchange.imported:ImportRecord",
    "claims-file": "trialwise.experiment.claims:claims_schema",
    "claims": "trialwise.exchange.claims_json:claims_check_schema",
    "diff": "trialwise.exchange.diff_json:diff_schema",
    "pack": "trialwise.exchange.artifact.documents:pack_schema",
    "verify": "trialwise.exchange.artifact.documents:verify_schema",
    "ab-suite": "trialwise.exchange.versions_json:suite_schema",
    "profile": "trialwise.exchange.condition_json:profile_schema",
    "path-profile": "trialwise.exchange.condition_json:path_profile_schema",
    "runtime": "trialwise.exchange.condition_json:runtime_schema",
    "run": "trialwise.study.documents:RunDocument",
    "status": "trialwise.study.documents:StatusDocument",
    "trial": "trialwise.study.documents:TrialDocument",
    "workers": "trialwise.study.documents:WorkersDocument",
    "pause": "trialwise.study.documents:PauseDocument",
    "skip": "trialwise.study.documents:SkipDocument",
    "exclude": "trialwise.study.documents:ExclusionDocument",
    "doctor": "trialwise.measurement.documents:DoctorDocument",
    "path-ceiling": "trialwise.measurement.documents:PathCeilingDocument",
    "path": "trialwise.trials.path_documents:PathDocument",
    "paths": "trialwise.trials.path_documents:PathsDocument",
    "trace": "trialwise.exchange.path_json:trace_schema",
    "recording": "trialwise.exchange.path_json:recording_schema",
    "recording-comparison": "trialwise.exchange.path_json:recording_comparison_schema",
    "packets": "trialwise.exchange.path_json:packets_schema",
    "simulate": "trialwise.trials.simulated_document:SimulateDocument",
    "tilt": "trialwise.study.tilt_document:TiltDocument",
    "schemes": "trialwise.schemes.listing:SchemesDocument",
    "scheme-checks": "trialwise.trials.scheme_check:SchemeChecksDocument",
}
"""Each public format, and the class or function that it is generated from."""


def schema(format: Format = "experiment", /) -> int:  # noqa: A002 the word for it
    """Print the JSON Schema of a public format.

    `experiment` is the experiment file and `scheme` that of a scheme, for editors; `import` is import.json of an imported
    directory, and the others are what commands print with --json.

    For example:

    ```text
    trialwise schema > experiment.schema.json
    trialwise schema plan
    ```

    Exit codes: 0; 2 an unknown format.

    Parameters
    ----------
    format
        Which format.
    """
    print_json(json_schema(format))
    return 0


def json_schema(name: Format) -> dict[str, Any]:
    """Return the JSON Schema of a format."""
    module, _, attribute = FORMATS[name].partition(":")
    described = getattr(importlib.import_module(module), attribute)
    if not isinstance(described, type):
        return described()
    found = TypeAdapter(described).json_schema(by_alias=True, mode="serialization")
    return (
        {"$schema": "https://json-schema.org/draft/2020-12/schema"} | found | {"title": f"trialwise {name}"}
    )
