from trialwise.notebook import Data as Data
from trialwise.notebook import Page as Page
from trialwise.notebook import Plot as Plot
from trialwise.notebook import Result as Result
from trialwise.notebook import load as load

__version__: str
