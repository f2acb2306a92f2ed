"""gsm8k against SGLang at several page sizes: servers, lm-eval, comparison, report."""
