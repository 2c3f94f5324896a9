"""The codes of notes about a file, and the sentence that each prints."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter

from trialwise.numbers import counted


class _Counting(Formatter):
    """Formats `{n:row is|rows are}` as "1 row is" or "2 rows are"."""

    def format_field(self, value: object, format_spec: str) -> str:
        one, bar, several = format_spec.partition("|")
        if bar and isinstance(value, int):
            return counted(value, one, several)
        return f"{value} {several}" if bar else super().format_field(value, format_spec)


CODES: Mapping[str, str] = {
    "one_unit": "one {unit}: nothing was repeated, so no interval can be given; run it again",
    "within_process": "the repetitions ran in one process: they say nothing about the next process; start it several times",
    "aggregated_only": "only summaries: the single values are not in the file",
    "averaged_by_tool": "each value is a mean that the tool took over runs, which are not in the file",
    "aggregates_skipped": "{n:row is a summary of others and is|rows are summaries of others and are} left out",
    "calibration_dropped": "{n:run for calibration is|runs for calibration are} left out",
    "warmup_dropped": "{n:value for warming up is|values for warming up are} left out",
    "failed_units": "{n} of {of:trial|trials} failed",
    "failed_not_marked": "this format cannot say whether a run failed",
    "missing_combinations": "combinations of parameters are missing, as if they had failed: {what}",
    "missing_values": "{n:value is|values are} missing",
    "not_finite": "{n:value is no finite number and counts|values are no finite numbers and count} as missing",
    "partial": "the file ends early: {what}",
    "superseded_documents": "{n:earlier document in the file is|earlier documents in the file are} superseded by the last",
    "errors_in_load": "{n} of {of:request|requests} failed",
    "rate_not_met": "the rate asked for was not met: {what}",
    "not_calibrated": "the tool did not calibrate itself before measuring",
    "threshold_crossed": "a threshold was crossed: {what}",
    "confidence_not_met": "the tool did not reach the confidence that was asked for",
    "counter_not_supported": "not supported on that machine: {what}",
    "counter_not_counted": "not counted: {what}",
    "percentile_of_few": "too few values for {what}: it would rest on less than one of them",
    "coarse_clock": "times are in steps of {what}",
    "rounded": "values are rounded to {what}",
    "interpolated": "the series were interpolated by the tool: raw values are read instead",
    "sorted_rows": "the rows are sorted by value, not by time",
    "interval_empty": "{n:interval is|intervals are} empty",
    "interval_times_inconsistent": "the times of intervals contradict each other: {what}",
    "order_unknown": "the order in which the trials ran is not in the file: drift cannot be told from the treatments",
    "order_blocked": "all trials of one treatment ran before those of the next: drift cannot be told from the treatments",
    "time_unusable": "the times in the file give no order: {what}",
    "one_way_needs_clocks": "one-way delays hold only if both clocks were synchronised",
    "sender_side": "the values are what was sent, not what arrived",
    "direction_unknown": "the file does not say whether more or less is better: {what}",
    "direction_from_tool_name": "the direction comes from the name of the format",
    "unit_unknown": "the file gives no unit: {what}",
    "units_in_cells": "units stand in the cells of {what}; they were read",
    "decimal_comma": "{what} has decimal commas; they were read so",
    "factors_in_name": "factors were taken from names: {what}",
    "duplicate_names": "a name stands several times: {what}",
    "several_numbers_in_cell": "cells hold several numbers: each is a metric",
    "no_factors": "there is one treatment only: nothing to compare",
    "unit_of_replication_unknown": "the file does not say what was repeated: {what}",
    "wide_guessed": "columns were taken as {what}",
    "no_header": "the table has no header",
    "duplicate_columns": "columns have the same name: {what}",
    "debug_build": "the library was a debug build",
    "not_forked": "the benchmark ran inside its runner, not in a process of its own",
    "needs_encode": "is written for machines: convert it with {what}",
    "unsafe_refused": "can execute code when it is loaded, and is refused: {what}",
}


def sentence(code: str, **words: object) -> str:
    """Return the sentence of a code with its words; counts are numbers, whose nouns follow them."""
    return _Counting().vformat(CODES[code], (), words)
