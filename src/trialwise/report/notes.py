"""The methods and their sources, for the end of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.estimation.results import Estimation
from trialwise.analysis.order.summary import OrderSummary
from trialwise.analysis.path.results import PathAnalysis
from trialwise.analysis.results import Analysis
from trialwise.wording.chain import head_text


@dataclass(frozen=True, slots=True)
class Note:
    """A method in a few sentences, with its sources."""

    title: str
    text: str
    sources: tuple[str, ...]


TRISCALE = (
    "R. Jacob, M. Zimmerling, C. A. Boano, L. Vanbever, L. Thiele: Designing Replicable Networking Experiments With "
    "TriScale. Journal of Systems Research 1(1), 2021."
)
_THOMPSON = (
    "W. R. Thompson: On Confidence Ranges for the Median and Other Expectation Distributions. "
    "Ann. Math. Statist. 7, 1936."
)
_THEIL = "H. Theil: A rank-invariant method of linear and polynomial regression analysis. 1950."
_SEN = (
    "P. K. Sen: Estimates of the Regression Coefficient Based on Kendall's Tau. J. Am. Stat. Assoc. 63, 1968."
)
_WHITE = "K. P. White: An Effective Truncation Heuristic for Bias Reduction in Simulation Output. Simulation 69, 1997."
_KENDALL = "M. G. Kendall: A New Measure of Rank Correlation. Biometrika 30, 1938."
_HOLM = "S. Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scand. J. Statist. 6, 1979."
_ORDERSAGE = (
    "D. Duplyakin, N. Ramesh, C. Imburgia, H. Fathallah Al Sheikh, S. Jain, P. Tekta, A. Maricq, G. Wong, R. Ricci: "
    "Avoiding the Ordering Trap in Systems Performance Measurement. USENIX ATC 2023."
)
_KRUSKAL = "W. H. Kruskal, W. A. Wallis: Use of Ranks in One-Criterion Variance Analysis. J. Am. Stat. Assoc. 47, 1952."
_HODGES = (
    "J. L. Hodges, E. L. Lehmann: Estimates of Location Based on Rank Tests. Ann. Math. Statist. 34, 1963."
)
_WELCH = (
    "B. L. Welch: The Generalization of ‘Student's’ Problem When Several Different Population Variances Are Involved. "
    "Biometrika 34, 1947."
)
_SCHUIRMANN = (
    "D. J. Schuirmann: A Comparison of the Two One-Sided Tests Procedure and the Power Approach. "
    "J. Pharmacokinet. Biopharm. 15, 1987."
)
_FIELLER = "E. C. Fieller: Some Problems in Interval Estimation. J. R. Stat. Soc. B 16, 1954."
_SHAFFER = "J. P. Shaffer: Control of Directional Errors with Stagewise Multiple Test Procedures. Ann. Statist. 8, 1980."
_MOHAMAD = (
    "D. Mohamad, J. J. Goeman, E. W. van Zwet: Simultaneous Confidence Intervals for Ranks with Application to Ranking "
    "Institutions. Biometrics, 2020."
)
_HSU = "J. C. Hsu: Constrained Simultaneous Confidence Intervals for Multiple Comparisons with the Best. Ann. Statist. 12, 1984."
_BERGER = "R. L. Berger: Multiparameter Hypothesis Testing and Acceptance Sampling. Technometrics 24, 1982."
_COCHRAN = "W. G. Cochran: Sampling Techniques. Wiley, 1977."
_WOODRUFF = "R. S. Woodruff: Confidence Intervals for Medians and Other Position Measures. J. Am. Stat. Assoc. 47, 1952."
_KORN = (
    "E. L. Korn, B. I. Graubard: Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated From "
    "Survey Data. Surv. Methodol. 24, 1998."
)
_LAVENBERG = (
    "S. S. Lavenberg, P. D. Welch: A Perspective on the Use of Control Variables to Increase the Efficiency of Monte Carlo "
    "Simulations. Manag. Sci. 27, 1981."
)
_WESTFALL = "P. H. Westfall, S. S. Young: Resampling-Based Multiple Testing. Wiley, 1993."
_FREEDMAN = "D. Freedman, D. Lane: A Nonstochastic Interpretation of Reported Significance Levels. J. Bus. Econ. Stat. 1, 1983."
_MASSART = (
    "P. Massart: The Tight Constant in the Dvoretzky–Kiefer–Wolfowitz Inequality. Ann. Probab. 18, 1990."
)

_PANTHEON = (
    "F. Y. Yan, J. Ma, G. D. Hill, D. Raghavan, R. S. Wahby, P. Levis, K. Winstein: Pantheon: the training ground for Internet "
    "congestion-control research. USENIX ATC 2018."
)
_DUNN = "O. J. Dunn: Multiple Comparisons Among Means. J. Am. Stat. Assoc. 56, 1961."
_WARE = (
    "R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry: Beyond Jain's Fairness Index: Setting the Bar for the Deployment of Congestion "
    "Control Algorithms. HotNets 2019."
)
_JAIN = "R. K. Jain, D.-M. W. Chiu, W. R. Hawe: A Quantitative Measure of Fairness and Discrimination. DEC-TR-301, 1984."


def method_notes(
    analysis: Analysis,
    order: OrderSummary | None = None,
    verdicts: VerdictSummary | None = None,
    beside: Iterable[Note] = (),
) -> tuple[Note, ...]:
    """Return the notes on the methods that this analysis, its verdicts and its analysis of order used.

    `beside` are the notes of the kind of trials.
    """
    paper = analysis.method == "paper"
    notes = [_independence_paper() if paper else _independence(), _band()]
    if any(found.metric.variability for found in analysis.metrics):
        notes.insert(0, _scores())
    if any(found.metric.kpis for found in analysis.metrics):
        notes.insert(0, _kpis())
    if analysis.estimation is not None:
        notes = [*_estimates(analysis.estimation), *notes]
    if any(found.metric.convergence for found in analysis.metrics):
        notes.insert(0, _convergence_paper() if paper else _convergence())
    judged = verdict_notes(verdicts) if verdicts else ()
    return (*beside, *notes, *judged, *(order_notes(order) if order else ()), *_chain(analysis), _rounding())


def _estimates(found: Estimation) -> Iterator[Note]:
    """Yield the notes on estimates from many trials, and on control variates if any were used."""
    yield Note(
        "Estimates",
        "Pooled: over all samples of all trials, with trials as clusters of samples. The interval of a percentile "
        "contains every value whose share of samples is compatible with it, given the variance of that share between "
        "trials; the interval of a mean is that of a ratio, by Student's t over trials. Per trial: the mean over trials "
        "of each trial's own number, by Student's t. The rule for a percentile (nearest rank, or linear between two "
        "samples) is given beside it. Each interval holds at its level by itself.",
        (_COCHRAN, _WOODRUFF, _KORN),
    )
    if any(one.controlled is not None for one in found.estimates):
        yield Note(
            "Control variates",
            "A regression on known properties of each trial's workload, whose means come from sampled workloads that are "
            "not simulated, removes from the estimate what these properties explain. Use the plain interval until there "
            "are enough trials, and compare both in any case.",
            (_LAVENBERG,),
        )


def verdict_notes(view: VerdictSummary) -> tuple[Note, ...]:
    """Return the notes on how treatments were compared and ranked; none if they were not."""
    compared = view.comparison is not None and any(row.difference for row in view.comparison.rows)
    return (*([_verdicts()] if compared else []), *([_ranks()] if view.ranking else []))


def order_notes(view: OrderSummary) -> tuple[Note, ...]:
    """Return the notes on how the order was judged; none if it was not."""
    if view.found is None or view.refusal:
        return ()
    notes: list[Note] = []
    if any(one.p_value is not None for one in view.found.treatments):
        notes.append(_fixed_against_random())
    if any(group.tested for group in view.found.carry_over):
        notes.append(_carried())
    return tuple(notes)


def _verdicts() -> Note:
    return Note(
        "Verdicts",
        "Different: the means differ by more than the margin δ; equivalent: the difference is within ±δ (two one-sided "
        "tests); otherwise undecided, with the number of further units per side that would decide it with a probability "
        "of 90 %. Welch's interval of the difference, the Hodges–Lehmann shift, the ratio with Fieller's interval; Holm's "
        "correction over all pairs and metrics, each of which counts with the likelier of its two claims. The unit is the "
        "highest level that varies (host, boot, build, process, trial): more trials inside it add no certainty.",
        (_WELCH, _SCHUIRMANN, _HODGES, _FIELLER, _HOLM, _SHAFFER),
    )


def _ranks() -> Note:
    return Note(
        "Ranks and the Pareto set",
        "A treatment's best possible rank is one more than the number of treatments shown to be better, its worst "
        "possible rank the number, itself included, not shown to be worse; all ranks hold together. A treatment leaves "
        "the Pareto set if another is shown to be better in every metric.",
        (_MOHAMAD, _HSU, _BERGER),
    )


def _fixed_against_random() -> Note:
    return Note(
        "Fixed against random order",
        "For each treatment, the Kruskal–Wallis test compares its values in fixed order with those in random order, "
        "corrected for the number of treatments, with η² = (H − 1)/(n − 2) as its effect size; the shift is the median of "
        "all differences (Hodges and Lehmann). The cases compare rank-based intervals of both medians: case 2 does not "
        "show that nothing changes.",
        (_ORDERSAGE, _KRUSKAL, _HODGES, _HOLM),
    )


def _carried() -> Note:
    return Note(
        "Carry-over, position and drift",
        "For each treatment, a regression on its position, on how the round went, and on the treatment right before it; "
        "and another one on which treatments had run earlier in the round. p-values and intervals of pairs hold for all "
        "pairs of both kinds together, by the largest |t| of permuted residuals (with very many pairs, of the first kind "
        "alone, by t distributions and Šidák's inequality). The pairs found are accounted for when the others are judged.",
        (_WESTFALL, _FREEDMAN),
    )


def path_notes(path: PathAnalysis) -> tuple[Note, ...]:
    """Return the notes on the methods for experiments over paths."""
    return (*([_harm()] if path.harm else []), _plane(), *([_packets(path)] if path.flows else []))


def _harm() -> Note:
    return Note(
        "Harm",
        "Where more is better, harm is (alone − beside) / alone, where less is better (beside − alone) / beside: 0 if the other flow "
        "does nothing to this one, 1 if it leaves it nothing, below 0 if this one does better beside it. Intervals are Fieller's for "
        "the ratio of both means, verdicts Welch's tests corrected by Holm over all cells and metrics. The trials, one value each, "
        "count as independent. A scheme beside itself shows what is harmed already: Ware et al. call a new scheme acceptable if it "
        "harms no more than that.",
        (_WARE, _FIELLER, _WELCH, _HOLM),
    )


def _plane() -> Note:
    return Note(
        "The throughput–delay plane",
        "If both metrics have a KPI, the region is the quadrant that their first KPIs bound, each at its own confidence. "
        "Otherwise it is the rectangle of two-sided intervals of both medians at 97.5 % each. By Bonferroni's inequality, "
        "both sides hold together with at least the confidence that remains after adding up what each may miss, whatever "
        "the dependence between throughput and delay. A region describes one treatment by itself, in one series; regions "
        "that do not overlap are not a test of a difference. The means, as Pantheon prints them, carry no confidence "
        "statement.",
        (_PANTHEON, _DUNN, _THOMPSON),
    )


def _packets(path: PathAnalysis) -> Note:
    return Note(
        "Packets",
        "Results of flows are computed from every packet: throughput is the data delivered over the time that the flow was "
        "scheduled, delay the 95th percentile of the one-way delay of delivered packets, loss the share of packets dropped among "
        f"those whose fate is known. A trial in which one packet in a hundred was late by more than {path.lateness:g} ms, or one "
        "was lost without a log entry, is invalid: the emulator was then the bottleneck, and the numbers say nothing about the "
        "schemes.",
        (_PANTHEON, _JAIN),
    )


def _kpis() -> Note:
    return Note(
        "KPIs",
        "A KPI is a bound, at a confidence, on a percentile of the metric over the trials of a series: the value at a "
        "rank chosen by an exact binomial probability. It assumes no shape of the distribution, only that trials are "
        "independent and identically distributed, which randomised order provides. With too few trials there is no such "
        "bound, and the report says how many are needed.",
        (_THOMPSON, TRISCALE),
    )


def _scores() -> Note:
    return Note(
        "Variability scores",
        "A score is the range between bounds on a percentile of the KPIs of all series and on its mirror image. Each "
        "bound holds at the requested confidence (for the median, both together); the confidence with which both hold "
        "together is stated beside it, and so is the probability that the KPI of one more series falls in between, if all "
        "series are alike.",
        (TRISCALE,),
    )


def _independence() -> Note:
    return Note(
        "Independence",
        "Permutation test of the lag-1 autocorrelation and Kendall's test for a trend, combined by Holm's procedure at 5 "
        "%. Four trials or fewer cannot show dependence at that level, whatever their values; trials that all gave one "
        "number have no autocorrelation. A failed test makes a KPI descriptive; a passed one proves nothing.",
        (_KENDALL, _HOLM),
    )


def _independence_paper() -> Note:
    return Note(
        "Independence (as in the paper)",
        "No trend by the convergence test at 50 % confidence and 10 % tolerance, and autocorrelation within ±1.95/√n "
        "at every lag. On independent trials this test fails far more often than one time in twenty.",
        (TRISCALE,),
    )


def _convergence() -> Note:
    return Note(
        "Convergence",
        "The drift of the measure over twenty batches of a trial, relative to its median, must lie within the tolerance "
        "at the requested confidence (an equivalence test, so that noise does not pass for steadiness). If it does not, "
        "the start-up found by MSER-5 is cut and the rest is tested again.",
        (_WHITE,),
    )


def _convergence_paper() -> Note:
    return Note(
        "Convergence (as in the paper)",
        "Theil–Sen slope of the measure over sliding windows of half the samples, scaled to [−1, 1]; passed if its "
        "interval lies within the tolerance. The metric is then the median over the windows.",
        (_THEIL, _SEN, TRISCALE),
    )


def _band() -> Note:
    return Note(
        "Bands of distributions",
        "Grey: the band of Dvoretzky, Kiefer, Wolfowitz and Massart, which holds for the whole distribution at once. "
        "Dotted: the bound on each percentile by itself, as in Fig. 7 of the TriScale paper; these bounds do not hold "
        "together.",
        (_MASSART, TRISCALE),
    )


def _chain(analysis: Analysis) -> Iterator[Note]:
    if analysis.chain is not None:
        yield Note(
            "Ledger",
            f"The results rest on {head_text(analysis.chain)}. A directory with another head has other rows than these, or fewer.",
            (),
        )


def _rounding() -> Note:
    return Note(
        "Numbers",
        "Numbers have four significant digits. Lower bounds are rounded down and upper bounds up, so that the printed "
        "statement holds as well. The JSON form (trialwise analyze --json) has all digits.",
        (),
    )
