"""Trialwise in a notebook: `load` results, ask the questions of the commands, and see the same documents and figures."""

from trialwise.notebook.data import Data, Plotter
from trialwise.notebook.loading import load
from trialwise.notebook.plots import Plot
from trialwise.notebook.results import Page, Result

__all__ = ["Data", "Page", "Plot", "Plotter", "Result", "load"]
