"""How the tables came to be, step by step; `leasehold.books.schema` runs it.

A revision is a file `versions/NNNN_what_it_is.py` with the number as `revision` and the one before as `down_revision`.
It states its tables itself and imports none that are alive: those go on changing, and what it once did must not.
MariaDB commits at every CREATE TABLE, so a revision may break off half-way there and is run again from its beginning:
write it with `steps`, which leave alone what is there already. `tests/books/test_schema.py` compares the outcome with
the tables in the code.
"""
