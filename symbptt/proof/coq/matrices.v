(* Matrices of any size over a commutative ring: the operations a certificate is written with, and the Frobenius
   pairing. Every family of a certificate is a column 'cV[R]_n (one sample). *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* The operations                                                                                                    *)

(* the entrywise product *)
Definition hadm (R : ringType) m n (A B : 'M[R]_(m, n)) : 'M[R]_(m, n) := \matrix_(i, j) (A i j * B i j).
(* diag(v), v a column *)
Definition dg (R : ringType) n (v : 'cV[R]_n) : 'M[R]_n := diag_mx v^T.
(* the diagonal of a square matrix, as a column *)
Definition diagv (R : ringType) n (A : 'M[R]_n) : 'cV[R]_n := \col_i A i i.
(* a 1 x 1 matrix times a matrix *)
Definition msc (R : ringType) m n (s : 'M[R]_1) (A : 'M[R]_(m, n)) : 'M[R]_(m, n) := s 0 0 *: A.
(* the Frobenius pairing <A, B> = tr (A^T B) *)
Definition dotm (R : ringType) m n (A B : 'M[R]_(m, n)) : R := \tr (A^T *m B).
Notation "<< A , B >>" := (dotm A B) : ring_scope.
(* the columns off, ..., off + n - 1 of the N x N identity; rows beyond N are dropped.
   concat(u, v) is sel N m 0 *m u + sel N n m *m v;  W[a:b] is (sel N (b - a) a)^T *m W. *)
Definition sel (R : ringType) N n (off : nat) : 'M[R]_(N, n) := \matrix_(i, j) ((i : nat) == (off + j)%N)%:R.
(* powers of a square matrix of any size *)
Fixpoint mxpow (R : ringType) n (A : 'M[R]_n) k : 'M[R]_n := if k is k'.+1 then A *m mxpow A k' else 1%:M.
(* the value of a family k steps back: f (t - k), and past (k - t) before the start; f 0 = past 0 *)
Fixpoint at_lag (V : Type) (f past : nat -> V) k t : V :=
  if k is k'.+1 then if t is t'.+1 then at_lag f past k' t' else past k else f t.
Arguments sel {R} N n off.
Arguments at_lag {V} f past k t : simpl nomatch.

Lemma at_lag0 V (f past : nat -> V) t : at_lag f past 0 t = f t. Proof. by []. Qed.
Lemma at_lagS0 V (f past : nat -> V) k : at_lag f past k.+1 0 = past k.+1. Proof. by []. Qed.
Lemma at_lagSS V (f past : nat -> V) k t : at_lag f past k.+1 t.+1 = at_lag f past k t. Proof. by []. Qed.
(* inside the sequence: the value at time t - k *)
Lemma at_lagE V (f past : nat -> V) k t : (k <= t)%N -> at_lag f past k t = f (t - k)%N.
Proof. by elim: k t => [|k IH] [|t] //= kt; rewrite IH. Qed.
Lemma at_lag_add V (f past : nat -> V) k t : at_lag f past k (k + t) = f t.
Proof. by rewrite at_lagE ?leq_addr // addKn. Qed.
(* before the sequence: the value at time -(k - t) *)
Lemma at_lag_past V (f past : nat -> V) k t : (t < k)%N -> at_lag f past k t = past (k - t)%N.
Proof. by elim: k t => [|k IH] [|t] //= kt; rewrite IH. Qed.
Lemma at_lag1 V (f past : nat -> V) t : (0 < t)%N -> at_lag f past 1 t = f t.-1. Proof. by case: t. Qed.
(* two families that agree up to T agree in their lags *)
Lemma eq_at_lag V (f g past past' : nat -> V) k t : (forall s, (s <= t)%N -> f s = g s) ->
  (forall m, past m = past' m) -> at_lag f past k t = at_lag g past' k t.
Proof.
move=> fg pp; case: (leqP k t) => kt; last by rewrite !at_lag_past.
by rewrite !at_lagE // fg // leq_subr.
Qed.
Lemma at_lag_map V W (phi : V -> W) (f past : nat -> V) k t :
  phi (at_lag f past k t) = at_lag (fun s => phi (f s)) (fun m => phi (past m)) k t.
Proof. by elim: k t => [|k IH] [|t] //=. Qed.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Powers and ordered products                                                                                       *)
Section Powers.
Variables (R : ringType) (n : nat).
Implicit Types (A : 'M[R]_n) (B : nat -> 'M[R]_n).
Lemma mxpow0 A : mxpow A 0 = 1%:M. Proof. by []. Qed.
Lemma mxpowS A k : mxpow A k.+1 = A *m mxpow A k. Proof. by []. Qed.
Lemma mxpow1 A : mxpow A 1 = A. Proof. exact: mulmx1. Qed.
Lemma mxpowD A j k : mxpow A (j + k) = mxpow A j *m mxpow A k.
Proof. by elim: j => [|j IH]; rewrite ?mul1mx //= IH mulmxA. Qed.
Lemma mxpowSr A k : mxpow A k.+1 = mxpow A k *m A.
Proof. by rewrite -addn1 mxpowD mxpow1. Qed.
(* the product of a constant factor is a power *)
Lemma mxpow_bigop A s j : \big[mulmx/1%:M]_(s <= k < j) A = mxpow A (j - s).
Proof. by rewrite big_const_nat; elim: (j - s)%N => //= k ->. Qed.
(* the leftmost factor of an ordered product; the rightmost; the empty product *)
Lemma prod_ltn B a b : (a < b)%N ->
  \big[mulmx/1%:M]_(a <= k < b) B k = B a *m \big[mulmx/1%:M]_(a.+1 <= k < b) B k.
Proof. by move=> ab; rewrite big_ltn. Qed.
Lemma prod_recr B a b : (a <= b)%N ->
  \big[mulmx/1%:M]_(a <= k < b.+1) B k = (\big[mulmx/1%:M]_(a <= k < b) B k) *m B b.
Proof.
move=> ab; rewrite -(subnKC ab); move: (b - a)%N => d {ab}; elim: d a => [|d IH] a.
  by rewrite addn0 big_ltn // !big_geq // mulmx1 mul1mx.
have lt : (a < a + d.+1)%N by rewrite -addn1 leq_add2l.
by rewrite big_ltn 1?ltnW // [in RHS]big_ltn // -addSnnS IH mulmxA.
Qed.
Lemma prod_geq B a b : (b <= a)%N -> \big[mulmx/1%:M]_(a <= k < b) B k = 1%:M.
Proof. by move=> ba; rewrite big_geq. Qed.
(* shift of the index of an ordered product *)
Lemma prod_addn B a b c :
  \big[mulmx/1%:M]_(a + c <= k < b + c) B k = \big[mulmx/1%:M]_(a <= k < b) B (k + c)%N.
Proof. by rewrite big_addn addnK. Qed.
End Powers.
Lemma mxpowE (R : ringType) n (A : 'M[R]_n.+1) k : mxpow A k = A ^+ k.
Proof. by elim: k => // k IH; rewrite mxpowS IH exprS. Qed.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Entrywise product, diagonal, scalar factor                                                                        *)
Section Operations.
Variable R : comRingType.

Lemma hadmC m n (A B : 'M[R]_(m, n)) : hadm A B = hadm B A.
Proof. by apply/matrixP => i j; rewrite !mxE mulrC. Qed.
Lemma hadmA m n (A B C : 'M[R]_(m, n)) : hadm A (hadm B C) = hadm (hadm A B) C.
Proof. by apply/matrixP => i j; rewrite !mxE mulrA. Qed.
Lemma hadmDl m n (A B C : 'M[R]_(m, n)) : hadm (A + B) C = hadm A C + hadm B C.
Proof. by apply/matrixP => i j; rewrite !mxE mulrDl. Qed.
Lemma hadmDr m n (A B C : 'M[R]_(m, n)) : hadm A (B + C) = hadm A B + hadm A C.
Proof. by apply/matrixP => i j; rewrite !mxE mulrDr. Qed.
Lemma hadmZl m n k (A B : 'M[R]_(m, n)) : hadm (k *: A) B = k *: hadm A B.
Proof. by apply/matrixP => i j; rewrite !mxE mulrA. Qed.
Lemma hadmZr m n k (A B : 'M[R]_(m, n)) : hadm A (k *: B) = k *: hadm A B.
Proof. by rewrite hadmC hadmZl hadmC. Qed.
Lemma hadmNl m n (A B : 'M[R]_(m, n)) : hadm (- A) B = - hadm A B.
Proof. by apply/matrixP => i j; rewrite !mxE mulNr. Qed.
Lemma hadmNr m n (A B : 'M[R]_(m, n)) : hadm A (- B) = - hadm A B.
Proof. by rewrite hadmC hadmNl hadmC. Qed.
Lemma hadm0l m n (A : 'M[R]_(m, n)) : hadm 0 A = 0.
Proof. by apply/matrixP => i j; rewrite !mxE mul0r. Qed.
Lemma hadm0r m n (A : 'M[R]_(m, n)) : hadm A 0 = 0.
Proof. by rewrite hadmC hadm0l. Qed.
Lemma hadm1l m n (A : 'M[R]_(m, n)) : hadm (const_mx 1) A = A.
Proof. by apply/matrixP => i j; rewrite !mxE mul1r. Qed.
Lemma hadm1r m n (A : 'M[R]_(m, n)) : hadm A (const_mx 1) = A.
Proof. by rewrite hadmC hadm1l. Qed.
Lemma trmx_hadm m n (A B : 'M[R]_(m, n)) : (hadm A B)^T = hadm A^T B^T.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.

(* entries of diag(v), of diag(v) A, of A diag(v) *)
Lemma dgE n (v : 'cV[R]_n) i j : dg v i j = v i 0 *+ (i == j).
Proof. by rewrite !mxE; case: eqP => [->|]. Qed.
Lemma dg_mulE m n (v : 'cV[R]_m) (A : 'M[R]_(m, n)) i j : (dg v *m A) i j = v i 0 * A i j.
Proof. by rewrite /dg mul_diag_mx !mxE. Qed.
Lemma mul_dgE m n (v : 'cV[R]_n) (A : 'M[R]_(m, n)) i j : (A *m dg v) i j = A i j * v j 0.
Proof. by rewrite /dg mul_mx_diag !mxE. Qed.
(* u o v = diag(u) v, columns *)
Lemma hadm_dg n (u v : 'cV[R]_n) : hadm u v = dg u *m v.
Proof. by apply/matrixP => i j; rewrite dg_mulE !mxE !ord1. Qed.
Lemma dg_mulC n (u v : 'cV[R]_n) : dg u *m v = dg v *m u.
Proof. by rewrite -!hadm_dg hadmC. Qed.
Lemma dg_hadm n (u v : 'cV[R]_n) : dg (hadm u v) = dg u *m dg v.
Proof. by apply/matrixP => i j; rewrite dg_mulE !dgE !mxE -mulrnAr. Qed.
Lemma dg_comm n (u v : 'cV[R]_n) : dg u *m dg v = dg v *m dg u.
Proof. by rewrite -!dg_hadm hadmC. Qed.
Lemma dg1 n : dg (const_mx 1 : 'cV[R]_n) = 1%:M.
Proof. by apply/matrixP => i j; rewrite dgE !mxE. Qed.
Lemma dgD n (u v : 'cV[R]_n) : dg (u + v) = dg u + dg v.
Proof. by apply/matrixP => i j; rewrite [RHS]mxE !dgE !mxE mulrnDl. Qed.
Lemma dgN n (u : 'cV[R]_n) : dg (- u) = - dg u.
Proof. by apply/matrixP => i j; rewrite [RHS]mxE !dgE !mxE mulNrn. Qed.
Lemma dgB n (u v : 'cV[R]_n) : dg (u - v) = dg u - dg v.
Proof. by rewrite dgD dgN. Qed.
Lemma dgZ n k (u : 'cV[R]_n) : dg (k *: u) = k *: dg u.
Proof. by apply/matrixP => i j; rewrite [RHS]mxE !dgE !mxE mulrnAr. Qed.
Lemma dg0 n : dg (0 : 'cV[R]_n) = 0.
Proof. by apply/matrixP => i j; rewrite dgE !mxE mul0rn. Qed.
Lemma trmx_dg n (u : 'cV[R]_n) : (dg u)^T = dg u.
Proof. exact: tr_diag_mx. Qed.
Lemma dg_const1 n (u : 'cV[R]_n) : dg u *m const_mx 1 = u.
Proof. by rewrite -hadm_dg hadm1r. Qed.
Lemma diagvD n (A B : 'M[R]_n) : diagv (A + B) = diagv A + diagv B.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
Lemma diagvZ n k (A : 'M[R]_n) : diagv (k *: A) = k *: diagv A.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
Lemma diagvN n (A : 'M[R]_n) : diagv (- A) = - diagv A.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
Lemma diagv0 n : diagv (0 : 'M[R]_n) = 0.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
(* the diagonal of u v^T is u o v *)
Lemma diagv_outer n (u v : 'cV[R]_n) : diagv (u *m v^T) = hadm u v.
Proof. by apply/matrixP => i j; rewrite !mxE big_ord1 !mxE !ord1. Qed.
Lemma diagv_dg n (u : 'cV[R]_n) : diagv (dg u) = u.
Proof. by apply/matrixP => i j; rewrite mxE dgE eqxx ord1. Qed.

(* 1 x 1 matrices *)
Lemma mx11E (s : 'M[R]_1) : s = (s 0 0)%:M.
Proof. exact: mx11_scalar. Qed.
Lemma trmx11 (s : 'M[R]_1) : s^T = s.
Proof. by rewrite [s]mx11_scalar tr_scalar_mx. Qed.
Lemma mul11mx (s : 'M[R]_1) n (A : 'M[R]_(1, n)) : s *m A = msc s A.
Proof. by rewrite [s in LHS]mx11_scalar mul_scalar_mx. Qed.
Lemma mulmx11 (s : 'M[R]_1) m (A : 'M[R]_(m, 1)) : A *m s = msc s A.
Proof. by rewrite [s in LHS]mx11_scalar mul_mx_scalar. Qed.
Lemma mulmx00 (s t : 'M[R]_1) : (s *m t) 0 0 = s 0 0 * t 0 0.
Proof. by rewrite mxE big_ord1. Qed.
Lemma mscDl m n (s t : 'M[R]_1) (A : 'M[R]_(m, n)) : msc (s + t) A = msc s A + msc t A.
Proof. by rewrite /msc mxE scalerDl. Qed.
Lemma mscDr m n (s : 'M[R]_1) (A B : 'M[R]_(m, n)) : msc s (A + B) = msc s A + msc s B.
Proof. by rewrite /msc scalerDr. Qed.
Lemma mscZl m n k (s : 'M[R]_1) (A : 'M[R]_(m, n)) : msc (k *: s) A = k *: msc s A.
Proof. by rewrite /msc mxE scalerA. Qed.
Lemma mscZr m n k (s : 'M[R]_1) (A : 'M[R]_(m, n)) : msc s (k *: A) = k *: msc s A.
Proof. by rewrite /msc !scalerA mulrC. Qed.
Lemma mscNl m n (s : 'M[R]_1) (A : 'M[R]_(m, n)) : msc (- s) A = - msc s A.
Proof. by rewrite /msc mxE scaleNr. Qed.
Lemma msc0r m n (s : 'M[R]_1) : msc s (0 : 'M[R]_(m, n)) = 0.
Proof. by rewrite /msc scaler0. Qed.
Lemma msc_mull m n p (s : 'M[R]_1) (A : 'M[R]_(m, n)) (B : 'M[R]_(n, p)) : msc s A *m B = msc s (A *m B).
Proof. by rewrite /msc scalemxAl. Qed.
Lemma msc_mulr m n p (s : 'M[R]_1) (A : 'M[R]_(m, n)) (B : 'M[R]_(n, p)) : A *m msc s B = msc s (A *m B).
Proof. by rewrite /msc scalemxAr. Qed.
Lemma trmx_msc m n (s : 'M[R]_1) (A : 'M[R]_(m, n)) : (msc s A)^T = msc s A^T.
Proof. by rewrite /msc linearZ. Qed.
End Operations.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Selections: blocks of rows without casts between sizes                                                            *)
Section Selections.
Variable R : comRingType.

Lemma selE N n off (i : 'I_N) (j : 'I_n) : sel N n off i j = ((i : nat) == (off + j)%N)%:R :> R.
Proof. by rewrite mxE. Qed.
(* row off + j of (sel N n off) u is row j of u; the other rows are 0 *)
Lemma sel_mulE N n off p (u : 'M[R]_(n, p)) (i : 'I_N) (j : 'I_n) k :
  (i : nat) = (off + j)%N -> (sel N n off *m u) i k = u j k.
Proof.
move=> ij; rewrite mxE (bigD1 j) //= big1 ?addr0 => [|l lj].
  by rewrite mxE ij eqxx mul1r.
by rewrite mxE ij eqn_add2l eq_sym (inj_eq val_inj) (negPf lj) mul0r.
Qed.
Lemma sel_mul0 N n off p (u : 'M[R]_(n, p)) (i : 'I_N) k :
  ~~ (off <= i < off + n)%N -> (sel N n off *m u) i k = 0.
Proof.
move=> out; rewrite mxE big1 // => j _; rewrite mxE; case: eqP => [ij|]; last by rewrite mul0r.
by case/negP: out; rewrite ij leq_addr ltn_add2l ltn_ord.
Qed.
(* row j of (sel N n off)^T W is row off + j of W: the slice W[off : off + n] *)
Lemma sel_trE N n off p (W : 'M[R]_(N, p)) (i : 'I_N) (j : 'I_n) k :
  (i : nat) = (off + j)%N -> ((sel N n off)^T *m W) j k = W i k.
Proof.
move=> ij; rewrite mxE (bigD1 i) //= big1 ?addr0 => [|l li].
  by rewrite !mxE ij eqxx mul1r.
by rewrite !mxE -ij (inj_eq val_inj) (negPf li) mul0r.
Qed.
Lemma sel_id N : sel N N 0 = 1%:M :> 'M[R]_N.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
(* concatenation *)
Lemma sel_col m n p (u : 'M[R]_(m, p)) (v : 'M[R]_(n, p)) :
  sel (m + n) m 0 *m u + sel (m + n) n m *m v = col_mx u v.
Proof.
apply/matrixP => i k; rewrite [LHS]mxE; case: (split_ordP i) => j ->.
  rewrite (sel_mulE u k (j := j)) // sel_mul0 ?addr0 ?col_mxEu //=.
  by rewrite leqNgt ltn_ord.
rewrite (sel_mulE v k (j := j)) // sel_mul0 ?add0r ?col_mxEd //=.
by rewrite add0n -leqNgt leq_addr.
Qed.
(* slices of a concatenation *)
Lemma sel_trl m n p (u : 'M[R]_(m, p)) (v : 'M[R]_(n, p)) : (sel (m + n) m 0)^T *m col_mx u v = u.
Proof. by apply/matrixP => i k; rewrite (sel_trE _ (i := lshift n i)) // col_mxEu. Qed.
Lemma sel_trr m n p (u : 'M[R]_(m, p)) (v : 'M[R]_(n, p)) : (sel (m + n) n m)^T *m col_mx u v = v.
Proof. by apply/matrixP => i k; rewrite (sel_trE _ (i := rshift m i)) // col_mxEd. Qed.
(* columns of a selection that lies inside are orthonormal; disjoint selections are orthogonal *)
Lemma sel_orth N n off : (off + n <= N)%N -> (sel N n off)^T *m sel N n off = 1%:M :> 'M[R]_n.
Proof.
move=> le; apply/matrixP => i j; have lt : (off + i < N)%N by rewrite (leq_trans _ le) // ltn_add2l.
by rewrite (sel_trE _ (i := Ordinal lt)) // !mxE /= eqn_add2l.
Qed.
Lemma sel_disj N m n a b : (a + m <= b)%N || (b + n <= a)%N -> (sel N m a)^T *m sel N n b = 0 :> 'M[R]_(m, n).
Proof.
move=> ab; apply/matrixP => i j; rewrite !mxE big1 // => l _; rewrite !mxE.
case: eqP => [->|]; last by rewrite mul0r.
case: eqP => [E|]; last by rewrite mulr0.
have [ub lb] := (ltn_ord i, ltn_ord j); case/orP: ab => le.
  have : (a + i < b)%N by rewrite (leq_trans _ le) // ltn_add2l.
  by rewrite E ltnNge leq_addr.
have : (b + j < a)%N by rewrite (leq_trans _ le) // ltn_add2l.
by rewrite -E ltnNge leq_addr.
Qed.
End Selections.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* The pairing <A, B> = tr (A^T B) and the adjoint of each operation                                                 *)
Section Frobenius.
Variable R : comRingType.

Lemma dotmE m n (A B : 'M[R]_(m, n)) : << A, B >> = \sum_j \sum_i A i j * B i j.
Proof. by apply: eq_bigr => j _; rewrite mxE; apply: eq_bigr => i _; rewrite mxE. Qed.
Lemma dotmC m n (A B : 'M[R]_(m, n)) : << A, B >> = << B, A >>.
Proof. by rewrite !dotmE; do 2!apply: eq_bigr => ? _; rewrite mulrC. Qed.
Lemma dotmDl m n (A B C : 'M[R]_(m, n)) : << A + B, C >> = << A, C >> + << B, C >>.
Proof. by rewrite /dotm linearD mulmxDl linearD. Qed.
Lemma dotmDr m n (A B C : 'M[R]_(m, n)) : << A, B + C >> = << A, B >> + << A, C >>.
Proof. by rewrite /dotm mulmxDr linearD. Qed.
Lemma dotm0l m n (B : 'M[R]_(m, n)) : << 0, B >> = 0.
Proof. by rewrite /dotm trmx0 mul0mx linear0. Qed.
Lemma dotm0r m n (B : 'M[R]_(m, n)) : << B, 0 >> = 0.
Proof. by rewrite dotmC dotm0l. Qed.
Lemma dotmZl m n k (A B : 'M[R]_(m, n)) : << k *: A, B >> = k * << A, B >>.
Proof. by rewrite /dotm linearZ /= -scalemxAl linearZ. Qed.
Lemma dotmZr m n k (A B : 'M[R]_(m, n)) : << A, k *: B >> = k * << A, B >>.
Proof. by rewrite dotmC dotmZl dotmC. Qed.
Lemma dotmNl m n (A B : 'M[R]_(m, n)) : << - A, B >> = - << A, B >>.
Proof. by rewrite -scaleN1r dotmZl mulN1r. Qed.
Lemma dotmNr m n (A B : 'M[R]_(m, n)) : << A, - B >> = - << A, B >>.
Proof. by rewrite dotmC dotmNl dotmC. Qed.
Lemma dotmBl m n (A B C : 'M[R]_(m, n)) : << A - B, C >> = << A, C >> - << B, C >>.
Proof. by rewrite dotmDl dotmNl. Qed.
Lemma dotmBr m n (A B C : 'M[R]_(m, n)) : << A, B - C >> = << A, B >> - << A, C >>.
Proof. by rewrite dotmDr dotmNr. Qed.
Lemma dotmMnl m n (A B : 'M[R]_(m, n)) k : << A *+ k, B >> = << A, B >> *+ k.
Proof. by rewrite -scaler_nat dotmZl mulr_natl. Qed.
Lemma dotm_suml m n I (r : seq I) (P : pred I) (F : I -> 'M[R]_(m, n)) B :
  << \sum_(i <- r | P i) F i, B >> = \sum_(i <- r | P i) << F i, B >>.
Proof. by apply: (big_morph (fun A => << A, B >>)) => [? ?|]; rewrite (dotmDl, dotm0l). Qed.
Lemma dotm_sumr m n I (r : seq I) (P : pred I) (F : I -> 'M[R]_(m, n)) B :
  << B, \sum_(i <- r | P i) F i >> = \sum_(i <- r | P i) << B, F i >>.
Proof. by rewrite dotmC dotm_suml; apply: eq_bigr => i _; rewrite dotmC. Qed.

(* the adjoint of each operation *)
Lemma adj_mull m n p (A : 'M[R]_(m, n)) (B : 'M[R]_(n, p)) (C : 'M[R]_(m, p)) :
  << C, A *m B >> = << A^T *m C, B >>.
Proof. by rewrite /dotm trmx_mul trmxK mulmxA. Qed.
Lemma adj_mulr m n p (A : 'M[R]_(m, n)) (B : 'M[R]_(n, p)) (C : 'M[R]_(m, p)) :
  << C, A *m B >> = << C *m B^T, A >>.
Proof. by rewrite /dotm mulmxA mxtrace_mulC mulmxA trmx_mul trmxK. Qed.
Lemma adj_tr m n (A : 'M[R]_(n, m)) (C : 'M[R]_(m, n)) : << C, A^T >> = << C^T, A >>.
Proof. by rewrite /dotm trmxK -trmx_mul mxtrace_tr mxtrace_mulC. Qed.
Lemma adj_had m n (A B C : 'M[R]_(m, n)) : << C, hadm A B >> = << hadm A C, B >>.
Proof. by rewrite !dotmE; do 2!apply: eq_bigr => ? _; rewrite !mxE mulrA [_ * A _ _]mulrC. Qed.
Lemma adj_had_l m n (A B C : 'M[R]_(m, n)) : << C, hadm A B >> = << hadm B C, A >>.
Proof. by rewrite hadmC adj_had. Qed.
Lemma adj_dg n (v : 'cV[R]_n) (C : 'M[R]_n) : << C, dg v >> = << diagv C, v >>.
Proof.
rewrite !dotmE big_ord1; apply: eq_bigr => j _; rewrite !mxE (bigD1 j) //= big1 ?addr0.
  by rewrite !mxE eqxx mulr1n.
by move=> i ij; rewrite !mxE (negPf ij) mulr0n mulr0.
Qed.
Lemma dotm11 (a b : 'M[R]_1) : << a, b >> = a 0 0 * b 0 0.
Proof. by rewrite dotmE !big_ord1. Qed.
Lemma adj_msc_r m n (s : 'M[R]_1) (A C : 'M[R]_(m, n)) : << C, msc s A >> = << msc s C, A >>.
Proof. by rewrite dotmZl dotmZr. Qed.
Lemma adj_msc_l m n (s : 'M[R]_1) (A C : 'M[R]_(m, n)) : << C, msc s A >> = << const_mx << C, A >>, s >>.
Proof. by rewrite dotmZr dotm11 mxE mulrC. Qed.
(* u^T v is the pairing of the columns *)
Lemma dotm_col n (u v : 'cV[R]_n) : (u^T *m v) 0 0 = << u, v >>.
Proof. by rewrite /dotm /mxtrace big_ord1. Qed.
(* a gradient is unique: the pairing sees every entry *)
Lemma dotm_inj m n (A B : 'M[R]_(m, n)) : (forall C, << A, C >> = << B, C >>) -> A = B.
Proof.
have E (D : 'M[R]_(m, n)) i j : << D, delta_mx i j >> = D i j.
  rewrite dotmE (bigD1 j) //= (bigD1 i) //= mxE !eqxx mulr1 !big1 ?addr0 //.
  - by move=> k /negPf nk; rewrite big1 // => l _; rewrite mxE nk andbF mulr0.
  - by move=> k /negPf nk; rewrite mxE nk mulr0.
by move=> H; apply/matrixP => i j; rewrite -!E H.
Qed.
End Frobenius.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Ring morphisms act entry by entry                                                                                 *)
Section Morphisms.
Variables (R S : comRingType) (f : {rmorphism R -> S}).
Local Notation "A ^f" := (map_mx f A).

Lemma map_hadm m n (A B : 'M[R]_(m, n)) : (hadm A B)^f = hadm A^f B^f.
Proof. by apply/matrixP => i j; rewrite !mxE rmorphM. Qed.
Lemma map_dg n (v : 'cV[R]_n) : (dg v)^f = dg v^f.
Proof. by apply/matrixP => i j; rewrite !mxE rmorphMn. Qed.
Lemma map_diagv n (A : 'M[R]_n) : (diagv A)^f = diagv A^f.
Proof. by apply/matrixP => i j; rewrite !mxE. Qed.
Lemma map_msc m n (s : 'M[R]_1) (A : 'M[R]_(m, n)) : (msc s A)^f = msc s^f A^f.
Proof. by apply/matrixP => i j; rewrite !mxE rmorphM. Qed.
Lemma map_sel N n off : (sel N n off)^f = sel N n off.
Proof. by apply/matrixP => i j; rewrite !mxE rmorph_nat. Qed.
Lemma map_dotm m n (A B : 'M[R]_(m, n)) : f << A, B >> = << A^f, B^f >>.
Proof.
by rewrite !dotmE rmorph_sum; apply: eq_bigr => j _; rewrite rmorph_sum; apply: eq_bigr => i _; rewrite rmorphM !mxE.
Qed.
Lemma map_mxpow n (A : 'M[R]_n) k : (mxpow A k)^f = mxpow A^f k.
Proof. by elim: k => [|k IH] /=; rewrite ?map_mx1 // map_mxM IH. Qed.
End Morphisms.
