"""What Trialwise sends to a worker: these modules in one archive. Standard library only, Python 3.8 or newer.

`attachment` talks to the runner over standard input and output. It keeps no state but a folder, so that losing a connection
loses nothing::

    agent.zip        these modules, and the supervisor for machines of our architecture
    hand.lock        locked by the process that executes a trial, as long as it lives
    connection       the token of the latest connection: frames that an older one delivers late start nothing
    spool/KEY.started, spool/KEY.result     a trial that was started; what came of it, until it is acknowledged
    files/  scratch/  setup/                the experiment's files; one folder for each trial; what has been set up

`execution` is that process: it has a session of its own, outlives the connection, and sleeps while the program runs. It
imports little: it should begin fast, and be small. What only annotations name is not imported at all.
"""
