(* Recursions over time and their closed forms: any ring, any sizes, any T. A family is 0 beyond its last time T.
   Every theorem is about all t >= 1: at T + 1 and later both sides are 0. *)
From mathcomp Require Import all_ssreflect all_algebra.
From symbptt Require Import matrices normal.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* an equation that holds on 1 .. T, whose two sides are 0 beyond T, holds at every t >= 1 *)
Lemma all_times (V : zmodType) (T : nat) (g f : nat -> V) :
  (forall t, (1 <= t <= T)%N -> g t = f t) -> (forall t, (T < t)%N -> g t = 0) -> (forall t, (T < t)%N -> f t = 0) ->
  forall t, (0 < t)%N -> g t = f t.
Proof. by move=> gf g0 f0 t t1; case: (leqP t T) => tT; [rewrite gf ?t1 | rewrite g0 ?f0]. Qed.

(* the index of a sum run backwards: i becomes T + t - i *)
Lemma sum_rev (V : zmodType) (F : nat -> V) t T :
  \sum_(t <= i < T.+1) F i = \sum_(t <= i < T.+1) F (T + t - i)%N.
Proof. by rewrite big_nat_rev; apply: eq_big_nat => i _; rewrite addnS subSS addnC. Qed.
(* with an explicit distance: i - t becomes T - i *)
Lemma sum_rev_dist (V : zmodType) (F : nat -> nat -> V) t T :
  \sum_(t <= i < T.+1) F (i - t)%N i = \sum_(t <= i < T.+1) F (T - i)%N (T + t - i)%N.
Proof.
rewrite sum_rev; apply: eq_big_nat => i /andP[ti]; rewrite ltnS => iT.
by rewrite -addnBAC // addnK.
Qed.
(* a factor taken out of a power *)
Lemma mxpow_pred (R : ringType) n (A : 'M[R]_n) i : (0 < i)%N -> mxpow A i = A *m mxpow A (i - 1).
Proof. by case: i => // i _; rewrite subSS subn0. Qed.
Lemma mxpow_subn (R : ringType) n (A : 'M[R]_n) a i : (a <= i)%N -> mxpow A i = mxpow A a *m mxpow A (i - a).
Proof. by move=> ai; rewrite -mxpowD subnKC. Qed.
(* the transpose of an ordered product, its last factor first *)
Lemma trmx_prod_recr (R : comRingType) n (A : nat -> 'M[R]_n) a b : (a <= b)%N ->
  (\big[mulmx/1%:M]_(a <= k < b.+1) A k)^T = (A b)^T *m (\big[mulmx/1%:M]_(a <= k < b) A k)^T.
Proof. by move=> ab; rewrite prod_recr // trmx_mul. Qed.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Backward in time                                                                                                  *)
Section Backward.
Variables (R : ringType) (n m T : nat).
Implicit Types (A N K : nat -> 'M[R]_n) (g c b : nat -> 'M[R]_(n, m)).

(* g_t = A_{t+1} g_{t+1} + c_t has the solution  sum_{i=t}^T (prod_{k=t+1}^i A_k) c_i *)
Lemma closed_solves A c t : (t <= T)%N ->
  \sum_(t <= i < T.+1) (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) A k) *m c i =
  A t.+1 *m (\sum_(t.+1 <= i < T.+1) (\big[mulmx/1%:M]_(t.+2 <= k < i.+1) A k) *m c i) + c t.
Proof.
move=> tT; rewrite big_ltn // big_geq // mul1mx addrC; congr (_ + _).
by rewrite mulmx_sumr; apply: eq_big_nat => i /andP[ti _]; rewrite big_ltn // mulmxA.
Qed.
(* and no other *)
Theorem closed_varying A g c :
  (forall t, (1 <= t <= T)%N -> g t = A t.+1 *m g t.+1 + c t) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) A k) *m c i.
Proof.
move=> rec last t t1; case: (leqP t T) => [tT|Tt]; last by rewrite last // big_geq.
rewrite -(subKn tT); have : (T - t < T)%N by rewrite ltn_subrL t1 (leq_trans t1).
elim: (T - t)%N => [|d IH] dT.
  by rewrite subn0 closed_solves // big_geq // rec ?last ?leqnn ?(leq_trans _ dT).
have lt : (1 <= T - d.+1 < T)%N by rewrite subn_gt0 dT ltn_subrL (leq_trans _ dT).
case/andP: lt => s1 sT; rewrite closed_solves 1?ltnW // rec ?s1 1?ltnW // -subSn 1?ltnW // subSS.
by rewrite IH // ltnW.
Qed.
Theorem closed_varying_rev A g c :
  (forall t, (1 <= t <= T)%N -> g t = A t.+1 *m g t.+1 + c t) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t =
    \sum_(t <= i < T.+1) (\big[mulmx/1%:M]_(t.+1 <= k < (T + t - i).+1) A k) *m c (T + t - i)%N.
Proof. by move=> rec last t t1; rewrite (closed_varying rec last t1) sum_rev. Qed.
(* recursion and closed form are equivalent *)
Theorem closed_varying_iff A g c : (forall t, (T < t)%N -> g t = 0) ->
  (forall t, (1 <= t <= T)%N -> g t = A t.+1 *m g t.+1 + c t) <->
  (forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) A k) *m c i).
Proof.
move=> last; split=> [rec|E t /andP[t1 tT]]; first exact: closed_varying.
by rewrite E // closed_solves // -E.
Qed.

(* the same factor at all times: g_t = A g_{t+1} + c_t *)
Theorem closed_constant (A : 'M[R]_n) g c :
  (forall t, (1 <= t <= T)%N -> g t = A *m g t.+1 + c t) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) mxpow A (i - t) *m c i.
Proof.
move=> rec last t t1; rewrite (@closed_varying (fun=> A) g c rec last t t1).
by apply: eq_bigr => i _; rewrite mxpow_bigop subSS.
Qed.
Theorem closed_constant_rev (A : 'M[R]_n) g c :
  (forall t, (1 <= t <= T)%N -> g t = A *m g t.+1 + c t) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) mxpow A (T - i) *m c (T + t - i)%N.
Proof.
move=> rec last t t1; rewrite (closed_constant rec last t1).
exact: (sum_rev_dist (fun d i => mxpow A d *m c i)).
Qed.

(* several families at once: G_t = N_t (K_{t+1} G_{t+1} + b_t) *)
Lemma block_step N K g b :
  (forall t, (1 <= t <= T)%N -> g t = N t *m (K t.+1 *m g t.+1 + b t)) ->
  forall t, (1 <= t <= T)%N -> g t = (N t.+1.-1 *m K t.+1) *m g t.+1 + N t *m b t.
Proof. by move=> rec t tT; rewrite rec // mulmxDr mulmxA. Qed.
Theorem closed_block N K g b :
  (forall t, (1 <= t <= T)%N -> g t = N t *m (K t.+1 *m g t.+1 + b t)) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t =
    \sum_(t <= i < T.+1) (\big[mulmx/1%:M]_(t.+1 <= k < i.+1) (N k.-1 *m K k)) *m (N i *m b i).
Proof. by move=> rec; apply: (closed_varying (A := fun k => N k.-1 *m K k)); exact: block_step. Qed.
Theorem closed_block_rev N K g b :
  (forall t, (1 <= t <= T)%N -> g t = N t *m (K t.+1 *m g t.+1 + b t)) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t =
    \sum_(t <= i < T.+1) (\big[mulmx/1%:M]_(t.+1 <= k < (T + t - i).+1) (N k.-1 *m K k)) *m
      (N (T + t - i)%N *m b (T + t - i)%N).
Proof.
move=> rec; apply: (closed_varying_rev (A := fun k => N k.-1 *m K k) (c := fun i => N i *m b i)).
exact: block_step.
Qed.
(* with the same N and K at all times *)
Theorem closed_block_constant (N K : 'M[R]_n) g b :
  (forall t, (1 <= t <= T)%N -> g t = N *m (K *m g t.+1 + b t)) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) mxpow (N *m K) (i - t) *m (N *m b i).
Proof. by move=> rec; apply: closed_constant => t tT; rewrite rec // mulmxDr mulmxA. Qed.
Theorem closed_block_constant_rev (N K : 'M[R]_n) g b :
  (forall t, (1 <= t <= T)%N -> g t = N *m (K *m g t.+1 + b t)) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) mxpow (N *m K) (T - i) *m (N *m b (T + t - i)%N).
Proof.
move=> rec; apply: (closed_constant_rev (c := fun i => N *m b i)) => t tT.
by rewrite rec // mulmxDr mulmxA.
Qed.
End Backward.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Forward in time: d_t = B_t^T d_{t-1} + u_t, where B_t is the factor of the recursion backward                      *)
Section Forward.
Variables (R : comRingType) (n m T : nat).
Implicit Types (B : nat -> 'M[R]_n) (d u : nat -> 'M[R]_(n, m)).

(* from a start d_0 *)
Theorem forward_start B d u :
  (forall t, (1 <= t <= T)%N -> d t = (B t)^T *m d t.-1 + u t) ->
  forall t, (t <= T)%N -> d t = (\big[mulmx/1%:M]_(1 <= k < t.+1) B k)^T *m d 0%N +
    \sum_(1 <= i < t.+1) (\big[mulmx/1%:M]_(i.+1 <= k < t.+1) B k)^T *m u i.
Proof.
move=> rec; elim=> [_|t IH tT]; first by rewrite !big_geq // trmx1 mul1mx addr0.
rewrite rec // IH 1?ltnW // mulmxDr -addrA mulmxA -trmx_prod_recr //; congr (_ + _).
rewrite [in RHS]big_nat_recr //= [\big[_/_]_(t.+2 <= _ < _) _]big_geq // trmx1 mul1mx; congr (_ + _).
by rewrite mulmx_sumr; apply: eq_big_nat => i /andP[_ it]; rewrite mulmxA -trmx_prod_recr.
Qed.
(* from the start 0 *)
Theorem forward_varying B d u : d 0%N = 0 ->
  (forall t, (1 <= t <= T)%N -> d t = (B t)^T *m d t.-1 + u t) ->
  forall t, (t <= T)%N -> d t = \sum_(1 <= i < t.+1) (\big[mulmx/1%:M]_(i.+1 <= k < t.+1) B k)^T *m u i.
Proof. by move=> d0 rec t tT; rewrite (forward_start rec tT) d0 mulmx0 add0r. Qed.
(* the same factor at all times: d_t = W d_{t-1} + u_t *)
Theorem forward_constant_start (W : 'M[R]_n) d u :
  (forall t, (1 <= t <= T)%N -> d t = W *m d t.-1 + u t) ->
  forall t, (t <= T)%N -> d t = mxpow W t *m d 0%N + \sum_(1 <= i < t.+1) mxpow W (t - i) *m u i.
Proof.
move=> rec; elim=> [_|t IH tT]; first by rewrite big_geq // mul1mx addr0.
rewrite rec // IH 1?ltnW // mulmxDr -addrA mulmxA; congr (_ + _).
rewrite [in RHS]big_nat_recr //= subnn mul1mx; congr (_ + _).
by rewrite mulmx_sumr; apply: eq_big_nat => i /andP[_ it]; rewrite subSn // mulmxA.
Qed.
Theorem forward_constant (W : 'M[R]_n) d u : d 0%N = 0 ->
  (forall t, (1 <= t <= T)%N -> d t = W *m d t.-1 + u t) ->
  forall t, (t <= T)%N -> d t = \sum_(1 <= i < t.+1) mxpow W (t - i) *m u i.
Proof. by move=> d0 rec t tT; rewrite (forward_constant_start rec tT) d0 mulmx0 add0r. Qed.
End Forward.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Block matrices, written as nested col_mx and row_mx                                                               *)
Lemma eq_col_mx (R : ringType) m1 m2 n (A A' : 'M[R]_(m1, n)) (B B' : 'M[R]_(m2, n)) :
  A = A' -> B = B' -> col_mx A B = col_mx A' B'.
Proof. by move=> -> ->. Qed.
Lemma eq_row_mx (R : ringType) m n1 n2 (A A' : 'M[R]_(m, n1)) (B B' : 'M[R]_(m, n2)) :
  A = A' -> B = B' -> row_mx A B = row_mx A' B'.
Proof. by move=> -> ->. Qed.
Lemma col_zero (R : ringType) m1 m2 n : 0 = col_mx 0 0 :> 'M[R]_(m1 + m2, n). Proof. by rewrite col_mx0. Qed.

(* one step of the evaluation of an expression to nested blocks *)
Section Blocks.
Variable R : comRingType.
Lemma blk_eq m n (A A' B B' : 'M[R]_(m, n)) : A = A' -> B = B' -> A' = B' -> A = B.
Proof. by move=> -> ->. Qed.
Lemma blk_col m1 m2 n (A A' : 'M[R]_(m1, n)) (B B' : 'M[R]_(m2, n)) :
  A = A' -> B = B' -> col_mx A B = col_mx A' B'.
Proof. by move=> -> ->. Qed.
Lemma blk_row m n1 n2 (A A' : 'M[R]_(m, n1)) (B B' : 'M[R]_(m, n2)) :
  A = A' -> B = B' -> row_mx A B = row_mx A' B'.
Proof. by move=> -> ->. Qed.
Lemma blk_mul m k n (A A' : 'M[R]_(m, k)) (X X' : 'M[R]_(k, n)) Y : A = A' -> X = X' -> A' *m X' = Y -> A *m X = Y.
Proof. by move=> -> ->. Qed.
Lemma blk_mul_col m1 m2 k n (A : 'M[R]_(m1, k)) (B : 'M[R]_(m2, k)) (X : 'M[R]_(k, n)) Y Z :
  A *m X = Y -> B *m X = Z -> col_mx A B *m X = col_mx Y Z.
Proof. by move=> <- <-; rewrite mul_col_mx. Qed.
Lemma blk_mul_row m k n1 n2 (A : 'M[R]_(m, k)) (X : 'M[R]_(k, n1)) (Z : 'M[R]_(k, n2)) Y W :
  A *m X = Y -> A *m Z = W -> A *m row_mx X Z = row_mx Y W.
Proof. by move=> <- <-; rewrite mul_mx_row. Qed.
Lemma blk_mul_sum m k1 k2 n (A : 'M[R]_(m, k1)) (B : 'M[R]_(m, k2)) (X : 'M[R]_(k1, n)) (Z : 'M[R]_(k2, n)) Y W S :
  A *m X = Y -> B *m Z = W -> Y + W = S -> row_mx A B *m col_mx X Z = S.
Proof. by move=> <- <- <-; rewrite mul_row_col. Qed.
Lemma blk_add m n (A A' B B' : 'M[R]_(m, n)) S : A = A' -> B = B' -> A' + B' = S -> A + B = S.
Proof. by move=> -> ->. Qed.
Lemma blk_add_col m1 m2 n (A B : 'M[R]_(m1, n)) (C D : 'M[R]_(m2, n)) S S' :
  A + B = S -> C + D = S' -> col_mx A C + col_mx B D = col_mx S S'.
Proof. by move=> <- <-; rewrite add_col_mx. Qed.
Lemma blk_add_row m n1 n2 (A B : 'M[R]_(m, n1)) (C D : 'M[R]_(m, n2)) S S' :
  A + B = S -> C + D = S' -> row_mx A C + row_mx B D = row_mx S S'.
Proof. by move=> <- <-; rewrite add_row_mx. Qed.
Lemma blk_tr m n (A A' : 'M[R]_(m, n)) B : A = A' -> A'^T = B -> A^T = B.
Proof. by move=> ->. Qed.
Lemma blk_tr_col m1 m2 n (A : 'M[R]_(m1, n)) (B : 'M[R]_(m2, n)) C D :
  A^T = C -> B^T = D -> (col_mx A B)^T = row_mx C D.
Proof. by move=> <- <-; rewrite tr_col_mx. Qed.
Lemma blk_tr_row m n1 n2 (A : 'M[R]_(m, n1)) (B : 'M[R]_(m, n2)) C D :
  A^T = C -> B^T = D -> (row_mx A B)^T = col_mx C D.
Proof. by move=> <- <-; rewrite tr_row_mx. Qed.
End Blocks.

From Ltac2 Require Ltac2.
Module Blocks.
Import Ltac2.Ltac2.
Set Default Proof Mode "Classic".

(* a matrix expression, its shape, and its blocks *)
Ltac2 Type rec block := { term : constr; rows : constr; cols : constr; parts : parts }
with parts := [ Cell | Above (block, block) | Beside (block, block) ].
Ltac2 app := Reading.app.
Ltac2 matrix_type r m n := app '(@matrix) [constr:(GRing.ComRing.sort $r); m; n].
Ltac2 cell t m n := { term := t; rows := m; cols := n; parts := Cell }.
Ltac2 same r b := app '(@Logic.eq_refl) [matrix_type r (b.(rows)) (b.(cols)); b.(term)].
Ltac2 above r a b :=
  { term := app '(@col_mx) [constr:(GRing.ComRing.sort $r); a.(rows); b.(rows); a.(cols); a.(term); b.(term)];
    rows := app '(addn) [a.(rows); b.(rows)]; cols := a.(cols); parts := Above a b }.
Ltac2 beside r a b :=
  { term := app '(@row_mx) [constr:(GRing.ComRing.sort $r); a.(rows); a.(cols); b.(cols); a.(term); b.(term)];
    rows := a.(rows); cols := app '(addn) [a.(cols); b.(cols)]; parts := Beside a b }.

(* each returns the value and the proof that the operation on the arguments is it *)
Ltac2 rec add r a b :=
  let leaf () :=
    let zmod := constr:(matrix_zmodType (GRing.ComRing.zmodType $r)) in
    let c := cell (app '(@GRing.add) [app zmod [a.(rows); a.(cols)]; a.(term); b.(term)]) (a.(rows)) (a.(cols)) in
    (c, same r c) in
  match a.(parts) with
  | Above a1 a2 => match b.(parts) with
    | Above b1 b2 => if Constr.equal (a1.(rows)) (b1.(rows)) then
        let (c, p) := add r a1 b1 in
        let (d, q) := add r a2 b2 in
        (above r c d, app '(@blk_add_col) [r; a1.(rows); a2.(rows); a1.(cols); a1.(term); b1.(term); a2.(term);
           b2.(term); c.(term); d.(term); p; q])
      else leaf ()
    | _ => leaf () end
  | Beside a1 a2 => match b.(parts) with
    | Beside b1 b2 => if Constr.equal (a1.(cols)) (b1.(cols)) then
        let (c, p) := add r a1 b1 in
        let (d, q) := add r a2 b2 in
        (beside r c d, app '(@blk_add_row) [r; a1.(rows); a1.(cols); a2.(cols); a1.(term); b1.(term); a2.(term);
           b2.(term); c.(term); d.(term); p; q])
      else leaf ()
    | _ => leaf () end
  | Cell => leaf () end.
Ltac2 rec mul r a x :=
  let leaf () :=
    let c := cell (app '(@mulmx) [constr:(GRing.ComRing.ringType $r); a.(rows); a.(cols); x.(cols); a.(term); x.(term)])
      (a.(rows)) (x.(cols)) in
    (c, same r c) in
  match a.(parts) with
  | Above a1 a2 =>
      let (c, p) := mul r a1 x in
      let (d, q) := mul r a2 x in
      (above r c d, app '(@blk_mul_col) [r; a1.(rows); a2.(rows); a.(cols); x.(cols); a1.(term); a2.(term); x.(term);
         c.(term); d.(term); p; q])
  | _ => match x.(parts) with
    | Beside x1 x2 =>
        let (c, p) := mul r a x1 in
        let (d, q) := mul r a x2 in
        (beside r c d, app '(@blk_mul_row) [r; a.(rows); a.(cols); x1.(cols); x2.(cols); a.(term); x1.(term); x2.(term);
           c.(term); d.(term); p; q])
    | Above x1 x2 => match a.(parts) with
      | Beside a1 a2 => if Constr.equal (a1.(cols)) (x1.(rows)) then
          let (c, p) := mul r a1 x1 in
          let (d, q) := mul r a2 x2 in
          let (e, s) := add r c d in
          (e, app '(@blk_mul_sum) [r; a.(rows); a1.(cols); a2.(cols); x.(cols); a1.(term); a2.(term); x1.(term);
             x2.(term); c.(term); d.(term); e.(term); p; q; s])
        else leaf ()
      | _ => leaf () end
    | Cell => leaf () end end.
Ltac2 rec transpose r a := match a.(parts) with
  | Above a1 a2 =>
      let (c, p) := transpose r a1 in
      let (d, q) := transpose r a2 in
      (beside r c d, app '(@blk_tr_col) [r; a1.(rows); a2.(rows); a.(cols); a1.(term); a2.(term);
         c.(term); d.(term); p; q])
  | Beside a1 a2 =>
      let (c, p) := transpose r a1 in
      let (d, q) := transpose r a2 in
      (above r c d, app '(@blk_tr_row) [r; a.(rows); a1.(cols); a2.(cols); a1.(term); a2.(term);
         c.(term); d.(term); p; q])
  | Cell =>
      let t := app '(@trmx) [constr:(GRing.ComRing.sort $r); a.(rows); a.(cols); a.(term)] in
      let c := cell t (a.(cols)) (a.(rows)) in
      (c, same r c) end.
Ltac2 rec value r (e : constr) (m : constr) (n : constr) :=
  let leaf () := let c := cell e m n in (c, same r c) in
  match Constr.Unsafe.kind e with
  | Constr.Unsafe.App f v =>
    let arg i := Array.get v i in
    if Constr.equal f '(@col_mx) then
      let (a, p) := value r (arg 4) (arg 1) (arg 3) in
      let (b, q) := value r (arg 5) (arg 2) (arg 3) in
      (above r a b, app '(@blk_col) [r; arg 1; arg 2; arg 3; arg 4; a.(term); arg 5; b.(term); p; q])
    else if Constr.equal f '(@row_mx) then
      let (a, p) := value r (arg 4) (arg 1) (arg 2) in
      let (b, q) := value r (arg 5) (arg 1) (arg 3) in
      (beside r a b, app '(@blk_row) [r; arg 1; arg 2; arg 3; arg 4; a.(term); arg 5; b.(term); p; q])
    else if Constr.equal f '(@mulmx) then
      let (a, p) := value r (arg 4) (arg 1) (arg 2) in
      let (x, q) := value r (arg 5) (arg 2) (arg 3) in
      let (c, s) := mul r a x in
      (c, app '(@blk_mul) [r; arg 1; arg 2; arg 3; arg 4; a.(term); arg 5; x.(term); c.(term); p; q; s])
    else if Constr.equal f '(@GRing.add) then
      let (a, p) := value r (arg 1) m n in
      let (b, q) := value r (arg 2) m n in
      let (c, s) := add r a b in
      (c, app '(@blk_add) [r; m; n; arg 1; a.(term); arg 2; b.(term); c.(term); p; q; s])
    else if Constr.equal f '(@trmx) then
      let (a, p) := value r (arg 3) (arg 1) (arg 2) in
      let (c, s) := transpose r a in
      (c, app '(@blk_tr) [r; arg 1; arg 2; arg 3; a.(term); c.(term); p; s])
    else leaf ()
  | _ => leaf () end.
Ltac2 evaluate () := match Constr.Unsafe.kind (Control.goal ()) with
  | Constr.Unsafe.App f v =>
    if Constr.equal f '(@eq) then match Constr.Unsafe.kind (Std.eval_hnf (Array.get v 0)) with
      | Constr.Unsafe.App g w =>
        if Constr.equal g '(@matrix) then
          let st := Reading.start true (Array.get w 0) in
          let r := st.(Reading.field) in
          let m := Array.get w 1 in
          let n := Array.get w 2 in
          let (a, p) := value r (Array.get v 1) m n in
          let (b, q) := value r (Array.get v 2) m n in
          Std.cut (app '(@eq) [matrix_type r m n; a.(term); b.(term)]);
          Control.focus 1 1 (fun () =>
            let h := Fresh.in_goal @cells in
            Std.intros false [Std.IntroNaming (Std.IntroIdentifier h)];
            Std.exact_no_check (app '(@blk_eq) [r; m; n; Array.get v 1; a.(term); Array.get v 2; b.(term); p; q;
              Control.hyp h]))
        else Reading.fail_with "not an equation of matrices"
      | _ => Reading.fail_with "not an equation of matrices" end
    else Reading.fail_with "not an equation of matrices"
  | _ => Reading.fail_with "not an equation of matrices" end.
End Blocks.

(* blocks: both sides of an equation of matrices evaluated to nested blocks: products, sums, transposes of col_mx and
   row_mx *)
Ltac blocks := ltac2:(Blocks.evaluate ()).
(* cells tac: an equation of columns of blocks, cell by cell *)
Ltac cells tac := lazymatch goal with
  | |- col_mx _ _ = col_mx _ _ => apply: eq_col_mx; cells tac
  | |- row_mx _ _ = row_mx _ _ => apply: eq_row_mx; cells tac
  | |- 0 = col_mx _ _ => rewrite col_zero; cells tac
  | |- col_mx _ _ = 0 => rewrite [RHS]col_zero; cells tac
  | |- _ => tac end.
