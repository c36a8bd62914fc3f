(** The sign test: a head whose logits have one sign at the even positions and the opposite sign at the odd ones, and
    whose value is 1 at the even positions and 0 at the odd ones. So it reads almost 1 or almost 0, by the sign of the
    logits. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
Require Import Definitions Nodes Analysis.
Import ListNotations.
Local Open Scope R_scope.

(** The sum of [f] over the positions of one parity. *)
Definition parity_sum (b : bool) (L : list nat) (f : nat -> R) : R :=
  sum L (fun j => if eqb (Nat.even j) b then f j else 0).
Lemma parity_sum_split b L f : sum L f = parity_sum b L f + parity_sum (negb b) L f.
Proof.
  unfold parity_sum. rewrite <- sum_plus. apply sum_ext. intros j _. destruct (Nat.even j), b; cbn; lra.
Qed.
Lemma parity_sum_le b L f g : (forall j, In j L -> Nat.even j = b -> f j <= g j) ->
  parity_sum b L f <= parity_sum b L g.
Proof.
  intros H. apply sum_le. intros j Hj. destruct (eqb (Nat.even j) b) eqn:E; [|lra].
  apply H; [exact Hj|exact (eqb_prop _ _ E)].
Qed.
Lemma parity_sum_scal b L c f : parity_sum b L (fun j => c * f j) = c * parity_sum b L f.
Proof.
  unfold parity_sum. rewrite <- sum_scal. apply sum_ext. intros j _. destruct (eqb _ _); lra.
Qed.
Lemma parity_sum_nonneg b L f : (forall j, In j L -> 0 <= f j) -> 0 <= parity_sum b L f.
Proof. intros H. apply sum_nonneg. intros j Hj. destruct (eqb _ _); [apply H, Hj|lra]. Qed.
Lemma parity_sum_member b L f w : (forall j, In j L -> 0 <= f j) -> In w L -> Nat.even w = b -> f w <= parity_sum b L f.
Proof.
  intros H Hw Hb. destruct (in_split w L Hw) as (A & B & ->). unfold parity_sum.
  rewrite sum_app, sum_cons, Hb, eqb_reflx.
  assert (P : forall M, (forall j, In j M -> In j (A ++ w :: B)) -> 0 <= parity_sum b M f)
    by (intros M HM; apply parity_sum_nonneg; intros j Hj; apply H, HM, Hj).
  pose proof (P A) as PA. pose proof (P B) as PB. unfold parity_sum in PA, PB.
  assert (0 <= sum A (fun j => if eqb (Nat.even j) b then f j else 0))
    by (apply PA; intros j Hj; apply in_or_app; left; exact Hj).
  assert (0 <= sum B (fun j => if eqb (Nat.even j) b then f j else 0))
    by (apply PB; intros j Hj; apply in_or_app; right; right; exact Hj). lra.
Qed.
(** The head errs by the weight of the wrong parity in the weight of all. *)
Lemma parity_error L l b e : L <> [] ->
  parity_sum (negb b) L (fun j => exp (l j)) <= e * parity_sum b L (fun j => exp (l j)) ->
  Rabs (softmax_mean L l (fun j => b2R (Nat.even j)) - b2R b) <= e.
Proof.
  intros HL He. pose proof (weights_pos L l HL) as P. pose proof (parity_sum_split b L (fun j => exp (l j))) as S.
  set (right := parity_sum b L (fun j => exp (l j))) in *.
  set (wrong := parity_sum (negb b) L (fun j => exp (l j))) in *.
  assert (0 <= right) by (apply parity_sum_nonneg; intros; left; apply exp_pos).
  assert (0 <= wrong) by (apply parity_sum_nonneg; intros; left; apply exp_pos).
  unfold softmax_mean. rewrite S in *.
  assert (N : sum L (fun j => exp (l j) * b2R (Nat.even j)) = if b then right else wrong).
  { unfold right, wrong, parity_sum.
    destruct b; apply sum_ext; intros j _; destruct (Nat.even j); cbn [eqb negb b2R]; lra. }
  rewrite N. assert (0 <= e) by (apply Rnot_lt_le; intros Hneg; nra).
  replace ((if b then right else wrong) / (right + wrong) - b2R b)
    with ((if b then - wrong else wrong) / (right + wrong)) by (destruct b; cbn [b2R]; field; lra).
  unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ (right + wrong))) by (left; apply Rinv_0_lt_compat; exact P).
  replace (Rabs (if b then - wrong else wrong)) with wrong
    by (destruct b; rewrite ?Rabs_Ropp, Rabs_right by lra; reflexivity).
  apply Rmult_le_reg_r with (right + wrong); [exact P|]. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Lemma Rabs_between x y : Rabs x <= y -> - y <= x <= y.
Proof. unfold Rabs. destruct (Rcase_abs x); lra. Qed.
Lemma power_parity j : (-1) ^ j = if Nat.even j then 1 else -1.
Proof.
  induction j as [|k IH]; [reflexivity|]. cbn [pow]. rewrite IH, Nat.even_succ, <- Nat.negb_even.
  destruct (Nat.even k); cbn [negb]; lra.
Qed.
(** How many positions of a range have one parity. *)
Lemma parity_difference a k b :
  Rabs (parity_sum b (seq a k) (fun _ => 1) - parity_sum (negb b) (seq a k) (fun _ => 1))
  <= if Nat.even k then 0 else 1.
Proof.
  assert (D : parity_sum b (seq a k) (fun _ => 1) - parity_sum (negb b) (seq a k) (fun _ => 1)
    = (if b then 1 else -1) * sum (seq a k) (fun j => (-1) ^ j)).
  { unfold parity_sum. rewrite <- sum_scal. unfold Rminus.
    replace (- sum (seq a k) (fun j => if eqb (Nat.even j) (negb b) then 1 else 0))
      with (-1 * sum (seq a k) (fun j => if eqb (Nat.even j) (negb b) then 1 else 0)) by lra.
    rewrite <- sum_scal, <- sum_plus. apply sum_ext. intros j _. rewrite power_parity.
    destruct b, (Nat.even j); cbn [negb eqb]; lra. }
  rewrite D, alternating_seq, power_parity. destruct (Nat.even k); [rewrite Rmult_0_r, Rabs_R0; lra|].
  destruct b, (Nat.even a); unfold Rabs; destruct (Rcase_abs _); lra.
Qed.
Lemma parity_total a k b :
  parity_sum b (seq a k) (fun _ => 1) + parity_sum (negb b) (seq a k) (fun _ => 1) = INR k.
Proof. rewrite <- parity_sum_split, sum_const, seq_length. lra. Qed.
Lemma parity_half a k b : parity_sum b (seq a k) (fun _ => 1) <= (INR k + 1) / 2.
Proof.
  pose proof (parity_total a k b) as S. pose proof (parity_difference a k b) as D.
  assert (Rabs (parity_sum b (seq a k) (fun _ => 1) - parity_sum (negb b) (seq a k) (fun _ => 1)) <= 1)
    by (destruct (Nat.even k); lra).
  apply Rabs_between in H. lra.
Qed.
Lemma parity_twice a k b : (2 <= k)%nat ->
  parity_sum (negb b) (seq a k) (fun _ => 1) <= 2 * parity_sum b (seq a k) (fun _ => 1).
Proof.
  intros Hk. pose proof (parity_total a k b) as S. pose proof (parity_difference a k b) as D.
  apply Rabs_between in D. destruct (Nat.even k) eqn:E.
  - pose proof (pos_INR k). lra.
  - assert (3 <= k)%nat as K by (destruct k as [|[|[|k]]]; [lia|lia|discriminate E|lia]).
    apply le_INR in K. cbn [INR] in K. lra.
Qed.

(** Keys (-1)^j: logits G or -G, with |G| >= beta/2, so that the wrong parity, which has at most twice as many
    positions, has at most 2 e^-beta of the weight. *)
Lemma sign_constant l a c G beta (b : bool) : (a < c)%nat ->
  (forall j, (a <= j <= c)%nat -> l j = G * (-1) ^ j) -> (if b then beta / 2 <= G else G <= - (beta / 2)) ->
  Rabs (softmax_mean (positions a c) l (fun j => b2R (Nat.even j)) - b2R b) <= 2 * exp (- beta).
Proof.
  intros Hac Hl HG. set (right := if b then G else - G).
  assert (Hright : beta / 2 <= right) by (unfold right; destruct b; lra).
  assert (W : forall p, parity_sum p (positions a c) (fun j => exp (l j))
    = exp (if eqb p b then right else - right) * parity_sum p (positions a c) (fun _ => 1)).
  { intros p. rewrite <- parity_sum_scal. unfold parity_sum. apply sum_ext. intros j Hj. apply in_positions in Hj.
    destruct (eqb (Nat.even j) p) eqn:E; [|reflexivity]. apply eqb_prop in E.
    rewrite Rmult_1_r, (Hl j Hj), power_parity, E. f_equal. unfold right. destruct p, b; cbn [eqb]; lra. }
  apply parity_error.
  - intros E. assert (In a (positions a c)) by (apply in_positions; lia). rewrite E in H. exact H.
  - rewrite !W, eqb_reflx. replace (eqb (negb b) b) with false by (destruct b; reflexivity).
    pose proof (parity_twice a (c + 1 - a) b ltac:(lia)) as K. fold (positions a c) in K.
    assert (0 <= parity_sum b (positions a c) (fun _ => 1)) by (apply parity_sum_nonneg; intros; lra).
    assert (E : exp (- right) <= exp (- beta) * exp right) by (rewrite <- exp_plus; apply exp_le; lra).
    pose proof (exp_pos (- right)). pose proof (exp_pos right). pose proof (exp_pos (- beta)).
    apply Rle_trans with (exp (- right) * (2 * parity_sum b (positions a c) (fun _ => 1)));
      [apply Rmult_le_compat_l; lra|]. nra.
Qed.

(** Keys (-1)^j j^2: logits H j^2 or -H j^2, with |H| >= beta/(2i).  The largest right position is i or i-1. *)
Lemma square_weight x : 0 < x -> x * (x - 1) * (x - 1) + x = x * ((x - 1) * (x - 1) + 1).
Proof. intros _. ring. Qed.
Lemma half_bound i beta : 3 <= i -> 1 <= beta ->
  (i + 1) / 2 * exp (- (beta / (2 * i) * ((i - 1) * (i - 1) + 1))) <= 2 * exp (- (5 * beta / 6)).
Proof.
  intros Hi Hb. set (y := i / 2 - 11 / 6 + / i).
  assert (Hinv : i * / i = 1) by (apply Rinv_r; lra).
  assert (Pinv : 0 < / i) by (apply Rinv_0_lt_compat; lra).
  assert (Hy : 0 <= y) by (unfold y; nra).
  replace (- (beta / (2 * i) * ((i - 1) * (i - 1) + 1))) with (- (5 * beta / 6) + - (beta * y))
    by (unfold y; field; lra).
  rewrite exp_plus. pose proof (exp_pos (- (5 * beta / 6))) as P.
  assert (K : (i + 1) / 4 <= exp (beta * y)).
  { apply Rle_trans with (1 + beta * y); [|apply exp_ineq1_le].
    assert (y <= beta * y) by nra. assert ((i + 1) / 4 <= 1 + y); [|lra]. unfold y. nra. }
  assert (Q : (i + 1) / 2 * exp (- (beta * y)) <= 2).
  { rewrite exp_Ropp. pose proof (exp_pos (beta * y)) as Py. apply Rmult_le_reg_r with (exp (beta * y)); [exact Py|].
    rewrite Rmult_assoc, Rinv_l by lra. lra. }
  nra.
Qed.
Lemma sign_square l i H beta (b : bool) : (2 <= i)%nat -> 1 <= beta ->
  (forall j, (1 <= j <= i)%nat -> l j = H * ((-1) ^ j * INR j ^ 2)) ->
  (if b then beta / (2 * INR i) <= H else H <= - (beta / (2 * INR i))) ->
  Rabs (softmax_mean (positions 1 i) l (fun j => b2R (Nat.even j)) - b2R b) <= 2 * exp (- (5 * beta / 6)).
Proof.
  intros Hi Hb Hl HH. set (h := if b then H else - H). set (h0 := beta / (2 * INR i)) in *.
  assert (Hh : h0 <= h) by (unfold h; destruct b; lra).
  assert (Hi' : 2 <= INR i) by (apply (le_INR 2); exact Hi).
  assert (P0 : 0 < h0) by (apply Rdiv_lt_0_compat; lra).
  assert (R : forall j, (1 <= j <= i)%nat -> l j = (if eqb (Nat.even j) b then h else - h) * (INR j * INR j)).
  { intros j Hj. rewrite (Hl j Hj), power_parity. unfold h. destruct (Nat.even j), b; cbn [eqb]; ring. }
  (* a right position w and the distance of the logits of the wrong ones to its logit *)
  assert (K : exists w D, (1 <= w <= i)%nat /\ Nat.even w = b
    /\ (forall j, (1 <= j <= i)%nat -> Nat.even j = negb b -> D <= INR w * INR w + INR j * INR j)
    /\ 0 <= D
    /\ parity_sum (negb b) (positions 1 i) (fun _ => 1) * exp (- (h0 * D)) <= 2 * exp (- (5 * beta / 6))).
  { destruct (Nat.eq_dec i 2) as [E|E].
    - exists (if b then 2%nat else 1%nat), 5. subst i. split; [destruct b; lia|]. split; [destruct b; reflexivity|].
      split; [|split; [lra|]].
      + intros j Hj Hp. assert (C : j = if b then 1%nat else 2%nat).
        { destruct j as [|[|[|j]]]; [lia| | |lia]; destruct b; try reflexivity; discriminate Hp. }
        rewrite C. destruct b; cbn [INR]; lra.
      + assert (parity_sum (negb b) (positions 1 2) (fun _ => 1) = 1) as ->
          by (destruct b; unfold parity_sum, positions, sum; cbn; lra).
        replace (h0 * 5) with (5 * beta / 4) by (unfold h0; cbn [INR]; field).
        pose proof (exp_pos (- (5 * beta / 6))). assert (exp (- (5 * beta / 4)) <= exp (- (5 * beta / 6)))
          by (apply exp_le; lra). lra.
    - exists (if eqb (Nat.even i) b then i else i - 1)%nat, ((INR i - 1) * (INR i - 1) + 1).
      assert (Hw : Nat.even (i - 1) = negb (Nat.even i)).
      { destruct i as [|i']; [lia|]. replace (S i' - 1)%nat with i' by lia.
        rewrite Nat.even_succ, Nat.negb_odd. reflexivity. }
      split; [destruct (eqb _ _); lia|].
      split; [destruct (Nat.even i) eqn:Ei, b; cbn [eqb negb] in *; congruence|]. split; [|split; [nra|]].
      + intros j Hj _. assert (1 <= INR j) by (apply (le_INR 1); lia).
        destruct (eqb _ _); [|rewrite minus_INR by lia; cbn [INR]]; nra.
      + assert (I3 : 3 <= INR i) by (replace 3 with (INR 3) by (cbn [INR]; lra); apply le_INR; lia).
        eapply Rle_trans; [|exact (half_bound (INR i) beta I3 Hb)]. fold h0.
        apply Rmult_le_compat_r; [left; apply exp_pos|]. unfold positions.
        replace (i + 1 - 1)%nat with i by lia. apply parity_half. }
  destruct K as (w & D & Hw & Hpar & HD & PD & Hsum).
  apply parity_error.
  - intros E. assert (In 1%nat (positions 1 i)) as C by (apply in_positions; lia). rewrite E in C. exact C.
  - assert (Lw : l w = h * (INR w * INR w)) by (rewrite (R w Hw), Hpar, eqb_reflx; reflexivity).
    apply Rle_trans with (parity_sum (negb b) (positions 1 i) (fun j => exp (- (h0 * D)) * exp (l w) * 1)).
    + apply parity_sum_le. intros j Hj Hp. apply in_positions in Hj. rewrite Rmult_1_r, <- exp_plus. apply exp_le.
      rewrite (R j Hj), Lw, Hp. replace (eqb (negb b) b) with false by (destruct b; reflexivity).
      pose proof (HD j Hj Hp). nra.
    + rewrite (parity_sum_scal (negb b) (positions 1 i) (exp (- (h0 * D)) * exp (l w)) (fun _ => 1)).
      assert (exp (l w) <= parity_sum b (positions 1 i) (fun j => exp (l j))).
      { apply (parity_sum_member b (positions 1 i) (fun j => exp (l j)) w);
          [intros; left; apply exp_pos|apply in_positions; exact Hw|exact Hpar]. }
      pose proof (exp_pos (l w)). pose proof (exp_pos (- (5 * beta / 6))).
      apply Rle_trans with (2 * exp (- (5 * beta / 6)) * exp (l w)); nra.
Qed.
