(* Derivatives of real functions, and one lemma a row of the rule table. A curve of shape m n is a function
   R -> 'M[R]_(m, n) of the parameter s of a straight line through the point, which is at s = 0; its tangent is the
   matrix of the derivatives of its entries at 0.
     pull F A P : the curve F passes through A at 0, its entries are differentiable there, and <a, tangent F> = P a
                  for every a.
   The functions tanh, sigmoid, … are defined on the reals and their derivatives are proved.
   The statements have the names and the order of arguments of formal.v; hypotheses of this level come last. *)
(* INTERFACE, hypotheses of this level, after the pull and the value:
   - pull_map FP (forall i j, is_derive (A i j) 1 phi (dphi (A i j)));
     pull_relu, pull_abs, pull_step, pull_sign: forall i j, A i j != 0;
     pull_leaky_relu: forall i j, A i j != 0, then a = 100%:R^-1, then b = 1 - a;
     pull_hard_tanh: forall i j, A i j != 1, then forall i j, A i j != - 1.
   - pull_opaque l dl y FP (is_grad (fun o => l o y) A (dl A y));
     pull_opaque2 l dl1 dl2 FP GQ (is_grad2 l A B (dl1 A B) (dl2 A B));
     pull_opaqueK_J … FPK (is_gradK (fun o1 … oK => l o1 … oK y1 … yJ) A1 … AK (dl1 …) … (dlK …)).
   - pull_loss : pull (fun s => const_mx (c s)) A P -> is_derive (0 : R) (1 : R) c (P (const_mx 1)). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets functions mathcomp_extra.
From mathcomp.analysis Require Import reals topology normedtype sequences derive realfun exp trigo.
From mathcomp.algebra_tactics Require Import ring.
From symbptt Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Derivatives of real functions                                                                                     *)
Section Derivatives.
Variable R : realType.
Implicit Types (s z d : R) (f g : R -> R).

Lemma is_derive_ext s f g d d' : is_derive s (1 : R) f d -> f =1 g -> d = d' -> is_derive s (1 : R) g d'.
Proof. by move=> fd /funext <- <-. Qed.
Lemma is_der_id s : is_derive s (1 : R) (fun s => s) (1 : R).
Proof. exact: is_derive_id. Qed.
Lemma is_der_cst s k : is_derive s (1 : R) (fun=> k : R) (0 : R).
Proof. exact: is_derive_cst. Qed.
Lemma is_derD s f g d d' : is_derive s (1 : R) f d -> is_derive s (1 : R) g d' ->
  is_derive s (1 : R) (fun s => f s + g s) (d + d').
Proof. exact: is_deriveD. Qed.
Lemma is_derN s f d : is_derive s (1 : R) f d -> is_derive s (1 : R) (fun s => - f s) (- d).
Proof. exact: is_deriveN. Qed.
Lemma is_derB s f g d d' : is_derive s (1 : R) f d -> is_derive s (1 : R) g d' ->
  is_derive s (1 : R) (fun s => f s - g s) (d - d').
Proof. exact: is_deriveB. Qed.
Lemma is_derM s f g d d' : is_derive s (1 : R) f d -> is_derive s (1 : R) g d' ->
  is_derive s (1 : R) (fun s => f s * g s) (d * g s + f s * d').
Proof.
move=> fd gd; apply: (is_derive_ext (is_deriveM fd gd)) => //.
by rewrite addrC /GRing.scale /= [g s * _]mulrC.
Qed.
Lemma is_derV s f d : f s != 0 -> is_derive s (1 : R) f d -> is_derive s (1 : R) (fun s => (f s)^-1) (- d / (f s) ^+ 2).
Proof.
move=> fn0 fd; apply: (is_derive_ext (is_deriveV fn0 fd)) => //.
by rewrite /GRing.scale /= !mulNr mulrC.
Qed.
Lemma is_der_comp s f g d d' : is_derive (g s) (1 : R) f d -> is_derive s (1 : R) g d' ->
  is_derive s (1 : R) (fun s => f (g s)) (d * d').
Proof. exact: is_derive1_comp. Qed.
Lemma is_der_big s (I : Type) (r : seq I) (f : I -> R -> R) (d : I -> R) :
  (forall i, is_derive s (1 : R) (f i) (d i)) ->
  is_derive s (1 : R) (fun s => \sum_(i <- r) f i s) (\sum_(i <- r) d i).
Proof.
move=> H; elim: r => [|i r IH].
  by apply: (is_derive_ext (is_der_cst s 0)) => [t|]; rewrite big_nil.
by apply: (is_derive_ext (is_derD (H i) IH)) => [t|]; rewrite big_cons.
Qed.
End Derivatives.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Functions defined by cases                                                                                        *)
Section Cases.
Variable R : realType.
Implicit Types (s z d : R) (f g : R -> R).

(* f is g near s *)
Lemma is_der_near s f g d : (\forall y \near s, f y = g y) -> is_derive s (1 : R) g d -> is_derive s (1 : R) f d.
Proof.
move=> fg /is_derive1_caratheodory[h [hE hc hs]]; have fgs := nbhs_singleton fg.
apply/is_derive1_caratheodory; exists (fun z => if z == s then d else (f z - f s) / (z - s)); split=> [z||].
- by case: eqP => [->|/eqP zs]; rewrite ?subrr ?mulr0 // divfK // subr_eq0.
- rewrite /prop_for /= eqxx => A Ad.
  have A1 : nbhs s (fun z => A (h z)) by apply: hc; rewrite hs.
  apply: filterS2 A1 fg => z /= hz fz; case: eqP => [_|/eqP zs]; first exact: nbhs_singleton.
  by rewrite fgs fz hE mulfK // subr_eq0.
- by rewrite eqxx.
Qed.
(* f is g1 on the right of s and g2 on its left *)
Lemma is_der_glue s f g1 g2 d : (forall y, s <= y -> f y = g1 y) -> (forall y, y <= s -> f y = g2 y) ->
  is_derive s (1 : R) g1 d -> is_derive s (1 : R) g2 d -> is_derive s (1 : R) f d.
Proof.
move=> fg1 fg2 /is_derive1_caratheodory[h1 [h1E h1c h1s]] /is_derive1_caratheodory[h2 [h2E h2c h2s]].
apply/is_derive1_caratheodory; exists (fun z => if s <= z then h1 z else h2 z); split=> [z||]; last by rewrite lexx.
  case: (leP s z) => sz; first by rewrite !fg1 // h1E.
  by rewrite !fg2 ?h2E // ltW.
rewrite /prop_for /= lexx => A; rewrite h1s => Ad.
have A1 : nbhs s (fun z => A (h1 z)) by apply: h1c; rewrite h1s.
have A2 : nbhs s (fun z => A (h2 z)) by apply: h2c; rewrite h2s.
by apply: filterS2 A1 A2 => z /= hz1 hz2; case: ifP.
Qed.
Lemma is_der_gt c s f g d : c < s -> (forall y, c < y -> f y = g y) ->
  is_derive s (1 : R) g d -> is_derive s (1 : R) f d.
Proof.
move=> cs fg; apply: is_der_near; apply: filterS fg _.
by apply: open_nbhs_nbhs; split=> //; exact: open_gt.
Qed.
Lemma is_der_lt c s f g d : s < c -> (forall y, y < c -> f y = g y) ->
  is_derive s (1 : R) g d -> is_derive s (1 : R) f d.
Proof.
move=> sc fg; apply: is_der_near; apply: filterS fg _.
by apply: open_nbhs_nbhs; split=> //; exact: open_lt.
Qed.
Lemma is_der_between b c s f g d : b < s -> s < c -> (forall y, b < y -> y < c -> f y = g y) ->
  is_derive s (1 : R) g d -> is_derive s (1 : R) f d.
Proof.
move=> bs sc fg; apply: is_der_near; apply: filterS2 fg _ _.
  by apply: open_nbhs_nbhs; split=> //; exact: open_gt.
by apply: open_nbhs_nbhs; split=> //; exact: open_lt.
Qed.
End Cases.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* The functions of a cell, their derivatives in the form of the rule table                                          *)
Section Functions.
Variable R : realType.
Implicit Type z : R.

Definition exp z : R := expR z.
Definition sin z : R := trigo.sin z.
Definition cos z : R := trigo.cos z.
Definition tanh z : R := (expR z - expR (- z)) / (expR z + expR (- z)).
Definition sigmoid z : R := (1 + expR (- z))^-1.
Definition softplus z : R := ln (1 + expR z).
Definition square z : R := z ^+ 2.
Definition abs z : R := `|z|.
Definition sign z : R := Num.sg z.
Definition step z : R := if 0 < z then 1 else 0.
Definition relu z : R := if 0 < z then z else 0.
Definition leaky_relu z : R := if 0 < z then z else 100%:R^-1 * z.
Definition elu z : R := if 0 < z then z else expR z - 1.
Definition silu z : R := z * sigmoid z.
Definition softsign z : R := z / (1 + `|z|).
Definition hard_tanh z : R := if z < - 1 then - 1 else if 1 < z then 1 else z.
Definition softmax n (z : 'cV[R]_n) : 'cV[R]_n := \col_i (expR (z i 0) / \sum_j expR (z j 0)).
Definition log_softmax n (z : 'cV[R]_n) : 'cV[R]_n := \col_i (z i 0 - ln (\sum_j expR (z j 0))).

Lemma is_der_exp z : is_derive z (1 : R) exp (exp z).
Proof. exact: is_derive_expR. Qed.
Lemma is_der_sin z : is_derive z (1 : R) sin (cos z).
Proof. exact: is_derive_sin. Qed.
Lemma is_der_cos z : is_derive z (1 : R) cos (- sin z).
Proof. exact: is_derive_cos. Qed.
Lemma is_der_expN z : is_derive z (1 : R) (fun z => expR (- z)) (- expR (- z)).
Proof.
by apply: (is_derive_ext (is_der_comp (is_derive_expR (- z)) (is_derN (is_der_id z)))) => //; rewrite mulrN1.
Qed.
Lemma is_der_tanh z : is_derive z (1 : R) tanh (1 - tanh z * tanh z).
Proof.
have dn0 : expR z + expR (- z) != 0 by rewrite lt0r_neq0 // addr_gt0 // expR_gt0.
have dN := is_derB (is_derive_expR z) (is_der_expN z).
have dD := is_derD (is_derive_expR z) (is_der_expN z).
apply: (is_derive_ext (is_derM dN (is_derV (f := fun z => expR z + expR (- z)) dn0 dD))) => //.
by rewrite /tanh; field.
Qed.
Lemma is_der_sigmoid z : is_derive z (1 : R) sigmoid (sigmoid z * (1 - sigmoid z)).
Proof.
have dn0 : 1 + expR (- z) != 0 by rewrite lt0r_neq0 // addr_gt0 ?ltr01 ?expR_gt0.
apply: (is_derive_ext (is_derV (f := fun z => 1 + expR (- z)) dn0 (is_derD (is_der_cst z 1) (is_der_expN z)))) => //.
by rewrite /sigmoid; field.
Qed.
Lemma is_der_softplus z : is_derive z (1 : R) softplus (sigmoid z).
Proof.
have p0 : 0 < 1 + expR z by rewrite addr_gt0 ?ltr01 ?expR_gt0.
have e0 := lt0r_neq0 (expR_gt0 z); have n0 := lt0r_neq0 p0.
apply: (is_derive_ext (is_der_comp (g := fun z => 1 + expR z) (is_derive1_ln p0) (is_derD (is_der_cst z 1)
    (is_derive_expR z)))) => //.
by rewrite /sigmoid expRN; field; rewrite e0 addrC.
Qed.
Lemma is_der_square z : is_derive z (1 : R) square (2%:R * z).
Proof.
by apply: (is_derive_ext (is_derM (is_der_id z) (is_der_id z))) => [s|]; rewrite ?expr2 //; ring.
Qed.
Lemma is_der_abs z : z != 0 -> is_derive z (1 : R) abs (sign z).
Proof.
rewrite neq_lt => /orP[z0|z0].
  rewrite /sign ltr0_sg //; apply: (is_der_lt z0) (is_derN (is_der_id z)) => y y0.
  by rewrite /abs ltr0_norm.
rewrite /sign gtr0_sg //; apply: (is_der_gt z0) (is_der_id z) => y y0.
by rewrite /abs gtr0_norm.
Qed.
Lemma is_der_sign z : z != 0 -> is_derive z (1 : R) sign 0.
Proof.
rewrite neq_lt => /orP[z0|z0].
  by apply: (is_der_lt z0) (is_der_cst z (- 1)) => y y0; rewrite /sign ltr0_sg.
by apply: (is_der_gt z0) (is_der_cst z 1) => y y0; rewrite /sign gtr0_sg.
Qed.
Lemma step_gt z : 0 < z -> step z = 1. Proof. by rewrite /step => ->. Qed.
Lemma step_le z : z <= 0 -> step z = 0. Proof. by rewrite /step leNgt => /negPf ->. Qed.
Lemma relu_gt z : 0 < z -> relu z = z. Proof. by rewrite /relu => ->. Qed.
Lemma relu_le z : z <= 0 -> relu z = 0. Proof. by rewrite /relu leNgt => /negPf ->. Qed.
Lemma is_der_step z : z != 0 -> is_derive z (1 : R) step 0.
Proof.
rewrite neq_lt => /orP[z0|z0].
  by apply: (is_der_lt z0) (is_der_cst z 0) => y /ltW /step_le.
by apply: (is_der_gt z0) (is_der_cst z 1) => y /step_gt.
Qed.
Lemma is_der_relu z : z != 0 -> is_derive z (1 : R) relu (step (relu z)).
Proof.
rewrite neq_lt => /orP[z0|z0].
  rewrite relu_le ?ltW // step_le //.
  by apply: (is_der_lt z0) (is_der_cst z 0) => y /ltW /relu_le.
by rewrite relu_gt // step_gt //; apply: (is_der_gt z0) (is_der_id z) => y /relu_gt.
Qed.
Lemma is_der_leaky_relu a b z : a = 100%:R^-1 -> b = 1 - a -> z != 0 ->
  is_derive z (1 : R) leaky_relu (a + b * step z).
Proof.
move=> aE ->; rewrite neq_lt => /orP[z0|z0].
  rewrite step_le ?ltW // mulr0 addr0.
  apply: (is_der_lt z0 (g := fun z => a * z)) => [y y0|].
    by rewrite /leaky_relu ltNge ltW //= aE.
  by apply: (is_derive_ext (is_derM (is_der_cst z a) (is_der_id z))) => //; ring.
rewrite step_gt // mulr1 addrCA subrr addr0.
by apply: (is_der_gt z0) (is_der_id z) => y y0; rewrite /leaky_relu y0.
Qed.
Lemma is_der_elu z : is_derive z (1 : R) elu (exp (- relu (- z))).
Proof.
have lE y : y <= 0 -> elu y = expR y - 1 by rewrite /elu leNgt => /negPf ->.
have gE y : 0 < y -> elu y = y by rewrite /elu => ->.
have dl y : is_derive y (1 : R) (fun y => expR y - 1) (expR y).
  by apply: (is_derive_ext (is_derB (is_derive_expR y) (is_der_cst y 1))) => //; rewrite subr0.
rewrite /exp; case: (ltrgt0P z) => [z0|z0|->].
- rewrite relu_le ?oppr_le0 ?ltW // oppr0 expR0.
  by apply: (is_der_gt z0) (is_der_id z) => y /gE.
- rewrite relu_gt ?oppr_gt0 // opprK.
  by apply: (is_der_lt z0) (dl z) => y /ltW /lE.
- rewrite relu_le oppr0 // expR0; apply: (@is_der_glue _ _ _ (fun y => y) (fun y => expR y - 1)) => [y|y y0|].
  + by rewrite le_eqVlt => /orP[/eqP<-|/gE//]; rewrite lE // expR0 subrr.
  + exact: lE.
  + by have := dl 0; rewrite expR0.
Qed.
Lemma is_der_silu z : is_derive z (1 : R) silu (sigmoid z + silu z * (1 - sigmoid z)).
Proof.
by apply: (is_derive_ext (is_derM (is_der_id z) (is_der_sigmoid z))) => //; rewrite /silu; ring.
Qed.
Lemma is_der_softsign z : is_derive z (1 : R) softsign (square (1 - sign z * softsign z)).
Proof.
have gE y : 0 <= y -> softsign y = y / (1 + y) by move=> y0; rewrite /softsign ger0_norm.
have lE y : y <= 0 -> softsign y = y / (1 - y) by move=> y0; rewrite /softsign ler0_norm.
have gd y : 0 <= y -> is_derive y (1 : R) (fun y => y / (1 + y)) ((1 + y) ^- 2).
  move=> y0; have n0 : 1 + y != 0 by rewrite lt0r_neq0 // ltr_paddr.
  apply: (is_derive_ext (is_derM (is_der_id y)
    (is_derV (f := fun y => 1 + y) n0 (is_derD (is_der_cst y 1) (is_der_id y))))) => //.
  by field.
have ld y : y <= 0 -> is_derive y (1 : R) (fun y => y / (1 - y)) ((1 - y) ^- 2).
  move=> y0; have n0 : 1 - y != 0 by rewrite lt0r_neq0 // subr_gt0 (le_lt_trans y0).
  apply: (is_derive_ext (is_derM (is_der_id y)
    (is_derV (f := fun y => 1 - y) n0 (is_derB (is_der_cst y 1) (is_der_id y))))) => //.
  by field.
rewrite /square /sign; case: (ltrgt0P z) => [z0|z0|->].
- have n0 : 1 + z != 0 by rewrite lt0r_neq0 // addr_gt0 ?ltr01.
  rewrite gtr0_sg // gE ?ltW //.
  have -> : (1 - 1 * (z / (1 + z))) ^+ 2 = (1 + z) ^- 2 by field.
  by apply: (is_der_gt z0) (gd z (ltW z0)) => y /ltW /gE.
- have n0 : 1 - z != 0 by rewrite lt0r_neq0 // subr_gt0 (lt_trans z0) ?ltr01.
  rewrite ltr0_sg // lE ?ltW //.
  have -> : (1 - (- 1) * (z / (1 - z))) ^+ 2 = (1 - z) ^- 2 by field.
  by apply: (is_der_lt z0) (ld z (ltW z0)) => y /ltW /lE.
- rewrite sgr0 mul0r subr0 expr1n; apply: (is_der_glue gE lE).
    by have := gd 0 (lexx 0); rewrite addr0 expr1n invr1.
  by have := ld 0 (lexx 0); rewrite subr0 expr1n invr1.
Qed.
Lemma is_der_hard_tanh z : z != 1 -> z != - 1 -> is_derive z (1 : R) hard_tanh (step (z + 1) * step (1 - z)).
Proof.
have N11 : - 1 < 1 :> R by rewrite (lt_trans (y := 0)) ?oppr_lt0 ?ltr01.
rewrite !neq_lt => /orP[z1|z1] /orP[zN|zN].
- rewrite step_le ?mul0r; last by rewrite -ler_subr_addr sub0r ltW.
  by apply: (is_der_lt zN) (is_der_cst z (- 1)) => y yN; rewrite /hard_tanh yN.
- rewrite !step_gt ?mulr1 ?subr_gt0 //; last by rewrite -ltr_subl_addr sub0r.
  apply: (is_der_between zN z1) (is_der_id z) => y yN y1.
  by rewrite /hard_tanh [y < _]ltNge [_ < y]ltNge !ltW.
- by have := lt_trans z1 (lt_trans zN N11); rewrite ltxx.
- rewrite [X in _ * X]step_le ?mulr0; last by rewrite subr_le0 ltW.
  apply: (is_der_gt z1) (is_der_cst z 1) => y y1.
  by rewrite /hard_tanh [y < _]ltNge (ltW (lt_trans N11 y1)) y1.
Qed.
End Functions.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Curves                                                                                                            *)
Section Curves.
Variable R : realType.
Local Notation curve m n := (R -> 'M[R]_(m, n)).

(* F has the velocity V at 0, entry by entry *)
Definition mxder m n (F : curve m n) (V : 'M[R]_(m, n)) :=
  forall i j, is_derive (0 : R) (1 : R) (fun s => F s i j : R) (V i j).
(* the straight line A + s V *)
Definition line m n (A V : 'M[R]_(m, n)) : curve m n := fun s => A + s *: V.
Definition fixed m n (A : 'M[R]_(m, n)) : curve m n := fun=> A.
Definition tangent m n (F : curve m n) : 'M[R]_(m, n) := \matrix_(i, j) 'D_1 (fun s => F s i j : R) (0 : R).
Definition pull m n (F : curve m n) (A : 'M[R]_(m, n)) (P : 'M[R]_(m, n) -> R) : Prop :=
  [/\ F 0 = A, mxder F (tangent F) & forall a, << a, tangent F >> = P a].
Definition scaled (k : R) m n (F : curve m n) : curve m n := fun s => k *: F s.

Lemma tangentE m n (F : curve m n) V : mxder F V -> tangent F = V.
Proof. by move=> FV; apply/matrixP => i j; rewrite mxE; have := FV i j => fd; rewrite derive_val. Qed.
Lemma mxder_eq m n (F G : curve m n) V W : mxder G W -> (forall s, F s = G s) -> V = W -> mxder F V.
Proof. by move=> GW /funext -> ->. Qed.

Lemma pull_intro m n (F : curve m n) A V P :
  F 0 = A -> mxder F V -> (forall a, << a, V >> = P a) -> pull F A P.
Proof. by move=> FA FV; have <- := tangentE FV; split=> //; rewrite (tangentE FV). Qed.

(* the derivative of the result in direction a *)
Lemma pullP m n (F : curve m n) A P : pull F A P -> forall a, << a, tangent F >> = P a.
Proof. by case. Qed.
Lemma pull_value m n (F : curve m n) A P : pull F A P -> F 0 = A.
Proof. by case. Qed.
Lemma pull_tangent m n (F : curve m n) A P : pull F A P -> pull F A (fun a => << a, tangent F >>).
Proof. by case. Qed.
Lemma pull_eq m n (F G : curve m n) A P : (forall s, F s = G s) -> pull G A P -> pull F A P.
Proof. by move=> /funext ->. Qed.
Lemma pull_at m n (F : curve m n) A A' P : A = A' -> pull F A P -> pull F A' P.
Proof. by move->. Qed.
Lemma pull_same m n (F : curve m n) A P Q : pull F A P -> (forall a, P a = Q a) -> pull F A Q.
Proof. by case=> FA Fd FP PQ; split=> // a; rewrite FP. Qed.

Lemma pull_line m n (A V : 'M[R]_(m, n)) : pull (line A V) A (fun a => << a, V >>).
Proof.
apply: (@pull_intro _ _ _ _ V) => // [|i j]; first by rewrite /line scale0r addr0.
apply: (is_derive_ext (is_derD (is_der_cst 0 (A i j)) (is_derM (is_der_id 0) (is_der_cst 0 (V i j))))).
  by move=> s; rewrite !mxE.
by rewrite mulr0 addr0 add0r mul1r.
Qed.
Lemma tangent_line m n (A V : 'M[R]_(m, n)) : tangent (line A V) = V.
Proof. by apply: dotm_inj => C; rewrite ![<< _, C >>]dotmC; apply: (pullP (pull_line A V)). Qed.
Lemma pull_cst m n (A : 'M[R]_(m, n)) : pull (fixed A) A (fun=> 0).
Proof.
apply: (@pull_intro _ _ _ _ 0) => // [i j|a]; last exact: dotm0r.
by rewrite mxE; exact: is_der_cst.
Qed.
Lemma pull_0 m n : pull (fun=> 0 : 'M[R]_(m, n)) 0 (fun=> 0).
Proof. exact: pull_cst. Qed.
Lemma pull_ones m n : pull (fun=> const_mx 1 : 'M[R]_(m, n)) (const_mx 1) (fun=> 0).
Proof. exact: pull_cst. Qed.
Lemma pull_1 n : pull (fun=> 1%:M : 'M[R]_n) 1%:M (fun=> 0).
Proof. exact: pull_cst. Qed.
Lemma pull_sel N n off : pull (fun=> sel N n off : 'M[R]_(N, n)) (sel N n off) (fun=> 0).
Proof. exact: pull_cst. Qed.

Lemma pullD m n (F G : curve m n) A B P Q :
  pull F A P -> pull G B Q -> pull (fun s => F s + G s) (A + B) (fun a => P a + Q a).
Proof.
move=> [<- Fd FP] [<- Gd GQ]; apply: (@pull_intro _ _ _ _ (tangent F + tangent G)) => // [i j|a].
  apply: (is_derive_ext (is_derD (Fd i j) (Gd i j))) => [s|]; last by rewrite [RHS]mxE.
  by rewrite mxE.
by rewrite dotmDr FP GQ.
Qed.
(* to a curve something is added along the line that is 0 at the point *)
Lemma pull_push m n (F G : curve m n) A B V P :
  (forall s, G s = F s + line B V s) -> pull F A P -> B = 0 -> pull G A (fun a => P a + << a, V >>).
Proof. by move=> GF FP B0; apply: pull_eq GF (pull_at _ (pullD FP (pull_line B V))); rewrite B0 addr0. Qed.
Lemma pullN m n (F : curve m n) A P : pull F A P -> pull (fun s => - F s) (- A) (fun a => - P a).
Proof.
move=> [<- Fd FP]; apply: (@pull_intro _ _ _ _ (- tangent F)) => // [i j|a]; last by rewrite dotmNr FP.
by apply: (is_derive_ext (is_derN (Fd i j))) => [s|]; rewrite [RHS]mxE.
Qed.
Lemma pullB m n (F G : curve m n) A B P Q :
  pull F A P -> pull G B Q -> pull (fun s => F s - G s) (A - B) (fun a => P a - Q a).
Proof. by move=> FP GQ; apply: pullD FP (pullN GQ). Qed.
Lemma pullM m n p (F : curve m n) (G : curve n p) A B P Q :
  pull F A P -> pull G B Q -> pull (fun s => F s *m G s) (A *m B) (fun a => P (a *m B^T) + Q (A^T *m a)).
Proof.
move=> [<- Fd FP] [<- Gd GQ]; apply: (@pull_intro _ _ _ _ (tangent F *m G 0 + F 0 *m tangent G)) => // [i j|a].
  apply: (is_derive_ext (@is_der_big R 0 _ (index_enum _) _ _ (fun k => is_derM (Fd i k) (Gd k j)))) => [s|].
    by rewrite mxE.
  by rewrite big_split [RHS]mxE; congr (_ + _); rewrite [RHS]mxE.
by rewrite dotmDr adj_mulr adj_mull FP GQ.
Qed.
Lemma pull_scale k m n (F : curve m n) A P :
  pull F A P -> pull (scaled k F) (k *: A) (fun a => P (k *: a)).
Proof.
move=> [<- Fd FP]; apply: (@pull_intro _ _ _ _ (k *: tangent F)) => // [i j|a].
  apply: (is_derive_ext (is_derM (is_der_cst 0 k) (Fd i j))) => [s|]; first by rewrite mxE.
  by rewrite mul0r add0r [RHS]mxE.
by rewrite -FP dotmZr dotmZl.
Qed.
Lemma pull_scale_eq (c : R -> R) k m n (F : curve m n) A P :
  (forall s, c s = k) -> pull F A P -> pull (fun s => c s *: F s) (k *: A) (fun a => P (k *: a)).
Proof. by move=> cE /(pull_scale k); apply: pull_eq => s; rewrite cE. Qed.
Lemma pull_tr m n (F : curve m n) A P : pull F A P -> pull (fun s => (F s)^T) A^T (fun a => P a^T).
Proof.
move=> [<- Fd FP]; apply: (@pull_intro _ _ _ _ (tangent F)^T) => // [i j|a]; last by rewrite adj_tr FP.
by apply: (is_derive_ext (Fd j i)) => [s|]; rewrite [RHS]mxE.
Qed.
Lemma pull_had m n (F G : curve m n) A B P Q : pull F A P -> pull G B Q ->
  pull (fun s => hadm (F s) (G s)) (hadm A B) (fun a => P (hadm B a) + Q (hadm A a)).
Proof.
move=> [<- Fd FP] [<- Gd GQ].
apply: (@pull_intro _ _ _ _ (hadm (G 0) (tangent F) + hadm (F 0) (tangent G))) => // [i j|a].
  apply: (is_derive_ext (is_derM (Fd i j) (Gd i j))) => [s|]; first by rewrite mxE.
  by rewrite mulrC [RHS]mxE; congr (_ + _); rewrite [RHS]mxE.
by rewrite dotmDr !adj_had FP GQ.
Qed.
Lemma pull_dg n (F : curve n 1) A P : pull F A P -> pull (fun s => dg (F s)) (dg A) (fun a => P (diagv a)).
Proof.
move=> [<- Fd FP]; apply: (@pull_intro _ _ _ _ (dg (tangent F))) => // [i j|a]; last by rewrite adj_dg FP.
case ij: (i == j).
  by apply: (is_derive_ext (Fd i 0)) => [s|]; rewrite dgE ij mulr1n.
by apply: (is_derive_ext (is_der_cst 0 0)) => [s|]; rewrite dgE ij mulr0n.
Qed.
Lemma pull_diagv n (F : curve n n) A P : pull F A P -> pull (fun s => diagv (F s)) (diagv A) (fun a => P (dg a)).
Proof.
move=> [<- Fd FP]; apply: (@pull_intro _ _ _ _ (diagv (tangent F))) => // [i j|a].
  by apply: (is_derive_ext (Fd i i)) => [s|]; rewrite [RHS]mxE.
by rewrite -FP dotmC -adj_dg dotmC.
Qed.
Lemma pull_msc m n (S : curve 1 1) (F : curve m n) B A Q P : pull S B Q -> pull F A P ->
  pull (fun s => msc (S s) (F s)) (msc B A) (fun a => Q (const_mx << a, A >>) + P (B 0 0 *: a)).
Proof.
move=> [<- Sd SQ] [<- Fd FP].
apply: (@pull_intro _ _ _ _ (msc (tangent S) (F 0) + msc (S 0) (tangent F))) => // [i j|a].
  apply: (is_derive_ext (is_derM (Sd 0 0) (Fd i j))) => [s|]; first by rewrite mxE.
  by rewrite [RHS]mxE; congr (_ + _); rewrite [RHS]mxE.
by rewrite dotmDr adj_msc_l adj_msc_r SQ FP.
Qed.
Lemma pull_sum m n a b (F : nat -> curve m n) A P :
  (forall t, (a <= t < b)%N -> pull (F t) (A t) (P t)) ->
  pull (fun s => \sum_(a <= t < b) F t s) (\sum_(a <= t < b) A t) (fun c => \sum_(a <= t < b) P t c).
Proof.
move=> FP.
pose G t := if (a <= t < b)%N then F t else fixed 0.
pose V t := if (a <= t < b)%N then tangent (F t) else 0.
have GV t : mxder (G t) (V t).
  case ab: (a <= t < b)%N; rewrite /G /V ab; first by case: (FP t ab).
  by move=> i j; apply: (is_derive_ext (is_der_cst 0 0)) => [s|]; rewrite mxE.
apply: (@pull_intro _ _ _ _ (\sum_(a <= t < b) V t)) => [|i j|c].
- by rewrite !big_nat; apply: eq_bigr => t /FP[].
- apply: (is_derive_ext (@is_der_big R 0 _ (index_iota a b) _ _ (fun t => GV t i j))) => [s|].
    by rewrite summxE !big_nat; apply: eq_bigr => t ab; rewrite /G ab.
  by rewrite summxE.
- by rewrite dotm_sumr !big_nat; apply: eq_bigr => t ab; rewrite /V ab; case: (FP t ab).
Qed.

(* the value k steps back *)
Lemma pull_at_lag m n (F past : nat -> curve m n)
  (A pastA V pastV : nat -> 'M[R]_(m, n)) k t : (0 < k)%N ->
  (forall s, (s < t)%N -> pull (F s) (A s) (fun a => << a, V s >>)) ->
  (forall j, pull (past j) (pastA j) (fun a => << a, pastV j >>)) ->
  pull (fun s => at_lag (fun t => F t s) (fun j => past j s) k t) (at_lag A pastA k t) (fun a => << a, at_lag V pastV
      k t >>).
Proof.
move=> k0 FP pastP; case: (leqP k t) => kt.
  rewrite (at_lagE _ _ kt) (at_lagE V _ kt).
  apply: (pull_eq (G := F (t - k)%N)) => [s|]; first by rewrite at_lagE.
  by apply: FP; rewrite ltn_subrL k0 (leq_trans k0).
rewrite (at_lag_past _ _ kt) (at_lag_past V _ kt).
by apply: (pull_eq (G := past (k - t)%N)) => [s|]; first by rewrite at_lag_past.
Qed.

(* scalars, as 1 x 1 curves *)
Lemma pull_cD (c d : R -> R) A B P Q : pull (fun s => const_mx (c s)) A P -> pull (fun s => const_mx (d s)) B Q ->
  pull (fun s => const_mx (c s + d s) : 'M_1) (A + B) (fun a => P a + Q a).
Proof. by move=> cP dQ; apply: pull_eq (pullD cP dQ) => s; apply/matrixP => i j; rewrite !mxE. Qed.
Lemma pull_cZ k (c : R -> R) A P : pull (fun s => const_mx (c s)) A P ->
  pull (fun s => const_mx (k * c s) : 'M_1) (k *: A) (fun a => P (k *: a)).
Proof. by move=> cP; apply: pull_eq (pull_scale k cP) => s; apply/matrixP => i j; rewrite !mxE. Qed.
Lemma pull_cZ_eq (e : R -> R) k (c : R -> R) A P : (forall s, e s = k) -> pull (fun s => const_mx (c s)) A P ->
  pull (fun s => const_mx (e s * c s) : 'M_1) (k *: A) (fun a => P (k *: a)).
Proof. by move=> eE /(pull_cZ k); apply: pull_eq => s; rewrite eE. Qed.
Lemma pull_csum a b (c : nat -> R -> R) A P :
  (forall t, (a <= t < b)%N -> pull (fun s => const_mx (c t s)) (A t) (P t)) ->
  pull (fun s => const_mx (\sum_(a <= t < b) c t s) : 'M_1) (\sum_(a <= t < b) A t) (fun d => \sum_(a <= t < b) P t d).
Proof.
move=> cP; apply: pull_eq (pull_sum cP) => s; apply/matrixP => i j; rewrite mxE summxE.
by apply: eq_bigr => t _; rewrite mxE.
Qed.
Lemma pull_entry (S : curve 1 1) A P : pull S A P -> pull (fun s => const_mx (S s 0 0) : 'M_1) A P.
Proof. by apply: pull_eq => s; apply/matrixP => i j; rewrite !mxE !ord1. Qed.
(* the derivative of a scalar *)
Lemma pull_loss (c : R -> R) A P : pull (fun s => const_mx (c s) : 'M_1) A P -> is_derive (0 : R) (1 : R) c (P
    (const_mx 1)).
Proof.
move=> [_ cd <-]; apply: (is_derive_ext (cd 0 0)) => [s|]; first by rewrite mxE.
by rewrite dotm11 [in RHS]mxE mul1r.
Qed.
(* the same, with the loss and its derivative in the form wanted *)
Lemma pull_gradient (c f : R -> R) A P D : pull (fun s => const_mx (c s) : 'M_1) A P -> (forall s, f s = c s) ->
  P (const_mx 1) = D -> is_derive (0 : R) (1 : R) f D.
Proof. by move=> /pull_loss cP /funext -> <-. Qed.
Lemma pull_loss_entry (S : curve 1 1) A P : pull S A P -> is_derive (0 : R) (1 : R) (fun s => S s 0 0) (P (const_mx 1)).
Proof. by move=> /pull_entry /pull_loss. Qed.

(* a function entry by entry *)
Lemma pull_map (phi dphi : R -> R) m n (F : curve m n) A P : pull F A P ->
  (forall i j, is_derive (A i j) (1 : R) phi (dphi (A i j))) ->
  pull (fun s => map_mx phi (F s)) (map_mx phi A) (fun a => P (hadm (map_mx dphi A) a)).
Proof.
move=> [<- Fd FP] phid; apply: (@pull_intro _ _ _ _ (hadm (map_mx dphi (F 0)) (tangent F))) => // [i j|a].
  apply: (is_derive_ext (is_der_comp (phid i j) (Fd i j))) => [s|]; first by rewrite mxE.
  by rewrite [RHS]mxE; congr (_ * _); rewrite [RHS]mxE.
by rewrite adj_had FP.
Qed.
(* the same with the slope D written in another form *)
Lemma pull_slope (phi dphi : R -> R) m n (F : curve m n) A P Y D :
  pull F A P -> Y = map_mx phi A -> map_mx dphi A = D ->
  (forall i j, is_derive (A i j) (1 : R) phi (dphi (A i j))) ->
  pull (fun s => map_mx phi (F s)) Y (fun a => P (hadm D a)).
Proof. by move=> FP -> <-; apply: pull_map. Qed.

Section Functions.
Variables (m n : nat) (F : curve m n) (A : 'M[R]_(m, n)) (P : 'M[R]_(m, n) -> R) (Y : 'M[R]_(m, n)).
Hypothesis FP : pull F A P.
Local Ltac slope d H := let YE := fresh "YE" in intro YE; apply: (pull_slope FP YE (dphi := d) _ H); rewrite ?YE;
  let i := fresh "i" in let j := fresh "j" in apply/matrixP => i j; rewrite !mxE ?mulr1.

Lemma pull_tanh : Y = map_mx (@tanh R) A ->
  pull (fun s => map_mx (@tanh R) (F s)) Y (fun a => P (hadm (const_mx 1 - hadm Y Y) a)).
Proof. by slope (fun z : R => 1 - tanh z * tanh z) (fun i j => is_der_tanh (A i j)). Qed.
Lemma pull_sigmoid : Y = map_mx (@sigmoid R) A ->
  pull (fun s => map_mx (@sigmoid R) (F s)) Y (fun a => P (hadm (hadm Y (const_mx 1 - Y)) a)).
Proof. by slope (fun z : R => sigmoid z * (1 - sigmoid z)) (fun i j => is_der_sigmoid (A i j)). Qed.
Lemma pull_relu : Y = map_mx (@relu R) A -> (forall i j, A i j != 0) ->
  pull (fun s => map_mx (@relu R) (F s)) Y (fun a => P (hadm (map_mx (@step R) Y) a)).
Proof. by move=> YE A0; move: YE; slope (fun z : R => step (relu z)) (fun i j => is_der_relu (A0 i j)). Qed.
Lemma pull_softplus : Y = map_mx (@softplus R) A ->
  pull (fun s => map_mx (@softplus R) (F s)) Y (fun a => P (hadm (map_mx (@sigmoid R) A) a)).
Proof. by slope (@sigmoid R) (fun i j => is_der_softplus (A i j)). Qed.
Lemma pull_exp : Y = map_mx (@exp R) A -> pull (fun s => map_mx (@exp R) (F s)) Y (fun a => P (hadm Y a)).
Proof. by slope (@exp R) (fun i j => is_der_exp (A i j)). Qed.
Lemma pull_sin : Y = map_mx (@sin R) A ->
  pull (fun s => map_mx (@sin R) (F s)) Y (fun a => P (hadm (map_mx (@cos R) A) a)).
Proof. by slope (@cos R) (fun i j => is_der_sin (A i j)). Qed.
Lemma pull_cos : Y = map_mx (@cos R) A ->
  pull (fun s => map_mx (@cos R) (F s)) Y (fun a => P (hadm (- map_mx (@sin R) A) a)).
Proof. by slope (fun z : R => - sin z) (fun i j => is_der_cos (A i j)). Qed.
Lemma pull_square : Y = map_mx (@square R) A ->
  pull (fun s => map_mx (@square R) (F s)) Y (fun a => P (hadm (2%:R *: A) a)).
Proof. by slope (fun z : R => 2%:R * z) (fun i j => is_der_square (A i j)). Qed.
Lemma pull_abs : Y = map_mx (@abs R) A -> (forall i j, A i j != 0) ->
  pull (fun s => map_mx (@abs R) (F s)) Y (fun a => P (hadm (map_mx (@sign R) A) a)).
Proof. by move=> YE A0; move: YE; slope (@sign R) (fun i j => is_der_abs (A0 i j)). Qed.
Lemma pull_leaky_relu a b : Y = map_mx (@leaky_relu R) A -> (forall i j, A i j != 0) -> a = 100%:R^-1 -> b = 1 - a ->
  pull (fun s => map_mx (@leaky_relu R) (F s)) Y (fun c => P (hadm (a *: const_mx 1 + b *: map_mx (@step R) A) c)).
Proof.
move=> YE A0 aE bE; move: YE.
by slope (fun z : R => a + b * step z) (fun i j => is_der_leaky_relu aE bE (A0 i j)).
Qed.
Lemma pull_elu : Y = map_mx (@elu R) A ->
  pull (fun s => map_mx (@elu R) (F s)) Y (fun a => P (hadm (map_mx (@exp R) (- map_mx (@relu R) (- A))) a)).
Proof. by slope (fun z : R => exp (- relu (- z))) (fun i j => is_der_elu (A i j)). Qed.
Lemma pull_silu : Y = map_mx (@silu R) A -> pull (fun s => map_mx (@silu R) (F s)) Y
  (fun a => P (hadm (map_mx (@sigmoid R) A + hadm Y (const_mx 1 - map_mx (@sigmoid R) A)) a)).
Proof. by slope (fun z : R => sigmoid z + silu z * (1 - sigmoid z)) (fun i j => is_der_silu (A i j)). Qed.
Lemma pull_softsign : Y = map_mx (@softsign R) A -> pull (fun s => map_mx (@softsign R) (F s)) Y
  (fun a => P (hadm (map_mx (@square R) (const_mx 1 - hadm (map_mx (@sign R) A) Y)) a)).
Proof. by slope (fun z : R => square (1 - sign z * softsign z)) (fun i j => is_der_softsign (A i j)). Qed.
Lemma pull_hard_tanh : Y = map_mx (@hard_tanh R) A -> (forall i j, A i j != 1) -> (forall i j, A i j != - 1) ->
  pull (fun s => map_mx (@hard_tanh R) (F s)) Y
    (fun a => P (hadm (hadm (map_mx (@step R) (A + const_mx 1)) (map_mx (@step R) (const_mx 1 - A))) a)).
Proof.
move=> YE A1 AN; move: YE.
by slope (fun z : R => step (z + 1) * step (1 - z)) (fun i j => is_der_hard_tanh (A1 i j) (AN i j)).
Qed.
Lemma pull_step : Y = map_mx (@step R) A -> (forall i j, A i j != 0) ->
  pull (fun s => map_mx (@step R) (F s)) Y (fun a => P (hadm 0 a)).
Proof. by move=> YE A0; move: YE; slope (fun z : R => 0 : R) (fun i j => is_der_step (A0 i j)). Qed.
Lemma pull_sign : Y = map_mx (@sign R) A -> (forall i j, A i j != 0) ->
  pull (fun s => map_mx (@sign R) (F s)) Y (fun a => P (hadm 0 a)).
Proof. by move=> YE A0; move: YE; slope (fun z : R => 0 : R) (fun i j => is_der_sign (A0 i j)). Qed.
End Functions.

(* functions of a column *)
Lemma sum_expR_gt0 n (z : 'cV[R]_n) (i : 'I_n) : 0 < \sum_j expR (z j 0).
Proof.
rewrite (bigD1 i) //= ltr_paddr ?expR_gt0 // sumr_ge0 // => j _.
by rewrite ltW ?expR_gt0.
Qed.
Lemma is_der_sum_expR n (F : curve n 1) V : mxder F V ->
  is_derive (0 : R) (1 : R) (fun s => \sum_j expR (F s j 0)) (\sum_j expR (F 0 j 0) * V j 0).
Proof.
move=> Fd; apply: is_der_big => j.
exact: (is_der_comp (g := fun s => F s j 0) (is_derive_expR _) (Fd j 0)).
Qed.
Lemma jac_softmaxE n (Y V : 'cV[R]_n) i :
  ((dg Y - Y *m Y^T) *m V) i 0 = Y i 0 * V i 0 - Y i 0 * \sum_k Y k 0 * V k 0.
Proof.
rewrite mulmxBl mxE dg_mulE -mulmxA; congr (_ + _); rewrite mxE mxE big_ord1; congr (- (_ * _)).
by rewrite mxE; apply: eq_bigr => k _; rewrite mxE.
Qed.
Lemma jac_log_softmaxE n (Y V : 'cV[R]_n) i :
  ((1%:M - const_mx 1 *m Y^T) *m V) i 0 = V i 0 - \sum_k Y k 0 * V k 0.
Proof.
rewrite mulmxBl mul1mx mxE -mulmxA; congr (_ + _); rewrite mxE mxE big_ord1 mxE mul1r; congr (- _).
by rewrite mxE; apply: eq_bigr => k _; rewrite mxE.
Qed.
Lemma sum_softmax n (z V : 'cV[R]_n) :
  \sum_k softmax z k 0 * V k 0 = (\sum_k expR (z k 0) * V k 0) / \sum_k expR (z k 0).
Proof. by rewrite mulr_suml; apply: eq_bigr => k _; rewrite mxE mulrAC. Qed.
Lemma mxder_softmax n (F : curve n 1) V : mxder F V ->
  mxder (fun s => softmax (F s)) ((dg (softmax (F 0)) - softmax (F 0) *m (softmax (F 0))^T) *m V).
Proof.
move=> Fd i j; rewrite !ord1; have n0 := lt0r_neq0 (sum_expR_gt0 (F 0) i).
have de := is_der_comp (g := fun s => F s i 0) (is_derive_expR _) (Fd i 0).
apply: (is_derive_ext (is_derM de (is_derV (f := fun s => \sum_j expR (F s j 0)) n0 (is_der_sum_expR Fd)))) => [s|].
  by rewrite mxE.
by rewrite jac_softmaxE sum_softmax mxE; field.
Qed.
Lemma mxder_log_softmax n (F : curve n 1) V : mxder F V ->
  mxder (fun s => log_softmax (F s)) ((1%:M - const_mx 1 *m (softmax (F 0))^T) *m V).
Proof.
move=> Fd i j; rewrite !ord1; have p0 := sum_expR_gt0 (F 0) i; have n0 := lt0r_neq0 p0.
have dl := is_der_comp (g := fun s => \sum_j expR (F s j 0)) (is_derive1_ln p0) (is_der_sum_expR Fd).
apply: (is_derive_ext (is_derB (Fd i 0) dl)) => [s|]; first by rewrite mxE.
by rewrite jac_log_softmaxE sum_softmax mulrC.
Qed.
Lemma pull_softmax n (F : curve n 1) A P Y : pull F A P -> Y = softmax A ->
  pull (fun s => softmax (F s)) Y (fun a => P ((dg Y - Y *m Y^T) *m a)).
Proof.
move=> [<- Fd FP] ->; apply: pull_intro (mxder_softmax Fd) _ => // a.
by rewrite adj_mull FP linearB /= trmx_dg trmx_mul trmxK.
Qed.
Lemma pull_log_softmax n (F : curve n 1) A P Y : pull F A P -> Y = log_softmax A ->
  pull (fun s => log_softmax (F s)) Y (fun a => P ((1%:M - softmax A *m (const_mx 1)^T) *m a)).
Proof.
move=> [<- Fd FP] ->; apply: pull_intro (mxder_log_softmax Fd) _ => // a.
by rewrite adj_mull FP linearB /= trmx1 trmx_mul trmxK.
Qed.

(* l has the gradient E at A: along every curve through A *)
Definition is_grad m n (l : 'M[R]_(m, n) -> R) (A E : 'M[R]_(m, n)) : Prop := forall (F : curve m n) V,
  F 0 = A -> mxder F V -> is_derive (0 : R) (1 : R) (fun s => l (F s)) << E, V >>.
Lemma pull_opaque m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) dl (F : curve m n) A P y :
  pull F A P -> is_grad (fun o => l o y) A (dl A y) ->
  pull (fun s => const_mx (l (F s) (fixed y s)) : 'M_1) (const_mx (l A y)) (fun a => P (a 0 0 *: dl A y)).
Proof.
move=> [FA Fd FP] ld; apply: (@pull_intro _ _ _ _ (const_mx << dl A y, tangent F >>)) => [|i j|a].
- by rewrite FA.
- by apply: (is_derive_ext (ld F _ FA Fd)) => [s|]; rewrite mxE.
- by rewrite -FP dotmZl dotm11 mxE.
Qed.
(* a formula whose pull is known has the gradient that the pull gives *)
Lemma grad_of_pull m n (l : 'M[R]_(m, n) -> R) A E :
  (forall F P, pull F A P -> pull (fun s => const_mx (l (F s)) : 'M_1) (const_mx (l A)) (fun a => P (a 0 0 *: E))) ->
  is_grad l A E.
Proof.
move=> lP F V FA FV; have FP : pull F A (fun a => << a, V >>) by apply: pull_intro FA FV _.
by have := pull_loss (lP _ _ FP); rewrite mxE scale1r.
Qed.
(* the hypothesis is met: ½ |o - y|² has the gradient o - y *)
Lemma is_der_dotm m n (F G : curve m n) V W : mxder F V -> mxder G W ->
  is_derive (0 : R) (1 : R) (fun s => << F s, G s >>) (<< V, G 0 >> + << F 0, W >>).
Proof.
move=> Fd Gd.
apply: (is_derive_ext (is_der_big (index_enum _) (fun j => is_der_big (index_enum _) (fun i =>
  is_derM (Fd i j) (Gd i j))))) => [s|]; first by rewrite dotmE.
by rewrite !dotmE -big_split; apply: eq_bigr => j _; rewrite -big_split.
Qed.
Lemma grad_squared_error n (o y : 'cV[R]_n) : is_grad (fun o => 2%:R^-1 * << o - y, o - y >>) o (o - y).
Proof.
move=> F V FA FV; have [E0 Fd FP] : pull (fun s => F s - y) (o - y) (fun a => << a, V >>).
  apply: pull_same (pullB (pull_intro FA FV (fun a => erefl)) (pull_cst y)) _ => a.
  exact: subr0.
have d2 := is_der_dotm Fd Fd; apply: (is_derive_ext (is_derM (is_der_cst 0 2%:R^-1) d2)) => //.
rewrite E0 mul0r add0r [<< tangent _, _ >>]dotmC FP -mulr2n -[X in _ * X]mulr_natl.
by rewrite mulrA mulVf ?mul1r // pnatr_eq0.
Qed.
(* a loss with gradients in both arguments *)
Definition is_grad2 m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) A B D E : Prop :=
  forall (F : curve m n) (G : curve p q) V W, F 0 = A -> G 0 = B -> mxder F V -> mxder G W ->
  is_derive (0 : R) (1 : R) (fun s => l (F s) (G s)) (<< D, V >> + << E, W >>).
Lemma pull_opaque2 m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) dl1 dl2 (F : curve m n) (G : curve p q) A B P Q :
  pull F A P -> pull G B Q -> is_grad2 l A B (dl1 A B) (dl2 A B) ->
  pull (fun s => const_mx (l (F s) (G s)) : 'M_1) (const_mx (l A B))
    (fun a => P (a 0 0 *: dl1 A B) + Q (a 0 0 *: dl2 A B)).
Proof.
move=> [FA Fd FP] [GB Gd GQ] ld.
apply: (@pull_intro _ _ _ _ (const_mx (<< dl1 A B, tangent F >> + << dl2 A B, tangent G >>))) => [|i j|a].
- by rewrite FA GB.
- by apply: (is_derive_ext (ld F G _ _ FA GB Fd Gd)) => [s|]; rewrite mxE.
- by rewrite -FP -GQ !dotmZl -mulrDr dotm11 mxE.
Qed.
(* opaque losses with K arguments that move and J that are fixed (targets), in this order: K_J *)
Definition is_grad3 m1 n1 m2 n2 m3 n3 (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> R) A1 A2 A3 D1 D2 D3
    : Prop :=
  forall (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) V1 V2 V3,
  F1 0 = A1 -> F2 0 = A2 -> F3 0 = A3 -> mxder F1 V1 -> mxder F2 V2 -> mxder F3 V3 ->
  is_derive (0 : R) (1 : R) (fun s => l (F1 s) (F2 s) (F3 s)) (<< D1, V1 >> + << D2, V2 >> + << D3, V3 >>).
Section Opaque1_0.
Variables (m1 n1 : nat) (l : 'M[R]_(m1, n1) -> R).
Variable dl : 'M[R]_(m1, n1) -> 'M[R]_(m1, n1).
Lemma pull_opaque1_0 (F1 : curve m1 n1) A1 P1 :
  pull F1 A1 P1 -> is_grad l A1 (dl A1) ->
  pull (fun s => const_mx (l (F1 s)) : 'M_1) (const_mx (l A1))
    (fun a => P1 (a 0 0 *: dl A1)).
Proof.
move=> [E1 d1 Q1] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl A1, tangent F1 >>))) => [|i j|a].
- by rewrite /fixed E1.
- by apply: (is_derive_ext (ld F1 _ E1 d1)) => [s|]; rewrite mxE.
- by rewrite -Q1 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque1_0.
Section Opaque1_2.
Variables (m1 n1 p1 q1 p2 q2 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> R).
Variable dl : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(m1, n1).
Lemma pull_opaque1_2 y1 y2 (F1 : curve m1 n1) A1 P1 :
  pull F1 A1 P1 -> is_grad (fun o1 => l o1 y1 y2) A1 (dl A1 y1 y2) ->
  pull (fun s => const_mx (l (F1 s) (fixed y1 s) (fixed y2 s)) : 'M_1) (const_mx (l A1 y1 y2))
    (fun a => P1 (a 0 0 *: dl A1 y1 y2)).
Proof.
move=> [E1 d1 Q1] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl A1 y1 y2, tangent F1 >>))) => [|i j|a].
- by rewrite /fixed E1.
- by apply: (is_derive_ext (ld F1 _ E1 d1)) => [s|]; rewrite mxE.
- by rewrite -Q1 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque1_2.
Section Opaque1_3.
Variables (m1 n1 p1 q1 p2 q2 p3 q3 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(p3, q3) ->
    R).
Variable dl : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(p3, q3) -> 'M[R]_(m1, n1).
Lemma pull_opaque1_3 y1 y2 y3 (F1 : curve m1 n1) A1 P1 :
  pull F1 A1 P1 -> is_grad (fun o1 => l o1 y1 y2 y3) A1 (dl A1 y1 y2 y3) ->
  pull (fun s => const_mx (l (F1 s) (fixed y1 s) (fixed y2 s) (fixed y3 s)) : 'M_1) (const_mx (l A1 y1 y2 y3))
    (fun a => P1 (a 0 0 *: dl A1 y1 y2 y3)).
Proof.
move=> [E1 d1 Q1] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl A1 y1 y2 y3, tangent F1 >>))) => [|i j|a].
- by rewrite /fixed E1.
- by apply: (is_derive_ext (ld F1 _ E1 d1)) => [s|]; rewrite mxE.
- by rewrite -Q1 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque1_3.
Section Opaque2_1.
Variables (m1 n1 m2 n2 p1 q1 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(m2, n2).
Lemma pull_opaque2_1 y1 (F1 : curve m1 n1) (F2 : curve m2 n2) A1 A2 P1 P2 :
  pull F1 A1 P1 -> pull F2 A2 P2 -> is_grad2 (fun o1 o2 => l o1 o2 y1) A1 A2 (dl1 A1 A2 y1) (dl2 A1 A2 y1) ->
  pull (fun s => const_mx (l (F1 s) (F2 s) (fixed y1 s)) : 'M_1) (const_mx (l A1 A2 y1))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 y1) + P2 (a 0 0 *: dl2 A1 A2 y1)).
Proof.
move=> [E1 d1 Q1] [E2 d2 Q2] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl1 A1 A2 y1, tangent F1 >> + << dl2 A1 A2
    y1, tangent F2 >>))) => [|i j|a].
- by rewrite /fixed E1 E2.
- by apply: (is_derive_ext (ld F1 F2 _ _ E1 E2 d1 d2)) => [s|]; rewrite mxE.
- by rewrite -Q1 -Q2 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque2_1.
Section Opaque2_2.
Variables (m1 n1 m2 n2 p1 q1 p2 q2 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) ->
    R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(m2, n2).
Lemma pull_opaque2_2 y1 y2 (F1 : curve m1 n1) (F2 : curve m2 n2) A1 A2 P1 P2 :
  pull F1 A1 P1 -> pull F2 A2 P2 -> is_grad2 (fun o1 o2 => l o1 o2 y1 y2) A1 A2 (dl1 A1 A2 y1 y2) (dl2 A1 A2 y1 y2) ->
  pull (fun s => const_mx (l (F1 s) (F2 s) (fixed y1 s) (fixed y2 s)) : 'M_1) (const_mx (l A1 A2 y1 y2))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 y1 y2) + P2 (a 0 0 *: dl2 A1 A2 y1 y2)).
Proof.
move=> [E1 d1 Q1] [E2 d2 Q2] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl1 A1 A2 y1 y2, tangent F1 >> + << dl2 A1
    A2 y1 y2, tangent F2 >>))) => [|i j|a].
- by rewrite /fixed E1 E2.
- by apply: (is_derive_ext (ld F1 F2 _ _ E1 E2 d1 d2)) => [s|]; rewrite mxE.
- by rewrite -Q1 -Q2 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque2_2.
Section Opaque3_0.
Variables (m1 n1 m2 n2 m3 n3 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(m2, n2).
Variable dl3 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(m3, n3).
Lemma pull_opaque3_0 (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) A1 A2 A3 P1 P2 P3 :
  pull F1 A1 P1 -> pull F2 A2 P2 -> pull F3 A3 P3 -> is_grad3 l A1 A2 A3 (dl1 A1 A2 A3) (dl2 A1 A2 A3) (dl3 A1 A2
      A3) ->
  pull (fun s => const_mx (l (F1 s) (F2 s) (F3 s)) : 'M_1) (const_mx (l A1 A2 A3))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 A3) + P2 (a 0 0 *: dl2 A1 A2 A3) + P3 (a 0 0 *: dl3 A1 A2 A3)).
Proof.
move=> [E1 d1 Q1] [E2 d2 Q2] [E3 d3 Q3] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl1 A1 A2 A3, tangent F1 >> + <<
    dl2 A1 A2 A3, tangent F2 >> + << dl3 A1 A2 A3, tangent F3 >>))) => [|i j|a].
- by rewrite /fixed E1 E2 E3.
- by apply: (is_derive_ext (ld F1 F2 F3 _ _ _ E1 E2 E3 d1 d2 d3)) => [s|]; rewrite mxE.
- by rewrite -Q1 -Q2 -Q3 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque3_0.
Section Opaque3_1.
Variables (m1 n1 m2 n2 m3 n3 p1 q1 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) ->
    R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) -> 'M[R]_(m2, n2).
Variable dl3 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) -> 'M[R]_(m3, n3).
Lemma pull_opaque3_1 y1 (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) A1 A2 A3 P1 P2 P3 :
  pull F1 A1 P1 -> pull F2 A2 P2 -> pull F3 A3 P3 -> is_grad3 (fun o1 o2 o3 => l o1 o2 o3 y1) A1 A2 A3 (dl1 A1 A2 A3
      y1) (dl2 A1 A2 A3 y1) (dl3 A1 A2 A3 y1) ->
  pull (fun s => const_mx (l (F1 s) (F2 s) (F3 s) (fixed y1 s)) : 'M_1) (const_mx (l A1 A2 A3 y1))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 A3 y1) + P2 (a 0 0 *: dl2 A1 A2 A3 y1) + P3 (a 0 0 *: dl3 A1 A2 A3 y1)).
Proof.
move=> [E1 d1 Q1] [E2 d2 Q2] [E3 d3 Q3] ld; apply: (@pull_intro _ _ _ _ (const_mx (<< dl1 A1 A2 A3 y1, tangent F1 >> +
    << dl2 A1 A2 A3 y1, tangent F2 >> + << dl3 A1 A2 A3 y1, tangent F3 >>))) => [|i j|a].
- by rewrite /fixed E1 E2 E3.
- by apply: (is_derive_ext (ld F1 F2 F3 _ _ _ E1 E2 E3 d1 d2 d3)) => [s|]; rewrite mxE.
- by rewrite -Q1 -Q2 -Q3 !dotmZl -?mulrDr dotm11 [in LHS]mxE.
Qed.
End Opaque3_1.
End Curves.
Arguments pull_opaque {R m n p q} l dl {F A P} y.
Arguments pull_opaque1_0 {R m1 n1} l dl {F1 A1 P1}.
Arguments pull_opaque1_2 {R m1 n1 p1 q1 p2 q2} l dl y1 y2 {F1 A1 P1}.
Arguments pull_opaque1_3 {R m1 n1 p1 q1 p2 q2 p3 q3} l dl y1 y2 y3 {F1 A1 P1}.
Arguments pull_opaque2_1 {R m1 n1 m2 n2 p1 q1} l dl1 dl2 y1 {F1 F2 A1 A2 P1 P2}.
Arguments pull_opaque2_2 {R m1 n1 m2 n2 p1 q1 p2 q2} l dl1 dl2 y1 y2 {F1 F2 A1 A2 P1 P2}.
Arguments pull_opaque3_0 {R m1 n1 m2 n2 m3 n3} l dl1 dl2 dl3 {F1 F2 F3 A1 A2 A3 P1 P2 P3}.
Arguments pull_opaque3_1 {R m1 n1 m2 n2 m3 n3 p1 q1} l dl1 dl2 dl3 y1 {F1 F2 F3 A1 A2 A3 P1 P2 P3}.
Arguments pull_opaque2 {R m n p q} l dl1 dl2 {F G A B P Q}.
