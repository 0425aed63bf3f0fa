"""What decisions are made of: nothing here knows the service, and one of them changes nothing."""
