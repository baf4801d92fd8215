"""Commands and engines that begin with their modules already imported: most of what each takes.

A process that has imported them forks for each. What is forked has arguments, an environment, a
folder and an end of its own. The slow tests run everything as users do, and so do the tests of how
a process starts and ends.
"""
