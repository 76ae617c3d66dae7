"""Sentences of documents by language: on direct and total derivatives, and on truncation."""

from __future__ import annotations

ENGLISH: dict[str, str] = {
    "two_derivatives": "There are two derivatives of a variable with respect to a parameter, and they are often mixed "
                       "up. The direct one counts the use of the parameter in the equation of that variable alone: "
                       "everything else that the equation reads is held fixed. The total one counts also what "
                       "the parameter has changed before.",
    "where_direct": "In {chain}, and in every gradient of a parameter in this document, the derivative of {variable} "
                    "with respect to {parameter} is the direct one: {values} is held fixed.",
    "where_direct_more": "In {chain}, and in every gradient of a parameter in this document, the derivative of "
                         "{variable} with respect to {parameter} is the direct one: {values} are held fixed.",
    "not_lost": "The earlier uses of {parameter} are not lost, since each step adds its own use, multiplied by its own "
                "{gradient}. With the total derivative in the place of the direct one, every path from an early use "
                "to a loss would be counted again at each later step through which it leads.",
    "same_pair": "{direct} and {total} are the same pair for the gradients: the direct one, {own}, counts the losses "
                 "that read {variable} themselves; the total one, {whole}, counts also what happens later.",
    "directions": "Let the parameters change along directions, here {values}, each in the shape of what it changes.",
    "directions_static": "Let the parameters, and with them the static data, change along directions, here {values}, "
                         "each in the shape of what it changes.",
    "no_tensor": "The derivative of a vector with respect to a matrix would be a tensor with three indices; along a "
                 "direction it is a vector. For one parameter alone, set all other directions to zero.",
    "immediate": "The direct change of a variable, with a plus as in {direct}, comes of the use of the parameters at "
                 "this step alone:",
    "no_parameter": "Where no parameter stands in the equation of a variable, the direct change is zero, here "
                    "{values}.",
    "not_reached": "Where no parameter reaches a variable, even the total change is zero, here {values}.",
    "tangent": "The total change, without a plus as in {total}, adds to this what the changes of the "
               "variables that the equation reads bring about. To compute it step by step is forward accumulation; "
               "for recurrent networks this is known as real-time recurrent learning (Williams and Zipser 1989):",
    "start_given": "What is given before the first step does not depend on the parameters:",
    "start_computed": "What is computed before the first step changes with the parameters that it is computed from:",
    "start_mixed": "Before the first step, what is given does not depend on the parameters, and what is computed "
                   "changes with the parameters that it is computed from:",
    "forward_same": "The same factors come back transposed: forward accumulation multiplies by the transposes of the "
                    "factors that the backward sum, equation {closed}, has.",
    "forward_same_letter": "The same factors come back transposed: {letter} equals the factor {factor} of the backward "
                           "sum, equation {closed}.",
    "forward_same_parts": "Forward accumulation multiplies by the Jacobian matrices whose transposes stand in the "
                          "backward sum, equation {closed}.",
    "forward_same_blocks": "Forward accumulation multiplies by the Jacobian matrices whose transposes stand in the "
                           "backward sum, equation {closed}; the blocks are arranged otherwise, for here they carry "
                           "changes to the values that later steps read, there gradients to those of earlier ones.",
    "forward_letters": "The changes that later steps read obey a linear recurrence. Its blocks get letters.",
    "forward_blocks": "{stacked} holds the changes at one step that later steps read. The transpose of {transition} "
                      "carries those of the step before over to it, and {drive} holds what the direct changes at this "
                      "step add.",
    "forward_letter": "The changes that later steps read obey a linear recurrence. The transpose of its matrix gets a "
                      "letter:",
    "forward": "Insert the recursion into itself, again and again, until the first step is reached. What remains is a "
               "sum over this step and all earlier ones, with the direct changes at each of them:",
    "forward_start": "Insert the recursion into itself, again and again, until the first step is reached. What remains "
                     "is a sum over this step and all earlier ones, with the direct changes at each of them, and what "
                     "comes of the change before the first step:",
    "forward_proof": "Equation {equations} is proved by induction upwards in time: before the first step the sum is "
                     "empty, and each step of the recursion puts one more factor before the sum and adds one more "
                     "summand.",
    "pairing": "Both directions of accumulation give the same change of {objective}. Forward accumulation multiplies "
               "what the losses pass on directly by the total changes of the variables that they read; backward "
               "accumulation multiplies the total gradients by the direct changes:",
    "pairing_start": "A change before the first step counts as a direct one.",
    "pairing_once": "The regulariser {losses} reads parameters themselves. It adds the same to both sides and is left "
                    "out here, and so is its part of the gradients.",
    "pairing_once_more": "The regularisers {losses} read parameters themselves. They add the same to both sides and "
                         "are left out here, and so is their part of the gradients.",
    "read_off": "If {direction} alone is not zero, the right side is the sum of the products of the entries of "
                "{gradient} with those of {direction}. Since this holds for every direction, both accumulations give "
                "the same gradient.",
    "all_read_off": "In this way the right side yields {values}.",
    "along": "With the gradients put in, the change of {objective} is",
    "along_rank_one": "With the gradients put in, the change of {objective} along directions of rank one, {equations}, "
                      "is",
    "spanned": "That settles every direction: both sides of equation {equations} are linear in all directions "
               "together, any of which may be zero, and every matrix is a sum of matrices of rank one, one for each of "
               "its columns. In general the right side is the sum of the products of the entries of each "
               "gradient with those of its direction.",
    "along_missing": "That the gradients are the derivative of {objective} in every direction is no theorem here: the "
                     "prover does not find its proof, as happens where elementwise products of matrices stand within "
                     "one another with a matrix product between them.",
    "cost": "The price differs. Forward accumulation needs no memory of earlier steps, but a sweep for each direction, "
            "that is, for each entry of each parameter, or a tensor that holds all of them at once. Backward "
            "accumulation gives all gradients of {objective} in one sweep, and keeps the values of all steps for it.",
    "window": "Truncated back-propagation cuts the paths that lead far back (Williams and Peng 1990): of each loss it "
              "keeps the {number} most recent uses of the weights, and no earlier ones.",
    "window_of_one": "Truncated back-propagation cuts the paths that lead far back (Williams and Peng 1990): of each "
                     "loss it keeps the most recent use of the weights, and no earlier one.",
    "window_elsewhere": "Here {number} counts uses. Elsewhere a truncation is often said to go back {number} steps "
                        "and keeps {more} uses, because the copy of the weights {number} steps before the loss is "
                        "kept too.",
    "window_elsewhere_one": "Here {number} counts uses. Elsewhere a truncation is often said to go back {number} step "
                            "and keeps {more} uses, because the copy of the weights {number} step before the loss is "
                            "kept too.",
    "split": "The sum of equation {closed} for {variable} splits into what is kept, the first sum, and the remainder, "
             "which is left out:",
    "split_end": "Gradients beyond the last step are zero, so that a sum that would reach past {last} stops there; "
                 "where {start} is past the last step, nothing is left out.",
    "exact": "The remainder is no estimate: it is exactly what truncation loses.",
    "split_parameters": "With this, the gradient of each parameter is what truncated back-propagation computes and a "
                        "remainder, the part with the inner sums that begin at {start}:",
    "split_static": "The gradients of the static data split in the same way:",
    "split_inside": "In equation {equations} both parts stand within one sum, in brackets: the inner sum that ends at "
                    "{kept} is kept, the one that begins at {start} is left out.",
    "split_inside_more": "In equations {equations} both parts stand within one sum, in brackets: the inner sum that "
                         "ends at {kept} is kept, the one that begins at {start} is left out.",
    "loses_nothing": "The recursion does not enter {values}, which loses nothing.",
    "loses_nothing_more": "The recursion does not enter {values}, which lose nothing.",
    "early_uses": "Uses before the first step are not among those counted here: what they contribute to {values} is "
                  "not cut.",
    "regulariser_whole": "The part of the regulariser {losses} is kept in full.",
    "regulariser_whole_more": "The part of the regularisers {losses} is kept in full.",
    "chunks": "Long sequences are often cut into chunks instead. The state is carried from each chunk into the next, "
              "so that all values are those of the whole sequence; the gradient stops at the end of the chunk, "
              "although the state does not.",
    "chunk": "For a chunk that ends at step {end}, what is kept and what is left out are",
    "chunk_rest": "The second sum arrives through the state that is carried past step {end}; within the chunk nothing "
                  "is lost.",
    "randomised": "Both truncations are biased towards what is near. A truncation at random need not be (Tallec and "
                  "Ollivier 2017): it multiplies what arrives from the next step by a random factor {factor}, drawn "
                  "independently for each step.",
    "randomised_line": "The randomised gradient {sampled} is, with zero beyond the last step,",
    "factors": "Let {average} be the mean of every factor. Only factors after {factor} enter {later}, and they are "
               "independent of it: the mean of the product is the product of the means.",
    "mean_line": "Hence {average}, with",
    "randomised_closed": "As before, {sampled} unrolls into a sum:",
    "unbiased": "If {equation}, that is, {average}, the mean obeys the recursion of the exact gradient, and both are "
                "equal:",
    "no_bias": "So {average}: the randomised gradient is unbiased, and with {sampled} in the place of {exact} so are "
               "the gradients of the parameters, which are linear in it.",
    "choice": "A typical choice is {cut}, which cuts the path, with probability {probability}, and otherwise the "
              "factor {kept}, with probability {other}.",
}
"""By key."""
