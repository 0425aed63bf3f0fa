"""How the tables came to be, step by step; `leasehold.db.schema` runs it.

A revision is a file `versions/NNNN_what_it_is.py` with the number as `revision` and the one before as `down_revision`.
It states its tables itself and imports none that are alive: those go on changing, and what it once did must not.
MariaDB commits at every CREATE TABLE, so a revision may break off half-way there and is run again from its beginning:
write it with `steps`, which leave alone what is there already. `tests/db/test_schema.py` compares the outcome with
the tables in the code.

Processes of the version before run on while a revision is carried out, and beside new ones until they are replaced. So
a revision only expands the schema: new tables, and new columns that are nullable or have a server default. What removes
or tightens anything contracts it; that may come one version after the code has stopped using it, and begins with
`steps.need_code_of`, which names the first revision whose code works without it. It alters one table that exists
already: with locks on several it could lock out, or be locked out by, who reads them in another order.
`tests/db/test_expanding.py` holds every revision to this.
"""
