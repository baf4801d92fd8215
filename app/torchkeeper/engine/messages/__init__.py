"""What is said about each operation, as types: parameters, results, rows and findings.

A module has the TypedDicts of some operations: ``<Name>Params`` and ``<Name>Result``, where
``<Name>`` is the operation's name in CamelCase (``plan_export``: PlanExportParams), and those they
hold. ``engine.protocol`` says which module an operation's are in, ``engine.decoding`` checks what
comes over the wire against them. Who only names a type imports it under TYPE_CHECKING: then it
costs a start nothing.

What need not be there stands in a class with ``total=False``; the travelling part knows no
NotRequired, which is younger than Python 3.10. Values are JSON: a tuple arrives as a list.

The modules have their annotations as they are, without ``from __future__ import annotations``: each
text would have to be compiled when a module is loaded, which takes three times as long.
"""
