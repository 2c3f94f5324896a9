"""`trialwise ab` by the benchmarks of a suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.errors import TrialwiseError

if TYPE_CHECKING:
    from trialwise.analysis.versions.looks import AbPlan
    from trialwise.analysis.versions.suites import SuitePlan
    from trialwise.experiment.results import Results
    from trialwise.statistics import Correction

PILOT = 10
"""Rounds of the pilot."""
EXIT_CODES = (0, 1)
"""A harness ends with 1 where one of its benchmarks failed; the others have values."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """A suite of benchmarks: all that its harness prints is compared."""

    bench: Annotated[
        str | None,
        Parameter(
            help="The suite's command of both revisions, instead of --command; it runs whole in each trial."
        ),
    ] = None
    format: Annotated[
        str | None,
        Parameter(
            help="What the suite writes, as go-bench, pytest-benchmark or libtest-bench; auto recognises it. Without --bench, --base "
            "and --head are the commands of two suites.",
            show_default=False,
        ),
    ] = None
    results: Annotated[
        str, Parameter(help="Where the suite writes: stdout, or a file such as {directory}/out.json.")
    ] = "stdout"
    keep: Annotated[
        tuple[str, ...],
        Parameter(
            help="Compare only the benchmarks, or BENCHMARK:METRIC, that this pattern with * and ? matches; repeatable.",
            negative="",
        ),
    ] = ()
    correction: Annotated[
        Literal["holm", "bh"],
        Parameter(
            help="For many benchmarks: holm keeps the chance of any wrong verdict (family-wise), bh the share of wrong ones among "
            "those found (false discovery rate)."
        ),
    ] = "holm"

    @property
    def given(self) -> bool:
        """True if a suite is compared."""
        return self.bench is not None or self.format is not None

    def section(self) -> Results:
        """Return the section [results] of the experiment.

        Raises
        ------
        TrialwiseError
            There is no such format.
        """
        from trialwise.errors import AnalysisError
        from trialwise.experiment.results import Results
        from trialwise.readers.register import families, readers_named

        form = self.format or "auto"
        try:
            known = form == "auto" or bool(readers_named(form))
        except AnalysisError:
            known = False
        if not known:
            raise TrialwiseError(
                f"--format {form}: there is no such format", hint=f"formats: {', '.join(families())}"
            )
        return Results(format=form, place=self.results, keep=self.keep or ("*",))


def suite_plan(plan: AbPlan, correction: Correction) -> SuitePlan:
    """Return the plan of both looks at a suite, with the numbers of trials of that for two programs."""
    from trialwise.analysis.versions.suites import SuitePlan

    return SuitePlan(plan.pilot, plan.most, plan.confidence, plan.margin, correction, plan.fixed)
