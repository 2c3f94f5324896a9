"""Trials as independent tasks: computed by processes of this machine or by nodes of a cluster, recorded in plan order."""
