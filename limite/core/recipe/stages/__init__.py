"""The kinds of stage a recipe is made of, as settings. What runs them is named as a string.

A component field takes a component or the name of one; after resolving it is always a component.
"""

from __future__ import annotations

from limite.core.recipe.stages.base import Mix as Mix
from limite.core.recipe.stages.base import Source as Source
from limite.core.recipe.stages.base import Stage as Stage
from limite.core.recipe.stages.base import file_at as file_at
from limite.core.recipe.stages.base import is_file as is_file
from limite.core.recipe.stages.critic import ENDING as ENDING
from limite.core.recipe.stages.critic import OLD_VALUE as OLD_VALUE
from limite.core.recipe.stages.critic import VALUES as VALUES
from limite.core.recipe.stages.critic import CriticSettings as CriticSettings
from limite.core.recipe.stages.critic import FitCritic as FitCritic
from limite.core.recipe.stages.critic import files_at as files_at
from limite.core.recipe.stages.distillation import Distill as Distill
from limite.core.recipe.stages.evaluation import Eval as Eval
from limite.core.recipe.stages.made import EVERY as EVERY
from limite.core.recipe.stages.made import Asked as Asked
from limite.core.recipe.stages.made import MadeTexts as MadeTexts
from limite.core.recipe.stages.made import OwnSolutions as OwnSolutions
from limite.core.recipe.stages.made import Taught as Taught
from limite.core.recipe.stages.preference import Preference as Preference
from limite.core.recipe.stages.pretraining import Pretrain as Pretrain
from limite.core.recipe.stages.reinforcement import PLAIN_ADVANTAGE as PLAIN_ADVANTAGE
from limite.core.recipe.stages.reinforcement import RL as RL
from limite.core.recipe.stages.reinforcement import START as START
from limite.core.recipe.stages.sampled import ALL as ALL
from limite.core.recipe.stages.sampled import RIGHT_OVER_WRONG as RIGHT_OVER_WRONG
from limite.core.recipe.stages.sampled import StrongWeak as StrongWeak
from limite.core.recipe.stages.soup import Greedy as Greedy
from limite.core.recipe.stages.soup import Member as Member
from limite.core.recipe.stages.soup import Soup as Soup
from limite.core.recipe.stages.stability import Probe as Probe
from limite.core.recipe.stages.stability import Unstable as Unstable
from limite.core.recipe.stages.supervised import SFT as SFT
from limite.core.train.data.windows import Windows as Windows

STAGE_KINDS: dict[str, type[Stage]] = {
    stage.kind: stage for stage in (Pretrain, SFT, Distill, RL, FitCritic, Preference, Soup, Eval)
}

Stage.kinds = STAGE_KINDS  # what `type` says in settings files, and the class it stands for
