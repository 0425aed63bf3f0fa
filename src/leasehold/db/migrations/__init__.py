"""The migrations of the tables, one file per revision; `leasehold.db.schema` runs them.

A revision is a file `versions/NNNN_what_it_is.py` with the number as `revision` and the one before as `down_revision`.
It defines its tables itself and imports none from the code: the code's tables change later, and a revision must not.
MariaDB commits at every CREATE TABLE, so a revision may break off half-way there and is run again from its beginning.
Write it with `steps`, which skip what exists already and name the constraints. `tests/db/test_schema.py` compares the
result with the tables in the code.

Processes of the previous version run on during a revision, and beside new ones until they are replaced. So a revision
only expands the schema: new tables, and new columns that are nullable or have a server default. A revision that removes
or tightens anything is a contraction. It may come one version after the code has stopped using what it removes, and
begins with `steps.need_code_of`, which names the first revision whose code works without it. A revision alters at most
one existing table: with locks on several, it could deadlock with transactions that read them in another order.
`tests/db/test_expanding.py` checks these rules for every revision.
"""
