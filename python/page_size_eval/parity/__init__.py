"""The same prompts to several servers: how far their logprobs are apart."""
