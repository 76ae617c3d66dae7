(* Derivatives without limits: the dual numbers a + b ε with ε² = 0 over any commutative ring, and one lemma a row of
   the rule table. A curve of shape m n is a matrix of dual numbers; its value is mre, its tangent mdu.
     pull F A P : the curve F passes through A, and <a, tangent F> = P a for every a.
   P is the rule of reverse mode: it takes a cotangent a of the result to the pairings with the tangents read.
   The functions of a cell (tanh, …) are any functions R -> R: ext phi dphi is phi on dual numbers, given its slope.
   The statements have the names and the order of arguments of real.v. No axioms. *)
(* INTERFACE:
   - tanh, sigmoid, … are variables of the model at this level; over dual R the model is instantiated with
       ext_tanh tanh              ext_sigmoid sigmoid         ext_relu relu step          ext_softplus softplus sigmoid
       ext_exp exp                ext_sin sin cos             ext_cos cos sin             ext_square square
       ext_abs abs sign           ext_leaky_relu leaky_relu step a b (slope a + b step)   ext_elu elu exp relu
       ext_silu silu sigmoid      ext_softsign softsign sign square                       ext_hard_tanh hard_tanh step
       ext_step step              ext_sign sign
       ext_softmax softmax        ext_log_softmax log_softmax softmax   (softmax : 'cV_n -> 'cV_n, one size)
       ext_loss l dl              ext_loss2 l dl1 dl2         ext_lossK_J l dl1 … dlK
   - The functions that a slope needs are arguments of the lemma at this level, in the same order, before the pull:
     pull_relu step FP YE, pull_leaky_relu step a b FP YE, pull_elu exp relu FP YE,
     pull_log_softmax softmax FP YE.
   - fixed A is the constant curve (real: fun _ => A); pull_cst A : pull (fixed A) A _.
     Constant curves that are literals: pull_0, pull_ones (const_mx 1), pull_1 (1%:M), pull_sel.
   - pull_scale k FP : the curve is scaled k F := lift k *: F (real: fun s => k *: F s).
     pull_scale_eq : c = lift k -> …, for a dual number c (real: forall s, c s = k): the curve is c *: F.
   - Hypotheses of the real level (no entry at a kink, gradients of losses) come last in real.v and are absent here.
   - Scalar curves are const_mx c with c : dual R (real: R -> R): pull_cD, pull_cZ, pull_csum, pull_entry, pull_loss,
     pull_gradient.
   - Opaque losses: pull_opaqueK_J l dl1 … dlK y1 … yJ FP1 … FPK, K arguments move and J follow that are fixed;
     pull_opaque is 1_1, pull_opaque2 is 2_0. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From symbptt Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Dual numbers: re is the value, du the derivative                                                                  *)
Record dual (R : Type) := Dual { re : R; du : R }.

Definition pair_of_dual (R : Type) (a : dual R) := (re a, du a).
Definition dual_of_pair (R : Type) (a : R * R) := Dual a.1 a.2.
Lemma pair_of_dualK (R : Type) : cancel (@pair_of_dual R) (@dual_of_pair R).
Proof. by case. Qed.
Lemma dualP (R : Type) (a b : dual R) : re a = re b -> du a = du b -> a = b.
Proof. by case: a b => [a a'] [b b'] /= -> ->. Qed.

Section DualRing.
Variable R : comRingType.
Local Notation dual := (dual R).
Implicit Types a b c : dual.

Definition dual_eqMixin := CanEqMixin (@pair_of_dualK R).
Canonical dual_eqType := EqType dual dual_eqMixin.
Definition dual_choiceMixin := CanChoiceMixin (@pair_of_dualK R).
Canonical dual_choiceType := ChoiceType dual dual_choiceMixin.

Definition dual_zero : dual := Dual 0 0.
Definition dual_one : dual := Dual 1 0.
Definition dual_opp a : dual := Dual (- re a) (- du a).
Definition dual_add a b : dual := Dual (re a + re b) (du a + du b).
Definition dual_mul a b : dual := Dual (re a * re b) (re a * du b + du a * re b).

Lemma dual_addA : associative dual_add.
Proof. by move=> a b c; apply: dualP; rewrite /= addrA. Qed.
Lemma dual_addC : commutative dual_add.
Proof. by move=> a b; apply: dualP; rewrite /= addrC. Qed.
Lemma dual_add0 : left_id dual_zero dual_add.
Proof. by move=> a; apply: dualP; rewrite /= add0r. Qed.
Lemma dual_addN : left_inverse dual_zero dual_opp dual_add.
Proof. by move=> a; apply: dualP; rewrite /= addNr. Qed.
Definition dual_zmodMixin := ZmodMixin dual_addA dual_addC dual_add0 dual_addN.
Canonical dual_zmodType := ZmodType dual dual_zmodMixin.

Lemma dual_mulA : associative dual_mul.
Proof. by move=> a b c; apply: dualP => /=; ring. Qed.
Lemma dual_mulC : commutative dual_mul.
Proof. by move=> a b; apply: dualP => /=; ring. Qed.
Lemma dual_mul1 : left_id dual_one dual_mul.
Proof. by move=> a; apply: dualP => /=; ring. Qed.
Lemma dual_mulD : left_distributive dual_mul dual_add.
Proof. by move=> a b c; apply: dualP => /=; ring. Qed.
Lemma dual_one_neq0 : dual_one != 0.
Proof. by apply/eqP => -[/eqP]; rewrite oner_eq0. Qed.
Definition dual_ringMixin := ComRingMixin dual_mulA dual_mulC dual_mul1 dual_mulD dual_one_neq0.
Canonical dual_ringType := RingType dual dual_ringMixin.
Canonical dual_comRingType := ComRingType dual dual_mulC.

(* re and lift are ring morphisms, du is additive and obeys the product rule *)
Definition lift (k : R) : dual := Dual k 0.
Lemma re_is_rmorphism : rmorphism (@re R).
Proof. by split=> [a b|]; last split. Qed.
Canonical re_additive := Additive re_is_rmorphism.
Canonical re_rmorphism := RMorphism re_is_rmorphism.
Lemma du_is_additive : additive (@du R).
Proof. by []. Qed.
Canonical du_additive := Additive du_is_additive.
Lemma lift_is_rmorphism : rmorphism lift.
Proof.
split=> [a b|]; first by apply: dualP; rewrite /= ?subr0.
by split=> [a b|] //; apply: dualP; rewrite /= ?mulr0 ?mul0r ?addr0.
Qed.
Canonical lift_additive := Additive lift_is_rmorphism.
Canonical lift_rmorphism := RMorphism lift_is_rmorphism.

Lemma reM a b : re (a * b) = re a * re b. Proof. by []. Qed.
Lemma duM a b : du (a * b) = re a * du b + du a * re b. Proof. by []. Qed.
Lemma duD a b : du (a + b) = du a + du b. Proof. by []. Qed.
Lemma lift0 : lift 0 = 0. Proof. by []. Qed.
Lemma lift1 : lift 1 = 1. Proof. by []. Qed.
Lemma liftN x : lift (- x) = - lift x. Proof. exact: rmorphN. Qed.
Lemma liftM x y : lift (x * y) = lift x * lift y. Proof. exact: rmorphM. Qed.
Lemma liftD x y : lift (x + y) = lift x + lift y. Proof. exact: rmorphD. Qed.
Lemma lift_int n : lift n%:~R = n%:~R. Proof. exact: rmorph_int. Qed.
Lemma lift_nat n : lift n%:R = n%:R. Proof. exact: rmorph_nat. Qed.

(* phi on dual numbers, given its derivative: phi (a + b ε) = phi a + phi' a b ε *)
Definition ext (phi dphi : R -> R) a : dual := Dual (phi (re a)) (dphi (re a) * du a).
End DualRing.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Curves                                                                                                            *)
Section Curves.
Variable R : comRingType.
Local Notation curve m n := 'M[dual R]_(m, n).

Definition mre m n (F : curve m n) : 'M[R]_(m, n) := map_mx (@re R) F.
Definition mdu m n (F : curve m n) : 'M[R]_(m, n) := map_mx (@du R) F.
Definition mlift m n (A : 'M[R]_(m, n)) : curve m n := map_mx (@lift R) A.
(* the straight line A + ε V *)
Definition line m n (A V : 'M[R]_(m, n)) : curve m n := \matrix_(i, j) Dual (A i j) (V i j).
Definition fixed m n (A : 'M[R]_(m, n)) : curve m n := mlift A.
Definition tangent m n (F : curve m n) : 'M[R]_(m, n) := mdu F.
Definition pull m n (F : curve m n) (A : 'M[R]_(m, n)) (P : 'M[R]_(m, n) -> R) : Prop :=
  mre F = A /\ forall a, << a, tangent F >> = P a.
Definition scaled (k : R) m n (F : curve m n) : curve m n := lift k *: F.

Lemma pull_intro m n (F : curve m n) A V P :
  mre F = A -> tangent F = V -> (forall a, << a, V >> = P a) -> pull F A P.
Proof. by move=> FA <-. Qed.

(* the derivative of the result in direction a *)
Lemma pullP m n (F : curve m n) A P : pull F A P -> forall a, << a, tangent F >> = P a.
Proof. by case. Qed.
Lemma pull_value m n (F : curve m n) A P : pull F A P -> mre F = A.
Proof. by case. Qed.
Lemma pull_tangent m n (F : curve m n) A P : pull F A P -> pull F A (fun a => << a, tangent F >>).
Proof. by case. Qed.
Lemma pull_eq m n (F G : curve m n) A P : F = G -> pull G A P -> pull F A P.
Proof. by move->. Qed.
Lemma pull_at m n (F : curve m n) A A' P : A = A' -> pull F A P -> pull F A' P.
Proof. by move->. Qed.
Lemma pull_same m n (F : curve m n) A P Q : pull F A P -> (forall a, P a = Q a) -> pull F A Q.
Proof. by case=> FA FP PQ; split=> // a; rewrite FP. Qed.

Lemma pull_line m n (A V : 'M[R]_(m, n)) : pull (line A V) A (fun a => << a, V >>).
Proof. by apply: (@pull_intro _ _ _ _ V) => //; apply/matrixP => i j; rewrite !mxE. Qed.
Lemma tangent_line m n (A V : 'M[R]_(m, n)) : tangent (line A V) = V.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
Lemma pull_cst m n (A : 'M[R]_(m, n)) : pull (fixed A) A (fun=> 0).
Proof.
apply: (@pull_intro _ _ _ _ 0) => [||a]; last exact: dotm0r.
  by apply/matrixP => i j; rewrite !mxE.
by apply/matrixP => i j; rewrite !mxE.
Qed.
Lemma pull_0 m n : pull (0 : curve m n) 0 (fun=> 0).
Proof. by apply: pull_eq (pull_cst 0); rewrite /fixed /mlift map_mx0. Qed.
Lemma pull_ones m n : pull (const_mx 1 : curve m n) (const_mx 1) (fun=> 0).
Proof. by apply: pull_eq (pull_cst _); apply/matrixP => i j; rewrite !mxE. Qed.
Lemma pull_1 n : pull (1%:M : curve n n) 1%:M (fun=> 0).
Proof. by apply: pull_eq (pull_cst _); rewrite /fixed /mlift map_mx1. Qed.
Lemma pull_sel N n off : pull (sel N n off : curve N n) (sel N n off) (fun=> 0).
Proof. by apply: pull_eq (pull_cst _); rewrite /fixed /mlift map_sel. Qed.

Lemma pullD m n (F G : curve m n) A B P Q :
  pull F A P -> pull G B Q -> pull (F + G) (A + B) (fun a => P a + Q a).
Proof.
move=> [<- FP] [<- GQ]; split=> [|a]; first exact: map_mxD.
by rewrite -FP -GQ -dotmDr /tangent /mdu map_mxD.
Qed.
(* to a curve something is added along the line that is 0 at the point *)
Lemma pull_push m n (F G : curve m n) A B V P :
  G = F + line B V -> pull F A P -> B = 0 -> pull G A (fun a => P a + << a, V >>).
Proof. by move=> GF FP B0; apply: pull_eq GF (pull_at _ (pullD FP (pull_line B V))); rewrite B0 addr0. Qed.
Lemma pullN m n (F : curve m n) A P : pull F A P -> pull (- F) (- A) (fun a => - P a).
Proof.
move=> [<- FP]; split=> [|a]; first exact: map_mxN.
by rewrite -FP -dotmNr /tangent /mdu map_mxN.
Qed.
Lemma pullB m n (F G : curve m n) A B P Q :
  pull F A P -> pull G B Q -> pull (F - G) (A - B) (fun a => P a - Q a).
Proof. by move=> FP GQ; apply: pullD FP (pullN GQ). Qed.
Lemma pullM m n p (F : curve m n) (G : curve n p) A B P Q :
  pull F A P -> pull G B Q -> pull (F *m G) (A *m B) (fun a => P (a *m B^T) + Q (A^T *m a)).
Proof.
move=> [<- FP] [<- GQ]; apply: (@pull_intro _ _ _ _ (mdu F *m mre G + mre F *m mdu G)) => [||a].
- exact: map_mxM.
- apply/matrixP => i j; rewrite !mxE raddf_sum -big_split /=; apply: eq_bigr => k _.
  by rewrite !mxE addrC.
- by rewrite dotmDr adj_mulr adj_mull FP GQ.
Qed.
Lemma pull_scale_eq (c : dual R) k m n (F : curve m n) A P :
  c = lift k -> pull F A P -> pull (c *: F) (k *: A) (fun a => P (k *: a)).
Proof.
move=> -> [<- FP]; apply: (@pull_intro _ _ _ _ (k *: mdu F)) => [||a].
- by apply/matrixP => i j; rewrite !mxE.
- by apply/matrixP => i j; rewrite !mxE /= mul0r addr0.
- by rewrite -FP dotmZr dotmZl.
Qed.
Lemma pull_scale k m n (F : curve m n) A P :
  pull F A P -> pull (scaled k F) (k *: A) (fun a => P (k *: a)).
Proof. exact: pull_scale_eq. Qed.
Lemma pull_tr m n (F : curve m n) A P : pull F A P -> pull F^T A^T (fun a => P a^T).
Proof.
move=> [<- FP]; split=> [|a]; first by rewrite /mre map_trmx.
by rewrite -FP -adj_tr /tangent /mdu map_trmx.
Qed.
Lemma pull_had m n (F G : curve m n) A B P Q :
  pull F A P -> pull G B Q -> pull (hadm F G) (hadm A B) (fun a => P (hadm B a) + Q (hadm A a)).
Proof.
move=> [<- FP] [<- GQ]; apply: (@pull_intro _ _ _ _ (hadm (mre G) (mdu F) + hadm (mre F) (mdu G))) => [||a].
- exact: map_hadm.
- by apply/matrixP => i j; rewrite !mxE /= addrC mulrC.
- by rewrite dotmDr !adj_had FP GQ.
Qed.
Lemma pull_dg n (F : curve n 1) A P : pull F A P -> pull (dg F) (dg A) (fun a => P (diagv a)).
Proof.
move=> [<- FP]; apply: (@pull_intro _ _ _ _ (dg (mdu F))) => [||a]; first exact: map_dg.
  by apply/matrixP => i j; rewrite !mxE raddfMn.
by rewrite adj_dg FP.
Qed.
Lemma pull_diagv n (F : curve n n) A P : pull F A P -> pull (diagv F) (diagv A) (fun a => P (dg a)).
Proof.
move=> [<- FP]; apply: (@pull_intro _ _ _ _ (diagv (mdu F))) => [||a]; first exact: map_diagv.
  by apply/matrixP => i j; rewrite !mxE.
by rewrite -FP dotmC -adj_dg dotmC.
Qed.
Lemma pull_msc m n (S : curve 1 1) (F : curve m n) B A Q P :
  pull S B Q -> pull F A P -> pull (msc S F) (msc B A) (fun a => Q (const_mx << a, A >>) + P (B 0 0 *: a)).
Proof.
move=> [<- SQ] [<- FP]; apply: (@pull_intro _ _ _ _ (msc (mdu S) (mre F) + msc (mre S) (mdu F))) => [||a].
- exact: map_msc.
- by apply/matrixP => i j; rewrite !mxE /= addrC.
- by rewrite dotmDr adj_msc_l adj_msc_r SQ FP.
Qed.
Lemma pull_sum m n a b (F : nat -> curve m n) A P :
  (forall t, (a <= t < b)%N -> pull (F t) (A t) (P t)) ->
  pull (\sum_(a <= t < b) F t) (\sum_(a <= t < b) A t) (fun c => \sum_(a <= t < b) P t c).
Proof.
move=> FP; split=> [|c].
  by rewrite /mre raddf_sum !big_nat; apply: eq_bigr => t /FP[].
by rewrite /tangent /mdu raddf_sum dotm_sumr !big_nat; apply: eq_bigr => t /FP[].
Qed.

(* the value k steps back *)
Lemma pull_at_lag m n (F past : nat -> curve m n)
  (A pastA V pastV : nat -> 'M[R]_(m, n)) k t : (0 < k)%N ->
  (forall s, (s < t)%N -> pull (F s) (A s) (fun a => << a, V s >>)) ->
  (forall j, pull (past j) (pastA j) (fun a => << a, pastV j >>)) ->
  pull (at_lag F past k t) (at_lag A pastA k t) (fun a => << a, at_lag V pastV k t >>).
Proof.
move=> k0 FP pastP; case: (leqP k t) => kt; last by rewrite !at_lag_past.
by rewrite !at_lagE //; apply: FP; rewrite ltn_subrL k0 (leq_trans k0).
Qed.

(* scalars, as 1 x 1 curves *)
Lemma pull_cD (c d : dual R) A B P Q : pull (const_mx c) A P -> pull (const_mx d) B Q ->
  pull (const_mx (c + d) : curve 1 1) (A + B) (fun a => P a + Q a).
Proof. by move=> cP dQ; apply: pull_eq (pullD cP dQ); apply/matrixP => i j; rewrite !mxE. Qed.
Lemma pull_cZ k (c : dual R) A P : pull (const_mx c) A P ->
  pull (const_mx (lift k * c) : curve 1 1) (k *: A) (fun a => P (k *: a)).
Proof. by move=> cP; apply: pull_eq (pull_scale k cP); apply/matrixP => i j; rewrite !mxE. Qed.
Lemma pull_cZ_eq (e : dual R) k (c : dual R) A P : e = lift k -> pull (const_mx c) A P ->
  pull (const_mx (e * c) : curve 1 1) (k *: A) (fun a => P (k *: a)).
Proof. by move=> -> /(pull_cZ k). Qed.
Lemma pull_csum a b (c : nat -> dual R) A P :
  (forall t, (a <= t < b)%N -> pull (const_mx (c t)) (A t) (P t)) ->
  pull (const_mx (\sum_(a <= t < b) c t) : curve 1 1) (\sum_(a <= t < b) A t) (fun d => \sum_(a <= t < b) P t d).
Proof.
move=> cP; apply: pull_eq (pull_sum cP); apply/matrixP => i j; rewrite mxE summxE.
by apply: eq_bigr => t _; rewrite mxE.
Qed.
Lemma pull_entry (S : curve 1 1) A P : pull S A P -> pull (const_mx (S 0 0) : curve 1 1) A P.
Proof. by apply: pull_eq; apply/matrixP => i j; rewrite !mxE !ord1. Qed.
(* the derivative of a scalar *)
Lemma pull_loss (c : dual R) A P : pull (const_mx c : curve 1 1) A P -> du c = P (const_mx 1).
Proof. by move=> [_ <-]; rewrite dotm11 !mxE mul1r. Qed.
(* the same, with the loss and its derivative in the form wanted *)
Lemma pull_gradient (c f : dual R) A P D : pull (const_mx c : curve 1 1) A P -> f = c -> P (const_mx 1) = D -> du f = D.
Proof. by move=> /pull_loss cP -> <-. Qed.
Lemma pull_loss_entry (S : curve 1 1) A P : pull S A P -> du (S 0 0) = P (const_mx 1).
Proof. by move=> /pull_entry /pull_loss. Qed.

(* a function entry by entry *)
Lemma pull_map (phi dphi : R -> R) m n (F : curve m n) A P :
  pull F A P -> pull (map_mx (ext phi dphi) F) (map_mx phi A) (fun a => P (hadm (map_mx dphi A) a)).
Proof.
move=> [<- FP]; apply: (@pull_intro _ _ _ _ (hadm (map_mx dphi (mre F)) (mdu F))) => [||a].
- by apply/matrixP => i j; rewrite !mxE.
- by apply/matrixP => i j; rewrite !mxE.
- by rewrite adj_had FP.
Qed.
(* the same with the slope D written in another form *)
Lemma pull_slope (phi dphi : R -> R) m n (F : curve m n) A P Y D :
  pull F A P -> Y = map_mx phi A -> map_mx dphi A = D ->
  pull (map_mx (ext phi dphi) F) Y (fun a => P (hadm D a)).
Proof. by move=> FP -> <-; apply: pull_map. Qed.

Section Functions.
Definition ext_tanh (tanh : R -> R) := ext tanh (fun z => 1 - tanh z * tanh z).
Definition ext_sigmoid (sigmoid : R -> R) := ext sigmoid (fun z => sigmoid z * (1 - sigmoid z)).
Definition ext_relu (relu step : R -> R) := ext relu (fun z => step (relu z)).
Definition ext_softplus (softplus sigmoid : R -> R) := ext softplus sigmoid.
Definition ext_exp (exp : R -> R) := ext exp exp.
Definition ext_sin (sin cos : R -> R) := ext sin cos.
Definition ext_cos (cos sin : R -> R) := ext cos (fun z => - sin z).
Definition ext_square (square : R -> R) := ext square (fun z => 2%:R * z).
Definition ext_abs (abs sign : R -> R) := ext abs sign.
Definition ext_leaky_relu (leaky_relu step : R -> R) (a b : R) := ext leaky_relu (fun z => a + b * step z).
Definition ext_elu (elu exp relu : R -> R) := ext elu (fun z => exp (- relu (- z))).
Definition ext_silu (silu sigmoid : R -> R) := ext silu (fun z => sigmoid z + silu z * (1 - sigmoid z)).
Definition ext_softsign (softsign sign square : R -> R) := ext softsign (fun z => square (1 - sign z * softsign z)).
Definition ext_hard_tanh (hard_tanh step : R -> R) := ext hard_tanh (fun z => step (z + 1) * step (1 - z)).
Definition ext_step (step : R -> R) := ext step (fun=> 0).
Definition ext_sign (sign : R -> R) := ext sign (fun=> 0).

Variables m n : nat.
Implicit Types (F : curve m n) (A Y : 'M[R]_(m, n)) (P : 'M[R]_(m, n) -> R).
Local Ltac slope := let FP := fresh "FP" in let YE := fresh "YE" in intros FP YE; apply: (pull_slope FP YE);
  rewrite ?YE; let i := fresh "i" in let j := fresh "j" in apply/matrixP => i j; rewrite !mxE ?mulr1.

Lemma pull_tanh (tanh : R -> R) F A P Y : pull F A P -> Y = map_mx tanh A ->
  pull (map_mx (ext_tanh tanh) F) Y (fun a => P (hadm (const_mx 1 - hadm Y Y) a)).
Proof. by slope. Qed.
Lemma pull_sigmoid (sigmoid : R -> R) F A P Y : pull F A P -> Y = map_mx sigmoid A ->
  pull (map_mx (ext_sigmoid sigmoid) F) Y (fun a => P (hadm (hadm Y (const_mx 1 - Y)) a)).
Proof. by slope. Qed.
Lemma pull_relu (relu step : R -> R) F A P Y : pull F A P -> Y = map_mx relu A ->
  pull (map_mx (ext_relu relu step) F) Y (fun a => P (hadm (map_mx step Y) a)).
Proof. by slope. Qed.
Lemma pull_softplus (softplus sigmoid : R -> R) F A P Y : pull F A P -> Y = map_mx softplus A ->
  pull (map_mx (ext_softplus softplus sigmoid) F) Y (fun a => P (hadm (map_mx sigmoid A) a)).
Proof. by slope. Qed.
Lemma pull_exp (exp : R -> R) F A P Y : pull F A P -> Y = map_mx exp A ->
  pull (map_mx (ext_exp exp) F) Y (fun a => P (hadm Y a)).
Proof. by slope. Qed.
Lemma pull_sin (sin cos : R -> R) F A P Y : pull F A P -> Y = map_mx sin A ->
  pull (map_mx (ext_sin sin cos) F) Y (fun a => P (hadm (map_mx cos A) a)).
Proof. by slope. Qed.
Lemma pull_cos (cos sin : R -> R) F A P Y : pull F A P -> Y = map_mx cos A ->
  pull (map_mx (ext_cos cos sin) F) Y (fun a => P (hadm (- map_mx sin A) a)).
Proof. by slope. Qed.
Lemma pull_square (square : R -> R) F A P Y : pull F A P -> Y = map_mx square A ->
  pull (map_mx (ext_square square) F) Y (fun a => P (hadm (2%:R *: A) a)).
Proof. by slope. Qed.
Lemma pull_abs (abs sign : R -> R) F A P Y : pull F A P -> Y = map_mx abs A ->
  pull (map_mx (ext_abs abs sign) F) Y (fun a => P (hadm (map_mx sign A) a)).
Proof. by slope. Qed.
Lemma pull_leaky_relu (leaky_relu step : R -> R) (a b : R) F A P Y : pull F A P -> Y = map_mx leaky_relu A ->
  pull (map_mx (ext_leaky_relu leaky_relu step a b) F) Y (fun c => P (hadm (a *: const_mx 1 + b *: map_mx step A) c)).
Proof. by slope. Qed.
Lemma pull_elu (elu exp relu : R -> R) F A P Y : pull F A P -> Y = map_mx elu A ->
  pull (map_mx (ext_elu elu exp relu) F) Y (fun a => P (hadm (map_mx exp (- map_mx relu (- A))) a)).
Proof. by slope. Qed.
Lemma pull_silu (silu sigmoid : R -> R) F A P Y : pull F A P -> Y = map_mx silu A ->
  pull (map_mx (ext_silu silu sigmoid) F) Y
    (fun a => P (hadm (map_mx sigmoid A + hadm Y (const_mx 1 - map_mx sigmoid A)) a)).
Proof. by slope. Qed.
Lemma pull_softsign (softsign sign square : R -> R) F A P Y : pull F A P -> Y = map_mx softsign A ->
  pull (map_mx (ext_softsign softsign sign square) F) Y
    (fun a => P (hadm (map_mx square (const_mx 1 - hadm (map_mx sign A) Y)) a)).
Proof. by slope. Qed.
Lemma pull_hard_tanh (hard_tanh step : R -> R) F A P Y : pull F A P -> Y = map_mx hard_tanh A ->
  pull (map_mx (ext_hard_tanh hard_tanh step) F) Y
    (fun a => P (hadm (hadm (map_mx step (A + const_mx 1)) (map_mx step (const_mx 1 - A))) a)).
Proof. by slope. Qed.
Lemma pull_step (step : R -> R) F A P Y : pull F A P -> Y = map_mx step A ->
  pull (map_mx (ext_step step) F) Y (fun a => P (hadm 0 a)).
Proof. by slope. Qed.
Lemma pull_sign (sign : R -> R) F A P Y : pull F A P -> Y = map_mx sign A ->
  pull (map_mx (ext_sign sign) F) Y (fun a => P (hadm 0 a)).
Proof. by slope. Qed.
End Functions.

(* a function of a column with its Jacobian matrix J *)
Definition ext_col n (f : 'cV[R]_n -> 'cV[R]_n) (J : 'cV[R]_n -> 'M[R]_n) (F : curve n 1) : curve n 1 :=
  line (f (mre F)) (J (mre F) *m mdu F).
Lemma pull_col n f (J : 'cV[R]_n -> 'M[R]_n) (F : curve n 1) A P Y :
  pull F A P -> Y = f A -> pull (ext_col f J F) Y (fun a => P ((J A)^T *m a)).
Proof.
move=> [<- FP] ->; have [Ev Et] := pull_line (f (mre F)) (J (mre F) *m mdu F).
by split=> // a; rewrite Et adj_mull FP.
Qed.
Definition ext_softmax n (softmax : 'cV[R]_n -> 'cV[R]_n) :=
  ext_col softmax (fun z => dg (softmax z) - softmax z *m (softmax z)^T).
Lemma pull_softmax n (softmax : 'cV[R]_n -> 'cV[R]_n) (F : curve n 1) A P Y :
  pull F A P -> Y = softmax A -> pull (ext_softmax softmax F) Y (fun a => P ((dg Y - Y *m Y^T) *m a)).
Proof.
move=> FP YE; apply: pull_same (pull_col _ FP YE) _ => a.
by rewrite -YE linearB /= trmx_dg trmx_mul trmxK.
Qed.
Definition ext_log_softmax n (log_softmax softmax : 'cV[R]_n -> 'cV[R]_n) :=
  ext_col log_softmax (fun z => 1%:M - const_mx 1 *m (softmax z)^T).
Lemma pull_log_softmax n (log_softmax softmax : 'cV[R]_n -> 'cV[R]_n) (F : curve n 1) A P Y :
  pull F A P -> Y = log_softmax A ->
  pull (ext_log_softmax log_softmax softmax F) Y (fun a => P ((1%:M - softmax A *m (const_mx 1)^T) *m a)).
Proof.
move=> FP YE; apply: pull_same (pull_col _ FP YE) _ => a.
by rewrite linearB /= trmx1 trmx_mul trmxK.
Qed.

(* a loss l with gradient dl in its first argument, at a fixed second one (the target) *)
Definition ext_loss m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) (dl : 'M[R]_(m, n) -> 'M[R]_(p, q) -> 'M[R]_(m, n))
  (F : curve m n) (Y : curve p q) : dual R := Dual (l (mre F) (mre Y)) << dl (mre F) (mre Y), mdu F >>.
Lemma pull_opaque m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) dl (F : curve m n) A P y :
  pull F A P -> pull (const_mx (ext_loss l dl F (fixed y)) : curve 1 1) (const_mx (l A y)) (fun a => P (a 0 0 *: dl A
      y)).
Proof.
move=> [<- FP]; have [yE _] := pull_cst y; rewrite /ext_loss yE.
by split=> [|a]; [apply/matrixP => i j | rewrite -FP dotmZl dotm11]; rewrite !mxE.
Qed.
(* a loss with gradients in both arguments *)
Definition ext_loss2 m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) dl1 dl2 (F : curve m n) (G : curve p q) : dual R :=
  Dual (l (mre F) (mre G)) (<< dl1 (mre F) (mre G), mdu F >> + << dl2 (mre F) (mre G), mdu G >>).
Lemma pull_opaque2 m n p q (l : 'M[R]_(m, n) -> 'M[R]_(p, q) -> R) dl1 dl2 (F : curve m n) (G : curve p q) A B P Q :
  pull F A P -> pull G B Q ->
  pull (const_mx (ext_loss2 l dl1 dl2 F G) : curve 1 1) (const_mx (l A B))
    (fun a => P (a 0 0 *: dl1 A B) + Q (a 0 0 *: dl2 A B)).
Proof.
move=> [<- FP] [<- GQ]; split=> [|a]; first by apply/matrixP => i j; rewrite !mxE.
by rewrite -FP -GQ !dotmZl -mulrDr dotm11 !mxE.
Qed.
(* opaque losses with K arguments that move and J that are fixed (targets), in this order: K_J *)
Lemma mre_fixed m n (A : 'M[R]_(m, n)) : mre (fixed A) = A.
Proof. by have [] := pull_cst A. Qed.
Section Opaque1_0.
Variables (m1 n1 : nat) (l : 'M[R]_(m1, n1) -> R).
Variable dl : 'M[R]_(m1, n1) -> 'M[R]_(m1, n1).
Definition ext_loss1_0 (F1 : curve m1 n1) : dual R :=
  Dual (l (mre F1))
    (<< dl (mre F1), mdu F1 >>).
Lemma pull_opaque1_0 (F1 : curve m1 n1) A1 P1 :
  pull F1 A1 P1 ->
  pull (const_mx (ext_loss1_0 F1) : curve 1 1) (const_mx (l A1))
    (fun a => P1 (a 0 0 *: dl A1)).
Proof.
move=> [<- E1]; rewrite /ext_loss1_0 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite !mxE.
by rewrite -E1 !dotmZl -?mulrDr dotm11 !mxE.
Qed.
End Opaque1_0.
Section Opaque1_2.
Variables (m1 n1 p1 q1 p2 q2 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> R).
Variable dl : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(m1, n1).
Definition ext_loss1_2 (F1 : curve m1 n1) (Y1 : curve p1 q1) (Y2 : curve p2 q2) : dual R :=
  Dual (l (mre F1) (mre Y1) (mre Y2))
    (<< dl (mre F1) (mre Y1) (mre Y2), mdu F1 >>).
Lemma pull_opaque1_2 y1 y2 (F1 : curve m1 n1) A1 P1 :
  pull F1 A1 P1 ->
  pull (const_mx (ext_loss1_2 F1 (fixed y1) (fixed y2)) : curve 1 1) (const_mx (l A1 y1 y2))
    (fun a => P1 (a 0 0 *: dl A1 y1 y2)).
Proof.
move=> [<- E1]; rewrite /ext_loss1_2 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite !mxE.
by rewrite -E1 !dotmZl -?mulrDr dotm11 !mxE.
Qed.
End Opaque1_2.
Section Opaque1_3.
Variables (m1 n1 p1 q1 p2 q2 p3 q3 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(p3, q3) ->
    R).
Variable dl : 'M[R]_(m1, n1) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(p3, q3) -> 'M[R]_(m1, n1).
Definition ext_loss1_3 (F1 : curve m1 n1) (Y1 : curve p1 q1) (Y2 : curve p2 q2) (Y3 : curve p3 q3) : dual R :=
  Dual (l (mre F1) (mre Y1) (mre Y2) (mre Y3))
    (<< dl (mre F1) (mre Y1) (mre Y2) (mre Y3), mdu F1 >>).
Lemma pull_opaque1_3 y1 y2 y3 (F1 : curve m1 n1) A1 P1 :
  pull F1 A1 P1 ->
  pull (const_mx (ext_loss1_3 F1 (fixed y1) (fixed y2) (fixed y3)) : curve 1 1) (const_mx (l A1 y1 y2 y3))
    (fun a => P1 (a 0 0 *: dl A1 y1 y2 y3)).
Proof.
move=> [<- E1]; rewrite /ext_loss1_3 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite !mxE.
by rewrite -E1 !dotmZl -?mulrDr dotm11 !mxE.
Qed.
End Opaque1_3.
Section Opaque2_1.
Variables (m1 n1 m2 n2 p1 q1 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(m2, n2).
Definition ext_loss2_1 (F1 : curve m1 n1) (F2 : curve m2 n2) (Y1 : curve p1 q1) : dual R :=
  Dual (l (mre F1) (mre F2) (mre Y1))
    (<< dl1 (mre F1) (mre F2) (mre Y1), mdu F1 >> + << dl2 (mre F1) (mre F2) (mre Y1), mdu F2 >>).
Lemma pull_opaque2_1 y1 (F1 : curve m1 n1) (F2 : curve m2 n2) A1 A2 P1 P2 :
  pull F1 A1 P1 -> pull F2 A2 P2 ->
  pull (const_mx (ext_loss2_1 F1 F2 (fixed y1)) : curve 1 1) (const_mx (l A1 A2 y1))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 y1) + P2 (a 0 0 *: dl2 A1 A2 y1)).
Proof.
move=> [<- E1] [<- E2]; rewrite /ext_loss2_1 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite !mxE.
by rewrite -E1 -E2 !dotmZl -?mulrDr dotm11 !mxE.
Qed.
End Opaque2_1.
Section Opaque2_2.
Variables (m1 n1 m2 n2 p1 q1 p2 q2 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) ->
    R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(p1, q1) -> 'M[R]_(p2, q2) -> 'M[R]_(m2, n2).
Definition ext_loss2_2 (F1 : curve m1 n1) (F2 : curve m2 n2) (Y1 : curve p1 q1) (Y2 : curve p2 q2) : dual R :=
  Dual (l (mre F1) (mre F2) (mre Y1) (mre Y2))
    (<< dl1 (mre F1) (mre F2) (mre Y1) (mre Y2), mdu F1 >> + << dl2 (mre F1) (mre F2) (mre Y1) (mre Y2), mdu F2 >>).
Lemma pull_opaque2_2 y1 y2 (F1 : curve m1 n1) (F2 : curve m2 n2) A1 A2 P1 P2 :
  pull F1 A1 P1 -> pull F2 A2 P2 ->
  pull (const_mx (ext_loss2_2 F1 F2 (fixed y1) (fixed y2)) : curve 1 1) (const_mx (l A1 A2 y1 y2))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 y1 y2) + P2 (a 0 0 *: dl2 A1 A2 y1 y2)).
Proof.
move=> [<- E1] [<- E2]; rewrite /ext_loss2_2 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite !mxE.
by rewrite -E1 -E2 !dotmZl -?mulrDr dotm11 !mxE.
Qed.
End Opaque2_2.
Section Opaque3_0.
Variables (m1 n1 m2 n2 m3 n3 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(m2, n2).
Variable dl3 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(m3, n3).
Definition ext_loss3_0 (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) : dual R :=
  Dual (l (mre F1) (mre F2) (mre F3))
    (<< dl1 (mre F1) (mre F2) (mre F3), mdu F1 >> + << dl2 (mre F1) (mre F2) (mre F3), mdu F2 >> + << dl3 (mre F1)
        (mre F2) (mre F3), mdu F3 >>).
Lemma pull_opaque3_0 (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) A1 A2 A3 P1 P2 P3 :
  pull F1 A1 P1 -> pull F2 A2 P2 -> pull F3 A3 P3 ->
  pull (const_mx (ext_loss3_0 F1 F2 F3) : curve 1 1) (const_mx (l A1 A2 A3))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 A3) + P2 (a 0 0 *: dl2 A1 A2 A3) + P3 (a 0 0 *: dl3 A1 A2 A3)).
Proof.
move=> [<- E1] [<- E2] [<- E3]; rewrite /ext_loss3_0 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite
    !mxE.
by rewrite -E1 -E2 -E3 !dotmZl -?mulrDr dotm11 !mxE.
Qed.
End Opaque3_0.
Section Opaque3_1.
Variables (m1 n1 m2 n2 m3 n3 p1 q1 : nat) (l : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) ->
    R).
Variable dl1 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) -> 'M[R]_(m1, n1).
Variable dl2 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) -> 'M[R]_(m2, n2).
Variable dl3 : 'M[R]_(m1, n1) -> 'M[R]_(m2, n2) -> 'M[R]_(m3, n3) -> 'M[R]_(p1, q1) -> 'M[R]_(m3, n3).
Definition ext_loss3_1 (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) (Y1 : curve p1 q1) : dual R :=
  Dual (l (mre F1) (mre F2) (mre F3) (mre Y1))
    (<< dl1 (mre F1) (mre F2) (mre F3) (mre Y1), mdu F1 >> + << dl2 (mre F1) (mre F2) (mre F3) (mre Y1), mdu F2 >> +
        << dl3 (mre F1) (mre F2) (mre F3) (mre Y1), mdu F3 >>).
Lemma pull_opaque3_1 y1 (F1 : curve m1 n1) (F2 : curve m2 n2) (F3 : curve m3 n3) A1 A2 A3 P1 P2 P3 :
  pull F1 A1 P1 -> pull F2 A2 P2 -> pull F3 A3 P3 ->
  pull (const_mx (ext_loss3_1 F1 F2 F3 (fixed y1)) : curve 1 1) (const_mx (l A1 A2 A3 y1))
    (fun a => P1 (a 0 0 *: dl1 A1 A2 A3 y1) + P2 (a 0 0 *: dl2 A1 A2 A3 y1) + P3 (a 0 0 *: dl3 A1 A2 A3 y1)).
Proof.
move=> [<- E1] [<- E2] [<- E3]; rewrite /ext_loss3_1 ?mre_fixed; split=> [|a]; first by apply/matrixP => i j; rewrite
    !mxE.
by rewrite -E1 -E2 -E3 !dotmZl -?mulrDr dotm11 !mxE.
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
Notation curve R m n := 'M[dual R]_(m, n).
