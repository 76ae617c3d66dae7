"""The words of printed proofs, beside those of the documents."""

from __future__ import annotations

ENGLISH: dict[str, str] = {
    "proofs_title": "Proofs about the model {model}",
    "proofs_opening": "A small kernel has just replayed every step of the proofs below, {steps} in all, and {theorems} "
                      "followed. What is proved on the way stands as a lemma before the first theorem that cites it. "
                      "A row of a chain is equal to the one above it for the reasons beside it; associativity, which "
                      "no notation shows, is not mentioned.",
    "proofs_none": "Nothing recurs in this model: every gradient is a single step, and there is nothing to prove.",
    "proofs_theorem_count": "one theorem",
    "proofs_theorem_count_more": "{number} theorems",
    "proofs_given": "Given",
    "proofs_given_steps": "Given for {steps}",
    "proofs_definitions": "These equations define what the theorems speak of. A recursion, with its times beside it, "
                          "holds at these times; at later ones what it defines is zero.",
    "proofs_theorem": "Theorem {label}, {what}",
    "proofs_lemma": "Lemma {label}",
    "proofs_where": "For {bounds}:",
    "proofs_if": "If {equations}:",
    "proofs_where_if": "For {bounds}, if {equations}:",
    "proofs_order": "This is proved as {larger}.",
    "proofs_straight": "Proof.",
    "proofs_blocks": "Proof, block by block.",
    "proofs_alike": "Step by step for the same reasons, the kernel replayed {number}.",
    "proofs_block_count": "one more block",
    "proofs_block_count_more": "{number} more blocks",
    "proofs_down": "Proof by induction downwards from {start}. There:",
    "proofs_up": "Proof by induction upwards from {start}. There:",
    "proofs_supposed_down": "Suppose that the statement holds one step later:",
    "proofs_supposed_up": "Suppose that the statement holds one step earlier:",
    "proofs_step": "Then:",
    "proofs_inside": "Proof in two cases. Where {bound}:",
    "proofs_outside": "Where {bound}:",
    "proofs_same": "Both sides of {equation} are the same.",
    "proofs_assumption": "assumption",
    "proofs_replayed": "The kernel replayed {steps}.",
    "proofs_step_count": "one step",
    "proofs_step_count_more": "{number} steps",
    "proofs_rests": "The theorem rests on {values}.",
    "proofs_rests_nothing": "The theorem rests on nothing.",
    "proofs_equation": "the definition of equation {labels}",
    "proofs_equation_more": "the definitions of equations {labels}",
    "proofs_laws": "this law: {laws}",
    "proofs_laws_more": "these laws: {laws}",
    "proofs_assumed": "the assumption {equations}",
    "proofs_assumed_more": "the assumptions {equations}",
    "proofs_derivatives": "That the changes in it are derivatives rests, beside this, on {values}.",
    "proofs_assumed_derivatives": "What is assumed of the functions and losses",
    "proofs_taken": "No theorem proves these derivatives. With them the recursions are those of the derivative of L; "
                      "a theorem that needs them says so.",
    "assumed_source": "{said} ({source})",
    "assumed_kink": "{source}; at {places}, where there is none, {convention} by convention",
    "assumed_loss": "{loss} is differentiable, and its gradient is {gradients}",
    "assumed_loss_more": "{loss} is differentiable, and its gradients are {gradients}",
    "assumed_functions": "the derivative of {values}",
    "assumed_functions_more": "the derivatives of {values}",
    "assumed_losses": "the gradient of {values}",
    "assumed_losses_more": "the gradients of {values}",
    "proofs_basis": "What the theorems rest on",
    "proofs_basis_laws": "These laws are axioms or rules of the kernel; beside each stands where it is found.",
    "proofs_law": "{name}: {law} ({source})",
    "proofs_rule": "{name}: {law} (a rule of the kernel)",
}
"""Sentences and titles; those of one thing and, with _more, of several."""

KINDS: dict[str, str] = {
    "closed": "the closed form",
    "reversed": "the closed form, read from the other end",
    "at_last": "the closed form, when the last step alone has a loss",
    "total": "a gradient in closed form",
    "written": "the closed form written out",
    "forward": "the forward recursion solved",
    "pairing": "backward and forward accumulation agree",
    "assumed": "what a loss sends",
    "truncated": "truncated back-propagation",
    "chunk": "truncated back-propagation in chunks",
    "randomised_closed": "randomised truncation",
    "bound": "a bound of the gradient flow",
    "directions": "the gradients are the derivative of L in every direction",
    "unbiased": "randomised truncation is unbiased",
}
"""What theorems are called, by the first word of their keys; others by the key itself."""
