"""What instance and flavor reservations share: slots on hosts."""
