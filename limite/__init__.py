"""limite: interchangeable parts for post-training small models that reason in mathematics."""

__version__ = "0.1.0"
