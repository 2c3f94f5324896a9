"""From what a program reported to samples: by a pattern, from JSON, from a table."""

from trialwise.measurement.csv_reader import read_csv
from trialwise.measurement.json_reader import parse_pointer, read_json
from trialwise.measurement.pattern_reader import compile_pattern, read_pattern
from trialwise.measurement.reported import Reported, from_file, from_output

__all__ = [
    "Reported",
    "compile_pattern",
    "from_file",
    "from_output",
    "parse_pointer",
    "read_csv",
    "read_json",
    "read_pattern",
]
