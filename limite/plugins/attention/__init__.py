"""Attention: how the tokens of a row mix."""
