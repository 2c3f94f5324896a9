"""Resets and workers of a checked document: what is done to the machines that trials run on."""

from __future__ import annotations

from pathlib import PurePosixPath

from trialwise.experiment import model
from trialwise.experiment.command_lines import command_words
from trialwise.experiment.document_machines import FreshDirectory, ResetSection, WorkersSection
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems

_RESETS = ("command", "service", "directory", "drop_caches", "reboot", "namespace")
_SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr"}


def build_reset(section: ResetSection | None, problems: Problems) -> model.Reset | None:
    """What resets the machine, None where nothing does; what is wrong is noted."""
    if section is None:
        return None
    if not any(getattr(section, name) for name in _RESETS):
        problems.add(("reset",), "resets nothing", f"give at least one of {', '.join(_RESETS)}")
    path, template = section.directory, None
    if isinstance(path, FreshDirectory):
        path, template = path.path, path.template
    if path is not None:
        check_directory(("reset", "directory"), path, problems)
    return model.Reset(
        command_words(("reset", "command"), section.command, problems),
        section.every,
        section.timeout,
        section.settle,
        section.service,
        path,
        template,
        section.drop_caches,
        section.reboot,
        command_words(("reset", "check"), section.check, problems),
        section.namespace,
    )


def check_directory(key: Key, path: str, problems: Problems) -> None:
    """Note a problem where a folder that is to be emptied is not plainly one of the experiment's own.

    Relative, it lies below the folder of the experiment; absolute, at least three names deep and in no folder of the
    system.
    """
    parts = PurePosixPath(path).parts
    hint = "name a folder below that of the experiment file, or a whole path to a folder for this alone"
    if names_in(path):
        problems.add(key, "takes no {placeholder}: what is emptied stands in the file")
    elif ".." in parts:
        problems.add(key, f"{path} leads out of where it begins", hint)
    elif not parts:
        problems.add(key, "is the folder of the experiment, which is not emptied", hint)
    elif parts[0] == "~":
        problems.add(key, "~ is not replaced by your home", hint)
    elif parts[0] == "/" and (len(parts) < 4 or parts[1] in _SYSTEM):
        problems.add(key, f"{path} is not emptied: too much may stand in it", hint)


def build_workers(section: WorkersSection, problems: Problems) -> model.Workers:
    """The workers, with a note of each key that does not go with another."""
    given = section.model_fields_set
    if section.git is not None:
        for name in ("files", "exclude"):
            if name in given:
                problems.add(("workers", name), "does not go with git", "leave one of them out")
    if section.allocate is not None and "use" in given:
        problems.add(("workers", "use"), "does not go with allocate, which names the workers")
    if section.release is not None and section.allocate is None:
        problems.add(("workers", "release"), "goes with allocate")
    return model.Workers(
        use=tuple(section.use),
        files=tuple(section.files),
        exclude=tuple(section.exclude),
        git=section.git and (section.git.url, section.git.commit),
        setup=command_words(("workers", "setup"), section.setup, problems),
        setup_timeout=section.setup_timeout,
        allocate=command_words(("workers", "allocate"), section.allocate, problems),
        release=command_words(("workers", "release"), section.release, problems),
        python=section.python,
        folder=section.folder,
        reconnect=section.reconnect,
        heartbeat=section.heartbeat,
    )
