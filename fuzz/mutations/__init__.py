"""Changes of file contents: plain bytes, and what knows the kind of a file.

A mutation takes a generator of random numbers, a content and others of its kind, and
returns a new content. The same state of the generator gives the same result.
"""
