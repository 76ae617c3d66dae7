(* Recursion = closed form, as the engine prints it: linear, Elman, LSTM, two lags, five families. *)
From mathcomp Require Import all_ssreflect all_algebra.
From symbptt Require Import matrices normal closed.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Linear.
Variables (R : comRingType) (d h q T : nat).
Variables (W_hx : 'M[R]_(h, d)) (W_hh : 'M[R]_h) (W_qh : 'M[R]_(q, h)).
Variables (x : nat -> 'cV[R]_d) (h_ : nat -> 'cV[R]_h) (g_o : nat -> 'cV[R]_q) (g_h : nat -> 'cV[R]_h).
Hypothesis rec_h : forall t, (1 <= t <= T)%N -> g_h t = W_hh^T *m g_h t.+1 + W_qh^T *m g_o t.
Hypothesis end_h : forall t, (T < t)%N -> g_h t = 0.

Theorem linear_closed t : (0 < t)%N ->
  g_h t = \sum_(t <= i < T.+1) mxpow W_hh^T (i - t) *m W_qh^T *m g_o i.
Proof. by move=> t1; rewrite (closed_constant rec_h end_h t1); sumring. Qed.
Theorem linear_closed_rev t : (0 < t)%N ->
  g_h t = \sum_(t <= i < T.+1) mxpow W_hh^T (T - i) *m W_qh^T *m g_o (T + t - i)%N.
Proof. by move=> t1; rewrite (closed_constant_rev rec_h end_h t1); sumring. Qed.
Theorem linear_dW_hx : \sum_(1 <= t < T.+1) g_h t *m (x t)^T =
  \sum_(1 <= t < T.+1) \sum_(t <= i < T.+1) mxpow W_hh^T (i - t) *m W_qh^T *m g_o i *m (x t)^T.
Proof. by apply: eq_big_nat => t /andP[t1 _]; rewrite linear_closed //; sumring. Qed.
Theorem linear_dh_0 : W_hh^T *m g_h 1%N = \sum_(1 <= i < T.+1) mxpow W_hh^T i *m W_qh^T *m g_o i.
Proof.
rewrite linear_closed // mulmx_sumr; apply: eq_big_nat => i /andP[i1 _].
by rewrite [in RHS](mxpow_pred _ i1); mxring.
Qed.
(* forward *)
Variables (u dh : nat -> 'cV[R]_h).
Hypotheses (rec_dh : forall t, (1 <= t <= T)%N -> dh t = u t + W_hh *m dh t.-1) (start_dh : dh 0%N = 0).
Theorem linear_forward t : (t <= T)%N -> dh t = \sum_(1 <= i < t.+1) mxpow W_hh (t - i) *m u i.
Proof. by apply: forward_constant => // s sT; rewrite rec_dh //; mxring. Qed.
End Linear.

Section Elman.
Variables (R : comRingType) (d n q T : nat).
Variables (W_hx : 'M[R]_(n, d)) (W_hh : 'M[R]_n) (W_qh : 'M[R]_(q, n)).
Variables (x : nat -> 'cV[R]_d) (h : nat -> 'cV[R]_n) (g_o : nat -> 'cV[R]_q) (g_h : nat -> 'cV[R]_n).
Hypothesis rec_h : forall t, (1 <= t <= T)%N ->
  g_h t = W_hh^T *m (dg (const_mx 1 - hadm (h t.+1) (h t.+1)) *m g_h t.+1) + W_qh^T *m g_o t.
Hypothesis end_h : forall t, (T < t)%N -> g_h t = 0.

Theorem elman_closed t : (0 < t)%N -> g_h t = \sum_(t <= i < T.+1)
  (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) (W_hh^T *m dg (const_mx 1 - hadm (h k) (h k)))) *m W_qh^T *m g_o i.
Proof.
move=> t1; rewrite (@closed_varying _ _ _ T (fun k => W_hh^T *m dg (const_mx 1 - hadm (h k) (h k))) g_h
  (fun i => W_qh^T *m g_o i)) //; first by sumring.
by move=> s sT; rewrite rec_h //; mxring.
Qed.
Theorem elman_closed_rev t : (0 < t)%N -> g_h t = \sum_(t <= i < T.+1)
  (\big[mulmx/1%:M]_(t.+1 <= k < (T + t - i).+1) (W_hh^T *m dg (const_mx 1 - hadm (h k) (h k)))) *m W_qh^T *m
    g_o (T + t - i)%N.
Proof.
move=> t1; rewrite (@closed_varying_rev _ _ _ T (fun k => W_hh^T *m dg (const_mx 1 - hadm (h k) (h k))) g_h
  (fun i => W_qh^T *m g_o i)) //; first by sumring.
by move=> s sT; rewrite rec_h //; mxring.
Qed.
Theorem elman_dW_hh : \sum_(1 <= t < T.+1) dg (const_mx 1 - hadm (h t) (h t)) *m g_h t *m (h t.-1)^T =
  \sum_(1 <= t < T.+1) \sum_(t <= i < T.+1) dg (const_mx 1 - hadm (h t) (h t)) *m
    (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) (W_hh^T *m dg (const_mx 1 - hadm (h k) (h k)))) *m W_qh^T *m g_o i *m
    (h t.-1)^T.
Proof. by apply: eq_big_nat => t /andP[t1 _]; rewrite elman_closed //; sumring. Qed.
(* forward *)
Variables (u dh : nat -> 'cV[R]_n).
Hypotheses (start_dh : dh 0%N = 0)
  (rec_dh : forall t, (1 <= t <= T)%N -> dh t = u t + dg (const_mx 1 - hadm (h t) (h t)) *m (W_hh *m dh t.-1)).
Theorem elman_forward t : (t <= T)%N -> dh t = \sum_(1 <= i < t.+1)
  (\big[mulmx/1%:M]_(i.+1 <= k < t.+1) (W_hh^T *m dg (const_mx 1 - hadm (h k) (h k))))^T *m u i.
Proof. by apply: forward_varying => // s sT; rewrite rec_dh //; mxring. Qed.
End Elman.

Section LSTM.
Variables (R : comRingType) (n d q T : nat) (tanh : R -> R).
Variables (U_i U_f U_o U_g : 'M[R]_n) (W_p : 'M[R]_(q, n)) (x : nat -> 'cV[R]_d).
Variables (i f o g c h g_i g_f g_o g_g g_c g_h : nat -> 'cV[R]_n) (g_p : nat -> 'cV[R]_q).
Local Notation "'1v'" := (const_mx 1).
Local Notation th := (map_mx tanh).
Hypotheses
  (rec_h : forall t, (1 <= t <= T)%N -> g_h t =
     U_i^T *m (dg (hadm (i t.+1) (1v - i t.+1)) *m g_i t.+1) + U_f^T *m (dg (hadm (f t.+1) (1v - f t.+1)) *m g_f t.+1) +
     U_o^T *m (dg (hadm (o t.+1) (1v - o t.+1)) *m g_o t.+1) + U_g^T *m (dg (1v - hadm (g t.+1) (g t.+1)) *m g_g t.+1) +
     W_p^T *m g_p t)
  (rec_c : forall t, (1 <= t <= T)%N -> g_c t = dg (f t.+1) *m g_c t.+1 +
     dg (1v - hadm (th (c t)) (th (c t))) *m (dg (o t) *m g_h t))
  (rec_g : forall t, (1 <= t <= T)%N -> g_g t = dg (i t) *m g_c t)
  (rec_o : forall t, (1 <= t <= T)%N -> g_o t = dg (th (c t)) *m g_h t)
  (rec_f : forall t, (1 <= t <= T)%N -> g_f t = dg (c t.-1) *m g_c t)
  (rec_i : forall t, (1 <= t <= T)%N -> g_i t = dg (g t) *m g_c t).
Hypotheses (end_h : forall t, (T < t)%N -> g_h t = 0) (end_c : forall t, (T < t)%N -> g_c t = 0)
  (end_g : forall t, (T < t)%N -> g_g t = 0) (end_o : forall t, (T < t)%N -> g_o t = 0)
  (end_f : forall t, (T < t)%N -> g_f t = 0) (end_i : forall t, (T < t)%N -> g_i t = 0).

Definition G t : 'cV[R]_(n + n) := col_mx (g_c t) (g_h t).
Definition K t : 'M[R]_(n + n) := col_mx (row_mx (dg (f t)) 0)
  (row_mx (U_i^T *m dg (hadm (i t) (1v - i t)) *m dg (g t) + U_f^T *m dg (hadm (f t) (1v - f t)) *m dg (c t.-1) +
           U_g^T *m dg (1v - hadm (g t) (g t)) *m dg (i t))
          (U_o^T *m dg (hadm (o t) (1v - o t)) *m dg (th (c t)))).
Definition r t : 'cV[R]_(n + n) := col_mx 0 (W_p^T *m g_p t).
Definition N t : 'M[R]_(n + n) := col_mx (row_mx 1%:M (dg (1v - hadm (th (c t)) (th (c t))) *m dg (o t)))
  (row_mx 0 1%:M).
Definition P_c : 'M[R]_(n, n + n) := row_mx 1%:M 0.

(* the relations within one time, at all times *)
Lemma all_g t : (0 < t)%N -> g_g t = dg (i t) *m g_c t.
Proof. by apply: all_times rec_g end_g _ t => t /end_c ->; mxring. Qed.
Lemma all_o t : (0 < t)%N -> g_o t = dg (th (c t)) *m g_h t.
Proof. by apply: all_times rec_o end_o _ t => t /end_h ->; mxring. Qed.
Lemma all_f t : (0 < t)%N -> g_f t = dg (c t.-1) *m g_c t.
Proof. by apply: all_times rec_f end_f _ t => t /end_c ->; mxring. Qed.
Lemma all_i t : (0 < t)%N -> g_i t = dg (g t) *m g_c t.
Proof. by apply: all_times rec_i end_i _ t => t /end_c ->; mxring. Qed.

Lemma G_rec t : (1 <= t <= T)%N -> G t = N t *m (K t.+1 *m G t.+1 + r t).
Proof.
move=> tT; rewrite /G /N /K /r; blocks.
cells ltac:(rewrite ?(rec_c tT) ?(rec_h tT) ?(all_g (ltn0Sn t)) ?(all_o (ltn0Sn t)) ?(all_f (ltn0Sn t))
                    ?(all_i (ltn0Sn t)); mxring).
Qed.
Lemma G_end t : (T < t)%N -> G t = 0.
Proof. by move=> tT; rewrite /G end_c // end_h // col_mx0. Qed.
Theorem lstm_closed t : (0 < t)%N -> G t = \sum_(t <= j < T.+1)
  (\big[mulmx/1%:M]_(t.+1 <= k < j.+1) (N k.-1 *m K k)) *m N j *m r j.
Proof. by move=> t1; rewrite (closed_block G_rec G_end t1); sumring. Qed.
Theorem lstm_closed_rev t : (0 < t)%N -> G t = \sum_(t <= j < T.+1)
  (\big[mulmx/1%:M]_(t.+1 <= k < (T + t - j).+1) (N k.-1 *m K k)) *m N (T + t - j) *m r (T + t - j).
Proof. by move=> t1; rewrite (closed_block_rev G_rec G_end t1); sumring. Qed.
Lemma part_c t : g_c t = P_c *m G t. Proof. by rewrite /P_c /G; blocks; mxring. Qed.
Theorem lstm_dU_i : \sum_(1 <= t < T.+1) dg (hadm (i t) (1v - i t)) *m g_i t *m (h t.-1)^T =
  \sum_(1 <= t < T.+1) \sum_(t <= j < T.+1) dg (hadm (i t) (1v - i t)) *m dg (g t) *m P_c *m
    (\big[mulmx/1%:M]_(t.+1 <= k < j.+1) (N k.-1 *m K k)) *m N j *m r j *m (h t.-1)^T.
Proof.
apply: eq_big_nat => t /andP[t1 _]; rewrite (all_i t1) part_c lstm_closed //; sumring.
Qed.
End LSTM.

(* two lags: the family and its value one step later *)
Section SecondOrder.
Variables (R : comRingType) (h q T : nat) (W1 W2 : 'M[R]_h) (W_qh : 'M[R]_(q, h)).
Variables (g_o : nat -> 'cV[R]_q) (g_h : nat -> 'cV[R]_h).
Hypothesis rec_h : forall t, (1 <= t <= T)%N ->
  g_h t = W1^T *m g_h t.+1 + W2^T *m g_h t.+2 + W_qh^T *m g_o t.
Hypothesis end_h : forall t, (T < t)%N -> g_h t = 0.
Definition G2 t : 'cV[R]_(h + h) := col_mx (g_h t) (g_h t.+1).
Definition K2 : 'M[R]_(h + h) := col_mx (row_mx W1^T W2^T) (row_mx 1%:M 0).
Definition b2 t : 'cV[R]_(h + h) := col_mx (W_qh^T *m g_o t) 0.
Definition P2 : 'M[R]_(h, h + h) := row_mx 1%:M 0.
Lemma G2_rec t : (1 <= t <= T)%N -> G2 t = K2 *m G2 t.+1 + b2 t.
Proof. move=> tT; rewrite /G2 /K2 /b2; blocks; cells ltac:(rewrite ?(rec_h tT); mxring). Qed.
Lemma G2_end t : (T < t)%N -> G2 t = 0.
Proof. by move=> tT; rewrite /G2 !end_h ?col_mx0 // ltnW. Qed.
Theorem second_closed t : (0 < t)%N -> G2 t = \sum_(t <= i < T.+1) mxpow K2 (i - t) *m b2 i.
Proof. exact: closed_constant G2_rec G2_end t. Qed.
Lemma part2 t : g_h t = P2 *m G2 t. Proof. by rewrite /P2 /G2; blocks; mxring. Qed.
Theorem second_dh_0 : W1^T *m g_h 1%N + W2^T *m g_h 2%N =
  \sum_(1 <= i < T.+1) W1^T *m P2 *m mxpow K2 (i - 1) *m b2 i +
  \sum_(2 <= i < T.+1) W2^T *m P2 *m mxpow K2 (i - 2) *m b2 i.
Proof. by rewrite !part2 !second_closed //; congr (_ + _); sumring. Qed.
(* forward: the factor is the transpose of a block matrix *)
Variables (u dh : nat -> 'cV[R]_h) (dh_past : nat -> 'cV[R]_h).
Hypotheses (start_dh : dh 0%N = 0) (start_past : dh_past 1%N = 0)
  (rec_dh : forall t, (1 <= t <= T)%N -> dh t = u t + W1 *m dh t.-1 + W2 *m at_lag dh dh_past 2 t).
Definition V2 t : 'cV[R]_(h + h) := col_mx (dh t) (at_lag dh dh_past 1 t).
Definition F2 : 'M[R]_(h + h) := col_mx (row_mx W1^T 1%:M) (row_mx W2^T 0).
Definition u2 t : 'cV[R]_(h + h) := col_mx (u t) 0.
Theorem second_forward t : (t <= T)%N -> V2 t = \sum_(1 <= i < t.+1) mxpow F2^T (t - i) *m u2 i.
Proof.
apply: forward_constant => [|[//|s] sT]; first by rewrite /V2 /= start_dh start_past col_mx0.
by rewrite /V2 /F2 /u2 /=; blocks; cells ltac:(rewrite ?(rec_dh sT) ?at_lagSS; mxring).
Qed.
End SecondOrder.

(* five families *)
Section Five.
Variables (R : comRingType) (n q T : nat) (A B C D E : 'M[R]_n) (V : 'M[R]_(q, n)).
Variables (g_o : nat -> 'cV[R]_q) (g_a g_b g_c g_e g_f : nat -> 'cV[R]_n).
Hypotheses
  (rec_a : forall t, (1 <= t <= T)%N -> g_a t = A^T *m g_a t.+1 + A^T *m g_b t + A^T *m g_c t.+1)
  (rec_b : forall t, (1 <= t <= T)%N -> g_b t = B^T *m g_b t.+1 + B^T *m g_c t)
  (rec_c : forall t, (1 <= t <= T)%N -> g_c t = C^T *m g_c t.+1 + C^T *m g_e t + C^T *m g_f t.+1)
  (rec_e : forall t, (1 <= t <= T)%N -> g_e t = D^T *m g_e t.+1 + D^T *m g_f t)
  (rec_f : forall t, (1 <= t <= T)%N -> g_f t = E^T *m g_f t.+1 + B^T *m g_a t.+1 + V^T *m g_o t).
Hypothesis ends : forall t, (T < t)%N -> [/\ g_a t = 0, g_b t = 0, g_c t = 0, g_e t = 0 & g_f t = 0].
Definition G5 t : 'cV[R]_(n + (n + (n + (n + n)))) :=
  col_mx (g_a t) (col_mx (g_b t) (col_mx (g_c t) (col_mx (g_e t) (g_f t)))).
Definition row5 (a b c e f : 'M[R]_n) : 'M[R]_(n, n + (n + (n + (n + n)))) :=
  row_mx a (row_mx b (row_mx c (row_mx e f))).
Definition K5 := col_mx (row5 A^T 0 A^T 0 0) (col_mx (row5 0 B^T 0 0 0) (col_mx (row5 0 0 C^T 0 C^T)
  (col_mx (row5 0 0 0 D^T 0) (row5 B^T 0 0 0 E^T)))).
Definition N5 := col_mx (row5 1%:M A^T (A^T *m B^T) (A^T *m B^T *m C^T) (A^T *m B^T *m C^T *m D^T))
  (col_mx (row5 0 1%:M B^T (B^T *m C^T) (B^T *m C^T *m D^T)) (col_mx (row5 0 0 1%:M C^T (C^T *m D^T))
  (col_mx (row5 0 0 0 1%:M D^T) (row5 0 0 0 0 1%:M)))).
Definition r5 t : 'cV[R]_(n + (n + (n + (n + n)))) := col_mx 0 (col_mx 0 (col_mx 0 (col_mx 0 (V^T *m g_o t)))).
Lemma G5_rec t : (1 <= t <= T)%N -> G5 t = N5 *m (K5 *m G5 t.+1 + r5 t).
Proof.
move=> tT; rewrite /G5 /N5 /K5 /r5 /row5.
blocks.
cells ltac:(rewrite ?(rec_a tT) ?(rec_b tT) ?(rec_c tT) ?(rec_e tT) ?(rec_f tT); mxring).
Qed.
End Five.
(* a wrong closed form is not proved *)
Section Wrong.
Variables (R : comRingType) (h q T : nat) (W : 'M[R]_h) (Q : 'M[R]_(q, h)).
Variables (e : nat -> 'cV[R]_q) (g : nat -> 'cV[R]_h).
Hypothesis rec : forall t, (1 <= t <= T)%N -> g t = W^T *m g t.+1 + Q^T *m e t.
Hypothesis last : forall t, (T < t)%N -> g t = 0.
Goal forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) mxpow W (i - t) *m Q^T *m e i.
Proof. move=> t t1; rewrite (closed_constant rec last t1). Fail sumring. Abort.
Goal forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) mxpow W^T (T - i) *m Q^T *m e i.
Proof. move=> t t1; rewrite (closed_constant_rev rec last t1). Fail sumring. Abort.
End Wrong.
