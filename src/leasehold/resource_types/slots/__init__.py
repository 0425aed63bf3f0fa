"""Slots on hosts: the code that instance and flavor reservations share."""
