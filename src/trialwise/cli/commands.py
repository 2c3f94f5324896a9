"""Which commands there are, in which order, each in a sentence: data that `trialwise --help` reads without a library."""

INTRODUCTION = """\
Performance experiments that replicate: size, randomise, run, analyse, report.

Exit codes:
  0 done
  1 a gate failed: ab, claims, diff, or a verdict that --gate was given for
  2 usage, or a wrong experiment file
  3 undecided
  4 trials failed
  5 the experiment directory cannot be used
  6 a worker cannot be used
  7 data cannot be analysed
130 interrupted"""
BROKEN_PIPE = 141
"""Exit code if the reader of what is printed has gone: 128 plus SIGPIPE."""
GROUPS = ("schemes", "stream", "trace")
"""Commands with subcommands, described by their `app`."""
FUNCTIONS = {"import": "import_results"}
"""Names of the modules and functions of commands whose own name Python keeps for itself."""
SUMMARIES = {
    "Measure": {
        "new": "Write an experiment file to start from.",
        "plan": "Show what an experiment needs, its order, its schedule and the time it takes.",
        "run": "Run an experiment, or go on with it.",
        "status": "Show how far an experiment is.",
        "serve": "Show experiments on a local page, while they run and after.",
        "workers": "Have a worker join a begun experiment, or leave it, also while it runs.",
        "pause": "Ask a run in progress to stop after its running trials.",
        "skip": "Skip a treatment of a begun experiment, also while it runs.",
        "exclude": "Leave finished trials out of every analysis, with a reason.",
        "ab": "Compare commands, or two builds of a program, interleaved, until decided or out of budget.",
    },
    "Conclude": {
        "look": "Look at result files of other tools: which is best, by how much, what they cannot say.",
        "history": "Look back over commits or days: where a metric changed, and by how much.",
        "import": "Import result files of other tools into a directory that every command reads.",
        "analyze": "Analyse an experiment directory, files of other tools or a table of measurements.",
        "report": "Write the report of an experiment as one HTML file.",
        "compare": "Compare two experiments, or two sets of treatments: different, equivalent or undecided.",
        "order": "Say whether the order of trials changes the results, and which predecessor does it.",
        "claims": "Check the claims of a paper against its data.",
        "diff": "Say how two experiments, or an experiment and this machine, differ.",
        "effects": "Say which factors of an experiment matter, alone and together, and by how much.",
    },
    "Publish": {
        "pack": "Pack experiments and the claims on them into an archive that a stranger can verify.",
        "verify": "Verify an artifact: whether it was changed, and what its data say of its claims.",
    },
    "Calibrate": {
        "doctor": "Name what will disturb a measurement on this machine.",
        "aa": "Calibrate the bench: every treatment against itself.",
        "observe": "Say whether measuring changes what is measured.",
        "profile": "Find the daily, weekly and other cycles in condition data, or how far a real path moves by itself.",
        "runtime": "Say how long a trial must be for its metrics to be steady.",
    },
    "Networks": {
        "path": "Run a command inside an emulated path.",
        "calibrate": "Fit an emulated path to a real one, and certify for which schemes it stands.",
        "trace": "Make, inspect, plot, scale and cut link traces, also from a capture or a log.",
        "schemes": "List congestion-control schemes; show, set up and check one.",
        "capture": "Write down what one end of a path sees, to be joined with the other's.",
        "packets": "Say what a log of packets says, and write it in another format.",
    },
    "Simulate": {
        "simulate": "Simulate flows over a data-centre network, packet by packet.",
        "tilt": "Choose from which sizes flows are drawn, so that a simulated tail quantile takes fewer trials.",
    },
    "Streams": {
        "stream": "Make programs stream that have no measurement points of their own.",
        "collect": "Collect measurement streams into a database.",
        "scaffold": "Write the skeleton of a program that measures, in C, Rust or Python.",
    },
    "Data": {"schema": "Print the JSON Schema of a public format."},
}
COMMANDS = [name for summaries in SUMMARIES.values() for name in summaries]
