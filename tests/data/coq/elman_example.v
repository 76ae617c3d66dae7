(* A certificate by hand: the Elman network h_t = tanh (W_hx x_t + W_hh h_{t-1} + b_h), o_t = W_qh h_t + b_q,
   L = (1/T) Σ_t l(o_t, y_t). One sample; samples are summed. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype derive.
From symbptt Require Import matrices normal closed pairing.
From symbptt Require formal real.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* The model, over any commutative ring                                                                              *)
Section Model.
Variables (R : comRingType) (d h q T : nat).
Variables (tanh : R -> R) (inv_T : R) (l : 'cV[R]_q -> 'cV[R]_q -> R) (y : nat -> 'cV[R]_q).

(* everything that has a gradient; h_past k is the state at time - k *)
Record point := Point {
  W_hx : 'M[R]_(h, d); W_hh : 'M[R]_(h, h); b_h : 'cV[R]_h; W_qh : 'M[R]_(q, h); b_q : 'cV[R]_q;
  x : nat -> 'cV[R]_d; h_past : nat -> 'cV[R]_h }.
(* the values k steps back *)
Record history := History { past_h : nat -> 'cV[R]_h; past_o : nat -> 'cV[R]_q }.

Definition eq_h (p : point) t (s : history) := map_mx tanh (W_hx p *m x p t + W_hh p *m past_h s 0 + b_h p).
Definition eq_o (p : point) (h_t : 'cV[R]_h) := W_qh p *m h_t + b_q p.
Definition step (p : point) t (s : history) : history :=
  let h_t := eq_h p t s in
  let o_t := eq_o p h_t in
  History (push h_t (past_h s)) (push o_t (past_o s)).
(* the history at time t *)
Fixpoint upto (p : point) t : history :=
  if t is t'.+1 then step p t (upto p t') else History (h_past p) (fun=> 0).
Definition fh p t := past_h (upto p t) 0.
Definition fo p t := past_o (upto p t) 0.

Lemma lag_h p t k : past_h (upto p t) k = at_lag (fh p) (h_past p) k t.
Proof. exact: (at_lag_push (s := fun t => past_h (upto p t))). Qed.
Lemma h_0 p : fh p 0 = h_past p 0. Proof. by []. Qed.
Lemma h_eq p t : fh p t.+1 = map_mx tanh (W_hx p *m x p t.+1 + W_hh p *m at_lag (fh p) (h_past p) 1 t.+1 + b_h p).
Proof. by rewrite -[LHS]/(eq_h p t.+1 (upto p t)) /eq_h lag_h. Qed.
Lemma o_eq p t : fo p t.+1 = W_qh p *m fh p t.+1 + b_q p.
Proof. by []. Qed.
Definition loss p : R := \sum_(1 <= t < T.+1) inv_T * l (fo p t) (y t).
End Model.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* The backward equations at a point p: the recursion, the gradients, and the tangent equations                      *)
Section Backward.
Variables (R : comRingType) (d h q T : nat).
Variables (tanh : R -> R) (inv_T : R) (dl : 'cV[R]_q -> 'cV[R]_q -> 'cV[R]_q) (y : nat -> 'cV[R]_q).
Variable p : point R d h q.
Local Notation h_ := (fh tanh p).
Local Notation o_ := (fo tanh p).
Local Notation one := (const_mx 1).
Variables (g_h : nat -> 'cV[R]_h) (g_o : nat -> 'cV[R]_q).
Local Notation h_at k t := (at_lag h_ (h_past p) k t).

Record recursion : Prop := Recursion {
  rec_o : forall t, (1 <= t <= T)%N -> g_o t = inv_T *: dl (o_ t) (y t);
  rec_h : forall t, (1 <= t <= T)%N ->
    g_h t = (W_hh p)^T *m (dg (one - hadm (h_ t.+1) (h_ t.+1)) *m g_h t.+1) + (W_qh p)^T *m g_o t;
  end_o : forall t, (T < t)%N -> g_o t = 0;
  end_h : forall t, (T < t)%N -> g_h t = 0 }.

Definition dL_dW_hx := \sum_(1 <= t < T.+1) dg (one - hadm (h_ t) (h_ t)) *m g_h t *m (x p t)^T.
Definition dL_dW_hh := \sum_(1 <= t < T.+1) dg (one - hadm (h_ t) (h_ t)) *m g_h t *m (h_ t.-1)^T.
Definition dL_db_h := \sum_(1 <= t < T.+1) dg (one - hadm (h_ t) (h_ t)) *m g_h t.
Definition dL_dW_qh := \sum_(1 <= t < T.+1) g_o t *m (h_ t)^T.
Definition dL_db_q := \sum_(1 <= t < T.+1) g_o t.
Definition dL_dx t := (W_hx p)^T *m (dg (one - hadm (h_ t) (h_ t)) *m g_h t).
Definition dL_dh_0 := (W_hh p)^T *m (dg (one - hadm (h_ 1) (h_ 1)) *m g_h 1).

(* the recursion has one solution: the closed form *)
Theorem closed_form : recursion -> forall t, (0 < t)%N ->
  g_h t = \sum_(t <= i < T.+1)
    (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) ((W_hh p)^T *m dg (one - hadm (h_ k) (h_ k))))
    *m ((W_qh p)^T *m (inv_T *: dl (o_ i) (y i))).
Proof.
move=> rec t t1; rewrite (closed_varying (A := fun k => (W_hh p)^T *m dg (one - hadm (h_ k) (h_ k)))
  (c := fun i => (W_qh p)^T *m g_o i) _ (end_h rec) t1) => [|s sT]; last by rewrite (rec_h rec sT) mulmxA.
by apply: eq_big_nat => i /andP[ti iT]; rewrite (rec_o rec) // (leq_trans t1 ti).
Qed.

(* v a direction; dh, do the tangents of the families. The rule of each equation. *)
Variables (v : point R d h q) (dh : nat -> 'cV[R]_h) (do : nat -> 'cV[R]_q).
Definition rule_h t (a : 'cV[R]_h) : R :=
  << dg (one - hadm (h_ t) (h_ t)) *m a *m (x p t)^T, W_hx v >>
  + << (W_hx p)^T *m (dg (one - hadm (h_ t) (h_ t)) *m a), x v t >>
  + << dg (one - hadm (h_ t) (h_ t)) *m a *m (h_at 1 t)^T, W_hh v >>
  + << (W_hh p)^T *m (dg (one - hadm (h_ t) (h_ t)) *m a), at_lag dh (h_past v) 1 t >>
  + << dg (one - hadm (h_ t) (h_ t)) *m a, b_h v >>.
Definition rule_o t (a : 'cV[R]_q) : R :=
  << a *m (h_ t)^T, W_qh v >> + << (W_qh p)^T *m a, dh t >> + << a, b_q v >>.

Hypothesis rec : recursion.
Hypothesis dh_0 : dh 0 = h_past v 0.
Hypothesis dh_rule : forall t a, (1 <= t <= T)%N -> << a, dh t >> = rule_h t a.
Hypothesis do_rule : forall t a, (1 <= t <= T)%N -> << a, do t >> = rule_o t a.

(* the terms of the edges: e_u_v s is what the equation of v at time s sends to u *)
Let e_hh s := << (W_hh p)^T *m (dg (one - hadm (h_ s) (h_ s)) *m g_h s), at_lag dh (h_past v) 1 s >>.
Let e_ho s := << (W_qh p)^T *m g_o s, dh s >>.

Lemma end_hh s : (T < s)%N -> e_hh s = 0.
Proof. by move=> /(end_h rec) g0; rewrite /e_hh g0 !mulmx0 dotm0l. Qed.

(* forward = backward at one time *)
Lemma balance_h t : (1 <= t <= T)%N -> rule_h t (g_h t) = e_hh t.+1 + e_ho t.
Proof. by move=> tT; rewrite -dh_rule // /e_hh /e_ho {1}(rec_h rec tT) dotmDl. Qed.
Lemma balance_o t : (1 <= t <= T)%N -> rule_o t (g_o t) = << inv_T *: dl (o_ t) (y t), do t >>.
Proof. by move=> tT; rewrite -do_rule // {1}(rec_o rec tT). Qed.

(* the sum over time: the tangent of the loss *)
Lemma adjoint : \sum_(1 <= t < T.+1) << inv_T *: dl (o_ t) (y t), do t >>
  = << dL_dW_hx, W_hx v >> + << dL_dW_hh, W_hh v >> + << dL_db_h, b_h v >> + << dL_dW_qh, W_qh v >> + << dL_db_q, b_q v >>
    + \sum_(1 <= t < T.+1) << dL_dx t, x v t >> + << dL_dh_0, h_past v 0 >>.
Proof.
have Sh := sum_eq balance_h; have So := sum_eq balance_o.
have shift_hh : \sum_(1 <= s < T.+1) e_hh s = \sum_(1 <= t < T.+1) e_hh t.+1 + << dL_dh_0, h_past v 0 >>.
  by rewrite (shift_sum 1 end_hh); congr (_ + _); rewrite /first /e_hh /= dh_0.
rewrite /rule_h /rule_o !sum_add in Sh So.
have E_W_hh : << dL_dW_hh, W_hh v >> = \sum_(1 <= t < T.+1)
    << dg (one - hadm (h_ t) (h_ t)) *m g_h t *m (h_at 1 t)^T, W_hh v >>.
  by rewrite /dL_dW_hh dotm_suml; apply: sum_eq => -[//|t] _.
rewrite E_W_hh /dL_dW_hx /dL_db_h /dL_dW_qh /dL_db_q !dotm_suml.
rewrite /dL_dx /e_ho /e_hh in Sh So shift_hh *.
telescope (addE (addE Sh So) (esym shift_hh)).
Qed.
End Backward.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Level A: the derivative in dual numbers, any commutative ring, any function tanh and any loss                     *)
Module Formal.
Import formal.
Section LevelA.
Variables (R : comRingType) (d h q T : nat).
Variables (tanh : R -> R) (inv_T : R) (l : 'cV[R]_q -> 'cV[R]_q -> R) (dl : 'cV[R]_q -> 'cV[R]_q -> 'cV[R]_q).
Variables (y : nat -> 'cV[R]_q) (p v : point R d h q) (g_h : nat -> 'cV[R]_h) (g_o : nat -> 'cV[R]_q).
Hypothesis rec : recursion T tanh inv_T dl y p g_h g_o.

Definition moved : point [comRingType of dual R] d h q :=
  Point (line (W_hx p) (W_hx v)) (line (W_hh p) (W_hh v)) (line (b_h p) (b_h v)) (line (W_qh p) (W_qh v))
    (line (b_q p) (b_q v)) (fun t => line (x p t) (x v t)) (fun k => line (h_past p k) (h_past v k)).
Let ch t := fh (ext_tanh tanh) moved t.
Let co t := fo (ext_tanh tanh) moved t.
Let dh t := tangent (ch t).
Let do t := tangent (co t).
Local Notation h_ := (fh tanh p).
Local Notation o_ := (fo tanh p).

Lemma pull_past_h k : pull (h_past moved k) (h_past p k) (fun a => << a, h_past v k >>).
Proof. exact: pull_line. Qed.
Lemma step_h t : (forall s, (s < t.+1)%N -> pull (ch s) (h_ s) (fun a => << a, dh s >>)) ->
  pull (ch t.+1) (h_ t.+1) (rule_h tanh p v dh t.+1).
Proof.
move=> IH; apply: pull_same (pull_eq (h_eq _ moved t) (pull_tanh (pullD (pullD
  (pullM (pull_line _ _) (pull_line _ _))
  (pullM (pull_line _ _) (pull_at_lag (k := 1) isT IH pull_past_h)))
  (pull_line _ _)) (h_eq _ p t))) _ => a.
by rewrite /rule_h; pairring.
Qed.
Lemma step_o t : pull (ch t.+1) (h_ t.+1) (fun a => << a, dh t.+1 >>) ->
  pull (co t.+1) (o_ t.+1) (rule_o tanh p v dh t.+1).
Proof.
move=> H; apply: pull_same (pull_eq (o_eq _ moved t) (pull_at (esym (o_eq _ p t)) (pullD
  (pullM (pull_line _ _) H)
  (pull_line _ _)))) _ => a.
by rewrite /rule_o; pairring.
Qed.

Lemma pull_h t : (t <= T)%N -> pull (ch t) (h_ t) (fun a => << a, dh t >>).
Proof.
elim/ltn_ind: t => -[|t] IH tT; first exact: pull_tangent (pull_past_h 0).
by apply: pull_tangent (step_h _) => s st; apply: IH => //; apply: leq_trans tT; apply: ltnW.
Qed.
Lemma pull_o t : (1 <= t <= T)%N -> pull (co t) (o_ t) (fun a => << a, do t >>).
Proof. by case: t => // t tT; apply: pull_tangent (step_o (pull_h tT)). Qed.

Lemma dh_0 : dh 0 = h_past v 0. Proof. exact: tangent_line. Qed.
Lemma dh_rule t a : (1 <= t <= T)%N -> << a, dh t >> = rule_h tanh p v dh t a.
Proof.
case: t => // t tT; apply: (pullP (step_h _)) => s st; apply: pull_h; apply: leq_trans tT.
exact: ltnW.
Qed.
Lemma do_rule t a : (1 <= t <= T)%N -> << a, do t >> = rule_o tanh p v dh t a.
Proof. by case: t => // t tT; apply: (pullP (step_o (pull_h tT))). Qed.

Theorem formal_gradient :
  du (loss T (ext_tanh tanh) (lift inv_T) (ext_loss l dl) (fun t => fixed (y t)) moved)
  = << dL_dW_hx T tanh p g_h, W_hx v >> + << dL_dW_hh T tanh p g_h, W_hh v >> + << dL_db_h T tanh p g_h, b_h v >>
    + << dL_dW_qh T tanh p g_o, W_qh v >> + << dL_db_q T g_o, b_q v >>
    + \sum_(1 <= t < T.+1) << dL_dx tanh p g_h t, x v t >> + << dL_dh_0 tanh p g_h, h_past v 0 >>.
Proof.
rewrite -(adjoint rec dh_0 dh_rule do_rule).
apply: pull_gradient (pull_csum (fun t (tT : (1 <= t < T.+1)%N) =>
  pull_cZ inv_T (pull_opaque l dl (y t) (pull_o tT)))) _ _ => //.
by apply: sum_eq => t _; rewrite !mxE mulr1.
Qed.
End LevelA.
End Formal.
Print Assumptions Formal.formal_gradient.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Level B: the derivative of the real function, tanh of the reals, any loss with the gradient dl                    *)
Module Real.
Import real.
Section LevelB.
Variables (R : realType) (d h q T : nat).
Variables (inv_T : R) (l : 'cV[R]_q -> 'cV[R]_q -> R) (dl : 'cV[R]_q -> 'cV[R]_q -> 'cV[R]_q).
Variables (y : nat -> 'cV[R]_q) (p v : point R d h q) (g_h : nat -> 'cV[R]_h) (g_o : nat -> 'cV[R]_q).
Local Notation tanh := (@tanh R).
Hypothesis rec : recursion T tanh inv_T dl y p g_h g_o.
Hypothesis loss_grad : forall t, (1 <= t <= T)%N ->
  is_grad (fun o => l o (y t)) (fo tanh p t) (dl (fo tanh p t) (y t)).

Definition moved (s : R) : point R d h q :=
  Point (line (W_hx p) (W_hx v) s) (line (W_hh p) (W_hh v) s) (line (b_h p) (b_h v) s) (line (W_qh p) (W_qh v) s)
    (line (b_q p) (b_q v) s) (fun t => line (x p t) (x v t) s) (fun k => line (h_past p k) (h_past v k) s).
Let ch t s := fh tanh (moved s) t.
Let co t s := fo tanh (moved s) t.
Let dh t := tangent (ch t).
Let do t := tangent (co t).
Local Notation h_ := (fh tanh p).
Local Notation o_ := (fo tanh p).

Lemma pull_past_h k : pull (fun s => h_past (moved s) k) (h_past p k) (fun a => << a, h_past v k >>).
Proof. exact: pull_line. Qed.
Lemma step_h t : (forall s, (s < t.+1)%N -> pull (ch s) (h_ s) (fun a => << a, dh s >>)) ->
  pull (ch t.+1) (h_ t.+1) (rule_h tanh p v dh t.+1).
Proof.
move=> IH; apply: pull_same (pull_eq (fun s => h_eq _ (moved s) t) (pull_tanh (pullD (pullD
  (pullM (pull_line _ _) (pull_line _ _))
  (pullM (pull_line _ _) (pull_at_lag (k := 1) isT IH pull_past_h)))
  (pull_line _ _)) (h_eq _ p t))) _ => a.
by rewrite /rule_h; pairring.
Qed.
Lemma step_o t : pull (ch t.+1) (h_ t.+1) (fun a => << a, dh t.+1 >>) ->
  pull (co t.+1) (o_ t.+1) (rule_o tanh p v dh t.+1).
Proof.
move=> H; apply: pull_same (pull_eq (fun s => o_eq _ (moved s) t) (pull_at (esym (o_eq _ p t)) (pullD
  (pullM (pull_line _ _) H)
  (pull_line _ _)))) _ => a.
by rewrite /rule_o; pairring.
Qed.

Lemma pull_h t : (t <= T)%N -> pull (ch t) (h_ t) (fun a => << a, dh t >>).
Proof.
elim/ltn_ind: t => -[|t] IH tT; first exact: pull_tangent (pull_past_h 0).
by apply: pull_tangent (step_h _) => s st; apply: IH => //; apply: leq_trans tT; apply: ltnW.
Qed.
Lemma pull_o t : (1 <= t <= T)%N -> pull (co t) (o_ t) (fun a => << a, do t >>).
Proof. by case: t => // t tT; apply: pull_tangent (step_o (pull_h tT)). Qed.

Lemma dh_0 : dh 0 = h_past v 0. Proof. exact: tangent_line. Qed.
Lemma dh_rule t a : (1 <= t <= T)%N -> << a, dh t >> = rule_h tanh p v dh t a.
Proof.
case: t => // t tT; apply: (pullP (step_h _)) => s st; apply: pull_h; apply: leq_trans tT.
exact: ltnW.
Qed.
Lemma do_rule t a : (1 <= t <= T)%N -> << a, do t >> = rule_o tanh p v dh t a.
Proof. by case: t => // t tT; apply: (pullP (step_o (pull_h tT))). Qed.

Theorem gradient :
  is_derive (0 : R) (1 : R) (fun s => loss T tanh inv_T l y (moved s))
   (<< dL_dW_hx T tanh p g_h, W_hx v >> + << dL_dW_hh T tanh p g_h, W_hh v >> + << dL_db_h T tanh p g_h, b_h v >>
    + << dL_dW_qh T tanh p g_o, W_qh v >> + << dL_db_q T g_o, b_q v >>
    + \sum_(1 <= t < T.+1) << dL_dx tanh p g_h t, x v t >> + << dL_dh_0 tanh p g_h, h_past v 0 >>).
Proof.
rewrite -(adjoint rec dh_0 dh_rule do_rule).
apply: pull_gradient (pull_csum (fun t (tT : (1 <= t < T.+1)%N) =>
  pull_cZ inv_T (pull_opaque l dl (y t) (pull_o tT) (loss_grad tT)))) _ _ => //.
by apply: sum_eq => t _; rewrite !mxE mulr1.
Qed.
End LevelB.
End Real.
Print Assumptions Real.gradient.
