(** Numbered nodes: the formula in primitive operators, as a table in which a node refers to earlier nodes only; what is
    known of the truths of nodes at one position; and case distinctions over such truths. *)
From Coq Require Import List Bool Arith ZArith QArith Lia.
Require Import Definitions.
Import ListNotations.
Local Open Scope nat_scope.

Definition lit : Type := nat * bool.                      (* a node, and whether it is negated *)
Inductive side := Before | After | Everywhere.            (* positions j <= i, j >= i, all *)
Definition count : Type := side * lit.
Inductive node :=
| NLetters (s : list nat) | NFirst | NLast | NEven | NHolds (c : condition)
| NAnd (ls : list lit) | NXor (a b : lit) | NPrev (a : lit) | NNext (a : lit)
| NSince (a b : lit) | NUntil (a b : lit)
| NAtLeast (ts : list (Z * count)) (c : Z)                (* sum of z * count, plus c, is >= 0 *)
| NNumeric (c : condition) (k : count).                   (* the condition on a count and n *)

Section Truth.
Variables (n : nat) (w : nat -> symbol) (T : nat -> nat -> bool).
Definition truth (l : lit) (i : nat) : bool := xorb (snd l) (T (fst l) i).
Definition count_value (k : count) (i : nat) : Z :=
  match fst k with
  | Before => number 1 i (truth (snd k))
  | After => number i n (truth (snd k))
  | Everywhere => number 1 n (truth (snd k))
  end.
Definition linear_value (ts : list (Z * count)) (i : nat) : Z :=
  fold_right (fun '(z, k) s => (z * count_value k i + s)%Z) 0%Z ts.
Definition node_truth (d : node) (i : nat) : bool :=
  match d with
  | NLetters s => existsb (w i) s
  | NFirst => i =? 1 | NLast => i =? n | NEven => Nat.even i
  | NHolds c => condition_holds (Z.of_nat i) (Z.of_nat n) c
  | NAnd ls => forallb (fun l => truth l i) ls
  | NXor a b => xorb (truth a i) (truth b i)
  | NPrev a => (1 <? i) && truth a (i - 1)
  | NNext a => (i <? n) && truth a (i + 1)
  | NSince a b => some 1 i (fun j => truth b j && every (j + 1) i (truth a))
  | NUntil a b => some i n (fun j => truth b j && every i (j - 1) (truth a))
  | NAtLeast ts c => (0 <=? linear_value ts i + c)%Z
  | NNumeric c k => condition_holds (count_value k i) (Z.of_nat n) c
  end.
End Truth.

(** The truth of every node, from the first to the last. *)
Definition truths (n : nat) (w : nat -> symbol) (ns : list node) : list (nat -> bool) :=
  fold_left (fun ts d => ts ++ [node_truth n w (fun k => nth k ts (fun _ => false)) d]) ns [].
Definition node_at (ns : list node) (k : nat) : node := nth k ns (NLetters []).
Definition operands (d : node) : list nat :=
  match d with
  | NLetters _ | NFirst | NLast | NEven | NHolds _ => []
  | NAnd ls => map fst ls
  | NXor a b | NSince a b | NUntil a b => [fst a; fst b]
  | NPrev a | NNext a => [fst a]
  | NAtLeast ts _ => map (fun t => fst (snd (snd t))) ts
  | NNumeric _ k => [fst (snd k)]
  end.
Fixpoint ordered_from (k : nat) (ns : list node) : bool :=
  match ns with [] => true | d :: ns => forallb (fun a => a <? k) (operands d) && ordered_from (S k) ns end.
Definition ordered := ordered_from 0.
(** [T] gives each node the truth of its definition. A number beyond the table counts as a node that is false. *)
Definition model (n : nat) (w : nat -> symbol) (ns : list node) (T : nat -> nat -> bool) : Prop :=
  forall k i, T k i = node_truth n w T (node_at ns k) i.
(** The truth of a node depends on the truths of its operands only. *)
Lemma forallb_ext {A} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> forallb f l = forallb g l.
Proof.
  induction l as [|x l IH]; intros E; [reflexivity|]. cbn.
  rewrite (E x), IH; [reflexivity| |now left]. intros y Hy. apply E. now right.
Qed.
Lemma existsb_ext {A} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> existsb f l = existsb g l.
Proof.
  induction l as [|x l IH]; intros E; [reflexivity|]. cbn.
  rewrite (E x), IH; [reflexivity| |now left]. intros y Hy. apply E. now right.
Qed.
Lemma number_ext a b P Q : (forall j, P j = Q j) -> number a b P = number a b Q.
Proof. intros E. unfold number. now rewrite (filter_ext P Q E). Qed.
Section Extensional.
Variables (n : nat) (w : nat -> symbol) (T T' : nat -> nat -> bool).
Lemma count_value_ext k i : (forall j, T (fst (snd k)) j = T' (fst (snd k)) j) ->
  count_value n T k i = count_value n T' k i.
Proof.
  destruct k as [[] l]; intros E; apply number_ext; intros j; unfold truth; f_equal; apply (E j).
Qed.
Lemma linear_value_ext ts i : (forall z k j, In (z, k) ts -> T (fst (snd k)) j = T' (fst (snd k)) j) ->
  linear_value n T ts i = linear_value n T' ts i.
Proof.
  induction ts as [|[z k] ts IH]; intros E; [reflexivity|]. cbn -[Z.mul count_value].
  rewrite (count_value_ext k i); [f_equal; apply IH|]; intros; eapply E; [right|left]; eauto.
Qed.
Lemma node_truth_ext d i : (forall a j, In a (operands d) -> T a j = T' a j) ->
  node_truth n w T d i = node_truth n w T' d i.
Proof.
  intros E. assert (L : forall l j, In (fst l) (operands d) -> truth T l j = truth T' l j).
  { intros l j Hl. unfold truth. now rewrite E. }
  destruct d as [s| | | |c|ls|a b|a|a|a b|a b|ts c|c k]; cbn [node_truth]; try reflexivity.
  - apply forallb_ext. intros l Hl. apply L. now apply in_map.
  - rewrite !L by (cbn; auto). reflexivity.
  - rewrite L by (cbn; auto). reflexivity.
  - rewrite L by (cbn; auto). reflexivity.
  - apply existsb_ext. intros j _. rewrite L by (cbn; auto). f_equal.
    apply forallb_ext. intros k _. apply L. cbn; auto.
  - apply existsb_ext. intros j _. rewrite L by (cbn; auto). f_equal.
    apply forallb_ext. intros k _. apply L. cbn; auto.
  - rewrite (linear_value_ext ts i); [reflexivity|]. intros z k j Hk. apply E.
    apply (in_map (fun t => fst (snd (snd t))) ts (z, k) Hk).
  - rewrite (count_value_ext k i); [reflexivity|]. intros j. apply E. cbn; auto.
Qed.
End Extensional.

(** In an ordered table the truths, computed from the first node to the last, are a model. *)
Lemma ordered_from_app k ns d :
  ordered_from k (ns ++ [d]) = ordered_from k ns && forallb (fun a => a <? k + length ns) (operands d).
Proof.
  revert k. induction ns as [|e ns IH]; intros k; cbn [app ordered_from length].
  - rewrite Nat.add_0_r. apply andb_comm.
  - rewrite IH, andb_assoc, Nat.add_succ_comm. reflexivity.
Qed.
Lemma ordered_operands k ns j a : ordered_from k ns = true -> In a (operands (node_at ns j)) -> a < k + j.
Proof.
  revert k j. induction ns as [|d ns IH]; intros k j H Ha; [destruct j; destruct Ha|].
  cbn in H. apply andb_true_iff in H as [Hd H]. destruct j as [|j].
  - rewrite forallb_forall in Hd. apply Hd, Nat.ltb_lt in Ha. lia.
  - specialize (IH (S k) j H Ha). lia.
Qed.
Lemma truths_app n w ns d :
  truths n w (ns ++ [d]) = truths n w ns ++ [node_truth n w (fun k => nth k (truths n w ns) (fun _ => false)) d].
Proof. unfold truths. now rewrite fold_left_app. Qed.
Lemma truths_length n w ns : length (truths n w ns) = length ns.
Proof.
  induction ns as [|d ns IH] using rev_ind; [reflexivity|].
  rewrite truths_app, !app_length, IH. reflexivity.
Qed.
Lemma truths_model n w ns : ordered ns = true -> model n w ns (fun k => nth k (truths n w ns) (fun _ => false)).
Proof.
  induction ns as [|d ns IH] using rev_ind; intros H k i; [now destruct k|].
  unfold ordered in H. rewrite ordered_from_app in H. apply andb_true_iff in H as [H Hd].
  set (T' := fun k => nth k (truths n w (ns ++ [d])) (fun _ => false)).
  set (T := fun k => nth k (truths n w ns) (fun _ => false)) in *. specialize (IH H).
  assert (same : forall a, a < length ns -> T' a = T a).
  { intros a Ha. unfold T', T. rewrite truths_app. apply app_nth1. now rewrite truths_length. }
  change (T' k i = node_truth n w T' (node_at (ns ++ [d]) k) i).
  destruct (lt_eq_lt_dec k (length ns)) as [[Hk|Hk]|Hk].
  - rewrite same by exact Hk. rewrite (IH k i). unfold node_at. rewrite app_nth1 by exact Hk.
    apply node_truth_ext. intros a j Ha. apply (ordered_operands 0 ns k a H) in Ha. now rewrite same by lia.
  - subst k. unfold node_at. rewrite nth_middle. transitivity (node_truth n w T d i).
    + unfold T'. rewrite truths_app, <- (truths_length n w ns). now rewrite nth_middle.
    + apply node_truth_ext. intros a j Ha. rewrite forallb_forall in Hd. apply Hd, Nat.ltb_lt in Ha.
      now rewrite same by lia.
  - unfold T', node_at. rewrite !nth_overflow; [reflexivity| |];
      rewrite ?truths_length, app_length; cbn; lia.
Qed.
Lemma model_exists n w ns : ordered ns = true -> exists T, model n w ns T.
Proof. intros H. eexists. exact (truths_model n w ns H). Qed.

(** * What is known at one position. *)
Definition env := list (nat * bool).
Definition agrees (T : nat -> nat -> bool) (i : nat) (m : env) : Prop := forall k b, In (k, b) m -> T k i = b.
Fixpoint lookup (m : env) (k : nat) : option bool :=
  match m with [] => None | (k', b) :: m => if k =? k' then Some b else lookup m k end.
Definition is_first (d : node) : bool := match d with NFirst => true | _ => false end.
Definition is_last (d : node) : bool := match d with NLast => true | _ => false end.
Definition is_even (d : node) : bool := match d with NEven => true | _ => false end.
(** the truth of the first node of the table that [is] accepts, if it is in [m] *)
Definition known_of (ns : list node) (m : env) (is : node -> bool) : option bool :=
  match find (fun e => is (node_at ns (fst e))) m with Some (_, b) => Some b | None => None end.
Definition side_eqb (a b : side) : bool :=
  match a, b with Before, Before | After, After | Everywhere, Everywhere => true | _, _ => false end.
Definition lit_eqb (a b : lit) : bool := (fst a =? fst b) && eqb (snd a) (snd b).
Definition count_eqb (a b : count) : bool := side_eqb (fst a) (fst b) && lit_eqb (snd a) (snd b).
Fixpoint integer_eqb (a b : integer) : bool :=
  match a, b with
  | X, X | Len, Len => true
  | Const y, Const z => (y =? z)%Z
  | Add a b, Add c d | Sub a b, Sub c d | Mul a b, Mul c d
  | Div a b, Div c d | Mod a b, Mod c d =>
      integer_eqb a c && integer_eqb b d
  | _, _ => false
  end.
Fixpoint condition_eqb (c d : condition) : bool :=
  match c, d with
  | Le a b, Le a' b' | Eq a b, Eq a' b' => integer_eqb a a' && integer_eqb b b'
  | Square a, Square b | Prime a, Prime b | PowerOf2 a, PowerOf2 b => integer_eqb a b
  | Both a b, Both a' b' | Either a b, Either a' b' => condition_eqb a a' && condition_eqb b b'
  | Negated a, Negated b => condition_eqb a b
  | _, _ => false
  end.
Fixpoint integer_at (x a : integer) : integer :=              (* [x] in place of X *)
  match a with
  | X => x | Len => Len | Const z => Const z
  | Add a b => Add (integer_at x a) (integer_at x b) | Sub a b => Sub (integer_at x a) (integer_at x b)
  | Mul a b => Mul (integer_at x a) (integer_at x b) | Div a b => Div (integer_at x a) (integer_at x b)
  | Mod a b => Mod (integer_at x a) (integer_at x b)
  end.
Fixpoint condition_at (x : integer) (c : condition) : condition :=
  match c with
  | Le a b => Le (integer_at x a) (integer_at x b) | Eq a b => Eq (integer_at x a) (integer_at x b)
  | Square a => Square (integer_at x a) | Prime a => Prime (integer_at x a) | PowerOf2 a => PowerOf2 (integer_at x a)
  | Both c d => Both (condition_at x c) (condition_at x d) | Either c d => Either (condition_at x c) (condition_at x d)
  | Negated c => Negated (condition_at x c)
  end.
(** the node "count >= 1", and the node of a condition on i and n *)
Definition positive_node (k : count) (d : node) : bool :=
  match d with NAtLeast [(1%Z, k')] (-1)%Z => count_eqb k k' | _ => false end.
Definition holds_node (c : condition) (d : node) : bool :=
  match d with NHolds c' => condition_eqb c c' | _ => false end.
(** Constants calculated, so that a predicate of the value 0 has one form. *)
Definition folded (op : Z -> Z -> Z) (form : integer -> integer -> integer) (a b : integer) : integer :=
  match a, b with Const y, Const z => Const (op y z) | _, _ => form a b end.
Fixpoint integer_folded (a : integer) : integer :=
  match a with
  | X => X | Len => Len | Const z => Const z
  | Add a b => folded Z.add Add (integer_folded a) (integer_folded b)
  | Sub a b => folded Z.sub Sub (integer_folded a) (integer_folded b)
  | Mul a b => folded Z.mul Mul (integer_folded a) (integer_folded b)
  | Div a b => Div (integer_folded a) (integer_folded b)
  | Mod a b => Mod (integer_folded a) (integer_folded b)
  end.
Fixpoint condition_folded (c : condition) : condition :=
  match c with
  | Le a b => Le (integer_folded a) (integer_folded b) | Eq a b => Eq (integer_folded a) (integer_folded b)
  | Square a => Square (integer_folded a) | Prime a => Prime (integer_folded a)
  | PowerOf2 a => PowerOf2 (integer_folded a)
  | Both c d => Both (condition_folded c) (condition_folded d)
  | Either c d => Either (condition_folded c) (condition_folded d)
  | Negated c => Negated (condition_folded c)
  end.
Definition at_zero (c : condition) : condition := condition_folded (condition_at (Const 0) c).
Section Known.
Variables (ns : list node) (m : env).
(** A lower bound of a sum of multiples of counts: a count is at least 0, and at least 1 or equal to 0 where that is
    known; the count of the constant true is at least 1. *)
Definition of_true (k : count) : bool :=
  match node_at ns (fst (snd k)) with NAnd [] => negb (snd (snd k)) | _ => false end.
Definition least (t : Z * count) : option Z :=
  let '(z, k) := t in
  match known_of ns m (positive_node k) with
  | Some false => Some 0%Z
  | Some true => if (0 <=? z)%Z then Some z else None
  | None => if (0 <=? z)%Z then Some (if of_true k then z else 0%Z) else None end.
Fixpoint total_least (ts : list (Z * count)) : option Z :=
  match ts with
  | [] => Some 0%Z
  | t :: ts => match least t, total_least ts with Some a, Some b => Some (a + b)%Z | _, _ => None end end.
Definition opposite (ts : list (Z * count)) : list (Z * count) := map (fun '(z, k) => ((- z)%Z, k)) ts.
Definition at_least_known (ts : list (Z * count)) (c : Z) : bool :=
  match total_least ts with Some low => (0 <=? low + c)%Z | None => false end.
Definition comparison_known (ts : list (Z * count)) (c : Z) : option bool :=
  if at_least_known ts c then Some true else if at_least_known (opposite ts) (- c - 1) then Some false else None.
Definition sign (b : bool) (o : option bool) : option bool := match o with Some a => Some (xorb b a) | None => None end.
Definition all_known (os : list (option bool)) : option bool :=
  if existsb (fun o => match o with Some false => true | _ => false end) os then Some false
  else if forallb (fun o => match o with Some true => true | _ => false end) os then Some true else None.
(** The truth of a node that follows from what is known, looking at most [fuel] definitions deep. *)
Fixpoint node_known (fuel : nat) (d : node) : option bool :=
  match fuel with
  | O => None
  | S fuel =>
    let known k := match lookup m k with Some b => Some b | None => node_known fuel (node_at ns k) end in
    let lit_known (l : lit) := sign (snd l) (known (fst l)) in
    match d with
    | NLetters [] => Some false
    | NAnd ls => all_known (map lit_known ls)
    | NXor a b => match lit_known a, lit_known b with Some a, Some b => Some (xorb a b) | _, _ => None end
    | NPrev _ => match known_of ns m is_first with Some true => Some false | _ => None end
    | NNext _ => match known_of ns m is_last with Some true => Some false | _ => None end
    | NEven => match known_of ns m is_first with Some true => Some false | _ => None end
    | NSince a b =>
        match lit_known b with Some true => Some true
        | Some false => match lit_known a with Some false => Some false | _ => None end
        | None => None end
    | NUntil a b =>
        match lit_known b with Some true => Some true
        | Some false => match lit_known a with Some false => Some false | _ => None end
        | None => None end
    | NNumeric c k =>
        match known_of ns m (positive_node k) with
        | Some false => known_of ns m (holds_node (at_zero c)) | _ => None end
    | NAtLeast ts c => comparison_known ts c
    | _ => None
    end
  end.
Definition known (fuel k : nat) : option bool :=
  match lookup m k with Some b => Some b | None => node_known fuel (node_at ns k) end.
Definition lit_known (fuel : nat) (l : lit) : option bool := sign (snd l) (known fuel (fst l)).
End Known.
Definition DEPTH := 4.
Definition holds_letter (c : nat) (s : list nat) : bool := existsb (letter c) s.
(** Some symbol [c < letters] fits everything that is known of the nodes of letters; 0 stands for propositions,
    where all may hold. *)
Definition symbol_fits (ns : list node) (m : env) (c : nat) : bool :=
  forallb (fun '(k, b) => match node_at ns k with NLetters s => eqb b (holds_letter c s) | _ => true end) m.
Definition refuted (letters : nat) (ns : list node) (m : env) : bool :=
  existsb (fun '(k, b) => match node_known ns m 1 (node_at ns k) with Some a => negb (eqb a b) | None => false end) m
  || match letters with O => false | S _ => negb (existsb (symbol_fits ns m) (seq 0 letters)) end.
(** Distinguish cases by the truths of the nodes [vars], until [P] is true in each case. Where [P] is false the case may
    still turn out to be impossible. *)
Fixpoint decide (letters : nat) (ns : list node) (vars : list nat) (m : env) (P : env -> option bool) : bool :=
  if refuted letters ns m then true else
  match P m, vars with
  | Some true, _ => true
  | _, [] => false
  | _, k :: vars =>
      match lookup m k with
      | Some _ => decide letters ns vars m P
      | None => if decide letters ns vars ((k, true) :: m) P then decide letters ns vars ((k, false) :: m) P else false
      end
  end.
(** Boolean equality of counts, integers and conditions. *)
Lemma lit_eqb_ok a b : lit_eqb a b = true -> a = b.
Proof.
  destruct a as [k s], b as [k' s']. unfold lit_eqb. cbn. intros H. apply andb_true_iff in H as [Hk Hs].
  apply Nat.eqb_eq in Hk. apply eqb_prop in Hs. congruence.
Qed.
Lemma count_eqb_ok a b : count_eqb a b = true -> a = b.
Proof.
  destruct a as [s l], b as [s' l']. unfold count_eqb. cbn. intros H. apply andb_true_iff in H as [Hs Hl].
  apply lit_eqb_ok in Hl. subst l'. now destruct s, s'.
Qed.
Lemma positive_node_ok k d : positive_node k d = true -> d = NAtLeast [(1%Z, k)] (-1)%Z.
Proof.
  destruct d as [s| | | |c|ls|a b|a|a|a b|a b|ts c|c k']; try discriminate.
  destruct ts as [|[[|[p|p|]|p] k'] [|t ts]]; try discriminate. destruct c as [|p|[p|p|]]; try discriminate.
  intros H. apply count_eqb_ok in H. now subst k'.
Qed.
Lemma integer_eqb_ok a : forall b, integer_eqb a b = true -> a = b.
Proof.
  induction a as [| |y|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb]; intros e H;
    destruct e as [| |z|c d|c d|c d|c d|c d]; try discriminate H; cbn in H; try reflexivity;
    try (apply andb_true_iff in H as [Ha Hb]; rewrite (IHa _ Ha), (IHb _ Hb); reflexivity).
  apply Z.eqb_eq in H. congruence.
Qed.
Lemma condition_eqb_ok c : forall d, condition_eqb c d = true -> c = d.
Proof.
  induction c as [a b|a b|a|a|a|a IHa b IHb|a IHa b IHb|a IHa]; intros e H;
    destruct e as [a' b'|a' b'|a'|a'|a'|a' b'|a' b'|a']; try discriminate H; cbn in H.
  1-2: apply andb_true_iff in H as [Ha Hb]; rewrite (integer_eqb_ok _ _ Ha), (integer_eqb_ok _ _ Hb); reflexivity.
  1-3: rewrite (integer_eqb_ok _ _ H); reflexivity.
  1-2: apply andb_true_iff in H as [Ha Hb]; rewrite (IHa _ Ha), (IHb _ Hb); reflexivity.
  rewrite (IHa _ H). reflexivity.
Qed.
Lemma integer_at_value x n i a : integer_value i n (integer_at (Const x) a) = integer_value x n a.
Proof. induction a; cbn; congruence. Qed.
Lemma folded_value op form x n a b :
  integer_value x n (form a b) = op (integer_value x n a) (integer_value x n b) ->
  integer_value x n (folded op form a b) = op (integer_value x n a) (integer_value x n b).
Proof. intros H. now destruct a, b. Qed.
Lemma integer_folded_value x n a : integer_value x n (integer_folded a) = integer_value x n a.
Proof.
  induction a as [| |z|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb]; cbn [integer_folded];
    try reflexivity; try (rewrite folded_value by reflexivity); cbn [integer_value]; congruence.
Qed.
Lemma condition_folded_value x n c : condition_holds x n (condition_folded c) = condition_holds x n c.
Proof. induction c; cbn; rewrite ?integer_folded_value; congruence. Qed.
(** Truth tables and counts. *)
Lemma all_known_ok (ls : list lit) f g b : (forall l c, f l = Some c -> g l = c) -> all_known (map f ls) = Some b ->
  forallb g ls = b.
Proof.
  intros E. unfold all_known. destruct (existsb _ _) eqn:He.
  - intros [= <-]. apply existsb_exists in He as [o [Ho Hf]]. apply in_map_iff in Ho as [l [Hl Hin]].
    destruct o as [[|]|]; try discriminate Hf. apply E in Hl. apply not_true_iff_false. intros Ha.
    rewrite forallb_forall in Ha. specialize (Ha l Hin). congruence.
  - destruct (forallb _ _) eqn:Hf; intros [= <-]. apply forallb_forall. intros l Hin. apply E.
    rewrite forallb_forall in Hf. specialize (Hf (f l) (in_map f ls l Hin)). now destruct (f l) as [[|]|].
Qed.
Lemma count_value_nonneg n T k i : (0 <= count_value n T k i)%Z.
Proof. destruct k as [[] l]; apply Zle_0_nat. Qed.
(** [Since] and [Until] at a position where the operands are known. *)
Lemma in_positions a b j : In j (positions a b) <-> a <= j <= b.
Proof. unfold positions. rewrite in_seq. lia. Qed.
Lemma every_none a b P : b < a -> every a b P = true.
Proof. intros H. unfold every, positions. now replace (b + 1 - a) with 0 by lia. Qed.
Lemma every_false a b P j : a <= j <= b -> P j = false -> every a b P = false.
Proof.
  intros Hj HP. apply not_true_iff_false. intros H. unfold every in H. rewrite forallb_forall in H.
  specialize (H j (proj2 (in_positions a b j) Hj)). congruence.
Qed.
Lemma some_true a b P j : a <= j <= b -> P j = true -> some a b P = true.
Proof. intros Hj HP. apply existsb_exists. exists j. split; [now apply in_positions|exact HP]. Qed.
Lemma some_false a b P : (forall j, a <= j <= b -> P j = false) -> some a b P = false.
Proof.
  intros H. apply not_true_iff_false. intros Hs. apply existsb_exists in Hs as [j [Hj HP]].
  apply in_positions in Hj. rewrite (H j Hj) in HP. discriminate.
Qed.
Lemma since_now i (a b : nat -> bool) : 1 <= i -> b i = true -> some 1 i (fun j => b j && every (j + 1) i a) = true.
Proof. intros Hi Hb. apply some_true with i; [lia|]. now rewrite Hb, every_none by lia. Qed.
Lemma since_never i (a b : nat -> bool) : b i = false -> a i = false ->
  some 1 i (fun j => b j && every (j + 1) i a) = false.
Proof.
  intros Hb Ha. apply some_false. intros j Hj. destruct (Nat.eq_dec j i) as [->|ne]; [now rewrite Hb|].
  rewrite (every_false (j + 1) i a i) by (exact Ha || lia). apply andb_false_r.
Qed.
Lemma until_now i n (a b : nat -> bool) : 1 <= i <= n -> b i = true ->
  some i n (fun j => b j && every i (j - 1) a) = true.
Proof. intros Hi Hb. apply some_true with i; [lia|]. now rewrite Hb, every_none by lia. Qed.
Lemma until_never i n (a b : nat -> bool) : b i = false -> a i = false ->
  some i n (fun j => b j && every i (j - 1) a) = false.
Proof.
  intros Hb Ha. apply some_false. intros j Hj. destruct (Nat.eq_dec j i) as [->|ne]; [now rewrite Hb|].
  rewrite (every_false i (j - 1) a i) by (exact Ha || lia). apply andb_false_r.
Qed.

(** All lemmas of this section have the same parameters and hypotheses, whether they need them or not. *)
Section Sound.
Variables (n : nat) (w : nat -> symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool).
Hypothesis HT : model n w ns T.
Hypothesis Hw : letters <> 0 -> forall i, 1 <= i <= n -> exists c, c < letters /\ w i = letter c.
Variable i : nat.
Hypothesis Hi : 1 <= i <= n.
Lemma lookup_ok m k b : agrees T i m -> lookup m k = Some b -> T k i = b.
Proof using All.
  intros Hm. induction m as [|[k' b'] m IH]; cbn; [discriminate|]. destruct (Nat.eqb_spec k k') as [->|ne].
  - intros [= <-]. apply Hm. now left.
  - apply IH. intros a c Hin. apply Hm. now right.
Qed.
(** What a node found in [m] says: [is] accepts only nodes with the truth [t]. *)
Lemma known_of_ok m is b t : (forall d, is d = true -> node_truth n w T d i = t) -> agrees T i m ->
  known_of ns m is = Some b -> t = b.
Proof using All.
  intros Ht Hm. unfold known_of. destruct (find _ m) as [[k b']|] eqn:Hf; intros [= <-].
  apply find_some in Hf as [Hin His]. cbn in His. rewrite <- (Ht _ His), <- (HT k i). now apply Hm.
Qed.
Lemma known_of_first m b : agrees T i m -> known_of ns m is_first = Some b -> (i =? 1) = b.
Proof using All. apply known_of_ok. now intros []. Qed.
Lemma known_of_last m b : agrees T i m -> known_of ns m is_last = Some b -> (i =? n) = b.
Proof using All. apply known_of_ok. now intros []. Qed.
Lemma known_of_even m b : agrees T i m -> known_of ns m is_even = Some b -> Nat.even i = b.
Proof using All. apply known_of_ok. now intros []. Qed.
Lemma known_of_holds c m b : agrees T i m -> known_of ns m (holds_node c) = Some b ->
  condition_holds (Z.of_nat i) (Z.of_nat n) c = b.
Proof using All.
  apply known_of_ok. intros [] H; try discriminate H. apply condition_eqb_ok in H. now subst c.
Qed.
Lemma condition_at_value x n' i' c : condition_holds i' n' (condition_at (Const x) c) = condition_holds x n' c.
Proof using All. induction c; cbn; rewrite ?integer_at_value; congruence. Qed.
Lemma known_of_positive m k b : agrees T i m -> known_of ns m (positive_node k) = Some b ->
  (1 <=? count_value n T k i)%Z = b.
Proof using All.
  apply known_of_ok. intros d H. apply positive_node_ok in H as ->. cbn -[Z.mul count_value].
  apply eq_true_iff_eq. rewrite !Z.leb_le. lia.
Qed.
(** Comparisons that follow from which counts are positive. *)
Lemma of_true_ok k : of_true ns k = true -> (1 <= count_value n T k i)%Z.
Proof using All.
  intros H. destruct k as [s [t negative]]. unfold of_true in H. cbn [fst snd] in H.
  assert (forall j, truth T (t, negative) j = true) as Ht.
  { intros j. unfold truth. cbn [fst snd]. rewrite (HT t j).
    destruct (node_at ns t) as [| | | | |[|]| | | | | | |]; try discriminate.
    destruct negative; [discriminate|reflexivity]. }
  assert (forall a b, a <= i <= b -> (1 <= number a b (truth T (t, negative)))%Z) as Hn.
  { intros a b Hab. unfold number.
    assert (In i (filter (truth T (t, negative)) (positions a b))) as Hin
      by (apply filter_In; split; [apply in_positions; lia|apply Ht]).
    destruct (filter (truth T (t, negative)) (positions a b)); [destruct Hin|cbn [length]; lia]. }
  unfold count_value. cbn [fst snd]. destruct s; apply Hn; lia.
Qed.
Lemma least_ok m z k a : agrees T i m -> least ns m (z, k) = Some a -> (a <= z * count_value n T k i)%Z.
Proof using All.
  intros Hm. unfold least. pose proof (count_value_nonneg n T k i) as H0.
  destruct (known_of ns m (positive_node k)) as [[|]|] eqn:E.
  - apply (known_of_positive m k true Hm), Z.leb_le in E. destruct (Z.leb_spec 0 z); intros [= <-]. nia.
  - apply (known_of_positive m k false Hm), Z.leb_gt in E. intros [= <-].
    replace (count_value n T k i) with 0%Z by lia. lia.
  - destruct (Z.leb_spec 0 z); [|discriminate]. pose proof (of_true_ok k) as H1.
    destruct (of_true ns k); intros [= <-]; [specialize (H1 eq_refl)|]; nia.
Qed.
Lemma total_least_ok m ts a : agrees T i m -> total_least ns m ts = Some a -> (a <= linear_value n T ts i)%Z.
Proof using All.
  intros Hm. revert a. induction ts as [|[z k] ts IH]; intros a; cbn [total_least].
  - intros [= <-]. cbn. lia.
  - destruct (least ns m (z, k)) as [b|] eqn:E; [|discriminate].
    destruct (total_least ns m ts) as [c|]; [|discriminate].
    intros [= <-]. apply (least_ok m z k b Hm) in E. specialize (IH c eq_refl).
    change (linear_value n T ((z, k) :: ts) i) with (z * count_value n T k i + linear_value n T ts i)%Z. lia.
Qed.
Lemma opposite_value ts : linear_value n T (opposite ts) i = (- linear_value n T ts i)%Z.
Proof using All.
  induction ts as [|[z k] ts IH]; [reflexivity|].
  change (linear_value n T (opposite ((z, k) :: ts)) i)
    with (- z * count_value n T k i + linear_value n T (opposite ts) i)%Z.
  change (linear_value n T ((z, k) :: ts) i) with (z * count_value n T k i + linear_value n T ts i)%Z.
  rewrite IH. lia.
Qed.
Lemma at_least_known_ok m ts c : agrees T i m -> at_least_known ns m ts c = true -> (0 <= linear_value n T ts i + c)%Z.
Proof using All.
  intros Hm. unfold at_least_known. destruct (total_least ns m ts) as [a|] eqn:E; [|discriminate]. intros H.
  apply (total_least_ok m ts a Hm) in E. apply Z.leb_le in H. lia.
Qed.
Lemma comparison_known_ok m ts c b : agrees T i m -> comparison_known ns m ts c = Some b ->
  (0 <=? linear_value n T ts i + c)%Z = b.
Proof using All.
  intros Hm. unfold comparison_known. destruct (at_least_known ns m ts c) eqn:E.
  - intros [= <-]. apply Z.leb_le. exact (at_least_known_ok m ts c Hm E).
  - destruct (at_least_known ns m (opposite ts) (- c - 1)) eqn:F; [|discriminate]. intros [= <-].
    apply (at_least_known_ok m _ _ Hm) in F. rewrite opposite_value in F. apply Z.leb_gt. lia.
Qed.
Lemma lit_known_of m fuel l b : agrees T i m ->
  (forall d c, node_known ns m fuel d = Some c -> node_truth n w T d i = c) ->
  lit_known ns m fuel l = Some b -> truth T l i = b.
Proof using All.
  intros Hm IH. unfold lit_known, known, truth. destruct (lookup m (fst l)) as [a|] eqn:Hl; cbn.
  - intros [= <-]. now rewrite (lookup_ok m _ _ Hm Hl).
  - destruct (node_known ns m fuel _) as [a|] eqn:Hk; intros [= <-]. now rewrite (HT (fst l) i), (IH _ _ Hk).
Qed.
Lemma node_known_ok m fuel d b : agrees T i m -> node_known ns m fuel d = Some b -> node_truth n w T d i = b.
Proof using All.
  intros Hm. revert d b. induction fuel as [|fuel IH]; intros d b; [discriminate|]. cbn [node_known].
  pose proof (fun l c => lit_known_of m fuel l c Hm IH) as L.
  destruct d as [s| | | |c|ls|x y|x|x|x y|x y|ts c|c k]; cbn [node_truth]; try discriminate.
  - destruct s; [now intros [= <-]|discriminate].
  - destruct (known_of ns m is_first) as [[|]|] eqn:H1; intros [= <-].
    apply known_of_first in H1; [|exact Hm]. apply Nat.eqb_eq in H1. now subst i.
  - apply all_known_ok. exact L.
  - change (sign (snd x) ?o) with (lit_known ns m fuel x). change (sign (snd y) ?o) with (lit_known ns m fuel y).
    destruct (lit_known ns m fuel x) as [u|] eqn:Hx, (lit_known ns m fuel y) as [v|] eqn:Hy; intros [= <-].
    now rewrite (L _ _ Hx), (L _ _ Hy).
  - destruct (known_of ns m is_first) as [[|]|] eqn:H1; intros [= <-].
    apply known_of_first in H1; [|exact Hm]. apply Nat.eqb_eq in H1. now subst i.
  - destruct (known_of ns m is_last) as [[|]|] eqn:H1; intros [= <-].
    apply known_of_last in H1; [|exact Hm]. apply Nat.eqb_eq in H1. rewrite <- H1, Nat.ltb_irrefl. reflexivity.
  - change (sign (snd x) ?o) with (lit_known ns m fuel x). change (sign (snd y) ?o) with (lit_known ns m fuel y).
    destruct (lit_known ns m fuel y) as [[|]|] eqn:Hy;
      [intros [= <-]; apply since_now; [apply Hi|now apply L]| |discriminate].
    destruct (lit_known ns m fuel x) as [[|]|] eqn:Hx; intros [= <-]. apply since_never; now apply L.
  - change (sign (snd x) ?o) with (lit_known ns m fuel x). change (sign (snd y) ?o) with (lit_known ns m fuel y).
    destruct (lit_known ns m fuel y) as [[|]|] eqn:Hy;
      [intros [= <-]; apply until_now; [apply Hi|now apply L]| |discriminate].
    destruct (lit_known ns m fuel x) as [[|]|] eqn:Hx; intros [= <-]. apply until_never; now apply L.
  - apply comparison_known_ok. exact Hm.
  - destruct (known_of ns m (positive_node k)) as [[|]|] eqn:Hk; try discriminate.
    apply known_of_positive in Hk; [|exact Hm]. apply Z.leb_gt in Hk.
    replace (count_value n T k i) with 0%Z by (pose proof (count_value_nonneg n T k i); lia).
    intros Hc. apply known_of_holds in Hc; [|exact Hm]. unfold at_zero in Hc.
    now rewrite condition_folded_value, condition_at_value in Hc.
Qed.
Lemma lit_known_ok m fuel l b : agrees T i m -> lit_known ns m fuel l = Some b -> truth T l i = b.
Proof using All.
  intros Hm. apply lit_known_of; [exact Hm|]. intros d c. now apply node_known_ok.
Qed.
(** What is true at a position is not refuted there, so one of the cases that are distinguished is the true one. *)
Lemma symbol_fits_ok m c : agrees T i m -> w i = letter c -> symbol_fits ns m c = true.
Proof using All.
  intros Hm Hc. apply forallb_forall. intros [k b] Hin. pose proof (HT k i) as Hk. rewrite (Hm k b Hin) in Hk.
  destruct (node_at ns k); try reflexivity. cbn in Hk. rewrite Hk, Hc. apply eqb_reflx.
Qed.
Lemma refuted_ok m : agrees T i m -> refuted letters ns m = false.
Proof using All.
  intros Hm. unfold refuted. apply orb_false_iff. split.
  - apply not_true_iff_false. intros H. apply existsb_exists in H as [[k b] [Hin H]].
    destruct (node_known ns m 1 (node_at ns k)) as [a|] eqn:Hk; [|discriminate].
    apply node_known_ok in Hk; [|exact Hm]. rewrite <- (HT k i), (Hm k b Hin) in Hk. subst a.
    now rewrite eqb_reflx in H.
  - destruct (Nat.eq_dec letters 0) as [->|Hl]; [reflexivity|]. destruct (Hw Hl i Hi) as [c [Hc Hwc]].
    assert (E : existsb (symbol_fits ns m) (seq 0 letters) = true).
    { apply existsb_exists. exists c. split; [apply in_seq; lia|now apply symbol_fits_ok]. }
    rewrite E. now destruct letters.
Qed.
Lemma decide_ok vars P m (G : Prop) : (forall m', agrees T i m' -> P m' = Some true -> G) -> agrees T i m ->
  decide letters ns vars m P = true -> G.
Proof using All.
  intros HG. revert m. induction vars as [|k vars IH]; intros m Hm; cbn [decide]; rewrite (refuted_ok m Hm);
    destruct (P m) as [[|]|] eqn:HP; try (intros _; exact (HG m Hm HP)); try discriminate;
    destruct (lookup m k); try (now apply IH); 
    (destruct (decide letters ns vars ((k, true) :: m) P) eqn:Ht; [|discriminate]); intros Hf;
    (destruct (T k i) eqn:Hk; [apply (IH ((k, true) :: m))|apply (IH ((k, false) :: m))]; try assumption;
     intros a c [[= <- <-]|Hin]; auto).
Qed.
End Sound.
