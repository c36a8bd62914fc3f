(** Softmax over finite sets of positions: what a head reads if one position wins, if all positions have the same
    weight, and how large the error is. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith QArith Qreals.
Require Import Definitions Nodes.
Import ListNotations.
Local Open Scope R_scope.

Definition b2R (b : bool) : R := if b then 1 else 0.
Lemma b2R_range b : 0 <= b2R b <= 1.
Proof. destruct b; unfold b2R; lra. Qed.
Lemma some_true a b P : some a b P = true <-> exists j, (a <= j <= b)%nat /\ P j = true.
Proof. unfold some. rewrite existsb_exists. split; intros (j & Hj & H); exists j; rewrite in_positions in *; auto. Qed.
Lemma every_true a b P : every a b P = true <-> forall j, (a <= j <= b)%nat -> P j = true.
Proof. unfold every. rewrite forallb_forall. split; intros H j Hj; apply H; apply in_positions; auto. Qed.

(** * Sums over lists, over a range read backwards, and over a range around one of its positions. *)
Lemma sum_cons a L f : sum (a :: L) f = f a + sum L f.
Proof. reflexivity. Qed.
Lemma sum_nil f : sum [] f = 0.
Proof. reflexivity. Qed.
Lemma sum_app L M f : sum (L ++ M) f = sum L f + sum M f.
Proof. induction L as [|a L IH]; cbn [app]; [rewrite !sum_nil; ring|]. rewrite !sum_cons, IH. ring. Qed.
Lemma sum_ext L f g : (forall j, In j L -> f j = g j) -> sum L f = sum L g.
Proof.
  induction L as [|a L IH]; intros H; [reflexivity|].
  rewrite !sum_cons, (H a), IH by (intros; try apply H; cbn; auto). reflexivity.
Qed.
Lemma sum_le L f g : (forall j, In j L -> f j <= g j) -> sum L f <= sum L g.
Proof.
  induction L as [|a L IH]; intros H; [apply Rle_refl|]. rewrite !sum_cons.
  apply Rplus_le_compat; [apply H; left; auto|apply IH; intros; apply H; right; auto].
Qed.
Lemma sum_scal L c f : sum L (fun j => c * f j) = c * sum L f.
Proof. induction L as [|a L IH]; [rewrite !sum_nil; ring|]. rewrite !sum_cons, IH. ring. Qed.
Lemma sum_plus L f g : sum L (fun j => f j + g j) = sum L f + sum L g.
Proof. induction L as [|a L IH]; [rewrite !sum_nil; ring|]. rewrite !sum_cons, IH. ring. Qed.
Lemma sum_zero L f : (forall j, In j L -> f j = 0) -> sum L f = 0.
Proof.
  intros H. rewrite (sum_ext L f (fun j => 0 * f j)) by (intros; rewrite H by auto; lra). rewrite sum_scal; lra.
Qed.
Lemma sum_nonneg L f : (forall j, In j L -> 0 <= f j) -> 0 <= sum L f.
Proof. intros H. rewrite <- (sum_zero L (fun _ => 0)) by auto. apply sum_le; auto. Qed.
Lemma sum_abs L f : Rabs (sum L f) <= sum L (fun j => Rabs (f j)).
Proof.
  induction L as [|a L IH]; [rewrite !sum_nil, Rabs_R0; lra|]. rewrite !sum_cons.
  pose proof (Rabs_triang (f a) (sum L f)). lra.
Qed.
Lemma sum_S a k f : sum (seq a (S k)) f = sum (seq a k) f + f (a + k)%nat.
Proof. rewrite seq_S, sum_app, sum_cons, sum_nil. lra. Qed.
Lemma sum_shift a b k f : sum (seq (a + b) k) f = sum (seq b k) (fun j => f (a + j)%nat).
Proof. induction k as [|k IH]; [reflexivity|]. rewrite !sum_S, IH, Nat.add_assoc. reflexivity. Qed.
Lemma sum_rev a k f : sum (seq a k) f = sum (seq 1 k) (fun d => f (a + k - d)%nat).
Proof.
  revert a. induction k as [|k IH]; intros a; [reflexivity|].
  rewrite sum_S. cbn [seq]. rewrite sum_cons, IH, (sum_shift 1 1). replace (a + S k - 1)%nat with (a + k)%nat by lia.
  rewrite Rplus_comm. f_equal. apply sum_ext. intros j _. f_equal. lia.
Qed.
Lemma sum_around f w i : (1 <= w <= i)%nat -> sum (positions 1 i) f =
  sum (seq 1 (w - 1)) (fun d => f (w - d)%nat) + f w + sum (seq 1 (i - w)) (fun d => f (w + d)%nat).
Proof.
  intros H. unfold positions. replace (i + 1 - 1)%nat with ((w - 1) + (1 + (i - w)))%nat by lia.
  rewrite seq_app, sum_app, sum_rev. replace (1 + (w - 1))%nat with w by lia.
  cbn [Nat.add seq]. rewrite sum_cons. rewrite <- (sum_shift w 1). replace (w + 1)%nat with (S w) by lia. lra.
Qed.
(** * Rational bounds of e^-b: e^b is at least a partial sum of its series. *)
Fixpoint series (b term total : Q) (k steps : nat) : Q :=   (* total + term + term b/(k+1) + ... *)
  match steps with
  | O => total
  | S steps => series b (Qred (term * b / inject_Z (Z.of_nat (S k)))) (Qred (total + term)) (S k) steps
  end.
Definition exp_below (b : Q) : Q := series b 1 0 0 40.
Definition exp_bound (b e : Q) : bool := Qle_bool 0 b && Qle_bool 1 (e * exp_below b).
Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.
Lemma Q2R_0 : Q2R 0 = 0.
Proof. unfold Q2R; cbn; lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R; cbn; lra. Qed.
Lemma Q2R_nat k : Q2R (inject_Z (Z.of_nat k)) = INR k.
Proof. unfold Q2R; cbn [inject_Z Qnum Qden]. rewrite INR_IZR_INZ. lra. Qed.
(** the terms of the series of e^x *)
Definition exp_term (x : R) (k : nat) : R := / INR (fact k) * x ^ k.
Lemma exp_term_S x k : exp_term x (S k) = exp_term x k * x / INR (S k).
Proof.
  unfold exp_term. rewrite fact_simpl, mult_INR. cbn [pow]. pose proof (INR_fact_neq_0 k).
  assert (INR (S k) <> 0) by (apply not_0_INR; lia). field; auto.
Qed.
Lemma series_ok b : forall steps term total k, Q2R term = exp_term (Q2R b) k ->
  Q2R total = sum (seq 0 k) (exp_term (Q2R b)) ->
  Q2R (series b term total k steps) = sum (seq 0 (k + steps)) (exp_term (Q2R b)).
Proof.
  induction steps as [|steps IH]; intros term total k Hterm Htotal; cbn [series].
  - rewrite Nat.add_0_r. exact Htotal.
  - replace (k + S steps)%nat with (S k + steps)%nat by lia. apply IH; rewrite Q2R_red.
    + assert (Hk : ~ (inject_Z (Z.of_nat (S k)) == 0)%Q) by (unfold Qeq; cbn [inject_Z Qnum Qden]; lia).
      rewrite Q2R_div, Q2R_mult, Q2R_nat, exp_term_S, Hterm by exact Hk. reflexivity.
    + rewrite Q2R_plus, sum_S, Htotal, Hterm. reflexivity.
Qed.
Lemma partial_sum_exp x k : 0 <= x -> sum (seq 0 (S k)) (exp_term x) <= exp x.
Proof.
  intros Hx. assert (E : sum (seq 0 (S k)) (exp_term x) = sum_f_R0 (exp_term x) k).
  { induction k as [|k IH]; [cbn; lra|]. rewrite sum_S, IH. reflexivity. }
  rewrite E. apply sum_incr.
  - unfold exp. exact (proj2_sig (exist_exp x)).
  - intros j. unfold exp_term. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, INR_fact_lt_0|apply pow_le; auto].
Qed.
Lemma exp_below_ok b : 0 <= Q2R b -> 1 <= Q2R (exp_below b) <= exp (Q2R b).
Proof.
  intros Hb. unfold exp_below. rewrite series_ok.
  - split; [|exact (partial_sum_exp (Q2R b) 39 Hb)]. cbn [Nat.add seq]. rewrite sum_cons.
    match goal with |- _ <= _ + sum ?L _ => assert (0 <= sum L (exp_term (Q2R b))) end.
    { apply sum_nonneg. intros j _. unfold exp_term.
      apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, INR_fact_lt_0|apply pow_le; auto]. }
    unfold exp_term at 1. cbn [fact pow INR]. lra.
  - unfold exp_term. cbn [fact pow INR]. rewrite Q2R_1. lra.
  - rewrite Q2R_0. reflexivity.
Qed.
Lemma exp_bound_ok b e : exp_bound b e = true -> exp (- Q2R b) <= Q2R e.
Proof.
  unfold exp_bound. rewrite andb_true_iff. intros [Hb He].
  apply Qle_bool_iff, Qle_Rle in Hb. apply Qle_bool_iff, Qle_Rle in He. rewrite Q2R_0 in Hb.
  rewrite Q2R_1, Q2R_mult in He.
  pose proof (exp_below_ok b Hb) as [Hy1 Hy]. assert (Pe : 0 <= Q2R e) by nra.
  rewrite exp_Ropp. pose proof (exp_pos (Q2R b)) as P. apply Rmult_le_reg_r with (exp (Q2R b)); [exact P|].
  rewrite Rinv_l by lra.
  assert (Q2R e * Q2R (exp_below b) <= Q2R e * exp (Q2R b)) by (apply Rmult_le_compat_l; auto). lra.
Qed.

(** * Softmax. *)
Lemma weights_pos L l : L <> [] -> 0 < sum L (fun j => exp (l j)).
Proof.
  destruct L as [|a L]; [congruence|]. intros _. rewrite sum_cons. pose proof (exp_pos (l a)).
  assert (0 <= sum L (fun j => exp (l j))) by (apply sum_nonneg; intros; left; apply exp_pos). lra.
Qed.
Lemma softmax_nil l v : softmax_mean [] l v = 0.
Proof. unfold softmax_mean. rewrite !sum_nil. lra. Qed.
Lemma softmax_ext L l l' v v' : (forall j, In j L -> l j = l' j) -> (forall j, In j L -> v j = v' j) ->
  softmax_mean L l v = softmax_mean L l' v'.
Proof.
  intros Hl Hv. unfold softmax_mean. f_equal;
    apply sum_ext; intros j Hj; rewrite (Hl j Hj); [rewrite (Hv j Hj)|]; reflexivity.
Qed.
Lemma softmax_shift L l v c : softmax_mean L (fun j => l j + c) v = softmax_mean L l v.
Proof.
  destruct L as [|a L']; [rewrite !softmax_nil; reflexivity|]. set (L := a :: L').
  assert (P : 0 < sum L (fun j => exp (l j))) by (apply weights_pos; discriminate). pose proof (exp_pos c) as Pc.
  unfold softmax_mean. rewrite (sum_ext L (fun j => exp (l j + c) * v j) (fun j => exp c * (exp (l j) * v j))).
  2:{ intros j _. rewrite exp_plus. ring. }
  rewrite (sum_ext L (fun j => exp (l j + c)) (fun j => exp c * exp (l j))) by (intros j _; rewrite exp_plus; ring).
  rewrite !sum_scal. field. split; lra.
Qed.
Lemma softmax_zero L l v : (forall j, In j L -> v j = 0) -> softmax_mean L l v = 0.
Proof.
  intros H. unfold softmax_mean. rewrite (sum_zero L (fun j => exp (l j) * v j)); [lra|].
  intros j Hj. rewrite (H j Hj). lra.
Qed.
Lemma softmax_range L l v a b : L <> [] -> (forall j, In j L -> a <= v j <= b) -> a <= softmax_mean L l v <= b.
Proof.
  intros HL Hv. pose proof (weights_pos L l HL) as P. unfold softmax_mean.
  set (A := sum L (fun j => exp (l j))) in *. set (B := sum L (fun j => exp (l j) * v j)).
  assert (HB : B = B / A * A) by (field; lra).
  assert (a * A <= B) by (unfold A; rewrite <- sum_scal; apply sum_le; intros j Hj; specialize (Hv j Hj);
    pose proof (exp_pos (l j)); nra).
  assert (B <= b * A) by (unfold A; rewrite <- sum_scal; apply sum_le; intros j Hj; specialize (Hv j Hj);
    pose proof (exp_pos (l j)); nra).
  split; apply Rmult_le_reg_r with A; lra.
Qed.
Lemma sum_const L c : sum L (fun _ => c) = c * INR (length L).
Proof.
  induction L as [|a L IH]; [rewrite sum_nil; cbn [length INR]; ring|].
  rewrite sum_cons, IH. cbn [length]. rewrite S_INR. ring.
Qed.
Lemma softmax_uniform L l v c : (forall j, In j L -> l j = c) -> softmax_mean L l v = sum L v / INR (length L).
Proof.
  intros H. rewrite (softmax_ext L l (fun j => 0 + c) v v) by (intros; try rewrite H; auto; lra).
  rewrite softmax_shift. unfold softmax_mean. rewrite exp_0, sum_const, Rmult_1_l. f_equal.
  apply sum_ext. intros; ring.
Qed.
(** all weights equal, values 0 and 1 *)
Lemma length_positions a b : length (positions a b) = (b + 1 - a)%nat.
Proof. apply seq_length. Qed.
Lemma sum_b2R L P : sum L (fun j => b2R (P j)) = INR (length (filter P L)).
Proof.
  induction L as [|a L IH]; [reflexivity|]. rewrite sum_cons, IH. cbn [filter].
  destruct (P a); cbn [b2R length]; [rewrite S_INR|]; ring.
Qed.
Lemma uniform_count a b l c (P : nat -> bool) : (forall j, In j (positions a b) -> l j = c) ->
  softmax_mean (positions a b) l (fun j => b2R (P j)) = IZR (number a b P) / INR (b + 1 - a).
Proof.
  intros H. rewrite (softmax_uniform _ _ _ c H), length_positions, sum_b2R. unfold number.
  rewrite <- INR_IZR_INZ. reflexivity.
Qed.
(** all weights equal, values (-1)^j *)
Lemma alternating_seq k : forall a, sum (seq a k) (fun j => (-1) ^ j) = if Nat.even k then 0 else (-1) ^ a.
Proof.
  induction k as [|k IH]; intros a; [reflexivity|]. cbn [seq]. rewrite sum_cons, IH, Nat.even_succ, <- Nat.negb_even.
  destruct (Nat.even k); cbn [negb pow]; ring.
Qed.
Lemma alternating a b l c : (a <= b)%nat -> (forall j, In j (positions a b) -> l j = c) ->
  let x := softmax_mean (positions a b) l (fun j => (-1) ^ j) in
  if (a =? b)%nat then x = (-1) ^ a else -1 / 3 <= x <= 1 / 3.
Proof.
  intros Hab H x. subst x. rewrite (softmax_uniform _ _ _ c H), length_positions. unfold positions.
  set (k := (b + 1 - a)%nat). rewrite alternating_seq. destruct (Nat.eqb_spec a b) as [E|E].
  - replace k with 1%nat by (unfold k; lia). cbn [Nat.even INR]. field.
  - destruct (Nat.even k) eqn:Ek; [unfold Rdiv; rewrite Rmult_0_l; lra|].
    assert (K2 : k <> 2%nat) by (intros K; rewrite K in Ek; discriminate).
    assert (K3 : 3 <= INR k) by (replace 3 with (INR 3) by (cbn [INR]; lra); apply le_INR; unfold k in *; lia).
    assert (0 < / INR k <= / 3) by (split; [apply Rinv_0_lt_compat|apply Rinv_le_contravar]; lra).
    assert (-1 <= (-1) ^ a <= 1) 
      by (pose proof (pow_1_abs a) as A; unfold Rabs in A; destruct (Rcase_abs _); lra).
    unfold Rdiv. nra.
Qed.
Lemma alternating_before i l c : (1 <= i)%nat -> (forall j, In j (positions 1 i) -> l j = c) ->
  let x := softmax_mean (positions 1 i) l (fun j => (-1) ^ j) in
  if (i =? 1)%nat then x = (-1) ^ i else -1 / 3 <= x <= 1 / 3.
Proof.
  intros Hi H. pose proof (alternating 1 i l c Hi H) as A. rewrite Nat.eqb_sym in A.
  destruct (Nat.eqb_spec i 1) as [->|E]; exact A.
Qed.
Lemma alternating_after i n l c : (1 <= i <= n)%nat -> (forall j, In j (positions i n) -> l j = c) ->
  let x := softmax_mean (positions i n) l (fun j => (-1) ^ j) in
  if (i =? n)%nat then x = (-1) ^ i else -1 / 3 <= x <= 1 / 3.
Proof. intros Hi H. exact (alternating i n l c ltac:(lia) H). Qed.

(** * Weights relative to a position w: [e j] = exp (l j - l w). *)
Lemma relative_weights_ge1 L l w : In w L -> 1 <= sum L (fun j => exp (l j - l w)).
Proof.
  intros H. destruct (in_split w L H) as (A & B & ->). rewrite sum_app, sum_cons.
  replace (l w - l w) with 0 by lra. rewrite exp_0.
  assert (forall M, 0 <= sum M (fun j => exp (l j - l w))) as P
    by (intros; apply sum_nonneg; intros; left; apply exp_pos).
  pose proof (P A). pose proof (P B). lra.
Qed.
Lemma softmax_error L l v w c : In w L -> softmax_mean L l v - c =
  sum L (fun j => exp (l j - l w) * (v j - c)) / sum L (fun j => exp (l j - l w)).
Proof.
  intros H. rewrite <- (softmax_shift L l v (- l w)). pose proof (relative_weights_ge1 L l w H) as P.
  change (fun j => l j + - l w) with (fun j => l j - l w). unfold softmax_mean.
  rewrite (sum_ext L (fun j => exp (l j - l w) * (v j - c)) (fun j => exp (l j - l w) * v j + - c * exp (l j - l w)))
    by (intros; ring).
  rewrite sum_plus, sum_scal. field. lra.
Qed.
(** for values in [0, 1], the error is at most the weight of the other positions *)
Lemma softmax_error_le L l v w : In w L -> (forall j, In j L -> 0 <= v j <= 1) ->
  let S := sum L (fun j => exp (l j - l w)) in Rabs (softmax_mean L l v - v w) <= (S - 1) / S.
Proof.
  intros H Hv S. pose proof (relative_weights_ge1 L l w H) as P. fold S in P.
  rewrite (softmax_error L l v w (v w) H). fold S. unfold Rdiv. rewrite Rabs_mult.
  assert (PI : 0 < / S) by (apply Rinv_0_lt_compat; lra). rewrite (Rabs_right (/ S)) by lra.
  apply Rmult_le_compat_r; [lra|].
  apply Rle_trans with (sum L (fun j => Rabs (exp (l j - l w) * (v j - v w)))); [apply sum_abs|].
  assert (B : forall M, (forall j, In j M -> In j L) ->
    sum M (fun j => Rabs (exp (l j - l w) * (v j - v w))) <= sum M (fun j => exp (l j - l w))).
  { intros M HM. apply sum_le. intros j Hj. pose proof (exp_pos (l j - l w)). rewrite Rabs_mult, Rabs_right by lra.
    pose proof (Hv j (HM j Hj)). pose proof (Hv w H). assert (Rabs (v j - v w) <= 1) by (apply Rabs_le; lra). nra. }
  destruct (in_split w L H) as (L1 & L2 & EL). unfold S. rewrite EL, !sum_app, !sum_cons.
  replace (l w - l w) with 0 by lra. replace (v w - v w) with 0 by lra. rewrite Rmult_0_r, Rabs_R0, exp_0.
  assert (sum L1 (fun j => Rabs (exp (l j - l w) * (v j - v w))) <= sum L1 (fun j => exp (l j - l w)))
    by (apply B; intros j Hj; rewrite EL; apply in_or_app; auto).
  assert (sum L2 (fun j => Rabs (exp (l j - l w) * (v j - v w))) <= sum L2 (fun j => exp (l j - l w)))
    by (apply B; intros j Hj; rewrite EL; apply in_or_app; cbn; auto).
  lra.
Qed.

(** * Geometric sums of x = e^-g, for g > 0. *)
Lemma exp_pow g k : exp (- (g * INR k)) = exp (- g) ^ k.
Proof.
  induction k as [|k IH]; [cbn [INR pow]; rewrite Rmult_0_r, Ropp_0; apply exp_0|].
  rewrite S_INR. replace (- (g * (INR k + 1))) with (- g + - (g * INR k)) by lra. rewrite exp_plus, IH. reflexivity.
Qed.
Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [H|H]; [left; apply exp_increasing; exact H|subst; lra]. Qed.
Lemma exp_neg_range g : 0 < g -> 0 < exp (- g) < 1.
Proof. intros H. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. lra. Qed.
Lemma weight_le g k a b : a - b >= g * INR k -> exp (b - a) <= exp (- g) ^ k.
Proof. intros H. rewrite <- exp_pow. apply exp_le. lra. Qed.
Lemma geometric x k : sum (seq 1 k) (fun d => x ^ d) * (1 - x) = x * (1 - x ^ k).
Proof.
  induction k as [|k IH]; [rewrite sum_nil; cbn [pow]; ring|].
  rewrite sum_S, Rmult_plus_distr_r, IH. cbn [Nat.add pow]. ring.
Qed.
Lemma geometric_le x k : 0 < x < 1 -> sum (seq 1 k) (fun d => x ^ d) <= x / (1 - x).
Proof.
  intros Hx. apply Rmult_le_reg_r with (1 - x); [lra|]. rewrite geometric.
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  assert (0 < x ^ k) by (apply pow_lt; lra). nra.
Qed.
Lemma geometric_mean x k : sum (seq 1 k) (fun d => INR d * x ^ d) * ((1 - x) * (1 - x)) =
  x * (1 - x ^ k - INR k * (1 - x) * x ^ k).
Proof.
  induction k as [|k IH]; [rewrite sum_nil; cbn [pow INR]; ring|].
  rewrite sum_S, Rmult_plus_distr_r, IH. cbn [Nat.add pow]. rewrite S_INR. ring.
Qed.
Lemma geometric_mean_le x k : 0 < x < 1 -> 0 <= sum (seq 1 k) (fun d => INR d * x ^ d) <= x / ((1 - x) * (1 - x)).
Proof.
  intros Hx. split.
  - apply sum_nonneg. intros d _. apply Rmult_le_pos; [apply pos_INR|apply pow_le; lra].
  - assert (P : 0 < (1 - x) * (1 - x)) by nra. apply Rmult_le_reg_r with ((1 - x) * (1 - x)); [exact P|].
    rewrite geometric_mean. replace (x / ((1 - x) * (1 - x)) * ((1 - x) * (1 - x))) with (x * 1) by (field; lra).
    apply Rmult_le_compat_l; [lra|].
    assert (0 < x ^ k) by (apply pow_lt; lra).
    assert (0 <= INR k * (1 - x) * x ^ k) by (repeat apply Rmult_le_pos; [apply pos_INR|lra|lra]). lra.
Qed.

(** * One position wins. [g] is the gap in nats per position. *)
Lemma nearest_before l v g w i : 0 < g -> (1 <= w <= i)%nat ->
  (forall j, (1 <= j < w)%nat -> l w - l j >= g * INR (w - j)) ->
  (forall j, (w < j <= i)%nat -> l w - l j >= g * INR (j - 1)) ->
  (forall j, (1 <= j <= i)%nat -> 0 <= v j <= 1) ->
  Rabs (softmax_mean (positions 1 i) l v - v w) <= exp (- g).
Proof.
  intros Hg Hw Hleft Hright Hv. set (x := exp (- g)). assert (Hx : 0 < x < 1) by (apply exp_neg_range, Hg).
  assert (Hin : In w (positions 1 i)) by (apply in_positions; exact Hw).
  assert (Hv' : forall j, In j (positions 1 i) -> 0 <= v j <= 1) by (intros j Hj; apply Hv, in_positions, Hj).
  pose proof (relative_weights_ge1 _ l w Hin) as P. eapply Rle_trans; [exact (softmax_error_le _ l v w Hin Hv')|].
  set (S := sum (positions 1 i) (fun j => exp (l j - l w))) in *.
  assert (ES : S * (1 - x) <= 1).
  { unfold S. rewrite (sum_around _ w i Hw). replace (l w - l w) with 0 by lra. rewrite exp_0.
    assert (A : sum (seq 1 (w - 1)) (fun d => exp (l (w - d)%nat - l w)) <= sum (seq 1 (w - 1)) (fun d => x ^ d)).
    { apply sum_le. intros d Hd. apply in_seq in Hd. apply weight_le. pose proof (Hleft (w - d)%nat ltac:(lia)) as G.
      replace (w - (w - d))%nat with d in G by lia. exact G. }
    assert (B : sum (seq 1 (i - w)) (fun d => exp (l (w + d)%nat - l w)) <=
      x ^ (w - 1) * sum (seq 1 (i - w)) (fun d => x ^ d)).
    { rewrite <- sum_scal. apply sum_le. intros d Hd. apply in_seq in Hd. rewrite <- pow_add. apply weight_le.
      pose proof (Hright (w + d)%nat ltac:(lia)) as G. replace (w - 1 + d)%nat with (w + d - 1)%nat by lia. exact G. }
    pose proof (geometric x (w - 1)) as GA. pose proof (geometric x (i - w)) as GB.
    assert (0 < x ^ (i - w)) by (apply pow_lt; lra). assert (0 < x ^ (w - 1)) by (apply pow_lt; lra).
    set (GL := sum (seq 1 (w - 1)) (fun d => x ^ d)) in *. set (GR := sum (seq 1 (i - w)) (fun d => x ^ d)) in *.
    apply Rle_trans with ((GL + 1 + x ^ (w - 1) * GR) * (1 - x)); [apply Rmult_le_compat_r; lra|].
    replace ((GL + 1 + x ^ (w - 1) * GR) * (1 - x)) with
      (GL * (1 - x) + (1 - x) + x ^ (w - 1) * (GR * (1 - x))) by ring.
    rewrite GA, GB. assert (0 < x * x ^ (w - 1) * x ^ (i - w)) by (repeat apply Rmult_lt_0_compat; lra). lra. }
  apply Rmult_le_reg_r with S; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Lemma softmax_reverse l v i n : softmax_mean (positions i n) l v =
  softmax_mean (positions 1 (n + 1 - i)) (fun j => l (n + 1 - j)%nat) (fun j => v (n + 1 - j)%nat).
Proof.
  unfold softmax_mean, positions. rewrite Nat.add_sub.
  assert (R : forall f, sum (seq i (n + 1 - i)) f = sum (seq 1 (n + 1 - i)) (fun j => f (n + 1 - j)%nat)).
  { intros f. rewrite sum_rev. apply sum_ext. intros j Hj. apply in_seq in Hj. f_equal. lia. }
  rewrite !R. reflexivity.
Qed.
Lemma nearest_after l v g w i n : 0 < g -> (i <= w <= n)%nat -> (1 <= i)%nat ->
  (forall j, (w < j <= n)%nat -> l w - l j >= g * INR (j - w)) ->
  (forall j, (i <= j < w)%nat -> l w - l j >= g * INR (n - j)) ->
  (forall j, (i <= j <= n)%nat -> 0 <= v j <= 1) ->
  Rabs (softmax_mean (positions i n) l v - v w) <= exp (- g).
Proof.
  intros Hg Hw Hi Hright Hleft Hv. rewrite softmax_reverse.
  replace w with (n + 1 - (n + 1 - w))%nat by lia.
  apply (nearest_before (fun j => l (n + 1 - j)%nat) (fun j => v (n + 1 - j)%nat));
    [exact Hg|lia| | |intros; apply Hv; lia];
    intros j Hj; replace (n + 1 - (n + 1 - w))%nat with w by lia.
  - pose proof (Hright (n + 1 - j)%nat ltac:(lia)) as G.
    replace (n + 1 - j - w)%nat with (n + 1 - w - j)%nat in G by lia. exact G.
  - pose proof (Hleft (n + 1 - j)%nat ltac:(lia)) as G.
    replace (n - (n + 1 - j))%nat with (j - 1)%nat in G by lia. exact G.
Qed.
(** * The logits of the four regimes: [q] selects positions, and among the selected ones the nearest to the query wins.
    Regimes temperature and position: beta (n q + j/2), or - j/2 to look forwards; causal-temperature:
    beta i^2 (q - 1/(2 j)); causal-position: beta (i q + j/2). *)
Inductive scale := ByLength | BySquare | ByPosition.
Definition logit_before (s : scale) (n i j : nat) (q : bool) : R :=
  match s with
  | ByLength => INR n * b2R q + INR j / 2
  | BySquare => INR i * INR i * (b2R q - / (2 * INR j))
  | ByPosition => INR i * b2R q + INR j / 2 end.
(** a selected position is ahead of every earlier one, selected or not, by half the distance *)
Lemma gap_earlier s n i w j q : (1 <= j < w)%nat -> (w <= i <= n)%nat ->
  (INR w - INR j) / 2 <= logit_before s n i w true - logit_before s n i j q.
Proof.
  intros Hj Hw. pose proof (b2R_range q) as Hq. pose proof (pos_INR n). pose proof (pos_INR i).
  assert (1 <= INR j) by (apply (le_INR 1); lia). assert (INR j < INR w) by (apply lt_INR; lia).
  assert (INR w <= INR i) by (apply le_INR; lia). destruct s; cbn [logit_before b2R]; [nra| |nra].
  assert (K : / (2 * INR j) - / (2 * INR w) = (INR w - INR j) / 2 * / (INR j * INR w)) by (field; lra).
  assert (P : 0 < INR j * INR w) by nra.
  assert (L : 1 <= INR i * INR i * / (INR j * INR w))
    by (apply Rmult_le_reg_r with (INR j * INR w); [exact P|]; rewrite Rmult_assoc, Rinv_l by lra; nra).
  assert (M : (INR w - INR j) / 2 <= INR i * INR i * (/ (2 * INR j) - / (2 * INR w))) by (rewrite K; nra).
  assert (0 <= INR i * INR i * (1 - b2R q)) by (apply Rmult_le_pos; nra). lra.
Qed.
(** ... and of every later one that is not selected by half the distance from the start *)
Lemma gap_later s n i w j : (1 <= w < j)%nat -> (j <= i <= n)%nat ->
  (INR j - 1) / 2 <= logit_before s n i w true - logit_before s n i j false.
Proof.
  intros Hw Hj. assert (1 <= INR w) by (apply (le_INR 1); lia). assert (INR w < INR j) by (apply lt_INR; lia).
  assert (INR j <= INR i) by (apply le_INR; lia). assert (INR i <= INR n) by (apply le_INR; lia).
  destruct s; cbn [logit_before b2R]; [lra| |lra].
  assert (0 < / (2 * INR j)) by (apply Rinv_0_lt_compat; lra).
  assert (/ (2 * INR w) <= / (2 * 1)) by (apply Rinv_le_contravar; lra).
  assert (INR i * INR i * (1 / 2) <= INR i * INR i * (1 - / (2 * INR w) - (0 - / (2 * INR j))))
    by (apply Rmult_le_compat_l; [nra|lra]). nra.
Qed.
Lemma rightmost s (q : nat -> bool) l v beta c n i w :
  0 < beta -> (1 <= i <= n)%nat -> (1 <= w <= i)%nat -> q w = true ->
  (forall j, (w < j <= i)%nat -> q j = false) ->
  (forall j, (1 <= j <= i)%nat -> l j = beta * logit_before s n i j (q j) + c) ->
  (forall j, (1 <= j <= i)%nat -> 0 <= v j <= 1) ->
  Rabs (softmax_mean (positions 1 i) l v - v w) <= exp (- (beta / 2)).
Proof.
  intros Hbeta Hi Hw Hq Hlater Hl Hv. apply nearest_before; [lra|exact Hw| | |exact Hv]; intros j Hj;
    rewrite !Hl, Hq by lia; rewrite minus_INR by lia; cbn [INR].
  - pose proof (gap_earlier s n i w j (q j) Hj ltac:(lia)). nra.
  - rewrite (Hlater j Hj). pose proof (gap_later s n i w j ltac:(lia) ltac:(lia)). nra.
Qed.
Lemma leftmost (q : nat -> bool) l v beta c n i w :
  0 < beta -> (1 <= i <= n)%nat -> (i <= w <= n)%nat -> q w = true ->
  (forall j, (i <= j < w)%nat -> q j = false) ->
  (forall j, (i <= j <= n)%nat -> l j = beta * (INR n * b2R (q j) - INR j / 2) + c) ->
  (forall j, (i <= j <= n)%nat -> 0 <= v j <= 1) ->
  Rabs (softmax_mean (positions i n) l v - v w) <= exp (- (beta / 2)).
Proof.
  intros Hbeta Hi Hw Hq Hearlier Hl Hv. assert (INR w <= INR n) by (apply le_INR; lia). pose proof (pos_INR n).
  apply nearest_after; [lra|exact Hw|lia| | |exact Hv]; intros j Hj; rewrite !Hl, Hq by lia; rewrite minus_INR by lia.
  - pose proof (b2R_range (q j)) as Hr.
    assert ((INR j - INR w) / 2 <= INR n * b2R true - INR w / 2 - (INR n * b2R (q j) - INR j / 2))
      by (cbn [b2R]; nra). nra.
  - rewrite (Hearlier j Hj). pose proof (pos_INR j).
    assert ((INR n - INR j) / 2 <= INR n * b2R true - INR w / 2 - (INR n * b2R false - INR j / 2))
      by (cbn [b2R]; lra). nra.
Qed.
(** the last and the first selected position, if there is one *)
Lemma last_selected (q : nat -> bool) i :
  (exists w, (1 <= w <= i)%nat /\ q w = true /\ forall j, (w < j <= i)%nat -> q j = false) \/
  (forall j, (1 <= j <= i)%nat -> q j = false).
Proof.
  induction i as [|i IH]; [right; intros; lia|]. destruct (q (S i)) eqn:E.
  - left. exists (S i). repeat split; auto; intros; lia.
  - destruct IH as [(w & Hw & Hq & Hlater)|Hnone]; [left; exists w; repeat split; auto; try lia|right];
      intros j Hj; (destruct (Nat.eq_dec j (S i)) as [->|]; [exact E|]); [apply Hlater|apply Hnone]; lia.
Qed.
Lemma first_selected (q : nat -> bool) i n : (1 <= i <= n)%nat ->
  (exists w, (i <= w <= n)%nat /\ q w = true /\ forall j, (i <= j < w)%nat -> q j = false) \/
  (forall j, (i <= j <= n)%nat -> q j = false).
Proof.
  intros Hi. destruct (last_selected (fun j => q (n + 1 - j)%nat) (n + 1 - i)) as [(w & Hw & Hq & Hlater)|Hnone].
  - left. exists (n + 1 - w)%nat. split; [lia|]. split; [exact Hq|]. intros j Hj.
    specialize (Hlater (n + 1 - j)%nat ltac:(lia)). cbv beta in Hlater.
    replace (n + 1 - (n + 1 - j))%nat with j in Hlater by lia. exact Hlater.
  - right. intros j Hj. specialize (Hnone (n + 1 - j)%nat ltac:(lia)). cbv beta in Hnone.
    replace (n + 1 - (n + 1 - j))%nat with j in Hnone by lia. exact Hnone.
Qed.
(** (not a) or b decides: where it fails a holds and b does not, and where it holds, a implies b *)
Lemma selected_false a b : negb a || b = false -> a = true /\ b = false.
Proof. destruct a, b; cbn; auto; discriminate. Qed.
Lemma selected_true a b : negb a || b = true -> a = true -> b = true.
Proof. destruct a, b; cbn; auto; discriminate. Qed.
Lemma since_winner (a b : nat -> bool) i w : (1 <= w <= i)%nat -> negb (a w) || b w = true ->
  (forall j, (w < j <= i)%nat -> negb (a j) || b j = false) -> some 1 i (fun j => b j && every (j + 1) i a) = b w.
Proof.
  intros Hw Hq Hlater. apply eq_true_iff_eq. rewrite some_true. split.
  - intros (j & Hj & H). apply andb_true_iff in H as [Hb Ha]. rewrite every_true in Ha.
    destruct (lt_eq_lt_dec j w) as [[Hjw| ->]|Hjw]; [|exact Hb|].
    + apply (selected_true _ _ Hq), Ha. lia.
    + destruct (selected_false _ _ (Hlater j ltac:(lia))). congruence.
  - intros Hb. exists w. split; [exact Hw|]. apply andb_true_iff. split; [exact Hb|]. apply every_true. intros j Hj.
    apply (selected_false _ _ (Hlater j ltac:(lia))).
Qed.
Lemma until_winner (a b : nat -> bool) i n w : (1 <= i <= w)%nat -> (w <= n)%nat -> negb (a w) || b w = true ->
  (forall j, (i <= j < w)%nat -> negb (a j) || b j = false) -> some i n (fun j => b j && every i (j - 1) a) = b w.
Proof.
  intros Hi Hw Hq Hearlier. apply eq_true_iff_eq. rewrite some_true. split.
  - intros (j & Hj & H). apply andb_true_iff in H as [Hb Ha]. rewrite every_true in Ha.
    destruct (lt_eq_lt_dec j w) as [[Hjw| ->]|Hjw]; [|exact Hb|].
    + destruct (selected_false _ _ (Hearlier j ltac:(lia))). congruence.
    + apply (selected_true _ _ Hq), Ha. lia.
  - intros Hb. exists w. split; [lia|]. apply andb_true_iff. split; [exact Hb|]. apply every_true. intros j Hj.
    apply (selected_false _ _ (Hearlier j ltac:(lia))).
Qed.
Lemma some_false a b (P Q : nat -> bool) : (forall j, (a <= j <= b)%nat -> P j = false) ->
  some a b (fun j => P j && Q j) = false.
Proof.
  intros H. apply not_true_iff_false. rewrite some_true. intros (j & Hj & HP). rewrite (H j Hj) in HP. discriminate.
Qed.
(** the heads of S and U: the nearest position with (not a) or b, reading b *)
Lemma since_head s (a b : nat -> bool) l beta c n i : 0 < beta -> (1 <= i <= n)%nat ->
  (forall j, (1 <= j <= i)%nat -> l j = beta * logit_before s n i j (negb (a j) || b j) + c) ->
  Rabs (softmax_mean (positions 1 i) l (fun j => b2R (b j)) - b2R (some 1 i (fun j => b j && every (j + 1) i a)))
    <= exp (- (beta / 2)).
Proof.
  intros Hbeta Hi Hl. destruct (last_selected (fun j => negb (a j) || b j) i) as [(w & Hw & Hq & Hlater)|Hnone].
  - rewrite (since_winner a b i w Hw Hq Hlater).
    apply (rightmost s (fun j => negb (a j) || b j) l (fun j => b2R (b j)) beta c n i w); auto using b2R_range.
  - assert (Hb : forall j, (1 <= j <= i)%nat -> b j = false) by (intros j Hj; apply (selected_false _ _ (Hnone j Hj))).
    rewrite some_false, softmax_zero
      by (auto; intros j Hj; apply in_positions in Hj; rewrite Hb by exact Hj; reflexivity).
    cbn [b2R]. rewrite Rminus_0_r, Rabs_R0. left; apply exp_pos.
Qed.
Lemma until_head (a b : nat -> bool) l beta c n i : 0 < beta -> (1 <= i <= n)%nat ->
  (forall j, (i <= j <= n)%nat -> l j = beta * (INR n * b2R (negb (a j) || b j) - INR j / 2) + c) ->
  Rabs (softmax_mean (positions i n) l (fun j => b2R (b j)) - b2R (some i n (fun j => b j && every i (j - 1) a)))
    <= exp (- (beta / 2)).
Proof.
  intros Hbeta Hi Hl. destruct (first_selected (fun j => negb (a j) || b j) i n Hi) as [(w & Hw & Hq & Hearlier)|Hnone].
  - rewrite (until_winner a b i n w ltac:(lia) ltac:(lia) Hq Hearlier).
    apply (leftmost (fun j => negb (a j) || b j) l (fun j => b2R (b j)) beta c n i w); auto using b2R_range.
  - assert (Hb : forall j, (i <= j <= n)%nat -> b j = false) by (intros j Hj; apply (selected_false _ _ (Hnone j Hj))).
    rewrite some_false, softmax_zero
      by (auto; intros j Hj; apply in_positions in Hj; rewrite Hb by exact Hj; reflexivity).
    cbn [b2R]. rewrite Rminus_0_r, Rabs_R0. left; apply exp_pos.
Qed.
(** * Look-ups: the logit falls by at least g for each step away from w. *)
Section Lookup.
Variables (l v : nat -> R) (g : R) (w n : nat).
Hypothesis Hg : 0 < g.
Hypothesis Hw : (1 <= w <= n)%nat.
Hypothesis Hgap : forall j, (1 <= j <= n)%nat -> l w - l j >= g * Rabs (INR j - INR w).
Hypothesis Hv : forall j, (1 <= j <= n)%nat -> 0 <= v j <= 1.
Let x := exp (- g).
Let e (j : nat) := exp (l j - l w).
Lemma weight_left d : (1 <= d <= w - 1)%nat -> 0 < e (w - d) <= x ^ d.
Proof.
  intros Hd. split; [apply exp_pos|]. apply weight_le. pose proof (Hgap (w - d)%nat ltac:(lia)) as G.
  replace (INR (w - d) - INR w) with (- INR d) in G by (rewrite minus_INR by lia; ring).
  rewrite Rabs_Ropp, (Rabs_right (INR d)) in G by (apply Rle_ge, pos_INR). exact G.
Qed.
Lemma weight_right d : (1 <= d <= n - w)%nat -> 0 < e (w + d) <= x ^ d.
Proof.
  intros Hd. split; [apply exp_pos|]. apply weight_le. pose proof (Hgap (w + d)%nat ltac:(lia)) as G.
  replace (INR (w + d) - INR w) with (INR d) in G by (rewrite plus_INR; ring).
  rewrite (Rabs_right (INR d)) in G by (apply Rle_ge, pos_INR). exact G.
Qed.
Lemma winner_visible : In w (positions 1 n).
Proof. apply in_positions. exact Hw. Qed.
Lemma lookup_position : Rabs (softmax_mean (positions 1 n) l INR - INR w)
  <= exp (- g) / ((1 - exp (- g)) * (1 - exp (- g))).
Proof.
  fold x. pose proof (exp_neg_range g Hg) as Hx. fold x in Hx.
  rewrite (softmax_error _ l INR w (INR w) winner_visible). pose proof (relative_weights_ge1 _ l w winner_visible) as P.
  set (S := sum (positions 1 n) (fun j => exp (l j - l w))) in *.
  set (D := sum (positions 1 n) (fun j => exp (l j - l w) * (INR j - INR w))).
  assert (HD : Rabs D <= x / ((1 - x) * (1 - x))).
  { unfold D. rewrite (sum_around _ w n Hw), Rminus_diag_eq, (Rminus_diag_eq (INR w)), Rmult_0_r by reflexivity.
    rewrite (sum_ext (seq 1 (w - 1)) _ (fun d => -1 * (INR d * e (w - d)))).
    2:{ intros d Hd. apply in_seq in Hd. rewrite minus_INR by lia. unfold e. ring. }
    rewrite (sum_ext (seq 1 (n - w)) _ (fun d => INR d * e (w + d))) by (intros d _; rewrite plus_INR; unfold e; ring).
    rewrite sum_scal.
    assert (B : forall k f, (forall d, (1 <= d <= k)%nat -> 0 < f d <= x ^ d) ->
      0 <= sum (seq 1 k) (fun d => INR d * f d) <= x / ((1 - x) * (1 - x))).
    { intros k f Hf. split.
      - apply sum_nonneg. intros d Hd. apply in_seq in Hd. pose proof (Hf d ltac:(lia)).
        apply Rmult_le_pos; [apply pos_INR|lra].
      - apply Rle_trans with (sum (seq 1 k) (fun d => INR d * x ^ d)); [|apply geometric_mean_le, Hx]. apply sum_le.
        intros d Hd. apply in_seq in Hd. pose proof (Hf d ltac:(lia)). apply Rmult_le_compat_l; [apply pos_INR|lra]. }
    pose proof (B _ _ weight_left). pose proof (B _ _ weight_right). apply Rabs_le. cbv beta in *. lra. }
  assert (PI : 0 < / S <= 1) by (split; [apply Rinv_0_lt_compat|rewrite <- Rinv_1; apply Rinv_le_contravar]; lra).
  unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ S)) by lra. pose proof (Rabs_pos D). nra.
Qed.
Lemma lookup_truth : Rabs (softmax_mean (positions 1 n) l v - v w)
  <= 2 * exp (- g) / (1 - exp (- g)).
Proof.
  fold x. pose proof (exp_neg_range g Hg) as Hx. fold x in Hx.
  pose proof (relative_weights_ge1 _ l w winner_visible) as P.
  eapply Rle_trans; [apply (softmax_error_le _ l v w winner_visible); intros j Hj; apply Hv, in_positions, Hj|].
  set (S := sum (positions 1 n) (fun j => exp (l j - l w))) in *.
  assert (HS : S - 1 <= 2 * x / (1 - x)).
  { unfold S. rewrite (sum_around _ w n Hw). replace (l w - l w) with 0 by lra. rewrite exp_0.
    assert (B : forall k f, (forall d, (1 <= d <= k)%nat -> 0 < f d <= x ^ d) -> sum (seq 1 k) f <= x / (1 - x)).
    { intros k f Hf. apply Rle_trans with (sum (seq 1 k) (fun d => x ^ d)); [|apply geometric_le, Hx]. apply sum_le.
      intros d Hd. apply in_seq in Hd. apply Hf. lia. }
    pose proof (B _ _ weight_left) as BL. pose proof (B _ _ weight_right) as BR. unfold e, Rdiv in *. lra. }
  assert (PI : 0 < / S <= 1) by (split; [apply Rinv_0_lt_compat|rewrite <- Rinv_1; apply Rinv_le_contravar]; lra).
  unfold Rdiv at 1. nra.
Qed.
End Lookup.
Lemma abs_le_square d : (Z.abs d <= d * d)%Z.
Proof. rewrite <- (Z.abs_square d). pose proof (Z.abs_nonneg d). nia. Qed.
(** logits beta (2 c j - j^2) times a factor of at least 1 (and equal to [f]) *)
Lemma lookup_gap beta f c w j : 0 <= beta -> 1 <= f -> (1 <= j)%nat -> (0 <= c)%Z -> Z.of_nat w = Z.max 1 c ->
  beta * f * (2 * IZR c * INR w - INR w * INR w) - beta * f * (2 * IZR c * INR j - INR j * INR j)
    >= beta * Rabs (INR j - INR w).
Proof.
  intros Hbeta Hf Hj Hc Hw. rewrite !INR_IZR_INZ, Hw. set (k := Z.of_nat j). set (m := Z.max 1 c).
  assert (G : (Z.abs (k - m) <= (2 * c * m - m * m) - (2 * c * k - k * k))%Z).
  { assert (1 <= k)%Z by (unfold k; lia). unfold m. destruct (Z_le_gt_dec 1 c) as [H1|H1].
    - rewrite Z.max_r by exact H1. pose proof (abs_le_square (k - c)). lia.
    - rewrite Z.max_l, Z.abs_eq by lia. replace c with 0%Z by lia. nia. }
  apply IZR_le in G. rewrite abs_IZR, !minus_IZR, !mult_IZR in G.
  set (d := 2 * IZR c * IZR m - IZR m * IZR m - (2 * IZR c * IZR k - IZR k * IZR k)) in *.
  pose proof (Rabs_pos (IZR k - IZR m)). apply Rle_ge.
  apply Rle_trans with (beta * (f * d)); [apply Rmult_le_compat_l; [exact Hbeta|nra]|right; unfold d; ring].
Qed.
