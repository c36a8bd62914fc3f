(** What a coordinate holds at a position, in terms of nodes and counts; bounds of linear combinations of coordinates;
    polynomials in positions. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith QArith Qreals.
Require Import Definitions Nodes Analysis.
Require Export Polynomials.
Import ListNotations.
Local Open Scope R_scope.


Definition b2Q (b : bool) : Q := if b then 1%Q else 0%Q.
Inductive divisor := ByI | ByM | ByN.                      (* i, n - i + 1, n *)
Inductive value :=
| VConst (q : Q)
| VNumber (m : monomial)
| VLit (l : lit)                                           (* 1 if the literal holds, else 0 *)
| VRatio (k : option count) (d : divisor)                  (* a count, or 1, over the divisor *)
| VNear (l : lit) (e : Q)                                  (* the truth of a literal, up to e *)
| VStep (even : bool) (k : nat) (e : Q)                    (* read by the head of the even or odd positions for node k,
                                                              a NPrev or NNext *)
| VMark (s : side) (negative : bool)                       (* the mean of (-1)^j, or of its negation, over j <= i
                                                              (Before) or j >= i (After) *)
| VCount (k : count) (e : Q)                               (* the larger of 1 and the count, up to e *)
| VTable (l : lit) (k : count) (e : Q)                     (* in [0, 1]; where the count is positive, the truth of
                                                              the literal up to e *)
| VSign (s : side) (k : nat) (e : Q)                       (* in [0, 1]; unless one position only is on side s, the
                                                              truth of node k up to e *)
| VAny.
Definition state := list value.

Section Meaning.
Variables (n : nat) (w : nat -> symbol) (ns : list node) (T : nat -> nat -> bool).
Definition divisor_value (d : divisor) (i : nat) : nat := match d with ByI => i | ByM => n + 1 - i | ByN => n end.
Definition single (s : side) (i : nat) : bool :=
  match s with Before => (i =? 1)%nat | After => (i =? n)%nat | Everywhere => (n =? 1)%nat end.
Definition at_edge (k i : nat) : bool := match node_at ns k with NNext _ => (i =? n)%nat | _ => (i =? 1)%nat end.
Definition near (b : bool) (e : Q) (x : R) : Prop := Rabs (x - b2R b) <= Q2R e.
Definition den (i : nat) (v : value) (x : R) : Prop :=
  match v with
  | VConst q => x = Q2R q
  | VNumber m => x = monomial_value n i m
  | VLit l => x = b2R (truth T l i)
  | VRatio k d => x = match k with None => 1 | Some k => IZR (count_value n T k i) end / INR (divisor_value d i)
  | VNear l e => near (truth T l i) e x
  | VStep even k e => 0 <= x <= 1 /\ (Nat.even i = negb even -> at_edge k i = false -> near (T k i) e x)
  | VMark s negative =>
      let edge := match s with After => (i =? n)%nat | _ => (i =? 1)%nat end in
      if edge then x = (if negative then -1 else 1) * (-1) ^ i else -1 / 3 <= x <= 1 / 3
  | VCount k e => Rabs (x - IZR (Z.max 1 (count_value n T k i))) <= Q2R e
  | VTable l k e => 0 <= x <= 1 /\ ((1 <= count_value n T k i)%Z -> near (truth T l i) e x)
  | VSign s k e => 0 <= x <= 1 /\ (single s i = false -> near (T k i) e x)
  | VAny => True
  end.
(** each coordinate at each position is as [st] says *)
Definition fits (st : state) (x : nat -> vector) : Prop :=
  forall i, (1 <= i <= n)%nat -> forall k, den i (nth k st VAny) (x i k).
End Meaning.

(** * Bounds of a linear combination, given truths at the position. *)
Definition row (m : matrix) (r : nat) : list (nat * Q) :=
  map (fun e => (snd (fst e), snd e)) (filter (fun e => fst (fst e) =? r)%nat m).
Definition combination (x : vector) (c : list (nat * Q)) : R := fold_right (fun '(k, q) s => Q2R q * x k + s) 0 c.
Section Bounds.
Variables (ns : list node) (m : env).
Definition parity_known : option bool :=
  match known_of ns m is_even with
  | Some b => Some b
  | None => match known_of ns m is_first with Some true => Some false | _ => None end end.
(** whether a count is known to be positive (true) or 0 (false) *)
Definition positive_known (k : count) : option bool := known_of ns m (positive_node k).
(** whether one position only is known to be on a side *)
Definition single_known (s : side) : option bool :=
  match s, known_of ns m is_first, known_of ns m is_last with
  | Before, first, _ => first
  | After, _, last => last
  | Everywhere, Some true, Some true => Some true
  | Everywhere, Some false, _ | Everywhere, _, Some false => Some false
  | _, _, _ => None end.
(** the side whose positions a divisor counts *)
Definition side_of (d : divisor) : side := match d with ByI => Before | ByM => After | ByN => Everywhere end.
Definition around (b : option bool) (e : Q) : Q * Q :=
  match b with Some true => (1 - e, 1 + e) | Some false => (- e, e) | None => (- e, 1 + e) end%Q.
Definition bounds (v : value) : option (Q * Q) :=
  match v with
  | VConst q => Some (q, q)
  | VNumber (Monomial a 0 0) =>
      if a then match parity_known with
        | Some true => Some (1, 1)%Q | Some false => Some (-(1), -(1))%Q | None => Some (-(1), 1)%Q end
      else Some (1, 1)%Q
  | VLit l => match lit_known ns m DEPTH l with Some b => Some (b2Q b, b2Q b) | None => Some (0, 1)%Q end
  | VNear l e => Some (around (lit_known ns m DEPTH l) e)
  | VStep even k e =>
      (* CHANGED: for a node that is neither NPrev nor NNext the bounds are 0 and 1; the form before gave (1 - e, 1 + e)
         where such a node is known to be true, which is wrong at the edge.  NPrev and NNext hold only off the edge. *)
      let inner := match node_at ns k, known ns m DEPTH k with
        | NPrev _, Some true | NNext _, Some true => Some false
        | NPrev _, _ => known_of ns m is_first | NNext _, _ => known_of ns m is_last | _, _ => None end in
      match parity_known, inner with
      | Some b, Some false => if eqb b even then Some (0, 1)%Q else Some (around (known ns m DEPTH k) e)
      | _, _ => Some (0, 1)%Q end
  | VMark s negative =>
      match match s with After => known_of ns m is_last | _ => known_of ns m is_first end, parity_known with
      | Some false, _ => Some (-(1#3), 1#3)%Q
      | Some true, Some b => let q := if xorb b negative then 1%Q else (-(1))%Q in Some (q, q)
      | _, _ => Some (-(1), 1)%Q end
  | VTable l k e =>
      match positive_known k with Some true => Some (around (lit_known ns m DEPTH l) e) | _ => Some (0, 1)%Q end
  | VSign s k e => match single_known s with Some false => Some (around (known ns m DEPTH k) e) | _ => Some (0, 1)%Q end
  | VRatio (Some k) d => if side_eqb (fst k) (side_of d) then Some (0, 1)%Q else None
  | VRatio None _ => Some (0, 1)%Q
  | _ => None
  end.
(** A combination as a sum of multiples of counts and a part between two bounds. *)
Definition affine := (list (count * Q) * (Q * Q))%type.
Definition widen (q lo hi : Q) (c : affine) : affine :=
  let '(ks, (l, h)) := c in
  (ks, if Qle_bool 0 q then (Qred (q * lo + l), Qred (q * hi + h)) else (Qred (q * hi + l), Qred (q * lo + h)))%Q.
(** i and n are counts themselves: of the positions at which the constant true holds.  A count over 1 is that count. *)
Fixpoint find_from (f : node -> bool) (k : nat) (ds : list node) : option nat :=
  match ds with [] => None | d :: ds => if f d then Some k else find_from f (S k) ds end.
Definition is_true (d : node) : bool := match d with NAnd [] => true | _ => false end.
Definition exact_count (v : value) : option count :=
  match v, find_from is_true 0 ns with
  | VRatio (Some k) d, _ => match single_known (side_of d) with Some true => Some k | _ => None end
  | VNumber (Monomial false 1 0), Some t => Some (Before, (t, false))
  | VNumber (Monomial false 0 1), Some t => Some (Everywhere, (t, false))
  | _, _ => None end.
Definition add_value (q : Q) (v : value) (c : affine) : option affine :=
  match exact_count v with Some k => let '(ks, b) := c in Some ((k, q) :: ks, b) | None =>
  match v with
  | VCount k e => match positive_known k with
      | Some true => let '(ks, b) := widen q (- e) e c in Some ((k, q) :: ks, b)
      | Some false => Some (widen q (1 - e) (1 + e) c)
      | None => None end
  | v => match bounds v with Some (lo, hi) => Some (widen q lo hi c) | None => None end
  end end.
Fixpoint combine_values (st : state) (c : list (nat * Q)) : option affine :=
  match c with
  | [] => Some ([], (0, 0)%Q)
  | (k, q) :: c => match combine_values st c with Some a => add_value q (nth k st VAny) a | None => None end
  end.
(** the value of a combination that is the same number in every case that is left *)
Definition exact (st : state) (c : list (nat * Q)) : option Q :=
  match combine_values st c with Some ([], (lo, hi)) => if Qeq_bool lo hi then Some lo else None | _ => None end.
(** the coefficient of a count, all mentions added *)
Definition coefficient (k : count) (ks : list (count * Q)) : Q :=
  fold_right (fun '(k', q) s => if count_eqb k k' then q + s else s)%Q 0%Q ks.
Definition coefficient_of (k : count) (ts : list (Z * count)) : Q :=
  fold_right (fun '(z, k') s => if count_eqb k k' then inject_Z z + s else s)%Q 0%Q ts.
(** all counts of [ks] and [ts] that are not known to be 0 have coefficients in the ratio [a] *)
Definition proportional (a : Q) (ks : list (count * Q)) (ts : list (Z * count)) : bool :=
  forallb (fun k => match positive_known k with
      | Some false => true
      | _ => Qeq_bool (coefficient k ks) (a * coefficient_of k ts) end)
    (map fst ks ++ map snd ts).
Definition ratio (ks : list (count * Q)) (ts : list (Z * count)) : Q :=
  match ks with [] => 0%Q | (k, _) :: _ => (coefficient k ks / coefficient_of k ts)%Q end.
(** A clip from bounds of its argument: 1 from 1 on, and 0 up to 0. *)
Definition clip_of (lo hi : option Q) : option Q :=
  match lo, hi with
  | Some lo, _ =>
      if Qle_bool 1 lo then Some 1%Q
      else match hi with Some hi => if Qle_bool hi 0 then Some 0%Q else None | None => None end
  | None, Some hi => if Qle_bool hi 0 then Some 0%Q else None
  | None, None => None end.
(** A count of the constant true is 1 where one position only is on its side.  Such counts, unless they are among [ks],
    join the constant of a comparison. *)
Definition settled (ks : list (count * Q)) (t : Z * count) : bool :=
  let '(_, (s, (k, negative))) := t in
  is_true (node_at ns k) && negb negative && match single_known s with Some true => true | _ => false end
  && Qeq_bool (coefficient (snd t) ks) 0.
Definition unsettled (ks : list (count * Q)) (ts : list (Z * count)) : list (Z * count) :=
  filter (fun t => negb (settled ks t)) ts.
Definition with_settled (ks : list (count * Q)) (ts : list (Z * count)) (c : Z) : Z :=
  fold_right (fun t s => if settled ks t then fst t + s else s)%Z c ts.
(** The count of the constant true from i on is n + 1 - i, where the combination has n. *)
Definition ahead (ks : list (count * Q)) (k : count) : bool :=
  let '(s, (t, negative)) := k in
  side_eqb s After && is_true (node_at ns t) && negb negative
  && negb (Qeq_bool (coefficient (Everywhere, (t, negative)) ks) 0).
Definition replaced (ks : list (count * Q)) (ts : list (Z * count)) : list (Z * count) :=
  flat_map (fun '(z, k) =>
    if ahead ks k then [(z, (Everywhere, snd k)); ((- z)%Z, (Before, snd k))] else [(z, k)]) ts.
Definition with_replaced (ks : list (count * Q)) (ts : list (Z * count)) (c : Z) : Z :=
  fold_right (fun '(z, k) s => if ahead ks k then z + s else s)%Z c ts.
Definition clip_with (ks : list (count * Q)) (lo hi : Q) (e : nat * bool) : option Q :=
  match node_at ns (fst e) with
  | NAtLeast given start =>
      let all := replaced ks given in let constant := with_replaced ks given start in
      let ts := unsettled ks all in let c := with_settled ks all constant in let a := ratio ks ts in
      if proportional a ks ts then
        if Qle_bool 0 a
        then (if snd e then clip_of (Some (lo - a * inject_Z c)%Q) None
              else clip_of None (Some (hi - a * inject_Z (c + 1))%Q))
        else (if snd e then clip_of None (Some (hi - a * inject_Z c)%Q)
              else clip_of (Some (lo - a * inject_Z (c + 1))%Q) None)
      else None
  | _ => None end.
Definition first_some {X Y} (f : X -> option Y) (l : list X) : option Y :=
  fold_right (fun x o => match f x with Some y => Some y | None => o end) None l.
(** min(max(combination + bias, 0), 1), if it is 0 or 1 in every case that is left *)
Definition clipped (st : state) (c : list (nat * Q)) (bias : Q) : option Q :=
  match combine_values st c with
  | Some (ks, (lo, hi)) =>
      let lo := (lo + bias)%Q in let hi := (hi + bias)%Q in
      match ks with [] => clip_of (Some lo) (Some hi) | _ => first_some (clip_with ks lo hi) m end
  | None => None end.
End Bounds.

(** * Rational numbers as real numbers *)
Lemma Q2R_minus_1 : Q2R (- (1)) = -1. Proof. rewrite Q2R_opp, Q2R_1; lra. Qed.
Lemma Q2R_third : Q2R (1 # 3) = 1 / 3. Proof. unfold Q2R; cbn [Qnum Qden]; field. Qed.
Lemma Q2R_inject z : Q2R (inject_Z z) = IZR z. Proof. unfold Q2R, inject_Z; cbn [Qnum Qden]; field. Qed.
Lemma Q2R_b2Q b : Q2R (b2Q b) = b2R b. Proof. destruct b; [apply Q2R_1|apply Q2R_0]. Qed.
Ltac to_R := repeat rewrite ?Q2R_red, ?Q2R_plus, ?Q2R_minus, ?Q2R_mult, ?Q2R_opp, ?Q2R_0, ?Q2R_1 in *.
Lemma Qle_bool_true p q : Qle_bool p q = true -> Q2R p <= Q2R q.
Proof. intros H; apply Qle_Rle, Qle_bool_iff, H. Qed.
Lemma Qle_bool_false p q : Qle_bool p q = false -> Q2R q < Q2R p.
Proof. intros H; apply Qlt_Rlt, Qnot_le_lt; intros H'. apply Qle_bool_iff in H'; congruence. Qed.
Lemma Qeq_bool_true p q : Qeq_bool p q = true -> Q2R p = Q2R q.
Proof. intros H; apply Qeq_eqR, Qeq_bool_iff, H. Qed.

(** * Sums of multiples of counts.  [multiples f L] is the sum of coefficient times value, [collected k L] the total
    coefficient of [k].  The sum is 0 if each count has the value 0 or the total coefficient 0. *)
Lemma count_eqb_eq a b : count_eqb a b = true <-> a = b.
Proof.
  destruct a as [s [k p]], b as [s' [k' p']]; unfold count_eqb, lit_eqb; cbn [fst snd].
  rewrite !andb_true_iff, Nat.eqb_eq, eqb_true_iff. split.
  - intros (Hs & -> & ->). destruct s, s'; (discriminate || reflexivity).
  - intros [= -> -> ->]. destruct s'; auto.
Qed.
Lemma count_eqb_refl k : count_eqb k k = true.
Proof. apply count_eqb_eq; reflexivity. Qed.
Definition multiples (f : count -> R) (L : list (count * R)) : R := fold_right (fun '(k, q) s => q * f k + s) 0 L.
Definition collected (k : count) (L : list (count * R)) : R :=
  fold_right (fun '(k', q) s => if count_eqb k k' then q + s else s) 0 L.
Definition without_count (k : count) (L : list (count * R)) := filter (fun e => negb (count_eqb k (fst e))) L.
Lemma multiples_app f L M : multiples f (L ++ M) = multiples f L + multiples f M.
Proof. unfold multiples. induction L as [|[k q] L IH]; cbn [app fold_right]; [lra|]. rewrite IH; lra. Qed.
Lemma collected_app k L M : collected k (L ++ M) = collected k L + collected k M.
Proof.
  unfold collected. induction L as [|[k' q] L IH]; cbn [app fold_right]; [lra|].
  rewrite IH. destruct (count_eqb k k'); lra.
Qed.
Lemma multiples_split f k L : multiples f L = collected k L * f k + multiples f (without_count k L).
Proof.
  unfold multiples, collected, without_count.
  induction L as [|[k' q] L IH]; cbn [fold_right filter fst]; [lra|].
  destruct (count_eqb k k') eqn:E; cbn [negb fold_right]; [apply count_eqb_eq in E; subst k'|]; rewrite IH; lra.
Qed.
Lemma collected_without k k' L : k <> k' -> collected k' (without_count k L) = collected k' L.
Proof.
  intros Hk; unfold collected, without_count.
  induction L as [|[c q] L IH]; cbn [fold_right filter fst]; [reflexivity|].
  destruct (count_eqb k c) eqn:E; cbn [negb fold_right]; rewrite IH; [|reflexivity].
  apply count_eqb_eq in E; subst c. destruct (count_eqb k' k) eqn:E; [|reflexivity].
  apply count_eqb_eq in E; congruence.
Qed.
Lemma without_length k L : (length (without_count k L) <= length L)%nat.
Proof.
  unfold without_count. induction L as [|e L IH]; cbn [filter length]; [lia|]. destruct (negb _); cbn [length]; lia.
Qed.
Lemma multiples_zero f L : (forall k, In k (map fst L) -> f k = 0 \/ collected k L = 0) -> multiples f L = 0.
Proof.
  remember (length L) as s eqn:Hs. assert (length L <= s)%nat as Hl by lia. clear Hs. revert L Hl.
  induction s as [|s IH]; intros [|[k q] L] Hl HL; cbn [length] in Hl; try reflexivity; [lia|].
  rewrite (multiples_split f k), IH.
  - destruct (HL k) as [->| ->]; [left; reflexivity| |]; lra.
  - unfold without_count; cbn [filter fst]. rewrite count_eqb_refl; cbn [negb].
    pose proof (without_length k L) as Hf; unfold without_count in Hf; lia.
  - intros k' Hk. apply in_map_iff in Hk. destruct Hk as ([c q'] & <- & Hc). cbn [fst].
    apply filter_In in Hc. destruct Hc as [Hc Hn]. cbn [fst] in Hn.
    rewrite collected_without; [apply HL, (in_map fst _ _ Hc)|].
    intros <-. rewrite count_eqb_refl in Hn. discriminate.
Qed.
(** the two lists of counts with rational and with integer coefficients *)
Definition real_multiples (ks : list (count * Q)) : list (count * R) := map (fun e => (fst e, Q2R (snd e))) ks.
Definition scaled_multiples (a : R) (ts : list (Z * count)) : list (count * R) :=
  map (fun t => (snd t, a * IZR (fst t))) ts.
Lemma collected_real k ks : collected k (real_multiples ks) = Q2R (coefficient k ks).
Proof.
  unfold collected, real_multiples, coefficient.
  induction ks as [|[k' q] ks IH]; cbn [map fold_right fst snd]; [symmetry; apply Q2R_0|].
  rewrite IH. destruct (count_eqb k k'); rewrite ?Q2R_plus; reflexivity.
Qed.
Lemma collected_scaled k a ts : collected k (scaled_multiples a ts) = a * Q2R (coefficient_of k ts).
Proof.
  unfold collected, scaled_multiples, coefficient_of.
  induction ts as [|[z k'] ts IH]; cbn [map fold_right fst snd]; [rewrite Q2R_0; lra|].
  rewrite IH. destruct (count_eqb k k'); rewrite ?Q2R_plus, ?Q2R_inject; lra.
Qed.
Lemma scaled_linear n T i a ts :
  multiples (fun k => IZR (count_value n T k i)) (scaled_multiples a ts) = a * IZR (linear_value n T ts i).
Proof.
  unfold multiples, scaled_multiples, linear_value.
  induction ts as [|[z k] ts IH]; cbn [map fold_right fst snd]; [lra|].
  rewrite IH, plus_IZR, mult_IZR. lra.
Qed.

(** * Clips: a value at least 1 is cut to 1, a value at most 0 to 0. *)
Definition above (lo : option Q) (y : R) : Prop := match lo with Some q => Q2R q <= y | None => True end.
Definition below (hi : option Q) (y : R) : Prop := match hi with Some q => y <= Q2R q | None => True end.
Lemma clip_one y : 1 <= y -> Rmax y 0 - Rmax (y - 1) 0 = Q2R 1.
Proof. intros H; rewrite Q2R_1, !Rmax_left; lra. Qed.
Lemma clip_zero y : y <= 0 -> Rmax y 0 - Rmax (y - 1) 0 = Q2R 0.
Proof. intros H; rewrite Q2R_0, !Rmax_right; lra. Qed.
Lemma clip_of_ok lo hi q y : clip_of lo hi = Some q -> above lo y -> below hi y ->
  Rmax y 0 - Rmax (y - 1) 0 = Q2R q.
Proof.
  assert (forall h, Qle_bool h 0 = true -> y <= Q2R h -> y <= 0) as low.
  { intros h E H; apply Qle_bool_true in E; rewrite Q2R_0 in E; lra. }
  unfold clip_of, above, below. destruct lo as [l|], hi as [h|]; try discriminate.
  - destruct (Qle_bool 1 l) eqn:E; [|destruct (Qle_bool h 0) eqn:E'; [|discriminate]]; intros [= <-] Hl Hh.
    + apply clip_one. apply Qle_bool_true in E; rewrite Q2R_1 in E; lra.
    + apply clip_zero, (low h E' Hh).
  - destruct (Qle_bool 1 l) eqn:E; [|discriminate]. intros [= <-] Hl _.
    apply clip_one. apply Qle_bool_true in E; rewrite Q2R_1 in E; lra.
  - destruct (Qle_bool h 0) eqn:E'; [|discriminate]. intros [= <-] _ Hh. apply clip_zero, (low h E' Hh).
Qed.
Lemma first_some_in {A B} (f : A -> option B) l b : first_some f l = Some b -> exists a, In a l /\ f a = Some b.
Proof.
  induction l as [|a l IH]; cbn [first_some fold_right]; [discriminate|].
  destruct (f a) as [b'|] eqn:E; intros H.
  - injection H as <-. exists a; split; [left; reflexivity|exact E].
  - destruct (IH H) as (a' & Ha & E'). exists a'; split; [right; exact Ha|exact E'].
Qed.

(** * Errors and signs *)
Lemma Rabs_bounds y e : Rabs y <= e -> 0 <= e /\ - e <= y <= e.
Proof. unfold Rabs; destruct (Rcase_abs y); lra. Qed.
Lemma around_ok b o e x : (forall b', o = Some b' -> b = b') -> near b e x ->
  Q2R (fst (around o e)) <= x <= Q2R (snd (around o e)).
Proof.
  intros Ho Hx. unfold near in Hx. apply Rabs_bounds in Hx.
  destruct o as [b'|]; [rewrite (Ho b' eq_refl) in Hx; destruct b'|]; cbn [around fst snd]; to_R;
    [| |destruct b]; unfold b2R in Hx; lra.
Qed.
Lemma alternating i : (-1) ^ i = if Nat.even i then 1 else -1.
Proof.
  induction i as [|k IH]; [reflexivity|]. cbn [pow]. rewrite IH, Nat.even_succ, <- Nat.negb_even.
  destruct (Nat.even k); cbn [negb]; lra.
Qed.

(** the lemmas about nodes hold over any alphabet; 0 stands for any *)
Lemma any_letters n (w : nat -> symbol) :
  0%nat <> 0%nat -> forall i, (1 <= i <= n)%nat -> exists c, (c < 0)%nat /\ w i = letter c.
Proof. intros H; destruct (H eq_refl). Qed.

Section Correct.
Variables (n : nat) (w : nat -> symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool).
Hypothesis HT : model n w ns T.
Variable i : nat.
Hypothesis Hi : (1 <= i <= n)%nat.
Lemma times_row m x r : times m x r = combination x (row m r).
Proof using All.
  unfold times, combination, row.
  induction m as [|[[r' c] q] m IH]; cbn [fold_right filter map fst snd]; [reflexivity|].
  destruct (r' =? r)%nat; cbn [fold_right map fst snd]; rewrite IH; lra.
Qed.

(** What is known at the position. *)
Lemma positive_known_ok m k b : agrees T i m -> positive_known ns m k = Some b -> (1 <=? count_value n T k i)%Z = b.
Proof using All. unfold positive_known; intros Hm H. eapply known_of_positive; eauto using any_letters. Qed.
Lemma first_known_ok m b : agrees T i m -> known_of ns m is_first = Some b -> (i =? 1)%nat = b.
Proof using All. intros Hm H. eapply known_of_first; eauto using any_letters. Qed.
Lemma last_known_ok m b : agrees T i m -> known_of ns m is_last = Some b -> (i =? n)%nat = b.
Proof using All. intros Hm H. eapply known_of_last; eauto using any_letters. Qed.
Lemma literal_known_ok m l b : agrees T i m -> lit_known ns m DEPTH l = Some b -> truth T l i = b.
Proof using All. intros Hm H. eapply lit_known_ok; eauto using any_letters. Qed.
Lemma node_truth_known m k b : agrees T i m -> known ns m DEPTH k = Some b -> T k i = b.
Proof using All.
  intros Hm H. rewrite <- (xorb_false_l (T k i)). apply (literal_known_ok m (k, false) b Hm).
  unfold lit_known; cbn [fst snd]. rewrite H. cbn [sign]. rewrite xorb_false_l. reflexivity.
Qed.
Lemma parity_known_ok m b : agrees T i m -> parity_known ns m = Some b -> Nat.even i = b.
Proof using All.
  intros Hm. unfold parity_known. destruct (known_of ns m is_even) as [b'|] eqn:E.
  - intros [= <-]. eapply known_of_even; eauto using any_letters.
  - destruct (known_of ns m is_first) as [[|]|] eqn:F; try discriminate. intros [= <-].
    apply (first_known_ok m true Hm), Nat.eqb_eq in F. rewrite F. reflexivity.
Qed.

Lemma single_known_ok m s b : agrees T i m -> single_known ns m s = Some b -> single n s i = b.
Proof using All.
  intros Hm. pose proof (first_known_ok m) as F. pose proof (last_known_ok m) as L. unfold single_known, single.
  destruct s; [intros H; exact (F b Hm H)|intros H; exact (L b Hm H)|].
  destruct (known_of ns m is_first) as [f|]; [specialize (F f Hm eq_refl)|clear F];
    (destruct (known_of ns m is_last) as [l|]; [specialize (L l Hm eq_refl)|clear L]);
    try destruct f; try destruct l; try discriminate; intros [= <-];
    rewrite ?Nat.eqb_eq, ?Nat.eqb_neq in *; lia.
Qed.
(** a single position on a side is the position itself *)
Lemma divisor_single d : single n (side_of d) i = true -> divisor_value n d i = 1%nat.
Proof using All. destruct d; cbn [single side_of divisor_value]; rewrite Nat.eqb_eq; lia. Qed.
Lemma number_share a b P : (a <= b)%nat -> 0 <= IZR (number a b P) / INR (b + 1 - a) <= 1.
Proof using All.
  intros H. unfold number. rewrite <- INR_IZR_INZ.
  assert (length (filter P (positions a b)) <= b + 1 - a)%nat as Hl.
  { rewrite <- (seq_length (b + 1 - a) a). fold (positions a b).
    induction (positions a b) as [|j L IH]; [apply le_n|]. cbn [filter]. destruct (P j); cbn [length]; lia. }
  apply le_INR in Hl. pose proof (pos_INR (length (filter P (positions a b)))) as H0.
  assert (0 < INR (b + 1 - a)) as Hp by (apply lt_0_INR; lia).
  pose proof (Rinv_0_lt_compat _ Hp) as Hv. split; [apply Rmult_le_pos; lra|].
  apply Rmult_le_reg_r with (INR (b + 1 - a)); [exact Hp|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** Bounds of one coordinate. *)
Lemma ratio_bounds m k d lo hi x : bounds ns m (VRatio k d) = Some (lo, hi) -> den n ns T i (VRatio k d) x ->
  Q2R lo <= x <= Q2R hi.
Proof using All.
  cbn [bounds den]. intros Hb ->. destruct k as [[s l]|].
  - destruct (side_eqb (fst (s, l)) (side_of d)) eqn:E; [|discriminate]. injection Hb as <- <-. rewrite Q2R_0, Q2R_1.
    unfold count_value. destruct s, d; try discriminate E; cbn [fst snd divisor_value].
    + replace i with (i + 1 - 1)%nat at 2 4 by lia. apply number_share. lia.
    + apply number_share. lia.
    + replace n with (n + 1 - 1)%nat at 2 4 by lia. apply number_share. lia.
  - injection Hb as <- <-. rewrite Q2R_0, Q2R_1.
    assert (1 <= INR (divisor_value n d i)) as H by (apply (le_INR 1); destruct d; cbn [divisor_value]; lia).
    split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with (INR (divisor_value n d i)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Lemma sign_bounds m s k e lo hi x : agrees T i m -> bounds ns m (VSign s k e) = Some (lo, hi) ->
  den n ns T i (VSign s k e) x -> Q2R lo <= x <= Q2R hi.
Proof using All.
  intros Hm. cbn [bounds den]. intros Hb [Hx Hn]. pose proof (single_known_ok m s) as Hs.
  destruct (single_known ns m s) as [[|]|]; try (injection Hb as <- <-; rewrite Q2R_0, Q2R_1; exact Hx).
  injection Hb as Hb. pose proof (Hn (Hs false Hm eq_refl)) as Hne.
  pose proof (around_ok (T k i) (known ns m DEPTH k) e x (fun b' => node_truth_known m k b' Hm) Hne) as Ha.
  rewrite Hb in Ha. exact Ha.
Qed.
Lemma power_bounds m lo hi : agrees T i m ->
  match parity_known ns m with
  | Some true => Some (1, 1)%Q | Some false => Some (-(1), -(1))%Q | None => Some (-(1), 1)%Q end = Some (lo, hi) ->
  Q2R lo <= (-1) ^ i <= Q2R hi.
Proof using All.
  intros Hm. rewrite alternating. destruct (parity_known ns m) as [b|] eqn:E.
  - rewrite (parity_known_ok m b Hm E). destruct b; intros [= <- <-]; rewrite ?Q2R_minus_1, ?Q2R_1; lra.
  - intros [= <- <-]. rewrite Q2R_minus_1, Q2R_1. destruct (Nat.even i); lra.
Qed.
Lemma step_bounds m even k e lo hi x : agrees T i m -> bounds ns m (VStep even k e) = Some (lo, hi) ->
  den n ns T i (VStep even k e) x -> Q2R lo <= x <= Q2R hi.
Proof using All.
  intros Hm. cbn [bounds den].
  set (inner := match node_at ns k, known ns m DEPTH k with NPrev _, Some true => _ | _, _ => _ end).
  assert (inner = Some false -> at_edge n ns k i = false) as Hedge.
  { unfold inner, at_edge. pose proof (HT k i) as Hk. pose proof (node_truth_known m k true Hm) as Ht.
    destruct (node_at ns k); try discriminate; cbn [node_truth] in Hk;
      destruct (known ns m DEPTH k) as [[|]|]; intros H;
      try (apply (first_known_ok m false Hm H)); try (apply (last_known_ok m false Hm H));
      rewrite (Ht eq_refl) in Hk; symmetry in Hk; apply andb_true_iff in Hk; destruct Hk as [Hk _];
      apply Nat.ltb_lt in Hk; apply Nat.eqb_neq; lia. }
  clearbody inner.
  assert (Some (0, 1)%Q = Some (lo, hi) -> 0 <= x <= 1 -> Q2R lo <= x <= Q2R hi) as unit.
  { intros [= <- <-]. rewrite Q2R_0, Q2R_1. auto. }
  intros Hb [Hx Hn]. destruct (parity_known ns m) as [b|] eqn:Hp; [|exact (unit Hb Hx)].
  destruct inner as [[|]|]; try exact (unit Hb Hx).
  destruct (eqb b even) eqn:Ee; [exact (unit Hb Hx)|].
  injection Hb as Hb.
  assert (near (T k i) e x) as Hne.
  { apply Hn; [|exact (Hedge eq_refl)]. rewrite (parity_known_ok m b Hm Hp).
    destruct b, even; (discriminate || reflexivity). }
  pose proof (around_ok (T k i) (known ns m DEPTH k) e x (fun b' => node_truth_known m k b' Hm) Hne) as Ha.
  rewrite Hb in Ha. exact Ha.
Qed.
Lemma mark_bounds m s negative lo hi x : agrees T i m -> bounds ns m (VMark s negative) = Some (lo, hi) ->
  den n ns T i (VMark s negative) x -> Q2R lo <= x <= Q2R hi.
Proof using All.
  intros Hm. cbn [bounds den].
  set (o := match s with After => known_of ns m is_last | _ => known_of ns m is_first end).
  set (edge := match s with After => (i =? n)%nat | _ => (i =? 1)%nat end).
  assert (forall b, o = Some b -> edge = b) as Hedge.
  { intros b. unfold o, edge. destruct s; [apply first_known_ok|apply last_known_ok|apply first_known_ok]; exact Hm. }
  clearbody o edge. pose proof (parity_known_ok m) as Hp. rewrite alternating. intros Hb Hx.
  assert (-1 <= x <= 1) as unit.
  { destruct edge; [|lra]. rewrite Hx. destruct negative, (Nat.even i); lra. }
  destruct o as [[|]|]; [rewrite (Hedge true eq_refl) in Hx; destruct (parity_known ns m) as [b|]|
    rewrite (Hedge false eq_refl) in Hx|]; injection Hb as <- <-.
  - rewrite (Hp b Hm eq_refl) in Hx. destruct b, negative; cbn [xorb]; rewrite ?Q2R_minus_1, ?Q2R_1; lra.
  - rewrite Q2R_minus_1, Q2R_1. exact unit.
  - rewrite Q2R_opp, Q2R_third. lra.
  - rewrite Q2R_minus_1, Q2R_1. exact unit.
Qed.
Lemma bounds_ok m v lo hi x : agrees T i m -> bounds ns m v = Some (lo, hi) -> den n ns T i v x ->
  Q2R lo <= x <= Q2R hi.
Proof using All.
  intros Hm. destruct v as [q|[a p r]|l|k d|l e|even k e|s negative|k e|l k e|s k e|]; try discriminate.
  - intros [= <- <-] ->. lra.
  - cbn [bounds den]. destruct p, r; try discriminate. intros Hb ->.
    unfold monomial_value; cbn [alternates power_of_i power_of_n powerRZ].
    rewrite !Rmult_1_r. destruct a; [exact (power_bounds m lo hi Hm Hb)|]. injection Hb as <- <-. rewrite Q2R_1; lra.
  - cbn [bounds den]. destruct (lit_known ns m DEPTH l) as [b|] eqn:E; intros [= <- <-] ->.
    + rewrite (literal_known_ok m l b Hm E), Q2R_b2Q. lra.
    + rewrite Q2R_0, Q2R_1. destruct (truth T l i); cbn [b2R]; lra.
  - apply ratio_bounds.
  - cbn [bounds den]. intros [= Hb] Hx.
    pose proof (around_ok _ (lit_known ns m DEPTH l) e x (fun b' => literal_known_ok m l b' Hm) Hx) as Ha.
    rewrite Hb in Ha. exact Ha.
  - apply step_bounds, Hm.
  - apply mark_bounds, Hm.
  - cbn [bounds den]. intros Hb [Hx Hn].
    assert (Some (0, 1)%Q = Some (lo, hi) -> Q2R lo <= x <= Q2R hi) as unit.
    { intros [= <- <-]. rewrite Q2R_0, Q2R_1. exact Hx. }
    destruct (positive_known ns m k) as [[|]|] eqn:E; try exact (unit Hb). injection Hb as Hb.
    apply (positive_known_ok m k true Hm), Z.leb_le in E.
    pose proof (around_ok _ (lit_known ns m DEPTH l) e x (fun b' => literal_known_ok m l b' Hm) (Hn E)) as Ha.
    rewrite Hb in Ha. exact Ha.
  - apply sign_bounds, Hm.
Qed.

(** A combination is a sum of multiples of counts and a part between the bounds. *)
Definition counts_at (k : count) : R := IZR (count_value n T k i).
Lemma counts_at_zero m k : agrees T i m -> positive_known ns m k = Some false -> counts_at k = 0.
Proof using All.
  intros Hm H. apply (positive_known_ok m k false Hm), Z.leb_gt in H. unfold counts_at. f_equal.
  assert (0 <= count_value n T k i)%Z by (unfold count_value, number; destruct (fst k); apply Nat2Z.is_nonneg). lia.
Qed.
Definition represents (a : affine) (y : R) : Prop :=
  let '(ks, (lo, hi)) := a in Q2R lo <= y - multiples counts_at (real_multiples ks) <= Q2R hi.
Lemma widen_ok q lo hi a v y : Q2R lo <= v <= Q2R hi -> represents a y -> represents (widen q lo hi a) (Q2R q * v + y).
Proof using All.
  intros Hv. destruct a as [ks [l h]]. unfold represents, widen.
  destruct (Qle_bool 0 q) eqn:E; [apply Qle_bool_true in E|apply Qle_bool_false in E]; to_R; nra.
Qed.
Lemma find_from_ok f k ds t : find_from f k ds = Some t -> exists j, t = (k + j)%nat /\ f (node_at ds j) = true.
Proof using All.
  revert k. induction ds as [|d ds IH]; intros k; cbn [find_from]; [discriminate|].
  destruct (f d) eqn:E; [intros [= <-]; exists 0%nat; split; [lia|exact E]|].
  intros H. apply IH in H. destruct H as (j & -> & H). exists (S j). split; [lia|exact H].
Qed.
Lemma true_found t : find_from is_true 0 ns = Some t -> is_true (node_at ns t) = true.
Proof using All. intros H. apply find_from_ok in H. destruct H as (k & -> & H). exact H. Qed.
Lemma true_everywhere t j : is_true (node_at ns t) = true -> truth T (t, false) j = true.
Proof using All.
  intros H. unfold truth; cbn [fst snd]. rewrite xorb_false_l, (HT t j).
  destruct (node_at ns t) as [| | | | |[|]| | | | | | |]; try discriminate. reflexivity.
Qed.
Lemma number_of_true a b t : is_true (node_at ns t) = true -> (b + 1 >= a)%nat ->
  number a b (truth T (t, false)) = Z.of_nat (b + 1 - a).
Proof using All.
  intros H Hab. unfold number. f_equal. transitivity (length (positions a b)); [|apply seq_length].
  f_equal. induction (positions a b) as [|j L IH]; cbn [filter]; [reflexivity|].
  rewrite (true_everywhere t j H), IH. reflexivity.
Qed.
Lemma exact_count_ok m v k x : agrees T i m -> exact_count ns m v = Some k -> den n ns T i v x -> x = counts_at k.
Proof using All.
  intros Hm. unfold exact_count, counts_at. pose proof true_found as Ht.
  destruct v as [|[[|] [|[p|p|]|p] [|[r|r|]|r]]| |[c|] d| | | | | | |]; try discriminate.
  3:{ pose proof (single_known_ok m (side_of d)) as Hs.
    destruct (single_known ns m (side_of d)) as [[|]|]; try discriminate. intros [= <-]. cbn [den].
    rewrite (divisor_single d (Hs true Hm eq_refl)). intros ->. cbn [INR]. lra. }
  all: destruct (find_from is_true 0 ns) as [t|]; [|discriminate]; specialize (Ht t eq_refl); intros [= <-]; cbn [den];
    unfold monomial_value; cbn [alternates power_of_i power_of_n powerRZ]; intros ->; cbn [pow Pos.to_nat Pos.iter_op];
    rewrite ?pow_1; unfold count_value; cbn [fst snd]; rewrite (number_of_true _ _ t Ht) by lia;
    rewrite <- INR_IZR_INZ, Nat.add_sub; lra.
Qed.
Lemma add_value_ok m q v a a' x y : agrees T i m -> den n ns T i v x -> add_value ns m q v a = Some a' ->
  represents a y -> represents a' (Q2R q * x + y).
Proof using All.
  intros Hm Hx H Hy. unfold add_value in H. destruct (exact_count ns m v) as [k|] eqn:Hk.
  { rewrite (exact_count_ok m v k x Hm Hk Hx). destruct a as [ks [lo hi]]. injection H as <-. unfold represents in *.
    unfold real_multiples, multiples in *. cbn [map fold_right fst snd]. lra. }
  clear Hk. assert (forall o, match o with Some (lo, hi) => Some (widen q lo hi a) | None => None end = Some a' ->
    o = bounds ns m v -> represents a' (Q2R q * x + y)) as plain.
  { intros [[lo hi]|] E Hb; [|discriminate]. injection E as <-. symmetry in Hb.
    exact (widen_ok q lo hi a x y (bounds_ok m v lo hi x Hm Hb Hx) Hy). }
  destruct v as [| | | | | | |k e| | |]; try (refine (plain _ _ eq_refl); exact H).
  clear plain; cbn [den] in Hx. apply Rabs_bounds in Hx. destruct Hx as [_ Hx].
  destruct (positive_known ns m k) as [[|]|] eqn:E; [| |discriminate].
  - apply (positive_known_ok m k true Hm), Z.leb_le in E. rewrite Z.max_r in Hx by exact E.
    change (IZR (count_value n T k i)) with (counts_at k) in Hx.
    pose proof (widen_ok q (- e) e a (x - counts_at k) y) as Hr. destruct (widen q (- e) e a) as [ks [l h]].
    injection H as <-. rewrite Q2R_opp in Hr. unfold represents in *.
    cbn [real_multiples map multiples fold_right fst snd].
    unfold real_multiples, multiples in *. specialize (Hr ltac:(lra) Hy). lra.
  - apply (positive_known_ok m k false Hm), Z.leb_gt in E. rewrite Z.max_l in Hx by lia. injection H as <-.
    apply widen_ok; [|exact Hy]. rewrite Q2R_minus, Q2R_plus, Q2R_1. lra.
Qed.
Lemma combine_values_ok m st c a x : agrees T i m -> (forall k, den n ns T i (nth k st VAny) (x k)) ->
  combine_values ns m st c = Some a -> represents a (combination x c).
Proof using All.
  intros Hm Hx. revert a. induction c as [|[k q] c IH]; intros a; cbn [combine_values combination fold_right].
  - intros [= <-]. unfold represents. cbn [real_multiples map multiples fold_right]. rewrite Q2R_0. lra.
  - destruct (combine_values ns m st c) as [a'|]; [|discriminate].
    intros H. exact (add_value_ok m q _ a' a (x k) _ Hm (Hx k) H (IH a' eq_refl)).
Qed.
Lemma exact_ok m st c q x : agrees T i m -> (forall k, den n ns T i (nth k st VAny) (x k)) ->
  exact ns m st c = Some q -> combination x c = Q2R q.
Proof using All.
  intros Hm Hx. unfold exact. pose proof (combine_values_ok m st c) as Hc.
  destruct (combine_values ns m st c) as [[[|] [lo hi]]|]; try discriminate.
  specialize (Hc _ x Hm Hx eq_refl). destruct (Qeq_bool lo hi) eqn:E; [|discriminate]. intros [= <-].
  apply Qeq_bool_true in E. unfold represents in Hc. cbn [real_multiples map multiples fold_right] in Hc. lra.
Qed.

(** Clips: the counts of the combination are a multiple of the comparison whose truth is known. *)
Lemma proportional_ok m a ks ts : agrees T i m -> proportional ns m a ks ts = true ->
  multiples counts_at (real_multiples ks) = Q2R a * IZR (linear_value n T ts i).
Proof using All.
  intros Hm H. unfold proportional in H. rewrite forallb_forall in H.
  pose proof (scaled_linear n T i (- Q2R a) ts) as Hs. fold counts_at in Hs.
  assert (multiples counts_at (real_multiples ks ++ scaled_multiples (- Q2R a) ts) = 0) as Hz.
  { apply multiples_zero. intros k Hk. rewrite collected_app, collected_real, collected_scaled.
    assert (In k (map fst ks ++ map snd ts)) as Hin.
    { rewrite map_app in Hk. unfold real_multiples, scaled_multiples in Hk. rewrite !map_map in Hk. exact Hk. }
    specialize (H k Hin).
    destruct (positive_known ns m k) as [[|]|] eqn:E; [right|left; exact (counts_at_zero m k Hm E)|right];
      apply Qeq_bool_true in H; rewrite H, Q2R_mult; lra. }
  rewrite multiples_app in Hz. change (fun k => IZR (count_value n T k i)) with counts_at in Hs. lra.
Qed.
(** What is settled is a constant. *)
Lemma settled_ok m ks t : agrees T i m -> settled ns m ks t = true -> count_value n T (snd t) i = 1%Z.
Proof using All.
  intros Hm. destruct t as [z [s [k negative]]]. unfold settled. rewrite !andb_true_iff. intros [[[Ht Hn] Hs] _].
  apply negb_true_iff in Hn. subst negative. pose proof (single_known_ok m s) as H.
  destruct (single_known ns m s) as [[|]|]; try discriminate. specialize (H true Hm eq_refl).
  unfold count_value. cbn [snd fst]. unfold single in H.
  destruct s; apply Nat.eqb_eq in H; rewrite number_of_true by (exact Ht || lia); lia.
Qed.
Lemma linear_value_cons t ts : linear_value n T (t :: ts) i =
  (fst t * count_value n T (snd t) i + linear_value n T ts i)%Z.
Proof using All. destruct t. reflexivity. Qed.
Lemma with_settled_ok m ks ts c : agrees T i m ->
  (linear_value n T ts i + c = linear_value n T (unsettled ns m ks ts) i + with_settled ns m ks ts c)%Z.
Proof using All.
  intros Hm. unfold unsettled, with_settled. induction ts as [|t ts IH]; [reflexivity|].
  rewrite linear_value_cons. cbn [filter fold_right]. pose proof (settled_ok m ks t Hm) as Ht.
  destruct (settled ns m ks t); cbn [negb]; rewrite ?linear_value_cons; [rewrite (Ht eq_refl)|]; lia.
Qed.
Lemma with_replaced_ok ks ts c :
  (linear_value n T ts i + c = linear_value n T (replaced ns ks ts) i + with_replaced ns ks ts c)%Z.
Proof using All.
  unfold replaced, with_replaced. induction ts as [|[z k] ts IH]; [reflexivity|].
  rewrite linear_value_cons. cbn [flat_map fold_right fst snd]. destruct (ahead ns ks k) eqn:E; cbn [app].
  2: { rewrite linear_value_cons. cbn [fst snd]. lia. }
  rewrite !linear_value_cons. cbn [fst snd]. unfold ahead in E. destruct k as [s [t negative]].
  rewrite !andb_true_iff in E. destruct E as [[[Hs Ht] Hn] _]. apply negb_true_iff in Hn. subst negative.
  destruct s; try discriminate. unfold count_value. cbn [fst snd].
  rewrite !number_of_true by (exact Ht || lia). lia.
Qed.
Lemma clip_with_ok m ks lo hi e q y : agrees T i m -> In e m -> represents (ks, (lo, hi)) y ->
  clip_with ns m ks lo hi e = Some q -> Rmax y 0 - Rmax (y - 1) 0 = Q2R q.
Proof using All.
  intros Hm He Hy. destruct e as [k b]. unfold clip_with. cbn [fst snd]. pose proof (HT k i) as Hk.
  destruct (node_at ns k) as [| | | | | | | | | | |given start|]; try discriminate. cbn [node_truth] in Hk.
  rewrite (Hm k b He), (with_replaced_ok ks given start) in Hk. set (all := replaced ns ks given) in *.
  set (constant := with_replaced ns ks given start) in *. clearbody all constant.
  rewrite (with_settled_ok m ks all constant Hm) in Hk. set (ts := unsettled ns m ks all) in *.
  set (c := with_settled ns m ks all constant) in *. clearbody ts c.
  set (a := ratio ks ts). destruct (proportional ns m a ks ts) eqn:Hp; [|discriminate].
  unfold represents in Hy. rewrite (proportional_ok m a ks ts Hm Hp) in Hy. clear Hp. clearbody a.
  set (s := linear_value n T ts i) in *. clearbody s.
  assert (if b then - IZR c <= IZR s else IZR s <= - IZR (c + 1)) as Hs.
  { symmetry in Hk. destruct b; rewrite <- opp_IZR; apply IZR_le; [apply Z.leb_le in Hk|apply Z.leb_gt in Hk]; lia. }
  destruct (Qle_bool 0 a) eqn:Ea; [apply Qle_bool_true in Ea|apply Qle_bool_false in Ea]; rewrite Q2R_0 in Ea;
    destruct b; intros H; apply (clip_of_ok _ _ q y H); unfold above, below; try exact I;
    rewrite Q2R_minus, Q2R_mult, Q2R_inject; nra.
Qed.
(** hardsim writes a clip as two rectified linear units *)
Lemma clipped_ok m st c bias q x : agrees T i m -> (forall k, den n ns T i (nth k st VAny) (x k)) ->
  clipped ns m st c bias = Some q ->
  Rmax (combination x c + Q2R bias) 0 - Rmax (combination x c + (Q2R bias - 1)) 0 = Q2R q.
Proof using All.
  intros Hm Hx. unfold clipped. pose proof (combine_values_ok m st c) as Hc.
  destruct (combine_values ns m st c) as [[ks [lo hi]]|]; [|discriminate]. specialize (Hc _ x Hm Hx eq_refl).
  assert (represents (ks, ((lo + bias)%Q, (hi + bias)%Q)) (combination x c + Q2R bias)) as Hr.
  { unfold represents in *. rewrite !Q2R_plus. lra. }
  replace (combination x c + (Q2R bias - 1)) with (combination x c + Q2R bias - 1) by lra.
  destruct ks as [|e ks]; intros H.
  - unfold represents in Hr. cbn [real_multiples map multiples fold_right] in Hr.
    apply (clip_of_ok _ _ q _ H); unfold above, below; lra.
  - apply first_some_in in H. destruct H as (e' & He & H). exact (clip_with_ok m _ _ _ e' q _ Hm He Hr H).
Qed.
End Correct.
