"""Sentences of documents by language: on what Coq accepted."""

from __future__ import annotations

ENGLISH: dict[str, str] = {
    "coq_accepted": "When this document was made, Coq, a proof checker that knows nothing of this program, accepted "
                    "the certificate of the model with {theorems} in it. The checker calls itself “{version}”.",
    "coq_one_theorem": "one theorem",
    "coq_theorems": "{number} theorems",
    "coq_compared": "Before Coq was asked, the statement was read back from the certificate and compared with the "
                    "model, in exact arithmetic at random points.",
    "coq_again": "The first command writes the certificate, compares it with the model and has it checked, the second "
                 "has the file checked as it stands, and the third takes its SHA-256 digest, which must be the one "
                 "below:",
    "coq_quoted": "The rest of this section is quoted from the certificate word by word. In it {adjoint} is the "
                  "derivative of {objective} with respect to a variable v at time t, {direct} what the losses send to "
                  "it directly, {gradient} the gradient of v. The theorems speak of what stands here, of mathcomp and "
                  "of the library that comes with this program; the variables and hypotheses of a section are the "
                  "premises of its theorems:",
    "coq_theorem": "The theorem {name} of the section {section} rests on no axiom:",
    "coq_theorem_axioms": "The theorem {name} of the section {section}:",
    "coq_rests": "It rests on this axiom:",
    "coq_rests_more": "It rests on these axioms:",
    "coq_axiom": "{axiom}",
}
"""By key."""
