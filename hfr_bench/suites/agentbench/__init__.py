"""AgentBench's databases and shells: from a user's checkout, and small packs of our own."""
