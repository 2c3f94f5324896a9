"""The modules that Trialwise sends to a worker in one archive. Standard library only, Python 3.8 or newer.

`attachment` talks to the runner over standard input and output. Its only state is a folder, so that losing a connection
loses nothing::

    agent.zip        these modules, and the supervisor for machines of our architecture
    hand.lock        locked by the process that executes a trial, as long as it lives
    connection       the token of the latest connection: frames that an older one delivers late start nothing
    spool/KEY.started, spool/KEY.result     a trial that was started; its result, until it is acknowledged
    files/  scratch/  setup/                the experiment's files; one folder for each trial; what has been set up

`execution` is that process: it has its own session, outlives the connection, and sleeps while the program runs. It
imports little, so that it starts fast and stays small. Names used only in annotations are not imported at all.
"""
