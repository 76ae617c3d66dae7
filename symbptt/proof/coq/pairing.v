(* Summation by parts over time: what turns the equations of the single steps into the gradient theorem.
   Everything is about scalars, so that one lemma serves every cell. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From symbptt Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Histories: k |-> the value k steps back                                                                           *)

(* the history one step later *)
Definition push (V : Type) (now : V) (past : nat -> V) (k : nat) : V := if k is k'.+1 then past k' else now.
(* a family f whose histories s are built by push is read k steps back by at_lag *)
Lemma at_lag_push (V : Type) (s : nat -> nat -> V) (f past : nat -> V) :
  (forall k, s 0%N k = past k) -> (forall t, s t.+1 = push (f t.+1) (s t)) -> f 0%N = past 0%N ->
  forall t k, s t k = at_lag f past k t.
Proof.
by move=> s0 sS f0; elim=> [|t IH] [|k]; rewrite ?s0 ?sS //=.
Qed.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Sums over 1 <= t <= T                                                                                             *)
Section Sums.
Variables (V : zmodType) (T : nat).
Implicit Types p q : nat -> V.

(* an equation that holds at every time may be summed *)
Lemma sum_eq p q : (forall t, (1 <= t <= T)%N -> p t = q t) -> \sum_(1 <= t < T.+1) p t = \sum_(1 <= t < T.+1) q t.
Proof. by move=> pq; rewrite !big_nat; apply: eq_bigr => t /pq. Qed.
Lemma sum_add p q : \sum_(1 <= t < T.+1) (p t + q t) = \sum_(1 <= t < T.+1) p t + \sum_(1 <= t < T.+1) q t.
Proof. exact: big_split. Qed.
Lemma sum_opp p : \sum_(1 <= t < T.+1) (- p t) = - \sum_(1 <= t < T.+1) p t.
Proof. exact: sumrN. Qed.
Lemma sum_zero : \sum_(1 <= t < T.+1) (0 : V) = 0.
Proof. exact: big1_eq. Qed.

(* the first k terms: p 1 + … + p k by computation *)
Fixpoint first k p : V := if k is k'.+1 then if k' is 0 then p 1%N else first k' p + p k else 0.
Lemma sum_first k p : \sum_(1 <= s < k.+1) p s = first k p.
Proof.
elim: k => [|k IH]; first by rewrite big_geq.
by rewrite big_nat_recr // IH; case: k {IH} => [|k] //=; rewrite add0r.
Qed.

(* what lies k steps ahead: the sum over s is the sum over t = s - k and the first k terms.
   For a numeral k, k + t is t.+1, t.+2, … and first k p is p 1, p 1 + p 2, … by computation. *)
Lemma shift_sum k p : (forall s, (T < s)%N -> p s = 0) ->
  \sum_(1 <= s < T.+1) p s = \sum_(1 <= t < T.+1) p (k + t)%N + first k p.
Proof.
move=> p0; rewrite -sum_first; have -> : \sum_(1 <= s < T.+1) p s = \sum_(1 <= s < (k + T).+1) p s.
  rewrite [RHS](big_cat_nat _ (n := T.+1)) //= ?ltnS ?leq_addl //.
  by rewrite [X in _ + X]big_nat [X in _ + X]big1 ?addr0 // => s /andP[/p0].
rewrite (big_cat_nat _ (n := k.+1)) //= ?ltnS ?leq_addr // addrC; congr (_ + _).
rewrite -[k.+1]/(1 + k)%N big_addn -addnS addKn.
by apply: eq_bigr => t _; rewrite addnC.
Qed.
(* the last term alone *)
Lemma sum_at_last p : (0 < T)%N -> (forall t, (t < T)%N -> p t = 0) -> \sum_(1 <= t < T.+1) p t = p T.
Proof.
move=> T0 p0; rewrite big_nat_recr //= big_nat big1 ?add0r // => t /andP[_ tT]; exact: p0.
Qed.
End Sums.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Linear combination of equations                                                                                   *)
Section Balance.
Variable V : zmodType.
Implicit Types x y a b c d : V.
Lemma addE a b c d : a = b -> c = d -> a + c = b + d. Proof. by move=> -> ->. Qed.
(* to prove x = y, add the equation a = b *)
Lemma balance x y a b : a = b -> x + a = y + b -> x = y.
Proof. by move=> -> /addIr. Qed.
End Balance.

(* one way to write the structures of the ring: terms that differ by their path to a structure become equal *)
Ltac same_structures :=
  try match goal with |- context [GRing.ComRing.zmodType ?X] =>
    change (GRing.ComRing.zmodType X) with (GRing.Ring.zmodType (GRing.ComRing.ringType X)) end;
  try match goal with |- context [GRing.Zmodule.sort (GRing.Ring.zmodType ?X)] =>
    change (GRing.Zmodule.sort (GRing.Ring.zmodType X)) with (GRing.Ring.sort X) end;
  try match goal with |- context [GRing.ComRing.sort ?X] =>
    change (GRing.ComRing.sort X) with (GRing.Ring.sort (GRing.ComRing.ringType X)) end.
(* replace sums and pairings by variables, so that ring sees small terms *)
Ltac abstract_terms := same_structures; repeat match goal with
  | |- context [@BigOp.bigop ?V ?I ?i ?r ?F] => let x := fresh "sum" in set x := (@BigOp.bigop V I i r F); clearbody x
  | |- context [@dotm ?R ?m ?n ?A ?B] => let x := fresh "pair" in set x := (@dotm R m n A B); clearbody x
  end.
(* telescope H: the goal is a linear consequence of H with factor one (addE joins equations) *)
Ltac telescope H := apply: (balance H); abstract_terms; ring.
