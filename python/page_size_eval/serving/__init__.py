"""SGLang servers: hardware, life, what is in force, what they counted."""
