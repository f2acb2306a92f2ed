"""Two arms' answers compared: statistics, verdicts, exit status."""
