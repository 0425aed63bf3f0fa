"""How the tables of the books came to be, step by step; `leasehold.books.schema` runs it."""
