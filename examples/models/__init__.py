"""Networks as classes of `nn`, each with an evaluation by numpy to compare with.

from models import MODELS

model = MODELS["resnet18"].small()
module = model.build()
"""

from __future__ import annotations

from collections.abc import Mapping

from models.bert import Bert
from models.digits_cnn import DigitsCNN
from models.gpt2 import GPT2
from models.mobilenet_v2 import MobileNetV2
from models.network import Model
from models.resnet18 import ResNet18

MODELS: Mapping[str, type[Model]] = {
    "bert": Bert,
    "digits_cnn": DigitsCNN,
    "gpt2": GPT2,
    "mobilenet_v2": MobileNetV2,
    "resnet18": ResNet18,
}
"""The models by the name of their file."""

__all__ = ["MODELS", "Model"]
