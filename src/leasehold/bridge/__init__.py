"""The message bus: events go to it as Blazar's notifications, and Nova's notifications come from it.

The only package that imports oslo.messaging (decision 0047).
"""
