"""Checkpoints: folders of safetensors and JSON that are either whole or not there.

``write`` publishes one, ``background`` does so while training goes on, ``read`` finds and verifies
them, ``manifest`` says what belongs to one, ``state`` turns modules and optimizers into plain
tensors and JSON and back.
"""
