(** Attention heads: what a head reads, from its matrices. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith QArith Qreals.
Require Import Definitions Nodes Analysis Signs Values.
Import ListNotations.
Local Open Scope R_scope.

(** A hint says what a head is for; the check below decides whether it does that. *)
Inductive purpose :=
| Reach (k : nat) (s : scale) (beta e : Q)                (* reads node k: NSince, NUntil, or "count >= 1" *)
| Step (k : nat) (even : bool) (s : scale) (beta e : Q)   (* for node k, NPrev or NNext: the nearest even or odd
                                                             position *)
| Mean (l : lit)                                          (* the count of a literal over the number of positions *)
| Reciprocal (k : nat)                                    (* the mean of NFirst or NLast *)
| Mark (negative : bool)                                  (* the mean of (-1)^j or its negation *)
| LookupCount (k : count) (beta e : Q)                    (* reads position max(1, count) *)
| LookupTruth (k : count) (node : nat) (beta e : Q)       (* reads a numerical predicate there *)
| SignTest (k : nat) (beta e : Q).                        (* reads node k, a comparison of counts *)
Record hint := Hint { target : nat; purpose_of : purpose; cases : list nat }.

Section Check.
Variables (letters : nat) (ns : list node) (tau : monomial) (st : state) (h : head) (z : hint).
Definition one : powers := Powers 0 0 0 0 0.
(** What a coordinate holds at the query position: no case distinction; the only count allowed is [c]. *)
Definition query_value (c : option count) (v : value) : option polynomial :=
  match v with
  | VConst q => Some [(one, q)]
  | VNumber (Monomial false a b) => Some [(Powers a b 0 0 0, 1%Q)]
  | VRatio k d =>
      let p x := match d with
        | ByI => Powers (-1) 0 0 0 x | ByM => Powers 0 0 (-1) 0 x | ByN => Powers 0 (-1) 0 0 x end in
      match k, c with
      | None, _ => Some [(p 0%nat, 1%Q)]
      | Some k, Some c => if count_eqb k c then Some [(p 1%nat, 1%Q)] else None
      | _, _ => None end
  | _ => None
  end.
(** What a coordinate holds at the key position, given truths there. *)
Definition key_value (m : env) (v : value) : option polynomial :=
  match v with
  | VConst q => Some [(one, q)]
  | VNumber (Monomial false a b) => Some [(Powers 0 b 0 a 0, 1%Q)]
  | v => match bounds ns m v with Some (lo, hi) => if Qeq_bool lo hi then Some [(one, lo)] else None | None => None end
  end.
Fixpoint row_polynomial (f : value -> option polynomial) (c : list (nat * Q)) : option polynomial :=
  match c with
  | [] => Some []
  | (k, q) :: c => match f (nth k st VAny), row_polynomial f c with
    | Some p, Some r => Some (scaled q p ++ r) | _, _ => None end
  end.
(** The logit of key j for query i. The temperature does not alternate. *)
Definition logit_polynomial (c : option count) (m : env) : option polynomial :=
  let inverse := Powers (- power_of_i tau) (- power_of_n tau) 0 0 0 in
  fold_right (fun r s =>
    match row_polynomial (query_value c) (row (w_q h) r), row_polynomial (key_value m) (row (w_k h) r), s with
    | Some q, Some k, Some s => Some (times_term inverse 1 (product q k) ++ s)
    | _, _, _ => None end) (Some []) (seq 0 (head_rows h)).
Definition reach_polynomial (s : scale) (after : bool) (beta : Q) (sel : bool) : polynomial :=
  let q := (beta * b2Q sel)%Q in let half := (beta * (if after then -(1#2) else 1#2))%Q in
  match s with
  | ByLength => [(Powers 0 1 0 0 0, q); (Powers 0 0 0 1 0, half)]
  | BySquare => [(Powers 2 0 0 0 0, q); (Powers 2 0 0 (-1) 0, (- half)%Q)]
  | ByPosition => [(Powers 1 0 0 0 0, q); (Powers 0 0 0 1 0, half)] end.
Definition after_mask : bool := match head_mask h with Past => true | _ => false end.
Definition is_by_length (s : scale) : bool := match s with ByLength => true | _ => false end.
(** masks and scales for which it is proved by how much the logit of the winning position exceeds the others *)
Definition mask_allowed (s : scale) (k : node) : bool :=
  match k, head_mask h with
  | NSince _ _, Future | NPrev _, Future | NAtLeast [(_, (Before, _))] _, Future => true
  | NUntil _ _, Past | NNext _, Past | NAtLeast [(_, (After, _))] _, Past => is_by_length s
  | NAtLeast [(_, (Everywhere, _))] _, Unmasked => is_by_length s
  | _, _ => false end.
Definition values_row := row (w_v h) (target z).
(** in every case: the logit is that of [sel], and the value is that of [what], both truths at the key position *)
Definition check_reach (s : scale) (beta e : Q) (sel what : env -> option bool) : bool :=
  Qle_bool (1#1000) beta && exp_bound (beta * (1#2)) e
  && decide letters ns (cases z) [] (fun m =>
       match logit_polynomial None m, exact ns m st values_row, sel m, what m with
       | Some p, Some v, Some q, Some b =>
           Some (same_polynomial p (reach_polynomial s after_mask beta q) && Qeq_bool v (b2Q b))
       | _, _, _, _ => None end).
Definition reach_operands (k : node) : option (option lit * lit) :=
  match k with
  | NSince a b | NUntil a b => Some (Some a, b) | NAtLeast [(1%Z, (_, b))] (-1)%Z => Some (None, b) | _ => None end.
(** what is read is a truth in every case *)
Definition check_truth (what : env -> option bool) : bool :=
  decide letters ns (cases z) [] (fun m => match exact ns m st values_row, what m with
    | Some v, Some b => Some (Qeq_bool v (b2Q b)) | _, _ => None end).
Definition flat : bool := match w_q h, w_k h with [], _ | _, [] => true | _, _ => false end.
Definition mask_divisor : divisor := match head_mask h with Future => ByI | Past => ByM | Unmasked => ByN end.
Definition same_divisor (a b : divisor) : bool :=
  match a, b with ByI, ByI | ByM, ByM | ByN, ByN => true | _, _ => false end.
Definition mask_side : side := match head_mask h with Future => Before | Past => After | Unmasked => Everywhere end.
(** the factor f of a look-up's logit beta f (2 c j - j^2): at least 1 *)
Definition growth (k : count) : powers :=
  match fst k with
  | Before => match power_of_n tau, power_of_i tau with
      | 0%Z, (-2)%Z => Powers 1 0 0 0 0 | _, _ => Powers (-1) 1 0 0 0 end
  | After => Powers 0 1 (-1) 0 0
  | Everywhere => one end.
Definition lookup_polynomial (k : count) (beta : Q) : polynomial :=
  times_term (growth k) beta [(Powers 0 0 0 1 1, 2%Q); (Powers 0 0 0 2 0, (-(1))%Q)].
Definition lookup_mask (k : count) : bool :=
  match head_mask h, fst k with Unmasked, _ => true | Future, Before => true | _, _ => false end.
Definition check_lookup (k : count) (beta : Q) : bool :=
  Qle_bool (1#1000) beta && lookup_mask k
  && match logit_polynomial (Some k) [] with Some p => same_polynomial p (lookup_polynomial k beta) | None => false end.
(** e is at least x/(1-x)^2, or 2x/(1-x), for x = e^-beta, where x is bounded by 1 over a partial sum of e^beta *)
Definition position_error (beta e : Q) : bool :=
  let y := exp_below beta in negb (Qle_bool y 1) && Qle_bool 0 beta && Qle_bool y (e * ((y - 1) * (y - 1))).
Definition truth_error (beta e : Q) : bool :=
  let y := exp_below beta in negb (Qle_bool y 1) && Qle_bool 0 beta && Qle_bool 2 (e * (y - 1)).
(** The sign test. The query is a combination of counts over the number of positions and of 1 over it; a constant is
    the count of the constant true.  The result: the multiples of counts, and the multiple of 1. *)
Fixpoint query_counts (c : list (nat * Q)) : option (list (count * Q) * Q) :=
  match c with
  | [] => Some ([], 0%Q)
  | (r, q) :: c => match query_counts c, nth r st VAny, find_from is_true 0 ns with
      | Some (ks, s), VRatio (Some k) d, _ => if same_divisor d mask_divisor then Some ((k, q) :: ks, s) else None
      | Some (ks, s), VRatio None d, _ => if same_divisor d mask_divisor then Some (ks, q + s)%Q else None
      | Some (ks, s), VConst a, Some t => Some (((mask_side, (t, false)), q * a)%Q :: ks, s)
      | _, _, _ => None end
  end.
(** The key is an alternating monomial; the error is at most 2 e^-b for the result b.  For the value t of the comparison
    and y = beta (t + 1/2) the logit is y f (-1)^j with f = n over the number of positions, or f = i, or it is
    y (-1)^j j^2 / i. *)
Definition sign_exponent (key : monomial) (beta : Q) : option Q :=
  let on_i := power_of_i key in let on_n := (power_of_n key - power_of_n tau)%Z in
  let future := match head_mask h with Future => true | _ => false end in
  if negb (alternates key && Qle_bool 0 beta) then None
  else if (on_i =? 0)%Z && (on_n =? 1)%Z && (power_of_i tau =? 0)%Z then Some beta
  else if (on_i =? 0)%Z && (on_n =? 0)%Z && (power_of_i tau =? -2)%Z && future then Some beta
  else if (on_i =? 2)%Z && (on_n =? 0)%Z && (power_of_i tau =? 0)%Z && future && Qle_bool 1 beta
  then Some (beta * (5 # 6))%Q
  else None.
Definition check_sign (k : nat) (beta e : Q) : bool :=
  match node_at ns k, query_counts (row (w_q h) 0), row (w_k h) 0 with
  | NAtLeast ts c, Some (ks, s), [(r, q)] => (head_rows h =? 1)%nat && Qeq_bool q 1
      && proportional ns [] beta ks ts && Qeq_bool s (beta * (inject_Z c + (1 # 2)))
      && match nth r st VAny with
         | VNumber key => match sign_exponent key beta with Some b => exp_bound b (e * (1 # 2)) | None => false end
         | _ => false end
  | _, _, _ => false end.
Definition read_by : option value :=
  match purpose_of z with
  | Reach k s beta e => match reach_operands (node_at ns k) with
      | Some (a, b) =>
          let known m l := lit_known ns m DEPTH l in
          let sel m := match a with
            | None => known m b
            | Some a => match known m a, known m b with Some a, Some b => Some (negb a || b) | _, _ => None end end in
          if mask_allowed s (node_at ns k) && check_reach s beta e sel (fun m => known m b)
          then Some (VNear (k, false) e) else None
      | None => None end
  | Step k even s beta e => match node_at ns k with
      | NPrev a | NNext a =>
          let sel m := match parity_known ns m with Some b => Some (eqb b even) | None => None end in
          if mask_allowed s (node_at ns k) && check_reach s beta e sel (fun m => lit_known ns m DEPTH a)
          then Some (VStep even k e) else None
      | _ => None end
  | Mean l =>
      if flat && check_truth (fun m => lit_known ns m DEPTH l)
      then Some (VRatio (Some (mask_side, l)) mask_divisor) else None
  | Reciprocal k =>
      if flat && check_truth (fun m => lit_known ns m DEPTH (k, false))
         && match node_at ns k, head_mask h with
            | NFirst, (Future | Unmasked) | NLast, (Past | Unmasked) => true | _, _ => false end
      then Some (VRatio None mask_divisor) else None
  | Mark negative =>
      if flat && match head_mask h with Unmasked => false | _ => true end
         && match values_row with
            | [(k, q)] => match nth k st VAny with
                | VNumber (Monomial true 0 0) => Qeq_bool q (if negative then (-(1))%Q else 1%Q) | _ => false end
            | _ => false end
      then Some (VMark mask_side negative) else None
  | LookupCount k beta e =>
      if check_lookup k beta && position_error beta e
         && match row_polynomial (key_value []) values_row with
            | Some p => same_polynomial p [(Powers 0 0 0 1 0, 1%Q)] | None => false end
      then Some (VCount k e) else None
  | LookupTruth k node beta e =>
      if check_lookup k beta && truth_error beta e
         && match node_at ns node, values_row with
            | NNumeric c k', [(r, q)] =>
                count_eqb k k' && Qeq_bool q 1
                && match nth r st VAny with VLit (p, false) => holds_node c (node_at ns p) | _ => false end
            | _, _ => false end
      then Some (VTable (node, false) k e) else None
  | SignTest k beta e =>
      if check_sign k beta e && check_truth (parity_known ns) then Some (VSign mask_side k e) else None
  end.
(** the coordinate that the head writes, and what it holds of what the head reads *)
Definition check_head : option (nat * value) :=
  if forallb (fun '(r, _, _) => (r =? target z)%nat) (w_v h) && negb (alternates tau)
  then match read_by with Some v => Some (target z, v) | None => None end else None.
End Check.


(** * Small facts. *)
Lemma count_eqb_eq k k' : count_eqb k k' = true -> k = k'.
Proof.
  destruct k as [s [a b]], k' as [s' [a' b']]; unfold count_eqb, lit_eqb; simpl; intros H.
  apply andb_prop in H as [Hs H]; apply andb_prop in H as [Ha Hb].
  apply Nat.eqb_eq in Ha; apply Bool.eqb_prop in Hb; destruct s, s'; try discriminate Hs; congruence.
Qed.
Lemma Q2R_le p q : Qle_bool p q = true -> Q2R p <= Q2R q.
Proof. intros H; apply Qle_Rle, Qle_bool_iff, H. Qed.
Lemma Q2R_eq p q : Qeq_bool p q = true -> Q2R p = Q2R q.
Proof. intros H; apply Qeq_eqR, Qeq_bool_iff, H. Qed.
Lemma Q2R_half : Q2R (1 # 2) = / 2. Proof. unfold Q2R; simpl; field. Qed.
Lemma b2R_range b : 0 <= b2R b <= 1.
Proof. destruct b; simpl; lra. Qed.
Lemma INR_pos j : (1 <= j)%nat -> 1 <= INR j.
Proof. intros H; apply le_INR in H; exact H. Qed.

(** The value of one term, and of the temperature, which is positive. *)
Lemma powers_one n i j c : powers_value n i j c one = 1.
Proof. unfold powers_value, one; simpl; ring. Qed.
Lemma polynomial_single n i j c e q : polynomial_value n i j c [(e, q)] = Q2R q * powers_value n i j c e.
Proof. unfold polynomial_value; simpl; ring. Qed.
Lemma times_term_value n i j c e q p : (1 <= i <= n)%nat -> (1 <= j)%nat ->
  polynomial_value n i j c (times_term e q p) = Q2R q * powers_value n i j c e * polynomial_value n i j c p.
Proof.
  intros Hi Hj; rewrite <- polynomial_single, <- product_ok by assumption.
  unfold product; simpl; rewrite app_nil_r; reflexivity.
Qed.
Lemma powerRZ_inverse x a : x <> 0 -> powerRZ x (- a) = / powerRZ x a.
Proof. intros H; destruct a; simpl; [field | reflexivity | rewrite Rinv_inv; reflexivity]. Qed.
Lemma inverse_temperature n i j c tau : (1 <= i <= n)%nat -> alternates tau = false ->
  powers_value n i j c (Powers (- power_of_i tau) (- power_of_n tau) 0 0 0) = / monomial_value n i tau.
Proof.
  intros Hi Ha; unfold powers_value, monomial_value; rewrite Ha; simpl of_i; simpl of_n; simpl of_m; simpl of_j;
    simpl of_c.
  assert (Hn : INR n <> 0) by (apply not_0_INR; lia). assert (Hi' : INR i <> 0) by (apply not_0_INR; lia).
  rewrite !powerRZ_inverse by assumption; simpl. field; split; apply powerRZ_NOR; assumption.
Qed.

(** * The errors of look-ups, from a lower bound [exp_below beta] of e^beta. *)
Lemma Q2R_lt p q : negb (Qle_bool p q) = true -> Q2R q < Q2R p.
Proof.
  intros H; apply negb_true_iff in H; apply Qlt_Rlt, Qnot_le_lt; intros Hle.
  apply Qle_bool_iff in Hle; congruence.
Qed.
Lemma exp_below_inverse beta : Qle_bool 0 beta = true -> 1 < Q2R (exp_below beta) ->
  exp (- Q2R beta) <= / Q2R (exp_below beta).
Proof.
  intros Hb Hy; assert (Hq : ~ (exp_below beta == 0)%Q) by (intros H; apply Qeq_eqR in H; rewrite Q2R_0 in H; lra).
  rewrite <- Q2R_inv by exact Hq; apply exp_bound_ok; unfold exp_bound; rewrite Hb; cbn [andb].
  apply Qle_bool_iff; rewrite Qmult_comm, Qmult_inv_r by exact Hq; apply Qle_refl.
Qed.
Lemma position_error_ok beta e : position_error beta e = true ->
  exp (- Q2R beta) / ((1 - exp (- Q2R beta)) * (1 - exp (- Q2R beta))) <= Q2R e.
Proof.
  unfold position_error; cbv zeta; intros H; apply andb_prop in H as [H He]; apply andb_prop in H as [Hy Hb].
  apply Q2R_lt in Hy; rewrite Q2R_1 in Hy; assert (Hx := exp_below_inverse beta Hb Hy).
  apply Q2R_le in He; rewrite !Q2R_mult, !Q2R_minus, Q2R_1 in He.
  assert (Hpos := exp_pos (- Q2R beta)).
  set (y := Q2R (exp_below beta)) in *; set (v := exp (- Q2R beta)) in *; set (a := Q2R e) in *; set (t := / y) in *.
  assert (Ht : 0 < t) by (apply Rinv_0_lt_compat; lra). assert (Hty : t * y = 1) by (apply Rinv_l; lra).
  assert (Ht1 : t < 1) by (apply Rmult_lt_reg_r with y; lra).
  assert (Hle : y * (t * t) <= a * ((y - 1) * (y - 1)) * (t * t)) by (apply Rmult_le_compat_r; nra).
  assert (Ha : t <= a * ((1 - t) * (1 - t))).
  { replace (a * ((1 - t) * (1 - t))) with (a * ((t * y - t) * (t * y - t))) by (rewrite Hty; ring).
    replace t with (t * y * t) at 1 by (rewrite Hty; ring). lra. }
  assert (Ha0 : 0 < a) by (apply Rmult_lt_reg_r with ((1 - t) * (1 - t)); [nra | rewrite Rmult_0_l; lra]).
  assert (Hd : 0 < (1 - v) * (1 - v)) by nra; apply Rmult_le_reg_r with (1 := Hd).
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply Rgt_not_eq; exact Hd).
  apply Rle_trans with (a * ((1 - t) * (1 - t))); [lra | apply Rmult_le_compat_l; nra].
Qed.
Lemma truth_error_ok beta e : truth_error beta e = true -> 2 * exp (- Q2R beta) / (1 - exp (- Q2R beta)) <= Q2R e.
Proof.
  unfold truth_error; cbv zeta; intros H; apply andb_prop in H as [H He]; apply andb_prop in H as [Hy Hb].
  apply Q2R_lt in Hy; rewrite Q2R_1 in Hy; assert (Hx := exp_below_inverse beta Hb Hy).
  apply Q2R_le in He; rewrite Q2R_mult, Q2R_minus, Q2R_1 in He;
  replace (Q2R 2) with 2 in He by (unfold Q2R; simpl; field).
  assert (Hpos := exp_pos (- Q2R beta)).
  set (y := Q2R (exp_below beta)) in *; set (v := exp (- Q2R beta)) in *; set (a := Q2R e) in *; set (t := / y) in *.
  assert (Ht : 0 < t) by (apply Rinv_0_lt_compat; lra). assert (Hty : t * y = 1) by (apply Rinv_l; lra).
  assert (Ht1 : t < 1) by (apply Rmult_lt_reg_r with y; lra).
  assert (Ha : 2 * t <= a * (1 - t)) by (replace (1 - t) with (t * y - t) by (rewrite Hty; ring); nra).
  assert (Ha0 : 0 < a) by (apply Rmult_lt_reg_r with (1 - t); lra).
  assert (Hd : 0 < 1 - v) by lra; apply Rmult_le_reg_r with (1 := Hd).
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply Rgt_not_eq; exact Hd); nra.
Qed.

(** Counts that are positive, and counts of one position. *)
Lemma existsb_count (P : nat -> bool) L : existsb P L = (0 <=? 1 * Z.of_nat (length (filter P L)) + 0 + -1)%Z.
Proof.
  induction L as [| j L IH]; [reflexivity |]; cbn [existsb filter].
  destruct (P j); [| exact IH]; cbn [length orb]; symmetry; apply Z.leb_le; lia.
Qed.
Lemma number_range a b P : (0 <= number a b P <= Z.of_nat (b + 1 - a))%Z.
Proof.
  unfold number, positions; split; [lia |]; apply inj_le.
  rewrite <- (seq_length (b + 1 - a) a) at 2; generalize (seq a (b + 1 - a)); intros L.
  induction L as [| j L IH]; simpl; [lia | destruct (P j); simpl; lia].
Qed.
Lemma existsb_same (P Q : nat -> bool) L : (forall j, P j = Q j) -> existsb P L = existsb Q L.
Proof. intros H; induction L as [| j L IH]; simpl; [reflexivity | rewrite H, IH; reflexivity]. Qed.
Lemma some_every_true a b (P : nat -> bool) (f g : nat -> nat) :
  some a b (fun j => P j && every (f j) (g j) (fun _ => true)) = some a b P.
Proof.
  apply existsb_same; intros j; unfold every.
  replace (forallb (fun _ => true) (positions (f j) (g j))) with true by (symmetry; apply forallb_forall; reflexivity).
  apply andb_true_r.
Qed.
Lemma number_one a b c : (a <= c <= b)%nat -> number a b (fun j => j =? c)%nat = 1%Z.
Proof.
  intros H; unfold number, positions; replace (b + 1 - a)%nat with ((c - a) + S (b - c))%nat by lia.
  rewrite seq_app, filter_app, app_length; replace (a + (c - a))%nat with c by lia; cbn [seq filter].
  rewrite Nat.eqb_refl; cbn [length].
  assert (Hno : forall p q, (c < p \/ p + q <= c)%nat -> filter (fun j => j =? c)%nat (seq p q) = []).
  { intros p q; revert p; induction q as [| q IH]; intros p Hp; cbn [seq filter]; [reflexivity |].
    destruct (p =? c)%nat eqn:Hc; [apply Nat.eqb_eq in Hc; lia | apply IH; lia]. }
  rewrite !Hno by lia; reflexivity.
Qed.

Section Reading.
Variables (n : nat) (w : nat -> symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool)
  (st : state) (x : nat -> vector).
Hypothesis HT : model n w ns T.
Hypothesis Hw : letters <> 0%nat -> forall i, (1 <= i <= n)%nat -> exists c, (c < letters)%nat /\ w i = letter c.
Hypothesis Hx : fits n ns T st x.

(** * What is known at one position, from the lemmas of the other files. *)
Lemma decide_at vars P j (G : Prop) : (1 <= j <= n)%nat -> (forall m, agrees T j m -> P m = Some true -> G) ->
  decide letters ns vars [] P = true -> G.
Proof. intros Hj HP HD. eapply decide_ok; eauto. intros k b []. Qed.
Lemma lit_at m j l b : (1 <= j <= n)%nat -> agrees T j m -> lit_known ns m DEPTH l = Some b -> truth T l j = b.
Proof. intros; eapply lit_known_ok; eauto. Qed.
Lemma exact_at m j c q : (1 <= j <= n)%nat -> agrees T j m -> exact ns m st c = Some q -> combination (x j) c = Q2R q.
Proof. intros Hj Hm He; eapply exact_ok; eauto. Qed.
Lemma bounds_at m j v lo hi y : (1 <= j <= n)%nat -> agrees T j m -> bounds ns m v = Some (lo, hi) ->
  den n ns T j v y -> Q2R lo <= y <= Q2R hi.
Proof. intros; eapply bounds_ok; eauto. Qed.
Lemma row_at m j r : times m (x j) r = combination (x j) (row m r).
Proof.
  unfold times, combination, row. induction m as [| [[r' c] q] m IH]; simpl; [reflexivity |].
  destruct (r' =? r)%nat; simpl; rewrite IH; ring.
Qed.
Lemma parity_at m j b : (1 <= j <= n)%nat -> agrees T j m -> parity_known ns m = Some b -> Nat.even j = b.
Proof.
  intros Hj Hm; unfold parity_known.
  destruct (known_of ns m is_even) as [e |] eqn:He; [intros [= <-]; eapply known_of_even; eauto |].
  destruct (known_of ns m is_first) as [[|] |] eqn:Hf; try discriminate; intros [= <-].
  assert (H1 : (j =? 1)%nat = true) by (eapply known_of_first; eauto).
  apply Nat.eqb_eq in H1; subst j; reflexivity.
Qed.
Lemma holds_at c p j : (1 <= j <= n)%nat -> holds_node c (node_at ns p) = true ->
  condition_holds (Z.of_nat j) (Z.of_nat n) c = T p j.
Proof.
  intros Hj Hc. eapply known_of_holds with (m := [(p, T p j)]); eauto.
  - intros k b [[= <- <-] | []]; reflexivity.
  - unfold known_of; simpl; rewrite Hc; reflexivity.
Qed.

(** * The polynomials of rows. *)
Definition count_is (c : option count) (i : nat) (cv : Z) : Prop :=
  match c with Some k => cv = count_value n T k i | None => True end.
Lemma query_value_ok c cv v p i j y : (1 <= i <= n)%nat -> count_is c i cv -> den n ns T i v y ->
  query_value c v = Some p -> y = polynomial_value n i j cv p.
Proof.
  intros Hi Hc Hy Hp; destruct v as [q | [[|] a b] | l | k d | l e | even k e | s neg | k e | l k e | s k e |];
    try discriminate Hp; simpl in Hp, Hy.
  - injection Hp as <-; rewrite polynomial_single, powers_one; lra.
  - injection Hp as <-; rewrite polynomial_single, Q2R_1; unfold powers_value; simpl.
    unfold monomial_value in Hy; simpl in Hy; lra.
  - assert (Hd : INR (divisor_value n d i) <> 0) by (apply not_0_INR; destruct d; simpl; lia).
    destruct k as [k |].
    + destruct c as [c |]; [| discriminate Hp]. destruct (count_eqb k c) eqn:Hk; [| discriminate Hp].
      apply count_eqb_eq in Hk; subst c; injection Hp as <-; simpl in Hc; subst cv.
      rewrite polynomial_single, Q2R_1, Hy; destruct d; unfold powers_value; simpl powerRZ; simpl pow;
        simpl divisor_value in *;
        field; assumption.
    + injection Hp as <-.
      rewrite polynomial_single, Q2R_1, Hy; destruct d; unfold powers_value; simpl powerRZ; simpl pow;
        simpl divisor_value in *;
        field; assumption.
Qed.
Lemma key_value_bounds m v p i j cv y : (1 <= j <= n)%nat -> agrees T j m -> den n ns T j v y ->
  match bounds ns m v with Some (lo, hi) => if Qeq_bool lo hi then Some [(one, lo)] else None | None => None end
    = Some p ->
  y = polynomial_value n i j cv p.
Proof.
  intros Hj Hm Hy Hp. destruct (bounds ns m v) as [[lo hi] |] eqn:Hb; [| discriminate Hp].
  destruct (Qeq_bool lo hi) eqn:Hq; [| discriminate Hp]; injection Hp as <-.
  rewrite polynomial_single, powers_one; apply Q2R_eq in Hq.
  assert (H := bounds_at m j v lo hi y Hj Hm Hb Hy); lra.
Qed.
Lemma key_value_ok m v p i j cv y : (1 <= j <= n)%nat -> agrees T j m -> den n ns T j v y ->
  key_value ns m v = Some p -> y = polynomial_value n i j cv p.
Proof.
  intros Hj Hm Hy Hp.
  destruct v as [q | [[|] a b] | l | k d | l e | even k e | s neg | k e | l k e | s k e |];
    try (eapply key_value_bounds; [exact Hj | exact Hm | exact Hy | exact Hp]); simpl in Hp, Hy.
  - injection Hp as <-; rewrite polynomial_single, powers_one; lra.
  - injection Hp as <-; rewrite polynomial_single, Q2R_1; unfold powers_value; simpl.
    unfold monomial_value in Hy; simpl in Hy; lra.
Qed.
Lemma row_polynomial_ok f p c (y : vector) i j cv : (1 <= i <= n)%nat -> (1 <= j)%nat ->
  (forall k p, f (nth k st VAny) = Some p -> y k = polynomial_value n i j cv p) ->
  row_polynomial st f c = Some p -> combination y c = polynomial_value n i j cv p.
Proof.
  intros Hi Hj Hf; revert p; induction c as [| [k q] c IH]; simpl; intros p Hp; [injection Hp as <-; reflexivity |].
  destruct (f (nth k st VAny)) as [a |] eqn:Ha; [| discriminate Hp].
  destruct (row_polynomial st f c) as [r |]; [| discriminate Hp]; injection Hp as <-.
  rewrite polynomial_app, scaled_ok, <- (Hf k a Ha), <- (IH r eq_refl) by assumption; reflexivity.
Qed.
Lemma query_row_ok c cv p i j r : (1 <= i <= n)%nat -> (1 <= j)%nat -> count_is c i cv ->
  row_polynomial st (query_value c) r = Some p -> combination (x i) r = polynomial_value n i j cv p.
Proof.
  intros Hi Hj Hc; apply row_polynomial_ok; [assumption | assumption |].
  intros k q Hq; eapply query_value_ok; [exact Hi | exact Hc | apply Hx; exact Hi | exact Hq].
Qed.
Lemma key_row_ok m cv p i j r : (1 <= i <= n)%nat -> (1 <= j <= n)%nat -> agrees T j m ->
  row_polynomial st (key_value ns m) r = Some p -> combination (x j) r = polynomial_value n i j cv p.
Proof.
  intros Hi Hj Hm; apply row_polynomial_ok; [assumption | lia |].
  intros k q Hq; eapply key_value_ok; [exact Hj | exact Hm | apply Hx; exact Hj | exact Hq].
Qed.

(** * The logit of key j for query i. *)
Section OneHead.
Variables (tau : monomial) (h : head).
Hypothesis Htau : alternates tau = false.
Definition logit (i j : nat) : R := score h (x i) (x j) / monomial_value n i tau.
Lemma logit_polynomial_ok c cv m p i j : (1 <= i <= n)%nat -> (1 <= j <= n)%nat -> agrees T j m -> count_is c i cv ->
  logit_polynomial ns tau st h c m = Some p -> logit i j = polynomial_value n i j cv p.
Proof.
  intros Hi Hj Hm Hc; unfold logit, score, logit_polynomial, sum, Rdiv.
  revert p; induction (seq 0 (head_rows h)) as [| r rs IH]; simpl fold_right; intros p Hp.
  - injection Hp as <-; simpl; ring.
  - destruct (row_polynomial st (query_value c) (row (w_q h) r)) as [q |] eqn:Hq; [| discriminate Hp].
    destruct (row_polynomial st (key_value ns m) (row (w_k h) r)) as [k |] eqn:Hk; [| discriminate Hp].
    match type of Hp with match ?o with _ => _ end = _ => destruct o as [s |] eqn:Hs; [| discriminate Hp] end.
    injection Hp as <-.
    rewrite Rmult_plus_distr_r, (IH s eq_refl), polynomial_app, times_term_value, product_ok by lia.
    rewrite (inverse_temperature n i j cv tau Hi Htau), Q2R_1, !row_at.
    rewrite (query_row_ok c cv q i j _ Hi (proj1 Hj) Hc Hq), (key_row_ok m cv k i j _ Hi Hj Hm Hk); ring.
Qed.

(** * Reach: in every case the logit is that of the selected positions, and the value is a truth. *)
Variable z : hint.
Definition read (j : nat) : R := combination (x j) (values_row h z).
Lemma reach_value s beta i j (q : bool) : (1 <= j)%nat ->
  polynomial_value n i j 0 (reach_polynomial s false beta q) = Q2R beta * logit_before s n i j q.
Proof.
  intros Hj; assert (Hj' : INR j <> 0) by (apply not_0_INR; lia).
  destruct s; unfold polynomial_value, reach_polynomial, powers_value, logit_before;
    cbn [fold_right of_i of_n of_m of_j of_c]; cbv zeta;
    rewrite ?Q2R_opp, !Q2R_mult, Q2R_half, Q2R_b2Q; simpl; field; assumption.
Qed.
Lemma reach_value_after beta i j (q : bool) :
  polynomial_value n i j 0 (reach_polynomial ByLength true beta q) = Q2R beta * (INR n * b2R q - INR j / 2).
Proof.
  assert (H : Q2R (- (1 # 2)) = - / 2) by (rewrite Q2R_opp, Q2R_half; reflexivity).
  unfold polynomial_value, reach_polynomial, powers_value; cbn [fold_right of_i of_n of_m of_j of_c]; cbv zeta.
  rewrite !Q2R_mult, H, Q2R_b2Q; simpl; field.
Qed.
Lemma check_reach_parts s beta e sel what : check_reach letters ns tau st h z s beta e sel what = true ->
  0 < Q2R beta /\ exp (- (Q2R beta / 2)) <= Q2R e.
Proof.
  unfold check_reach; intros H; apply andb_prop in H as [H _]; apply andb_prop in H as [Hb He]; split.
  - apply Q2R_le in Hb; revert Hb; unfold Q2R at 1; simpl; lra.
  - apply exp_bound_ok in He; rewrite Q2R_mult, Q2R_half in He; exact He.
Qed.
(** [sel] and [what] compute the truths [q] and [b] of the key position. *)
Lemma check_reach_key s beta e sel what (q b : nat -> bool) i j : (1 <= i <= n)%nat -> (1 <= j <= n)%nat ->
  (forall m t, agrees T j m -> sel m = Some t -> q j = t) -> (forall m t, agrees T j m -> what m = Some t -> b j = t) ->
  check_reach letters ns tau st h z s beta e sel what = true ->
  logit i j = polynomial_value n i j 0 (reach_polynomial s (after_mask h) beta (q j)) /\ read j = b2R (b j).
Proof.
  intros Hi Hj Hsel Hwhat; unfold check_reach; intros H; apply andb_prop in H as [_ H].
  revert H; apply decide_at with (j := j); [exact Hj |]; intros m Hm H.
  destruct (logit_polynomial ns tau st h None m) as [p |] eqn:Hp; [| discriminate H].
  destruct (exact ns m st (values_row h z)) as [v |] eqn:Hv; [| discriminate H].
  destruct (sel m) as [t |] eqn:Ht; [| discriminate H]; destruct (what m) as [t' |] eqn:Ht'; [| discriminate H].
  injection H as H; apply andb_prop in H as [Hsame Heq]; split.
  - rewrite (logit_polynomial_ok None 0 m p i j Hi Hj Hm I Hp), (Hsel m t Hm Ht).
    apply same_polynomial_ok; exact Hsame.
  - unfold read; rewrite (exact_at m j _ v Hj Hm Hv), (Q2R_eq _ _ Heq), Q2R_b2Q, (Hwhat m t' Hm Ht'); reflexivity.
Qed.
Lemma check_truth_key what (b : nat -> bool) j : (1 <= j <= n)%nat ->
  (forall m t, agrees T j m -> what m = Some t -> b j = t) -> check_truth letters ns st h z what = true ->
  read j = b2R (b j).
Proof.
  intros Hj Hwhat; unfold check_truth; apply decide_at with (j := j); [exact Hj |]; intros m Hm H.
  destruct (exact ns m st (values_row h z)) as [v |] eqn:Hv; [| discriminate H].
  destruct (what m) as [t |] eqn:Ht; [| discriminate H]; injection H as H.
  unfold read; rewrite (exact_at m j _ v Hj Hm Hv), (Q2R_eq _ _ H), Q2R_b2Q, (Hwhat m t Hm Ht); reflexivity.
Qed.

(** * What the head reads, by purpose. *)
Definition head_reads (i : nat) : R := softmax_mean (visible (head_mask h) n i) (logit i) read.
Lemma visible_range i j : (1 <= i <= n)%nat -> In j (visible (head_mask h) n i) -> (1 <= j <= n)%nat.
Proof. intros Hi; destruct (head_mask h); simpl; rewrite in_positions; lia. Qed.
Lemma visible_nonempty i : (1 <= i <= n)%nat -> visible (head_mask h) n i <> [].
Proof.
  intros Hi H; assert (H' : In i (visible (head_mask h) n i)).
  { destruct (head_mask h); simpl; rewrite in_positions; lia. }
  rewrite H in H'; exact H'.
Qed.
Section Reaching.
Variables (s : scale) (beta e : Q) (sel what : env -> option bool).
Hypothesis Hcheck : check_reach letters ns tau st h z s beta e sel what = true.
(** [sel] and [what] compute the truths [q] and [b]. *)
Variables (q b : nat -> bool).
Hypothesis Hsel : forall j m t, (1 <= j <= n)%nat -> agrees T j m -> sel m = Some t -> q j = t.
Hypothesis Hwhat : forall j m t, (1 <= j <= n)%nat -> agrees T j m -> what m = Some t -> b j = t.
Variable i : nat.
Hypothesis Hi : (1 <= i <= n)%nat.
Lemma read_is j : (1 <= j <= n)%nat -> read j = b2R (b j).
Proof. intros Hj; apply (check_reach_key s beta e sel what q b i j Hi Hj); eauto. Qed.
Lemma logit_before_is j : (1 <= j <= n)%nat -> head_mask h <> Past ->
  logit i j = Q2R beta * logit_before s n i j (q j) + 0.
Proof.
  intros Hj Hm; destruct (check_reach_key s beta e sel what q b i j Hi Hj) as [Hl _]; eauto.
  rewrite Hl, Rplus_0_r; replace (after_mask h) with false; [apply reach_value; lia |].
  unfold after_mask; destruct (head_mask h); congruence.
Qed.
Lemma logit_after_is j : (1 <= j <= n)%nat -> head_mask h = Past -> s = ByLength ->
  logit i j = Q2R beta * (INR n * b2R (q j) - INR j / 2) + 0.
Proof.
  intros Hj Hm Hs; destruct (check_reach_key s beta e sel what q b i j Hi Hj) as [Hl _]; eauto.
  rewrite Hl, Rplus_0_r; unfold after_mask; rewrite Hm, Hs; apply reach_value_after.
Qed.
Lemma head_reads_is : head_reads i = softmax_mean (visible (head_mask h) n i) (logit i) (fun j => b2R (b j)).
Proof. apply softmax_ext; [reflexivity |]; intros j Hj; apply read_is, (visible_range i j Hi Hj). Qed.
(** The truth that a Reach head reads, by its mask. *)
Definition reached (a : nat -> bool) : bool :=
  match head_mask h with
  | Future => some 1 i (fun j => b j && every (j + 1) i a)
  | Past => some i n (fun j => b j && every i (j - 1) a)
  | Unmasked => some 1 n (fun j => b j && every (j + 1) n a) end.
Lemma reach_reads (a : nat -> bool) : (forall j, q j = negb (a j) || b j) -> head_mask h = Future \/ s = ByLength ->
  Rabs (head_reads i - b2R (reached a)) <= Q2R e.
Proof.
  intros Hq Hs; destruct (check_reach_parts s beta e sel what Hcheck) as [Hb He].
  eapply Rle_trans; [| exact He]; rewrite head_reads_is; unfold reached.
  destruct (head_mask h) eqn:Hm; cbn [visible].
  - apply (since_head s a b _ _ 0 n i Hb Hi); intros j Hj; rewrite <- Hq; apply logit_before_is; [lia | congruence].
  - destruct Hs as [Hs | Hs]; [discriminate Hs |].
    apply (until_head a b _ _ 0 n i Hb Hi); intros j Hj; rewrite <- Hq; apply logit_after_is;
      [lia | exact Hm | exact Hs].
  - destruct Hs as [Hs | Hs]; [discriminate Hs |].
    apply (since_head s a b _ _ 0 n n Hb); [lia |]; intros j Hj; rewrite <- Hq, logit_before_is; [| lia | congruence].
    rewrite Hs; reflexivity.
Qed.
Lemma reach_range : 0 <= head_reads i <= 1.
Proof. rewrite head_reads_is; apply softmax_range;
  [apply visible_nonempty; exact Hi | intros j _; apply b2R_range]. Qed.
(** the winner is the neighbour if it is selected and the position itself is not *)
Lemma step_before : head_mask h = Future -> (1 < i)%nat -> q i = false -> q (i - 1) = true ->
  Rabs (head_reads i - b2R (b (i - 1))) <= Q2R e.
Proof.
  intros Hm H1 Hq0 Hq1; destruct (check_reach_parts s beta e sel what Hcheck) as [Hb He].
  eapply Rle_trans; [| exact He]; rewrite head_reads_is, Hm; cbn [visible].
  apply (rightmost s q _ (fun j => b2R (b j)) (Q2R beta) 0 n i (i - 1) Hb Hi); [lia | exact Hq1 | | |].
  - intros j Hj; replace j with i by lia; exact Hq0.
  - intros j Hj; apply logit_before_is; [lia | congruence].
  - intros j _; apply b2R_range.
Qed.
Lemma step_after : head_mask h = Past -> s = ByLength -> (i < n)%nat -> q i = false -> q (i + 1) = true ->
  Rabs (head_reads i - b2R (b (i + 1))) <= Q2R e.
Proof.
  intros Hm Hs H1 Hq0 Hq1; destruct (check_reach_parts s beta e sel what Hcheck) as [Hb He].
  eapply Rle_trans; [| exact He]; rewrite head_reads_is, Hm; cbn [visible].
  apply (leftmost q _ (fun j => b2R (b j)) (Q2R beta) 0 n i (i + 1) Hb Hi); [lia | exact Hq1 | | |].
  - intros j Hj; replace j with i by lia; exact Hq0.
  - intros j Hj; apply logit_after_is; [lia | exact Hm | exact Hs].
  - intros j _; apply b2R_range.
Qed.
End Reaching.

(** * Reach and Step. *)
Definition side_truth (a : option lit) (j : nat) : bool := match a with Some a => truth T a j | None => true end.
Lemma reach_node d a b s i : mask_allowed h s d = true -> reach_operands d = Some (a, b) ->
  (head_mask h = Future \/ s = ByLength) /\ node_truth n w T d i = reached (truth T b) i (side_truth a).
Proof.
  assert (Hs : is_by_length s = true -> s = ByLength) by (destruct s; [reflexivity | discriminate | discriminate]).
  unfold mask_allowed, reach_operands, reached, side_truth; intros Hm Ho.
  destruct d as [| | | | | | | | | a' b' | a' b' | ts c |]; try discriminate Ho.
  - injection Ho as <- <-; destruct (head_mask h); try discriminate Hm; split; [left; reflexivity | reflexivity].
  - injection Ho as <- <-; destruct (head_mask h); try discriminate Hm; split; [right; exact (Hs Hm) | reflexivity].
  - destruct ts as [| [[| [p | p |] | p] [sd l]] [|]]; try discriminate Ho.
    destruct c as [| p | [p | p |]]; try discriminate Ho; injection Ho as <- <-.
    unfold node_truth, linear_value, count_value, number; cbn [fold_right fst snd].
    destruct sd, (head_mask h); try discriminate Hm;
      (split; [first [left; reflexivity | right; exact (Hs Hm)]
        | rewrite some_every_true; symmetry; apply existsb_count]).
Qed.
Definition reach_case (a : option lit) (b : lit) (m : env) : option bool :=
  match a with
  | None => lit_known ns m DEPTH b
  | Some a => match lit_known ns m DEPTH a, lit_known ns m DEPTH b with
      | Some a, Some b => Some (negb a || b) | _, _ => None end end.
Lemma reach_case_ok a b j m t : (1 <= j <= n)%nat -> agrees T j m -> reach_case a b m = Some t ->
  negb (side_truth a j) || truth T b j = t.
Proof.
  intros Hj Hm; destruct a as [a |]; simpl; [| intros H; exact (lit_at m j b t Hj Hm H)].
  destruct (lit_known ns m DEPTH a) as [ta |] eqn:Ha; [| discriminate].
  destruct (lit_known ns m DEPTH b) as [tb |] eqn:Hb; [| discriminate]; intros [= <-].
  rewrite (lit_at m j a ta Hj Hm Ha), (lit_at m j b tb Hj Hm Hb); reflexivity.
Qed.
Lemma reach_ok k a b s beta e i : (1 <= i <= n)%nat -> mask_allowed h s (node_at ns k) = true ->
  reach_operands (node_at ns k) = Some (a, b) ->
  check_reach letters ns tau st h z s beta e (reach_case a b) (fun m => lit_known ns m DEPTH b) = true ->
  den n ns T i (VNear (k, false) e) (head_reads i).
Proof.
  intros Hi Hm Ho Hc; destruct (reach_node _ a b s i Hm Ho) as [Hs Ht].
  cbn [den]; unfold near, truth; cbn [fst snd]; rewrite xorb_false_l, (HT k i), Ht.
  apply (reach_reads s beta e _ _ Hc (fun j => negb (side_truth a j) || truth T b j)); auto.
  - intros j m t; apply reach_case_ok.
  - intros j m t; apply lit_at.
Qed.
Definition step_case (even : bool) (m : env) : option bool :=
  match parity_known ns m with Some b => Some (eqb b even) | None => None end.
Lemma step_case_ok even j m t : (1 <= j <= n)%nat -> agrees T j m -> step_case even m = Some t ->
  eqb (Nat.even j) even = t.
Proof.
  intros Hj Hm; unfold step_case; destruct (parity_known ns m) as [b |] eqn:Hb; [| discriminate]; intros [= <-].
  rewrite (parity_at m j b Hj Hm Hb); reflexivity.
Qed.
Lemma even_pred i : (1 <= i)%nat -> Nat.even (i - 1) = negb (Nat.even i).
Proof.
  intros H; destruct i as [| i]; [lia |]; simpl (S i - 1)%nat.
  rewrite Nat.sub_0_r, Nat.even_succ, Nat.negb_odd; reflexivity.
Qed.
Lemma even_next i : Nat.even (i + 1) = negb (Nat.even i).
Proof. rewrite Nat.add_1_r, Nat.even_succ, Nat.negb_even; reflexivity. Qed.
Lemma step_ok k a even s beta e i : (1 <= i <= n)%nat -> mask_allowed h s (node_at ns k) = true ->
  node_at ns k = NPrev a \/ node_at ns k = NNext a ->
  check_reach letters ns tau st h z s beta e (step_case even) (fun m => lit_known ns m DEPTH a) = true ->
  den n ns T i (VStep even k e) (head_reads i).
Proof.
  intros Hi Hm Hk Hc; cbn [den].
  assert (Hsel := fun j m t => step_case_ok even j m t); assert (Hwhat := fun j m t => lit_at m j a t).
  split; [apply (reach_range s beta e _ _ Hc _ (truth T a) Hsel Hwhat i Hi) |].
  intros Hpar Hedge; unfold near; rewrite (HT k i).
  assert (Hq0 : eqb (Nat.even i) even = false) by (rewrite Hpar; destruct even; reflexivity).
  unfold at_edge in Hedge; unfold mask_allowed in Hm.
  destruct Hk as [Hk | Hk]; rewrite Hk in Hedge, Hm |- *; cbn [node_truth]; apply Nat.eqb_neq in Hedge;
    destruct (head_mask h) eqn:Hh; try discriminate Hm.
  - rewrite (proj2 (Nat.ltb_lt 1 i)) by lia; rewrite andb_true_l.
    apply (step_before s beta e _ _ Hc _ (truth T a) Hsel Hwhat i Hi Hh); [lia | exact Hq0 |].
    rewrite even_pred, Hpar by lia; destruct even; reflexivity.
  - rewrite (proj2 (Nat.ltb_lt i n)) by lia; rewrite andb_true_l.
    apply (step_after s beta e _ _ Hc _ (truth T a) Hsel Hwhat i Hi Hh); [| lia | exact Hq0 |].
    + destruct s; [reflexivity | discriminate Hm | discriminate Hm].
    + rewrite even_next, Hpar; destruct even; reflexivity.
Qed.

(** * Heads of equal weights: Mean, Reciprocal and Mark. *)
Lemma flat_logit i j : flat h = true -> logit i j = 0.
Proof.
  intros Hf; assert (Hz : forall r, times (w_q h) (x i) r * times (w_k h) (x j) r = 0).
  { intros r; unfold flat in Hf; destruct (w_q h), (w_k h); try discriminate Hf; simpl; ring. }
  unfold logit, score, sum, Rdiv; replace (fold_right _ 0 _) with 0; [ring |].
  induction (seq 0 (head_rows h)) as [| r rs IH]; simpl; [reflexivity | rewrite Hz, <- IH; ring].
Qed.
Lemma mean_reads (b : nat -> bool) i : (1 <= i <= n)%nat -> flat h = true ->
  (forall j, (1 <= j <= n)%nat -> read j = b2R (b j)) ->
  head_reads i =
    IZR (match mask_side h with Before => number 1 i b | After => number i n b | Everywhere => number 1 n b end)
    / INR (divisor_value n (mask_divisor h) i).
Proof.
  intros Hi Hf Hr; unfold head_reads, mask_side, mask_divisor.
  rewrite (softmax_ext _ _ (logit i) read (fun j => b2R (b j)));
    [| reflexivity | intros j Hj; apply Hr, (visible_range i j Hi Hj)].
  destruct (head_mask h); cbn [visible divisor_value];
    rewrite (uniform_count _ _ _ 0 b) by (intros; apply flat_logit, Hf);
    rewrite ?Nat.add_sub; reflexivity.
Qed.
Lemma truth_reads l j : check_truth letters ns st h z (fun m => lit_known ns m DEPTH l) = true -> (1 <= j <= n)%nat ->
  read j = b2R (truth T l j).
Proof.
  intros Hc Hj; eapply check_truth_key with (b := truth T l); [exact Hj | | exact Hc].
  intros m t; apply lit_at; exact Hj.
Qed.
Lemma mean_ok l i : (1 <= i <= n)%nat -> flat h = true ->
  check_truth letters ns st h z (fun m => lit_known ns m DEPTH l) = true ->
  den n ns T i (VRatio (Some (mask_side h, l)) (mask_divisor h)) (head_reads i).
Proof.
  intros Hi Hf Hc; cbn [den]; rewrite (mean_reads (truth T l) i Hi Hf); [reflexivity |].
  intros j; apply truth_reads; exact Hc.
Qed.
Definition edge_node (d : node) : bool :=
  match d, head_mask h with NFirst, (Future | Unmasked) | NLast, (Past | Unmasked) => true | _, _ => false end.
Lemma reciprocal_ok k i : (1 <= i <= n)%nat -> flat h = true -> edge_node (node_at ns k) = true ->
  check_truth letters ns st h z (fun m => lit_known ns m DEPTH (k, false)) = true ->
  den n ns T i (VRatio None (mask_divisor h)) (head_reads i).
Proof.
  intros Hi Hf Hk Hc; cbn [den].
  rewrite (mean_reads (node_truth n w T (node_at ns k)) i Hi Hf).
  - unfold edge_node, mask_side in *; destruct (node_at ns k); try discriminate Hk; unfold node_truth;
      destruct (head_mask h); try discriminate Hk; rewrite number_one by lia; reflexivity.
  - intros j Hj; rewrite (truth_reads (k, false) j Hc Hj); unfold truth; cbn [fst snd].
    rewrite xorb_false_l, (HT k j); reflexivity.
Qed.
Lemma softmax_factor L l v c : softmax_mean L l (fun j => c * v j) = c * softmax_mean L l v.
Proof.
  unfold softmax_mean, Rdiv; rewrite <- Rmult_assoc; f_equal.
  unfold sum; induction L as [| j L IH]; simpl; [ring | rewrite IH; ring].
Qed.
Definition mark_row (negative : bool) : bool :=
  match values_row h z with
  | [(k, q)] => match nth k st VAny with
      | VNumber (Monomial true 0 0) => Qeq_bool q (if negative then (-(1))%Q else 1%Q) | _ => false end
  | _ => false end.
Lemma mark_reads negative j : (1 <= j <= n)%nat -> mark_row negative = true ->
  read j = (if negative then -1 else 1) * (-1) ^ j.
Proof.
  intros Hj; unfold mark_row, read; destruct (values_row h z) as [| [k q] [|]]; try discriminate.
  assert (Hk := Hx j Hj k); destruct (nth k st VAny) as [| [[|] [| |] [| |]] | | | | | | | | |]; try discriminate.
  intros Hq; apply Q2R_eq in Hq; cbn [combination fold_right]; rewrite Hq.
  cbn [den] in Hk; rewrite Hk; unfold monomial_value; simpl.
  destruct negative; [unfold Q2R; simpl; field | rewrite Q2R_1; ring].
Qed.
Lemma mark_ok negative i : (1 <= i <= n)%nat -> flat h = true -> head_mask h <> Unmasked -> mark_row negative = true ->
  den n ns T i (VMark (mask_side h) negative) (head_reads i).
Proof.
  intros Hi Hf Hm Hr; unfold head_reads.
  rewrite (softmax_ext _ _ (logit i) read (fun j => (if negative then -1 else 1) * (-1) ^ j));
    [| reflexivity | intros j Hj; apply mark_reads; [exact (visible_range i j Hi Hj) | exact Hr]].
  rewrite (softmax_factor _ _ (fun j => (-1) ^ j)); unfold mask_side; destruct (head_mask h); [| | congruence];
    cbn [den visible].
  - assert (Ha := alternating_before i (logit i) 0 (proj1 Hi)); cbv zeta in Ha.
    specialize (Ha (fun j _ => flat_logit i j Hf)); destruct (i =? 1)%nat;
      [rewrite Ha; reflexivity | destruct negative; lra].
  - assert (Ha := alternating_after i n (logit i) 0 Hi); cbv zeta in Ha.
    specialize (Ha (fun j _ => flat_logit i j Hf)); destruct (i =? n)%nat;
      [rewrite Ha; reflexivity | destruct negative; lra].
Qed.

(** * Look-ups: position max(1, c) wins, where c is the count at the query. *)
Lemma growth_ok k i j c : (1 <= i <= n)%nat ->
  1 <= powers_value n i j c (growth tau k) /\ powers_value n i j c (growth tau k) = powers_value n i 1 0 (growth tau k).
Proof.
  intros Hi; assert (H1 := INR_pos i (proj1 Hi)); assert (Hm : INR (n + 1 - i) >= 1) by (apply Rle_ge, INR_pos; lia).
  assert (Hin : INR i <= INR n) by (apply le_INR; lia); assert (Hmn : INR (n + 1 - i) <= INR n) by (apply le_INR; lia).
  assert (Hdiv : forall a b, 1 <= a <= b -> 1 <= / a * b).
  { intros a b Hab; rewrite <- (Rinv_l a) by lra; apply Rmult_le_compat_l;
      [apply Rlt_le, Rinv_0_lt_compat; lra | lra]. }
  assert (Hi' := Hdiv (INR i) (INR n) (conj H1 Hin)).
  assert (Hm' := Hdiv (INR (n + 1 - i)) (INR n) (conj (Rge_le _ _ Hm) Hmn)).
  assert (Hcases : In (growth tau k) [Powers 1 0 0 0 0; Powers (-1) 1 0 0 0; Powers 0 1 (-1) 0 0; one]).
  { unfold growth; destruct (fst k); [| simpl; tauto | simpl; tauto].
    destruct (power_of_n tau); simpl; try tauto; destruct (power_of_i tau) as [| p | [p | [p | p |] |]]; simpl; tauto. }
  revert Hcases; generalize (growth tau k); intros g [<- | [<- | [<- | [<- | []]]]];
    unfold powers_value; simpl powerRZ; simpl pow; rewrite ?Rmult_1_r, ?Rmult_1_l in *; (split; [lra | reflexivity]).
Qed.
Lemma count_range k i : (1 <= i <= n)%nat -> (0 <= count_value n T k i <= Z.of_nat n)%Z.
Proof.
  intros Hi; unfold count_value; destruct (fst k).
  - assert (H := number_range 1 i (truth T (snd k))); lia.
  - assert (H := number_range i n (truth T (snd k))); lia.
  - assert (H := number_range 1 n (truth T (snd k))); lia.
Qed.
Lemma lookup_visible k i : (1 <= i <= n)%nat -> lookup_mask h k = true ->
  exists last, visible (head_mask h) n i = positions 1 last /\ (1 <= last <= n)%nat /\
    (count_value n T k i <= Z.of_nat last)%Z.
Proof.
  intros Hi Hm; unfold lookup_mask in Hm; destruct (head_mask h); [| discriminate Hm |].
  - exists i; split; [reflexivity | split; [lia |]].
    unfold count_value; destruct (fst k); try discriminate Hm; assert (H := number_range 1 i (truth T (snd k))); lia.
  - exists n; split; [reflexivity | split; [lia | apply count_range; exact Hi]].
Qed.
Lemma check_lookup_parts k beta : check_lookup ns tau st h k beta = true -> 0 < Q2R beta /\ lookup_mask h k = true.
Proof.
  unfold check_lookup; intros H; apply andb_prop in H as [H _]; apply andb_prop in H as [Hb Hm]; split; [| exact Hm].
  apply Q2R_le in Hb; revert Hb; unfold Q2R at 1; simpl; lra.
Qed.
Lemma lookup_logit k beta i j : (1 <= i <= n)%nat -> (1 <= j <= n)%nat -> check_lookup ns tau st h k beta = true ->
  logit i j = Q2R beta * powers_value n i 1 0 (growth tau k) * (2 * IZR (count_value n T k i) * INR j - INR j * INR j).
Proof.
  intros Hi Hj; unfold check_lookup; intros H; apply andb_prop in H as [_ H].
  destruct (logit_polynomial ns tau st h (Some k) []) as [p |] eqn:Hp; [| discriminate H].
  assert (Hm : agrees T j []) by (intros a b []).
  rewrite (logit_polynomial_ok (Some k) (count_value n T k i) [] p i j Hi Hj Hm eq_refl Hp).
  rewrite (same_polynomial_ok n i j _ _ _ H); unfold lookup_polynomial; rewrite times_term_value by lia.
  rewrite (proj2 (growth_ok k i j _ Hi)); f_equal.
  unfold polynomial_value, powers_value; cbn [fold_right of_i of_n of_m of_j of_c]; unfold Q2R; simpl; field.
Qed.
Definition winner (k : count) (i : nat) : nat := Z.to_nat (Z.max 1 (count_value n T k i)).
Lemma lookup_falls k beta i j : (1 <= i <= n)%nat -> (1 <= j <= n)%nat -> check_lookup ns tau st h k beta = true ->
  logit i (winner k i) - logit i j >= Q2R beta * Rabs (INR j - INR (winner k i)).
Proof.
  intros Hi Hj Hc; assert (Hr := count_range k i Hi); destruct (check_lookup_parts k beta Hc) as [Hb _].
  assert (Hw' : (1 <= winner k i <= n)%nat) by (unfold winner; lia).
  rewrite (lookup_logit k beta i j Hi Hj Hc), (lookup_logit k beta i _ Hi Hw' Hc).
  apply lookup_gap; [lra | apply (proj1 (growth_ok k i 1 0 Hi)) | lia | lia | unfold winner; lia].
Qed.
Lemma lookup_count_ok k beta e i : (1 <= i <= n)%nat -> check_lookup ns tau st h k beta = true ->
  position_error beta e = true ->
  match row_polynomial st (key_value ns []) (values_row h z) with
  | Some p => same_polynomial p [(Powers 0 0 0 1 0, 1%Q)] | None => false end = true ->
  den n ns T i (VCount k e) (head_reads i).
Proof.
  intros Hi Hc He Hr; destruct (check_lookup_parts k beta Hc) as [Hb Hm].
  destruct (lookup_visible k i Hi Hm) as [last [Hv [Hl Hle]]]; assert (Hk := count_range k i Hi).
  cbn [den]; eapply Rle_trans; [| exact (position_error_ok beta e He)].
  unfold head_reads; rewrite Hv, (softmax_ext _ _ (logit i) read INR); [| reflexivity |].
  - replace (IZR (Z.max 1 (count_value n T k i))) with (INR (winner k i))
      by (unfold winner; rewrite INR_IZR_INZ, Z2Nat.id by lia; reflexivity).
    apply lookup_position; [exact Hb | unfold winner; lia |].
    intros j Hj; apply lookup_falls; [exact Hi | lia | exact Hc].
  - intros j Hj; apply in_positions in Hj; unfold read.
    destruct (row_polynomial st (key_value ns []) (values_row h z)) as [p |] eqn:Hp; [| discriminate Hr].
    assert (Hm' : agrees T j []) by (intros a b []).
    rewrite (key_row_ok [] 0 p i j _ Hi) with (3 := Hp) by (lia || exact Hm').
    rewrite (same_polynomial_ok n i j 0 _ _ Hr), polynomial_single, Q2R_1.
    unfold powers_value; simpl; ring.
Qed.
Definition lookup_row (k : count) (node : nat) : bool :=
  match node_at ns node, values_row h z with
  | NNumeric c k', [(r, q)] =>
      count_eqb k k' && Qeq_bool q 1
      && match nth r st VAny with VLit (p, false) => holds_node c (node_at ns p) | _ => false end
  | _, _ => false end.
(** the value is the truth of the condition of the node at the key position *)
Lemma lookup_row_ok k node : lookup_row k node = true ->
  exists c, node_at ns node = NNumeric c k /\
    forall j, (1 <= j <= n)%nat -> read j = b2R (condition_holds (Z.of_nat j) (Z.of_nat n) c).
Proof.
  unfold lookup_row, read; destruct (node_at ns node) as [| | | | | | | | | | | | c k']; try discriminate.
  destruct (values_row h z) as [| [r q] [|]]; try discriminate; intros H.
  apply andb_prop in H as [H Hp]; apply andb_prop in H as [Hk Hq]; apply count_eqb_eq in Hk; subst k'.
  exists c; split; [reflexivity |]; intros j Hj; assert (Hr := Hx j Hj r).
  destruct (nth r st VAny) as [| | [p [|]] | | | | | | | |]; try discriminate Hp.
  cbn [combination fold_right]; rewrite (Q2R_eq _ _ Hq), Q2R_1, (holds_at c p j Hj Hp).
  cbn [den] in Hr; unfold truth in Hr; cbn [fst snd] in Hr; rewrite Hr, xorb_false_l; ring.
Qed.
Lemma lookup_truth_ok k node beta e i : (1 <= i <= n)%nat -> check_lookup ns tau st h k beta = true ->
  truth_error beta e = true -> lookup_row k node = true -> den n ns T i (VTable (node, false) k e) (head_reads i).
Proof.
  intros Hi Hc He Hr; destruct (check_lookup_parts k beta Hc) as [Hb Hm].
  destruct (lookup_visible k i Hi Hm) as [last [Hv [Hl Hle]]]; assert (Hk := count_range k i Hi).
  destruct (lookup_row_ok k node Hr) as [c [Hn Hread]]; cbn [den]; split.
  - apply softmax_range; [apply visible_nonempty; exact Hi |].
    intros j Hj; rewrite Hread by exact (visible_range i j Hi Hj); apply b2R_range.
  - intros Hpos; unfold near, truth; cbn [fst snd]; rewrite xorb_false_l, (HT node i), Hn; cbn [node_truth].
    eapply Rle_trans; [| exact (truth_error_ok beta e He)].
    assert (Hw1 : (1 <= winner k i <= last)%nat) by (unfold winner; lia).
    replace (count_value n T k i) with (Z.of_nat (winner k i)) by (unfold winner; lia).
    rewrite <- Hread by lia; unfold head_reads; rewrite Hv; apply lookup_truth; [exact Hb | exact Hw1 | |].
    + intros j Hj; apply lookup_falls; [exact Hi | lia | exact Hc].
    + intros j Hj; rewrite Hread by lia; apply b2R_range.
Qed.

(** * The sign test: the logit is beta (t + 1/2) times a factor that alternates, t the value of the comparison. *)
Definition counted (i : nat) (k : count) : R := IZR (count_value n T k i).
Lemma same_divisor_ok a b : same_divisor a b = true -> a = b.
Proof. destruct a, b; (reflexivity || discriminate). Qed.
Lemma mask_divisor_pos i : (1 <= i <= n)%nat -> 1 <= INR (divisor_value n (mask_divisor h) i).
Proof. intros Hi; apply INR_pos; destruct (mask_divisor h); simpl; lia. Qed.
(** the count of the constant true is the number of positions *)
Lemma count_of_true t i : (1 <= i <= n)%nat -> find_from is_true 0 ns = Some t ->
  counted i (mask_side h, (t, false)) = INR (divisor_value n (mask_divisor h) i).
Proof.
  intros Hi Ht; assert (H : is_true (node_at ns t) = true) by (eapply true_found; eauto).
  unfold counted, count_value, mask_side, mask_divisor; cbn [fst snd].
  destruct (head_mask h); cbn [divisor_value];
    (erewrite number_of_true; [rewrite <- INR_IZR_INZ; f_equal; lia | eauto | eauto | eauto | eauto | lia]).
Qed.
Lemma query_counts_ok c ks s i : (1 <= i <= n)%nat -> query_counts ns st h c = Some (ks, s) ->
  combination (x i) c * INR (divisor_value n (mask_divisor h) i) = multiples (counted i) (real_multiples ks) + Q2R s.
Proof.
  intros Hi; assert (Hd := mask_divisor_pos i Hi); set (d := INR (divisor_value n (mask_divisor h) i)) in *.
  revert ks s; induction c as [| [r q] c IH]; intros ks s; cbn [query_counts combination fold_right].
  - intros [= <- <-]; unfold real_multiples, multiples; simpl; rewrite Q2R_0; ring.
  - fold (combination (x i) c); destruct (query_counts ns st h c) as [[ks' s'] |]; [| discriminate].
    specialize (IH ks' s' eq_refl); assert (Hr := Hx i Hi r).
    destruct (nth r st VAny) as [a | | | [k |] d' | | | | | | |]; try discriminate; cbn [den] in Hr.
    + destruct (find_from is_true 0 ns) as [t |] eqn:Ht; [| discriminate]; intros [= <- <-].
      unfold real_multiples, multiples in *; cbn [map fold_right fst snd].
      rewrite (count_of_true t i Hi Ht), Q2R_mult, Hr; fold d; lra.
    + destruct (same_divisor d' (mask_divisor h)) eqn:Hs; [| discriminate]; intros [= <- <-].
      apply same_divisor_ok in Hs; subst d'; fold d in Hr; unfold real_multiples, multiples in *.
      cbn [map fold_right fst snd]; fold (counted i k) in Hr; rewrite Rmult_plus_distr_r, IH, Hr; field; lra.
    + destruct (same_divisor d' (mask_divisor h)) eqn:Hs; [| discriminate]; intros [= <- <-].
      apply same_divisor_ok in Hs; subst d'; fold d in Hr; rewrite Q2R_plus, Rmult_plus_distr_r, IH, Hr; field; lra.
Qed.
Lemma check_sign_parts k beta e : check_sign ns tau st h k beta e = true ->
  exists ts c key b, node_at ns k = NAtLeast ts c /\ sign_exponent tau h key beta = Some b /\
    2 * exp (- Q2R b) <= Q2R e /\ forall i j, (1 <= i <= n)%nat -> (1 <= j <= n)%nat ->
    logit i j = Q2R beta * (IZR (linear_value n T ts i + c) + / 2) / INR (divisor_value n (mask_divisor h) i)
      * monomial_value n j key / monomial_value n i tau.
Proof.
  unfold check_sign; destruct (node_at ns k) as [| | | | | | | | | | | ts c |]; try discriminate.
  destruct (query_counts ns st h (row (w_q h) 0)) as [[ks s] |] eqn:Hq; [| discriminate].
  destruct (row (w_k h) 0) as [| [r q] [|]] eqn:Hk; try discriminate; rewrite !andb_true_iff.
  intros [[[[Hrows Hq1] Hp] Hs] H]; destruct (nth r st VAny) as [| key | | | | | | | | |] eqn:Hr; try discriminate.
  destruct (sign_exponent tau h key beta) as [b |] eqn:Hb; [| discriminate].
  exists ts, c, key, b; split; [reflexivity |]; split; [exact Hb |]; split.
  - apply exp_bound_ok in H; rewrite Q2R_mult, Q2R_half in H; lra.
  - intros i j Hi Hj; unfold logit, score, Rdiv; apply Nat.eqb_eq in Hrows; rewrite Hrows.
    cbn [seq]; unfold sum; cbn [fold_right]; rewrite Rplus_0_r; f_equal; rewrite !row_at, Hk.
    unfold combination at 2; cbn [fold_right]; rewrite Rplus_0_r, (Q2R_eq _ _ Hq1), Q2R_1, Rmult_1_l.
    assert (Hj' := Hx j Hj r); rewrite Hr in Hj'; cbn [den] in Hj'; rewrite Hj'; f_equal.
    assert (Hd := mask_divisor_pos i Hi); assert (Hm := query_counts_ok _ ks s i Hi Hq).
    assert (He : agrees T i []) by (intros a a' []).
    assert (Hpr : multiples (counted i) (real_multiples ks) = Q2R beta * IZR (linear_value n T ts i))
      by (eapply proportional_ok; eauto).
    rewrite Hpr, (Q2R_eq _ _ Hs), Q2R_mult, Q2R_plus, Q2R_inject, Q2R_half in Hm.
    apply Rmult_eq_reg_r with (INR (divisor_value n (mask_divisor h) i)); [| lra].
    rewrite Hm, Rmult_assoc, Rinv_l, plus_IZR by lra; ring.
Qed.
Lemma half_away (t : Z) y : 0 <= y ->
  if (0 <=? t)%Z then y / 2 <= y * (IZR t + / 2) else y * (IZR t + / 2) <= - (y / 2).
Proof.
  intros Hy; destruct (0 <=? t)%Z eqn:H; [apply Z.leb_le in H | apply Z.leb_gt, Z.lt_le_pred in H]; apply IZR_le in H;
    [| unfold Z.pred in H; rewrite plus_IZR in H]; simpl in H; nra.
Qed.
(** a number at least 1 keeps the distance from 0 *)
Lemma half_away_scaled (b : bool) y d f : 0 <= d -> 1 <= f -> (if b then d <= y else y <= - d) ->
  if b then d <= y * f else y * f <= - d.
Proof. intros Hd Hf; destruct b; nra. Qed.
Lemma sign_exponent_cases key beta b : sign_exponent tau h key beta = Some b ->
  0 <= Q2R beta /\ alternates key = true /\
  ((power_of_i key = 0 /\ power_of_n key = 1 + power_of_n tau /\ power_of_i tau = 0 /\ Q2R b = Q2R beta)%Z
   \/ (power_of_i key = 0 /\ power_of_n key = power_of_n tau /\ power_of_i tau = -2 /\ head_mask h = Future
       /\ Q2R b = Q2R beta)%Z
   \/ ((power_of_i key = 2 /\ power_of_n key = power_of_n tau /\ power_of_i tau = 0)%Z /\ head_mask h = Future
       /\ 1 <= Q2R beta /\ Q2R b = 5 * Q2R beta / 6)).
Proof.
  unfold sign_exponent; cbv zeta; destruct (alternates key && Qle_bool 0 beta) eqn:H0; [| discriminate]; cbn [negb].
  apply andb_prop in H0 as [Ha H0]; apply Q2R_le in H0; rewrite Q2R_0 in H0; intros H; split; [exact H0 |].
  split; [exact Ha |]; destruct (_ && _ && _) eqn:H1 in H.
  { injection H as <-; rewrite !andb_true_iff, !Z.eqb_eq in H1; left; repeat split; try reflexivity; lia. }
  clear H1; destruct (head_mask h); try (rewrite !andb_false_r in H; discriminate); rewrite !andb_true_r in H; right.
  destruct (_ && _ && _) eqn:H1 in H.
  { injection H as <-; rewrite !andb_true_iff, !Z.eqb_eq in H1; left; repeat split; try reflexivity; lia. }
  clear H1; destruct (_ && _ && _ && _) eqn:H1 in H; [| discriminate]; injection H as <-.
  rewrite !andb_true_iff, !Z.eqb_eq in H1; destruct H1 as [H1 H2]; apply Q2R_le in H2; rewrite Q2R_1 in H2.
  right; repeat split; try lia; try exact H2; rewrite Q2R_mult; unfold Q2R at 2; simpl; field.
Qed.
(** The visible positions are more than one where the side has more than one. *)
Lemma visible_many i : (1 <= i <= n)%nat -> single n (mask_side h) i = false ->
  exists a c, visible (head_mask h) n i = positions a c /\ (1 <= a < c)%nat /\ (c <= n)%nat
    /\ (head_mask h = Future -> a = 1%nat /\ c = i).
Proof.
  intros Hi; unfold mask_side; destruct (head_mask h); cbn [single visible]; rewrite Nat.eqb_neq; intros H.
  - exists 1%nat, i; repeat split; lia.
  - exists i, n; repeat split; (lia || discriminate).
  - exists 1%nat, n; repeat split; (lia || discriminate).
Qed.
Lemma sign_ok k beta e i : (1 <= i <= n)%nat -> check_sign ns tau st h k beta e = true ->
  check_truth letters ns st h z (parity_known ns) = true -> den n ns T i (VSign (mask_side h) k e) (head_reads i).
Proof.
  intros Hi Hc Ht.
  assert (Hread : head_reads i = softmax_mean (visible (head_mask h) n i) (logit i) (fun j => b2R (Nat.even j))).
  { unfold head_reads; apply softmax_ext; [reflexivity |]; intros j Hj.
    apply (check_truth_key (parity_known ns) Nat.even j (visible_range i j Hi Hj)); [| exact Ht].
    intros m t; apply parity_at, (visible_range i j Hi Hj). }
  cbn [den]; rewrite Hread; split.
  { apply softmax_range; [apply visible_nonempty; exact Hi | intros j _; apply b2R_range]. }
  intros Hs; destruct (visible_many i Hi Hs) as [a [c [-> [Hac [Hcn Hfut]]]]].
  destruct (check_sign_parts k beta e Hc) as [ts [c0 [key [b [Hk [Hb [He Hl]]]]]]].
  unfold near; rewrite (HT k i), Hk; cbn [node_truth]; eapply Rle_trans; [| exact He].
  destruct (sign_exponent_cases key beta b Hb) as [H0 [Ha Hcases]].
  assert (Hn : INR n <> 0) by (apply not_0_INR; lia).
  assert (Hpn : powerRZ (INR n) (power_of_n tau) <> 0) by (apply powerRZ_NOR; exact Hn).
  assert (Hi1 := INR_pos i (proj1 Hi)).
  assert (Hd := mask_divisor_pos i Hi); assert (Hy := half_away (linear_value n T ts i + c0) (Q2R beta) H0).
  set (y := Q2R beta * (IZR (linear_value n T ts i + c0) + / 2)) in *.
  set (D := INR (divisor_value n (mask_divisor h) i)) in *.
  assert (Hl' : forall j, (a <= j <= c)%nat -> logit i j = y / D * monomial_value n j key / monomial_value n i tau)
    by (intros j Hj; apply Hl; lia).
  unfold monomial_value in Hl'; rewrite Ha, Htau in Hl'.
  destruct Hcases as [[Pi [Pn [Ti ->]]] | [[Pi [Pn [Ti [Hf ->]]]] | [[Pi [Pn Ti]] [Hf [H1 ->]]]]];
    rewrite Pi, Pn, Ti in Hl'.
  - apply (sign_constant _ _ _ (y * (INR n / D))); [lia | |].
    + intros j Hj; rewrite (Hl' j Hj), powerRZ_add by exact Hn; simpl powerRZ; field; repeat split; (assumption || lra).
    + apply half_away_scaled; [lra | | exact Hy].
      assert (HD : D <= INR n) by (apply le_INR; destruct (mask_divisor h); simpl; lia).
      apply Rmult_le_reg_r with D; [lra |]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - assert (HD : D = INR i) by (unfold D, mask_divisor; rewrite Hf; reflexivity).
    apply (sign_constant _ _ _ (y * INR i)); [lia | |].
    + intros j Hj; rewrite (Hl' j Hj), HD; simpl powerRZ; field; repeat split; (assumption || lra).
    + apply half_away_scaled; [lra | exact Hi1 | exact Hy].
  - assert (HD : D = INR i) by (unfold D, mask_divisor; rewrite Hf; reflexivity).
    destruct (Hfut Hf) as [-> ->]; apply (sign_square _ _ (y / INR i)); [lia | exact H1 | |].
    + intros j Hj; rewrite (Hl' j Hj), HD; simpl powerRZ; simpl pow; field; repeat split; (assumption || lra).
    + assert (Hinv : 0 < / INR i) by (apply Rinv_0_lt_compat; lra).
      replace (Q2R beta / (2 * INR i)) with (Q2R beta / 2 * / INR i) by (field; lra); unfold Rdiv at 1 3.
      destruct (0 <=? _)%Z; [apply Rmult_le_compat_r; lra |].
      unfold Rdiv in Hy |- *; nra.
Qed.

(** * Any purpose. *)
Lemma read_by_ok v i : (1 <= i <= n)%nat -> read_by letters ns tau st h z = Some v -> den n ns T i v (head_reads i).
Proof.
  intros Hi; unfold read_by; destruct (purpose_of z) as
    [k s beta e | k even s beta e | l | k | negative | k beta e | k node beta e | k beta e].
  - destruct (reach_operands (node_at ns k)) as [[a b] |] eqn:Ho; [| discriminate].
    destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [Hm Hc].
    exact (reach_ok k a b s beta e i Hi Hm Ho Hc).
  - destruct (node_at ns k) as [| | | | | | | a | a | | | |] eqn:Hk; try discriminate;
      (destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [Hm Hc]);
      rewrite <- Hk in Hm; apply (step_ok k a even s beta e i Hi Hm); auto.
  - destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [Hf Hc].
    exact (mean_ok l i Hi Hf Hc).
  - destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [H He];
      apply andb_prop in H as [Hf Hc].
    exact (reciprocal_ok k i Hi Hf He Hc).
  - destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [H Hr];
      apply andb_prop in H as [Hf Hm].
    apply mark_ok; [exact Hi | exact Hf | intros Hu; rewrite Hu in Hm; discriminate Hm | exact Hr].
  - destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [H Hr];
      apply andb_prop in H as [Hc He].
    exact (lookup_count_ok k beta e i Hi Hc He Hr).
  - destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [H Hr];
      apply andb_prop in H as [Hc He].
    exact (lookup_truth_ok k node beta e i Hi Hc He Hr).
  - destruct (_ && _) eqn:H; [| discriminate]; intros [= <-]; apply andb_prop in H as [Hc Ht].
    exact (sign_ok k beta e i Hi Hc Ht).
Qed.
End OneHead.
End Reading.

Section Correct.
Variables (N : network) (u : list symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool)
  (st : state) (x : nat -> vector).
Let n := length u.
Let w := symbol_at u.
Hypothesis HT : model n w ns T.
Hypothesis Hw : letters <> 0%nat -> forall i, (1 <= i <= n)%nat -> exists c, (c < letters)%nat /\ w i = letter c.
Hypothesis Hx : fits n ns T st x.
Lemma row_of_others (m : matrix) t k (y : vector) : forallb (fun '(r, _, _) => (r =? t)%nat) m = true -> k <> t ->
  times m y k = 0.
Proof.
  intros H Hk; unfold times; induction m as [| [[r c] q] m IH]; simpl in *; [reflexivity |].
  apply andb_prop in H as [Hr H]; apply Nat.eqb_eq in Hr; subst r; rewrite (IH H).
  replace (t =? k)%nat with false by (symmetry; apply Nat.eqb_neq; congruence); ring.
Qed.
Lemma check_head_ok h z k v i : (1 <= i <= n)%nat -> check_head letters ns (temperature N) st h z = Some (k, v) ->
  (forall k', k' <> k -> attention N u x h i k' = 0) /\ den n ns T i v (attention N u x h i k).
Proof.
  intros Hi; unfold check_head; destruct (_ && _) eqn:H; [| discriminate]; apply andb_prop in H as [Hrow Htau].
  apply negb_true_iff in Htau; destruct (read_by letters ns (temperature N) st h z) as [v' |] eqn:Hr; [| discriminate].
  intros [= <- <-]; split.
  - intros k' Hk; unfold attention; apply softmax_zero; intros j _; exact (row_of_others _ _ _ _ Hrow Hk).
  - replace (attention N u x h i (target z)) with (head_reads n x (temperature N) h z i).
    + eapply read_by_ok; eauto.
    + unfold attention, head_reads; apply softmax_ext; [reflexivity |]; intros j _; unfold read, values_row.
      symmetry; apply row_at.
Qed.
End Correct.
