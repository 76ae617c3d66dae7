(* The steps that every certificate takes in the same way. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From symbptt Require Import matrices normal pairing.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* sums over time and pairings as variables, so that ring sees small terms *)
Ltac hide_terms := repeat match goal with
  | |- context [@BigOp.bigop ?V ?I ?i ?r ?F] => let v := fresh "v" in set v := (@BigOp.bigop V I i r F); clearbody v
  | |- context [@dotm ?R ?m ?n ?A ?B] => let v := fresh "v" in set v := (@dotm R m n A B); clearbody v
  end.
(* << A + B - C, X >> + … = << A, X >> + …: the pairings of the summands *)
Ltac split_pairings :=
  rewrite ?(dotmDl, dotmNl, dotm0l); first [by [] | by hide_terms; ring | pairring].
(* an expression with a factor 0 is 0 *)
Ltac vanish :=
  rewrite ?(mulmx0, mul0mx, trmx0, scaler0, hadm0l, hadm0r, oppr0, dg0, msc0r, add0r, addr0, dotm0l);
  first [by [] | pairring].
(* both sides of an equation as a first term and a sum of the others, with nothing changed inside of a term *)
Section First.
Variable V : zmodType.
Implicit Types a b c d : V.
Lemma others_left a b c d : a + (b + c) = d -> a + b + c = d.
Proof. by rewrite addrA. Qed.
Lemma others_right a b c d : d = a + (b + c) -> d = a + b + c.
Proof. by rewrite addrA. Qed.
End First.
Ltac first_and_others := repeat lazymatch goal with
  | |- _ + _ + _ = _ => refine (others_left _)
  | |- _ = _ + _ + _ => refine (others_right _)
  end.
(* sums over time, term by term, on the left of what comes once; shown shows the terms *)
Ltac sums_of_pairings shown :=
  match goal with
  | |- ?a + ?b = ?c + ?d => apply: addE; [sums_of_pairings shown | split_pairings]
  | |- _ => apply: sum_eq => t _; shown; split_pairings
  end.
Ltac sum_of_pairings shown := first [sums_of_pairings shown | first_and_others; sums_of_pairings shown].
(* a scalar over the dual numbers that does not move *)
Ltac constant_scalar :=
  first [reflexivity | rewrite ?(rmorphB, rmorphD, rmorphM, rmorphN, rmorphX, rmorph1, rmorph_nat); reflexivity].
(* the scalars of a normal form as variables *)
Ltac hide_scalars := repeat match goal with
  | |- context [@sval ?R ?szs ?env ?s] => generalize (@sval R szs env s); intro
  end.
(* two sums of pairings that are equal by equations between scalars, which the tactic knows *)
Ltac close_pairings tac :=
  first [ pairring_strict | pairring_left; coefficients ltac:(hide_scalars; tac)
        | pairring_left_columns; coefficients ltac:(hide_scalars; tac)
        | rewrite ?hadmA; first [ pairring_strict | pairring_left; coefficients ltac:(hide_scalars; tac) ] ].
(* the same by facts q%:R * x = 1 and a * x = 1, H or (H, H', …) *)
Ltac cancel_written H := first
  [ pairring_strict | pairring_loose | pairring_left; cancel_inverses H | pairring_left_loose; cancel_inverses H
  | pairring_left_columns; cancel_inverses H ].
(* an equation between matrices by such facts *)
Ltac cancel_matrices H := intros;
  first [ mxring_strict | mxring_loose | mxring_left; cancel_inverses H | mxring_left_loose; cancel_inverses H ].
Ltac cancel_pairings H := first [ cancel_written H | rewrite ?hadmA; cancel_written H ].
(* an equation to which nothing is added *)
Lemma unpush (V : zmodType) (a b c : V) : a = b + c -> c = 0 -> a = b.
Proof. by move=> -> ->; rewrite addr0. Qed.
(* the entry of the 1 x 1 matrix of a number *)
Lemma const_mx00 (R : ringType) (a : R) : (const_mx a : 'M[R]_1) 0 0 = a.
Proof. by rewrite mxE. Qed.
(* a rule of a loss at the cotangent 1 *)
Lemma at_one (R : ringType) (a : R) : (const_mx 1 : 'M[R]_1) 0 0 * a = a.
Proof. by rewrite mxE mul1r. Qed.
