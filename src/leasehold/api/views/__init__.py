"""Views: functions that turn domain values into answers, one module for each noun."""
