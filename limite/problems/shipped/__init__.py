"""Problems that come with limite, in files: a recipe names one as ``limite:stories.jsonl``."""
