"""Does everything agree? The books with themselves, the cloud with the books; and what can be done about the rest."""
