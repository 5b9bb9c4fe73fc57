"""Several processes that train one model together: what is shared out, and what is put together."""
