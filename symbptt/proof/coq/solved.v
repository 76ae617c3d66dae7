(* What the closed forms of a certificate take beside closed.v: sums over different ranges compared range by range. *)
From mathcomp Require Import all_ssreflect all_algebra.
From symbptt Require Import matrices normal closed.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* g_t = g_{t+1} + c_t: the factor is the identity, and no product is written *)
Theorem closed_sum (R : ringType) n m T (g c : nat -> 'M[R]_(n, m)) :
  (forall t, (1 <= t <= T)%N -> g t = g t.+1 + c t) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) c i.
Proof.
move=> rec last t t1.
rewrite (@closed_constant _ _ _ T 1%:M g c _ last t t1) => [|s sT]; last by rewrite rec // mul1mx.
by apply: eq_bigr => i _; elim: (i - t)%N => [|k IH]; rewrite ?mul1mx // mxpowS mul1mx.
Qed.
Theorem closed_sum_rev (R : ringType) n m T (g c : nat -> 'M[R]_(n, m)) :
  (forall t, (1 <= t <= T)%N -> g t = g t.+1 + c t) -> (forall t, (T < t)%N -> g t = 0) ->
  forall t, (0 < t)%N -> g t = \sum_(t <= i < T.+1) c (T + t - i)%N.
Proof. by move=> rec last t t1; rewrite (closed_sum rec last t1) sum_rev. Qed.

(* the last term of a sum whose other terms are 0 *)
Lemma last_term (V : zmodType) t T (F : nat -> V) : (t <= T)%N ->
  (forall i, (t <= i < T)%N -> F i = 0) -> \sum_(t <= i < T.+1) F i = F T.
Proof. by move=> tT F0; rewrite big_nat_recr //= big_nat big1 ?add0r. Qed.

(* truncated back-propagation: what a window of so many uses keeps, and what it leaves out *)
Section Window.
Variable V : zmodType.
Implicit Types F G H : nat -> V.
Lemma sum_window F t uses n :
  \sum_(t <= i < n) F i = \sum_(t <= i < minn (t + uses) n) F i + \sum_(t + uses <= i < n) F i.
Proof.
case: (leqP (t + uses) n) => [inside|beyond]; first by rewrite (@big_cat_nat _ _ _ (t + uses)) // leq_addr.
by rewrite [X in _ + X]big_geq ?addr0 // ltnW.
Qed.
(* a sum whose terms are kept and left out in part *)
Lemma sum_apart F G H m n : (forall t, (m <= t < n)%N -> F t = G t + H t) ->
  \sum_(m <= t < n) F t = \sum_(m <= t < n) G t + \sum_(m <= t < n) H t.
Proof. by move=> FGH; rewrite -big_split; apply: eq_big_nat. Qed.
(* beside what no window touches *)
Lemma sum_apart_and F G H m n a b : (forall t, (m <= t < n)%N -> F t = G t + H t) -> a = b ->
  \sum_(m <= t < n) F t + a = \sum_(m <= t < n) G t + (\sum_(m <= t < n) H t + b).
Proof. by move=> /sum_apart-> ->; rewrite addrA. Qed.
Lemma apart_add (a b k k' l l' : V) : a = k + l -> b = k' + l' -> a + b = k + k' + (l + l').
Proof. by move=> -> ->; rewrite addrACA. Qed.
Lemma apart_left (a b k l : V) : a = k + l -> a + b = k + b + l.
Proof. by move=> ->; rewrite addrAC. Qed.
Lemma apart_right (a b k l : V) : b = k + l -> a + b = a + k + l.
Proof. by move=> ->; rewrite addrA. Qed.
Lemma apart_opp (a k l : V) : a = k + l -> - a = - k + - l.
Proof. by move=> ->; rewrite opprD. Qed.
End Window.
Lemma apart_scale (R : ringType) (V : lmodType R) (c : R) (a k l : V) : a = k + l -> c *: a = c *: k + c *: l.
Proof. by move=> ->; rewrite scalerDr. Qed.
(* sums of sums, summand by summand; some of them the window may not touch *)
Ltac apart := lazymatch goal with
  | |- ?a + ?b = ?k + ?b + ?l => refine (apart_left _ _); apart
  | |- ?a + ?b = ?a + ?k + ?l => refine (apart_right _ _); apart
  | |- _ + _ = _ + _ + (_ + _) => refine (apart_add _ _); apart
  | |- - _ = - _ + - _ => refine (apart_opp _); apart
  | |- _ *: _ = _ *: _ + _ *: _ => refine (apart_scale _ _); apart
  | |- _ => apply: sum_window
  end.

(* a factor taken out of a power whose exponent is a distance *)
Lemma mxpow_far (R : ringType) n (A : 'M[R]_n) t i : (t < i)%N -> mxpow A (i - t) = A *m mxpow A (i - t).-1.
Proof. by rewrite -subn_gt0; case: (i - t)%N. Qed.
Lemma mxpow_pos (R : ringType) n (A : 'M[R]_n) i : (0 < i)%N -> mxpow A i = A *m mxpow A i.-1.
Proof. by case: i. Qed.
Lemma trmx_mxpow (R : comRingType) n (A : 'M[R]_n) k : (mxpow A k)^T = mxpow A^T k.
Proof. by elim: k => [|k IH]; rewrite ?trmx1 // mxpowSr trmx_mul IH. Qed.

(* The same factors beside a power may belong to it or not, and a power of a product begins with any of its factors:
   here no factor belongs to it, and it stands as far to the right as it gets. *)
Section Turn.
Variables (R : ringType) (m n p q : nat).
Implicit Types (X : 'M[R]_(m, n)) (A : 'M[R]_n).
Lemma turn1 A k : mxpow A k *m A = A *m mxpow A k.
Proof. by rewrite -mxpowSr. Qed.
Lemma turn2 (B : 'M[R]_(n, p)) (C : 'M[R]_(p, n)) k : mxpow (B *m C) k *m B = B *m mxpow (C *m B) k.
Proof. by elim: k => [|k IH]; rewrite ?mul1mx ?mulmx1 // !mxpowS -!mulmxA IH. Qed.
End Turn.
Section TurnInside.
Variables (R : ringType) (m n p q : nat) (X : 'M[R]_(m, n)).
Lemma turn3 (B : 'M[R]_(n, p)) (C : 'M[R]_(p, q)) (D : 'M[R]_(q, n)) k :
  mxpow (B *m C *m D) k *m B = B *m mxpow (C *m D *m B) k.
Proof. by rewrite -mulmxA turn2. Qed.
Lemma turn1_in (A : 'M[R]_n) k : X *m mxpow A k *m A = X *m A *m mxpow A k.
Proof. by rewrite -!mulmxA turn1. Qed.
Lemma turn2_in (B : 'M[R]_(n, p)) (C : 'M[R]_(p, n)) k :
  X *m mxpow (B *m C) k *m B = X *m B *m mxpow (C *m B) k.
Proof. by rewrite -!mulmxA turn2. Qed.
Lemma turn3_in (B : 'M[R]_(n, p)) (C : 'M[R]_(p, q)) (D : 'M[R]_(q, n)) k :
  X *m mxpow (B *m C *m D) k *m B = X *m B *m mxpow (C *m D *m B) k.
Proof. by rewrite -!mulmxA turn2 !mulmxA. Qed.
End TurnInside.
Definition turns := (turn1_in, turn2_in, turn3_in, turn1, turn2, turn3).
Ltac powers :=
  rewrite ?(trmx_mul, trmx_mxpow, trmxK) ?(mxpow0, mxpowS);
  rewrite ?(mulmxDl, mulmxDr, mulNmx, mulmxN, =^~ scalemxAl, =^~ scalemxAr, mulmxA);
  rewrite ?turns.

Section Ranges.
Variables (V W : zmodType) (r : seq nat).
Lemma add_both (a b c d : V) : a = c -> b = d -> a + b = c + d.
Proof. by move=> -> ->. Qed.
Lemma merge_add (a b : V) F G : a = \sum_(i <- r) F i -> b = \sum_(i <- r) G i -> a + b = \sum_(i <- r) (F i + G i).
Proof. by move=> -> ->; rewrite big_split. Qed.
Lemma merge_opp (a : V) F : a = \sum_(i <- r) F i -> - a = \sum_(i <- r) - F i.
Proof. by move=> ->; rewrite sumrN. Qed.
Lemma merge_zero : 0 = \sum_(i <- r) (0 : V).
Proof. by rewrite big1_eq. Qed.
(* E of a sum, for an affine E *)
Lemma one_range (E : V -> W) F a x y : (forall u v, E (u + v) + E 0 = E u + E v) -> y = a + x ->
  \sum_(i <- r) (E (F i) - E 0) = a -> E 0 = x -> E (\sum_(i <- r) F i) = y.
Proof.
move=> lin -> <- <-; apply/eqP; rewrite -subr_eq; apply/eqP.
by apply: (big_morph (fun u => E u - E 0)) => [u v|]; rewrite ?subrr // addrACA -opprD -lin opprD addrACA subrr addr0.
Qed.
End Ranges.
(* of matrices, since of a module in general the sum is not seen to be one of matrices *)
Lemma merge_scale (R : ringType) m n (r : seq nat) k (a : 'M[R]_(m, n)) F :
  a = \sum_(i <- r) F i -> k *: a = \sum_(i <- r) k *: F i.
Proof. by move=> ->; rewrite scaler_sumr. Qed.

(* elementwise products of sums as sums, on the right side alone *)
Lemma hadm_sumr (R : comRingType) m n (r : seq nat) (a : 'M[R]_(m, n)) F :
  hadm a (\sum_(i <- r) F i) = \sum_(i <- r) hadm a (F i).
Proof. by apply: (big_morph (hadm a)) => [u v|]; [exact: hadmDr | exact: hadm0r]. Qed.
Ltac bare_sums := lazymatch goal with |- _ = ?R => lazymatch R with context [@hadm _ _ _ _ ?A] => lazymatch A with
  context [@BigOp.bigop _ nat _ _ _] =>
    progress rewrite ![in RHS](mulmx_suml, mulmx_sumr, trmx_sum, hadm_sumr, mulmxN, mulNmx, linearN, hadmNr,
                               mulmxDl, mulmxDr, linearD, hadmDr)
  end end end.

(* the sums over the range r in e, and the rest of e *)
Ltac sums_over r e := lazymatch e with
  | @GRing.add ?V ?x ?y => let a := sums_over r x in let b := sums_over r y in constr:(@GRing.add V a b)
  | @GRing.opp ?V ?x => let a := sums_over r x in constr:(@GRing.opp V a)
  | @GRing.scale ?R ?V ?k ?x => let a := sums_over r x in constr:(@GRing.scale R V k a)
  | \sum_(i <- r) _ => e
  | _ => let V := type of e in constr:((0 : V))
  end.
Ltac sums_else r e := lazymatch e with
  | @GRing.add ?V ?x ?y => let a := sums_else r x in let b := sums_else r y in constr:(@GRing.add V a b)
  | @GRing.opp ?V ?x => let a := sums_else r x in constr:(@GRing.opp V a)
  | @GRing.scale ?R ?V ?k ?x => let a := sums_else r x in constr:(@GRing.scale R V k a)
  | \sum_(i <- r) _ => let V := type of e in constr:((0 : V))
  | _ => e
  end.
(* a sum of sums over one range as one sum *)
Ltac merge := lazymatch goal with
  | |- _ + _ = _ => eapply merge_add; merge
  | |- - _ = _ => eapply merge_opp; merge
  | |- _ *: _ = _ => eapply merge_scale; merge
  | |- \sum_(i <- _) _ = _ => reflexivity
  | |- _ => eapply merge_zero
  end.
(* an index of a range that begins some steps after 0 or t, as its first place and a distance d: every power is then one
   of d + k for a number k, and k of its factors stand in front of it *)
Ltac from_first_place lo :=
  rewrite -(subnKC lo);
  let d := fresh in
  match type of lo with is_true (?a <= ?i)%N => generalize (i - a)%N => d end;
  rewrite ?addSn ?add0n -?addnS ?addKn ?succnK ?mxpowS.
(* the bodies, with the range at hand; what the engine writes as one power may be a factor and a power *)
Ltac same_range close :=
  eapply etrans; [| symmetry; merge];
  let lo := fresh in let i := fresh in
  apply: eq_big_nat => i /andP[lo _]; cbv beta; rewrite ?(subnS, subn0);
  first [close | rewrite ?(subSn lo) ?mxpowS ?(mxpow_far _ lo) ?(mxpow_pos _ lo); first [close | powers; close]
       | from_first_place lo; first [close | powers; close]].
(* the same without a range: powers whose exponent is the number of steps n, which is not 0 *)
Ltac same_power close := match goal with
  | H : is_true (0 < ?n)%N |- _ => rewrite ?(subnS, subn0) ?mxpowS ?(mxpow_pos _ H); first [close | powers; close]
  end.
(* by_ranges close: the left side is affine in sums \sum_(a <= i < b) F i, the right side a sum of such sums and of
   other terms; the sums are compared range by range, and close proves equations without sums *)
Ltac by_ranges close := cbv beta; match goal with
  | |- ?L = ?R =>
    match L with context [@BigOp.bigop ?V nat (GRing.zero _) ?r (fun i => BigBody i _ true (@?F i))] =>
      let S := eval cbv beta in (\sum_(i <- r) F i) in
      lazymatch eval pattern S in L with ?E _ =>
        let a := sums_over r R in let x := sums_else r R in
        first [
          apply: (@one_range _ _ r E F a x R); [cbv beta; mxring | mxring | same_range close | by_ranges close]
        | bare_sums; by_ranges close ]
      end
    end
  | |- _ => first [close | rewrite ?(subnS, subn0); close | same_power close | powers; close]
  end.
