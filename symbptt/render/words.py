"""The words of documents by language: titles, sentences with places for formulas, phrases for rules and reasons."""

from __future__ import annotations

from dataclasses import dataclass

from symbptt.render import phrases, words_accumulation, words_coq


@dataclass(frozen=True)
class Language:
    """All words of one language. `pair` joins two values, `last` the last of more than two, `between` the others."""

    titles: dict[str, str]
    sentences: dict[str, str]
    phrases: dict[str, dict[str, str]]
    between: str
    pair: str
    last: str

    def joined(self, texts: list[str]) -> str:
        """Texts as a list in a sentence."""
        if len(texts) <= 2:
            return self.pair.join(texts)
        return self.between.join(texts[:-1]) + self.last + texts[-1]


ENGLISH = Language(
    between=", ", pair=" and ", last=" and ",
    titles={
        "model": "The model",
        "graph": "What depends on what",
        "derivation": "The gradients, step by step",
        "written": "The given number of steps, written out",
        "closed": "The closed form",
        "proof": "Proof by induction",
        "gradients": "The gradients of the parameters",
        "static": "The gradients of the static data",
        "ends": "Initial values and inputs",
        "accumulation": "Direct and total derivatives",
        "truncation": "Truncated back-propagation through time",
        "storage": "What is stored and reused",
        "basis": "What the theorems rest on",
        "coq": "What Coq accepted",
    },
    sentences={
        "title": "Back-propagation through time: {title}",
        "opening": "From the equations of the section {model} this document derives the gradients of {objective} by "
                   "the chain rule, in the sections {derivation} and {gradients}; it solves their recursion for every "
                   "number of steps in {closed}, and proves the solution in {proof}.",
        "opening_plain": "From the equations of the section {model} this document derives the gradients of "
                         "{objective} by the chain rule, in the sections {derivation} and {gradients}.",
        "heading": "“{title}”",
        "source": "Source: {source}.",
        "model": "The model computes",
        "computed_start": "Before the first step it computes once",
        "counts": "The number of the steps that a mask keeps is",
        "losses": "The losses are defined by",
        "objective": "The objective is",
        "reduce_last": "The loss {losses} counts at the last step alone.",
        "reduce_last_more": "The losses {losses} count at the last step alone.",
        "reduce_once": "The regulariser {losses} belongs to no step: it counts once.",
        "reduce_once_more": "The regularisers {losses} belong to no step: they count once.",
        "reduce_masked": "The loss {losses} counts at the steps where the mask {mask} is one, not where it is zero.",
        "reduce_masked_more": "The losses {losses} count at the steps where the mask {mask} is one, not where it is "
                              "zero.",
        "reduce_assumed": "It is assumed that {equation}; where that is used, it is said.",
        "functions": "The model applies these functions:",
        "slope": "{output} has the derivative {slope}",
        "slope_output": "{output} has the derivative {slope}, written in the value {value}",
        "jacobian": "{output} has a Jacobian matrix whose transpose is {slope}",
        "jacobian_output": "{output} has a Jacobian matrix whose transpose is {slope}, written in the value {value}",
        "kink": "{smooth}; at {places}, where there is none, {convention} stands for it",
        "number": "Beside a vector, a number stands for the vector of that number; {ones} is the vector of ones.",
        "hadamard": "The sign in {example} multiplies entry by entry, and {diagonal} is the matrix with {vector} on "
                    "its diagonal.",
        "indicator": "{example} has a one where an entry of {argument} is positive, and zeros elsewhere.",
        "square": "{example} squares each entry of {argument}.",
        "rows": "{example} are the rows {first}, {dots}, {stop} of {matrix}; {turned} puts {vector} into these rows of "
                "a column of zeros.",
        "delta": "Kronecker's {example} is one at the last step and zero before it.",
        "variables": "The sizes and the variables are",
        "size": "{size}, a size",
        "size_described": "{size}, a size ({description})",
        "variable": "{space}, {role}",
        "steps_counted": "{steps}, the number of steps",
        "open_loss": "{loss}, a number for every step, differentiable; nothing else is assumed of it",
        "constant": "{constant}, a constant scalar",
        "constant_below": "{constant}, a constant scalar other than zero",
        "given": "Given are {values}.",
        "given_static": "Given too is {values}, which does not change with time.",
        "given_static_more": "Given too are {values}, which do not change with time.",
        "given_initial": "Before the first step {values} is given as well.",
        "given_initial_more": "Before the first step {values} are given as well.",
        "shapes": "A gradient has the shape of the variable that it belongs to.",
        "beyond": "Times beyond the last step do not exist: the gradient of {objective} with respect to a "
                  "variable there is zero, and so is every product that holds such a gradient.",
        "direct_notation": "A derivative with a plus is direct: it counts the losses that read the variable "
                           "themselves and nothing that happens later.",
        "prod": "The operator prod stands for the chain rule before it is evaluated: it multiplies a gradient by "
                "a derivative in the order and with the transposes that the shapes ask for.",
        "graph": "For {when} each variable is computed from others:",
        "computed": "{variable} from {sources}",
        "computed_alone": "{variable} from nothing",
        "graph_initial": "Before the first step:",
        "backwards": "Gradients are computed in the opposite order, the last step first.",
        "graph_unrolled": "With {steps}, step by step:",
        "derivation": "The gradient of {objective} with respect to a variable is a sum: each variable computed "
                      "directly from it adds one contribution, and so does each loss that reads it.",
        "in_case": "{case}, {why}",
        "at_last": "At the last step",
        "before_last": "Before the last step",
        "at": "For {when}",
        "direct_vanishes": "no loss reads {variable} itself:",
        "vanishes": "{objective} does not depend on {variable}, so its gradient vanishes:",
        "idle": "What {variable} contributes is zero here, as equation {equation} says.",
        "idle_steps": "What {variable} contributes is zero for {when}, as equation {equation} says.",
        "direct_case": "the loss {losses} reads {variable} itself. The direct part of its gradient is",
        "direct_case_more": "the losses {losses} read {variable} themselves. The direct part of its gradient is",
        "direct": "The loss {losses} reads {variable} itself, and {variable} is used again later. The direct part "
                  "of its gradient is",
        "direct_more": "The losses {losses} read {variable} themselves, and {variable} is used again later. The "
                       "direct part of its gradient is",
        "only_loss_named": "{objective} depends on {variable} only through {losses}. {how}",
        "only_loss": "{objective} depends on {variable} only through {losses}. So",
        "only_direct": "{objective} depends on {variable} only directly, see equation {direct}. So",
        "chain": "{objective} depends on {variable} through {consumers}. {how}",
        "chain_only": "{objective} depends on {variable} only through {consumers}. {how}",
        "chain_direct": "{objective} depends on {variable} through {consumers}, and directly as "
                        "equation {direct} says. {how}",
        "chain_initial": "{objective} depends on the given {variable} through {consumers}. {how}",
        "chain_only_initial": "{objective} depends on the given {variable} only through {consumers}. {how}",
        "chain_computed": "{objective} depends on {variable}, which equation {computed} computes, through {consumers}. "
                          "{how}",
        "chain_only_computed": "{objective} depends on {variable}, which equation {computed} computes, only through "
                               "{consumers}. {how}",
        "how": "The chain rule, with {rules} in equation {equations}, gives",
        "how_more": "The chain rule, with {rules} in equations {equations}, gives",
        "differentials": "the differential of {values}",
        "differentials_more": "the differentials of {values}",
        "how_plain": "The chain rule on equation {equations} gives",
        "how_plain_more": "The chain rule on equations {equations} gives",
        "written": "For {steps} the recursion runs from the last step to the first:",
        "written_with_letters": "For {steps} the recursion runs from the last step to the first; equation {equations} "
                                "below defines {values}:",
        "written_with_letters_more": "For {steps} the recursion runs from the last step to the first; equations "
                                     "{equations} below define {values}:",
        "written_none": "{steps} is too many steps to write out here; the equations of the other sections hold for "
                        "them as they stand.",
        "written_proved": "The closed form with every step written out is proved and printed by “{command}”.",
        "written_parameters": "For the parameters, the sum of equation {equations}, which is derived below, is",
        "written_parameters_more": "For the parameters, the sums of equations {equations}, which are derived below, "
                                   "are",
        "written_mixed": "For the parameters, equation {equations}, which is derived below, becomes",
        "written_mixed_more": "For the parameters, equations {equations}, which are derived below, become",
        "written_static": "For the static data, equation {equations}, which is derived below, becomes",
        "written_static_more": "For the static data, equations {equations}, which are derived below, become",
        "written_given": "With so few steps the gradients of these values are shorter than in general:",
        "written_letters": "In the letters that equations {letters} define below, each step written out is",
        "written_instances": "The gradient with respect to {values} is that of equation {equations}, as it stands.",
        "written_instances_more": "The gradients with respect to {values} are those of equations {equations}, in this "
                                  "order, as they stand.",
        "written_zero": "{objective} does not depend on {values}: the gradient there is zero.",
        "closed_none": "No gradient is read at a later step, so nothing recurs and there is nothing to unroll.",
        "letters": "The recursion of equation {recursion} is linear in the gradients of later steps. Its blocks "
                   "get letters.",
        "letters_more": "The recursion of equations {recursion} is linear in the gradients of later steps. Its "
                        "blocks get letters.",
        "letter": "The recursion of equation {recursion} is linear in the gradient of the next step. The factor gets a "
                  "letter:",
        "letters_blocks": "{stacked} holds the gradients that the recursion carries. In {transition} stands what "
                          "comes from the next step, in {drive} what the losses send.",
        "letters_within": "Within a step some of these gradients also receive from others at the same step; {within} "
                          "passes that on: it is {identity} plus what step {time} sends from one block to another.",
        "letters_select": "{picks}.",
        "letters_pick": "{selector} picks the block of {gradient}",
        "recursion_in_letters": "In these letters the recursion is",
        "recursion_in_letter": "In this letter the recursion is",
        "unrolled": "The recursion of equation {recursion} is a linear recurrence: it gives the gradient at one step "
                    "from the gradient one step later. Insert it for that later gradient, again and again, until "
                    "the last step is reached; the gradient beyond the last step is zero. What remains is a sum "
                    "over this step and all later ones:",
        "unrolled_letters": "It gives the gradients at one step from those one step later. Insert it for those, again "
                            "and again, until the last step is reached; gradients beyond the last step are zero. What "
                            "remains is a sum over this step and all later ones:",
        "word_counts": "Written out in full for {steps}, with one product of matrices for each path through the steps, "
                       "the number of terms would be {counts}. Blocks keep the formula short.",
        "word_counts_single": "Written out in full for {steps}, with one product of matrices for each path through the "
                              "steps, the number of terms would be {counts}. A letter keeps the formula short.",
        "product_order": "In the product the factors stand in the order of {index}, the one with the smallest "
                         "{index} on the left. A product without factors is {identity}. Transposed, the product has "
                         "the transposes of the factors in the reverse order.",
        "word_count": "{count} in {gradient}",
        "power_of_ten": "more than {number}",
        "remark_power": "The exponent {exponent} in equation {closed} grows with the distance between step {early} and "
                        "the later step {late}. Where the spectral radius of {base} is below one, its powers shrink to "
                        "zero, and what distant steps contribute vanishes; where it is above one, the powers grow "
                        "without bound, and what distant steps contribute may explode; where it is one, "
                        "these contributions may persist or grow, but no faster than a power of the distance.",
        "remark_product": "The product in equation {closed} has a factor {factor} for each step after step {early} up "
                          "to the later step {late}, so that their number grows with the distance. Where the norms of "
                          "the factors stay below a number less than one, what distant steps contribute vanishes; "
                          "elsewhere it may persist or grow.",
        "remark_long": "The product in equation {closed} has a factor for each step after step {early} up to the later "
                       "step {late}, so that their number grows with the distance. Where the norms of the factors stay "
                       "below a number less than one, what distant steps contribute vanishes; elsewhere it may persist "
                       "or grow.",
        "remark_gate": "Each factor holds {diagonal}: along it the gradient is passed on almost "
                       "unchanged where the entries of {gate} are near one.",
        "remark_parameters": "This concerns the contributions of distant steps alone, and through them the gradient "
                             "{values}.",
        "remark_parameters_more": "This concerns the contributions of distant steps alone, and through them the "
                                  "gradients {values}.",
        "bound": "The norm of the matrix that carries the gradient at step {last} back to step {early} is at most the "
                 "product of the norms of its factors, in every operator norm (Pascanu, Mikolov and Bengio 2013):",
        "one_word": "Only the last step has a loss: what losses send before it is zero, and of the sum in equation "
                    "{closed} one term is left:",
        "reversed": "Counted from the last step backwards, the same sum is",
        "selected": "The gradients of the variables are the blocks of {stacked}:",
        "proof": "Equation {closed} holds for every number of steps. The proof goes downwards in time, with the "
                 "recursion of equation {recursion} in the form that holds at every step because gradients beyond "
                 "the last one are zero.",
        "proof_more": "Equation {closed} holds for every number of steps. The proof goes downwards in time, with "
                      "the recursion of equations {recursion} in the form that holds at every step because "
                      "gradients beyond the last one are zero.",
        "proof_at_last": "Equation {closed} holds for every number of steps. The proof goes downwards in time, with "
                         "the recursion of equations {recursion} in the form that holds at every step: gradients "
                         "beyond the last one are zero, and so is, before the last one, what a loss at the last "
                         "step sends.",
        "base": "Base. One step beyond the last, both sides of the statement about {left} are zero:",
        "hypothesis": "Hypothesis. One step later the statement holds:",
        "step": "Step. Then it holds here:",
        "proved": "This is equation {closed}, which was to be proved.",
        "assumed": "If {equation}, equation {equations} becomes",
        "assumed_more": "If {equation}, equations {equations} become",
        "static": "The static data are not learned; their gradients say how {objective} responds to them.",
        "gradient": "{objective} depends on {parameter} through {consumers}. {how}",
        "gradient_zero": "Nothing that {objective} counts is computed from {parameter}. So",
        "inserted": "With the closed form {closed} put in, this is",
        "expanded": "Expanded down to the losses, this is",
        "ends": "With everything put in, the gradients of equation {equations} become",
        "ends_more": "With everything put in, the gradients of equations {equations} become",
        "stored": "Each of these gradients is computed once, stored, and read again:",
        "used": "{gradient} in equation {equations}",
        "used_more": "{gradient} in equations {equations}",
        "needed": "These values have to be kept, because gradients need them:",
        "needs": "{members} in equation {equations}",
        "needs_more": "{members} in equations {equations}",
        "reason": "equation {equations}",
        "reason_more": "equations {equations}",
        "more_lines": "{number} more lines",
        "span": "{first} to {last}",
        "rests": "Equation {equations} is a theorem: a small kernel has replayed its proof. It rests on",
        "rests_more": "Equations {equations} are theorems: a small kernel has replayed the proof of each. They "
                      "rest on",
        "rests_recursions": "the recursion of equation {equations}",
        "rests_recursions_more": "the recursions of equations {equations}",
        "rests_parameters": "the sum over the steps in equation {equations}",
        "rests_parameters_more": "the sums over the steps in equations {equations}",
        "rests_letters": "the letter that equation {equations} defines",
        "rests_letters_more": "the letters that equations {equations} define",
        "rests_changes": "the change that equation {equations} states",
        "rests_changes_more": "the changes that equations {equations} state",
        "rests_randomised": "the randomised recursion of equation {equations}",
        "rests_randomised_more": "the randomised recursions of equations {equations}",
        "rests_law": "{law}",
        "rests_hypotheses": "the range of the time: {bounds}",
        "rests_beyond": "the convention that sums over empty ranges and gradients beyond the last step are zero",
        "rests_assumption": "the assumption {equation}, for equation {equations}",
        "rests_assumption_more": "the assumption {equation}, for equations {equations}",
        "rests_directions": "directions of rank one in equation {equations}, {directions}, which span all others",
        "rests_functions": "the derivatives of {values}, as {section} lists them",
        "rests_loss": "a differentiable loss {loss}, of which nothing else is assumed",
        **words_accumulation.ENGLISH,
        **words_coq.ENGLISH,
    },
    phrases=phrases.ENGLISH,
)

LANGUAGES: dict[str, Language] = {"en": ENGLISH}
"""The languages by their codes; all have the same keys."""
