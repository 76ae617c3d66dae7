(* The tactics mxring, pairring, sumring on true and false equations. *)
From mathcomp Require Import all_ssreflect all_algebra.
From symbptt Require Import matrices normal.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section True.
Variables (R : comRingType) (d h q : nat).
Record point := Point { W : 'M[R]_h; U : 'M[R]_(h, d); Q : 'M[R]_(q, h); b : 'cV[R]_h }.
Variables (p : point) (tanh : R -> R) (softmax : forall n, 'cV[R]_n -> 'cV[R]_n).
Variables (x : nat -> 'cV[R]_d) (u v w g : nat -> 'cV[R]_h) (e : nat -> 'cV[R]_q) (s z : nat -> 'cV[R]_1).
Variables (A B M : 'M[R]_h) (r : 'rV[R]_h) (k l half two : R) (t T : nat).

(* sums, scalars, opposite *)
Goal A *m (u t + v t) = A *m v t + A *m u t. Proof. mxring. Qed.
Goal A - B - (A - B) = 0. Proof. mxring. Qed.
Goal k *: (A *m (l *: B)) = (l * k) *: (A *m B). Proof. mxring. Qed.
Goal A *+ 3 - A = 2%:R *: A. Proof. mxring. Qed.
Goal (k + l) ^+ 2 *: A = k ^+ 2 *: A + (2%:R * k * l) *: A + l ^+ 2 *: A. Proof. mxring. Qed.
Goal 1%:M *m A = A *m 1%:M. Proof. mxring. Qed.
Goal k%:M *m A = k *: A. Proof. mxring. Qed.
Goal (A *m B)^T *m u t = B^T *m (A^T *m u t). Proof. mxring. Qed.
Goal ((A + B) *m u t)^T *m A = (u t)^T *m A^T *m A + (u t)^T *m B^T *m A. Proof. mxring. Qed.
(* diagonal matrices and entrywise products *)
Goal (W p)^T *m (dg (const_mx 1 - hadm (u t.+1) (u t.+1)) *m g t.+1) + (Q p)^T *m e t =
  (Q p)^T *m e t + (W p)^T *m g t.+1 - (W p)^T *m hadm (u t.+1) (hadm (g t.+1) (u t.+1)).
Proof. mxring. Qed.
Goal dg (u t) *m (dg (v t) *m w t) = dg (w t) *m (dg (u t) *m v t). Proof. mxring. Qed.
Goal A *m dg (u t) *m dg (v t) *m B = A *m dg (hadm (v t) (u t)) *m B. Proof. mxring. Qed.
Goal (A *m dg (u t))^T = dg (u t) *m A^T. Proof. mxring. Qed.
Goal dg (A *m u t) *m v t = dg (v t) *m A *m u t. Proof. mxring. Qed.
Goal dg (k *: u t - v t) *m w t = k *: hadm (w t) (u t) - hadm (v t) (w t). Proof. mxring. Qed.
Goal dg (const_mx 1 : 'cV[R]_h) *m A = A. Proof. mxring. Qed.
Goal dg (u t) *m const_mx 1 = u t. Proof. mxring. Qed.
Goal const_mx k = k *: const_mx 1 :> 'cV[R]_h. Proof. mxring. Qed.
Goal diagv (k *: (u t *m (v t)^T) - dg (w t) *m dg (u t)) = k *: hadm (v t) (u t) - hadm (u t) (w t).
Proof. mxring. Qed.
Goal diagv (A *m u t *m (B *m v t)^T) = dg (B *m v t) *m (A *m u t). Proof. mxring. Qed.
Goal << diagv (dg (w t) *m g t *m (u t)^T), b p >> = << hadm (u t) (hadm (g t) (w t)), b p >>. Proof. pairring. Qed.
Goal diagv A + diagv B = diagv B + diagv A. Proof. mxring. Qed.
(* entrywise products of matrices *)
Goal (hadm A M)^T *m u t = (hadm M A)^T *m u t. Proof. mxring. Qed.
Goal hadm (k *: A) M *m u t = k *: (hadm M A *m u t). Proof. mxring. Qed.
Goal hadm (u t *m (v t)^T) M = dg (u t) *m M *m dg (v t). Proof. mxring. Qed.
Goal hadm M (hadm A B) *m u t = hadm M (hadm A B) *m u t + 0. Proof. mxring. Qed.
(* products through size 1 *)
Goal (u t)^T *m v t *m (x t)^T = msc ((v t)^T *m u t) (x t)^T. Proof. mxring. Qed.
Goal (u t)^T *m v t = (v t)^T *m u t. Proof. mxring. Qed.
Goal ((u t)^T *m A *m v t) 0 0 *: B = ((A *m v t)^T *m u t) 0 0 *: B. Proof. mxring. Qed.
Goal (u t)^T *m A *m B *m v t = (B *m v t)^T *m (A^T *m u t). Proof. mxring. Qed.
Goal (u t)^T *m A *m hadm (v t) (B *m w t) = (w t)^T *m B^T *m (dg (v t) *m (A^T *m u t)). Proof. mxring. Qed.
Goal msc (s t) A = msc (s t)^T A. Proof. mxring. Qed.
Goal u t *m s t *m z t = msc (z t) (u t *m s t). Proof. mxring. Qed.
Goal hadm (s t) (z t) = z t *m s t. Proof. mxring. Qed.
Goal dg (s t) *m z t = z t *m s t. Proof. mxring. Qed.
Goal r *m u t *m r = r *m (u t *m r). Proof. mxring. Qed.
Goal (u t *m r)^T = r^T *m (u t)^T. Proof. mxring. Qed.
Goal u t *m (v t)^T *m w t *m (x t)^T = ((v t)^T *m w t) 0 0 *: (u t *m (x t)^T). Proof. mxring. Qed.
Goal << u t, A *m v t >> *: B = ((v t)^T *m A^T *m u t) 0 0 *: B. Proof. mxring. Qed.
(* letters of all kinds *)
Goal sel (h + d) h 0 *m u t + sel (h + d) d h *m x t = sel (h + d) d h *m x t + sel (h + d) h 0 *m u t.
Proof. mxring. Qed.
Goal (dg (softmax (u t)) - softmax (u t) *m (softmax (u t))^T) *m g t =
  hadm (softmax (u t)) (g t) - msc ((softmax (u t))^T *m g t) (softmax (u t)).
Proof. mxring. Qed.
Goal (W p)^T *m hadm (map_mx tanh (W p *m u t.-1)) (g t) = (W p)^T *m dg (g t) *m map_mx tanh (W p *m u t.-1).
Proof. mxring. Qed.
Goal mxpow A t *m (k *: u t) = k *: (mxpow A t *m u t). Proof. mxring. Qed.
Goal A *m u t.+1.-1 + B *m u (0 + t)%N = B *m u t + A *m u t. Proof. mxring. Qed.
Goal (fun a => A *m a + a) (u t) = u t + A *m (fun i => u i) t. Proof. mxring. Qed.
(* quantified equations are introduced *)
Goal forall i, (1 <= i <= T)%N -> A *m u i - A *m u i = 0. Proof. mxring. Qed.
(* coefficients with hypotheses *)
Hypothesis halves : half * 2%:R = 1.
Goal half *: (u t + u t) = u t. Proof. mxring: halves. Qed.
Goal half *: (A *m u t) + half *: (A *m u t) - u t = (A - 1%:M) *m u t. Proof. mxring: halves. Qed.
Hypothesis kl : k = l + 1.
Goal half *: (u t *+ 2) + k *: v t = u t + (l *: v t + v t). Proof. mxring: halves kl. Qed.
(* numbers *)
Goal ((u t)^T *m v t) 0 0 * k - k * ((v t)^T *m u t) 0 0 = 0. Proof. mxring. Qed.

(* pairings *)
Goal << A^T *m u t, v t >> + << u t *m (x t)^T, U p >> =
  << k *: (u t *m (x t)^T), U p >> + (1 - k) * << u t *m (x t)^T, U p >> + << u t, A *m v t >>.
Proof. pairring. Qed.
Goal << dg (u t) *m g t *m (x t)^T, U p >> + << (U p)^T *m (dg (u t) *m g t), x t >> + << dg (u t) *m g t, b p >> =
  << hadm (u t) (g t), b p >> + (<< hadm (g t) (u t) *m (x t)^T, U p >> + << (U p)^T *m hadm (g t) (u t), x t >>).
Proof. pairring. Qed.
Goal << A - B, M >> - << A, M >> *+ 2 = - (<< B, M >> + << A, M >>). Proof. pairring. Qed.
Goal half * << A, M >> + half * << A, M >> = << A, M >>. Proof. pairring: halves. Qed.
Goal << u t, v t >> = << v t, u t >>. Proof. pairring. Qed.
Goal << hadm M (u t *m (v t)^T), A >> = << dg (u t) *m M *m dg (v t), A >>. Proof. pairring. Qed.
Goal k * << A, M >> + l * k = k * (<< A, M >> + l). Proof. pairring. Qed.

(* sums *)
Goal \sum_(1 <= i < T.+1) A *m (u i + v i) = \sum_(1 <= i < T.+1) (A *m v i + A *m u i). Proof. sumring. Qed.
Goal A *m (\sum_(t <= i < T.+1) mxpow B (i - t) *m (M *m u i)) *m (x t)^T =
  \sum_(t <= i < T.+1) A *m mxpow B (i - t) *m M *m u i *m (x t)^T.
Proof. sumring. Qed.
Goal k *: (\sum_(t <= i < T.+1) A *m u i) + \sum_(t <= i < T.+1) v i = \sum_(t <= i < T.+1) (v i + A *m (k *: u i)).
Proof. sumring. Qed.
Goal \sum_(1 <= i < T.+1) (\sum_(i <= j < T.+1) A *m u j) *m (x i)^T =
  \sum_(1 <= i < T.+1) \sum_(i <= j < T.+1) A *m (u j *m (x i)^T).
Proof. sumring. Qed.
Goal << \sum_(1 <= i < T.+1) u i *m (x i)^T, U p >> = \sum_(1 <= i < T.+1) << u i *m (x i)^T, U p >>.
Proof. sumring. Qed.
End True.

(* every carrier that is a commutative ring *)
Section Fields.
Variables (F : fieldType) (h : nat) (A B : 'M[F]_h) (u : 'cV[F]_h) (k : F).
Goal k^-1 *: (A *m (B *m u)) = A *m B *m (k^-1 *: u). Proof. mxring. Qed.
Goal << A *m u, u >> = << u, A^T *m u >>. Proof. pairring. Qed.
End Fields.

Section False.
Variables (R : comRingType) (d h : nat) (A B M : 'M[R]_h) (U : 'M[R]_(h, d)) (u v w : 'cV[R]_h) (x : 'cV[R]_d).
Variables (k l : R) (s : 'cV[R]_1).
(* a missing transpose *)
Goal A *m u = A^T *m u. Proof. Fail mxring. Abort.
Goal (A *m u)^T *m v = u^T *m (A *m v). Proof. Fail mxring. Abort.
Goal (A *m dg u)^T = dg u *m A. Proof. Fail mxring. Abort.
(* swapped factors *)
Goal A *m B *m u = B *m A *m u. Proof. Fail mxring. Abort.
Goal A *m dg u *m B = dg u *m A *m B. Proof. Fail mxring. Abort.
Goal u *m v^T = v *m u^T. Proof. Fail mxring. Abort.
Goal hadm u (A *m v) = hadm v (A *m u). Proof. Fail mxring. Abort.
(* a sign, a coefficient, a missing term, a wrong power *)
Goal A *m u - v = A *m u + v. Proof. Fail mxring. Abort.
Goal (A + A) *m u = A *m u. Proof. Fail mxring. Abort.
Goal k *: u = l *: u. Proof. Fail mxring. Abort.
Goal A *m u + v = A *m u. Proof. Fail mxring. Abort.
Goal dg (const_mx 1 - hadm u u) *m v = v - hadm u v. Proof. Fail mxring. Abort.
Goal dg (const_mx 1 - u) *m v = v - hadm u (hadm u v). Proof. Fail mxring. Abort.
(* scalars *)
Goal msc (u^T *m A *m v) M = msc (v^T *m A *m u) M. Proof. Fail mxring. Abort.
Goal msc s M = M. Proof. Fail mxring. Abort.
Goal u *m s = u. Proof. Fail mxring. Abort.
Goal hadm A M = A *m M. Proof. Fail mxring. Abort.
Goal u = 0. Proof. Fail mxring. Abort.
Goal diagv (A *m u *m v^T) = hadm (A *m v) u. Proof. Fail mxring. Abort.
Goal diagv A = diagv B. Proof. Fail mxring. Abort.
Goal dg u = 1%:M. Proof. Fail mxring. Abort.
(* a hypothesis about another number *)
Hypothesis kl : k * 2%:R = 1.
Goal l *: (u + u) = u. Proof. Fail mxring: kl. Abort.
(* pairings *)
Goal << A, M >> = << B, M >>. Proof. Fail pairring. Abort.
Goal << A, M >> + << B, M >> = << A, M >> - << B, M >>. Proof. Fail pairring. Abort.
Goal << u *m x^T, U >> = << v *m x^T, U >>. Proof. Fail pairring. Abort.
Goal << A *m u, v >> = << u, A *m v >>. Proof. Fail pairring. Abort.
Goal k * << A, M >> = << A, M >>. Proof. Fail pairring. Abort.
(* sums *)
Variables (T : nat) (f g : nat -> 'cV[R]_h).
Goal \sum_(1 <= i < T.+1) A *m f i = \sum_(1 <= i < T.+1) A *m g i. Proof. Fail sumring. Abort.
Goal \sum_(1 <= i < T.+1) A *m f i = \sum_(0 <= i < T.+1) A *m f i. Proof. Fail sumring. Abort.
End False.
