"""The database: what is promised to whom, when. Tables, units of work, queries and migrations."""
