"""The web console's files, in the folder `static`; leasehold-api finds that folder by the name of this package."""
