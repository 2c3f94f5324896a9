"""What `verify` says of this machine."""

from trialwise.analysis.artifacts import Here, Prospect
from trialwise.report.document import Document, Verdict
from trialwise.report.documents.prospects import difference_blocks
from trialwise.report.render.markdown import markdown


def test_experiments_that_were_not_compared_with_this_machine_are_counted():
    def told(uncompared):
        runs = Prospect("C1", True, "", trials=1, processor=None, memory=None, size=0, root=None)
        here = Here((), (runs,), (), 0, uncompared)
        return markdown(
            Document("verify", Verdict("good", ("x",)), tuple(difference_blocks(here)), ()), full=True
        )

    assert "3 further experiments not compared with this machine" in told(3)
    assert "not compared" not in told(0)
