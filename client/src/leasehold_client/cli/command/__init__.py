"""What commands have in common: their base, lists in parts, and list, show, change and delete of any kind."""
