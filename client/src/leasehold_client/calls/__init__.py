"""What the calls for every kind of thing share: requests and answers, lists in parts, and finding by name."""
