"""Fits and the records they leave: in memory, along a path of K, over blocks of rows.

Knows counts and checked parameters, not estimators: scikit-learn is not imported here.
"""
