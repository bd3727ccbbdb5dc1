"""The paper's synthetic study: a model world for the very strategies that real runs use."""
