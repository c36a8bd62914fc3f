(** Layers, the input, and the whole network: the check and its soundness. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith QArith Qreals.
Require Import Definitions Nodes Analysis Values Heads Surface.
Import ListNotations.
Local Open Scope R_scope.

(** A hint for a coordinate that the feed-forward network writes: the literal that it becomes, and nodes by which to
    distinguish cases. *)
Record unit_hint := Unit { written : nat; becomes : lit; unit_cases : list nat }.
Record layer_hint := LayerHint { head_hints : list hint; unit_hints : list unit_hint }.
Record certificate := Certificate { nodes : list node; input_values : list value; layer_hints : list layer_hint }.

Fixpoint update (st : state) (k : nat) (v : value) : state :=
  match st, k with [], _ => [] | _ :: st, O => v :: st | a :: st, S k => a :: update st k v end.
Definition is_zero (v : value) : bool := match v with VConst q => Qeq_bool q 0 | _ => false end.
Section Layers.
Variables (letters : nat) (ns : list node) (tau : monomial).
(** All heads read the same state; each writes a coordinate of its own that was 0. *)
Fixpoint check_heads (st : state) (hs : list head) (zs : list hint) : option state :=
  match hs, zs with
  | [], [] => Some st
  | h :: hs, z :: zs => match check_heads st hs zs, check_head letters ns tau st h z with
      | Some s, Some (k, v) => if is_zero (nth k s VAny) then Some (update s k v) else None
      | _, _ => None end
  | _, _ => None
  end.
(** The first entry of a coordinate in a combination, without the others *)
Fixpoint take (k : nat) (c : list (nat * Q)) : option (Q * list (nat * Q)) :=
  match c with
  | [] => None
  | (k', q) :: c => if (k =? k')%nat then Some (q, c)
                    else match take k c with Some (p, c) => Some (p, (k', q) :: c) | None => None end
  end.
(** The difference of two combinations *)
Fixpoint less (a b : list (nat * Q)) : list (nat * Q) :=
  match a with
  | [] => map (fun '(k, q) => (k, - q)%Q) b
  | (k, q) :: a => match take k b with
      | Some (p, b) => if Qeq_bool q p then less a b else (k, (q - p)%Q) :: less a b
      | None => (k, q) :: less a b end
  end.
Definition bias (b : list Q) (r : nat) : Q := nth r b 0%Q.
(** The clip [z+ - (z - cap)+], if the cap is 0 or 1 *)
Definition capped (m : env) (st : state) (c c' : list (nat * Q)) (b b' : Q) : option Q :=
  match exact ns m st (less c c') with
  | Some d => let cap := (d + (b - b'))%Q in
      if Qeq_bool cap 1 then clipped ns m st c b else if Qeq_bool cap 0 then Some 0%Q else None
  | None => None end.
(** The sum of clips, each written as the difference of two neighbouring rectified linear units. *)
Fixpoint sum_of_clips (m : env) (st : state) (w1 : matrix) (b1 : list Q) (c : list (nat * Q)) : option Q :=
  match c with
  | [] => Some 0%Q
  | (r, q) :: (r', q') :: c =>
      if Qeq_bool q' (- q) then
        match capped m st (row w1 r) (row w1 r') (bias b1 r) (bias b1 r'), sum_of_clips m st w1 b1 c with
        | Some v, Some s => Some (q * v + s)%Q | _, _ => None end
      else None
  | _ => None
  end.
Definition check_unit (st : state) (y : layer) (z : unit_hint) : bool :=
  is_zero (nth (written z) st VAny)
  && decide letters ns (unit_cases z) [] (fun m =>
       match sum_of_clips m st (w_1 y) (b_1 y) (row (w_2 y) (written z)), lit_known ns m DEPTH (becomes z) with
       | Some s, Some b => Some (Qeq_bool (s + bias (b_2 y) (written z)) (b2Q b)) | _, _ => None end).
Definition mem (k : nat) (l : list nat) : bool := existsb (Nat.eqb k) l.
Definition check_layer (st : state) (y : layer) (z : layer_hint) : option state :=
  match check_heads st (heads y) (head_hints z) with
  | Some s =>
      let outs := map written (unit_hints z) in
      if forallb (check_unit s y) (unit_hints z) && forallb (fun '(r, _, _) => mem r outs) (w_2 y)
         && forallb (fun k => mem k outs || Qeq_bool (bias (b_2 y) k) 0) (seq 0 (length (b_2 y)))
      then Some (fold_right (fun z s => update s (written z) (VLit (becomes z))) s (unit_hints z)) else None
  | None => None
  end.
Fixpoint check_layers (st : state) (ys : list layer) (zs : list layer_hint) : option state :=
  match ys, zs with
  | [], [] => Some st
  | y :: ys, z :: zs => match check_layer st y z with Some s => check_layers s ys zs | None => None end
  | _, _ => None
  end.
End Layers.
(** * The input: the embedding and the encodings of one coordinate. *)
Definition entry_of (m : matrix) (r c : nat) : Q :=
  fold_right (fun '(r', c', q) s => if (r' =? r)%nat && (c' =? c)%nat then (q + s)%Q else s) 0%Q m.
Definition encodings_of (N : network) (k : nat) : list encoding :=
  map snd (filter (fun e => fst e =? k)%nat (encodings N)).
Definition no_embedding (N : network) (k : nat) : bool :=
  forallb (fun a => Qeq_bool (entry_of (embedding N) a k) 0) (seq 0 (S (atoms N))).
Definition check_input (N : network) (ns : list node) (k : nat) (v : value) : bool :=
  let e a := entry_of (embedding N) a k in
  match v, encodings_of N k with
  | VAny, _ => true
  | VConst q, [] =>
      if over_letters N then forallb (fun c => Qeq_bool (e c + e (atoms N)) q) (seq 0 (atoms N))
      else forallb (fun a => Qeq_bool (e a) 0) (seq 0 (atoms N)) && Qeq_bool (e (atoms N)) q
  | VLit (p, neg), [] => match node_at ns p with
      | NLetters s =>
          if over_letters N
          then forallb (fun c => Qeq_bool (e c + e (atoms N)) (b2Q (xorb neg (holds_letter c s)))) (seq 0 (atoms N))
          else match s with [a] => negb neg && (a <? atoms N)%nat && Qeq_bool (e (atoms N)) 0
                 && forallb (fun b => Qeq_bool (e b) (b2Q (a =? b)%nat)) (seq 0 (atoms N)) | _ => false end
      | _ => false end
  | VNumber (Monomial a x y), [Number (Monomial a' x' y')] => no_embedding N k && eqb a a' && (x =? x')%Z && (y =? y')%Z
  | VLit (p, false), [Indicator c] => no_embedding N k && holds_node c (node_at ns p)
  | _, _ => false
  end.
(** * The whole network. *)
Definition letters_of (N : network) : nat := if over_letters N then atoms N else 0%nat.
(** The value of the output: a truth, or a constant. Two nodes for the same truth are told to be equal by their
    operands. *)
Definition output_cases (ns : list node) (root : lit) (v : value) : list nat :=
  let found := fst root :: match v with VLit l => [fst l] | _ => [] end in
  let below ks := flat_map (fun k => operands (node_at ns k)) ks in found ++ below found ++ below (below found).
Definition output_known (ns : list node) (m : env) (v : value) : option Q :=
  match v with
  | VLit l => match lit_known ns m DEPTH l with Some b => Some (b2Q b) | None => None end
  | VConst q => Some q
  | _ => None
  end.
Definition check (N : network) (r : reading) (f : formula) (C : certificate) : bool :=
  ordered (nodes C)
  && forallb (fun e => check_input N (nodes C) (fst e) (snd e))
       (combine (seq 0 (length (input_values C))) (input_values C))
  && match check_layers (letters_of N) (nodes C) (temperature N) (input_values C) (layers N) (layer_hints C),
           translate_at (letters_of N) (nodes C) r f with
     | Some st, Some root =>
         let v := nth (output N) st VAny in
         decide (letters_of N) (nodes C) (output_cases (nodes C) root v) [] (fun m =>
           match lit_known (nodes C) m DEPTH root, output_known (nodes C) m v with
           | Some a, Some q => Some (Qeq_bool q (b2Q a)) | _, _ => None end)
     | _, _ => false end.

(** * Soundness. *)
Lemma Qeq_bool_R a b : Qeq_bool a b = true -> Q2R a = Q2R b.
Proof. intros H. apply Qeq_eqR, Qeq_bool_iff, H. Qed.

(** Rows of matrices: rows in which every number is equal, and rows without entries. *)
Lemma combination_take x k c : forall p c', take k c = Some (p, c') ->
  combination x c = Q2R p * x k + combination x c'.
Proof.
  induction c as [|[k' q] c IH]; cbn [take]; [discriminate|]. intros p c'.
  destruct (Nat.eqb_spec k k') as [->|_]; [intros [= <- <-]; reflexivity|].
  destruct (take k c) as [[p' d]|]; [|discriminate]. intros [= <- <-]. specialize (IH p' d eq_refl).
  unfold combination in *. cbn [fold_right]. rewrite IH. lra.
Qed.
Lemma combination_less x a : forall b, combination x (less a b) = combination x a - combination x b.
Proof.
  induction a as [|[k q] a IH]; intros b; cbn [less].
  - unfold combination. cbn [fold_right]. induction b as [|[k q] b IH]; cbn [map fold_right]; [lra|].
    rewrite IH, Q2R_opp. lra.
  - pose proof (combination_take x k b) as K. destruct (take k b) as [[p b']|].
    + rewrite (K p b' eq_refl). specialize (IH b'). destruct (Qeq_bool q p) eqn:E.
      * apply Qeq_bool_R in E. rewrite IH. unfold combination at 3. cbn [fold_right].
        fold (combination x a). rewrite E. lra.
      * unfold combination at 1 2. cbn [fold_right]. fold (combination x a) (combination x (less a b')).
        rewrite IH, Q2R_minus. lra.
    + specialize (IH b). unfold combination at 1 2. cbn [fold_right].
      fold (combination x a) (combination x (less a b)). rewrite IH. lra.
Qed.
Lemma mem_row m l k : forallb (fun '(r, _, _) => mem r l) m = true -> mem k l = false -> row m k = [].
Proof.
  intros H E. unfold row. induction m as [|[[r c] q] m IH]; [reflexivity|]. cbn [forallb] in H.
  apply andb_true_iff in H. destruct H as [Hr H]. cbn [filter fst].
  destruct (Nat.eqb_spec r k) as [->|D]; [congruence|auto].
Qed.

(** States: what an update changes. Beyond the end of the state nothing is known, before and after. *)
Lemma update_other st k j v : j <> k -> nth j (update st k v) VAny = nth j st VAny.
Proof. revert k j. induction st as [|a st IH]; intros [|k] [|j] D; cbn; auto; lia. Qed.
Lemma update_same st k v : nth k (update st k v) VAny = v \/ nth k (update st k v) VAny = VAny.
Proof. revert k. induction st as [|a st IH]; intros [|k]; cbn; auto. Qed.
Definition after_units (s : state) (zs : list unit_hint) : state :=
  fold_right (fun z s => update s (written z) (VLit (becomes z))) s zs.
Lemma after_units_spec s zs k :
  (exists z, In z zs /\ written z = k /\ nth k (after_units s zs) VAny = VLit (becomes z))
  \/ nth k (after_units s zs) VAny = VAny
  \/ (mem k (map written zs) = false /\ nth k (after_units s zs) VAny = nth k s VAny).
Proof.
  induction zs as [|z zs IH]; [right; right; auto|]. cbn [after_units fold_right map mem existsb].
  fold (after_units s zs). destruct (Nat.eqb_spec k (written z)) as [->|D].
  - destruct (update_same (after_units s zs) (written z) (VLit (becomes z))) as [E|E]; [left|right; left; exact E].
    exists z; cbn; auto.
  - rewrite update_other by exact D. destruct IH as [(z' & I & W & E)|IH]; [left|right; exact IH].
    exists z'; cbn; auto.
Qed.

(** Sums with no summand or one summand that is not 0. *)
Lemma sum_zero l f : (forall j, In j l -> f j = 0) -> sum l f = 0.
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. unfold sum in *. cbn [fold_right].
  rewrite (H a (or_introl eq_refl)), IH; [lra|]. intros j Hj. apply H; right; exact Hj.
Qed.
Lemma sum_single l f c : NoDup l -> In c l -> (forall j, In j l -> j <> c -> f j = 0) -> sum l f = f c.
Proof.
  induction l as [|a l IH]; intros D I H; [destruct I|]. inversion D as [|a' l' A D']; subst.
  change (sum (a :: l) f) with (f a + sum l f). destruct I as [->|I].
  - rewrite sum_zero; [lra|]. intros j Hj. apply H; [right; exact Hj|]. intros ->. contradiction.
  - rewrite IH, (H a); auto; [lra|left; reflexivity|intros ->; contradiction|].
    intros j Hj. apply H; right; exact Hj.
Qed.

(** The input: the part that the embedding gives, and the encodings of one coordinate. *)
Section Input.
Variables (N : network) (u : list symbol).
Lemma entry_of_ok m r c : Q2R (entry_of m r c) = entry m r c.
Proof.
  unfold entry_of, entry. induction m as [|[[r' c'] q] m IH]; cbn [fold_right]; [apply Q2R_0|].
  destruct (_ && _); [rewrite Q2R_plus|]; rewrite IH; lra.
Qed.
Lemma encodings_of_ok i k :
  fold_right (fun '(c, e) s => (if (c =? k)%nat then encoding_value (length u) i e else 0) + s) 0 (encodings N)
  = fold_right (fun e s => encoding_value (length u) i e + s) 0 (encodings_of N k).
Proof.
  unfold encodings_of. induction (encodings N) as [|[c e] l IH]; [reflexivity|]. cbn [fold_right filter fst].
  destruct (c =? k)%nat; cbn [map fold_right snd]; rewrite IH; lra.
Qed.
Definition embedded (i k : nat) : R :=
  sum (seq 0 (atoms N)) (fun a => if symbol_at u i a then entry (embedding N) a k else 0)
  + entry (embedding N) (atoms N) k.
Lemma input_embedded i k : input N u i k =
  embedded i k + fold_right (fun e s => encoding_value (length u) i e + s) 0 (encodings_of N k).
Proof. rewrite <- encodings_of_ok. reflexivity. Qed.
Lemma embedded_letter i k c : (c < atoms N)%nat -> symbol_at u i = letter c ->
  embedded i k = Q2R (entry_of (embedding N) c k + entry_of (embedding N) (atoms N) k).
Proof.
  intros Hc E. unfold embedded. rewrite Q2R_plus, !entry_of_ok, E.
  rewrite (sum_single _ _ c); [|apply seq_NoDup|apply in_seq; lia|].
  - unfold letter. rewrite Nat.eqb_refl. reflexivity.
  - intros j _ D. unfold letter. destruct (Nat.eqb_spec c j) as [->|_]; [contradiction|reflexivity].
Qed.
Lemma embedded_nothing i k : forallb (fun a => Qeq_bool (entry_of (embedding N) a k) 0) (seq 0 (atoms N)) = true ->
  embedded i k = Q2R (entry_of (embedding N) (atoms N) k).
Proof.
  intros H. unfold embedded. rewrite sum_zero, entry_of_ok; [lra|]. intros a Ha. rewrite forallb_forall in H.
  rewrite <- entry_of_ok, (Qeq_bool_R _ _ (H a Ha)), Q2R_0. destruct (symbol_at u i a); reflexivity.
Qed.
Lemma no_embedding_ok i k : no_embedding N k = true -> embedded i k = 0.
Proof.
  unfold no_embedding. rewrite seq_S, forallb_app, andb_true_iff. cbn [forallb Nat.add]. rewrite andb_true_r.
  intros [H H0]. rewrite embedded_nothing by exact H. rewrite (Qeq_bool_R _ _ H0). apply Q2R_0.
Qed.
Lemma symbol_of i : word_of N u -> over_letters N = true -> (1 <= i <= length u)%nat ->
  exists c, (c < atoms N)%nat /\ symbol_at u i = letter c.
Proof.
  intros [_ H] O Hi. specialize (H O). rewrite Forall_forall in H. apply H. unfold symbol_at.
  apply nth_In. lia.
Qed.
End Input.

Section Correct.
(* Every lemma of this section gets all its hypotheses, whatever its proof and the lemmas above it need. *)
Set Default Proof Using "All".
Variables (N : network) (u : list symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool).
Hypothesis HT : model (length u) (symbol_at u) ns T.
Hypothesis Hw : letters <> 0%nat ->
  forall i, (1 <= i <= length u)%nat -> exists c, (c < letters)%nat /\ symbol_at u i = letter c.
Local Notation means := (den (length u) ns T).

(** A statement about one position that holds in every case of a checked case distinction. *)
Lemma cases_ok i vars P (G : Prop) : (1 <= i <= length u)%nat -> decide letters ns vars [] P = true ->
  (forall m, agrees T i m -> P m = Some true -> G) -> G.
Proof.
  intros Hi D K. assert (A : agrees T i []) by (intros k b []).
  eapply decide_ok with (m := []) (G := G); eauto.
Qed.

(** Layers of attention. *)
Lemma check_heads_ok st x hs : fits (length u) ns T st x ->
  forall zs s, check_heads letters ns (temperature N) st hs zs = Some s ->
  fits (length u) ns T s (fun i k => x i k + fold_right (fun h s => attention N u x h i k + s) 0 hs).
Proof.
  intros F. induction hs as [|h hs IH]; intros [|z zs] s; cbn [check_heads]; try discriminate.
  - intros [= <-] i Hi k. cbn [fold_right]. rewrite Rplus_0_r. apply F, Hi.
  - destruct (check_heads _ _ _ st hs zs) as [s'|] eqn:E; [|discriminate].
    destruct (check_head _ _ _ st h z) as [[t v]|] eqn:C; [|discriminate].
    destruct (is_zero (nth t s' VAny)) eqn:Z; [|discriminate]. intros [= <-] i Hi k. cbn [fold_right].
    specialize (IH zs s' E i Hi).
    assert (A : (forall k', k' <> t -> attention N u x h i k' = 0) /\ means i v (attention N u x h i t))
      by (eapply check_head_ok; eauto).
    destruct A as [A0 A]. destruct (Nat.eq_dec k t) as [->|D].
    + destruct (update_same s' t v) as [-> | ->]; [|exact Logic.I]. specialize (IH t).
      destruct (nth t s' VAny) as [q| | | | | | | | | |]; try discriminate. cbn [is_zero den] in *.
      apply Qeq_bool_R in Z. rewrite Q2R_0 in Z. rewrite Z in IH.
      match goal with |- den _ _ _ _ _ (?a + (?b + ?c)) => replace (a + (b + c)) with b by lra end. exact A.
    + rewrite update_other by exact D. rewrite (A0 k D), Rplus_0_l. apply IH.
Qed.

(** Feed-forward networks. *)
Lemma capped_ok i m st c c' b b' v x :
  (1 <= i <= length u)%nat -> agrees T i m -> (forall k, means i (nth k st VAny) (x k)) ->
  capped ns m st c c' b b' = Some v ->
  Rmax (combination x c + Q2R b) 0 - Rmax (combination x c' + Q2R b') 0 = Q2R v.
Proof.
  intros Hi A F E. unfold capped in E. destruct (exact ns m st (less c c')) as [d|] eqn:D; [|discriminate].
  assert (X : combination x (less c c') = Q2R d) by (eapply exact_ok; eauto). rewrite combination_less in X.
  destruct (Qeq_bool (d + (b - b')) 1) eqn:C; [|destruct (Qeq_bool (d + (b - b')) 0) eqn:C0; [|discriminate]].
  - apply Qeq_bool_R in C. rewrite Q2R_plus, Q2R_minus, Q2R_1 in C.
    replace (combination x c' + Q2R b') with (combination x c + (Q2R b - 1)) by lra. eapply clipped_ok; eauto.
  - apply Qeq_bool_R in C0. rewrite Q2R_plus, Q2R_minus, Q2R_0 in C0. injection E as <-. rewrite Q2R_0.
    replace (combination x c' + Q2R b') with (combination x c + Q2R b) by lra. lra.
Qed.
Lemma sum_of_clips_ok i m st w1 b1 x :
  (1 <= i <= length u)%nat -> agrees T i m -> (forall k, means i (nth k st VAny) (x k)) ->
  forall bound c s, (length c <= bound)%nat -> sum_of_clips ns m st w1 b1 c = Some s ->
  combination (fun r => Rmax (times w1 x r + Q2R (nth r b1 0%Q)) 0) c = Q2R s.
Proof.
  intros Hi A F. induction bound as [|bound IH]; intros c s L E.
  - destruct c; [|cbn in L; lia]. injection E as <-. rewrite Q2R_0; reflexivity.
  - destruct c as [|[r q] [|[r' q'] c]]; [injection E as <-; rewrite Q2R_0; reflexivity|discriminate|].
    cbn [sum_of_clips] in E. destruct (Qeq_bool q' (- q)) eqn:Cq; [|discriminate].
    unfold bias in *. apply Qeq_bool_R in Cq. rewrite Q2R_opp in Cq.
    destruct (capped ns m st _ _ _ _) as [v|] eqn:V; [|discriminate].
    destruct (sum_of_clips ns m st w1 b1 c) as [s'|] eqn:S; [|discriminate]. injection E as <-.
    cbn [length] in L. specialize (IH c s' ltac:(lia) S).
    assert (K : Rmax (combination x (row w1 r) + Q2R (nth r b1 0%Q)) 0
      - Rmax (combination x (row w1 r') + Q2R (nth r' b1 0%Q)) 0 = Q2R v) by (eapply capped_ok; eauto).
    assert (R : forall r, times w1 x r = combination x (row w1 r)) by (intros r''; eapply times_row; eauto).
    set (f := fun r => Rmax _ 0) in *. change (Q2R q * f r + (Q2R q' * f r' + combination f c) = Q2R (q * v + s')).
    rewrite IH. unfold f. rewrite !R, Cq, Q2R_plus, Q2R_mult, <- K. lra.
Qed.
Lemma check_unit_ok i st y z x : (1 <= i <= length u)%nat -> (forall k, means i (nth k st VAny) (x k)) ->
  check_unit letters ns st y z = true -> feed_forward y x (written z) = b2R (truth T (becomes z) i).
Proof.
  intros Hi F C. unfold check_unit in C. apply andb_true_iff in C. destruct C as [Z C].
  apply (cases_ok _ _ _ _ Hi C). clear C. intros m A C.
  destruct (sum_of_clips _ _ _ _ _ _) as [s|] eqn:S; [|discriminate].
  destruct (lit_known _ _ _ _) as [b|] eqn:B; [|discriminate]. injection C as C. apply Qeq_bool_R in C.
  rewrite Q2R_plus, Q2R_b2Q in C. unfold bias in C.
  assert (E : truth T (becomes z) i = b) by (eapply lit_known_ok; eauto).
  assert (Z' : x (written z) = 0).
  { specialize (F (written z)). destruct (nth (written z) st VAny) as [q| | | | | | | | | |]; try discriminate.
    cbn [is_zero den] in *. rewrite F, (Qeq_bool_R _ _ Z). apply Q2R_0. }
  assert (R : forall v r, times (w_2 y) v r = combination v (row (w_2 y) r)) by (intros v r; eapply times_row; eauto).
  unfold feed_forward. rewrite R, (sum_of_clips_ok i m st _ _ x Hi A F _ _ _ (le_n _) S), Z', E. lra.
Qed.
Lemma check_layer_ok st y z s x : fits (length u) ns T st x ->
  check_layer letters ns (temperature N) st y z = Some s -> fits (length u) ns T s (run_layer N u x y).
Proof.
  intros F. unfold check_layer.
  destruct (check_heads _ _ _ st (heads y) (head_hints z)) as [s'|] eqn:E; [|discriminate].
  destruct (_ && _ && _) eqn:C; [|discriminate]. intros [= <-]. rewrite !andb_true_iff in C. destruct C as [[CU CW] CB].
  fold (after_units s' (unit_hints z)). intros i Hi k. unfold run_layer.
  assert (F' : forall k, means i (nth k s' VAny) (after_attention N u y x i k))
    by exact (check_heads_ok _ _ _ F _ _ E i Hi).
  destruct (after_units_spec s' (unit_hints z) k) as [(v & I & <- & ->)|[-> |[M ->]]]; [|exact Logic.I|].
  - rewrite forallb_forall in CU. exact (check_unit_ok i s' y v _ Hi F' (CU v I)).
  - assert (R : forall v r, times (w_2 y) v r = combination v (row (w_2 y) r)) by (intros v r; eapply times_row; eauto).
    assert (B : Q2R (nth k (b_2 y) 0%Q) = 0).
    { destruct (Nat.lt_ge_cases k (length (b_2 y))) as [L|L]; [|rewrite nth_overflow by exact L; apply Q2R_0].
      rewrite forallb_forall in CB. specialize (CB k ltac:(apply in_seq; lia)). rewrite M in CB.
      rewrite <- Q2R_0. exact (Qeq_bool_R _ _ CB). }
    unfold feed_forward. rewrite R, (mem_row _ _ _ CW M), B. unfold combination. cbn [fold_right].
    rewrite !Rplus_0_r. apply F'.
Qed.
Lemma check_layers_ok ys : forall st zs s x, fits (length u) ns T st x ->
  check_layers letters ns (temperature N) st ys zs = Some s -> fits (length u) ns T s (fold_left (run_layer N u) ys x).
Proof.
  induction ys as [|y ys IH]; intros st [|z zs] s x F; cbn [check_layers fold_left]; try discriminate.
  - intros [= <-]; exact F.
  - destruct (check_layer _ _ _ st y z) as [s'|] eqn:E; [|discriminate]. apply IH. exact (check_layer_ok _ _ _ _ _ F E).
Qed.

(** The input holds what the list of input values says. *)
Hypothesis Hu : word_of N u.
Lemma check_input_ok i k v : (1 <= i <= length u)%nat -> check_input N ns k v = true -> means i v (input N u i k).
Proof.
  intros Hi. rewrite input_embedded. unfold check_input. set (e := fun a => entry_of (embedding N) a k).
  destruct v as [q|[a x y]|[p neg]| | | | | | | |]; try discriminate; [| | |intros _; exact Logic.I].
  - destruct (encodings_of N k); [|discriminate]. cbn [fold_right den]. rewrite Rplus_0_r.
    destruct (over_letters N) eqn:O.
    + intros C. rewrite forallb_forall in C. destruct (symbol_of N u i Hu O Hi) as (c & Hc & E).
      rewrite (embedded_letter N u i k c Hc E). apply Qeq_bool_R, C, in_seq. lia.
    + rewrite andb_true_iff. intros [C0 C]. rewrite embedded_nothing by exact C0. apply Qeq_bool_R, C.
  - destruct (encodings_of N k) as [|[[a' x' y']|] [|]]; try discriminate. rewrite !andb_true_iff.
    intros [[[C A] X] Y]. apply eqb_prop in A. apply Z.eqb_eq in X, Y. subst a' x' y'.
    rewrite no_embedding_ok by exact C. cbn [fold_right encoding_value den]. lra.
  - destruct (encodings_of N k) as [|[|c] [|]]; try (destruct neg; discriminate).
    + cbn [fold_right den]. rewrite Rplus_0_r. destruct (node_at ns p) as [s| | | | | | | | | | | |] eqn:D;
        try (destruct neg; discriminate).
      assert (E : T p i = existsb (symbol_at u i) s) by (rewrite (HT p i), D; reflexivity).
      unfold truth. cbn [fst snd]. rewrite E. clear E. destruct (over_letters N) eqn:O.
      * intros C. assert (C' : forallb (fun c => Qeq_bool (e c + e (atoms N)) (b2Q (xorb neg (holds_letter c s))))
          (seq 0 (atoms N)) = true) by (destruct neg; exact C). clear C. rewrite forallb_forall in C'.
        destruct (symbol_of N u i Hu O Hi) as (c & Hc & E).
        rewrite (embedded_letter N u i k c Hc E), E, <- Q2R_b2Q. apply Qeq_bool_R, C', in_seq. lia.
      * destruct neg; destruct s as [|a [|]]; try discriminate. rewrite !andb_true_iff. intros [[[_ A] Z] C].
        apply Nat.ltb_lt in A. rewrite forallb_forall in C.
        unfold embedded. rewrite <- entry_of_ok, (Qeq_bool_R _ _ Z), Q2R_0, Rplus_0_r.
        rewrite (sum_single _ _ a); [|apply seq_NoDup|apply in_seq; lia|].
        -- rewrite <- entry_of_ok, (Qeq_bool_R _ _ (C a ltac:(apply in_seq; lia))), Q2R_b2Q, Nat.eqb_refl.
           cbn [existsb]. rewrite orb_false_r, xorb_false_l. reflexivity.
        -- intros j Hj J. rewrite <- entry_of_ok, (Qeq_bool_R _ _ (C j Hj)), Q2R_b2Q.
           destruct (Nat.eqb_spec a j) as [->|_]; [contradiction|]. destruct (symbol_at u i j); reflexivity.
    + destruct neg; [discriminate|]. rewrite andb_true_iff. intros [C H]. rewrite no_embedding_ok by exact C.
      cbn [fold_right encoding_value den]. unfold truth. cbn [fst snd]. rewrite xorb_false_l.
      assert (E : condition_holds (Z.of_nat i) (Z.of_nat (length u)) c = T p i).
      { assert (A : agrees T i [(p, T p i)]) by (intros k' b [[= <- <-]|[]]; reflexivity).
        assert (K : known_of ns [(p, T p i)] (holds_node c) = Some (T p i)).
        { unfold known_of. cbn [find fst]. rewrite H. reflexivity. }
        eapply known_of_holds; eauto. }
      rewrite E. unfold b2R. lra.
Qed.
Lemma check_inputs_ok st :
  forallb (fun e => check_input N ns (fst e) (snd e)) (combine (seq 0 (length st)) st) = true ->
  fits (length u) ns T st (input N u).
Proof.
  intros H i Hi k. destruct (Nat.lt_ge_cases k (length st)) as [L|L]; [|rewrite nth_overflow by exact L; exact Logic.I].
  apply check_input_ok; [exact Hi|]. rewrite forallb_forall in H. apply (H (k, nth k st VAny)).
  replace (k, nth k st VAny) with (nth k (combine (seq 0 (length st)) st) (0%nat, VAny)).
  - apply nth_In. rewrite combine_length, seq_length. lia.
  - rewrite combine_nth by apply seq_length. rewrite seq_nth by exact L. reflexivity.
Qed.
End Correct.
Unset Default Proof Using.

(** The whole network. *)
Theorem check_sound N r f C : check N r f C = true -> computes N r f.
Proof.
  unfold check. rewrite !andb_true_iff. intros [[HO HI] HL] u Hu i.
  assert (Hn : (1 <= length u)%nat) by (destruct Hu as [E _]; destruct u; [contradiction|cbn; lia]).
  destruct (model_exists (length u) (symbol_at u) (nodes C) HO) as [T HT].
  assert (Hw : letters_of N <> 0%nat -> forall j, (1 <= j <= length u)%nat ->
    exists c, (c < letters_of N)%nat /\ symbol_at u j = letter c).
  { unfold letters_of. destruct (over_letters N) eqn:O; [intros _ j Hj|intros E; contradiction].
    exact (symbol_of N u j Hu O Hj). }
  destruct (check_layers _ _ _ _ _ _) as [st|] eqn:E; [|discriminate].
  destruct (translate_at _ _ r f) as [root|] eqn:R; [|discriminate].
  pose proof (check_inputs_ok N u _ _ T HT Hw Hu _ HI) as F.
  pose proof (check_layers_ok N u _ _ T HT Hw _ _ _ _ _ F E (length u) ltac:(lia) (output N)) as V.
  assert (S : truth T root (length u) = holds (length u) (symbol_at u) f i) by (eapply translate_at_ok; eauto).
  unfold network_output. rewrite <- S.
  apply (cases_ok N u (letters_of N) (nodes C) T HT Hw (length u) _ _ _ ltac:(lia) HL). clear HL. intros m A H.
  destruct (lit_known (nodes C) m DEPTH root) as [a|] eqn:Ea; [|discriminate].
  assert (Ta : truth T root (length u) = a) by (eapply lit_known_ok; eauto; lia). rewrite Ta.
  destruct (output_known (nodes C) m _) as [q|] eqn:Eq; [|discriminate]. injection H as H.
  apply Qeq_bool_iff, Qeq_eqR in H. rewrite Q2R_b2Q in H. change (if a then 1 else 0) with (b2R a). rewrite <- H.
  destruct (nth (output N) st VAny) as [q'| |l| | | | | | | |]; try discriminate; cbn [den] in V; cbn in Eq.
  - injection Eq as <-. exact V.
  - destruct (lit_known (nodes C) m DEPTH l) as [b|] eqn:El; [|discriminate]. injection Eq as <-.
    assert (Tl : truth T l (length u) = b) by (eapply lit_known_ok; eauto; lia). rewrite Q2R_b2Q, <- Tl. exact V.
Qed.
