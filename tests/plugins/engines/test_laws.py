"""The engines that limite ships keep the laws, with every kind of server they can ask."""

from __future__ import annotations

import pytest

from limite.plugins.conformance import engine_laws
from limite.plugins.engines.built_in import BuiltIn
from limite.plugins.engines.openai_server import OpenAIServer

LAWS = {
    f"{type(engine).__name__}-{getattr(engine, 'server', '')}-{name}": law
    for engine in (BuiltIn(), *(OpenAIServer(server=s) for s in ("vllm", "sglang", "llama-cpp")))
    for name, law in engine_laws(engine).items()
}


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_engines(law) -> None:
    law()
