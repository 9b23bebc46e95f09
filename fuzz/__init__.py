"""Damaged and crafted inputs for every door that takes files or matrices.

``make fuzz`` or ``python -m fuzz`` mutates small valid files and reads them in child
processes; ``python -m fuzz.crafted`` passes sparse matrices that lie about themselves
to the estimators.
"""
