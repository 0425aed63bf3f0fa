"""The commands for what tells users of changes: alarms, feeds and subscriptions."""
