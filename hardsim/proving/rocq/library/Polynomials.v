(** Polynomials in the query position i, the length n, n - i + 1 (called m), the key position j, and a count c. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith QArith Qreals.
Require Import Definitions.
Import ListNotations.
Local Open Scope R_scope.

Record powers := Powers { of_i : Z; of_n : Z; of_m : Z; of_j : Z; of_c : nat }.
Definition polynomial := list (powers * Q).
Definition powers_value (n i j : nat) (c : Z) (p : powers) : R :=
  powerRZ (INR i) (of_i p) * powerRZ (INR n) (of_n p) * powerRZ (INR (n + 1 - i)) (of_m p) * powerRZ (INR j) (of_j p)
  * IZR c ^ of_c p.
Definition polynomial_value (n i j : nat) (c : Z) (p : polynomial) : R :=
  fold_right (fun '(e, q) s => Q2R q * powers_value n i j c e + s) 0 p.
Definition powers_add (a b : powers) : powers :=
  Powers (of_i a + of_i b) (of_n a + of_n b) (of_m a + of_m b) (of_j a + of_j b) (of_c a + of_c b).
Definition powers_eqb (a b : powers) : bool :=
  (of_i a =? of_i b)%Z && (of_n a =? of_n b)%Z && (of_m a =? of_m b)%Z && (of_j a =? of_j b)%Z
  && (of_c a =? of_c b)%nat.
Definition times_term (e : powers) (q : Q) (p : polynomial) : polynomial :=
  map (fun '(e', q') => (powers_add e e', Qred (q * q'))) p.
Definition product (p q : polynomial) : polynomial := flat_map (fun '(e, a) => times_term e a q) p.
Definition scaled (q : Q) (p : polynomial) : polynomial := times_term (Powers 0 0 0 0 0) q p.
(** the total coefficient of a power *)
Definition total (e : powers) (p : polynomial) : Q :=
  fold_right (fun '(e', q) s => if powers_eqb e e' then Qred (q + s) else s) 0%Q p.
Definition same_polynomial (p q : polynomial) : bool :=
  forallb (fun '(e, _) => Qeq_bool (total e p) (total e q)) (p ++ q).

(** Sums and products of values. *)
Lemma polynomial_cons n i j c e a p :
  polynomial_value n i j c ((e, a) :: p) = Q2R a * powers_value n i j c e + polynomial_value n i j c p.
Proof. reflexivity. Qed.
Lemma polynomial_nil n i j c : polynomial_value n i j c [] = 0.
Proof. reflexivity. Qed.
Lemma polynomial_app n i j c p q :
  polynomial_value n i j c (p ++ q) = polynomial_value n i j c p + polynomial_value n i j c q.
Proof.
  induction p as [|[e a] p IH]; [rewrite polynomial_nil; cbn [app]; ring|].
  rewrite <- app_comm_cons, !polynomial_cons, IH. ring.
Qed.
Lemma Q2R_Qred q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.
Lemma INR_nonzero k : (1 <= k)%nat -> INR k <> 0.
Proof. intros H. apply not_0_INR. lia. Qed.
Lemma powers_add_value n i j c a b : (1 <= i <= n)%nat -> (1 <= j)%nat ->
  powers_value n i j c (powers_add a b) = powers_value n i j c a * powers_value n i j c b.
Proof.
  intros Hi Hj. unfold powers_value, powers_add. cbn [of_i of_n of_m of_j of_c].
  rewrite !powerRZ_add by (apply INR_nonzero; lia). rewrite pow_add. ring.
Qed.
Lemma times_term_ok n i j c e q p : (1 <= i <= n)%nat -> (1 <= j)%nat ->
  polynomial_value n i j c (times_term e q p) = Q2R q * powers_value n i j c e * polynomial_value n i j c p.
Proof.
  intros Hi Hj. induction p as [|[e' q'] p IH]; [cbn [times_term map]; rewrite polynomial_nil; ring|].
  change (times_term e q ((e', q') :: p)) with ((powers_add e e', Qred (q * q')) :: times_term e q p).
  rewrite !polynomial_cons, IH, Q2R_Qred, Q2R_mult, powers_add_value by assumption. ring.
Qed.
Lemma product_ok n i j c p q : (1 <= i <= n)%nat -> (1 <= j)%nat ->
  polynomial_value n i j c (product p q) = polynomial_value n i j c p * polynomial_value n i j c q.
Proof.
  intros Hi Hj. induction p as [|[e a] p IH]; [cbn [product flat_map]; rewrite polynomial_nil; ring|].
  change (product ((e, a) :: p) q) with (times_term e a q ++ product p q).
  rewrite polynomial_app, polynomial_cons, times_term_ok, IH by assumption. ring.
Qed.
Lemma scaled_ok n i j c q p : (1 <= i <= n)%nat -> (1 <= j)%nat ->
  polynomial_value n i j c (scaled q p) = Q2R q * polynomial_value n i j c p.
Proof.
  intros Hi Hj. unfold scaled. rewrite times_term_ok by assumption. unfold powers_value. cbn. ring.
Qed.

(** Polynomials with the same totals have the same value: take out one power after the other. *)
Lemma powers_eqb_ok a b : powers_eqb a b = true <-> a = b.
Proof.
  unfold powers_eqb. rewrite !andb_true_iff, !Z.eqb_eq, Nat.eqb_eq. destruct a, b; cbn. split.
  - intros [[[[-> ->] ->] ->] ->]. reflexivity.
  - intros [= -> -> -> -> ->]. tauto.
Qed.
Definition without (e : powers) (p : polynomial) : polynomial := filter (fun t => negb (powers_eqb e (fst t))) p.
Lemma total_cons e d q p : total e ((d, q) :: p) = if powers_eqb e d then Qred (q + total e p) else total e p.
Proof. reflexivity. Qed.
Lemma without_cons e d q p : without e ((d, q) :: p) = if powers_eqb e d then without e p else (d, q) :: without e p.
Proof. cbn. now destruct (powers_eqb e d). Qed.
Lemma total_without e e' p : e <> e' -> total e' (without e p) = total e' p.
Proof.
  intros ne. induction p as [|[d q] p IH]; [reflexivity|]. rewrite without_cons, total_cons.
  destruct (powers_eqb e d) eqn:H; [|now rewrite total_cons, IH].
  apply powers_eqb_ok in H as <-. destruct (powers_eqb e' e) eqn:H'; [|exact IH].
  apply powers_eqb_ok in H'. congruence.
Qed.
Lemma take_out n i j c e p :
  polynomial_value n i j c p = Q2R (total e p) * powers_value n i j c e + polynomial_value n i j c (without e p).
Proof.
  induction p as [|[d q] p IH];
    [cbn [total without fold_right filter]; rewrite polynomial_nil, RMicromega.Q2R_0; ring|].
  rewrite polynomial_cons, without_cons, total_cons, IH. destruct (powers_eqb e d) eqn:H.
  - apply powers_eqb_ok in H as <-. rewrite Q2R_Qred, Q2R_plus. ring.
  - rewrite polynomial_cons. ring.
Qed.
Lemma without_keys e L p : incl (map fst p) (e :: L) -> incl (map fst (without e p)) L.
Proof.
  intros H d Hd. apply in_map_iff in Hd as [[d' q] [<- Ht]]. apply filter_In in Ht as [Ht Hne]. cbn in *.
  destruct (H d') as [<-|Hd]; [exact (in_map fst p _ Ht)| |exact Hd].
  apply negb_true_iff in Hne. rewrite (proj2 (powers_eqb_ok e e) eq_refl) in Hne. discriminate.
Qed.
(** [L] has the powers of both, each once *)
Lemma same_totals n i j c L : NoDup L -> forall p q, incl (map fst p) L -> incl (map fst q) L ->
  (forall e, In e L -> total e p == total e q)%Q -> polynomial_value n i j c p = polynomial_value n i j c q.
Proof.
  intros HL. induction HL as [|e L He HL IH]; intros p q Hp Hq H.
  - apply incl_l_nil, map_eq_nil in Hp, Hq. now subst p q.
  - rewrite (take_out n i j c e p), (take_out n i j c e q), (Qeq_eqR _ _ (H e (or_introl eq_refl))).
    f_equal. apply IH; [now apply without_keys|now apply without_keys|]. intros d Hd.
    rewrite !total_without by (intros <-; contradiction). apply H. now right.
Qed.
Lemma powers_eq_dec (a b : powers) : {a = b} + {a <> b}.
Proof. repeat decide equality. Qed.
Lemma same_polynomial_ok n i j c p q :
  same_polynomial p q = true -> polynomial_value n i j c p = polynomial_value n i j c q.
Proof.
  intros H. unfold same_polynomial in H. rewrite forallb_forall in H.
  apply same_totals with (nodup powers_eq_dec (map fst (p ++ q))).
  - apply NoDup_nodup.
  - intros e He. apply nodup_In. rewrite map_app. apply in_or_app. now left.
  - intros e He. apply nodup_In. rewrite map_app. apply in_or_app. now right.
  - intros e He. apply nodup_In, in_map_iff in He as [[e' a] [<- Ht]]. apply Qeq_bool_eq. exact (H _ Ht).
Qed.
