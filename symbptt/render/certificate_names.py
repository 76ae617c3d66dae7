"""The names of a certificate: those of the model where Coq leaves them free, injective, and never a word of Coq."""

from __future__ import annotations

import re
from collections.abc import Iterable

from symbptt.proof.grammar import EXTENSION, EXTENSIONS, RESERVED
from symbptt.proof.vernacular import NEVER

__all__ = ["EXTENSIONS", "KEYWORDS", "Names", "offset_tangent", "past_tangent", "tangent"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _words("""
    Axiom Check CoFixpoint Definition End Export Fixpoint Goal Import Lemma Let Ltac Module Notation Parameter Print
    Proof Prop Qed Record SProp Section Set SsrSyntax_is_Imported Theorem Type Variable Variables apply as at by
    case cofix congr do done elim else end exact exists exists2 first fix for forall fun have if in is last let
    lib match mod move of over pattern pose return rewrite set simpl split suff then try under unlock using where
    with wlog
""")
"""The words of the language, of its tactics and of the plugins that mathcomp loads."""

OURS = _words("""
    Adjoint Backward Certificate Closed Formal Forward Given None O Point R Real S Some State T Tangents Ts Tt
    addE adjoint adjoint_sums at_one before beta bool cbv change cot dir env eq false fol formal_gradient given gradient
    i1 iT last leak_above along column cot1 cot2 cot3 row
    lag leak_below lifted moved nat once pair past point pt push real_reciprocal reals rec
    reciprocal recursion run s some st state step_of t t1 tT tangents true unit
    close_pairings constant_scalar erefl etrans generalize hide_terms intros pairring refine ring vanish
""")
"""The names that the text of a certificate uses itself."""

BOUND = "k"
"""A name that the text binds in definitions, so that variables are called otherwise; indices of sums may be."""

LIBRARY = _words("""
    Dual Type0 add add0r addn addr0 all andb at_lag behead big block_mx cat col_mx comRingType comp const_mx
    cst curve det dg diag_mx diagv dotm du dual expR exponent ext filter finset fixed foldl foldr fst hadm has
    head id index inl inr inv iota is_true iter le leq lift lift0 line ln lt map map_mx matrix mdu mlift mre
    msc mul mul1r mulmx muln mulr1 mxpow mxtrace natmul negb nth one oner opp orb ord0 path perm poly pred
    prod pull re realType reflect rev ringType row_mx scalar_mx scale scaled sel set0 setT size snd subn succ
    sum tangent tr trmx tt zero
""")
"""The names of the libraries that a certificate's text or scripts may read."""

LEMMAS = _words("""
    False_ind add_both addrA all_times andP at_lag0 at_lag1 at_lagS0 at_lagSS at_lag_map balance closed_constant
    closed_constant_rev closed_sum closed_sum_rev closed_varying closed_varying_rev col_mx0 congr1 conj dotmDl dotmNl
    dotm_suml eq_big_nat eqxx esym isT last_term leqW leq_trans leqnn ltn0Sn ltnW ltn_eqF ltn_ind mul0mx mulfV
    mulmx0 mulmxA mulmxDr mulr0n mulr_sumr nat_of_bool notF oppr0 pnatr_eq0 proj1 proj2 pullB pullD pullM
    pullN pullP scaler0 shift_sum sum_add sum_apart sum_apart_and sum_at_last sum_eq sum_opp sum_window
    tangent_line trmx0 unpush
""")
"""The lemmas that its scripts cite, but for pull_…, which `MADE` keeps free."""


MADE = re.compile(r"((rec_|end_)?[eg]|past|run|pull)_")
"""How names begin that are made from those of families or are lemmas of the library: what a model calls so is called
otherwise.
"""

GIVEN = ("variable", "scalar", "loss")
"""The kinds of things that a model names itself."""


class Names:
    """A name for each thing, by a key; the first to ask gets the name that it wants, later ones one with primes."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*KEYWORDS, *NEVER, *OURS, *LIBRARY, *LEMMAS, *RESERVED, *taken}
        self._given: dict[tuple[str, ...], str] = {}

    def __call__(self, *key: str, wanted: str) -> str:
        """The name of `key`: `wanted`, with as many primes as keep it apart from all others."""
        if key not in self._given:
            name = f"{wanted}'" if key[0] in GIVEN and MADE.match(wanted) else wanted
            while name in self._taken or EXTENSION.fullmatch(name) or (name == BOUND and key[0] != "index"):
                name += "'"
            self._taken.add(name)
            self._given[key] = name
        return self._given[key]

    def __contains__(self, key: tuple[str, ...]) -> bool:
        return key in self._given


def tangent(names: Names, name: str) -> str:
    """The name of the tangent of a variable."""
    return names("tangent", name, wanted=f"d_{name}")


def past_tangent(names: Names, name: str) -> str:
    """The name of the tangents before the first step."""
    return names("past tangent", name, wanted=f"d_{name}_past")


def offset_tangent(names: Names, name: str) -> str:
    """The name of what a direction adds to a family at each step."""
    return names("offset tangent", name, wanted=f"d_off_{name}")
