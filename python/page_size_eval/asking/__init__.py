"""The questions of a task, asked and judged: lm-eval, the requests, the checkpoint."""
