"""A look at every part of a recipe: whether it will work with the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

import attrs

from limite.core import config
from limite.core.config import Locate
from limite.core.config_faults import Fault
from limite.core.errors import Mistake
from limite.core.kernels.dispatch import Survey
from limite.core.recipe.actor_checks import turn_faults
from limite.core.recipe.advantage_checks import advantage_faults, dealing_faults
from limite.core.recipe.cost import Plan, plan_of
from limite.core.recipe.critic_checks import critic_faults, fitting_faults, rollout_faults
from limite.core.recipe.curriculum_checks import curriculum_faults
from limite.core.recipe.data_checks import pair_faults, teacher_faults, trace_faults
from limite.core.recipe.engine_checks import engine_faults
from limite.core.recipe.eval_checks import eval_faults
from limite.core.recipe.file_faults import placed
from limite.core.recipe.kernel_checks import kernel_survey
from limite.core.recipe.made_checks import made_faults, own_faults, taught_faults
from limite.core.recipe.model_checks import model_faults, tokenizer_setting
from limite.core.recipe.objective_checks import (
    column_faults,
    correction_faults,
    list_faults,
    method_faults,
    overlong_faults,
    reference_faults,
    repetition_faults,
)
from limite.core.recipe.optimizer_checks import Trained, optimizer_faults, schedule_faults
from limite.core.recipe.order_checks import order_faults
from limite.core.recipe.overlap_checks import (
    Questions,
    rollout_overlap_faults,
    soup_overlap_faults,
)
from limite.core.recipe.pretrain_checks import pretrain_faults
from limite.core.recipe.problem_checks import Texts, problem_faults
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.reworded_checks import reworded_faults
from limite.core.recipe.sampled_checks import sampled_faults
from limite.core.recipe.soup_checks import soup_faults
from limite.core.recipe.stability_checks import stability_faults
from limite.core.recipe.stages import (
    RL,
    SFT,
    VALUES,
    CriticSettings,
    Distill,
    Eval,
    FitCritic,
    MadeTexts,
    Preference,
    Pretrain,
    Soup,
    Stage,
    StrongWeak,
    Taught,
)
from limite.core.registry import Registry

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder


@attrs.define(kw_only=True)
class Findings:
    """What a look at a recipe has found."""

    faults: list[Fault]
    """Of the recipe's settings."""
    files: list[Mistake]
    """In the files that its model, tokenizer and texts are read from."""
    decoder: Decoder | None
    texts: Mapping[str, Texts]
    kernels: Survey

    def in_recipe(self, locate: Locate) -> list[Mistake]:
        kernels = [Mistake(fault) for fault in self.kernels.faults]
        return [*config.mistakes(self.faults, locate), *kernels]

    def plan(self, recipe: Recipe, registry: Registry) -> Plan:
        assert self.decoder is not None
        return plan_of(recipe, self.decoder, self.texts, registry, self.kernels)


def look_over(recipe: Recipe, registry: Registry, *, complete: bool = True) -> Findings:
    """Asks the components of a recipe whether they will work together.

    A model on the meta device, an advantage with a made-up group, a few problems of every kind: no
    weight is loaded and nothing is trained. Of weights that exist the headers are read. When the
    recipe is not ``complete``, questions that need a setting it lacks are left out.
    """
    look = _Look(recipe=recipe, registry=registry, complete=complete)
    look.at_model()
    for name, stage in getattr(recipe, "stages", {}).items():
        look.at_stage(name, stage)
    kernels = kernel_survey(recipe, look.decoder)
    files = list(dict.fromkeys(look.files))
    return Findings(
        faults=look.faults, files=files, decoder=look.decoder, texts=look.texts, kernels=kernels
    )


@attrs.define(kw_only=True, eq=False)
class _Look:
    """What was found so far, and how the next part is asked."""

    recipe: Recipe
    registry: Registry
    complete: bool
    faults: list[Fault] = attrs.field(factory=list)
    files: list[Mistake] = attrs.field(factory=list)
    known: bool = True
    """Whether the model's files are sound."""
    readable: bool = True
    """Whether the tokenizer's are, so that texts can be encoded."""
    texts: dict[str, Texts] = attrs.field(factory=dict)
    decoder: Decoder | None = None
    questions: Questions = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.questions = Questions(recipe=self.recipe, registry=self.registry)

    def ask(self, questions: Iterable[Fault], *under: str) -> None:
        """Takes down what is wrong with the part of the recipe that is ``under`` a path."""
        try:
            for fault in questions:
                above = () if fault.path[:1] in (("model",), ("tokenizer",)) else under
                self.faults.append(fault.under(*above))
        except Exception:
            # A recipe with mistakes may lack anything at all, and those are told already.
            if self.complete:
                raise

    def at_model(self) -> None:
        in_model, in_tokenizer = self._in_files("model"), self._in_files("tokenizer")
        self.known, self.readable = not in_model, not in_tokenizer
        self.ask(placed(in_model, ("model",), self.files))
        # What is said of the directory is said once; a tokenizer is often that of the model.
        fresh = [each for each in in_tokenizer if each not in in_model]
        if fresh:
            self.ask(placed(fresh, tokenizer_setting(self.recipe), self.files))
        models: list[Decoder] = []
        self.ask(
            model_faults(self.recipe, models, wrong_files=not self.known, readable=self.readable)
        )
        self.decoder = models[0] if models else None

    def _in_files(self, part: str) -> list[Mistake]:
        try:
            mistakes: list[Mistake] = getattr(self.recipe, part).mistakes()
        except Exception:
            if self.complete:
                raise
            return []
        return mistakes

    def at_stage(self, name: str, stage: Stage) -> None:
        place = ("stages", name)
        self.ask(order_faults(self.recipe, name, stage), *place)
        self._at_texts(name, stage)
        if isinstance(stage, SFT):
            self.ask(own_faults(self.recipe, name, stage, self.texts), *place)
        if isinstance(stage, (SFT, RL)):
            self.ask(reworded_faults(stage, self.questions.with_probes(name)), *place)
        if isinstance(stage, (Pretrain, SFT, RL, Preference, Distill)):
            self.ask(column_faults(stage, self.registry), *place)
        if isinstance(stage, (RL, Distill)) and self.readable:
            self.ask(list_faults(self.recipe, stage), *place)
        if isinstance(stage, RL):
            self._at_rl(name, stage)
        if isinstance(stage, FitCritic):
            self.ask(rollout_faults(self.recipe, name, stage), *place)
            self.ask(rollout_overlap_faults(stage, self.questions.after(name)), *place)
            self.ask(fitting_faults(stage, self.registry, VALUES), *place)
        if isinstance(stage, (Pretrain, SFT, RL, FitCritic, Preference, Distill)):
            self._at_optimizer(stage, stage, *place)
        if isinstance(stage, RL) and isinstance(getattr(stage, "critic", None), CriticSettings):
            self._at_optimizer(stage, cast(CriticSettings, stage.critic), *place, "critic")

    def _at_texts(self, name: str, stage: Stage) -> None:
        """What a stage trains on, or asks."""
        place = ("stages", name)
        shared = (self.registry, self.texts, self.files)
        found: Iterable[Fault]
        if isinstance(stage, Preference):
            self._at_preference(name, stage)
        elif isinstance(stage, Distill):
            self._at_distillation(name, stage)
        elif isinstance(stage, Soup):
            found = soup_faults(self.recipe, name, stage, *shared, readable=self.readable)
            self.ask(found, *place)
            self.ask(soup_overlap_faults(name, stage, self.questions), *place)
        elif isinstance(stage, Pretrain):
            self._at_pretraining(name, stage)
        elif isinstance(stage, Eval):
            found = eval_faults(self.recipe, name, stage, *shared, readable=self.readable)
            self.ask(found, *place)
        else:
            found = problem_faults(self.recipe, name, stage, *shared, readable=self.readable)
            self.ask(found, *place)

    def _at_preference(self, name: str, stage: Preference) -> None:
        place, readable = ("stages", name), self.readable
        watch = self.questions.after(name)
        found = pair_faults(
            self.recipe, name, stage, self.texts, self.files, watch, readable=readable
        )
        self.ask(found, *place)
        sampled = getattr(stage, "sampled", None)
        if isinstance(sampled, StrongWeak):
            found = sampled_faults(
                self.recipe, name, sampled, self.registry, self.texts, self.files,
                readable=readable,
            )  # fmt: skip
            self.ask(found, *place, "sampled")

    def _at_distillation(self, name: str, stage: Distill) -> None:
        place, readable = ("stages", name), self.readable
        watch = self.questions.after(name)
        found = trace_faults(
            self.recipe, name, stage, self.texts, self.files, watch, readable=readable
        )
        self.ask(found, *place)
        taught = getattr(stage, "taught", None)
        if isinstance(taught, Taught):
            found = taught_faults(
                self.recipe, name, stage, taught, self.registry, self.texts, self.files,
                readable=readable,
            )  # fmt: skip
            self.ask(found, *place, "taught")
        found = teacher_faults(self.recipe, name, stage, self.texts, self.files, readable=readable)
        self.ask(found, *place)

    def _at_pretraining(self, name: str, stage: Pretrain) -> None:
        place = ("stages", name)
        made: list[str] = []
        of_problems = getattr(stage, "made", None)
        if isinstance(of_problems, MadeTexts) and self.readable:
            found = made_faults(self.recipe, name, of_problems, self.registry, made, self.files)
            self.ask(found, *place, "made")
        found = pretrain_faults(
            self.recipe, name, stage, made, self.texts, self.files, self.questions,
            readable=self.readable,
        )  # fmt: skip
        self.ask(found, *place)

    def _at_rl(self, name: str, stage: RL) -> None:
        place = ("stages", name)
        self.ask(reference_faults(self.recipe, name, stage, self.registry), *place)
        self.ask(method_faults(stage, self.registry), *place)
        self.ask(correction_faults(stage, self.registry), *place)
        self.ask(overlong_faults(stage), *place)
        self.ask(repetition_faults(stage), *place)
        if self.known and self.readable:
            self.ask(engine_faults(self.recipe, stage), *place)
        self.ask(dealing_faults(stage), *place)
        self.ask(curriculum_faults(stage), *place)
        found = stability_faults(
            self.recipe, name, stage, self.registry, self.files, readable=self.readable
        )
        self.ask(found, *place)
        self.ask(turn_faults(stage), *place)
        self.ask(advantage_faults(stage), *place)
        self.ask(critic_faults(self.recipe, name, stage, self.registry), *place)

    def _at_optimizer(
        self,
        stage: Pretrain | SFT | RL | FitCritic | Preference | Distill,
        part: Trained,
        *place: str,
    ) -> None:
        self.ask(schedule_faults(stage, part), *place)
        if self.decoder is not None:
            self.ask(optimizer_faults(part, self.decoder), *place)
