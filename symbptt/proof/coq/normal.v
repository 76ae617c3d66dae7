(* Normal forms of matrix expressions over a commutative ring, by reflection, and the tactics that use them:
     mxring    equations of matrices          (what they read and how is said where they are defined, at the end)
     pairring  equations of sums of pairings
     sumring   equations of sums over a range

   An expression is a sum of monomials: an integer, scalar letters, scalars, and a body. A body is a path, the product
   of letters and diagonal matrices between two sizes other than 1, or an outer product (column)(column)^T: a product
   that passes through size 1 splits there, and the pieces between are scalars. A column is an entrywise product of
   columns (letter)(column), kept sorted, so that diag(u) v = diag(v) u; a scalar is the sum of the entries of a column,
   and of the places where u^T A v can be summed the least is kept, so that u^T A v = v^T A^T u. Two expressions are
   equal if the normal form of their difference is empty. The normal form is computed on numbers that stand for letters
   and sizes (vm_compute never meets a matrix); a letter is used at a shape only if its shape is that one, else it
   counts as 0, and so no hypothesis about shapes is needed: evx, evp, ... give every term a meaning at every shape. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From symbptt Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Module Normal.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Data: closed terms, so that the normal form is computed without the matrices                                      *)

(* a letter: its number, transposed or not, and its shape (after transposition; shapes are numbers of sizes, 0 is the
   size 1); or the entrywise product of two *)
Inductive lt := LT of nat & bool & nat & nat | LH of lt & lt.
Fixpoint flip l := match l with LT i t a b => LT i (~~ t) b a | LH l m => LH (flip l) (flip m) end.
Fixpoint lrow l := match l with LT _ _ a _ => a | LH l _ => lrow l end.
Fixpoint lcol l := match l with LT _ _ _ b => b | LH l _ => lcol l end.
(* a column: an entrywise product of columns (letter) *m (column); CNil is the column of ones *)
Inductive col := CNil | CCons of lt & col & col.
(* a matrix that does not factor through size 1: letters and diagonal matrices diag((letter) *m (column)) *)
Inductive path := PNil | PMat of lt & path | PDia of lt & col & path.
(* a path, or an outer product (column)(column)^T *)
Inductive body := BPath of path | BOut of col & col.
(* a scalar: the sum of the entries of a column of the numbered size *)
Definition scal := (nat * col)%type.
(* an integer, scalar letters, scalars *)
Definition cf := (int * seq nat * seq scal)%type.
Definition mono := (cf * body)%type.
Definition poly := seq mono.

(* expressions *)
Inductive mx :=
  | XLet of lt | XZero | XAdd of mx & mx | XOpp of mx | XMul of nat & mx & mx | XTr of mx | XScale of sc & mx
  | XMuln of mx & nat | XScm of sc | XCst of sc | XDg of mx | XDv of mx | XHad of mx & mx | XMsc of mx & mx
with sc :=
  | SAt of nat | SZero | SOne | SAdd of sc & sc | SOpp of sc | SMul of sc & sc | SMuln of sc & nat | SExp of sc & nat
  | SEnt of mx | SDot of nat & mx & mx.
Scheme mx_sc_ind := Induction for mx Sort Prop with sc_mx_ind := Induction for sc Sort Prop.
Combined Scheme mxsc_ind from mx_sc_ind, sc_mx_ind.

(* sums of pairings of a matrix expression with a letter *)
Inductive pr := RDot of lt & mx | RScal of sc | RAdd of pr & pr | ROpp of pr | RMul of sc & pr | RMuln of pr & nat.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Comparison                                                                                                        *)
Definition lex (c d : comparison) := if c is Eq then d else c.
Lemma lexE c d : lex c d = Eq -> c = Eq /\ d = Eq. Proof. by case: c. Qed.
Fixpoint lcmp l m := match l, m with
  | LT i t a b, LT j u c d => lex (Nat.compare i j) (lex (Nat.compare t u) (lex (Nat.compare a c) (Nat.compare b d)))
  | LT _ _ _ _, _ => Lt | _, LT _ _ _ _ => Gt
  | LH l l', LH m m' => lex (lcmp l m) (lcmp l' m') end.
Lemma lcmpE l m : lcmp l m = Eq -> l = m.
Proof.
elim: l m => [i t a b|l IH l' IH'] [j u c d|m m'] //= /lexE[]; last by move=> /IH -> /IH' ->.
move=> /PeanoNat.Nat.compare_eq -> /lexE[/PeanoNat.Nat.compare_eq tu].
by case/lexE=> /PeanoNat.Nat.compare_eq -> /PeanoNat.Nat.compare_eq ->; case: t u tu => [] [].
Qed.
Fixpoint ccmp c d := match c, d with
  | CNil, CNil => Eq | CNil, _ => Lt | _, CNil => Gt
  | CCons l c r, CCons l' c' r' => lex (lcmp l l') (lex (ccmp c c') (ccmp r r')) end.
Lemma ccmpE c d : ccmp c d = Eq -> c = d.
Proof. by elim: c d => [|l c IHc r IHr] [|l' c' r'] //= /lexE[/lcmpE -> /lexE[/IHc -> /IHr ->]]. Qed.
Fixpoint pcmp p q := match p, q with
  | PNil, PNil => Eq | PNil, _ => Lt | _, PNil => Gt
  | PMat l p, PMat l' q => lex (lcmp l l') (pcmp p q) | PMat _ _, _ => Lt | _, PMat _ _ => Gt
  | PDia l c p, PDia l' d q => lex (lcmp l l') (lex (ccmp c d) (pcmp p q)) end.
Lemma pcmpE p q : pcmp p q = Eq -> p = q.
Proof.
elim: p q => [|l p IH|l c p IH] [|l' q|l' d q] //= /lexE[/lcmpE ->]; first by move/IH->.
by case/lexE=> /ccmpE -> /IH ->.
Qed.
Definition bcmp x y := match x, y with
  | BPath p, BPath q => pcmp p q | BPath _, _ => Lt | _, BPath _ => Gt
  | BOut c d, BOut c' d' => lex (ccmp c c') (ccmp d d') end.
Lemma bcmpE x y : bcmp x y = Eq -> x = y.
Proof. by case: x y => [p|c d] [q|c' d'] //= => [/pcmpE ->|/lexE[/ccmpE -> /ccmpE ->]]. Qed.
Fixpoint scmp T (f : T -> T -> comparison) s t := match s, t with
  | [::], [::] => Eq | [::], _ => Lt | _, [::] => Gt
  | x :: s, y :: t => lex (f x y) (scmp f s t) end.
Lemma scmpE T f : (forall x y : T, f x y = Eq -> x = y) -> forall s t, scmp f s t = Eq -> s = t.
Proof. by move=> H; elim=> [|x s IH] [|y t] //= /lexE[/H -> /IH ->]. Qed.
Definition acmp (s t : scal) := lex (Nat.compare s.1 t.1) (ccmp s.2 t.2).
Lemma acmpE s t : acmp s t = Eq -> s = t.
Proof. by case: s t => [n c] [n' c'] /lexE[/PeanoNat.Nat.compare_eq /= -> /ccmpE /= ->]. Qed.
(* monomials are compared without their integer *)
Definition mcmp (x y : mono) := lex (bcmp x.2 y.2)
  (lex (scmp Nat.compare x.1.1.2 y.1.1.2) (scmp acmp x.1.2 y.1.2)).
Lemma mcmpE x y : mcmp x y = Eq -> [/\ x.2 = y.2, x.1.1.2 = y.1.1.2 & x.1.2 = y.1.2].
Proof.
case/lexE=> /bcmpE -> /lexE[H K]; split=> //; first exact: scmpE PeanoNat.Nat.compare_eq _ _ H.
exact: scmpE acmpE _ _ K.
Qed.
Fixpoint ins T (f : T -> T -> comparison) x s := if s is y :: s' then if f x y is Gt then y :: ins f x s' else x :: s
  else [:: x].
Definition merge T (f : T -> T -> comparison) s t := foldr (ins f) t s.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* The operations on normal forms; None is 0 (shapes that do not fit)                                                *)
Fixpoint cins l d c := if c is CCons l' d' r then
    if lex (lcmp l l') (ccmp d d') is Gt then CCons l' d' (cins l d r) else CCons l d c
  else CCons l d CNil.
Fixpoint cmerge c d := if c is CCons l e r then cins l e (cmerge r d) else d.
Fixpoint pins l d p := if p is PDia l' d' r then
    if lex (lcmp l l') (ccmp d d') is Gt then PDia l' d' (pins l d r) else PDia l d p
  else PDia l d p.
(* path times column, path times path, transpose *)
Fixpoint app p (a k : nat) c := match p with
  | PNil => if a == k then Some c else None
  | PMat l q => omap (fun d => CCons l d CNil) (app q (lcol l) k c)
  | PDia l d q => omap (cins l d) (app q a k c) end.
Fixpoint pcat p (a k : nat) q := match p with
  | PNil => if a == k then Some q else None
  | PMat l r => omap (PMat l) (pcat r (lcol l) k q)
  | PDia l d r => omap (pins l d) (pcat r a k q) end.
Fixpoint ptrc p (a b : nat) acc := match p with
  | PNil => if a == b then Some acc else None
  | PMat l q => if lrow l == a then ptrc q (lcol l) b (PMat (flip l) acc) else None
  | PDia l d q => ptrc q a b (pins l d acc) end.
Fixpoint dias c := if c is CCons l d r then PDia l d (dias r) else PNil.
(* the same scalar, summed at another place *)
Fixpoint dfs (n : nat) c done : seq scal := if c is CCons l d r then
    (if (lrow l == n) && (lcol l != 0%N) then
       let up := CCons (flip l) (cmerge done r) CNil in (lcol l, cmerge up d) :: dfs (lcol l) d up
     else [::]) ++ dfs n r (cins l d done)
  else [::].
Definition least (s : scal) (r : seq scal) := foldl (fun s t => if acmp t s is Lt then t else s) s r.
Definition canon (n : nat) c : seq scal := if n is 0 then
    match c with
    | CNil => [::]
    | CCons (LT i _ 0 0) CNil CNil => [:: (0%N, CCons (LT i false 0 0) CNil CNil)]
    | _ => [:: (n, c)] end
  else [:: least (n, c) (dfs n c CNil)].
Arguments canon : simpl never.
Definition cmul (x y : cf) : cf := (x.1.1 * y.1.1, merge Nat.compare x.1.2 y.1.2, merge acmp x.2 y.2).
Definition cadds (x : cf) ss : cf := (x.1, merge acmp ss x.2).
Definition c1 : cf := (1, [::], [::]).

Definition mulb (a k b : nat) x y : option (seq scal * body) := match x, y with
  | BPath p, BPath q => omap (fun r => ([::], BPath r)) (pcat p a k q)
  | BPath p, BOut c d => omap (fun c' => ([::], BOut c' d)) (app p a k c)
  | BOut c d, BPath p => omap (fun d' => ([::], BOut c d'))
      (obind (fun q => app q b k d) (ptrc p k b PNil))
  | BOut c d, BOut c' d' => Some (canon k (cmerge d c'), BOut c d') end.

Definition trb (a b : nat) x := match x with
  | BPath p => omap BPath (ptrc p a b PNil) | BOut c d => Some (BOut d c) end.
Definition tocol (a : nat) (m : mono) : option (cf * col) := match m.2 with
  | BPath p => omap (pair m.1) (app p a 0 CNil)
  | BOut c d => Some (cadds m.1 (canon 0 d), c) end.
Definition tosc (m : mono) : option cf := omap (fun x => cadds x.1 (canon 0 x.2)) (tocol 0 m).
Definition mulm (a k b : nat) (x y : mono) : poly :=
  if mulb a k b x.2 y.2 is Some z then [:: (cadds (cmul x.1 y.1) z.1, z.2)] else [::].
Definition scm (x y : mono) : poly := if tosc x is Some c then [:: (cmul c y.1, y.2)] else [::].
Definition trm (a b : nat) (x : mono) : poly := if trb a b x.2 is Some z then [:: (x.1, z)] else [::].
Definition dgm (a : nat) (x : mono) : poly :=
  if tocol a x is Some z then [:: (z.1, if a is 0 then BOut z.2 CNil else BPath (dias z.2))] else [::].
Definition hadb (a b : nat) x y : option body := match x, y with
  | BOut c d, BOut c' d' => Some (BOut (cmerge c c') (cmerge d d'))
  | BOut c d, BPath p | BPath p, BOut c d => omap BPath (obind (pcat (dias c) a a) (pcat p a b (dias d)))
  | BPath (PMat l PNil), BPath (PMat m PNil) =>
      Some (BPath (PMat (if lcmp l m is Gt then LH m l else LH l m) PNil))
  | _, _ => None end.
Definition hadmm (a b : nat) (x y : mono) : poly :=
  if hadb a b x.2 y.2 is Some z then [:: (cmul x.1 y.1, z)] else [::].
(* the entrywise products there are: with an outer product, or of two letters *)
Definition hadok (a b : nat) (x y : mono) : bool := match x.2, y.2 with
  | BOut _ _, _ | _, BOut _ _ => true
  | BPath (PMat l PNil), BPath (PMat m PNil) => (lcol l == b) && (lcol m == b)
  | _, _ => false end.
(* the diagonal of an outer product, or of a diagonal matrix *)
Fixpoint undias p : option col := match p with
  | PNil => Some CNil | PDia l d q => omap (CCons l d) (undias q) | PMat _ _ => None end.
Definition dvb x : option col := match x with BOut c d => Some (cmerge c d) | BPath p => undias p end.
Definition dvm (x : mono) : poly := if dvb x.2 is Some c then [:: (x.1, BOut c CNil)] else [::].
Definition dvok (x : mono) : bool := if dvb x.2 is Some _ then true else false.
Definition zmul (z : int) (x : mono) : poly := if z == 0 then [::] else [:: ((z * x.1.1.1, x.1.1.2, x.1.2), x.2)].

(* sums, sorted, equal monomials collected, none with coefficient 0 *)
Fixpoint addm (m : mono) (p : poly) : poly := if p is x :: q then
    match mcmp m x with
    | Eq => let z := m.1.1.1 + x.1.1.1 in if z == 0 then q else ((z, x.1.1.2, x.1.2), x.2) :: q
    | Lt => m :: p
    | Gt => x :: addm m q end
  else [:: m].
Definition addp (p q : poly) := foldr addm q p.
Definition mapp (f : mono -> poly) (p : poly) : poly := foldr (fun x q => addp (f x) q) [::] p.
Definition bil (f : mono -> mono -> poly) (p q : poly) : poly := mapp (fun x => mapp (f x) q) p.

Definition unit1 : mono := (c1, BOut CNil CNil).
Definition normlet l (a b : nat) : poly := if (lrow l == a) && (lcol l == b) then
    match a, b with
    | 0, 0 => [:: ((1, [::], canon 0 (CCons l CNil CNil)), BOut CNil CNil)]
    | 0, _ => [:: (c1, BOut CNil (CCons (flip l) CNil CNil))]
    | _, 0 => [:: (c1, BOut (CCons l CNil CNil) CNil)]
    | _, _ => [:: (c1, BPath (PMat l PNil))] end
  else [::].
Definition normone (a : nat) : poly := if a is 0 then [:: unit1] else [:: (c1, BPath PNil)].

Fixpoint normx e (a b : nat) : poly := match e with
  | XLet l => normlet l a b
  | XZero => [::]
  | XAdd e f => addp (normx e a b) (normx f a b)
  | XOpp e => mapp (zmul (-1)) (normx e a b)
  | XMul k e f => bil (mulm a k b) (normx e a k) (normx f k b)
  | XTr e => mapp (trm b a) (normx e b a)
  | XScale s e => bil scm (norms s) (normx e a b)
  | XMuln e n => mapp (zmul n%:Z) (normx e a b)
  | XScm s => if a == b then bil scm (norms s) (normone a) else [::]
  | XCst s => bil scm (norms s) [:: unit1]
  | XDg e => if a == b then mapp (dgm a) (normx e a 0) else [::]
  | XDv e => if b == 0%N then mapp dvm (normx e a a) else [::]
  | XHad e f => bil (hadmm a b) (normx e a b) (normx f a b)
  | XMsc e f => bil scm (normx e 0 0) (normx f a b) end
with norms s : poly := match s with
  | SAt i => [:: ((1, [:: i], [::]), BOut CNil CNil)]
  | SZero => [::]
  | SOne => [:: unit1]
  | SAdd s t => addp (norms s) (norms t)
  | SOpp s => mapp (zmul (-1)) (norms s)
  | SMul s t => bil scm (norms s) (norms t)
  | SMuln s n => mapp (zmul n%:Z) (norms s)
  | SExp s n => iter n (bil scm (norms s)) [:: unit1]
  | SEnt e => normx e 0 0
  | SDot n e f => bil (mulm 0 n 0) (mapp (trm n 0) (normx e n 0)) (normx f n 0) end.

(* every entrywise product and every diagonal in the expression is one of those *)
Fixpoint fitx e (a b : nat) : bool := match e with
  | XLet _ | XZero => true
  | XAdd e f => fitx e a b && fitx f a b
  | XOpp e | XMuln e _ => fitx e a b
  | XMul k e f => fitx e a k && fitx f k b
  | XTr e => fitx e b a
  | XScale s e => fits s && fitx e a b
  | XScm s | XCst s => fits s
  | XDg e => fitx e a 0
  | XDv e => fitx e a a && all dvok (normx e a a)
  | XHad e f => [&& fitx e a b, fitx f a b &
      all (fun x => all (hadok a b x) (normx f a b)) (normx e a b)]
  | XMsc e f => fitx e 0 0 && fitx f a b end
with fits s : bool := match s with
  | SAt _ | SZero | SOne => true
  | SAdd s t | SMul s t => fits s && fits t
  | SOpp s | SMuln s _ | SExp s _ => fits s
  | SEnt e => fitx e 0 0
  | SDot n e f => fitx e n 0 && fitx f n 0 end.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Meaning                                                                                                           *)
Fixpoint look T (x : T) (s : seq T) i := if s is y :: s' then if i is j.+1 then look x s' j else y else x.
Fixpoint ndec m n : option (m = n) := match m, n return option (m = n) with
  | 0, 0 => Some erefl
  | m'.+1, n'.+1 => if ndec m' n' is Some E then Some (congr1 S E) else None
  | _, _ => None end.
Definition sz (szs : seq nat) i := if i is j.+1 then look 0%N szs j else 1%N.
(* a letter of the table: its shape in numbers, and the matrix *)
Record letter (R : ringType) (szs : seq nat) := Letter { la : nat; lb : nat; lmx : 'M[R]_(sz szs la, sz szs lb) }.

Section Meaning.
Variables (R : comRingType) (szs : seq nat) (env : seq (letter R szs)) (renv : seq R).
Local Notation sz := (sz szs).
Local Notation "''X_' ( a , b )" := ('M[R]_(sz a, sz b)) (at level 8, format "''X_' ( a ,  b )").

Definition castm a b a' b' (A : 'X_(a, b)) : 'X_(a', b') :=
  if ndec a a' is Some E then
    if ndec b b' is Some F then
      eq_rect b (fun b => 'X_(a', b)) (eq_rect a (fun a => 'X_(a, b)) A a' E) b' F
    else 0
  else 0.
Definition castd a b (A : 'X_(a, a)) : 'X_(a, b) :=
  if ndec a b is Some E then eq_rect a (fun b => 'X_(a, b)) A b E else 0.
Definition getm i (a b : nat) : 'X_(a, b) :=
  let l := look (Letter (la := 0) (lb := 0) (0 : 'X_(0, 0))) env i in castm a b (lmx l).
Fixpoint evl l (a b : nat) : 'X_(a, b) := match l with
  | LT i t r c => if eqn r a then if eqn c b then if t then (getm i b a)^T else getm i a b else 0 else 0
  | LH l m => hadm (evl l a b) (evl m a b) end.

Fixpoint evx e (a b : nat) : 'X_(a, b) := match e with
  | XLet l => evl l a b
  | XZero => 0
  | XAdd e f => evx e a b + evx f a b
  | XOpp e => - evx e a b
  | XMul k e f => evx e a k *m evx f k b
  | XTr e => (evx e b a)^T
  | XScale s e => evs s *: evx e a b
  | XMuln e n => evx e a b *+ n
  | XScm s => castd b (evs s)%:M
  | XCst s => const_mx (evs s)
  | XDg e => castd b (dg (evx e a 0))
  | XDv e => match b return 'X_(a, b) with 0 => diagv (evx e a a) | _ => 0 end
  | XHad e f => hadm (evx e a b) (evx f a b)
  | XMsc e f => msc (evx e 0 0) (evx f a b) end
with evs s : R := match s with
  | SAt i => look 0 renv i
  | SZero => 0
  | SOne => 1
  | SAdd s t => evs s + evs t
  | SOpp s => - evs s
  | SMul s t => evs s * evs t
  | SMuln s n => evs s *+ n
  | SExp s n => evs s ^+ n
  | SEnt e => (evx e 0 0 : 'M[R]_1) 0 0
  | SDot n e f => << evx e n 0, evx f n 0 >> end.

Fixpoint evc c (a : nat) : 'X_(a, 0) := match c with
  | CNil => const_mx 1
  | CCons l d r => hadm (evl l a (lcol l) *m evc d (lcol l)) (evc r a) end.
Definition one (a b : nat) : 'X_(a, b) := castd b 1%:M.
Fixpoint evw p (a b : nat) : 'X_(a, b) := match p with
  | PNil => one a b
  | PMat l q => evl l a (lcol l) *m evw q (lcol l) b
  | PDia l d q => dg (evl l a (lcol l) *m evc d (lcol l)) *m evw q a b end.
Definition evb x (a b : nat) : 'X_(a, b) := match x with BPath p => evw p a b | BOut c d => evc c a *m (evc d b)^T end.
Definition sval (s : scal) : R := \sum_i evc s.2 s.1 i 0.
Definition evss (ss : seq scal) : R := \prod_(s <- ss) sval s.
Definition evcf (x : cf) : R := x.1.1%:~R * (\prod_(i <- x.1.2) look 0 renv i) * evss x.2.
Definition evm (m : mono) (a b : nat) : 'X_(a, b) := evcf m.1 *: evb m.2 a b.
Definition evp (p : poly) (a b : nat) : 'X_(a, b) := \sum_(m <- p) evm m a b.

(* letters *)
Lemma ndec_refl n : ndec n n = Some erefl.
Proof. by elim: n => //= n ->. Qed.
Lemma ndecN m n : m != n -> ndec m n = None.
Proof. by case: (ndec m n) => // E /eqP[]. Qed.
Lemma castd_id a (A : 'X_(a, a)) : castd a A = A. Proof. by rewrite /castd ndec_refl. Qed.
Lemma castd_ne a b (A : 'X_(a, a)) : a != b -> castd b A = 0. Proof. by move=> n; rewrite /castd ndecN. Qed.
Lemma evl_flip l a b : evl (flip l) b a = (evl l a b)^T.
Proof.
elim: l => [i t r c|l IH m IH'] /=; last by rewrite IH IH' trmx_hadm.
by rewrite !eqnE; case: eqP => _; case: eqP => _; case: t; rewrite /= ?trmxK ?trmx0.
Qed.
Lemma evl_ne l a b : ~~ ((lrow l == a) && (lcol l == b)) -> evl l a b = 0.
Proof.
elim: l => [i t r c|l IH m _] /=; last by move/IH->; rewrite hadm0l.
by rewrite !eqnE; case: eqP => _ //; case: eqP.
Qed.
Lemma lrow_flip l : lrow (flip l) = lcol l. Proof. by elim: l. Qed.
Lemma lcol_flip l : lcol (flip l) = lrow l. Proof. by elim: l. Qed.
Lemma one_id a : one a a = 1%:M. Proof. exact: castd_id. Qed.
Lemma one_ne a b : a != b -> one a b = 0. Proof. exact: castd_ne. Qed.

(* columns *)
Lemma evc_ins l d c a : evc (cins l d c) a = hadm (evl l a (lcol l) *m evc d (lcol l)) (evc c a).
Proof.
elim: c => [|l' d' _ r IH] //=; case: lex => //=; rewrite IH !hadmA; congr hadm; exact: hadmC.
Qed.
Lemma evc_merge c d a : evc (cmerge c d) a = hadm (evc c a) (evc d a).
Proof. by elim: c => [|l e _ r IH] /=; rewrite ?hadm1l // evc_ins IH hadmA. Qed.

(* paths *)
Lemma evw_pins l d p a b : evw (pins l d p) a b = dg (evl l a (lcol l) *m evc d (lcol l)) *m evw p a b.
Proof.
elim: p => [|l' q _|l' d' q IH] //=; case: lex => //=; rewrite IH !mulmxA; congr (_ *m _); exact: dg_comm.
Qed.
Definition evoc o a : 'X_(a, 0) := if o is Some c then evc c a else 0.
Definition evow o a b : 'X_(a, b) := if o is Some p then evw p a b else 0.
Lemma evw_app p a k c : evoc (app p a k c) a = evw p a k *m evc c k.
Proof.
elim: p a => [|l q IH|l d q IH] a /=.
- by case: eqP => [->|/eqP n]; rewrite ?one_id ?mul1mx //= one_ne // mul0mx.
- by rewrite -mulmxA -IH; case: app => [e|] /=; rewrite ?hadm1r ?mulmx0.
by rewrite -mulmxA -IH; case: app => [e|] /=; rewrite ?evc_ins ?hadm_dg ?mulmx0.
Qed.
Lemma evw_cat p a k b q : evow (pcat p a k q) a b = evw p a k *m evw q k b.
Proof.
elim: p a => [|l r IH|l d r IH] a /=.
- by case: eqP => [->|/eqP n]; rewrite ?one_id ?mul1mx //= one_ne // mul0mx.
- by rewrite -mulmxA -IH; case: pcat => [e|] /=; rewrite ?mulmx0.
by rewrite -mulmxA -IH; case: pcat => [e|] /=; rewrite ?evw_pins ?mulmx0.
Qed.
Lemma evw_ptrc p a b k acc : evow (ptrc p a b acc) b k = (evw p a b)^T *m evw acc a k.
Proof.
elim: p a acc => [|l r IH|l d r IH] a acc /=.
- by case: eqP => [->|/eqP n]; rewrite ?one_id ?trmx1 ?mul1mx //= one_ne // trmx0 mul0mx.
- case: eqP => [<-|/eqP n] /=; first by rewrite IH /= lcol_flip evl_flip trmx_mul mulmxA.
  by rewrite evl_ne ?(negPf n) // mul0mx trmx0 mul0mx.
by rewrite IH evw_pins trmx_mul trmx_dg mulmxA.
Qed.
Lemma evw_ptr p a b : evow (ptrc p a b PNil) b a = (evw p a b)^T.
Proof. by rewrite evw_ptrc /= one_id mulmx1. Qed.
Lemma evw_dias c a : evw (dias c) a a = dg (evc c a).
Proof. by elim: c => [|l d _ r IH] /=; rewrite ?one_id ?dg1 // IH dg_hadm. Qed.

(* scalars *)
Lemma sval_merge n c d : sval (n, cmerge c d) = << evc c n, evc d n >>.
Proof. by rewrite /sval /= evc_merge dotmE big_ord1; apply: eq_bigr => i _; rewrite mxE. Qed.
Lemma sval0 c : sval (0%N, c) = (evc c 0 : 'M[R]_1) 0 0.
Proof. by rewrite /sval big_ord1. Qed.
Lemma svalE n c : sval (n, c) = << const_mx 1, evc c n >>.
Proof. by rewrite -[RHS](sval_merge n CNil c). Qed.
Lemma eq_sval n c d : evc c n = evc d n -> sval (n, c) = sval (n, d).
Proof. by rewrite !svalE => ->. Qed.
Fixpoint alls T (P : T -> Prop) (s : seq T) : Prop := if s is x :: t then P x /\ alls P t else True.
Lemma alls_cat T (P : T -> Prop) s t : alls P s -> alls P t -> alls P (s ++ t).
Proof. by elim: s => //= x s IH [Px Ps] Pt; split=> //; apply: IH. Qed.
Lemma alls_sub T (P Q : T -> Prop) s : (forall x, P x -> Q x) -> alls P s -> alls Q s.
Proof. by move=> PQ; elim: s => //= x s IH [/PQ Px /IH]. Qed.
Lemma dfsP n c done : alls (fun s => sval s = sval (n, cmerge done c)) (dfs n c done).
Proof.
elim: c n done => [|l d IHd r IHr] n done //=; apply: alls_cat; last first.
  apply: alls_sub (IHr n (cins l d done)) => s ->.
  by apply: eq_sval; rewrite !evc_merge evc_ins /= !hadmA; congr hadm; exact: hadmC.
case: eqP => [E|] //=; case: (lcol l == 0%N) => //=.
set up := CCons (flip l) _ _.
have V : sval (lcol l, cmerge up d) = sval (n, cmerge done (CCons l d r)).
  rewrite !sval_merge /up /= hadm1r lcol_flip E evl_flip -adj_mull evc_merge [RHS]adj_had_l.
  by rewrite [hadm (evc r _) _]hadmC.
by split=> //; apply: alls_sub (IHd (lcol l) up) => s ->.
Qed.
Lemma leastP v s r : sval s = v -> alls (fun s => sval s = v) r -> sval (least s r) = v.
Proof. by elim: r s => //= t r IH s Es [Et Er]; apply: IH => //; case: acmp. Qed.
Lemma evss_canon n c : evss (canon n c) = sval (n, c).
Proof.
rewrite /evss; case: n => [|n]; last first.
  rewrite /canon big_seq1; apply: leastP => //.
  by apply: alls_sub (dfsP n.+1 c CNil) => s ->; apply: eq_sval; rewrite evc_merge hadm1l.
case: c => [|[i t [|?] [|?]|? ?] [|? ? ?] [|? ? ?]]; rewrite /canon /= ?big_seq1 ?big_nil //.
  by rewrite sval0 mxE.
by apply: eq_sval; rewrite /=; case: t; rewrite //= trmx11.
Qed.
Lemma evss_cat s t : evss (s ++ t) = evss s * evss t. Proof. exact: big_cat. Qed.
Lemma prod_ins T (f : T -> T -> comparison) (F : T -> R) x s :
  \prod_(y <- ins f x s) F y = F x * \prod_(y <- s) F y.
Proof.
elim: s => [|y s IH] /=; first by rewrite big_seq1 big_nil mulr1.
by case: (f x y); rewrite !big_cons // IH mulrCA.
Qed.
Lemma prod_merge T (f : T -> T -> comparison) (F : T -> R) s t :
  \prod_(y <- merge f s t) F y = \prod_(y <- s) F y * \prod_(y <- t) F y.
Proof. by elim: s => [|x s IH] /=; rewrite ?big_nil ?mul1r // prod_ins IH big_cons mulrA. Qed.
Lemma evcf_mul x y : evcf (cmul x y) = evcf x * evcf y.
Proof.
rewrite /evcf /evss /= rmorphM !prod_merge.
by rewrite [X in X * _ = _]mulrACA mulrACA.
Qed.
Lemma evcf_adds x ss : evcf (cadds x ss) = evss ss * evcf x.
Proof. by rewrite /evcf /evss /= prod_merge mulrCA. Qed.
Lemma evcf1 : evcf c1 = 1.
Proof. by rewrite /evcf /evss !big_nil !mulr1. Qed.

(* products of bodies *)
Definition evob (o : option (seq scal * body)) a b : 'X_(a, b) := if o is Some z then evss z.1 *: evb z.2 a b else 0.
Lemma evb_mul a k b x y : evob (mulb a k b x y) a b = evb x a k *m evb y k b.
Proof.
case: x y => [p|c d] [q|c' d'] /=.
- by rewrite -evw_cat; case: pcat => [r|] //=; rewrite /evss big_nil scale1r.
- by rewrite mulmxA -evw_app; case: app => [r|] /=; rewrite ?mul0mx // /evss big_nil scale1r.
- rewrite -[evw q k b]trmxK -evw_ptr -mulmxA -trmx_mul; case: ptrc => [r|] /=; last by rewrite mul0mx trmx0 mulmx0.
  by rewrite -evw_app; case: app => [e|] /=; rewrite ?trmx0 ?mulmx0 // /evss big_nil scale1r.
rewrite evss_canon sval_merge mulmxA -[in RHS](mulmxA (evc c a)).
by rewrite [(evc d k)^T *m _]mx11_scalar mul_mx_scalar -scalemxAl dotm_col.
Qed.
Definition evobd o a b : 'X_(a, b) := if o is Some z then evb z a b else 0.
Lemma evb_tr a b x : evobd (trb a b x) b a = (evb x a b)^T.
Proof.
case: x => [p|c d] /=; last by rewrite trmx_mul trmxK.
by rewrite -evw_ptr; case: ptrc => [r|].
Qed.
Lemma evc_nil0 : evc CNil 0 = 1%:M.
Proof. by apply/matrixP => i j; rewrite !mxE !ord1. Qed.
Definition evocf (o : option (cf * col)) a : 'X_(a, 0) := if o is Some z then evcf z.1 *: evc z.2 a else 0.
Lemma evm_tocol a m : evocf (tocol a m) a = evm m a 0.
Proof.
rewrite /evm /tocol; case: m => [x [p|c d]] /=; last first.
  rewrite evcf_adds evss_canon sval0 [evc d 0]mx11_scalar tr_scalar_mx mul_mx_scalar mxE eqxx mulr1n.
  by rewrite scalerA mulrC.
rewrite -[evw p a 0]mulmx1 -evc_nil0 -evw_app; case: app => [c|] //=; by rewrite scaler0.
Qed.
Definition evoc1 (o : option cf) : R := if o is Some x then evcf x else 0.
Lemma evm_tosc m : (evoc1 (tosc m))%:M = evm m 0 0.
Proof.
rewrite -evm_tocol /tosc; case: tocol => [[x c]|] /=; last by rewrite raddf0.
by rewrite evcf_adds evss_canon sval0 mulrC -scale_scalar_mx -mx11_scalar.
Qed.
Lemma evp0 a b : evp [::] a b = 0. Proof. exact: big_nil. Qed.
Lemma evp1 m a b : evp [:: m] a b = evm m a b. Proof. exact: big_seq1. Qed.
Lemma evp_mul a k b x y : evp (mulm a k b x y) a b = evm x a k *m evm y k b.
Proof.
rewrite /mulm /evm -scalemxAl -scalemxAr -evb_mul scalerA.
case: mulb => [[ss z]|]; last by rewrite evp0 scaler0.
by rewrite evp1 /evm /= evcf_adds evcf_mul scalerA mulrC.
Qed.
Lemma evp_scm a b x y : evp (scm x y) a b = (evm x 0 0 : 'M[R]_1) 0 0 *: evm y a b.
Proof.
rewrite /scm -evm_tosc; case: tosc => [c|] /=; rewrite mxE eqxx mulr1n; last by rewrite evp0 scale0r.
by rewrite evp1 /evm /= evcf_mul scalerA.
Qed.
Lemma evp_tr a b x : evp (trm a b x) b a = (evm x a b)^T.
Proof.
rewrite /trm /evm linearZ /= -evb_tr; case: trb => [z|] /=; last by rewrite evp0 scaler0.
exact: evp1.
Qed.
Lemma dg11 (s : 'M[R]_1) : dg s = s.
Proof. by apply/matrixP => i j; rewrite dgE !ord1 eqxx. Qed.
Lemma evp_dg a x : evp (dgm a x) a a = dg (evm x a 0).
Proof.
rewrite /dgm -evm_tocol; case: tocol => [[x' c]|] /=; last by rewrite evp0 dg0.
rewrite evp1 /evm /= dgZ; congr (_ *: _); case: a => [|a]; last exact: (evw_dias c a.+1).
rewrite /=.
by rewrite -[const_mx 1]/(evc CNil 0) evc_nil0 trmx1 mulmx1 [RHS]dg11.
Qed.
Lemma hadm_outer a b (u : 'X_(a, 0)) (v : 'X_(b, 0)) (A : 'X_(a, b)) : hadm (u *m v^T) A = dg u *m (A *m dg v).
Proof.
by apply/matrixP => i j; rewrite dg_mulE mul_dgE !mxE big_ord1 mxE -mulrA; congr (_ * _); exact: mulrC.
Qed.
Lemma evb_had_path a b c d p : evobd (omap BPath (obind (pcat (dias c) a a) (pcat p a b (dias d)))) a b =
  hadm (evb (BOut c d) a b) (evw p a b).
Proof.
rewrite /= hadm_outer -!evw_dias -evw_cat; case: pcat => [q|] /=; last by rewrite mulmx0.
by rewrite -evw_cat; case: pcat.
Qed.
Lemma evb_had a b x y : hadok a b (c1, x) (c1, y) -> evobd (hadb a b x y) a b = hadm (evb x a b) (evb y a b).
Proof.
case: x y => [p|c d] [q|c' d'] H; last 1 first.
- rewrite /= !evc_merge; apply/matrixP => i j; rewrite !mxE !big_ord1 !mxE; exact: mulrACA.
- case: p q H => [|l [|? ?|? ? ?]|? ? ?] [|m [|? ?|? ? ?]|? ? ?] //= /andP[/eqP lb /eqP mb].
  by case: (lcmp l m); rewrite /= ?lb ?mb !one_id !mulmx1 // hadmC.
- by rewrite hadmC -evb_had_path; case: p {H} => [|? []|].
by rewrite -evb_had_path; case: q {H} => [|? []|].
Qed.
Lemma evp_had a b x y : hadok a b x y -> evp (hadmm a b x y) a b = hadm (evm x a b) (evm y a b).
Proof.
move=> ok; rewrite /hadmm /evm hadmZl hadmZr scalerA -evb_had; last by case: x y ok => ? x [? y].
by case: hadb => [z|]; rewrite /= ?evp1 /evm ?evcf_mul // evp0 scaler0.
Qed.
Lemma undiasP p c a : undias p = Some c -> evw p a a = dg (evc c a).
Proof.
elim: p c => [|l q _|l d q IH] c //= => [[<-]|]; first by rewrite one_id dg1.
by case: undias IH => [r|] //= /(_ r erefl) -> [<-]; rewrite -dg_hadm.
Qed.
Lemma evp_dv a x : dvok x -> evp (dvm x) a 0 = diagv (evm x a a).
Proof.
rewrite /dvok /dvm /evm diagvZ; case E: dvb => [c|] // _; rewrite evp1 /evm /=; congr (_ *: _).
rewrite -[const_mx 1]/(evc CNil 0) evc_nil0 trmx1 mulmx1.
by case: x.2 E => [p /= /undiasP->|d d' /= [<-]]; rewrite ?diagv_dg // evc_merge diagv_outer.
Qed.
Lemma evp_zmul z a b x : evp (zmul z x) a b = z%:~R *: evm x a b.
Proof.
rewrite /zmul; case: eqP => [->|_]; first by rewrite evp0 scale0r.
by rewrite evp1 /evm scalerA /evcf /= rmorphM !mulrA.
Qed.

(* sums *)
Lemma evp_addm m p a b : evp (addm m p) a b = evm m a b + evp p a b.
Proof.
rewrite /evp; elim: p => [|x q IH] /=; first by rewrite big_seq1 big_nil addr0.
case E: mcmp; rewrite !big_cons //; last by rewrite IH addrCA.
rewrite addrA; have -> : evm m a b + evm x a b =
    evm ((m.1.1.1 + x.1.1.1, x.1.1.2, x.1.2), x.2) a b.
  by case/mcmpE: E => E1 E2 E3; rewrite /evm E1 -scalerDl /evcf /= E2 E3 rmorphD !mulrDl.
case: eqP => [->|_]; rewrite ?big_cons //.
by rewrite /evm /evcf /= !mul0r scale0r add0r.
Qed.
Lemma evp_add p q a b : evp (addp p q) a b = evp p a b + evp q a b.
Proof. by elim: p => [|x p IH] /=; rewrite ?evp0 ?add0r // evp_addm IH /evp big_cons addrA. Qed.
Lemma evp_map (f : mono -> poly) a b a' b' (F : 'X_(a, b) -> 'X_(a', b')) p :
  F 0 = 0 -> {morph F : x y / x + y} -> (forall m, evp (f m) a' b' = F (evm m a b)) ->
  evp (mapp f p) a' b' = F (evp p a b).
Proof.
move=> F0 FD Fm; elim: p => [|x p IH] /=; first by rewrite !evp0.
by rewrite evp_add IH Fm -FD /evp big_cons.
Qed.
Lemma evp_map_all (ok : mono -> bool) (f : mono -> poly) a b a' b' (F : 'X_(a, b) -> 'X_(a', b')) p :
  F 0 = 0 -> {morph F : x y / x + y} -> (forall m, ok m -> evp (f m) a' b' = F (evm m a b)) -> all ok p ->
  evp (mapp f p) a' b' = F (evp p a b).
Proof.
move=> F0 FD Fm; elim: p => [|x p IH] /=; first by rewrite !evp0.
by case/andP=> okx /IH E; rewrite evp_add {}E Fm // -FD /evp big_cons.
Qed.
Lemma evp_bil_all (ok : mono -> mono -> bool) f a b a' b' a2 b2 (F : 'X_(a, b) -> 'X_(a', b') -> 'X_(a2, b2)) p q :
  (forall y, F 0 y = 0) -> (forall y, {morph F^~ y : x x' / x + x'}) ->
  (forall x, F x 0 = 0) -> (forall x, {morph F x : y y' / y + y'}) ->
  (forall m n, ok m n -> evp (f m n) a2 b2 = F (evm m a b) (evm n a' b')) ->
  all (fun m => all (ok m) q) p ->
  evp (bil f p q) a2 b2 = F (evp p a b) (evp q a' b').
Proof.
move=> F0 FD G0 GD Fm; rewrite /bil; elim: p => [|x p IH] /=; first by rewrite !evp0 F0.
case/andP=> okx /IH Ep; rewrite evp_add {}Ep [evp (x :: p) a b]big_cons FD; congr (_ + _).
elim: q {IH} okx => [|y q IHq] /=; first by rewrite !evp0 G0.
by case/andP=> oky /IHq Eq; rewrite evp_add {}Eq Fm // [evp (y :: q) _ _]big_cons GD.
Qed.
Lemma evp_bil f a b a' b' a2 b2 (F : 'X_(a, b) -> 'X_(a', b') -> 'X_(a2, b2)) p q :
  (forall y, F 0 y = 0) -> (forall y, {morph F^~ y : x x' / x + x'}) ->
  (forall x, F x 0 = 0) -> (forall x, {morph F x : y y' / y + y'}) ->
  (forall m n, evp (f m n) a2 b2 = F (evm m a b) (evm n a' b')) ->
  evp (bil f p q) a2 b2 = F (evp p a b) (evp q a' b').
Proof.
move=> F0 FD G0 GD Fm; apply: (@evp_bil_all (fun _ _ => true)) => //.
by elim: p => //= x p ->; rewrite andbT; elim: q.
Qed.
Lemma evp_bilm a k b p q : evp (bil (mulm a k b) p q) a b = evp p a k *m evp q k b.
Proof.
apply: evp_bil => [y|y x x'|x|x y y'|m n]; rewrite ?mul0mx ?mulmx0 ?mulmxDl ?mulmxDr //.
exact: evp_mul.
Qed.
Lemma evp_bils a b p q : evp (bil scm p q) a b = (evp p 0 0 : 'M[R]_1) 0 0 *: evp q a b.
Proof.
apply: (@evp_bil scm 0 0 a b a b (fun x y => (x : 'M[R]_1) 0 0 *: y)) => [y|y x x'|x|x y y'|m n];
  rewrite ?scaler0 ?scalerDr //; try by rewrite mxE ?scale0r ?scalerDl.
exact: evp_scm.
Qed.
Lemma evp_mapz z a b p : evp (mapp (zmul z) p) a b = z%:~R *: evp p a b.
Proof.
apply: (evp_map (F := fun x => z%:~R *: x)) => [|x y|m]; rewrite ?scaler0 ?scalerDr //.
exact: evp_zmul.
Qed.
Lemma evp_mapt a b p : evp (mapp (trm a b) p) b a = (evp p a b)^T.
Proof. by apply: evp_map => [|x y|m]; rewrite ?trmx0 ?linearD ?evp_tr. Qed.

Lemma evm1 a b x : evm (c1, x) a b = evb x a b.
Proof. by rewrite /evm evcf1 scale1r. Qed.
Lemma evp_unit a b : evp [:: unit1] a b = const_mx 1.
Proof. by rewrite evp1 evm1 /=; apply/matrixP => i j; rewrite !mxE big_ord1 !mxE mulr1. Qed.
Lemma evp_unit0 : evp [:: unit1] 0 0 = 1%:M. Proof. by rewrite evp_unit -evc_nil0. Qed.
Lemma evp_one a : evp (normone a) a a = 1%:M.
Proof. by case: a => [|a]; rewrite ?evp_unit0 // evp1 evm1 /= one_id. Qed.
Lemma evc_let l a : lcol l = 0%N -> evc (CCons l CNil CNil) a = evl l a 0.
Proof. by move=> E /=; rewrite hadm1r E -[const_mx 1]/(evc CNil 0) evc_nil0 mulmx1. Qed.
Lemma evp_let l a b : evp (normlet l a b) a b = evl l a b.
Proof.
rewrite /normlet; case: ifP => [/andP[/eqP E /eqP F]|/negbT/evl_ne->]; last exact: evp0.
case: a b E F => [|a] [|b] E F; rewrite evp1.
- rewrite /evm /= /evcf big_nil !mul1r evss_canon sval0 evc_let //.
  have -> : evc CNil 0 *m (evc CNil 0)^T = 1%:M by rewrite evc_nil0 trmx1 mulmx1.
  by rewrite -mul_scalar_mx mulmx1 -mx11_scalar.
- rewrite evm1 -[evb _ _ _]/(evc CNil 0 *m (evc (CCons (flip l) CNil CNil) b.+1)^T).
  by rewrite evc_let ?lcol_flip // evc_nil0 mul1mx evl_flip trmxK.
- rewrite evm1 -[evb _ _ _]/(evc (CCons l CNil CNil) a.+1 *m (evc CNil 0)^T).
  by rewrite evc_let // evc_nil0 trmx1 mulmx1.
by rewrite evm1 /= F one_id mulmx1.
Qed.

Lemma mx11K (x : R) : (x%:M : 'M[R]_1) 0 0 = x. Proof. by rewrite mxE eqxx mulr1n. Qed.
Theorem normP : (forall e a b, fitx e a b -> evp (normx e a b) a b = evx e a b) /\
  (forall s, fits s -> evp (norms s) 0 0 = (evs s)%:M).
Proof.
apply: mxsc_ind => /=.
- by move=> l a b _; exact: evp_let.
- by move=> a b _; rewrite evp0.
- by move=> e He f Hf a b /andP[? ?]; rewrite evp_add He ?Hf.
- by move=> e He a b ?; rewrite evp_mapz He ?scaleN1r.
- by move=> k e He f Hf a b /andP[? ?]; rewrite evp_bilm He ?Hf.
- by move=> e He a b ?; rewrite evp_mapt He.
- by move=> s Hs e He a b /andP[? ?]; rewrite evp_bils Hs ?He ?mx11K.
- by move=> e He n a b ?; rewrite evp_mapz He -?pmulrn ?scaler_nat.
- move=> s Hs a b ?; case: eqP => [<-|/eqP n]; last by rewrite evp0 castd_ne.
  by rewrite evp_bils castd_id Hs ?mx11K ?evp_one ?scalemx1.
- by move=> s Hs a b ?; rewrite evp_bils Hs ?mx11K ?evp_unit //; apply/matrixP => i j; rewrite !mxE mulr1.
- move=> e He a b ?; case: eqP => [<-|/eqP n]; last by rewrite evp0 castd_ne.
  by rewrite castd_id -He //; apply: evp_map => [|x y|m]; rewrite ?dg0 ?dgD ?evp_dg.
- move=> e He a [|b] /andP[? ok] /=; last by rewrite evp0.
  rewrite -He //; apply: (@evp_map_all dvok dvm a a a 0 (fun x => diagv x)) ok => [|x y|m];
    rewrite ?diagv0 ?diagvD //; exact: evp_dv.
- move=> e He f Hf a b /and3P[? ? ok]; rewrite -He // -Hf //.
  apply: (@evp_bil_all (hadok a b) (hadmm a b) a b a b a b (fun x y => hadm x y)) ok => [y|y x x'|x|x y y'|m n];
    rewrite ?hadm0l ?hadm0r ?hadmDl ?hadmDr //; exact: evp_had.
- by move=> e He f Hf a b /andP[? ?]; rewrite evp_bils He ?Hf.
- move=> i _; have := evp_unit0; rewrite !evp1 evm1 /evm /= => ->.
  by rewrite /evcf /evss big_seq1 big_nil mul1r mulr1 scalemx1.
- by rewrite evp0 raddf0.
- by move=> _; exact: evp_unit0.
- by move=> s Hs t Ht /andP[? ?]; rewrite evp_add Hs ?Ht ?raddfD.
- by move=> s Hs ?; rewrite evp_mapz Hs ?scaleN1r ?raddfN.
- by move=> s Hs t Ht /andP[? ?]; rewrite evp_bils Hs ?Ht ?mx11K ?scale_scalar_mx.
- by move=> s Hs n ?; rewrite evp_mapz Hs -?pmulrn ?scaler_nat ?raddfMn.
- move=> s Hs n ?; elim: n => [|n IH] /=; first by rewrite evp_unit0.
  by rewrite evp_bils Hs ?IH ?mx11K ?scale_scalar_mx ?exprS.
- by move=> e He ?; rewrite He // [LHS]mx11_scalar.
by move=> n e He f Hf /andP[? ?]; rewrite evp_bilm evp_mapt He ?Hf // [LHS]mx11_scalar dotm_col.
Qed.

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Equality by comparing normal forms                                                                                *)
Definition diffx e f := XAdd e (XOpp f).
Definition diffs s t := SAdd s (SOpp t).
Definition empty (p : poly) : bool := if p is [::] then true else false.
Definition same e f a b : bool := fitx (diffx e f) a b && empty (normx (diffx e f) a b).
Definition sames s t : bool := fits (diffs s t) && empty (norms (diffs s t)).
Lemma diffx0 e f a b : fitx (diffx e f) a b -> evp (normx (diffx e f) a b) a b = 0 -> evx e a b = evx f a b.
Proof. by move=> fit E; apply: subr0_eq; rewrite -[LHS]/(evx (diffx e f) a b) -(normP.1 _ a b). Qed.
Lemma diffs0 s t : fits (diffs s t) -> evp (norms (diffs s t)) 0 0 = 0 -> evs s = evs t.
Proof.
move=> fit E; apply: subr0_eq; rewrite -[LHS]/(evs (diffs s t)) -[LHS]mx11K -(normP.2 _) // E.
by rewrite mxE.
Qed.
Lemma empty0 p a b : empty p -> evp p a b = 0. Proof. by case: p => // _; exact: evp0. Qed.
Theorem mx_same e f a b : same e f a b = true -> evx e a b = evx f a b.
Proof. by case/andP=> fit E; apply: diffx0 => //; exact: empty0. Qed.
Theorem sc_same s t : sames s t = true -> evs s = evs t.
Proof. by case/andP=> fit E; apply: diffs0 => //; exact: empty0. Qed.

(* what is left when they differ: the coefficient of each body, a sum of products of scalars *)
Fixpoint groups (p : poly) : seq (body * seq cf) := if p is m :: q then
    match groups q with
    | (x, g) :: r => if bcmp m.2 x is Eq then (x, m.1 :: g) :: r else (m.2, [:: m.1]) :: (x, g) :: r
    | [::] => [:: (m.2, [:: m.1])] end
  else [::].
Definition coefs p := map snd (groups p).
Definition zval (z : int) : R := match z with Posz n => n%:R | Negz n => - n.+1%:R end.
Fixpoint rval (s : seq nat) : R := if s is i :: t then look 0 renv i * rval t else 1.
Fixpoint ssval (s : seq scal) : R := if s is x :: t then sval x * ssval t else 1.
Fixpoint csum (g : seq cf) : R := if g is (z, r, s) :: h then zval z * rval r * ssval s + csum h else 0.
Fixpoint zeros (gs : seq (seq cf)) : Prop := if gs is g :: hs then csum g = 0 /\ zeros hs else True.
Lemma csumE g : csum g = \sum_(x <- g) evcf x.
Proof.
elim: g => [|[[z r] s] g IH]; rewrite ?big_nil //= big_cons IH /evcf; congr (_ * _ * _ + _).
- by elim: r {IH} => [|i r IH] /=; rewrite ?big_nil // big_cons IH.
by rewrite /evss; elim: s {IH} => [|x s IH] /=; rewrite ?big_nil // big_cons IH.
Qed.
Lemma evp_groups p a b : evp p a b = \sum_(g <- groups p) csum g.2 *: evb g.1 a b.
Proof.
elim: p => [|m q IH] /=; first by rewrite evp0 big_nil.
have E1 x : csum [:: x] = evcf x by rewrite csumE big_seq1.
rewrite /evp big_cons -/(evp q a b) IH; case: groups => [|[x g] r].
  by rewrite big_seq1 E1 big_nil addr0.
case E: (bcmp m.2 x); rewrite !big_cons ?E1 //.
by rewrite addrA /evm (bcmpE E) -scalerDl !csumE big_cons.
Qed.
Lemma evp_zeros p a b : zeros (coefs p) -> evp p a b = 0.
Proof.
rewrite evp_groups /coefs; elim: groups => [|[x g] r IH] /=; first by rewrite big_nil.
by case=> E /IH H; rewrite big_cons H E scale0r addr0.
Qed.
Definition leftx e f a b := if fitx (diffx e f) a b then Some (coefs (normx (diffx e f) a b)) else None.
Definition lefts s t := if fits (diffs s t) then Some (coefs (norms (diffs s t))) else None.
Definition ozeros (o : option (seq (seq cf))) : Prop := if o is Some gs then zeros gs else False.
(* what is left is computed apart, without the matrices: r *)
Theorem mx_left e f a b r : leftx e f a b = r -> ozeros r -> evx e a b = evx f a b.
Proof. by move=> <-; rewrite /leftx; case: ifP => //= fit E; apply: diffx0 => //; exact: evp_zeros. Qed.
Theorem sc_left s t r : lefts s t = r -> ozeros r -> evs s = evs t.
Proof. by move=> <-; rewrite /lefts; case: ifP => //= fit E; apply: diffs0 => //; exact: evp_zeros. Qed.

(* inverses: a fact (z, r, i) says that z times the scalars numbered in r is 1. The terms of a coefficient are brought to
   one degree in the scalar i by factors 1, and then collected, so that 1/q and q may stand in different terms *)
Definition fact := (int * seq nat * nat)%type.
Definition degree (f : fact) (x : cf) : nat := count (fun i => i == f.2) x.1.2.
Definition raise (f : fact) (x : cf) : cf := (f.1.1 * x.1.1, merge Nat.compare f.1.2 x.1.2, x.2).
Definition homog (g : seq cf) (f : fact) : seq cf :=
  let k := foldr (fun x k => maxn (degree f x) k) 0%N g in map (fun x => iter (k - degree f x) (raise f) x) g.
Definition collect (g : seq cf) : poly := foldr (fun x p => addm (x, BOut CNil CNil) p) [::] g.
Definition gone (fs : seq fact) (o : option (seq (seq cf))) : bool :=
  if o is Some gs then all (fun g => empty (collect (foldl homog g fs))) gs else false.
Fixpoint known (fs : seq fact) : Prop :=
  if fs is f :: fs' then zval f.1.1 * rval f.1.2 = 1 /\ known fs' else True.
Lemma known_nil : known [::].
Proof. by []. Qed.
Lemma known_nat n i fs : n%:R * look 0 renv i = 1 -> known fs -> known ((Posz n, [:: i], i) :: fs).
Proof. by move=> E; split=> //=; rewrite mulr1. Qed.
Lemma known_pair i j fs : look 0 renv i * look 0 renv j = 1 -> known fs -> known ((Posz 1, [:: i; j], j) :: fs).
Proof. by move=> E; split=> //=; rewrite mulr1 mul1r. Qed.
Lemma evcf_raise f x : zval f.1.1 * rval f.1.2 = 1 -> evcf (raise f x) = evcf x.
Proof.
have E : rval f.1.2 = \prod_(i <- f.1.2) look 0 renv i by elim: f.1.2 => [|i r IH]; rewrite ?big_nil //= big_cons IH.
have Z : zval f.1.1 = f.1.1%:~R by case: f.1.1.
by rewrite E Z /evcf /raise /= rmorphM prod_merge mulrACA => ->; rewrite mul1r.
Qed.
Lemma csum_homog f g : zval f.1.1 * rval f.1.2 = 1 -> csum (homog g f) = csum g.
Proof.
move=> E; rewrite !csumE big_map; apply: eq_bigr => x _.
by elim: (_ - _)%N => [|k IH] //=; rewrite evcf_raise.
Qed.
Lemma evp_collect g : evp (collect g) 0 0 = (csum g)%:M.
Proof.
elim: g => [|x g IH]; rewrite csumE; first by rewrite evp0 big_nil raddf0.
have U : evb (BOut CNil CNil) 0 0 = 1%:M by rewrite -evp_unit0 evp1 /evm evcf1 scale1r.
by rewrite /= evp_addm IH csumE big_cons /evm U scalemx1 raddfD.
Qed.
Theorem gone_zeros fs o : known fs -> gone fs o = true -> ozeros o.
Proof.
move=> K; case: o => [gs|] //=; elim: gs => //= g gs IH /andP[E /IH H]; split=> // {IH H}.
have <- : csum (foldl homog g fs) = csum g.
  by elim: fs g K {E} => //= f fs IH g [E /IH ->]; exact: csum_homog.
by rewrite -[LHS]mx11K -evp_collect (empty0 _ _ E) mxE.
Qed.

(* pairings *)
Fixpoint evr (p : pr) : R := match p with
  | RDot l e => << evx e (lrow l) (lcol l), evl l (lrow l) (lcol l) >>
  | RScal s => evs s
  | RAdd p q => evr p + evr q
  | ROpp p => - evr p
  | RMul s p => evs s * evr p
  | RMuln p n => evr p *+ n end.
(* the matrix paired with the letter l; the rest of the sum; the scalar part when only pairings of columns are left *)
Fixpoint paired l p : mx := match p with
  | RDot m e => if lcmp l m is Eq then e else XZero
  | RScal s => XZero
  | RAdd p q => XAdd (paired l p) (paired l q)
  | ROpp p => XOpp (paired l p)
  | RMul s p => XScale s (paired l p)
  | RMuln p n => XMuln (paired l p) n end.
Fixpoint unpaired l p : pr := match p with
  | RDot m e => if lcmp l m is Eq then RScal SZero else p
  | RScal s => p
  | RAdd p q => RAdd (unpaired l p) (unpaired l q)
  | ROpp p => ROpp (unpaired l p)
  | RMul s p => RMul s (unpaired l p)
  | RMuln p n => RMuln (unpaired l p) n end.
Fixpoint scalar p : option sc := match p with
  | RDot l e => if lcol l is 0 then Some (SDot (lrow l) e (XLet l)) else None
  | RScal s => Some s
  | RAdd p q => if scalar p is Some s then if scalar q is Some t then Some (SAdd s t) else None else None
  | ROpp p => omap SOpp (scalar p)
  | RMul s p => omap (SMul s) (scalar p)
  | RMuln p n => omap (SMuln^~ n) (scalar p) end.
Lemma evr_split l p : evr p = << evx (paired l p) (lrow l) (lcol l), evl l (lrow l) (lcol l) >> + evr (unpaired l p).
Proof.
elim: p => /= [m e|s|p Hp q Hq|p Hp|s p Hp|p Hp n].
- by case E: lcmp; rewrite /= ?dotm0l ?add0r //; move/lcmpE: E => ->; rewrite addr0.
- by rewrite dotm0l add0r.
- by rewrite Hp Hq dotmDl addrACA.
- by rewrite Hp dotmNl opprD.
- by rewrite Hp dotmZl mulrDr.
by rewrite Hp dotmMnl mulrnDl.
Qed.
Lemma evr_scalar p s : scalar p = Some s -> evr p = evs s.
Proof.
elim: p s => /= [l e|s|p Hp q Hq|p Hp|t p Hp|p Hp n] s'.
- by case E: (lcol l) => // -[<-].
- by case=> ->.
- by case: (scalar p) Hp => // s Hp; case: (scalar q) Hq => // t Hq [<-] /=; rewrite (Hp s) // (Hq t).
- by case: (scalar p) Hp => // s Hp [<-] /=; rewrite (Hp s).
- by case: (scalar p) Hp => // s Hp [<-] /=; rewrite (Hp s).
by case: (scalar p) Hp => // s Hp [<-] /=; rewrite (Hp s).
Qed.
(* the polynomials that have to vanish; None if an entrywise product does not fit *)
Fixpoint remains ls p : option (seq poly) := if ls is l :: ls' then
    let e := paired l p in
    if fitx e (lrow l) (lcol l) then omap (cons (normx e (lrow l) (lcol l))) (remains ls' (unpaired l p)) else None
  else if scalar p is Some s then if fits s then Some [:: norms s] else None else None.
Definition diffr ls p q := remains ls (RAdd p (ROpp q)).
Definition vanish (o : option (seq poly)) : bool := if o is Some r then all empty r else false.
Definition leftr (o : option (seq poly)) : option (seq (seq cf)) := omap (fun r => flatten (map coefs r)) o.
Lemma remains0 ls p r : remains ls p = Some r -> (forall a b, alls (fun q => evp q a b = 0) r) -> evr p = 0.
Proof.
elim: ls p r => [|l ls IH] p r /=.
  case E: scalar => [s|] //=; case: ifP => // fit [<-] /(_ 0 0)%N /= [H _].
  by rewrite (evr_scalar E) -[LHS]mx11K -(normP.2 _) // H mxE.
case: ifP => // fit; case E: remains => [r'|] //= [<-] H; rewrite (evr_split l) (IH _ _ E) => [|a b]; last first.
  by case: (H a b).
by have [/= E' _] := H (lrow l) (lcol l); rewrite addr0 -(normP.1 _) // E' dotm0l.
Qed.
Lemma diffr0 ls p q r : diffr ls p q = Some r -> (forall a b, alls (fun q => evp q a b = 0) r) -> evr p = evr q.
Proof. by move=> E H; apply: subr0_eq; rewrite -[LHS]/(evr (RAdd p (ROpp q))); exact: remains0 E H. Qed.
Theorem pr_same ls p q : vanish (diffr ls p q) = true -> evr p = evr q.
Proof.
case E: diffr => [r|] //= H; apply: (diffr0 E) => a b.
by elim: r H {E} => //= x r IH /andP[x0 /IH]; split=> //; exact: empty0.
Qed.
Lemma zeros_cat s t : zeros (s ++ t) -> zeros s /\ zeros t.
Proof. by elim: s => //= g s IH [Eg /IH [H K]]. Qed.
Theorem pr_left ls p q o : leftr (diffr ls p q) = o -> ozeros o -> evr p = evr q.
Proof.
move=> <-; case E: diffr => [r|] //= H; apply: (diffr0 E) => a b.
by elim: r H {E} => //= x r IH /zeros_cat[Hx /IH]; split=> //; exact: evp_zeros.
Qed.
End Meaning.

End Normal.
Import Normal.
(* the meaning of a term is unfolded before the goal it has to be convertible to *)
Strategy expand [evx evs evr evl getm castm castd look sz ndec].

(* ---------------------------------------------------------------------------------------------------------------- *)
(* Reading a goal                                                                                                    *)
From Ltac2 Require Ltac2.
Module Reading.
Import Ltac2.Ltac2.
Set Default Proof Mode "Classic".

Ltac2 Type state := {
  strict : bool;                       (* compare letters as terms, or up to conversion of sizes, times, structures *)
  field : constr;                      (* the comRingType *)
  mutable sizes : constr list;         (* 1, then the sizes met *)
  mutable letters : (constr * int * int) list;
  mutable scalars : constr list
}.
Ltac2 rec nat_of (n : int) := if Int.equal n 0 then '(O) else let m := nat_of (Int.sub n 1) in constr:(S $m).
Ltac2 app (f : constr) (args : constr list) := Constr.Unsafe.make (Constr.Unsafe.App f (Array.of_list args)).
Ltac2 rec is_lit (n : constr) := match Constr.Unsafe.kind n with
  | Constr.Unsafe.App f a => if Constr.equal f '(S) then is_lit (Array.get a 0) else false
  | Constr.Unsafe.Constructor _ _ => Constr.equal n '(O)
  | _ => false end.

Ltac2 unifies (x : constr) (y : constr) :=
  match Control.case (fun () => Std.unify x y) with Val _ => true | Err _ => false end.
(* matrices and numbers of the ring are compared by their parts, all else up to conversion *)
Ltac2 is_value (x : constr) := match Constr.Unsafe.kind (Std.eval_hnf (Constr.type x)) with
  | Constr.Unsafe.App f _ => if Constr.equal f '(@matrix) then true else false
  | Constr.Unsafe.Prod _ _ => true
  | Constr.Unsafe.Sort _ => false
  | Constr.Unsafe.Ind _ _ => false
  | _ => true end.
Ltac2 rec loose (x : constr) (y : constr) :=
  if Constr.equal x y then true else
  let parts := match Constr.Unsafe.kind x with
    | Constr.Unsafe.App f a => match Constr.Unsafe.kind y with
      | Constr.Unsafe.App g b =>
        if Int.equal (Array.length a) (Array.length b) then
          if loose f g then List.for_all2 loose (Array.to_list a) (Array.to_list b) else false
        else false
      | _ => false end
    | _ => false end in
  if parts then true else
  match Control.case (fun () => is_value x) with
  | Val v => let (b, _) := v in if b then false else unifies x y
  | Err _ => false end.
Ltac2 alike (st : state) (x : constr) (y : constr) :=
  if Constr.equal x y then true else if st.(strict) then false else loose x y.

Ltac2 size (st : state) (n : constr) :=
  let rec go i l := match l with
    | [] => st.(sizes) := List.append (st.(sizes)) [n]; i
    | m :: l => if alike st n m then i else go (Int.add i 1) l end in
  go 0 (st.(sizes)).
Ltac2 letter (st : state) (x : constr) (a : int) (b : int) :=
  let rec go i l := match l with
    | [] => st.(letters) := List.append (st.(letters)) [(x, a, b)]; i
    | y :: l => let (y, c, d) := y in
      if Int.equal a c then if Int.equal b d then if alike st x y then i else go (Int.add i 1) l
        else go (Int.add i 1) l else go (Int.add i 1) l end in
  let i := go 0 (st.(letters)) in
  app '(@LT) [nat_of i; '(false); nat_of a; nat_of b].
Ltac2 atom (st : state) (x : constr) :=
  let rec go i l := match l with
    | [] => st.(scalars) := List.append (st.(scalars)) [x]; i
    | y :: l => if alike st x y then i else go (Int.add i 1) l end in
  app '(@SAt) [nat_of (go 0 (st.(scalars)))].
Ltac2 is_zero_ord (i : constr) := match Constr.Unsafe.kind i with
  | Constr.Unsafe.App f _ => if Constr.equal f '(@GRing.zero) then true else Constr.equal f '(@ord0)
  | _ => false end.

Ltac2 is_true (b : constr) := Constr.equal (Std.eval_vm None b) '(true).

Ltac2 rec matrix_of (st : state) (x : constr) (a : int) (b : int) :=
  let leaf () := app '(XLet) [letter st x a b] in
  match Constr.Unsafe.kind x with
  | Constr.Unsafe.Cast y _ _ => matrix_of st y a b
  | Constr.Unsafe.App f v =>
    let n := Array.length v in
    let hd c k := if Int.equal n k then Constr.equal f c else false in
    let arg i := Array.get v i in
    if hd '(@mulmx) 6 then
      let k := size st (arg 2) in
      let e := matrix_of st (arg 4) a k in
      app '(XMul) [nat_of k; e; matrix_of st (arg 5) k b]
    else if hd '(@GRing.add) 3 then
      let e := matrix_of st (arg 1) a b in
      app '(XAdd) [e; matrix_of st (arg 2) a b]
    else if hd '(@GRing.opp) 2 then app '(XOpp) [matrix_of st (arg 1) a b]
    else if hd '(@trmx) 4 then app '(XTr) [matrix_of st (arg 3) b a]
    else if hd '(@dg) 3 then if Int.equal a b then app '(XDg) [matrix_of st (arg 2) a 0] else leaf ()
    else if hd '(@diagv) 3 then
      let dv := app '(XDv) [matrix_of st (arg 2) a a] in
      if Int.equal b 0 then
        if is_true (app '(fitx) [dv; nat_of a; nat_of b]) then dv else leaf ()
      else leaf ()
    else if hd '(@GRing.scale) 4 then
      let s := scalar_of st (arg 2) in
      app '(XScale) [s; matrix_of st (arg 3) a b]
    else if hd '(@hadm) 5 then
      let e := matrix_of st (arg 3) a b in
      let f := matrix_of st (arg 4) a b in
      let had := app '(XHad) [e; f] in
      if Int.equal b 0 then had
      else if is_true (app '(fitx) [had; nat_of a; nat_of b]) then had else leaf ()
    else if hd '(@msc) 5 then
      let e := matrix_of st (arg 3) 0 0 in
      app '(XMsc) [e; matrix_of st (arg 4) a b]
    else if hd '(@GRing.zero) 1 then '(XZero)
    else if hd '(@scalar_mx) 3 then if Int.equal a b then app '(XScm) [scalar_of st (arg 2)] else leaf ()
    else if hd '(@const_mx) 4 then app '(XCst) [scalar_of st (arg 3)]
    else if hd '(@GRing.natmul) 3 then
      if is_lit (arg 2) then app '(XMuln) [matrix_of st (arg 1) a b; arg 2] else leaf ()
    else leaf ()
  | _ => leaf () end
with scalar_of (st : state) (x : constr) :=
  let leaf () := atom st x in
  match Constr.Unsafe.kind x with
  | Constr.Unsafe.Cast y _ _ => scalar_of st y
  | Constr.Unsafe.App f v =>
    let n := Array.length v in
    let hd c k := if Int.equal n k then Constr.equal f c else false in
    let arg i := Array.get v i in
    if hd '(@GRing.add) 3 then
      let s := scalar_of st (arg 1) in app '(SAdd) [s; scalar_of st (arg 2)]
    else if hd '(@GRing.opp) 2 then app '(SOpp) [scalar_of st (arg 1)]
    else if hd '(@GRing.mul) 3 then
      let s := scalar_of st (arg 1) in app '(SMul) [s; scalar_of st (arg 2)]
    else if hd '(@GRing.zero) 1 then '(SZero)
    else if hd '(@GRing.one) 1 then '(SOne)
    else if hd '(@GRing.natmul) 3 then
      if is_lit (arg 2) then app '(SMuln) [scalar_of st (arg 1); arg 2] else leaf ()
    else if hd '(@GRing.exp) 3 then
      if is_lit (arg 2) then app '(SExp) [scalar_of st (arg 1); arg 2] else leaf ()
    else if hd '(@fun_of_matrix) 6 then
      if Constr.equal (arg 1) '(S O) then if Constr.equal (arg 2) '(S O) then
        if is_zero_ord (arg 4) then if is_zero_ord (arg 5) then app '(SEnt) [matrix_of st (arg 3) 0 0]
        else leaf () else leaf () else leaf () else leaf ()
    else if hd '(@dotm) 5 then
      if Constr.equal (arg 2) '(S O) then
        let a := size st (arg 1) in
        let e := matrix_of st (arg 3) a 0 in
        app '(SDot) [nat_of a; e; matrix_of st (arg 4) a 0]
      else leaf ()
    else leaf ()
  | _ => leaf () end.

(* does the scalar x contain a pairing as a term of its sum *)
Ltac2 rec has_dot (x : constr) := match Constr.Unsafe.kind x with
  | Constr.Unsafe.Cast y _ _ => has_dot y
  | Constr.Unsafe.App f v =>
    let arg i := Array.get v i in
    if Constr.equal f '(@dotm) then true
    else if Constr.equal f '(@GRing.add) then if has_dot (arg 1) then true else has_dot (arg 2)
    else if Constr.equal f '(@GRing.mul) then if has_dot (arg 1) then true else has_dot (arg 2)
    else if Constr.equal f '(@GRing.opp) then has_dot (arg 1)
    else if Constr.equal f '(@GRing.natmul) then has_dot (arg 1)
    else false
  | _ => false end.
Ltac2 rec pairing_of (st : state) (x : constr) :=
  let leaf () := app '(RScal) [scalar_of st x] in
  if has_dot x then match Constr.Unsafe.kind x with
  | Constr.Unsafe.Cast y _ _ => pairing_of st y
  | Constr.Unsafe.App f v =>
    let arg i := Array.get v i in
    if Constr.equal f '(@dotm) then
      let a := size st (arg 1) in
      let b := size st (arg 2) in
      if Int.equal b 0 then
        let y := matrix_of st (arg 4) a b in
        match Constr.Unsafe.kind y with
        | Constr.Unsafe.App g w =>
          if Constr.equal g '(XLet) then
            let e := matrix_of st (arg 3) a b in app '(RDot) [Array.get w 0; e]
          else leaf ()
        | _ => leaf () end
      else
        let e := matrix_of st (arg 3) a b in
        app '(RDot) [letter st (arg 4) a b; e]
    else if Constr.equal f '(@GRing.add) then
      let p := pairing_of st (arg 1) in app '(RAdd) [p; pairing_of st (arg 2)]
    else if Constr.equal f '(@GRing.opp) then app '(ROpp) [pairing_of st (arg 1)]
    else if Constr.equal f '(@GRing.mul) then
      if has_dot (arg 1) then leaf ()
      else let s := scalar_of st (arg 1) in app '(RMul) [s; pairing_of st (arg 2)]
    else if Constr.equal f '(@GRing.natmul) then
      if is_lit (arg 2) then app '(RMuln) [pairing_of st (arg 1); arg 2] else leaf ()
    else leaf ()
  | _ => leaf () end
  else leaf ().
(* the letters paired in p *)
Ltac2 rec paired_in (p : constr) (acc : constr list) := match Constr.Unsafe.kind p with
  | Constr.Unsafe.App f v =>
    let arg i := Array.get v i in
    if Constr.equal f '(RDot) then if List.exist (Constr.equal (arg 0)) acc then acc else arg 0 :: acc
    else if Constr.equal f '(RAdd) then paired_in (arg 0) (paired_in (arg 1) acc)
    else if Constr.equal f '(ROpp) then paired_in (arg 0) acc
    else if Constr.equal f '(RMul) then paired_in (arg 1) acc
    else if Constr.equal f '(RMuln) then paired_in (arg 0) acc
    else acc
  | _ => acc end.

Ltac2 rec list_of (ty : constr) (l : constr list) := match l with
  | [] => app '(@nil) [ty]
  | x :: l => app '(@cons) [ty; x; list_of ty l] end.
(* the tables of sizes, letters and scalars *)
Ltac2 tables (st : state) :=
  let r := st.(field) in
  let ring := constr:(GRing.ComRing.ringType $r) in
  let szs := list_of '(nat) (List.tl (st.(sizes))) in
  let entry l := let (x, a, b) := l in app '(@Letter) [ring; szs; nat_of a; nat_of b; x] in
  let env := list_of (app '(@Normal.letter) [ring; szs]) (List.map entry (st.(letters))) in
  let renv := list_of constr:(GRing.Ring.sort $ring) (st.(scalars)) in
  [r; szs; env; renv].

Ltac2 fail_with (s : string) := Control.zero (Tactic_failure (Some (Message.of_string s))).
Ltac2 start (strict : bool) (k : constr) :=
  let r := '(_ : GRing.ComRing.type) in
  Std.unify constr:(GRing.ComRing.sort $r) k;
  { strict := strict; field := r; sizes := ['(S O)]; letters := []; scalars := [] }.
Ltac2 certain (b : constr) := constr:(@Logic.eq_refl bool true <: @eq bool $b true).

Ltac2 beta (x : constr) := Std.eval_cbv { Std.rBeta := true; Std.rMatch := false; Std.rFix := false;
  Std.rCofix := false; Std.rZeta := false; Std.rDelta := false; Std.rConst := [] } x.

(* the two sides of an equation, and how they are read: matrices, scalars, pairings *)
Ltac2 Type kind := [ OfMatrix (int, int) | OfScalar | OfPairing ].
Ltac2 sides (strict : bool) (pairs : bool) :=
  match Constr.Unsafe.kind (Control.goal ()) with
  | Constr.Unsafe.App f v =>
    if Constr.equal f '(@eq) then
      let ty := Std.eval_hnf (Array.get v 0) in
      let x := beta (Array.get v 1) in
      let y := beta (Array.get v 2) in
      match Constr.Unsafe.kind ty with
      | Constr.Unsafe.App g w =>
        if Constr.equal g '(@matrix) then
          let st := start strict (Array.get w 0) in
          let a := size st (Array.get w 1) in
          let b := size st (Array.get w 2) in
          let e := matrix_of st x a b in
          let f := matrix_of st y a b in
          (st, OfMatrix a b, e, f)
        else
          let st := start strict (Array.get v 0) in
          if pairs then let e := pairing_of st x in let f := pairing_of st y in (st, OfPairing, e, f)
          else let e := scalar_of st x in let f := scalar_of st y in (st, OfScalar, e, f)
      | _ =>
          let st := start strict (Array.get v 0) in
          if pairs then let e := pairing_of st x in let f := pairing_of st y in (st, OfPairing, e, f)
          else let e := scalar_of st x in let f := scalar_of st y in (st, OfScalar, e, f)
      end
    else fail_with "not an equation"
  | _ => fail_with "not an equation" end.

(* the letters to collect by: all, or those that are not columns (pairings of columns are scalars) *)
Ltac2 is_column (l : constr) := match Constr.Unsafe.kind l with
  | Constr.Unsafe.App _ v => Constr.equal (Array.get v 3) '(O)
  | _ => false end.
Ltac2 letters_of (all : bool) (e : constr) (f : constr) :=
  let ls := paired_in e (paired_in f []) in
  list_of '(lt) (if all then ls else List.filter (fun l => Bool.neg (is_column l)) ls).
Ltac2 close (strict : bool) (pairs : bool) :=
  let (st, k, e, f) := sides strict pairs in
  let finish thm args check :=
    Std.exact_no_check (app thm (List.append (tables st) (List.append args [certain check]))) in
  let differ () := fail_with "the two sides have different normal forms" in
  match k with
  | OfMatrix a b => let a := nat_of a in let b := nat_of b in
      let check := app '(same) [e; f; a; b] in
      if is_true check then finish '(@mx_same) [e; f; a; b] check else differ ()
  | OfScalar =>
      let check := app '(sames) [e; f] in
      if is_true check then finish '(@sc_same) [e; f] check else differ ()
  | OfPairing =>
      let ls := letters_of true e f in
      let check := constr:(vanish (diffr $ls $e $f)) in
      if is_true check then finish '(@pr_same) [ls; e; f] check else
      let ls := letters_of false e f in
      let check := constr:(vanish (diffr $ls $e $f)) in
      if is_true check then finish '(@pr_same) [ls; e; f] check else differ () end.
(* the equation reduced to equations of coefficients *)
Ltac2 left (strict : bool) (pairs : bool) (all : bool) :=
  let (st, k, e, f) := sides strict pairs in
  let (thm, args, data, wrap) := match k with
    | OfMatrix a b => let a := nat_of a in let b := nat_of b in
        ('(@mx_left), [e; f; a; b], constr:(leftx $e $f $a $b), '(@ozeros))
    | OfScalar => ('(@sc_left), [e; f], constr:(lefts $e $f), '(@ozeros))
    | OfPairing => let ls := letters_of all e f in
        ('(@pr_left), [ls; e; f], constr:(leftr (diffr $ls $e $f)), '(@ozeros)) end in
  let tab := tables st in
  let value := Std.eval_vm None data in
  let goal := app wrap (List.append tab [value]) in
  let h := Fresh.in_goal @left in
  let computed := constr:(@Logic.eq_refl _ $value <: $data = $value) in
  let proof := app thm (List.append tab (List.append args [value; computed])) in
  Std.cut goal;
  Control.focus 1 1 (fun () =>
    Std.intros false [Std.IntroNaming (Std.IntroIdentifier h)];
    let hc := Control.hyp h in
    Std.exact_no_check (app proof [hc])).
End Reading.

(* mxring           lhs = rhs between matrices (or numbers of the ring) with the same normal form. Read are +, -, 0,
                    *m, ^T, *:, *+ n (n a numeral), k%:M, const_mx k, dg, msc, hadm of columns, hadm with an outer
                    product or of two letters, diagv of an outer product or of a diagonal matrix; in scalars +, -, *,
                    0, 1, numerals, ^+ n, s 0 0 with s of shape 1 x 1, and << u, v >> of columns. All else are letters,
                    compared as terms, then up to conversion of the sizes, times and structures in them; definitions
                    are not unfolded. Leading quantifiers and hypotheses are introduced.
   mxring: H1 .. Hn the same, where the coefficients of the difference are 0 by `ring: H1 .. Hn`.
   pairring         lhs = rhs in the ring, sums of k * << E, X >>, X a letter: grouped by X, each group as mxring;
                    pairings of columns are numbers too, so that an adjoint may be moved from one side to the other.
   pairring: H1 ..  the same with equations of coefficients.
   A false equation fails; nothing is left half done. *)
Ltac mxring_strict := ltac2:(Reading.close Init.true Init.false).
Ltac mxring_loose := ltac2:(Reading.close Init.false Init.false).
Ltac pairring_strict := ltac2:(Reading.close Init.true Init.true).
Ltac pairring_loose := ltac2:(Reading.close Init.false Init.true).
Ltac mxring_left := ltac2:(Reading.left Init.true Init.false Init.true).
Ltac mxring_left_loose := ltac2:(Reading.left Init.false Init.false Init.true).
Ltac pairring_left := ltac2:(Reading.left Init.true Init.true Init.true).
Ltac pairring_left_loose := ltac2:(Reading.left Init.false Init.true Init.true).
Ltac pairring_left_columns := ltac2:(Reading.left Init.false Init.true Init.false).
Ltac coefficients tac :=
  cbv [ozeros zeros csum zval rval ssval look];
  repeat match goal with |- _ /\ _ => split | |- True => exact I end; tac.
(* the place of a scalar in a table; the facts about inverses in it, H or (H, H', …): q%:R * x = 1 or a * x = 1 *)
Ltac place x l := match l with
  | ?y :: _ => let _ := match goal with _ => constr_eq x y end in constr:(O)
  | _ :: ?l' => let i := place x l' in constr:(S i) end.
Ltac give_facts H l := lazymatch H with
  | (?a, ?b) => give_facts a l; give_facts b l
  | _ => lazymatch type of H with
    | @GRing.natmul _ _ ?n * ?x = _ => try (let i := place x l in refine (@known_nat _ l n i _ H _))
    | ?a * ?x = _ => try (let i := place a l in let j := place x l in refine (@known_pair _ l i j _ H _)) end end.
Ltac cancel_inverses H := lazymatch goal with |- @ozeros ?R ?szs ?env ?renv ?value =>
  let K := fresh "K" in evar (K : seq fact); refine (@gone_zeros R szs env renv K value _ _);
  [ subst K; give_facts H renv; exact (@known_nil R renv) | subst K; vm_compute; exact (@Logic.eq_refl bool true) ] end.
Tactic Notation "mxring" := intros; first [mxring_strict | mxring_loose].
(* of entrywise products of matrices the order of the factors is kept, so that they are written from the left *)
Tactic Notation "pairring" := intros; first [pairring_strict | pairring_loose
  | rewrite ?hadmA; first [pairring_strict | pairring_loose]].
Tactic Notation "mxring" ":" ne_constr_list(L) := intros;
  first [ mxring_left; coefficients ltac:(ring: L) | mxring_left_loose; coefficients ltac:(ring: L) ].
Tactic Notation "pairring" ":" ne_constr_list(L) := intros;
  first [ pairring_left; coefficients ltac:(ring: L) | pairring_left_columns; coefficients ltac:(ring: L) ].

Section Sums.
Variables (V : zmodType) (I : Type) (r : seq I) (P : pred I) (F G : I -> V).
Lemma add_sum : \sum_(i <- r | P i) F i + \sum_(i <- r | P i) G i = \sum_(i <- r | P i) (F i + G i).
Proof. by rewrite big_split. Qed.
Lemma opp_sum : - (\sum_(i <- r | P i) F i) = \sum_(i <- r | P i) - F i.
Proof. by rewrite sumrN. Qed.
Lemma muln_sum n : (\sum_(i <- r | P i) F i) *+ n = \sum_(i <- r | P i) F i *+ n.
Proof. by rewrite sumrMnl. Qed.
End Sums.
Lemma trmx_sum (V : zmodType) m n (I : Type) (r : seq I) (P : pred I) (F : I -> 'M[V]_(m, n)) :
  (\sum_(i <- r | P i) F i)^T = \sum_(i <- r | P i) (F i)^T.
Proof. exact: raddf_sum. Qed.

(* sumring: an equation between sums over a range, each side a sum of terms A *m (\sum_(a <= i < b) F i) *m B, with
   scalar factors, transposes and pairings; all ranges equal. The factors are taken into the sums, and the bodies are
   compared by mxring (or pairring in the ring), with the range a <= i < b at hand. *)
Ltac gather_sums :=
  rewrite ?(mulmx_suml, mulmx_sumr, scaler_sumr, dotm_suml, dotm_sumr, mulr_sumr, trmx_sum, opp_sum, muln_sum,
            add_sum).
Ltac same_sums := intros;
  first [ mxring | pairring | apply: eq_big_nat => ? ?; cbv beta; same_sums | progress gather_sums; same_sums ].
Tactic Notation "sumring" := same_sums.
